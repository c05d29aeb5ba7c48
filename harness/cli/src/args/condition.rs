//! The options that name one or more conditions, for commands without a plan.

use clap::Args;

use crate::axis_help::{conditions_help, formats_help, guardrails_help, vary_help};

#[derive(Debug, Args)]
pub(crate) struct ConditionArgs {
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        conflicts_with_all = ["guardrails", "format"],
        help = conditions_help(""),
    )]
    pub(crate) condition: Vec<String>,
    #[arg(long, value_name = "AXIS=VALUES", value_delimiter = ';', help = vary_help("Show"))]
    pub(crate) vary: Vec<String>,
    #[arg(long, value_name = "SET", default_value = "all", help = guardrails_help("The guardrails", ""))]
    pub(crate) guardrails: String,
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "fusion-xml",
        help = formats_help(". Several are printed together, each with its number of tokens"),
    )]
    pub(crate) format: Vec<String>,
    /// The seed of the scenario's generated rows.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
}
