//! The arguments of `calibrate` and `predict`.

use std::path::PathBuf;

use clap::Args;

use super::Output;
use super::errors::{ErrorSources, WithEpisodes};
use super::forms::TextForm;
use crate::run_name::run_name;

/// Fits a simulated reader to what agents did after errors, in runs or imported logs, and evaluates it on held-out
/// tasks and suites. The other agents only inform the effects of kinds of errors.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Runs: directories, names in `runs`, or `latest`.
    #[arg(required = true, value_name = "RUN", value_parser = run_name())]
    pub(crate) runs: Vec<PathBuf>,
    /// The agents to fit, taken as one, by name or a beginning that only one has [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) agent: Vec<String>,
    /// Write the profile to this file, replacing it, for `run --agent scripted:FILE` and `predict`.
    #[arg(long, short, value_name = "FILE.toml")]
    pub(crate) out: Option<PathBuf>,
    /// The source of the runs, with version and licence, for the head of the profile [default: the names of the runs]
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) source: Option<String>,
    #[command(flatten)]
    pub(crate) moves: MoveArgs,
}

/// Compares the moves that a simulated reader is expected to make after errors with the moves of agents. Use runs that
/// it was not fitted to.
#[derive(Debug, Args)]
pub(crate) struct PredictArgs {
    /// Runs: directories, names in `runs`, or `latest`.
    #[arg(required = true, value_name = "RUN", value_parser = run_name())]
    pub(crate) runs: Vec<PathBuf>,
    /// A profile of moves: a shipped one, or a TOML file.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: String,
    /// The agents whose moves are predicted, by name or a beginning that only one has [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) agent: Vec<String>,
    #[command(flatten)]
    pub(crate) moves: MoveArgs,
}

/// The errors that count.
#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    /// Only episodes in these conditions.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) condition: Vec<String>,
    /// Only scenarios of these suites.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) suite: Vec<String>,
    /// The errors to count. With `flag`, errors that were sent as successes count as successes.
    #[arg(long, value_enum, value_name = "WHICH", default_value = "all")]
    pub(crate) errors: ErrorSources,
    /// Also count episodes with a task that was injected to attack the agent.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) with: Option<WithEpisodes>,
    /// The form to print or to write to a file: terminal, json (`healbench schema` prints its schema). May be repeated [default: terminal]
    #[arg(long, value_name = "FORM[=FILE]")]
    pub(crate) output: Vec<Output<TextForm>>,
}
