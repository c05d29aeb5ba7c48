use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use healbench_core::{NamedEntry, UNDECLARED, Undeclared};
use healbench_engine::contract::Severity;

#[derive(Debug, Args)]
pub(crate) struct ContractArgs {
    #[command(subcommand)]
    pub(crate) command: ContractCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ContractCommand {
    /// Write the current contracts to a lockfile.
    Lock {
        #[command(flatten)]
        sources: ContractSources,
        /// The lockfile [default: contracts.lock]
        #[arg(long, value_name = "FILE")]
        lockfile: Option<PathBuf>,
    },
    /// Print the differences between two states of the contracts, with their severity for callers.
    Diff {
        /// A lockfile (*.lock), list of tools, scenario file, folder or suite.
        #[arg(value_name = "BASE")]
        base: PathBuf,
        /// A lockfile, list of tools, scenario file, folder or suite [default: compare the `previous` contracts of BASE with its
        /// current ones]
        #[arg(value_name = "CURRENT")]
        current: Option<PathBuf>,
        /// How the servers treat undeclared fields.
        #[arg(long, value_name = "POLICY", default_value = "reject", value_parser = undeclared_parser())]
        undeclared: Undeclared,
    },
    /// Compare the contracts with a lockfile, and exit with 1 if one changed by at least `--fail-on`.
    Check {
        #[command(flatten)]
        sources: ContractSources,
        /// The lockfile [default: contracts.lock]
        #[arg(long, value_name = "FILE")]
        lockfile: Option<PathBuf>,
        /// How the server treats undeclared fields.
        #[arg(long, value_name = "POLICY", default_value = "reject", value_parser = undeclared_parser())]
        undeclared: Undeclared,
        /// The lowest severity of a change that exits with 1.
        #[arg(long, value_name = "LEVEL", value_enum, default_value_t = FailOn::Cosmetic)]
        fail_on: FailOn,
    },
}

/// Parses a treatment of undeclared fields.
fn undeclared_parser() -> impl TypedValueParser<Value = Undeclared> {
    let value = |entry: &NamedEntry<Undeclared>| PossibleValue::new(entry.name).help(entry.summary);
    let named = |name: String| UNDECLARED.iter().find(|entry| entry.name == name).map(|entry| entry.value);
    PossibleValuesParser::new(UNDECLARED.iter().map(value))
        .try_map(move |name| named(name).ok_or("unknown treatment of undeclared fields"))
}

/// The least severity of a change that fails a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Calls that worked may fail.
    Breaking,
    /// Calls continue to work, but their meaning may change.
    Risky,
    /// Calls continue to work.
    Safe,
    /// Calls cannot notice the change.
    Cosmetic,
}

impl FailOn {
    pub(crate) fn severity(self) -> Severity {
        match self {
            FailOn::Breaking => Severity::Breaking,
            FailOn::Risky => Severity::Risky,
            FailOn::Safe => Severity::Safe,
            FailOn::Cosmetic => Severity::Cosmetic,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ContractSources {
    /// Scenario files, folders of them, or names of built-in suites.
    #[arg(value_name = "SCENARIO|SUITE", required_unless_present = "tools", conflicts_with = "tools")]
    pub(crate) scenarios: Vec<PathBuf>,
    /// A JSON file with a list of tools, as returned by MCP's `tools/list`, instead of scenarios.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
}
