use std::path::PathBuf;

use crate::{RunManifest, RunStatus, Shard};

/// Why runs cannot be put together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// One of them is a whole run.
    #[error("`{}` is no shard of a run", .0.display())]
    NotAShard(PathBuf),
    /// One of them was interrupted.
    #[error("`{}` holds {done} of its {planned} episodes", path.display())]
    Incomplete {
        /// The run.
        path: PathBuf,
        /// Episodes that are there.
        done: u64,
        /// Episodes that should be.
        planned: u64,
    },
    /// Episodes of one of them were lost to infrastructure or configuration.
    #[error("`{}` has episodes that were lost", .0.display())]
    LostEpisodes(PathBuf),
    /// Two of them are not of the same plan, or were not played by the same program.
    #[error("`{}` and `{}` are not shards of one run: they differ in {property}", first.display(), other.display())]
    Mismatch {
        /// The first of them.
        first: PathBuf,
        /// The one that differs.
        other: PathBuf,
        /// In what.
        property: &'static str,
    },
    /// The same part is there twice.
    #[error("shard {shard} is there twice: `{}` and `{}`", first.display(), other.display())]
    Duplicate {
        /// The part.
        shard: Shard,
        /// One of them.
        first: PathBuf,
        /// The other.
        other: PathBuf,
    },
    /// Parts are not there.
    #[error("{} of {expected} shards {} not there: {}", missing.len(), if missing.len() == 1 { "is" } else { "are" }, format_numbers(missing))]
    Missing {
        /// Their numbers.
        missing: Vec<u32>,
        /// How many there should be.
        expected: u32,
    },
}

/// Numbers that are listed; a run of a thousand shards would have too many.
const MAX_LISTED: usize = 10;

fn format_numbers(numbers: &[u32]) -> String {
    let mut shown: Vec<String> = numbers.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    if numbers.len() > MAX_LISTED {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

impl MergeError {
    /// The way out, where one can be told.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            MergeError::NotAShard(_) => Some("shards are played with `healbench run --shard I/N`"),
            MergeError::Incomplete { .. } => Some("finish it with `healbench run --resume`"),
            MergeError::LostEpisodes(_) => Some("play them again with `healbench run --resume`"),
            MergeError::Mismatch { .. } => Some("shards are played with the same options, by the same healbench"),
            MergeError::Duplicate { .. } => Some("name each shard once"),
            MergeError::Missing { .. } => Some("name all shards of the run"),
        }
    }
}

/// The manifest of the run that these shards are together, still without rows, and the shards in the order of the plan.
///
/// # Errors
/// [`MergeError`], unless they are all the parts of one plan, each whole and there once.
pub fn merge_manifests<T>(
    mut shards: Vec<(PathBuf, RunManifest, T)>,
) -> Result<(RunManifest, Vec<(RunManifest, T)>), MergeError> {
    for (path, manifest, _) in &shards {
        if manifest.shard.is_none() {
            return Err(MergeError::NotAShard(path.clone()));
        }
        let episodes = manifest.episodes();
        let planned = episodes.end - episodes.start;
        if manifest.status != RunStatus::Complete || manifest.episodes_done != planned {
            return Err(MergeError::Incomplete { path: path.clone(), done: manifest.episodes_done, planned });
        }
    }
    let shard_count = |manifest: &RunManifest| manifest.shard.map_or(0, Shard::count);
    shards.sort_by_key(|(_, manifest, _)| manifest.shard);
    let Some((first_path, first, _)) = shards.first() else {
        return Err(MergeError::Missing { missing: Vec::new(), expected: 0 });
    };
    for (path, manifest, _) in &shards[1..] {
        let differences = [
            (manifest.plan == first.plan, "their plans"),
            (shard_count(manifest) == shard_count(first), "the number of shards"),
            (manifest.healbench == first.healbench && manifest.revision == first.revision, "the version of healbench"),
            (manifest.tokenizer == first.tokenizer, "the tokenizer"),
        ];
        if let Some((_, property)) = differences.into_iter().find(|(same, _)| !same) {
            return Err(MergeError::Mismatch { first: first_path.clone(), other: path.clone(), property });
        }
    }
    for pair in shards.windows(2) {
        if let (Some(shard), true) = (pair[0].1.shard, pair[0].1.shard == pair[1].1.shard) {
            return Err(MergeError::Duplicate { shard, first: pair[0].0.clone(), other: pair[1].0.clone() });
        }
    }
    let present: Vec<u32> = shards.iter().filter_map(|(_, manifest, _)| manifest.shard.map(Shard::index)).collect();
    let missing: Vec<u32> = (1..=shard_count(first)).filter(|index| present.binary_search(index).is_err()).collect();
    if !missing.is_empty() {
        return Err(MergeError::Missing { missing, expected: shard_count(first) });
    }
    let started = shards.iter().map(|(_, manifest, _)| manifest.started.clone()).min().unwrap_or_default();
    let manifest = RunManifest { shard: None, status: RunStatus::Running, episodes_done: 0, started, ..first.clone() };
    Ok((manifest, shards.into_iter().map(|(_, manifest, run)| (manifest, run)).collect()))
}
