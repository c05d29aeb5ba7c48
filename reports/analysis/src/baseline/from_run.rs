//! Reduces a run to a baseline.

use std::collections::BTreeMap;
use std::io::{self, Write};

use healbench_core::{
    AgentSpec, CallRecord, CellRef, EpisodeRecord, FormerScenario, Outcome, Plan, canonical_json, fingerprint,
};
use healbench_store::{RunManifest, RunStatus};
use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter};
use sha2::{Digest as _, Sha256};

use super::{
    AgentFingerprint, Baseline, BlessError, CellName, CellScenario, Ending, Flags, Outcomes, ScenarioFingerprint, Sum,
    short_hash, template, template_hash,
};
use crate::metric::Metric;
use crate::report_error::{CallCountError, ReportError};
use crate::run_rows::RunRows;

impl Baseline {
    /// Reduces a run. At most the share `max_lost_share` of its episodes may have been lost to infrastructure, and none
    /// to configuration.
    ///
    /// # Errors
    /// [`BlessError`].
    pub fn from_run(run: &dyn RunRows, manifest: &RunManifest, max_lost_share: f64) -> Result<Baseline, BlessError> {
        let plan = &manifest.plan;
        plan.check_names().map_err(ReportError::from)?;
        if let Some(shard) = &manifest.shards {
            return Err(BlessError::Shard(shard.to_string()));
        }
        if manifest.status != RunStatus::Complete {
            return Err(BlessError::Incomplete { done: manifest.episodes_done, planned: plan.len() });
        }
        let sums = aggregate(run, plan)?;
        if sums.config > 0 {
            return Err(BlessError::Config { lost: sums.config, planned: plan.len() });
        }
        let lost = sums.infra;
        if lost as f64 > max_lost_share * plan.len() as f64 {
            // Round, so that the message does not have more digits than the user wrote.
            let limit = format!("{}%", (max_lost_share * 1e6).round() / 1e4);
            return Err(BlessError::Lost { lost, planned: plan.len(), limit });
        }
        let mut cells: BTreeMap<CellName, BTreeMap<String, CellScenario>> = BTreeMap::new();
        for (index, builder) in sums.builders.into_iter().enumerate() {
            let Some(cell) = plan.cell(index as u64 * u64::from(plan.trials)) else { continue };
            let (name, scenario) = (cell_name(plan, cell), plan.scenarios[cell.scenario].id.clone());
            let stochastic = !plan.is_reproducible(cell.agent);
            let copy_of = match plan.agents[cell.agent].is_deterministic() {
                true => first_of_each(&sums.schedules[cell.scenario]),
                false => Vec::new(),
            };
            cells.entry(name).or_default().insert(scenario, CellScenario { copy_of, ..builder.finish(stochastic) });
        }
        let scenarios = plan.scenarios.iter().zip(sums.schedules).map(|(scenario, schedules)| {
            let schedules = short_hash(&fingerprint(schedules.join(" ").as_bytes()));
            let (text, cluster) = (short_hash(&scenario.sha256), scenario.cluster.clone());
            let former = scenario.renamed_from.as_ref();
            let former =
                former.map(|former| FormerScenario { sha256: short_hash(&former.sha256), id: former.id.clone() });
            (scenario.id.clone(), ScenarioFingerprint { text, schedules, cluster, former })
        });
        let settings_hash =
            |settings: &serde_json::Value| short_hash(&fingerprint(canonical_json(settings).as_bytes()));
        let agent_fingerprint = |agent: &AgentSpec| AgentFingerprint {
            kind: agent.kind,
            settings: settings_hash(&agent.identity()),
            all_settings: settings_hash(&agent.settings),
        };
        Ok(Baseline {
            healbench: manifest.healbench.clone(),
            run_format: manifest.format_version,
            seed: plan.seed.0,
            trials: plan.trials,
            tokenizer: manifest.tokenizer.clone(),
            environment: plan.environment.to_string(),
            contracts: plan.contracts_label(),
            prices: manifest.prices.as_ref().map(|prices| format!("{} {}", prices.date, short_hash(&prices.sha256))),
            times: manifest.times().filter(|_| (0..plan.agents.len()).any(|agent| !plan.is_reproducible(agent))),
            agents: plan.agents.iter().map(|agent| (agent.id(), agent_fingerprint(agent))).collect(),
            formats: plan.conditions.iter().map(|c| (c.format().to_string(), template_hash(c.format()))).collect(),
            templates: plan.conditions.iter().filter_map(|condition| template(condition.format())).collect(),
            conditions: plan
                .conditions
                .iter()
                .filter_map(|condition| Some((condition.own_name()?, condition.other_parts())))
                .collect(),
            scenarios: scenarios.collect(),
            cells,
        })
    }
}

/// Returns the index of the first equal text, for each.
fn first_of_each(texts: &[String]) -> Vec<u32> {
    let first = |text: &String| texts.iter().position(|other| other == text).unwrap_or_default() as u32;
    texts.iter().map(first).collect()
}

fn cell_name(plan: &Plan, cell: CellRef) -> CellName {
    let condition = &plan.conditions[cell.condition];
    CellName {
        agent: plan.agents[cell.agent].id(),
        guardrails: condition.guardrails(),
        format: condition.format().to_string(),
        condition: condition.own_name(),
    }
}

/// The sums over a run's rows.
struct RunSums {
    /// By cell of the plan, where a cell includes the scenario.
    builders: Vec<CellScenarioBuilder>,
    /// The hashes of each trial's schedule, by scenario.
    schedules: Vec<Vec<String>>,
    infra: u64,
    config: u64,
}

/// A baseline line under construction.
#[derive(Clone, Default)]
struct CellScenarioBuilder {
    outcomes: Outcomes,
    sums: [Sum; Metric::ALL.len()],
    episodes: Sha256,
    calls: Sha256,
}

impl CellScenarioBuilder {
    fn add(&mut self, row: &EpisodeRecord) {
        let flag = |rate: Metric| rate.value(row).map(|value| value == 1.0).filter(|_| row.outcome.is_scored());
        // Rows without a model are compared exactly, not in pairs.
        let flags = row.model.as_ref().map_or(Flags::default(), |_| Flags {
            recovered: flag(Metric::Recovered),
            first_call_success: flag(Metric::FirstCallSuccess),
            stuck: flag(Metric::Stuck),
        });
        let false_success = flag(Metric::FalseSuccess) == Some(true);
        self.outcomes.push(Ending { outcome: row.outcome, false_success, flags });
        hash(&mut self.episodes, &EpisodeRecord { episode: 0, ..row.clone() });
        if !row.outcome.is_scored() {
            return;
        }
        for (sum, metric) in self.sums.iter_mut().zip(Metric::ALL) {
            if let Some(value) = metric.value(row).filter(|value| value.is_finite()) {
                sum.total += value;
                sum.count += 1;
            }
        }
    }

    fn finish(self, stochastic: bool) -> CellScenario {
        let rows = (!stochastic).then(|| {
            let both = [self.episodes.finalize(), self.calls.finalize()].concat();
            short_hash(&fingerprint(&both))
        });
        CellScenario { outcomes: self.outcomes, sums: self.sums, rows, copy_of: Vec::new() }
    }
}

/// Adds the values of a row to a hash, in the order of its fields. The index in the plan is left out because a larger
/// plan changes it, and field names because they can be renamed.
fn hash(hasher: &mut Sha256, row: &impl Serialize) {
    let mut bytes = Vec::with_capacity(512);
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, ValuesOnly::default());
    row.serialize(&mut serializer).expect("a row is plain data, which JSON has a form for");
    bytes.push(b'\n');
    hasher.update(&bytes);
}

/// A JSON formatter that writes objects as arrays of their values.
#[derive(Default)]
struct ValuesOnly {
    in_key: bool,
}

impl ValuesOnly {
    fn write<W: ?Sized + Write>(&self, writer: &mut W, bytes: &[u8]) -> io::Result<()> {
        if self.in_key { Ok(()) } else { writer.write_all(bytes) }
    }
}

impl Formatter for ValuesOnly {
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin_array(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end_array(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.begin_array_value(writer, first)?;
        self.in_key = true;
        Ok(())
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        self.in_key = false;
        Ok(())
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        Ok(())
    }

    fn begin_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.write(writer, b"\"")
    }

    fn end_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.write(writer, b"\"")
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        self.write(writer, fragment.as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        if self.in_key { Ok(()) } else { CompactFormatter.write_char_escape(writer, escape) }
    }
}

fn aggregate(run: &dyn RunRows, plan: &Plan) -> Result<RunSums, BlessError> {
    let mut sums = RunSums {
        builders: vec![CellScenarioBuilder::default(); plan.cells() as usize],
        schedules: vec![Vec::new(); plan.scenarios.len()],
        infra: 0,
        config: 0,
    };
    let mut mismatch = None;
    let (mut found, mut made) = (0, 0);
    run.for_each_episode(plan, &mut |cell, row| {
        sums.builders[(row.episode / u64::from(plan.trials)) as usize].add(row);
        sums.infra += u64::from(row.outcome == Outcome::Infra);
        sums.config += u64::from(row.outcome == Outcome::Config);
        found += 1;
        made += u64::from(row.calls);
        let schedules = &mut sums.schedules[cell.scenario];
        match schedules.get(cell.trial as usize) {
            None => schedules.push(row.schedule_hash.clone()),
            Some(known) if *known == row.schedule_hash || !row.outcome.is_scored() => {}
            Some(_) => {
                let scenario = plan.scenarios[cell.scenario].id.clone();
                mismatch.get_or_insert(BlessError::Schedules { scenario, trial: cell.trial });
            }
        }
        Ok(())
    })?;
    if let Some(mismatch) = mismatch {
        return Err(mismatch);
    }
    if found != plan.len() {
        return Err(BlessError::Incomplete { done: found, planned: plan.len() });
    }
    let calls = aggregate_calls(run, plan, &mut sums.builders)?;
    if calls != made {
        return Err(ReportError::from(CallCountError { path: run.calls_path(), found: calls, expected: made }).into());
    }
    Ok(sums)
}

/// Adds the rows of calls and returns their number.
fn aggregate_calls(run: &dyn RunRows, plan: &Plan, builders: &mut [CellScenarioBuilder]) -> Result<u64, ReportError> {
    let mut found = 0;
    run.for_each_call(&mut |row| {
        found += 1;
        let builder =
            usize::try_from(row.episode / u64::from(plan.trials)).ok().and_then(|index| builders.get_mut(index));
        let Some(builder) = builder else { return Err(ReportError::NotInPlan { episode: row.episode }) };
        // The hash includes the trial of each call.
        let trial = row.episode % u64::from(plan.trials);
        hash(&mut builder.calls, &CallRecord { episode: trial, ..row.as_measured() });
        Ok(())
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hashed(row: &impl Serialize) -> String {
        let mut hasher = Sha256::new();
        hash(&mut hasher, row);
        hasher.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn a_hash_depends_on_values_and_their_order_and_not_on_names() {
        let row = json!({"a": 1, "b": {"c": "x\"y", "d": null}, "e": [true, 0.5]});
        assert_eq!(hashed(&row), hashed(&json!([1, ["x\"y", null], [true, 0.5]])));
        assert_eq!(hashed(&row), hashed(&json!({"A": 1, "\"": {"C": "x\"y", "": null}, "E": [true, 0.5]})));
        for other in [
            json!({"a": 2, "b": {"c": "x\"y", "d": null}, "e": [true, 0.5]}),
            json!({"b": {"c": "x\"y", "d": null}, "a": 1, "e": [true, 0.5]}),
            json!({"a": 1, "b": {"c": "xy", "d": null}, "e": [true, 0.5]}),
            json!({"a": 1, "b": {"c": "x\"y"}, "d": null, "e": [true, 0.5]}),
        ] {
            assert_ne!(hashed(&row), hashed(&other), "{other}");
        }
    }
}
