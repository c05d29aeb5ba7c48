//! Renderers of reports. They receive computed numbers and do no arithmetic on them.

mod ablation;
mod answer;
mod claims;
mod comparison;
mod comparison_markdown;
mod csv;
mod errors;
pub mod gate;
pub mod html;
mod inspect;
mod json;
mod labels;
mod markdown;
mod matrix;
mod methods;
mod moves;
mod number;
mod progress;
mod sample_sizes;
mod scenario_differences;
mod shell;
mod spans;
mod terminal;
mod transcript;
mod warnings;

pub use comparison::{ComparisonOptions, comparison};
pub use comparison_markdown::{comparison_markdown, matrix_markdown};
pub use csv::csv;
pub use errors::{
    ErrorOptions, error_changes, error_changes_csv, error_changes_markdown, errors, errors_csv, errors_markdown,
};
pub use inspect::{inspect_log, inspect_sample};
pub use json::json;
pub use labels::{Detail, TerminalOptions};
pub use markdown::markdown;
pub use matrix::matrix;
pub use moves::{calibration, prediction, profile_toml, verdict_sentence};
pub use progress::{duration, failures, progress, spending, throughput};
pub use sample_sizes::sample_sizes;
pub use terminal::terminal;
pub use transcript::{TranscriptOptions, markdown_transcript, transcript};
