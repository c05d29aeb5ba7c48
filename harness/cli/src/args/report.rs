//! The arguments of `report`, `view` and `compare`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use healbench_analysis::Axis;

use super::Output;
use super::forms::{ComparisonForm, ReportForm};
use crate::run_name::{RUNS, run_name};

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run: its directory, its name in `runs`, or `latest`.
    #[arg(value_name = "RUN", value_parser = run_name())]
    pub(crate) run: PathBuf,
    /// The form to print or to write to a file: terminal, json (`healbench schema report` prints its schema), csv (a line for each agent
    /// and condition), markdown (at most 60 lines, for a pull request), html (a self-contained page), or inspect=FOLDER (a log for
    /// `inspect view` for each agent and condition, in an empty or new folder). May be repeated [default: terminal]
    #[arg(long, value_name = "FORM[=FILE]")]
    pub(crate) output: Vec<Output<ReportForm>>,
    /// Print every row and metric, with explanations, instead of one screen.
    #[arg(long)]
    pub(crate) all: bool,
    /// Like `--all`, with the results of each scenario; with `--output csv`, a line for each scenario, agent and
    /// condition.
    #[arg(long)]
    pub(crate) by_scenario: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ViewArgs {
    /// A folder of runs, or a run: its directory, its name in `runs`, or `latest`.
    #[arg(value_name = "FOLDER", default_value = RUNS, value_parser = run_name())]
    pub(crate) folder: PathBuf,
    /// The port; 0 selects any free port.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,
    /// Open the page in the default browser.
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// The folder that is served.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The base run; with `--by`, the only run.
    #[arg(value_name = "BASE", value_parser = run_name())]
    pub(crate) base: PathBuf,
    /// The run to compare with it.
    #[arg(value_name = "CANDIDATE", value_parser = run_name(), required_unless_present = "by", conflicts_with = "by")]
    pub(crate) candidate: Option<PathBuf>,
    /// Compare the cells of one run with each other.
    #[arg(long, value_name = "AXIS", value_parser = axis_parser())]
    pub(crate) by: Option<Axis>,
    /// The value that the others are compared with [default: the first agent, format and content of the plan, `none` of guardrails,
    /// `sdk-typescript` of conditions, and the default of other axes]
    #[arg(long, value_name = "NAME", requires = "by")]
    pub(crate) reference: Option<String>,
    /// The maximum number of scenarios to list whose episodes succeed in one run only.
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "by")]
    pub(crate) flips: usize,
    /// The form to print or to write to a file: terminal, json (`healbench schema comparison` and `healbench schema matrix` print its
    /// schema), csv (the error texts of traces), markdown (for a pull request), or html (a self-contained page). May be repeated
    /// [default: terminal]
    #[arg(long, value_name = "FORM[=FILE]")]
    pub(crate) output: Vec<Output<ComparisonForm>>,
}

/// Parses the dimension of a run.
fn axis_parser() -> impl TypedValueParser<Value = Axis> {
    let value = |axis: Axis| PossibleValue::new(axis.name()).help(axis.plural());
    PossibleValuesParser::new(Axis::all().map(value))
        .try_map(|name| Axis::all().find(|axis| axis.name() == name).ok_or("unknown dimension"))
}
