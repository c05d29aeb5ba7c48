use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use healbench_core::{DrawKey, Draws, Object, Script, Seed, Step, ToolCall, canonical_json, fingerprint};
use healbench_engine::definition::{Clock, WorldDef};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::mistakes::{ExistingKeys, MutationPlan, mutate};

/// The mistakes and faults of one trial. They depend only on the seed, the scenario and the trial, so they are equal in
/// all cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// The intended calls (those that a perfect agent would make), each with its draft: the same call with the trial's
    /// mistakes.
    pub script: Script,
    /// True if the trial has a mistake or a fault.
    pub scheduled: bool,
    /// The first 64 bits, as 16 hexadecimal digits, of the SHA-256 hash of the canonical JSON of script, faults and a
    /// fingerprint of the environment's data. Result rows with different hashes had different mistakes, faults or data.
    pub hash: String,
}

impl Schedule {
    /// Returns the turns of a seeded opening, each with its calls: all drafts up to and including the first mistake; the first one if
    /// only a fault is scheduled; none if nothing is scheduled: the model then makes its own first call.
    pub fn opening_turns(&self) -> Vec<Vec<&ToolCall>> {
        let steps = &self.script.steps;
        let first_mistake = steps.iter().position(Step::is_mistaken);
        let count = match first_mistake {
            _ if !self.scheduled => 0,
            Some(at) => at + 1,
            None => steps.len().min(1),
        };
        steps[..count].iter().map(|step| vec![&step.draft; 1 + usize::from(step.twice)]).collect()
    }
}

/// A step with its planned mistakes.
#[derive(Debug, Clone)]
pub(crate) struct PlannedStep {
    /// The step without mistakes: the draft equals the intended call.
    pub(crate) step: Step,
    /// Mistakes made in every trial.
    pub(crate) mistakes: Vec<MutationPlan>,
    /// The number of mistakes to draw, and the mistakes to draw from.
    pub(crate) draw: Option<(u32, Vec<MutationPlan>)>,
    /// The members `find` and `intent` of the step's canonical JSON, which do not depend on the trial.
    pub(crate) canonical: String,
}

impl PlannedStep {
    pub(crate) fn new(step: Step, mistakes: Vec<MutationPlan>, draw: Option<(u32, Vec<MutationPlan>)>) -> PlannedStep {
        let find: Value = step.find.iter().map(|(name, find)| (name.clone(), json!(find))).collect::<Object>().into();
        let intended = canonical_json(&json!(step.intended));
        let mut canonical = format!("\"find\":{},\"intent\":{intended}", canonical_json(&find));
        // What earlier steps lacked stands only where it says something, so that hashes stay as they are.
        let Step { fails, optional, alternatives, .. } = &step;
        if fails.is_some() || *optional || !alternatives.is_empty() {
            let rest = json!({"alternatives": alternatives, "fails": fails, "optional": optional});
            canonical.push_str(",\"rest\":");
            canonical.push_str(&canonical_json(&rest));
        }
        PlannedStep { step, mistakes, draw, canonical }
    }

    pub(crate) fn has_mistakes(&self) -> bool {
        !self.mistakes.is_empty() || self.draw.is_some()
    }
}

/// Returns the step of one trial, and true if every planned mistake could be applied.
pub(crate) fn mutated_step(planned: &PlannedStep, existing_keys: &ExistingKeys, draws: &mut Draws) -> (Step, bool) {
    let mut step = planned.step.clone();
    let mut touched = BTreeSet::new();
    let mut all_applied = true;
    for plan in &planned.mistakes {
        all_applied &= mutate(plan, &mut step, &mut touched, existing_keys, draws);
    }
    if let Some((count, from)) = &planned.draw {
        let mut remaining: Vec<&MutationPlan> = from.iter().collect();
        let mut made = 0;
        while made < *count && !remaining.is_empty() {
            let plan = remaining.remove(draws.below(remaining.len() as u64) as usize);
            made += u32::from(mutate(plan, &mut step, &mut touched, existing_keys, draws));
        }
        all_applied &= made == *count;
    }
    (step, all_applied)
}

/// Returns the schedule of one trial. `faults` is the canonical JSON of the list of faults. In the hashed JSON the draft is named
/// `belief`, and the intended call `intent`; other names would change all hashes.
pub(crate) fn schedule(
    steps: &[PlannedStep],
    answer: Option<&str>,
    faults: &str,
    summary: &WorldSummary,
    key: DrawKey,
) -> Schedule {
    let mut hash_input = String::with_capacity(1024);
    hash_input.push_str("{\"faults\":");
    hash_input.push_str(faults);
    hash_input.push_str(",\"script\":{\"steps\":[");
    let mut scheduled = faults != "[]";
    let mut script = Script { steps: Vec::with_capacity(steps.len()), answer: answer.map(str::to_owned) };
    for (index, planned) in steps.iter().enumerate() {
        let step = match planned.has_mistakes() {
            true => mutated_step(planned, &summary.existing_keys, &mut key.draws("mistake", index as u64)).0,
            false => planned.step.clone(),
        };
        scheduled |= planned.has_mistakes();
        if index > 0 {
            hash_input.push(',');
        }
        hash_input.push_str("{\"belief\":{\"arguments\":");
        hash_input.push_str(&canonical_json(&step.draft.arguments));
        hash_input.push_str(",\"tool\":");
        hash_input.push_str(&canonical_json(&Value::String(step.draft.tool.clone())));
        hash_input.push_str("},");
        hash_input.push_str(&planned.canonical);
        if step.twice {
            hash_input.push_str(",\"twice\":true");
        }
        hash_input.push('}');
        script.steps.push(step);
    }
    hash_input.push(']');
    if let Some(answer) = answer {
        hash_input.push_str(",\"answer\":");
        hash_input.push_str(&canonical_json(&answer.into()));
    }
    hash_input.push_str("},\"world\":\"");
    hash_input.push_str(&summary.fingerprint);
    hash_input.push_str("\"}");
    let mut hash = fingerprint(hash_input.as_bytes());
    hash.truncate(16);
    Schedule { script, scheduled, hash }
}

/// The parts of an environment's initial state that schedules depend on.
#[derive(Debug)]
pub(crate) struct WorldSummary {
    fingerprint: String,
    existing_keys: ExistingKeys,
}

impl WorldSummary {
    pub(crate) fn existing_keys(&self) -> &ExistingKeys {
        &self.existing_keys
    }

    /// Summarizes an initial state. Only the keys of `tables` are kept.
    pub(crate) fn new(world: &WorldDef, tables: &BTreeSet<String>) -> WorldSummary {
        let mut hasher = Sha256::new();
        hasher.update(canonical_json(&json!(world.role)));
        if world.clock != Clock::None {
            hasher.update(canonical_json(&json!({"clock": world.clock})));
        }
        let mut existing_keys = BTreeMap::new();
        for table in &world.tables {
            let head = [&table.name, &table.singular, &table.key, &table.key_prefix];
            hasher.update(canonical_json(&json!(head)));
            for row in &table.rows {
                hasher.update(canonical_row(row));
            }
            if tables.contains(&table.name) {
                let keys = table.rows.iter().filter_map(|row| row.get(&table.key)).map(canonical_json);
                existing_keys.insert(table.name.clone(), keys.collect());
            }
        }
        let digest: [u8; 32] = hasher.finalize().into();
        WorldSummary { fingerprint: fingerprint(&digest), existing_keys }
    }
}

/// Formats a row as canonical JSON without copying it.
fn canonical_row(row: &Object) -> String {
    let mut entries: Vec<(&String, &Value)> = row.iter().collect();
    entries.sort_unstable_by_key(|(name, _)| *name);
    let mut out = String::from("{");
    for (index, (name, value)) in entries.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&canonical_json(&Value::String(name.clone())));
        out.push(':');
        out.push_str(&canonical_json(value));
    }
    out.push('}');
    out
}

/// A cache of the last seed's summary. A run has one seed and many trials, and summarizing thousands of rows takes
/// about a thousand times as long as creating a schedule.
#[derive(Debug, Default)]
pub(crate) struct WorldSummaryCache(Mutex<BTreeMap<u32, (Seed, Arc<WorldSummary>)>>);

impl WorldSummaryCache {
    /// Returns the summary of the initial state of `seed` with this number, computed by `summarize` unless it is cached.
    pub(crate) fn get(
        &self,
        (seed, number): (Seed, u32),
        summarize: impl FnOnce() -> WorldSummary,
    ) -> Arc<WorldSummary> {
        // A value is replaced as a whole, so a poisoned lock is safe to use.
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match cache.get(&number) {
            Some((cached_seed, stored)) if *cached_seed == seed => Arc::clone(stored),
            _ => {
                let made = Arc::new(summarize());
                cache.insert(number, (seed, Arc::clone(&made)));
                made
            }
        }
    }
}

impl Clone for WorldSummaryCache {
    fn clone(&self) -> WorldSummaryCache {
        WorldSummaryCache::default()
    }
}
