//! The arguments of `cassette`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::run_name::run_name;

#[derive(Debug, Args)]
pub(crate) struct CassetteArgs {
    #[command(subcommand)]
    pub(crate) command: CassetteCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CassetteCommand {
    /// List the recordings of a folder, by model.
    Ls {
        /// The folder that `--record` wrote.
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Print a line for each recording.
        #[arg(long)]
        all: bool,
    },
    /// Print the request and response of one recording as JSON.
    Show {
        /// The folder that `--record` wrote.
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// The recording's key, or its beginning, as listed by `ls --all`.
        #[arg(value_name = "KEY")]
        key: String,
    },
    /// Replay runs, and remove the recordings that none of them needs.
    Prune {
        /// The folder that `--record` wrote.
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// The runs whose recordings are kept.
        #[arg(value_name = "RUN", required = true, value_parser = run_name())]
        runs: Vec<PathBuf>,
        /// Print how many recordings would be removed, without removing them.
        #[arg(long)]
        dry_run: bool,
    },
}
