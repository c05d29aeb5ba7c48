use healbench_core::{AgentKind, Plan, PlannedScenario, family as family_of};
use healbench_store::RunManifest;

use super::aggregate::{Aggregates, ChainsByRetries, aggregate};
use super::answer::{Context, Verdict, answer, may_recommend};
use super::claims;
use super::headline::HeadlineConditions;
use super::pairs::{Compared, Pairs};
use super::positions::frequent_classes;
use super::sums::{ModelSums, PairSums, Sums};
use super::{
    AgentReport, Difference, FamilyRate, HeadlineComparison, ModelReport, PairedDifference, Pass, Repair, Report,
    ReportRow, Retries, ScenarioRate, Totals, has_headline,
};
use crate::comparison::main_matrix;
use crate::condition::ShownCondition;
use crate::errors::{ErrorAxis, ErrorQuery, ErrorTexts, error_texts};
use crate::metric::RowMetric;
use crate::rate::{CONFIDENCE, Rate};
use crate::report_error::ReportError;
use crate::run_rows::RunRows;
use crate::statistics::{
    ClusterSums, Resamples, Trials, cumulative_incidence, kaplan_meier_median, pass_at_k, pass_hat_k,
    pass_hat_k_interval, ratio_interval, wilson,
};

/// The parts of a report to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Everything in a terminal's tables: all but the matrix.
    Tables,
    /// The whole report. The frames are read a second time for the matrix, and a third time for the error texts.
    Full,
}

/// Computes the report of a run from its two frames and its plan. An interrupted run has a report of the episodes
/// present.
///
/// # Errors
/// [`ReportError::Rows`] if the rows cannot be read, [`ReportError::CallCount`] if the calls do not match the episodes; [`ReportError::Schedule`]
/// or [`ReportError::Schedules`] if episodes to be compared have different trial schedules;
/// [`ReportError::ForeignEpisode`] if the frames belong to another plan.
pub fn summarize(run: &dyn RunRows, manifest: &RunManifest, scope: Scope) -> Result<Report, ReportError> {
    let plan = &manifest.plan;
    ReportError::refuse_listed(plan)?;
    plan.check_names()?;
    let mut aggregates = aggregate(run, plan)?;
    let mut resamples = Resamples::new(plan.seed);
    let pairs = Pairs::of(plan, &aggregates.outcomes);
    let mut rows = |agent: usize| {
        (0..plan.conditions.len())
            .map(|condition| row(&aggregates, &pairs, plan, (agent, condition), &mut resamples))
            .collect()
    };
    let mut agents: Vec<AgentReport> = plan
        .agents
        .iter()
        .enumerate()
        .map(|(index, agent)| AgentReport {
            agent: agent.to_string(),
            title: agent.title(),
            deterministic: agent.is_deterministic(),
            kind: agent.kind,
            opening: agent.opening,
            tools: agent.tools,
            fitted: agent.fitted(),
            diagnostics: aggregates.answers[index].diagnostics(agent),
            headline: None,
            rows: rows(index),
        })
        .collect();
    let ablation = aggregates.effects.report(plan, &pairs, &mut resamples);
    if let Some(headline) = HeadlineConditions::of(plan) {
        let has_model = plan.agents.iter().any(|agent| agent.kind != AgentKind::Scripted);
        for (index, agent) in agents.iter_mut().enumerate().filter(|(_, agent)| has_headline(agent.kind, has_model)) {
            let compared = pairs.get(index, headline.right, headline.left);
            agent.headline = Some(headline_comparison(&aggregates, compared, plan, index, &mut resamples));
        }
    }
    let mut examples = std::mem::take(&mut aggregates.examples);
    for example in &mut examples {
        let rate = |condition: usize| {
            agents.get(example.agent)?.rows.get(condition)?.scenarios.get(example.scenario)?.success.rate
        };
        example.difference =
            HeadlineConditions::of(plan).and_then(|headline| Some(rate(headline.right)? - rate(headline.left)?));
        let rates: Vec<f64> = (0..plan.conditions.len()).filter_map(rate).collect();
        let ends =
            rates.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), rate| (rate.min(low), rate.max(high)));
        example.spread = (rates.len() > 1).then_some(ends.1 - ends.0);
    }
    let claims = claims::reports(
        plan,
        |scenario, agent, condition| aggregates.claim_moments(scenario, agent, condition),
        |scenario, agent, condition| aggregates.cell(scenario, agent, condition).rate(RowMetric::Success),
    );
    let totals = totals(&agents);
    let most_clusters = (0..agents.len()).map(|agent| aggregates.outcomes.scored_scenarios(plan, agent)[1]).max();
    let context = Context {
        plan,
        agents: &agents,
        outcomes: &aggregates.outcomes,
        claims: &claims,
        totals,
        tool_chains: &aggregates.tool_chains,
        pairs: &pairs,
        ablation: &ablation,
        cell_rate: &|[scenario, agent, condition], metric| aggregates.cell(scenario, agent, condition).rate(metric),
        may_recommend: may_recommend(most_clusters.unwrap_or_default(), plan.trials),
    };
    let waits_on_retry = plan.scenarios.iter().filter(|scenario| scenario.waits_on_retry);
    Ok(Report {
        answer: answer(&context),
        examples,
        error_classes: frequent_classes(
            agents.iter().flat_map(|agent| &agent.rows).flat_map(|row| &row.calls_by_number),
        ),
        suite: suite_name(&plan.scenarios),
        server: plan.environment.server.clone(),
        seed: plan.seed,
        trials: plan.trials,
        scenarios: plan.scenarios.iter().map(|scenario| scenario.id.clone()).collect(),
        waits_on_retry: waits_on_retry.map(|scenario| scenario.id.clone()).collect(),
        planned: plan.len(),
        status: manifest.status,
        shard: manifest.shards.as_ref().map(ToString::to_string),
        tokenizer: manifest.tokenizer.clone(),
        confidence: CONFIDENCE,
        totals,
        agents,
        ablation,
        reference: plan.reference_condition().map(|reference| plan.conditions[reference].label()),
        headline: HeadlineConditions::of(plan),
        matrix: match scope {
            Scope::Tables => None,
            Scope::Full => main_matrix(run, plan, &pairs)?,
        },
        error_texts: match scope {
            Scope::Tables => None,
            Scope::Full => known_error_texts(run, manifest)?,
        },
        claims,
    })
}

/// Returns the error texts; `None` if an older version wrote the run.
fn known_error_texts(run: &dyn RunRows, manifest: &RunManifest) -> Result<Option<ErrorTexts>, ReportError> {
    let plan = &manifest.plan;
    let has_groups = plan.agents.len() * plan.conditions.len() > 1;
    let query = ErrorQuery { by: has_groups.then_some(ErrorAxis::Cell), ..ErrorQuery::default() };
    match error_texts(run, manifest, query, &|row| !row.is_attacked()) {
        Ok(found) => Ok(Some(found)),
        Err(ReportError::NoAftermath { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the row of one agent in one condition, over all scenarios.
fn row(
    aggregates: &Aggregates,
    compared: &Pairs,
    plan: &Plan,
    (agent, condition): (usize, usize),
    resamples: &mut Resamples,
) -> ReportRow {
    let mut sums = Sums::default();
    let mut pairs = PairSums::default();
    let mut scenarios = Vec::with_capacity(plan.scenarios.len());
    let mut trials = Vec::with_capacity(plan.scenarios.len());
    let cells: Vec<&PairSums> =
        (0..plan.scenarios.len()).map(|scenario| aggregates.pairs(scenario, agent, condition)).collect();
    for (index, scenario) in plan.scenarios.iter().enumerate() {
        let cell = aggregates.cell(index, agent, condition);
        sums.add(cell);
        pairs.add(cells[index]);
        trials.push(Trials { trials: cell.scored, successes: cell.successes() });
        scenarios.push(ScenarioRate {
            scenario: scenario.id.clone(),
            success: cell.rate(RowMetric::Success),
            calls_per_episode: cell.rate(RowMetric::CallsPerEpisode),
            billed_tokens_per_episode: cell.rate(RowMetric::BilledTokensPerEpisode),
            billed_tokens_per_success: cell.rate(RowMetric::BilledTokensPerSuccess),
            tokens_per_episode: cell.rate(RowMetric::TokensPerEpisode),
        });
    }
    let [successes, distinct] = aggregates.distinct_trials(agent, condition);
    let families = families(aggregates, plan, (agent, condition));
    let reference = plan.reference_condition().filter(|reference| *reference != condition);
    let has_reference = reference.is_some();
    ReportRow {
        condition: ShownCondition::from(&plan.conditions[condition]),
        episodes: sums.episodes,
        scored: sums.scored,
        infra: sums.infra,
        config: sums.config,
        too_long: sums.too_long,
        metrics: sums.metrics(),
        success_interval: wilson(successes, distinct, CONFIDENCE).filter(|_| !plan.is_reproducible(agent)),
        families,
        vs_reference: reference.map(|reference| paired_difference(&pairs, compared.get(agent, condition, reference))),
        calls_vs_reference: has_reference.then(|| difference(plan, &cells, |cell| (cell.calls, cell.pairs), resamples)),
        billed_tokens_vs_reference: has_reference
            .then(|| difference(plan, &cells, |cell| (cell.billed, cell.measured), resamples)),
        median_billed_tokens_per_episode: median(scenarios.iter().map(|scenario| scenario.billed_tokens_per_episode)),
        median_billed_tokens_per_success: median(scenarios.iter().map(|scenario| scenario.billed_tokens_per_success)),
        tokens_vs_reference: has_reference
            .then(|| difference(plan, &cells, |cell| (cell.tokens, cell.measured), resamples)),
        retries: retries(aggregates.retries(agent, condition)),
        repair_at: repair_at(aggregates.retries(agent, condition)),
        cost_per_success: usd(&sums.models).filter(|_| sums.successes() > 0).map(|usd| usd / sums.successes() as f64),
        model: model(&sums.models),
        passes: passes(&trials, resamples),
        calls_by_number: aggregates.positions(agent, condition).calls().to_vec(),
        scenarios,
    }
}

/// Returns the cost of all model episodes; `None` if the cost of any is unknown or there is none.
fn usd(sums: &ModelSums) -> Option<f64> {
    (sums.episodes > 0 && sums.unpriced == 0).then_some(sums.usd)
}

/// Returns the cost per episode; `None` if the cost of any is unknown.
pub(super) fn usd_per_episode(sums: &ModelSums) -> Option<f64> {
    usd(sums).map(|usd| usd / sums.episodes as f64)
}

fn model(sums: &ModelSums) -> Option<ModelReport> {
    let share = |[part, whole]: [u64; 2]| Rate::of(part, whole);
    (sums.episodes > 0).then(|| ModelReport {
        turns_per_episode: Rate::of(sums.turns, sums.turn_episodes),
        input_per_episode: Rate::of(sums.input, sums.token_episodes),
        output_per_episode: Rate::of(sums.output, sums.token_episodes),
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

/// Returns the success of a row by family; empty for one family.
fn families(aggregates: &Aggregates, plan: &Plan, (agent, condition): (usize, usize)) -> Vec<FamilyRate> {
    let numbers = plan.families();
    let count = numbers.iter().max().map_or(0, |last| last + 1);
    let reference = plan.reference_condition().filter(|reference| *reference != condition);
    let of_family = |family: u32| {
        let scenarios =
            || numbers.iter().enumerate().filter(move |(_, number)| **number == family).map(|(index, _)| index);
        let mut sums = Sums::default();
        scenarios().for_each(|scenario| sums.add(aggregates.cell(scenario, agent, condition)));
        let gain = reference
            .map(|reference| aggregates.outcomes.difference_in(plan, scenarios(), agent, [condition, reference]).gain);
        FamilyRate {
            family: scenarios().next().map(|first| family_of(&plan.scenarios[first].id).to_owned()).unwrap_or_default(),
            scenarios: scenarios().count() as u64,
            success: sums.rate(RowMetric::Success),
            difference: gain.and_then(|gain| gain.difference),
            interval: gain.and_then(|gain| gain.interval),
            is_equal: gain.is_some_and(|gain| gain.verdict == Verdict::Equal),
        }
    };
    if count > 1 { (0..count).map(of_family).collect() } else { Vec::new() }
}

/// Returns the comparison of two conditions of an agent, with the counts of its pairs.
fn paired_difference(sums: &PairSums, compared: Compared) -> PairedDifference {
    let PairSums { pairs, gains, losses, unmatched, .. } = *sums;
    let Compared { gain, method, this_suite, .. } = compared;
    PairedDifference {
        pairs,
        gains,
        losses,
        unmatched,
        difference: gain.difference,
        interval: gain.interval,
        method,
        p_value: gain.p_value,
        p_adjusted: gain.p_adjusted,
        verdict: gain.verdict,
        this_suite,
    }
}

/// Returns the headline comparison of one agent.
fn headline_comparison(
    aggregates: &Aggregates,
    compared: Compared,
    plan: &Plan,
    agent: usize,
    resamples: &mut Resamples,
) -> HeadlineComparison {
    let cells: Vec<&PairSums> =
        (0..plan.scenarios.len()).map(|scenario| aggregates.headline_pairs(scenario, agent)).collect();
    let mut sums = PairSums::default();
    cells.iter().for_each(|cell| sums.add(cell));
    // The sums have the right side first.
    let both = |[right, left]: [u64; 2], over: [u64; 2]| [Rate::of(left, over[1]), Rate::of(right, over[0])];
    let (episodes, measured) = ([sums.pairs; 2], [sums.measured; 2]);
    let medians = |over: fn(&PairSums) -> [u64; 2]| {
        [0, 1].map(|side| median(cells.iter().map(|cell| both(cell.billed, over(cell))[side])))
    };
    HeadlineComparison {
        success: paired_difference(&sums, compared),
        success_rates: both(sums.successes, episodes),
        calls_per_episode: both(sums.calls, episodes),
        calls: difference(plan, &cells, |cell| (cell.calls, cell.pairs), resamples),
        billed_tokens_per_episode: both(sums.billed, measured),
        billed_tokens: difference(plan, &cells, |cell| (cell.billed, cell.measured), resamples),
        median_billed_tokens_per_episode: medians(|cell| [cell.measured; 2]),
        billed_tokens_per_success: both(sums.billed, sums.measured_successes),
        median_billed_tokens_per_success: medians(|cell| cell.measured_successes),
        provider_tokens_per_episode: both(sums.provider, [sums.counted; 2]),
        tokens_per_episode: both(sums.tokens, measured),
        tokens: difference(plan, &cells, |cell| (cell.tokens, cell.measured), resamples),
        tokens_per_success: both(sums.tokens, sums.measured_successes),
    }
}

/// Returns the median of the scenarios' rates. A rate of something over nothing is larger than any number; the median is
/// `None` if it is such a rate, and 0 over 0 is left out.
fn median(rates: impl Iterator<Item = Rate>) -> Option<f64> {
    let known = rates.filter(|rate| rate.numerator > 0 || rate.denominator > 0);
    let mut values: Vec<f64> = known.map(|rate| rate.rate.unwrap_or(f64::INFINITY)).collect();
    values.sort_by(f64::total_cmp);
    let middle = [values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?];
    Some((middle[0] + middle[1]) / 2.0).filter(|median| median.is_finite())
}

/// The numbers of further attempts within which fixed chains are counted.
const REPAIR_AT: [u32; 3] = [1, 2, 3];

fn repair_at(counts: &ChainsByRetries) -> Vec<Repair> {
    let chains = counts.values().map(|ended| ended.fixed + ended.censored).sum();
    let fixed_within = |k: u32| counts.range(..=k).map(|(_, ended)| ended.fixed).sum();
    REPAIR_AT.map(|k| Repair { k, chains: Rate::of(fixed_within(k), chains) }).to_vec()
}

fn retries(counts: &ChainsByRetries) -> Retries {
    Retries {
        fixed: counts.values().map(|ended| ended.fixed).sum(),
        censored: counts.values().map(|ended| ended.censored).sum(),
        median: kaplan_meier_median(counts, CONFIDENCE),
        curve: cumulative_incidence(counts),
    }
}

/// The values of k for pass@k and pass^k.
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

/// Returns the mean difference per episode from `none`, with clusters of scenarios. `of` returns the sums of a cell and the
/// number of its pairs.
fn difference(
    plan: &Plan,
    cells: &[&PairSums],
    of: impl Fn(&PairSums) -> ([u64; 2], u64),
    resamples: &mut Resamples,
) -> Difference {
    let sums = |cell: &&PairSums| {
        let ([here, none], pairs) = of(cell);
        (here as f64 - none as f64, pairs)
    };
    mean_of_clusters(plan, cells.iter().map(sums), resamples)
}

/// Returns the ratio of the sums of all scenarios, each with the number of its units, over clusters of scenarios.
pub(super) fn mean_of_clusters(
    plan: &Plan,
    sums: impl Iterator<Item = (f64, u64)>,
    resamples: &mut Resamples,
) -> Difference {
    let mut names: Vec<&str> = Vec::new();
    let mut clusters: Vec<ClusterSums> = Vec::new();
    for ((scenario, stratum), (sum, units)) in plan.scenarios.iter().zip(plan.families()).zip(sums) {
        if units == 0 {
            continue;
        }
        let at = names.iter().position(|known| *known == scenario.cluster).unwrap_or_else(|| {
            names.push(&scenario.cluster);
            clusters.push(ClusterSums { numerator: 0.0, denominator: 0.0, stratum });
            names.len() - 1
        });
        clusters[at].numerator += sum;
        clusters[at].denominator += units as f64;
    }
    let total = |of: fn(&ClusterSums) -> f64| clusters.iter().map(of).sum::<f64>();
    let units = total(|cluster| cluster.denominator);
    let interval = ratio_interval(&clusters, resamples, CONFIDENCE);
    Difference {
        difference: (units > 0.0).then(|| total(|cluster| cluster.numerator) / units),
        interval: interval.map(|(interval, _)| interval),
        method: interval.map(|(_, method)| method),
    }
}

fn totals(agents: &[AgentReport]) -> Totals {
    let mut totals = Totals::default();
    for row in agents.iter().flat_map(|agent| &agent.rows) {
        totals.episodes += row.episodes;
        totals.scored += row.scored;
        totals.infra += row.infra;
        totals.config += row.config;
        totals.unmatched += row.vs_reference.map_or(0, |paired| paired.unmatched);
    }
    totals
}

/// Returns the folder's name if all scenario files are in the same folder.
pub fn suite_name(scenarios: &[PlannedScenario]) -> Option<String> {
    // The manifest may have been written on another operating system.
    let folder = |scenario: &PlannedScenario| {
        let mut parts = scenario.path.rsplit(['/', '\\']).skip(1);
        // The path of a built-in suite's file is `built-in:SUITE/…`.
        let name = parts.next()?.rsplit(':').next()?;
        Some(name).filter(|name| !name.is_empty() && *name != ".").map(str::to_owned)
    };
    let first = folder(scenarios.first()?)?;
    scenarios.iter().all(|scenario| folder(scenario).as_ref() == Some(&first)).then_some(first)
}
