use std::path::PathBuf;

use crate::{RunManifest, RunStatus, Shard};

/// The reason why shards cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// A run is not a shard.
    #[error("`{}` is no shard of a run", .0.display())]
    NotAShard(PathBuf),
    /// A shard was interrupted.
    #[error("`{}` holds {done} of its {planned} episodes", path.display())]
    Incomplete {
        /// The run.
        path: PathBuf,
        /// The number of episodes in the run.
        done: u64,
        /// The number of planned episodes.
        planned: u64,
    },
    /// A shard lost episodes to infrastructure or configuration failures.
    #[error("`{}` has episodes that were lost", .0.display())]
    LostEpisodes(PathBuf),
    /// Two shards have different plans or were run by different programs.
    #[error("`{}` and `{}` are not shards of one run: they differ in {property}", first.display(), other.display())]
    Mismatch {
        /// The first shard.
        first: PathBuf,
        /// The shard that differs.
        other: PathBuf,
        /// The property that differs.
        property: &'static str,
    },
    /// The same shard occurs twice.
    #[error("shard {shard} is there twice: `{}` and `{}`", first.display(), other.display())]
    Duplicate {
        /// The shard.
        shard: Shard,
        /// The first path.
        first: PathBuf,
        /// The second path.
        other: PathBuf,
    },
    /// Shards are missing.
    #[error("{} of {expected} shards {} not there: {}", missing.len(), if missing.len() == 1 { "is" } else { "are" }, format_numbers(missing))]
    Missing {
        /// The numbers of the missing shards.
        missing: Vec<u32>,
        /// The expected number of shards.
        expected: u32,
    },
}

/// The maximum number of shards listed in a message.
const MAX_LISTED: usize = 10;

fn format_numbers(numbers: &[u32]) -> String {
    let mut shown: Vec<String> = numbers.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    if numbers.len() > MAX_LISTED {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

impl MergeError {
    /// Returns the remedy, if there is one.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            MergeError::NotAShard(_) => Some("create shards with `healbench run --shard I/N`"),
            MergeError::Incomplete { .. } => Some("finish it with `healbench run --resume`"),
            MergeError::LostEpisodes(_) => Some("run them again with `healbench run --resume`"),
            MergeError::Mismatch { .. } => {
                Some("run all shards with the same options and the same version of healbench")
            }
            MergeError::Duplicate { .. } => Some("name each shard once"),
            MergeError::Missing { .. } => Some("name all shards of the run"),
        }
    }
}

/// Returns the manifest of the merged run, without rows yet, and the shards in the order of the plan.
///
/// # Errors
/// [`MergeError`] unless all shards of one plan are complete and occur exactly once.
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
    // Unknown if that of any shard is.
    let known = shards.iter().all(|(_, manifest, _)| manifest.finished.is_some());
    let finished = shards.iter().filter_map(|(_, manifest, _)| manifest.finished.clone()).max().filter(|_| known);
    let mut manifest = RunManifest { started, finished, shard: None, ..first.clone() };
    (manifest.status, manifest.episodes_done) = (RunStatus::Running, 0);
    (manifest.files, manifest.replacing) = Default::default();
    Ok((manifest, shards.into_iter().map(|(_, manifest, run)| (manifest, run)).collect()))
}
