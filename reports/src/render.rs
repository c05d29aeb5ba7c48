//! A report, shown. Renderers get finished numbers and do no sums.

mod ablation;
mod claims;
mod json;
mod layout;
mod number;
mod plain;
mod terminal;

pub use json::json;
pub use number::{count, counted, money};
pub use plain::plain_text;
pub use terminal::{Detail, TerminalOptions, terminal};
