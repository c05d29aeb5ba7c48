//! The options that decide what a plan contains, shared by `run` and `plan`.

use std::path::PathBuf;

use clap::Args;

use healbench_scenarios::ALL_FAMILIES;

use crate::axis_help::{conditions_help, formats_help, guardrails_help, vary_help};
use crate::conditions::DEFAULT_CONDITIONS;

/// The axes of a plan.
#[derive(Debug, Args)]
pub(crate) struct AxisArgs {
    /// Scenario files, folders of them, or names of built-in suites or of their scenarios; `families` for all nine suites by mechanism.
    #[arg(value_name = "SCENARIO|SUITE", default_value = ALL_FAMILIES)]
    pub(crate) scenarios: Vec<PathBuf>,
    /// Agents: a simulated reader `scripted:PROFILE`, with a shipped profile or a TOML file; `scripted` for `blind`,
    /// `careless`, `typical`, `careful` and `perfect`; `openai:MODEL`, `openai-responses:MODEL`, `anthropic:MODEL`,
    /// `gemini:MODEL`, or `model:NAME` of a table in healbench.toml [default:
    /// scripted:perfect,scripted:persistent,scripted:yielding; `scripted` if every scenario has a claim]
    #[arg(long, value_name = "LIST", value_delimiter = ',', env = "HEALBENCH_AGENT")]
    pub(crate) agent: Vec<String>,
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        env = "HEALBENCH_CONDITION",
        conflicts_with_all = ["guardrails", "format"],
        help = conditions_help(&format!(" [default: {}; `fusion` with `--vary`]", DEFAULT_CONDITIONS.join(","))),
    )]
    pub(crate) condition: Vec<String>,
    #[arg(long, value_name = "AXIS=VALUES", value_delimiter = ';', env = "HEALBENCH_VARY", help = vary_help("Run"))]
    pub(crate) vary: Vec<String>,
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        env = "HEALBENCH_GUARDRAILS",
        help = guardrails_help("Sets of guardrails", ", or the sweeps `full`, `one-out`, `one-in` [default with `--format`: none,all]"),
    )]
    pub(crate) guardrails: Vec<String>,
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        env = "HEALBENCH_FORMAT",
        help = formats_help(" [default with `--guardrails`: fusion-xml,fusion-text]"),
    )]
    pub(crate) format: Vec<String>,
    /// How episodes of models begin: `seeded`, with the scheduled mistake as the model's first call, or `natural`, with the task only.
    #[arg(long, value_name = "LIST", value_delimiter = ',', env = "HEALBENCH_OPENING", default_value = "seeded")]
    pub(crate) opening: Vec<String>,
    /// The file with `[model.NAME]` tables and a `[run]` table with options of `run` and `plan`, which the command
    /// line and the environment override [default: healbench.toml, here or in the nearest folder above]
    #[arg(long, value_name = "FILE", env = "HEALBENCH_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// A price table that replaces the shipped one (agents/prices.toml).
    #[arg(long, value_name = "FILE", env = "HEALBENCH_PRICES")]
    pub(crate) prices: Option<PathBuf>,
    /// Repetitions of each cell, each with its own mistakes.
    #[arg(long, value_name = "N", env = "HEALBENCH_TRIALS", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) trials: u32,
    /// The seed of every random draw.
    #[arg(long, value_name = "S", env = "HEALBENCH_SEED", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print all options as a `[run]` table with the source of each value, and do nothing else.
    #[arg(long)]
    pub(crate) print_config: bool,
}
