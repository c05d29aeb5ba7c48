//! The forms of reports, for `--output FORM[=FILE]`.

use clap::ValueEnum;

/// A form of the report of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportForm {
    Terminal,
    Json,
    Csv,
    Markdown,
    Html,
    Inspect,
}

/// A form of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ComparisonForm {
    Terminal,
    Json,
    Csv,
    Markdown,
    Html,
}

/// A form of a list of error texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ErrorForm {
    Terminal,
    Json,
    Csv,
    Markdown,
}

/// A form of a result that is either read by a person or by a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextForm {
    #[value(alias = "text")]
    Terminal,
    Json,
}
