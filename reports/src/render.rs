//! A report, shown. Renderers get finished numbers and do no sums.

mod ablation;
mod claims;
mod comparison;
mod csv;
pub mod gate;
pub mod html;
mod json;
mod layout;
mod live;
mod markdown;
mod matrix;
mod number;
mod partial;
mod plain;
mod playback;
mod progress;
mod shell;
mod spans;
mod terminal;

pub use comparison::{ComparisonOptions, comparison};
pub use csv::csv;
pub use json::json;
pub use live::LiveTable;
pub use markdown::markdown;
pub use matrix::matrix;
pub use number::{count, counted, money};
pub use plain::plain_text;
pub use playback::{PlaybackOptions, playback};
pub use progress::{duration, failures, pace, progress, spending};
pub use shell::shell_word;
pub use terminal::{Detail, TerminalOptions, terminal};
