//! A report, shown. Renderers get finished numbers and do no sums.

mod ablation;
mod claims;
mod comparison;
pub mod gate;
mod json;
mod layout;
mod matrix;
mod number;
mod plain;
mod playback;
mod shell;
mod spans;
mod terminal;

pub use comparison::{ComparisonOptions, comparison};
pub use json::json;
pub use matrix::matrix;
pub use number::{count, counted, money};
pub use plain::plain_text;
pub use playback::{PlaybackOptions, playback};
pub use shell::shell_word;
pub use terminal::{Detail, TerminalOptions, terminal};
