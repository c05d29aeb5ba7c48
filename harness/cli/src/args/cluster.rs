//! The arguments of runs that are spread over machines.

use super::Output;
use super::forms::TextForm;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use healbench_core::MAX_SHARDS;

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// The directories of all shards, in any order, or a folder of them.
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// The directory of the combined run, which must not exist yet.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Merge the complete shards if others are missing, unfinished or damaged, and exit with 4. The result can be merged with the
    /// remaining shards later.
    #[arg(long)]
    pub(crate) partial: bool,
    /// Combine the recordings of the shards in this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) recordings: Option<PathBuf>,
    /// Run this shell command after the merge, with the run's directory in `HEALBENCH_RUN`.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) on_complete: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The folder with the directories of the shards, or these directories.
    #[arg(value_name = "DIR", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// The number of shards, if none may have been started yet.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SHARDS)))]
    pub(crate) shards: Option<u32>,
    /// Print only the numbers of the incomplete shards that are not running, as in `2,7-9`.
    #[arg(long)]
    pub(crate) todo: bool,
    /// The form to print or to write to a file: terminal, json. May be repeated [default: terminal]
    #[arg(long, value_name = "FORM[=FILE]", conflicts_with = "todo")]
    pub(crate) output: Vec<Output<TextForm>>,
}

/// How `plan` splits a run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Shards")]
pub(crate) struct ShardArgs {
    /// Also print the size of shards: `auto` for as many as `--time` needs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(ShardCount))]
    pub(crate) shards: Option<ShardCount>,
    /// The time limit of each shard, 80% of which is planned for: `HH:MM` or `HH:MM:SS`.
    #[arg(long, value_name = "TIME", requires = "shards", value_parser = clap::value_parser!(TimeLimit))]
    pub(crate) time: Option<TimeLimit>,
    /// A similar run to take the speed and file sizes from. Needed for models and servers; other runs are measured
    /// with a few thousand episodes on this machine.
    #[arg(long, value_name = "RUN", requires = "shards")]
    pub(crate) pilot: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SlurmArgs {
    /// The folder for the scripts, the shards and the merged run, on a file system that all nodes share.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// The number of shards, or `auto` for as many as end within `--time`.
    #[arg(long, value_name = "N", default_value = "auto", value_parser = clap::value_parser!(ShardCount))]
    pub(crate) shards: ShardCount,
    /// The time limit of a shard: `HH:MM` or `HH:MM:SS`.
    #[arg(long, value_name = "TIME", default_value = "01:00", value_parser = clap::value_parser!(TimeLimit))]
    pub(crate) time: TimeLimit,
    /// A similar run from which `auto` takes the speed.
    #[arg(long, value_name = "RUN")]
    pub(crate) pilot: Option<PathBuf>,
    /// The cores of a shard.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) cpus: u16,
    /// The maximum number of shards that run at once.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_running: Option<u32>,
    /// A line for the header of both jobs, such as `--sbatch --partition=short`. May be repeated.
    #[arg(long = "sbatch", value_name = "OPTION", allow_hyphen_values = true)]
    pub(crate) options: Vec<String>,
    /// Write shards to this folder on the node's disk first. The job expands `$TMPDIR`.
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<String>,
    /// Record the answers of models, in a separate folder for each shard, and merge the recordings with the shards.
    #[arg(long)]
    pub(crate) record: bool,
    /// Run this shell command after the merge, with the run's directory in `HEALBENCH_RUN`.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) on_complete: Option<String>,
    /// The arguments of `healbench run`, after `--`.
    #[arg(last = true, value_name = "ARGUMENT")]
    pub(crate) run: Vec<String>,
}

/// A number of shards, or as many as needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShardCount {
    Auto,
    Of(u32),
}

impl FromStr for ShardCount {
    type Err = String;

    fn from_str(text: &str) -> Result<ShardCount, String> {
        match text.parse() {
            _ if text == "auto" => Ok(ShardCount::Auto),
            Ok(count) if (1..=MAX_SHARDS).contains(&count) => Ok(ShardCount::Of(count)),
            _ => Err(format!("a number from 1 to {MAX_SHARDS}, or `auto`")),
        }
    }
}

/// The time limit of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeLimit(pub(crate) Duration);

impl FromStr for TimeLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeLimit, String> {
        let parts: Option<Vec<u64>> = text.split(':').map(|part| part.parse().ok()).collect();
        let seconds = match parts.as_deref() {
            Some([hours, minutes]) if *minutes < 60 => Some((hours, minutes, &0)),
            Some([hours, minutes, seconds]) if *minutes < 60 && *seconds < 60 => Some((hours, minutes, seconds)),
            _ => None,
        };
        // At most a year, so that nothing overflows.
        let seconds = seconds
            .filter(|(hours, ..)| **hours <= 8784)
            .map(|(hours, minutes, seconds)| hours * 3600 + minutes * 60 + seconds);
        match seconds {
            Some(seconds) if seconds > 0 => Ok(TimeLimit(Duration::from_secs(seconds))),
            _ => Err("hours and minutes, as in `00:30`, or with seconds, as in `01:30:00`".to_owned()),
        }
    }
}

impl fmt::Display for TimeLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        write!(f, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    }
}
