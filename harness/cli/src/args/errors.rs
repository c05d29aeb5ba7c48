//! The arguments of `errors`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use healbench_analysis::{ErrorAxis, ErrorOrder};

use super::Output;
use super::forms::ErrorForm;
use crate::run_name::run_name;

#[derive(Debug, Args)]
pub(crate) struct ErrorsArgs {
    /// The run: its directory, its name in `runs`, or `latest`.
    #[arg(value_name = "RUN", value_parser = run_name())]
    pub(crate) run: PathBuf,
    /// The order of the texts, the largest first.
    #[arg(long, value_enum, value_name = "ORDER", default_value = "tokens")]
    pub(crate) sort: ErrorSort,
    /// Print the counts of each agent, condition, tool or kind before the texts; with `--output csv`, instead of them.
    #[arg(long, value_enum, value_name = "AXIS")]
    pub(crate) by: Option<ErrorGrouping>,
    /// The errors to count. With `flag`, errors that were sent as successes count as successes.
    #[arg(long, value_enum, value_name = "WHICH", default_value = "all")]
    pub(crate) errors: ErrorSources,
    /// Also count episodes with a task that was injected to attack the agent.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) with: Option<WithEpisodes>,
    /// The number of texts [default: 20 on a terminal and in Markdown, all in JSON and CSV]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<NonZeroUsize>,
    /// The form to print or to write to a file: terminal, json (all counts; `healbench schema errors` prints its schema), csv (a line for
    /// each text), or markdown (for a pull request). May be repeated [default: terminal]
    #[arg(long, value_name = "FORM[=FILE]")]
    pub(crate) output: Vec<Output<ErrorForm>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ErrorSort {
    /// By the tokens of failed calls and their responses.
    Tokens,
    /// By error chains.
    Chains,
    /// By error chains that no attempt repaired.
    Unrepaired,
    /// By error chains whose first call was repeated.
    Repeated,
}

impl From<ErrorSort> for ErrorOrder {
    fn from(sort: ErrorSort) -> ErrorOrder {
        match sort {
            ErrorSort::Tokens => ErrorOrder::Tokens,
            ErrorSort::Chains => ErrorOrder::Chains,
            ErrorSort::Unrepaired => ErrorOrder::Unrepaired,
            ErrorSort::Repeated => ErrorOrder::Repeated,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ErrorGrouping {
    /// By agent.
    Agent,
    /// By condition.
    Condition,
    /// By agent and condition.
    Cell,
    /// By tool.
    Tool,
    /// By the kind of error that the reader finds.
    Kind,
}

impl From<ErrorGrouping> for ErrorAxis {
    fn from(grouping: ErrorGrouping) -> ErrorAxis {
        match grouping {
            ErrorGrouping::Agent => ErrorAxis::Agent,
            ErrorGrouping::Condition => ErrorAxis::Condition,
            ErrorGrouping::Cell => ErrorAxis::Cell,
            ErrorGrouping::Tool => ErrorAxis::Tool,
            ErrorGrouping::Kind => ErrorAxis::Kind,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ErrorSources {
    /// All errors.
    All,
    /// Only errors that the source flags.
    Flag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WithEpisodes {
    /// Episodes with an injected task.
    Attack,
}
