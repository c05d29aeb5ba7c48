//! The options that name one or more conditions, for commands without a plan.

use clap::Args;

use super::axes::UndeclaredPolicy;
use super::contract::DeltaArgs;
use crate::axis_help::{clients_help, conditions_help, contents_help, formats_help, guardrails_help};

#[derive(Debug, Args)]
pub(crate) struct ConditionArgs {
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        conflicts_with_all = ["guardrails", "format", "undeclared", "content"],
        help = conditions_help(""),
    )]
    pub(crate) condition: Vec<String>,
    #[arg(long, value_name = "SET", default_value = "all", help = guardrails_help("The guardrails", ""))]
    pub(crate) guardrails: String,
    /// What becomes of undeclared fields under guardrails without `strict`, which rejects them.
    #[arg(long, value_enum, value_name = "POLICY", default_value = "pass")]
    pub(crate) undeclared: UndeclaredPolicy,
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "fusion-xml",
        help = formats_help(". Several are printed together, each with its number of tokens"),
    )]
    pub(crate) format: Vec<String>,
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "native",
        help = contents_help("Levels of content: what the texts of failures state", ""),
    )]
    pub(crate) content: Vec<String>,
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "raw",
        help = clients_help(". Several are printed together"),
    )]
    pub(crate) client: Vec<String>,
    #[command(flatten)]
    pub(crate) deltas: DeltaArgs,
    /// The seed of the scenario's generated rows.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
}
