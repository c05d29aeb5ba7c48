//! Charts as a browser reads them.

mod sample;
