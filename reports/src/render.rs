//! Renderers of reports. They receive computed numbers and do no arithmetic on them.

mod ablation;
mod claims;
mod comparison;
mod csv;
pub mod gate;
pub mod html;
mod json;
mod labels;
mod layout;
mod live;
mod markdown;
mod matrix;
mod number;
mod progress;
mod sample_sizes;
mod shell;
mod spans;
mod terminal;
mod transcript;
mod warnings;

pub use comparison::{ComparisonOptions, comparison};
pub use csv::csv;
pub use healbench_protocol::plain_text;
pub use json::json;
pub use labels::{Detail, TerminalOptions};
pub use live::LiveTable;
pub use markdown::markdown;
pub use matrix::matrix;
pub use number::{count, money, pluralize};
pub use progress::{duration, failures, progress, spending, throughput};
pub use sample_sizes::sample_sizes;
pub use shell::shell_quote;
pub use terminal::terminal;
pub use transcript::{TranscriptOptions, transcript};
