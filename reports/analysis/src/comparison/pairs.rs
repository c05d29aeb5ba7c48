//! Compares two runs by pairing their episodes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use healbench_core::{AgentSpec, CellRef, Condition, Outcome, Plan, changed_settings};
use healbench_store::{RunManifest, RunStatus};
use healbench_text::part_of;

use super::conclusion::conclude;
use super::difference::adjust;
use super::episode_metrics::RunEpisodes;
use super::{
    CellComparison, Cluster, Comparison, ComparisonError, EpisodeMetrics, Flip, PairingFailure, Side, Unpaired,
    difference,
};
use crate::condition::ShownCondition;
use crate::metric::Metric;
use crate::rate::CONFIDENCE;
use crate::report_error::ReportError;
use crate::run_apart::run_apart;
use crate::statistics::Resamples;

/// Compares two runs of the same seed, pair by pair.
///
/// Runs with different scenario texts or agent settings are compared too, since that may be the question;
/// [`Comparison::differs`] lists the differences. Episodes with different trial schedules are never paired.
///
/// # Errors
/// [`ComparisonError`].
pub fn compare(base: Side<'_>, candidate: Side<'_>) -> Result<Comparison, ComparisonError> {
    for side in [base, candidate] {
        ReportError::refuse_listed(&side.manifest.plan)
            .map_err(|source| ComparisonError::Report { run: side.name.to_owned(), source })?;
    }
    let (before, after) = (&base.manifest.plan, &candidate.manifest.plan);
    if before.seed != after.seed {
        let (base, candidate) = (before.seed.to_string(), after.seed.to_string());
        return Err(ComparisonError::Seeds { base, candidate });
    }
    if base.manifest.tokenizer != candidate.manifest.tokenizer {
        return Err(ComparisonError::Tokenizers {
            base: base.manifest.tokenizer.clone(),
            candidate: candidate.manifest.tokenizer.clone(),
        });
    }
    let episodes = [read(base)?, read(candidate)?];
    let before = &*under_present_ids(before, after);
    let mut pairing = Pairing {
        plans: [before, after],
        episodes,
        scenarios: common_indices(&before.scenarios, &after.scenarios, |scenario| scenario.id.clone()),
        flips: Vec::new(),
        unpaired: BTreeMap::new(),
    };
    pairing.count_unshared();
    let mut resamples = Resamples::new(before.seed);
    let mut cells = Vec::new();
    for (agent, other_agent) in common_indices(&before.agents, &after.agents, AgentSpec::id) {
        for (condition, other_condition) in common_indices(&before.conditions, &after.conditions, condition_key) {
            cells.push(pairing.cell([agent, other_agent], [condition, other_condition], &mut resamples));
        }
    }
    adjust(cells.iter_mut().map(|cell| &mut cell.metrics));
    let varies = |(agent, other): &(usize, usize)| !before.is_reproducible(*agent) || !after.is_reproducible(*other);
    let apart = match common_indices(&before.agents, &after.agents, AgentSpec::id).iter().any(varies) {
        true => run_apart(base.manifest.times().as_ref(), candidate.manifest.times().as_ref()),
        false => None,
    };
    let mut flips = pairing.flips;
    flips.sort_by_key(|flip| (!flip.is_loss(), flip.base_episode));
    Ok(Comparison {
        base: base.name.to_owned(),
        candidate: candidate.name.to_owned(),
        conclusion: conclude(&cells, &flips),
        confidence: CONFIDENCE,
        partial: [base, candidate].into_iter().flat_map(partial).collect(),
        differs: differs(base.manifest, candidate.manifest, (before, after)),
        run_apart: apart,
        pairs: cells.iter().map(|cell| cell.pairs).sum(),
        changed: cells.iter().map(|cell| cell.changed).sum(),
        cells,
        flips,
        unpaired: pairing
            .unpaired
            .into_iter()
            .map(|((reason, subject), [base, candidate])| Unpaired { reason, subject, base, candidate })
            .collect(),
    })
}

/// Returns the plan of the base with each scenario under the id that it has in the candidate, if it was renamed since.
fn under_present_ids<'b>(base: &'b Plan, candidate: &Plan) -> Cow<'b, Plan> {
    let at = |plan: &Plan, id: &str| plan.scenarios.iter().position(|scenario| scenario.id == id);
    let mut renamed = Cow::Borrowed(base);
    for scenario in &candidate.scenarios {
        let Some(former) = &scenario.renamed_from else { continue };
        let is_taken = at(base, &scenario.id).or(at(candidate, &former.id)).is_some();
        let Some(known) = at(base, &former.id).filter(|_| !is_taken) else { continue };
        let known = &mut renamed.to_mut().scenarios[known];
        known.id.clone_from(&scenario.id);
        if known.cluster == former.id {
            known.cluster.clone_from(&scenario.id);
        }
        // The text differs by more than the id if it is not the one that is expected.
        if known.sha256 == former.sha256 {
            known.sha256.clone_from(&scenario.sha256);
        }
    }
    renamed
}

fn read(side: Side<'_>) -> Result<RunEpisodes, ComparisonError> {
    let plan = &side.manifest.plan;
    let episodes = plan.check_names().map_err(Into::into).and_then(|()| RunEpisodes::read(side.run, plan));
    episodes.map_err(|source| ComparisonError::Report { run: side.name.to_owned(), source })
}

/// Identifies a condition within its plan. A template is identified by its file name, even if its text differs.
pub(crate) fn condition_key(condition: &Condition) -> String {
    condition.label()
}

/// Returns the indices of common entries in both lists, in the order of the first list.
fn common_indices<T, K: PartialEq>(base: &[T], candidate: &[T], key: impl Fn(&T) -> K) -> Vec<(usize, usize)> {
    let there = |wanted: K| candidate.iter().position(|entry| key(entry) == wanted);
    base.iter().enumerate().filter_map(|(here, entry)| Some((here, there(key(entry))?))).collect()
}

struct Pairing<'a> {
    plans: [&'a Plan; 2],
    episodes: [RunEpisodes; 2],
    /// The indices of the common scenarios in both plans.
    scenarios: Vec<(usize, usize)>,
    flips: Vec<Flip>,
    /// The numbers of unpaired episodes of the base and of the candidate, by reason and subject.
    unpaired: BTreeMap<(PairingFailure, String), [u64; 2]>,
}

impl Pairing<'_> {
    /// Counts the episodes of axis entries that the other plan does not have, under the first such axis.
    fn count_unshared(&mut self) {
        for side in 0..2 {
            let (plan, other) = (self.plans[side], self.plans[1 - side]);
            let scenarios = unshared_keys(&plan.scenarios, &other.scenarios, |scenario| scenario.id.clone());
            let agents = unshared_keys(&plan.agents, &other.agents, |agent: &AgentSpec| agent.id().to_string());
            let conditions = unshared_keys(&plan.conditions, &other.conditions, condition_key);
            for index in 0..plan.len() {
                let Some(cell) = plan.cell(index).filter(|cell| self.episodes[side].get(plan, *cell).is_some()) else {
                    continue;
                };
                let failure = if let Some(scenario) = &scenarios[cell.scenario] {
                    (PairingFailure::Scenario, scenario.clone())
                } else if let Some(agent) = &agents[cell.agent] {
                    (PairingFailure::Agent, agent.clone())
                } else if let Some(condition) = &conditions[cell.condition] {
                    (PairingFailure::Condition, condition.clone())
                } else if cell.trial >= other.trials {
                    (PairingFailure::Trial, format!("{} and after", other.trials))
                } else {
                    continue;
                };
                self.unpaired.entry(failure).or_default()[side] += 1;
            }
        }
    }

    fn cell(&mut self, agents: [usize; 2], conditions: [usize; 2], resamples: &mut Resamples) -> CellComparison {
        let [before, after] = self.plans;
        // One cluster for all scenarios that vary one situation.
        let mut names: Vec<&str> = Vec::new();
        let mut clusters = vec![Vec::new(); Metric::ALL.len()];
        let (mut pairs, mut changed) = (0, 0);
        let families = before.families();
        let has_copies = before.agents[agents[0]].is_deterministic() && after.agents[agents[1]].is_deterministic();
        for (scenario, other_scenario) in self.scenarios.clone() {
            let mut counted = has_copies.then(BTreeSet::new);
            let name = before.scenarios[scenario].cluster.as_str();
            let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                clusters.iter_mut().for_each(|clusters| clusters.push(Cluster::of_family(families[scenario])));
                names.len() - 1
            });
            for trial in 0..before.trials.min(after.trials) {
                let here = CellRef { scenario, agent: agents[0], condition: conditions[0], trial };
                let there = CellRef { scenario: other_scenario, agent: agents[1], condition: conditions[1], trial };
                let Some((base, candidate)) = self.pair(here, there, &mut counted) else { continue };
                pairs += 1;
                changed += u64::from(!base.equals(&candidate));
                for (clusters, metric) in clusters.iter_mut().zip(Metric::ALL) {
                    clusters[at].add(metric, &base, &candidate);
                }
            }
        }
        let metrics = Metric::ALL.into_iter().zip(&clusters);
        let is_exact = before.is_reproducible(agents[0]) && after.is_reproducible(agents[1]);
        let (agent, condition) = (&after.agents[agents[1]], &after.conditions[conditions[1]]);
        CellComparison {
            agent: agent.to_string(),
            title: agent.title(),
            kind: agent.kind,
            is_exact,
            condition: ShownCondition::from(condition),
            pairs,
            changed,
            metrics: metrics
                .map(|(metric, clusters)| difference(metric, clusters, None, is_exact, resamples))
                .collect(),
        }
    }

    /// Returns both episodes if they exist, are scored, and have the same trial schedule, which must not be among those
    /// `counted` if there are any.
    fn pair(
        &mut self,
        here: CellRef,
        there: CellRef,
        counted: &mut Option<BTreeSet<u64>>,
    ) -> Option<(EpisodeMetrics, EpisodeMetrics)> {
        let [before, after] = self.plans;
        let base = self.episodes[0].get(before, here).copied();
        let candidate = self.episodes[1].get(after, there).copied();
        let mut count_unpaired = |reason, subject: String| {
            let counts = self.unpaired.entry((reason, subject)).or_default();
            counts[0] += u64::from(base.is_some());
            counts[1] += u64::from(candidate.is_some());
        };
        let (Some(base), Some(candidate)) = (base, candidate) else {
            if base.is_some() || candidate.is_some() {
                count_unpaired(PairingFailure::NotPlayed, String::new());
            }
            return None;
        };
        if base.schedule != candidate.schedule {
            count_unpaired(PairingFailure::Schedule, before.scenarios[here.scenario].id.clone());
            return None;
        }
        if !base.is_scored() || !candidate.is_scored() {
            count_unpaired(PairingFailure::NotScored, before.agents[here.agent].title());
            return None;
        }
        if counted.as_mut().is_some_and(|counted| !counted.insert(base.schedule)) {
            count_unpaired(PairingFailure::Copy, before.scenarios[here.scenario].id.clone());
            return None;
        }
        if (base.outcome == Outcome::Success) != (candidate.outcome == Outcome::Success) {
            let condition = &after.conditions[there.condition];
            self.flips.push(Flip {
                scenario: after.scenarios[there.scenario].id.clone(),
                title: after.agents[there.agent].title(),
                condition: ShownCondition::from(condition),
                trial: there.trial,
                base: base.outcome,
                candidate: candidate.outcome,
                base_episode: before.episode(here),
                candidate_episode: after.episode(there),
            });
        }
        Some((base, candidate))
    }
}

/// Returns the key of each entry that the other list does not have, otherwise `None`.
fn unshared_keys<T>(list: &[T], other: &[T], key: impl Fn(&T) -> String) -> Vec<Option<String>> {
    let known: Vec<String> = other.iter().map(&key).collect();
    list.iter().map(|entry| Some(key(entry)).filter(|key| !known.contains(key))).collect()
}

/// Describes the missing part of a run.
fn partial(side: Side<'_>) -> Vec<String> {
    let manifest = side.manifest;
    let all = manifest.episodes();
    let interrupted = (manifest.status == RunStatus::Interrupted).then(|| {
        format!("{} was interrupted: it has {}", side.name, part_of(manifest.episodes_done, all.len(), "episode"))
    });
    let shard = manifest.shards.as_ref().map(|shard| format!("{} is shard {shard} of a run", side.name));
    interrupted.into_iter().chain(shard).collect()
}

/// The number of settings of an agent that are named.
const MAX_NAMED_SETTINGS: usize = 3;

/// Describes all other differences.
fn differs(before: &RunManifest, after: &RunManifest, plans: (&Plan, &Plan)) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare_field = |what: &str, from: Option<&str>, to: Option<&str>| {
        if from != to {
            found.push(format!("{what}: {} → {}", from.unwrap_or("unknown"), to.unwrap_or("unknown")));
        }
    };
    compare_field("version", Some(&before.healbench), Some(&after.healbench));
    compare_field("revision", before.revision.as_deref(), after.revision.as_deref());
    let prices = |manifest: &RunManifest| {
        manifest.prices.as_ref().map(|prices| format!("{} ({:.8})", prices.date, prices.sha256))
    };
    compare_field("prices", prices(before).as_deref(), prices(after).as_deref());
    for (here, there) in common_indices(&plans.0.agents, &plans.1.agents, AgentSpec::id) {
        let (from, to) = (&plans.0.agents[here], &plans.1.agents[there]);
        if from.kind != to.kind {
            found.push(format!("agent {from}: {} → {}", from.kind.name(), to.kind.name()));
        }
        let changes = changed_settings(&from.settings, &to.settings);
        if !changes.is_empty() {
            let mut names: Vec<&str> = changes.iter().map(|change| change.setting.as_str()).collect();
            let more = names.len().saturating_sub(MAX_NAMED_SETTINGS);
            names.truncate(MAX_NAMED_SETTINGS);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            found.push(format!("agent {from}: its settings: {}{more}", names.join(", ")));
        }
    }
    for (here, there) in common_indices(&plans.0.conditions, &plans.1.conditions, condition_key) {
        let [before, after] = [&plans.0.conditions[here], &plans.1.conditions[there]];
        if (before.guardrails(), before.other_parts()) != (after.guardrails(), after.other_parts()) {
            found.push(format!("condition {}: its parts", before.label()));
        }
        let (from, to) = (plans.0.conditions[here].format(), plans.1.conditions[there].format());
        let template = format!("error format {from}: its text");
        if from != to && !found.contains(&template) {
            found.push(template);
        }
    }
    for (here, there) in common_indices(&plans.0.scenarios, &plans.1.scenarios, |scenario| scenario.id.clone()) {
        let (from, to) = (&plans.0.scenarios[here], &plans.1.scenarios[there]);
        if from.sha256 != to.sha256 {
            found.push(format!("scenario {}: its text", from.id));
        }
    }
    found
}
