use healbench_record::{Plan, PlannedScenario, RunDir, RunManifest};

use super::aggregate::{Aggregates, Retries as Counts, aggregate};
use super::claims;
use super::headline::HeadlineConditions;
use super::positions::frequent;
use super::sums::{ModelSums, Pairs, Sums};
use super::{
    AgentReport, CONFIDENCE, Difference, HeadlineComparison, ModelReport, Paired, Pass, Rate, Repair, Report,
    ReportError, ReportRow, Retries, ScenarioRate, Totals,
};
use crate::comparison::main_matrix;
use crate::frames::check_names;
use crate::statistics::{
    ClusterSums, Resamples, Trials, bca_ratio, cumulative_incidence, holm, kaplan_meier_median, mcnemar_mid_p,
    pass_at_k, pass_hat_k, pass_hat_k_interval, tango, wilson,
};

/// How much of a report is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// What the tables of a terminal show: all but the matrix.
    Tables,
    /// All of it. A run of a million episodes is read twice for it.
    Whole,
}

/// Computes the report of a run from its two frames and its plan. A run that was interrupted has a report too, over the episodes
/// that are there.
///
/// # Errors
/// [`ReportError::Frame`] when a frame cannot be read, or has not the calls of its episodes; [`ReportError::Schedule`] or
/// [`ReportError::Schedules`] when episodes that would be compared met different schedules; [`ReportError::Stranger`] when the frames
/// belong to another plan; [`ReportError::Column`].
pub fn summarise(run: &RunDir, manifest: &RunManifest, scope: Scope) -> Result<Report, ReportError> {
    let plan = &manifest.plan;
    check_names(plan)?;
    let mut aggregates = aggregate(run, plan)?;
    let mut resamples = Resamples::new(plan.seed);
    let mut rows = |agent: usize| {
        (0..plan.conditions.len()).map(|condition| row(&aggregates, plan, agent, condition, &mut resamples)).collect()
    };
    let mut agents: Vec<AgentReport> = plan
        .agents
        .iter()
        .enumerate()
        .map(|(index, agent)| AgentReport {
            agent: agent.to_string(),
            title: agent.title(),
            kind: agent.kind,
            opening: agent.opening,
            tools: agent.tools,
            beside: None,
            rows: rows(index),
        })
        .collect();
    adjust(agents.iter_mut().flat_map(|agent| &mut agent.rows).filter_map(|row| row.vs_none.as_mut()));
    let ablation = aggregates.effects.report(plan, &mut resamples);
    if HeadlineConditions::of(plan).is_some() {
        for (index, agent) in agents.iter_mut().enumerate() {
            agent.beside = Some(beside(&aggregates, plan, index, &mut resamples));
        }
        adjust(agents.iter_mut().filter_map(|agent| agent.beside.as_mut().map(|beside| &mut beside.success)));
    }
    let mut examples = std::mem::take(&mut aggregates.examples);
    for example in &mut examples {
        let rate = |condition: usize| {
            agents.get(example.agent)?.rows.get(condition)?.scenarios.get(example.scenario)?.success.rate
        };
        example.difference =
            HeadlineConditions::of(plan).and_then(|headline| Some(rate(headline.right)? - rate(headline.left)?));
    }
    Ok(Report {
        examples,
        error_classes: frequent(agents.iter().flat_map(|agent| &agent.rows).flat_map(|row| &row.calls_by_number)),
        suite: suite_of(&plan.scenarios),
        seed: plan.seed,
        trials: plan.trials,
        scenarios: plan.scenarios.iter().map(|scenario| scenario.id.clone()).collect(),
        planned: plan.len(),
        status: manifest.status,
        shard: manifest.shard.map(|shard| shard.to_string()),
        tokenizer: manifest.tokenizer.clone(),
        confidence: CONFIDENCE,
        totals: totals(&agents),
        agents,
        ablation,
        headline: HeadlineConditions::of(plan),
        matrix: match scope {
            Scope::Tables => None,
            Scope::Whole => main_matrix(run, plan)?,
        },
        claims: claims::reports(
            plan,
            |scenario, agent, condition| aggregates.measured(scenario, agent, condition),
            |scenario, agent, condition| {
                let cell = aggregates.cell(scenario, agent, condition);
                Rate::of(cell.successes, cell.scored)
            },
        ),
    })
}

/// One agent under one setting, over all scenarios.
fn row(aggregates: &Aggregates, plan: &Plan, agent: usize, condition: usize, resamples: &mut Resamples) -> ReportRow {
    let mut sums = Sums::default();
    let mut pairs = Pairs::default();
    let mut scenarios = Vec::with_capacity(plan.scenarios.len());
    let mut trials = Vec::with_capacity(plan.scenarios.len());
    let cells: Vec<&Pairs> =
        (0..plan.scenarios.len()).map(|scenario| aggregates.pairs(scenario, agent, condition)).collect();
    for (index, scenario) in plan.scenarios.iter().enumerate() {
        let cell = aggregates.cell(index, agent, condition);
        sums.add(cell);
        pairs.add(cells[index]);
        trials.push(Trials { trials: cell.scored, successes: cell.successes });
        scenarios.push(ScenarioRate {
            scenario: scenario.id.clone(),
            success: Rate::of(cell.successes, cell.scored),
            calls_per_episode: Rate::of(cell.calls, cell.scored),
            tokens_per_episode: Rate::of(cell.tokens, cell.scored),
        });
    }
    let has_none = plan.unguarded_condition().is_some_and(|none| none != condition);
    ReportRow {
        guardrails: plan.conditions[condition].guardrails,
        format: plan.conditions[condition].format.clone(),
        episodes: sums.episodes,
        scored: sums.scored,
        infra: sums.infra,
        config: sums.config,
        success: Rate::of(sums.successes, sums.scored),
        success_interval: wilson(sums.successes, sums.scored, CONFIDENCE),
        vs_none: has_none.then(|| paired(&pairs)),
        calls_vs_none: has_none.then(|| difference(&cells, |cell| cell.calls, resamples)),
        tokens_vs_none: has_none.then(|| difference(&cells, |cell| cell.tokens, resamples)),
        calls_per_episode: Rate::of(sums.calls, sums.scored),
        tokens_per_episode: Rate::of(sums.tokens, sums.scored),
        episode_recovery: Rate::of(sums.scheduled_successes, sums.scheduled),
        errors_fixed: Rate::of(sums.errors_fixed, sums.chains),
        retries: retries(aggregates.retries(agent, condition)),
        repair_at: repair_at(aggregates.retries(agent, condition)),
        first_call_success: Rate::of(sums.first_call_successes, sums.first_calls),
        repeated_calls: Rate::of(sums.repeated_calls, sums.calls_after_error),
        stuck: Rate::of(sums.stuck, sums.scored),
        hints_followed: Rate::of(sums.hints_followed, sums.hinted_calls),
        false_success: Rate::of(sums.false_successes, sums.scored),
        leaked_fields: sums.leaked_fields,
        calls_per_success: Rate::of(sums.calls, sums.successes),
        tokens_per_success: Rate::of(sums.tokens, sums.successes),
        cost_per_success: usd(&sums.models).filter(|_| sums.successes > 0).map(|usd| usd / sums.successes as f64),
        model: model(&sums.models),
        wasted_tokens: Rate::of(sums.wasted_tokens, sums.tokens),
        prose_tokens: sums.prose_tokens,
        guardrail_tokens: sums.guardrail_tokens,
        call_efficiency: Rate::of(sums.perfect_calls, sums.calls),
        call_efficiency_of_successes: Rate::of(sums.perfect_calls_of_successes, sums.calls_of_successes),
        passes: passes(&trials, resamples),
        calls_by_number: aggregates.positions(agent, condition).calls().to_vec(),
        scenarios,
    }
}

/// The cost of all episodes of models, if it is known of each; of no episode it is not.
fn usd(sums: &ModelSums) -> Option<f64> {
    (sums.episodes > 0 && sums.unpriced == 0).then_some(sums.usd)
}

/// The cost of an episode, if it is known of each.
pub(super) fn usd_per_episode(sums: &ModelSums) -> Option<f64> {
    usd(sums).map(|usd| usd / sums.episodes as f64)
}

fn model(sums: &ModelSums) -> Option<ModelReport> {
    let share = |[part, whole]: [u64; 2]| Rate::of(part, whole);
    (sums.episodes > 0).then(|| ModelReport {
        turns_per_episode: Rate::of(sums.turns, sums.episodes),
        input_per_episode: Rate::of(sums.input, sums.episodes),
        output_per_episode: Rate::of(sums.output, sums.episodes),
        cache_read: share(sums.cache_read),
        cache_write: share(sums.cache_write),
        reasoning: share(sums.reasoning),
        bpe_input: Rate::of(sums.bpe[0], sums.provider[0]),
        bpe_output: Rate::of(sums.bpe[1], sums.provider[1]),
        usd: usd(sums),
        usd_per_episode: usd_per_episode(sums),
        latency_ms_per_turn: Rate::of(sums.latency_ms, sums.turns),
    })
}

fn paired(sums: &Pairs) -> Paired {
    let Pairs { pairs, gains, losses, unmatched, .. } = *sums;
    Paired {
        pairs,
        gains,
        losses,
        unmatched,
        difference: (pairs > 0).then(|| (gains as f64 - losses as f64) / pairs as f64),
        interval: tango(gains, losses, pairs, CONFIDENCE),
        p_value: (pairs >= 2).then(|| mcnemar_mid_p(gains, losses)),
        p_adjusted: None,
    }
}

/// A report asks the same question several times, so a small p-value among many says less than one alone.
fn adjust<'a>(asked: impl Iterator<Item = &'a mut Paired>) {
    let mut asked: Vec<&mut Paired> = asked.collect();
    asked.retain(|paired| paired.p_value.is_some());
    let p_values: Vec<f64> = asked.iter().filter_map(|paired| paired.p_value).collect();
    for (paired, adjusted) in asked.into_iter().zip(holm(&p_values).into_iter().flatten()) {
        paired.p_adjusted = Some(adjusted);
    }
}

/// The contrast of one agent.
fn beside(aggregates: &Aggregates, plan: &Plan, agent: usize, resamples: &mut Resamples) -> HeadlineComparison {
    let cells: Vec<&Pairs> = (0..plan.scenarios.len()).map(|scenario| aggregates.beside(scenario, agent)).collect();
    let mut sums = Pairs::default();
    cells.iter().for_each(|cell| sums.add(cell));
    // Sums have the right side first.
    let both = |[right, left]: [u64; 2], over: [u64; 2]| [Rate::of(left, over[1]), Rate::of(right, over[0])];
    let episodes = [sums.pairs; 2];
    HeadlineComparison {
        success: paired(&sums),
        success_rates: both(sums.successes, episodes),
        calls_per_episode: both(sums.calls, episodes),
        calls: difference(&cells, |cell| cell.calls, resamples),
        tokens_per_episode: both(sums.tokens, episodes),
        tokens: difference(&cells, |cell| cell.tokens, resamples),
        tokens_per_success: both(sums.tokens, sums.successes),
    }
}

/// Chains that were fixed after at most so many further attempts are counted.
const REPAIR_AT: [u32; 3] = [1, 2, 3];

fn repair_at(counts: &Counts) -> Vec<Repair> {
    let chains = counts.values().map(|ended| ended.fixed + ended.censored).sum();
    let fixed_within = |k: u32| counts.range(..=k).map(|(_, ended)| ended.fixed).sum();
    REPAIR_AT.map(|k| Repair { k, chains: Rate::of(fixed_within(k), chains) }).to_vec()
}

fn retries(counts: &Counts) -> Retries {
    Retries {
        fixed: counts.values().map(|ended| ended.fixed).sum(),
        censored: counts.values().map(|ended| ended.censored).sum(),
        median: kaplan_meier_median(counts, CONFIDENCE),
        curve: cumulative_incidence(counts),
    }
}

/// pass@k and pass^k are estimated for these.
const PASS_AT: [u64; 4] = [1, 2, 4, 8];

fn passes(scenarios: &[Trials], resamples: &mut Resamples) -> Vec<Pass> {
    let pass = |k| Pass {
        k,
        any: pass_at_k(scenarios, k),
        all: pass_hat_k(scenarios, k),
        all_interval: pass_hat_k_interval(scenarios, k, resamples, CONFIDENCE),
    };
    PASS_AT.map(pass).to_vec()
}

/// The mean difference of a number per episode to `none`, with scenarios as clusters.
fn difference(cells: &[&Pairs], of: impl Fn(&Pairs) -> [u64; 2], resamples: &mut Resamples) -> Difference {
    let clusters: Vec<ClusterSums> = cells
        .iter()
        .filter(|cell| cell.pairs > 0)
        .map(|cell| {
            let [here, none] = of(cell).map(|sum| sum as f64);
            ClusterSums { numerator: here - none, denominator: cell.pairs as f64 }
        })
        .collect();
    let sum = |of: fn(&ClusterSums) -> f64| clusters.iter().map(of).sum::<f64>();
    let pairs = sum(|cluster| cluster.denominator);
    Difference {
        difference: (pairs > 0.0).then(|| sum(|cluster| cluster.numerator) / pairs),
        interval: bca_ratio(&clusters, resamples, CONFIDENCE),
    }
}

fn totals(agents: &[AgentReport]) -> Totals {
    let mut totals = Totals::default();
    for row in agents.iter().flat_map(|agent| &agent.rows) {
        totals.episodes += row.episodes;
        totals.scored += row.scored;
        totals.infra += row.infra;
        totals.config += row.config;
        totals.unmatched += row.vs_none.map_or(0, |paired| paired.unmatched);
    }
    totals
}

/// The folder's name when all scenario files are in the same.
pub(crate) fn suite_of(scenarios: &[PlannedScenario]) -> Option<String> {
    // A manifest may be read on another system than the one that wrote it.
    let folder = |scenario: &PlannedScenario| {
        let mut parts = scenario.path.rsplit(['/', '\\']).skip(1);
        // A built-in suite's file has the path `built-in:SUITE/…`.
        let name = parts.next()?.rsplit(':').next()?;
        Some(name).filter(|name| !name.is_empty() && *name != ".").map(str::to_owned)
    };
    let first = folder(scenarios.first()?)?;
    scenarios.iter().all(|scenario| folder(scenario).as_ref() == Some(&first)).then_some(first)
}
