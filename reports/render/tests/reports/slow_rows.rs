//! The numbers of a report, computed by loops over the rows of its run.

use std::collections::{BTreeMap, BTreeSet};

use healbench_analysis::statistics::{
    ClusterPairs, ClusterSums, EndedChains, FixedWithin, Median, Method, Resamples, ThisSuite, Trials, bca_ratio,
    clustered_difference, kaplan_meier_median, pass_at_k, pass_hat_k, pass_hat_k_interval, wilson,
};
use healbench_analysis::{
    CallsAt, Difference, LAST_CALL_NUMBER, ModelReport, PairedDifference, Pass, Rate, Repair, ReportRow, Retries,
    RowMetric, RowMetrics, ScenarioRate, Verdict,
};
use healbench_core::{CallRecord, CellRef, ChainEnd, EpisodeRecord, ModelUsage, Outcome, Plan, Records, Usage};

/// Computes a row by loops over the records.
pub(crate) fn slow_row(
    plan: &Plan,
    records: &Records,
    agent: usize,
    condition: usize,
    resamples: &mut Resamples,
) -> ReportRow {
    let of_row = |row: &&EpisodeRecord| {
        let cell = plan.cell(row.episode).unwrap();
        cell.agent == agent && cell.condition == condition
    };
    let all: Vec<&EpisodeRecord> = records.episodes.iter().filter(of_row).collect();
    let scored: Vec<&EpisodeRecord> = all.iter().copied().filter(|row| row.outcome.is_scored()).collect();
    let ended = |rows: &[&EpisodeRecord], outcome| rows.iter().filter(|row| row.outcome == outcome).count() as u64;
    let successes = ended(&scored, Outcome::Success);
    let scheduled: Vec<&EpisodeRecord> = scored.iter().copied().filter(|row| row.scheduled).collect();

    let (mut calls, mut tokens, mut wasted, mut guardrail, mut leaked) = (0, 0, 0, 0, 0);
    let (mut chains, mut fixed, mut first, mut first_ok, mut repeats, mut after_error) = (0, 0, 0, 0, 0, 0);
    let (mut hinted, mut taken, mut stuck, mut needed, mut efficient, mut wrong) = (0, 0, 0, 0, 0, 0);
    let (mut told, mut known, mut if_told, mut if_not) = (0, 0, [0, 0], [0, 0]);
    let mut lengths: Vec<(u32, bool)> = Vec::new();
    for row in &scored {
        let mine: Vec<&CallRecord> = records.calls.iter().filter(|call| call.episode == row.episode).collect();
        calls += mine.len() as u64;
        if row.model.as_ref().is_none_or(|model| model.opening_calls == 0) {
            first += 1;
            first_ok += u64::from(mine.first().is_some_and(|call| !call.is_error));
        }
        let answers: Vec<Option<bool>> =
            mine.iter().filter(|call| call.is_error).map(|call| call.told_answer).collect();
        if !answers.is_empty() && answers.iter().all(Option::is_some) {
            known += answers.len() as u64;
            told += answers.iter().filter(|told| **told == Some(true)).count() as u64;
            let sums = if answers.contains(&Some(true)) { &mut if_told } else { &mut if_not };
            *sums = [sums[0] + u64::from(row.outcome == Outcome::Success), sums[1] + 1];
        }
        let mut ends: BTreeMap<u32, (u32, bool)> = BTreeMap::new();
        let mut failed_before = false;
        stuck += u64::from(slow_stuck(&mine));
        for pair in mine.windows(2) {
            if let (true, Some(named)) = (pair[0].is_error, &pair[0].named_fields)
                && !named.is_empty()
            {
                hinted += 1;
                taken += u64::from(pair[1].changed_fields.as_ref() == Some(named));
            }
        }
        if row.outcome == Outcome::Success {
            needed += u64::from(row.perfect_calls);
            efficient += mine.len() as u64;
        }
        for call in mine {
            let both = u64::from(call.request_tokens) + u64::from(call.response_tokens);
            tokens += both;
            wasted += if call.is_error { both } else { 0 };
            guardrail += u64::from(call.guardrail_tokens);
            leaked += u64::from(call.leaked_fields.unwrap());
            after_error += u64::from(failed_before);
            repeats += u64::from(call.repeated);
            failed_before |= call.is_error;
            if let Some(chain) = call.chain {
                let length = ends.get(&chain).map_or(0, |(length, _)| *length);
                ends.insert(chain, (length + 1, call.chain_end == Some(ChainEnd::Fixed)));
                wrong += u64::from(call.chain_end == Some(ChainEnd::WrongRepair));
            }
        }
        chains += ends.len() as u64;
        fixed += ends.values().filter(|(_, fixed)| *fixed).count() as u64;
        lengths.extend(ends.into_values());
    }
    let scenarios = plan.scenarios.iter().enumerate().map(|(index, scenario)| {
        let here = |row: &&EpisodeRecord| plan.cell(row.episode).unwrap().scenario == index;
        let rows: Vec<&EpisodeRecord> = scored.iter().copied().filter(here).collect();
        let mine =
            |row: &&EpisodeRecord| records.calls.iter().filter(|call| call.episode == row.episode).collect::<Vec<_>>();
        let both = |call: &&CallRecord| u64::from(call.request_tokens) + u64::from(call.response_tokens);
        let spent =
            |row: &&EpisodeRecord| mine(row).iter().map(both).sum::<u64>() + u64::from(row.prose_tokens.unwrap());
        ScenarioRate {
            scenario: scenario.id.clone(),
            success: Rate::of(ended(&rows, Outcome::Success), rows.len() as u64),
            calls_per_episode: Rate::of(rows.iter().map(|row| mine(row).len() as u64).sum(), rows.len() as u64),
            billed_tokens_per_episode: Rate::of(slow_billed(&rows), rows.len() as u64),
            billed_tokens_per_success: Rate::of(slow_billed(&rows), ended(&rows, Outcome::Success)),
            tokens_per_episode: Rate::of(rows.iter().map(spent).sum(), rows.len() as u64),
        }
    });
    let scenarios: Vec<ScenarioRate> = scenarios.collect();
    let medians = [
        slow_median_of(scenarios.iter().map(|scenario| scenario.billed_tokens_per_episode)),
        slow_median_of(scenarios.iter().map(|scenario| scenario.billed_tokens_per_success)),
    ];
    let prose = scored.iter().map(|row| u64::from(row.prose_tokens.unwrap())).sum();
    let tokens = tokens + prose;
    let within = |k: u32| lengths.iter().filter(|(calls, fixed)| *fixed && calls - 1 <= k).count() as u64;
    let metric = |metric| match metric {
        RowMetric::Success => Rate::of(successes, scored.len() as u64),
        RowMetric::CallsPerEpisode => Rate::of(calls, scored.len() as u64),
        RowMetric::BilledTokensPerEpisode => Rate::of(slow_billed(&scored), scored.len() as u64),
        RowMetric::BilledTokensPerSuccess => Rate::of(slow_billed(&scored), successes),
        RowMetric::UnsentTokens => Rate::of(scored.iter().map(|row| row.billed.unwrap().unsent).sum(), 0),
        RowMetric::TokensPerEpisode => Rate::of(tokens, scored.len() as u64),
        RowMetric::Recovered => Rate::of(ended(&scheduled, Outcome::Success), scheduled.len() as u64),
        RowMetric::ErrorsFixed => Rate::of(fixed, chains),
        RowMetric::WrongRepairs => Rate::of(wrong, chains),
        RowMetric::FirstCallSuccess => Rate::of(first_ok, first),
        RowMetric::RepeatedCalls => Rate::of(repeats, after_error),
        RowMetric::Stuck => Rate::of(stuck, scored.len() as u64),
        RowMetric::HintsFollowed => Rate::of(taken, hinted),
        RowMetric::ToldAnswer => Rate::of(told, known),
        RowMetric::SuccessIfTold => Rate::of(if_told[0], if_told[1]),
        RowMetric::SuccessIfNotTold => Rate::of(if_not[0], if_not[1]),
        RowMetric::CallsPerSuccess => Rate::of(calls, successes),
        RowMetric::TokensPerSuccess => Rate::of(tokens, successes),
        RowMetric::WastedTokens => Rate::of(wasted, tokens),
        RowMetric::CallEfficiency => Rate::of(scored.iter().map(|row| u64::from(row.perfect_calls)).sum(), calls),
        RowMetric::CallEfficiencyOfSuccesses => Rate::of(needed, efficient),
        RowMetric::ProseTokens => Rate::of(prose, 0),
        RowMetric::GuardrailTokens => Rate::of(guardrail, 0),
        RowMetric::LeakedFields => Rate::of(leaked, 0),
        RowMetric::FalseSuccess => Rate::of(
            scored.iter().filter(|row| row.outcome == Outcome::TaskFail && row.claimed_done).count() as u64,
            scored.len() as u64,
        ),
    };
    ReportRow {
        condition: (&plan.conditions[condition]).into(),
        episodes: all.len() as u64,
        scored: scored.len() as u64,
        infra: ended(&all, Outcome::Infra),
        config: ended(&all, Outcome::Config),
        too_long: 0,
        metrics: RowMetrics::from_fn(metric),
        success_interval: wilson(successes, scored.len() as u64, 0.95).filter(|_| !plan.is_reproducible(agent)),
        vs_reference: (condition != 0).then(|| slow_pairs(plan, records, agent, condition)),
        calls_vs_reference: (condition != 0).then(|| {
            let calls = |row: &EpisodeRecord| f64::from(row.calls);
            slow_difference(plan, records, [agent, condition], calls, resamples)
        }),
        billed_tokens_vs_reference: (condition != 0).then(|| {
            let billed = |row: &EpisodeRecord| slow_billed(&[row]) as f64;
            slow_difference(plan, records, [agent, condition], billed, resamples)
        }),
        median_billed_tokens_per_episode: medians[0],
        median_billed_tokens_per_success: medians[1],
        tokens_vs_reference: (condition != 0).then(|| {
            let tokens = |row: &EpisodeRecord| {
                let mine = records.calls.iter().filter(|call| call.episode == row.episode);
                let spent = mine.map(|call| f64::from(call.request_tokens) + f64::from(call.response_tokens));
                spent.sum::<f64>() + f64::from(row.prose_tokens.unwrap())
            };
            slow_difference(plan, records, [agent, condition], tokens, resamples)
        }),
        passes: slow_passes(plan, &scored, resamples),
        retries: Retries {
            fixed,
            censored: chains - fixed,
            median: slow_median(&lengths),
            curve: slow_curve(&lengths),
        },
        calls_by_number: slow_positions(records, &scored),
        repair_at: [1, 2, 3].map(|k| Repair { k, chains: Rate::of(within(k), chains) }).to_vec(),
        cost_per_success: slow_usd(&scored).map(|usd| usd / successes as f64),
        model: slow_model(&scored),
        scenarios,
        families: Vec::new(),
    }
}

/// Returns the tokens of all turns of these episodes.
pub(crate) fn slow_billed(rows: &[&EpisodeRecord]) -> u64 {
    rows.iter().filter_map(|row| row.billed).map(|billed| billed.input + billed.output).sum()
}

/// Returns the middle of the rates, half of which are not larger and half not smaller. Something over nothing has no upper
/// bound.
pub(crate) fn slow_median_of(rates: impl Iterator<Item = Rate>) -> Option<f64> {
    let rates: Vec<Rate> = rates.filter(|rate| rate.numerator + rate.denominator > 0).collect();
    let mut known: Vec<f64> = rates.iter().filter_map(|rate| rate.rate).collect();
    known.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let n = rates.len();
    match n % 2 {
        _ if n == 0 || known.len() <= n / 2 => None,
        0 => Some(f64::midpoint(known[n / 2 - 1], known[n / 2])),
        _ => Some(known[n / 2]),
    }
}

/// Returns the cost of scored episodes; `None` unless all have a model and a known cost.
fn slow_usd(scored: &[&EpisodeRecord]) -> Option<f64> {
    let usd: Option<Vec<f64>> = scored.iter().map(|row| row.model.as_ref()?.usd).collect();
    usd.filter(|usd| !usd.is_empty()).map(|usd| usd.iter().sum())
}

fn slow_model(scored: &[&EpisodeRecord]) -> Option<ModelReport> {
    let rows = || scored.iter().filter_map(|row| Some((row.model.as_deref()?, row.billed?)));
    let models: Vec<&ModelUsage> = rows().map(|(model, _)| model).collect();
    if models.is_empty() {
        return None;
    }
    let episodes = models.len() as u64;
    let sum = |of: &dyn Fn(&ModelUsage) -> u64| models.iter().map(|model| of(model)).sum::<u64>();
    let counted: Vec<Usage> = models.iter().filter_map(|model| model.usage).collect();
    let part = |part: fn(Usage) -> Option<u64>, whole: fn(Usage) -> u64| {
        let reported: Vec<Usage> = counted.iter().copied().filter(|usage| part(*usage).is_some()).collect();
        Rate::of(
            reported.iter().filter_map(|usage| part(*usage)).sum(),
            reported.iter().map(|usage| whole(*usage)).sum(),
        )
    };
    let turns = sum(&|model| model.turns.unwrap().into());
    Some(ModelReport {
        turns_per_episode: Rate::of(turns, episodes),
        input_per_episode: Rate::of(
            rows().map(|(model, billed)| model.usage.map_or(billed.input, |usage| usage.input)).sum(),
            episodes,
        ),
        output_per_episode: Rate::of(
            rows().map(|(model, billed)| model.usage.map_or(billed.output, |usage| usage.output)).sum(),
            episodes,
        ),
        cache_read: part(|usage| usage.cache_read, |usage| usage.input),
        cache_write: part(|usage| usage.cache_write, |usage| usage.input),
        reasoning: part(|usage| usage.reasoning, |usage| usage.output),
        bpe_input: Rate::of(
            rows().filter(|(model, _)| model.usage.is_some()).map(|(_, billed)| billed.input).sum(),
            counted.iter().map(|usage| usage.input).sum(),
        ),
        bpe_output: Rate::of(
            rows().filter(|(model, _)| model.usage.is_some()).map(|(_, billed)| billed.output).sum(),
            counted.iter().map(|usage| usage.output).sum(),
        ),
        usd: slow_usd(scored),
        usd_per_episode: slow_usd(scored).map(|usd| usd / scored.len() as f64),
        latency_ms_per_turn: Rate::of(sum(&|model| model.latency_ms.unwrap()), turns),
    })
}

fn slow_median(lengths: &[(u32, bool)]) -> Median {
    let mut ended: BTreeMap<u32, EndedChains> = BTreeMap::new();
    for (calls, fixed) in lengths {
        let count = ended.entry(calls - 1).or_default();
        if *fixed { count.fixed += 1 } else { count.censored += 1 }
    }
    kaplan_meier_median(&ended, 0.95)
}

/// Computes the curve from chains by their number of calls after the first.
fn slow_curve(lengths: &[(u32, bool)]) -> Vec<FixedWithin> {
    let ends: BTreeSet<u32> = lengths.iter().map(|(calls, _)| calls - 1).collect();
    let count =
        |keep: &dyn Fn(u32, bool) -> bool| lengths.iter().filter(|(calls, fixed)| keep(calls - 1, *fixed)).count();
    let step = |attempts| FixedWithin {
        attempts,
        at_risk: count(&|ended, _| ended >= attempts) as u64,
        share: count(&|ended, fixed| fixed && ended <= attempts) as f64 / lengths.len() as f64,
    };
    ends.into_iter().map(step).collect()
}

fn slow_positions(records: &Records, scored: &[&EpisodeRecord]) -> Vec<CallsAt> {
    let is_scored = |call: &&CallRecord| scored.iter().any(|row| row.episode == call.episode);
    let mine: Vec<&CallRecord> = records.calls.iter().filter(is_scored).collect();
    let longest = mine.iter().map(|call| call.call.min(LAST_CALL_NUMBER)).max().unwrap_or(0);
    let at = |number| {
        let here: Vec<&&CallRecord> = mine.iter().filter(|call| call.call.min(LAST_CALL_NUMBER) == number).collect();
        let mut errors = BTreeMap::new();
        for class in here.iter().filter_map(|call| call.error_class.as_ref()) {
            *errors.entry(class.to_owned()).or_insert(0) += 1;
        }
        CallsAt { number, ok: here.iter().filter(|call| !call.is_error).count() as u64, errors }
    };
    (1..=longest).map(at).collect()
}

fn slow_difference(
    plan: &Plan,
    records: &Records,
    [agent, condition]: [usize; 2],
    of: impl Fn(&EpisodeRecord) -> f64,
    resamples: &mut Resamples,
) -> Difference {
    let mut clusters: BTreeMap<usize, ClusterSums> = BTreeMap::new();
    for here in records.episodes.iter().filter(|row| row.outcome.is_scored()) {
        let cell = plan.cell(here.episode).unwrap();
        let none = plan.episode(CellRef { condition: 0, ..cell });
        let there = records.episodes.iter().find(|row| row.episode == none && row.outcome.is_scored());
        if let (true, Some(there)) = ((cell.agent, cell.condition) == (agent, condition), there) {
            let cluster = cluster_of(plan, cell.scenario);
            let sums = clusters.entry(cluster).or_insert(ClusterSums { numerator: 0.0, denominator: 0.0, stratum: 0 });
            sums.numerator += of(here) - of(there);
            sums.denominator += 1.0;
        }
    }
    let clusters: Vec<ClusterSums> = clusters.into_values().collect();
    let pairs: f64 = clusters.iter().map(|cluster| cluster.denominator).sum();
    Difference {
        difference: (pairs > 0.0).then(|| clusters.iter().map(|cluster| cluster.numerator).sum::<f64>() / pairs),
        interval: bca_ratio(&clusters, resamples, 0.95),
        method: bca_ratio(&clusters, resamples, 0.95).map(|_| Method::Bootstrap),
    }
}

fn slow_passes(plan: &Plan, scored: &[&EpisodeRecord], resamples: &mut Resamples) -> Vec<Pass> {
    let of_scenario = |scenario: usize| {
        let mine = || scored.iter().filter(|row| plan.cell(row.episode).unwrap().scenario == scenario);
        let successes = mine().filter(|row| row.outcome == Outcome::Success).count() as u64;
        Trials { trials: mine().count() as u64, successes }
    };
    let trials: Vec<Trials> = (0..plan.scenarios.len()).map(of_scenario).collect();
    let pass = |k| Pass {
        k,
        any: pass_at_k(&trials, k),
        all: pass_hat_k(&trials, k),
        all_interval: pass_hat_k_interval(&trials, k, resamples, 0.95),
    };
    [1, 2, 4, 8].map(pass).to_vec()
}

/// Follows the definition literally.
fn slow_stuck(calls: &[&CallRecord]) -> bool {
    let same = |a: usize, b: usize| calls[a].tool == calls[b].tool && calls[a].arguments == calls[b].arguments;
    let failing = |at: usize| calls[at].is_error;
    let in_a_row = (2..calls.len()).any(|at| (at - 2..=at).all(|call| failing(call) && same(call, at)));
    let in_turns = (7..calls.len()).any(|at| {
        let first = at - 7;
        !same(first, first + 1)
            && (first..=at).all(|call| same(call, first + (call - first) % 2))
            && (0..4).all(|pair| failing(first + 2 * pair) || failing(first + 2 * pair + 1))
    });
    let stuck = (0..calls.len()).any(|from| {
        let unchanged = (from..calls.len()).take_while(|at| *at == from || calls[*at].state_changed != Some(true));
        unchanged
            .filter(|at| failing(*at) && failing(from) && calls[*at].error_class == calls[from].error_class)
            .count()
            >= 5
    });
    in_a_row || in_turns || stuck
}

/// Returns the index of the first scenario of the same cluster.
pub(crate) fn cluster_of(plan: &Plan, scenario: usize) -> usize {
    let name = &plan.scenarios[scenario].cluster;
    plan.scenarios.iter().position(|other| other.cluster == *name).unwrap()
}

pub(crate) fn slow_pairs(plan: &Plan, records: &Records, agent: usize, condition: usize) -> PairedDifference {
    slow_pairs_of(plan, records, agent, [condition, 0])
}

pub(crate) fn slow_pairs_of(
    plan: &Plan,
    records: &Records,
    agent: usize,
    [condition, other]: [usize; 2],
) -> PairedDifference {
    let side = |condition: usize| {
        let mine = records.episodes.iter().filter_map(|row| {
            let cell = plan.cell(row.episode).unwrap();
            (cell.agent == agent && cell.condition == condition).then_some(((cell.scenario, cell.trial), row.outcome))
        });
        mine.collect::<BTreeMap<_, _>>()
    };
    let (here, none) = (side(condition), side(other));
    let keys: BTreeSet<_> = here.keys().chain(none.keys()).copied().collect();
    let (mut pairs, mut gains, mut losses, mut unmatched) = (0, 0, 0, 0);
    let mut clusters = vec![ClusterPairs::default(); plan.scenarios.len()];
    for key in keys {
        match (here.get(&key), none.get(&key)) {
            (Some(here), Some(none)) if here.is_scored() && none.is_scored() => {
                pairs += 1;
                gains += u64::from(*here == Outcome::Success && *none != Outcome::Success);
                losses += u64::from(*here != Outcome::Success && *none == Outcome::Success);
                let cluster = &mut clusters[cluster_of(plan, key.0)];
                cluster.pairs += 1;
                cluster.gains += u64::from(*here == Outcome::Success && *none != Outcome::Success);
                cluster.losses += u64::from(*here != Outcome::Success && *none == Outcome::Success);
            }
            _ => unmatched += 1,
        }
    }
    let is_equal = pairs > 0 && gains + losses == 0;
    let clustered = clustered_difference(&clusters, 0.95).filter(|_| !is_equal);
    PairedDifference {
        pairs,
        gains,
        losses,
        unmatched,
        difference: (pairs > 0).then(|| (gains as f64 - losses as f64) / pairs as f64),
        interval: clustered.map(|clustered| clustered.interval),
        p_value: clustered.map(|clustered| clustered.p_value),
        method: clustered.map(|_| Method::Score),
        this_suite: ThisSuite::of(gains, losses, pairs, 0.95).filter(|_| !is_equal && !plan.is_reproducible(agent)),
        p_adjusted: None,
        verdict: if is_equal { Verdict::Equal } else { Verdict::Unknown },
    }
}
