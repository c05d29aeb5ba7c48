use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use healbench_engine::definition::WorldDef;
use healbench_protocol::{DrawKey, Draws, Object, Script, Seed, Step, canonical_json, fingerprint};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::mistakes::{Known, Plan, spoil};

/// What one trial of a scenario has in store, whatever the cell: it is keyed by seed, scenario and trial alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// What the agent sets out to do and what it believes at first.
    pub script: Script,
    /// Whether anything goes wrong: a mistake or a fault.
    pub scheduled: bool,
    /// The first 64 bits, as 16 hexadecimal digits, of the SHA-256 over the canonical JSON of script, faults and a fingerprint
    /// of the world. Rows whose hashes differ met different difficulties.
    pub hash: String,
}

/// A step with the mistakes that are planned for it.
#[derive(Debug, Clone)]
pub(crate) struct PlannedStep {
    /// Intent and belief are equal here.
    pub(crate) step: Step,
    /// Mistakes that are always made.
    pub(crate) mistakes: Vec<Plan>,
    /// How many mistakes are drawn, and from what.
    pub(crate) draw: Option<(u32, Vec<Plan>)>,
    /// `"find":…,"intent":…` of the step's canonical JSON: it does not depend on the trial.
    pub(crate) canonical: String,
}

impl PlannedStep {
    pub(crate) fn new(step: Step, mistakes: Vec<Plan>, draw: Option<(u32, Vec<Plan>)>) -> PlannedStep {
        let find: Value = step.find.iter().map(|(name, find)| (name.clone(), json!(find))).collect::<Object>().into();
        let intended = canonical_json(&json!(step.intended));
        let canonical = format!("\"find\":{},\"intent\":{intended}", canonical_json(&find));
        PlannedStep { step, mistakes, draw, canonical }
    }

    pub(crate) fn has_mistakes(&self) -> bool {
        !self.mistakes.is_empty() || self.draw.is_some()
    }
}

/// The step of one trial. True beside it when every planned mistake found something to spoil.
pub(crate) fn spoiled(planned: &PlannedStep, known: &Known, draws: &mut Draws) -> (Step, bool) {
    let mut step = planned.step.clone();
    let Value::Object(arguments) = &mut step.draft.arguments else { return (step, true) };
    let mut touched = BTreeSet::new();
    let mut all = true;
    for plan in &planned.mistakes {
        all &= spoil(plan, arguments, &mut touched, known, draws);
    }
    if let Some((count, from)) = &planned.draw {
        let mut left: Vec<&Plan> = from.iter().collect();
        let mut made = 0;
        while made < *count && !left.is_empty() {
            let plan = left.remove(draws.below(left.len() as u64) as usize);
            made += u32::from(spoil(plan, arguments, &mut touched, known, draws));
        }
        all &= made == *count;
    }
    (step, all)
}

/// The schedule of one trial.
pub(crate) fn schedule(steps: &[PlannedStep], faults: &str, facts: &WorldFacts, key: DrawKey) -> Schedule {
    let mut hashed = String::with_capacity(1024);
    hashed.push_str("{\"faults\":");
    hashed.push_str(faults);
    hashed.push_str(",\"script\":{\"steps\":[");
    let mut scheduled = faults != "[]";
    let mut script = Script { steps: Vec::with_capacity(steps.len()) };
    for (index, planned) in steps.iter().enumerate() {
        let step = match planned.has_mistakes() {
            true => spoiled(planned, &facts.known, &mut key.draws("mistake", index as u64)).0,
            false => planned.step.clone(),
        };
        scheduled |= planned.has_mistakes();
        if index > 0 {
            hashed.push(',');
        }
        hashed.push_str("{\"belief\":{\"arguments\":");
        hashed.push_str(&canonical_json(&step.draft.arguments));
        hashed.push_str(",\"tool\":");
        hashed.push_str(&canonical_json(&Value::String(step.draft.tool.clone())));
        hashed.push_str("},");
        hashed.push_str(&planned.canonical);
        hashed.push('}');
        script.steps.push(step);
    }
    hashed.push_str("]},\"world\":\"");
    hashed.push_str(&facts.fingerprint);
    hashed.push_str("\"}");
    let mut hash = fingerprint(hashed.as_bytes());
    hash.truncate(16);
    Schedule { script, scheduled, hash }
}

/// What schedules need to know of a generated world.
#[derive(Debug)]
pub(crate) struct WorldFacts {
    fingerprint: String,
    known: Known,
}

impl WorldFacts {
    /// The keys that exist.
    pub(crate) fn known(&self) -> &Known {
        &self.known
    }

    /// Reads the world once; only the keys of `tables` are kept.
    pub(crate) fn of(world: &WorldDef, tables: &BTreeSet<String>) -> WorldFacts {
        let mut hasher = Sha256::new();
        hasher.update(canonical_json(&json!(world.role)));
        let mut known = BTreeMap::new();
        for table in &world.tables {
            let head = [&table.name, &table.singular, &table.key, &table.key_prefix];
            hasher.update(canonical_json(&json!(head)));
            for row in &table.rows {
                hasher.update(canonical_row(row));
            }
            if tables.contains(&table.name) {
                let keys = table.rows.iter().filter_map(|row| row.get(&table.key)).map(canonical_json);
                known.insert(table.name.clone(), keys.collect());
            }
        }
        let digest: [u8; 32] = hasher.finalize().into();
        WorldFacts { fingerprint: fingerprint(&digest), known }
    }
}

/// A row's canonical JSON without a copy of the row.
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

/// The facts of the last seed's world. A run has one seed and asks for many trials, and reading a world of thousands of rows
/// for each would cost a thousand times what the schedule itself does.
#[derive(Debug, Default)]
pub(crate) struct FactsMemo(Mutex<Option<(Seed, Arc<WorldFacts>)>>);

impl FactsMemo {
    /// The facts for `seed`, made by `facts` unless they are here.
    pub(crate) fn get(&self, seed: Seed, facts: impl FnOnce() -> WorldFacts) -> Arc<WorldFacts> {
        // What is stored is written whole, so a panic elsewhere cannot have left half of it.
        let mut memo = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match memo.as_ref() {
            Some((known, stored)) if *known == seed => Arc::clone(stored),
            _ => {
                let made = Arc::new(facts());
                *memo = Some((seed, Arc::clone(&made)));
                made
            }
        }
    }
}

impl Clone for FactsMemo {
    fn clone(&self) -> FactsMemo {
        FactsMemo::default()
    }
}
