//! The arguments of `gate` and `bless`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Output;
use crate::run_name::run_name;

#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// A run, or a baseline that `healbench bless` wrote. With `--perf`, an earlier measurement.
    #[arg(value_name = "BASE", value_parser = run_name(), required_unless_present = "perf")]
    pub(crate) base: Option<PathBuf>,
    /// The run to check.
    #[arg(value_name = "CANDIDATE", value_parser = run_name(), required_unless_present_any = ["perf", "between"], conflicts_with_all = ["perf", "between"])]
    pub(crate) candidate: Option<PathBuf>,
    /// Compare two agents of the run BASE, named as in its report. A run alternates them, so a change of the provider
    /// affects both.
    #[arg(long, num_args = 2, value_names = ["BASE_AGENT", "CANDIDATE_AGENT"], conflicts_with = "perf")]
    pub(crate) between: Option<Vec<String>>,
    /// Check the speed measured by `cargo bench --bench paired -- --out FILE`.
    #[arg(long, value_name = "FILE")]
    pub(crate) perf: Option<PathBuf>,
    /// The policy file [default: built in; see docs/ci.md]
    #[arg(long, value_name = "FILE", env = "HEALBENCH_POLICY")]
    pub(crate) policy: Option<PathBuf>,
    /// The format to print or to write to a file: terminal, json, junit, github, markdown. May be repeated
    /// [default: terminal]
    #[arg(long, value_name = "FORM[=FILE]")]
    pub(crate) output: Vec<Output<GateRenderer>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GateRenderer {
    /// Text for a terminal.
    Terminal,
    /// The full report as JSON.
    Json,
    /// JUnit XML with a test case for each row.
    Junit,
    /// Workflow commands of GitHub Actions that annotate the scenarios' lines.
    Github,
    /// A summary in Markdown.
    Markdown,
}

#[derive(Debug, Args)]
pub(crate) struct BlessArgs {
    /// The run: its directory, its name in `runs`, or `latest`.
    #[arg(value_name = "RUN", value_parser = run_name())]
    pub(crate) run: PathBuf,
    /// The baseline file. An existing one is replaced, and the changes are printed.
    #[arg(long, value_name = "FILE", default_value = "baseline.toml")]
    pub(crate) out: PathBuf,
    /// The policy file, which limits the share of lost episodes [default: built in, 5%]
    #[arg(long, value_name = "FILE", env = "HEALBENCH_POLICY")]
    pub(crate) policy: Option<PathBuf>,
}
