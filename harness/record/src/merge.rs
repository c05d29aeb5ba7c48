use std::path::PathBuf;

use crate::{RunManifest, RunStatus, Shard};

/// Why runs cannot be put together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// One of them is a whole run.
    #[error("`{}` is no shard of a run", .0.display())]
    NoShard(PathBuf),
    /// One of them was interrupted.
    #[error("`{}` holds {done} of its {planned} episodes", path.display())]
    Partial {
        /// The run.
        path: PathBuf,
        /// Episodes that are there.
        done: u64,
        /// Episodes that should be.
        planned: u64,
    },
    /// Episodes of one of them were lost to infrastructure or configuration.
    #[error("`{}` has episodes that were lost", .0.display())]
    Lost(PathBuf),
    /// Two of them are not of the same plan, or were not played by the same program.
    #[error("`{}` and `{}` are not shards of one run: they differ in {what}", first.display(), other.display())]
    Differ {
        /// The first of them.
        first: PathBuf,
        /// The one that differs.
        other: PathBuf,
        /// In what.
        what: &'static str,
    },
    /// The same part is there twice.
    #[error("shard {shard} is there twice: `{}` and `{}`", first.display(), other.display())]
    Twice {
        /// The part.
        shard: Shard,
        /// One of them.
        first: PathBuf,
        /// The other.
        other: PathBuf,
    },
    /// Parts are not there.
    #[error("{} of {of} shards {} not there: {}", missing.len(), if missing.len() == 1 { "is" } else { "are" }, list(missing))]
    Missing {
        /// Their numbers.
        missing: Vec<u32>,
        /// How many there should be.
        of: u32,
    },
}

/// Numbers that are listed; a run of a thousand shards would have too many.
const LISTED: usize = 10;

fn list(numbers: &[u32]) -> String {
    let mut shown: Vec<String> = numbers.iter().take(LISTED).map(ToString::to_string).collect();
    if numbers.len() > LISTED {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

impl MergeError {
    /// The way out, where one can be told.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            MergeError::NoShard(_) => Some("shards are played with `healbench run --shard I/N`"),
            MergeError::Partial { .. } => Some("finish it with `healbench run --resume`"),
            MergeError::Lost(_) => Some("play them again with `healbench run --resume`"),
            MergeError::Differ { .. } => Some("shards are played with the same options, by the same healbench"),
            MergeError::Twice { .. } => Some("name each shard once"),
            MergeError::Missing { .. } => Some("name all shards of the run"),
        }
    }
}

/// The manifest of the run that these shards are together, still without rows, and the shards in the order of the plan.
///
/// # Errors
/// [`MergeError`], unless they are all the parts of one plan, each whole and there once.
pub fn merged<T>(
    mut shards: Vec<(PathBuf, RunManifest, T)>,
) -> Result<(RunManifest, Vec<(RunManifest, T)>), MergeError> {
    for (path, manifest, _) in &shards {
        if manifest.shard.is_none() {
            return Err(MergeError::NoShard(path.clone()));
        }
        let episodes = manifest.episodes();
        let planned = episodes.end - episodes.start;
        if manifest.status != RunStatus::Complete || manifest.episodes_done != planned {
            return Err(MergeError::Partial { path: path.clone(), done: manifest.episodes_done, planned });
        }
    }
    let of = |manifest: &RunManifest| manifest.shard.map_or(0, Shard::of);
    shards.sort_by_key(|(_, manifest, _)| manifest.shard);
    let Some((first_path, first, _)) = shards.first() else {
        return Err(MergeError::Missing { missing: Vec::new(), of: 0 });
    };
    for (path, manifest, _) in &shards[1..] {
        let differences = [
            (manifest.plan == first.plan, "their plans"),
            (of(manifest) == of(first), "the number of shards"),
            (manifest.healbench == first.healbench && manifest.revision == first.revision, "the version of healbench"),
            (manifest.tokenizer == first.tokenizer, "the tokenizer"),
        ];
        if let Some((_, what)) = differences.into_iter().find(|(same, _)| !same) {
            return Err(MergeError::Differ { first: first_path.clone(), other: path.clone(), what });
        }
    }
    for pair in shards.windows(2) {
        if let (Some(shard), true) = (pair[0].1.shard, pair[0].1.shard == pair[1].1.shard) {
            return Err(MergeError::Twice { shard, first: pair[0].0.clone(), other: pair[1].0.clone() });
        }
    }
    let there: Vec<u32> = shards.iter().filter_map(|(_, manifest, _)| manifest.shard.map(Shard::index)).collect();
    let missing: Vec<u32> = (1..=of(first)).filter(|index| there.binary_search(index).is_err()).collect();
    if !missing.is_empty() {
        return Err(MergeError::Missing { missing, of: of(first) });
    }
    let started = shards.iter().map(|(_, manifest, _)| manifest.started.clone()).min().unwrap_or_default();
    let whole = RunManifest { shard: None, status: RunStatus::Running, episodes_done: 0, started, ..first.clone() };
    Ok((whole, shards.into_iter().map(|(_, manifest, run)| (manifest, run)).collect()))
}
