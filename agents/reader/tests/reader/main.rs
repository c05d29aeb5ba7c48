//! Tests of simulated readers through their public interface: texts in, hints and turns out.
// Clippy allows `unwrap` only inside of test functions, and not in what they share.
#![allow(clippy::unwrap_used)]

mod episode;
mod hints;
mod hints_formats;
mod hints_unseen;
mod lookup;
mod profiles;
mod properties;
mod refusals;
mod repairs;
mod wrong_repairs;
