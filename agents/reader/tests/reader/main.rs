//! Tests of simulated readers through their public interface: texts in, statements and turns out.
// Clippy allows `unwrap` only inside of test functions, and not in what they share.
#![allow(clippy::unwrap_used)]

mod content;
mod english;
mod episode;
mod lookup;
mod moves;
mod plain;
mod profiles;
mod properties;
mod rates;
mod reading;
mod reading_formats;
mod reading_unseen;
mod refusals;
mod repairs;
mod wordings;
mod wrong_repairs;
