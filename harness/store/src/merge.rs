use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::{RunManifest, RunStatus};
use healbench_core::{Plan, Shards, format_numbers};
use serde_json::Value;

/// The state of a directory among the shards of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShardState {
    /// All episodes are in it.
    Complete,
    /// Some episodes are missing: the shard is being run, or was interrupted.
    Unfinished {
        /// The number of its episodes that are done; `None` if that is unknown.
        done: Option<u64>,
        /// The number of planned episodes.
        planned: u64,
        /// True if a process is writing it.
        running: bool,
    },
    /// Episodes were lost to infrastructure or configuration failures.
    LostEpisodes,
    /// It is a run, but not a shard.
    NotAShard,
    /// It is a shard of another run.
    Foreign {
        /// The property in which it differs.
        property: &'static str,
        /// A shard of the run.
        from: PathBuf,
    },
    /// Another directory holds the same shard.
    Duplicate {
        /// The shards that both have.
        shards: Shards,
        of: PathBuf,
    },
    /// It cannot be read. The text names the path.
    Damaged(String),
}

impl ShardState {
    /// Returns true if a partial merge may leave the directory out. Which of two duplicates counts, or which run is meant, is
    /// never guessed.
    fn may_be_left_out(&self) -> bool {
        matches!(self, ShardState::Unfinished { .. } | ShardState::LostEpisodes | ShardState::Damaged(_))
    }

    fn describe(&self, path: &Path) -> String {
        let path = path.display();
        match self {
            ShardState::Complete => format!("`{path}` is complete"),
            ShardState::Unfinished { done, planned, running } => {
                let done = done.map_or("not all".to_owned(), |done| done.to_string());
                let state = if *running { ", and is being run" } else { "" };
                format!("`{path}` holds {done} of its {planned} episodes{state}")
            }
            ShardState::LostEpisodes => format!("`{path}` has episodes that were lost"),
            ShardState::NotAShard => format!("`{path}` is no shard of a run"),
            ShardState::Foreign { property, from } => {
                format!("`{path}` is not of the same run as `{}`: they differ in {property}", from.display())
            }
            ShardState::Duplicate { shards, of } => {
                format!("`{path}` is a duplicate: `{}` holds shard {shards} too", of.display())
            }
            ShardState::Damaged(reason) => reason.clone(),
        }
    }

    fn help(&self) -> &'static str {
        match self {
            ShardState::Complete => "",
            ShardState::Unfinished { .. } => {
                "finish it with `healbench run --resume`, or leave it out with `--partial`"
            }
            ShardState::LostEpisodes => {
                "run them again with `healbench run --resume`, or leave the shard out with `--partial`"
            }
            ShardState::NotAShard => "create shards with `healbench run --shard I/N`",
            ShardState::Foreign { .. } => "run all shards with the same options and the same version of healbench",
            ShardState::Duplicate { .. } => "name each shard once",
            ShardState::Damaged(_) => "run the shard again, or leave it out with `--partial`",
        }
    }
}

/// A directory among the shards of a run.
#[derive(Debug)]
pub struct SurveyedShard<T> {
    pub path: PathBuf,
    /// Its manifest; `None` if it cannot be read.
    pub manifest: Option<RunManifest>,
    pub state: ShardState,
    /// The opened run, or whatever else the caller needs to know.
    pub run: T,
}

/// The shards of a run, as far as they exist.
#[derive(Debug)]
pub struct Survey<T> {
    /// The directories, by shard; those without one come last.
    pub shards: Vec<SurveyedShard<T>>,
    /// The number of shards of the run; 0 if there is none.
    pub count: u32,
    /// The shards of which there is no directory, or only a damaged one.
    pub missing: Vec<u32>,
}

/// Compares directories with each other: finds shards of other runs, duplicates and missing shards. The run is the one that
/// most of the directories belong to.
pub fn survey<T>(mut shards: Vec<SurveyedShard<T>>) -> Survey<T> {
    for shard in &mut shards {
        if shard.manifest.as_ref().is_some_and(|manifest| manifest.shards.is_none()) {
            shard.state = ShardState::NotAShard;
        }
    }
    // Stable: directories without a manifest keep their order.
    shards.sort_by(|a, b| {
        let key = |shard: &SurveyedShard<T>| {
            let shards = shard.manifest.as_ref().and_then(|manifest| manifest.shards.clone());
            shards.map(|shards| (shards.numbers().to_vec(), shards.count()))
        };
        let (a, b) = (key(a), key(b));
        a.is_none().cmp(&b.is_none()).then_with(|| a.cmp(&b))
    });
    let of_run = |shard: &SurveyedShard<T>| shard.manifest.clone().filter(|manifest| manifest.shards.is_some());
    let manifests: Vec<Option<RunManifest>> = shards.iter().map(of_run).collect();
    let agreeing = |index: usize| {
        let Some(own) = &manifests[index] else { return 0 };
        manifests.iter().flatten().filter(|other| difference(own, other).is_none()).count()
    };
    // The first of those that most agree with.
    let reference = (0..shards.len()).rev().max_by_key(|index| agreeing(*index));
    let Some((index, manifest)) = reference.and_then(|index| Some((index, manifests[index].clone()?))) else {
        return Survey { shards, count: 0, missing: Vec::new() };
    };
    let reference_path = shards[index].path.clone();
    let count = manifest.shards.as_ref().map_or(0, Shards::count);
    let mut owners: BTreeMap<u32, PathBuf> = BTreeMap::new();
    for (shard, own) in shards.iter_mut().zip(&manifests) {
        let Some(own) = own else { continue };
        if let Some(property) = difference(&manifest, own) {
            shard.state = ShardState::Foreign { property, from: reference_path.clone() };
            continue;
        }
        let numbers = own.shards.as_ref().map(Shards::numbers).unwrap_or_default();
        let twice: Vec<u32> = numbers.iter().copied().filter(|number| owners.contains_key(number)).collect();
        if let (Some(of), Some(shards)) =
            (twice.first().and_then(|number| owners.get(number)), Shards::new(twice.clone(), count))
        {
            shard.state = ShardState::Duplicate { shards, of: of.clone() };
            continue;
        }
        if !matches!(shard.state, ShardState::Damaged(_)) {
            owners.extend(numbers.iter().map(|number| (*number, shard.path.clone())));
        }
    }
    let missing = (1..=count).filter(|number| !owners.contains_key(number)).collect();
    Survey { shards, count, missing }
}

/// Returns the property in which two shards of one run would not differ.
fn difference(a: &RunManifest, b: &RunManifest) -> Option<&'static str> {
    let count = |manifest: &RunManifest| manifest.shards.as_ref().map_or(0, Shards::count);
    let properties = [
        (identities(&a.plan) == identities(&b.plan), "the settings of their agents"),
        (without_settings(&a.plan) == without_settings(&b.plan), "their plans"),
        (count(a) == count(b), "the number of shards"),
        (a.healbench == b.healbench && a.revision == b.revision, "the version of healbench"),
        (a.tokenizer == b.tokenizer, "the tokenizer"),
    ];
    properties.into_iter().find(|(same, _)| !same).map(|(_, property)| property)
}

/// Returns what the agents of a plan do. A shard that was resumed may have found its models elsewhere.
fn identities(plan: &Plan) -> Vec<(String, Value)> {
    plan.agents.iter().map(|agent| (agent.title(), agent.identity())).collect()
}

fn without_settings(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.agents.iter_mut().for_each(|agent| agent.settings = Value::Null);
    plan
}

/// The reasons why shards cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeError {
    /// The directories that cannot be merged.
    pub unusable: Vec<(PathBuf, ShardState)>,
    /// The shards of which there is no directory.
    pub missing: Vec<u32>,
    /// The number of shards of the run.
    pub count: u32,
}

/// The maximum number of directories listed in a message.
const MAX_LISTED: usize = 20;

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<String> = self.unusable.iter().map(|(path, state)| state.describe(path)).collect();
        if lines.len() > MAX_LISTED {
            let more = lines.len() - MAX_LISTED;
            lines.truncate(MAX_LISTED);
            lines.push(format!("and {more} more directories"));
        }
        if !self.missing.is_empty() {
            let (noun, verb) = if self.missing.len() == 1 { ("shard", "is") } else { ("shards", "are") };
            lines.push(format!("{noun} {} of {} {verb} missing", format_numbers(&self.missing), self.count));
        }
        match lines.as_slice() {
            [] => f.write_str("there is no complete shard to merge"),
            [only] => f.write_str(only),
            lines => write!(f, "the shards cannot be merged:\n  {}", lines.join("\n  ")),
        }
    }
}

impl std::error::Error for MergeError {}

impl MergeError {
    pub fn help(&self) -> &'static str {
        // What is not of this run comes first: without it, other shards may turn out to be missing.
        let refused = self.unusable.iter().find(|(_, state)| !state.may_be_left_out());
        match refused.or(self.unusable.first()) {
            Some((_, state)) => state.help(),
            None => "name all shards of the run, or merge those that are there with `--partial`",
        }
    }
}

/// Returns the manifest of the merged run, without rows yet, and the shards to merge. With `partial`, shards that are missing,
/// unfinished or damaged are left out.
///
/// # Errors
/// [`MergeError`] unless all shards of one plan are complete and occur exactly once, or with `partial` at least one is and none
/// occurs twice.
pub fn merge_manifests<T>(
    survey: Survey<T>,
    partial: bool,
) -> Result<(RunManifest, Vec<SurveyedShard<T>>), MergeError> {
    let Survey { shards, count, missing } = survey;
    let (complete, rest): (Vec<_>, Vec<_>) = shards.into_iter().partition(|shard| shard.state == ShardState::Complete);
    let tolerated = |state: &ShardState| partial && state.may_be_left_out();
    if rest.iter().any(|shard| !tolerated(&shard.state)) || (!partial && !missing.is_empty()) || complete.is_empty() {
        let unusable = rest.into_iter().map(|shard| (shard.path, shard.state)).collect();
        return Err(MergeError { unusable, missing: if partial { Vec::new() } else { missing }, count });
    }
    let manifests: Vec<&RunManifest> = complete.iter().filter_map(|shard| shard.manifest.as_ref()).collect();
    let numbers = manifests.iter().filter_map(|manifest| manifest.shards.as_ref()).flat_map(Shards::numbers).copied();
    let shards = Shards::new(numbers.collect(), count).filter(|shards| shards.numbers().len() < count as usize);
    let started = manifests.iter().map(|manifest| manifest.started.clone()).min().unwrap_or_default();
    // Unknown if that of any shard is.
    let known = manifests.iter().all(|manifest| manifest.finished.is_some());
    let finished = manifests.iter().filter_map(|manifest| manifest.finished.clone()).max().filter(|_| known);
    let changes = manifests.iter().flat_map(|manifest| manifest.changes.clone()).collect();
    let first = (*manifests[0]).clone();
    let mut manifest = RunManifest { shards, started, finished, changes, ..first };
    (manifest.status, manifest.episodes_done) = (RunStatus::Running, 0);
    (manifest.files, manifest.replacing) = Default::default();
    Ok((manifest, complete))
}
