use std::path::PathBuf;

use clap::Args;

use super::condition::ConditionArgs;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The scenario file.
    #[arg(value_name = "SCENARIO", required_unless_present_any = ["attach", "cases"])]
    pub(crate) scenario: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) conditions: ConditionArgs,
    /// Serve over streamable HTTP on this port of this machine, 0 for any free one, until Ctrl-C. The first line
    /// printed is the address, for example for curl.
    #[arg(long, value_name = "PORT", conflicts_with_all = ["attach", "cases"])]
    pub(crate) http: Option<u16>,
    /// The trial, from 0, whose mistakes are printed as calls to try.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) trial: u32,
    /// Connect to the server of a running episode, at the address of its socket. Agent programs under test run this
    /// command, which names neither scenario nor condition.
    #[arg(long, value_name = "ADDRESS", exclusive = true)]
    pub(crate) attach: Option<PathBuf>,
    /// Serve a case of this JSON file: one tool, and a raw result or JSON-RPC error that answers every call of it.
    /// Shows how a client presents an answer.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scenario", "attach"], requires = "case")]
    pub(crate) cases: Option<PathBuf>,
    /// The name of the case.
    #[arg(long, value_name = "NAME", requires = "cases")]
    pub(crate) case: Option<String>,
}
