//! Comparisons of two runs and of the cells of one run, checked against loops over the rows.

use std::collections::BTreeMap;

use healbench_analysis::statistics::{
    ClusterPairs, ClusterSums, Resamples, ThisSuite, bca_ratio, clustered_difference, holm,
};
use healbench_analysis::{
    Axis, Comparison, ComparisonError, Metric, MetricDifference, PairingFailure, RowMetric, Side, Unpaired, Verdict,
    compare, matrix,
};
use healbench_core::{EpisodeRecord, Outcome, Plan, Records};
use healbench_frames::Rows;
use healbench_render::{ComparisonOptions, comparison, matrix as shown_matrix};
use healbench_store::RunManifest;
use tempfile::TempDir;

use crate::sample::{manifest, plan, records, run_with};
use crate::slow_rows::cluster_of;

struct StoredRun {
    _folder: TempDir,
    rows: Rows<'static>,
    manifest: RunManifest,
}

fn stored_run(plan: &Plan, records: &Records) -> StoredRun {
    let (folder, run) = run_with(plan, records);
    // Leaked, since a side borrows its rows.
    StoredRun { _folder: folder, rows: Rows(Box::leak(Box::new(run))), manifest: manifest(plan) }
}

impl StoredRun {
    fn side<'a>(&'a self, name: &'a str) -> Side<'a> {
        Side { name, run: &self.rows, manifest: &self.manifest }
    }
}

fn compare_runs(base: &StoredRun, candidate: &StoredRun) -> Comparison {
    compare(base.side("runs/old"), candidate.side("runs/new")).unwrap()
}

/// Returns the rows with some outcomes and tokens changed.
fn with_changes(records: &Records) -> Records {
    let mut changed = records.clone();
    for row in &mut changed.episodes {
        match row.episode % 5 {
            0 if row.outcome == Outcome::Success => row.outcome = Outcome::TaskFail,
            1 if row.outcome == Outcome::TaskFail => row.outcome = Outcome::Success,
            2 => *row.prose_tokens.as_mut().unwrap() += 11 * (row.episode % 7) as u32,
            3 => row.counts.wasted_tokens += 40,
            4 => row.billed.as_mut().unwrap().input += 300 * (row.episode % 5),
            _ => {}
        }
    }
    changed
}

/// Computes the value of a metric independently of the library.
fn slow_number(metric: Metric, row: &EpisodeRecord) -> Option<f64> {
    let flag = |flag: bool| Some(if flag { 1.0 } else { 0.0 });
    match metric {
        Metric::Success => flag(row.outcome == Outcome::Success),
        Metric::Recovered => {
            if row.scheduled {
                flag(row.outcome == Outcome::Success)
            } else {
                None
            }
        }
        Metric::FirstCallSuccess => match &row.model {
            Some(model) if model.opening_calls > 0 => None,
            _ => flag(row.counts.first_call_success),
        },
        Metric::FalseSuccess => flag(row.claimed_done && row.outcome == Outcome::TaskFail),
        Metric::Stuck => flag(row.counts.stuck),
        Metric::Calls => Some(row.calls.into()),
        Metric::RepeatedCalls => Some(row.counts.repeated_calls.into()),
        Metric::Tokens => Some(row.counts.call_tokens as f64 + f64::from(row.prose_tokens.unwrap())),
        Metric::BilledTokens => row.billed.map(|billed| (billed.input + billed.output) as f64),
        Metric::WastedTokens => Some(row.counts.wasted_tokens as f64),
        Metric::GuardrailTokens => Some(row.counts.guardrail_tokens as f64),
        Metric::LeakedFields => row.counts.leaked_fields.map(|fields| fields as f64),
        Metric::CostUsd => row.model.as_ref()?.usd,
    }
}

#[test]
fn every_difference_is_that_of_the_pairs() {
    let plan = plan(12);
    let (before, after) = (records(&plan), with_changes(&records(&plan)));
    let found = compare_runs(&stored_run(&plan, &before), &stored_run(&plan, &after));
    assert_eq!(found.cells.len(), 6);
    assert!(found.changed > 20 && found.differs.is_empty(), "{}", found.changed);
    let mut resamples = Resamples::new(plan.seed);
    let mut p_values: BTreeMap<Metric, Vec<f64>> = BTreeMap::new();
    for (at, cell) in found.cells.iter().enumerate() {
        let mine = |row: &&EpisodeRecord| {
            let place = plan.cell(row.episode).unwrap();
            (place.agent, place.condition) == (at / 3, at % 3)
        };
        let pairs: Vec<(&EpisodeRecord, &EpisodeRecord)> = before
            .episodes
            .iter()
            .zip(&after.episodes)
            .filter(|(row, _)| mine(row))
            .filter(|(old, new)| old.outcome.is_scored() && new.outcome.is_scored())
            .collect();
        assert_eq!(cell.pairs, pairs.len() as u64);
        for entry in &cell.metrics {
            let metric = entry.metric;
            let both: Vec<(usize, f64, f64)> = pairs
                .iter()
                .filter_map(|(old, new)| {
                    let scenario = plan.cell(old.episode).unwrap().scenario;
                    Some((cluster_of(&plan, scenario), slow_number(metric, old)?, slow_number(metric, new)?))
                })
                .collect();
            assert_eq!(entry.pairs, both.len() as u64, "{metric}");
            if metric == Metric::CostUsd && both.len() < pairs.len() {
                assert_eq!(
                    (entry.base, entry.difference, entry.interval),
                    (None, None, None),
                    "{metric} {}",
                    cell.title
                );
                continue;
            }
            if both.is_empty() {
                assert_eq!((entry.base, entry.difference, entry.interval), (None, None, None), "{metric}");
                continue;
            }
            let n = both.len() as f64;
            let mean = |of: fn(&(usize, f64, f64)) -> f64| both.iter().map(of).sum::<f64>() / n;
            assert_eq!(entry.base, Some(mean(|pair| pair.1)), "{metric}");
            assert_eq!(entry.candidate, Some(mean(|pair| pair.2)), "{metric}");
            let more = both.iter().filter(|pair| pair.2 > pair.1).count() as u64;
            let fewer = both.iter().filter(|pair| pair.2 < pair.1).count() as u64;
            assert_eq!((entry.more, entry.fewer), (more, fewer), "{metric}");
            let expected = if metric.is_rate() {
                let mut clusters = [ClusterPairs::default(); 3];
                for (scenario, old, new) in &both {
                    clusters[*scenario].pairs += 1;
                    clusters[*scenario].gains += u64::from(new > old);
                    clusters[*scenario].losses += u64::from(new < old);
                }
                // Equal values have no interval, and count as a p-value of 1.
                let differs = more + fewer > 0;
                let clustered = clustered_difference(&clusters, 0.95).filter(|_| differs);
                let equal = (!differs).then_some(1.0);
                p_values.entry(metric).or_default().extend(clustered.map(|clustered| clustered.p_value).or(equal));
                let this_suite = ThisSuite::of(more, fewer, both.len() as u64, 0.95).filter(|_| differs);
                let varies = cell.kind == healbench_core::AgentKind::Llm;
                assert_eq!(
                    entry.this_suite.map(|found| (found.interval, found.p_value)),
                    this_suite.filter(|_| varies).map(|this| (this.interval, this.p_value)),
                    "{metric}"
                );
                clustered.map(|clustered| clustered.interval)
            } else {
                let cluster = |scenario: usize| {
                    let here = || both.iter().filter(move |pair| pair.0 == scenario);
                    let (old, new) = (here().map(|pair| pair.1).sum::<f64>(), here().map(|pair| pair.2).sum::<f64>());
                    ClusterSums { numerator: new - old, denominator: here().count() as f64, stratum: 0 }
                };
                let clusters: Vec<ClusterSums> = (0..3).map(cluster).filter(|sums| sums.denominator > 0.0).collect();
                bca_ratio(&clusters, &mut resamples, 0.95)
            };
            assert_eq!(entry.interval, expected, "{metric}");
        }
    }
    for (metric, p_values) in p_values {
        let entries = found.cells.iter().flat_map(|cell| &cell.metrics).filter(|entry| entry.metric == metric);
        let of = |entry: &MetricDifference| entry.p_adjusted.or((entry.verdict == Verdict::Equal).then_some(1.0));
        let adjusted: Vec<f64> = entries.filter_map(of).collect();
        assert_eq!(adjusted, holm(&p_values).unwrap(), "{metric}");
    }
}

#[test]
fn flips_are_the_pairs_with_another_ending() {
    let plan = plan(12);
    let (before, after) = (records(&plan), with_changes(&records(&plan)));
    let found = compare_runs(&stored_run(&plan, &before), &stored_run(&plan, &after));
    let succeeds = |row: &EpisodeRecord| row.outcome == Outcome::Success;
    let mut expected: Vec<(bool, u64)> = before
        .episodes
        .iter()
        .zip(&after.episodes)
        .filter(|(old, new)| old.outcome.is_scored() && new.outcome.is_scored() && succeeds(old) != succeeds(new))
        .map(|(old, _)| (!succeeds(old), old.episode))
        .collect();
    expected.sort_unstable();
    let flips: Vec<(bool, u64)> = found.flips.iter().map(|flip| (!flip.is_loss(), flip.base_episode)).collect();
    assert_eq!(flips, expected);
    assert!(expected.iter().any(|(gained, _)| *gained) && expected.iter().any(|(gained, _)| !gained));
    let flip = &found.flips[0];
    assert_eq!(flip.base_episode, flip.candidate_episode);
    let place = plan.cell(flip.base_episode).unwrap();
    assert_eq!((&flip.scenario, flip.trial), (&plan.scenarios[place.scenario].id, place.trial));
}

#[test]
fn unpaired_episodes_are_counted_under_their_reason() {
    let big = plan(4);
    let mut small = plan(3);
    small.scenarios.remove(1);
    small.agents.remove(1);
    small.conditions.remove(2);
    let mut after = records(&small);
    for row in &mut after.episodes {
        row.outcome = Outcome::Success;
        let place = small.cell(row.episode).unwrap();
        // The former third scenario is now the second.
        row.schedule_hash = format!("{:016x}", place.scenario as u64 * 2000 + u64::from(place.trial));
    }
    // One episode has another schedule, one was lost, and one is missing.
    after.episodes[1].schedule_hash = "00000000000000ff".to_owned();
    after.episodes[1].outcome = Outcome::Success;
    after.episodes[2].outcome = Outcome::Infra;
    let removed = after.episodes.pop().unwrap().episode;
    after.calls.retain(|call| call.episode != removed);
    let mut before = records(&big);
    for row in &mut before.episodes {
        row.outcome = Outcome::Success;
    }
    let found = compare_runs(&stored_run(&big, &before), &stored_run(&small, &after));
    let unpaired =
        |reason, subject: &str, base, candidate| Unpaired { reason, subject: subject.to_owned(), base, candidate };
    assert_eq!(
        found.unpaired,
        [
            unpaired(PairingFailure::Scenario, "orders/typo", 4 * 2 * 3, 0),
            unpaired(PairingFailure::Agent, "openai:gpt-5-mini · seeded · prompt", 2 * 4 * 3, 0),
            unpaired(PairingFailure::Condition, "strict+healing fusion-text", 2 * 4, 0),
            unpaired(PairingFailure::Trial, "3 and after", 2 * 2, 0),
            unpaired(PairingFailure::Schedule, "billing/new-currency", 1, 1),
            unpaired(PairingFailure::NotPlayed, "", 1, 0),
            unpaired(PairingFailure::NotScored, "scripted:typical", 1, 1),
        ]
    );
    let base: u64 = found.unpaired.iter().map(|unpaired| unpaired.base).sum();
    assert_eq!(base + found.pairs, big.len());
    // In the other direction, the same episodes are unpaired.
    let turned = compare_runs(&stored_run(&small, &after), &stored_run(&big, &before));
    let swapped: Vec<(u64, u64)> = turned.unpaired.iter().map(|unpaired| (unpaired.candidate, unpaired.base)).collect();
    assert_eq!(swapped, found.unpaired.iter().map(|unpaired| (unpaired.base, unpaired.candidate)).collect::<Vec<_>>());
    assert_eq!(turned.pairs, found.pairs);
}

#[test]
fn another_seed_is_refused() {
    let plan_a = plan(2);
    let mut plan_b = plan(2);
    plan_b.seed.0 += 1;
    let (a, b) = (stored_run(&plan_a, &records(&plan_a)), stored_run(&plan_b, &records(&plan_b)));
    let refused = compare(a.side("a"), b.side("b"));
    assert!(matches!(refused, Err(ComparisonError::Seeds { .. })), "{refused:?}");
    let mut other = stored_run(&plan_a, &records(&plan_a));
    other.manifest.tokenizer = "cl100k_base".to_owned();
    let refused = compare(a.side("a"), other.side("b"));
    assert!(matches!(refused, Err(ComparisonError::Tokenizers { .. })), "{refused:?}");
}

#[test]
fn other_differences_are_listed() {
    let before = plan(2);
    let mut after = plan(2);
    after.scenarios[2].sha256 = "other".to_owned();
    after.agents[1].settings = serde_json::json!({"temperature": 1});
    let (a, mut b) = (stored_run(&before, &records(&before)), stored_run(&after, &records(&after)));
    b.manifest.healbench = "0.2.0".to_owned();
    assert_eq!(
        compare_runs(&a, &b).differs,
        [
            "version: 0.1.0 → 0.2.0",
            "agent openai:gpt-5-mini: its settings: temperature",
            "scenario control/nothing-wrong: its text",
        ]
    );
}

#[test]
fn a_comparison_on_a_terminal() {
    let plan = plan(12);
    let (before, after) = (records(&plan), with_changes(&records(&plan)));
    let found = compare_runs(&stored_run(&plan, &before), &stored_run(&plan, &after));
    let options = ComparisonOptions { width: 80, color: false, flips: 2 };
    insta::assert_snapshot!(comparison(&found, options));
    let same = compare_runs(&stored_run(&plan, &before), &stored_run(&plan, &before));
    assert_eq!((same.changed, same.flips.len()), (0, 0));
    insta::assert_snapshot!(comparison(&same, options), @r"
    runs/old → runs/new · 200 pairs · 0 changed
    Unchanged: no metric differs in 200 pairs.

    No metric differs in 200 pairs of 6 cells.
    Not paired: 5 episodes of the base, 5 episodes of the candidate: one of the two
    episodes was lost to infrastructure or configuration, in openai:gpt-5-mini ·
    seeded · prompt.
    Not paired: 11 episodes of the base, 11 episodes of the candidate: one of the
    two episodes was lost to infrastructure or configuration, in scripted:typical.
    Rows of simulated readers (`scripted:`) show how far a text gets them, not how a
    real model behaves.
    ");
}

#[test]
fn many_unpaired_episodes_are_summarized_in_a_sentence() {
    let plan = plan(12);
    let rows = records(&plan);
    let mut found = compare_runs(&stored_run(&plan, &rows), &stored_run(&plan, &rows));
    let unpaired = |reason, subject: String, base, candidate| Unpaired { reason, subject, base, candidate };
    found.unpaired = (0..5).map(|n| unpaired(PairingFailure::Scenario, format!("new/{n}"), 0, 300)).collect();
    found.unpaired.push(unpaired(PairingFailure::Scenario, "old/one".to_owned(), 2, 0));
    found.unpaired.push(unpaired(PairingFailure::Condition, "contract bare".to_owned(), 1, 0));
    let text = comparison(&found, ComparisonOptions { width: 140, color: false, flips: 0 });
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("Not paired")).collect();
    let expected = [
        "Not paired: 1,500 episodes of the candidate: only one run has 5 scenarios new/0, new/1, new/2 and 2 more.",
        "Not paired: 2 episodes of the base: only one run has scenario old/one.",
        "Not paired: 1 episode of the base: only one run has condition contract.",
    ];
    assert_eq!(lines, expected);
    assert!(text.contains("is paired if its file says `renamed_from: ID`"), "{text}");
}

#[test]
fn a_matrix_compares_within_its_columns() {
    let plan = plan(12);
    let rows = records(&plan);
    let run = stored_run(&plan, &rows);
    let found = matrix(run.side("runs/new"), Axis::Guardrails, None).unwrap();
    assert_eq!(found.rows, ["none", "all", "strict+healing"]);
    assert_eq!(found.reference, "none");
    // Each format is a column; `none` is in both, and a set is only in the formats of its conditions.
    let there: Vec<Vec<bool>> =
        found.columns.iter().map(|column| column.cells.iter().map(Option::is_some).collect()).collect();
    assert_eq!(there, [[true, true, false], [true, false, true], [true, true, false], [true, false, true]]);
    // These are the same pairs as those of the report with `none`.
    let report = healbench_analysis::summarize(&run.rows, &run.manifest, healbench_analysis::Scope::Full).unwrap();
    for (column, (agent, condition)) in [(0, (0, 1)), (1, (0, 2)), (2, (1, 1)), (3, (1, 2))] {
        let cell = found.columns[column].cells[condition].as_ref().unwrap();
        let paired = report.agents[agent].rows[condition].vs_reference.unwrap();
        let success = &cell.differences[0];
        assert_eq!((success.pairs, success.more, success.fewer), (paired.pairs, paired.gains, paired.losses));
        assert_eq!((success.interval, success.p_adjusted), (paired.interval, paired.p_adjusted));
        assert_eq!(cell.success, report.agents[agent].rows[condition].rate(RowMetric::Success));
    }
    insta::assert_snapshot!(shown_matrix(&found, 80, false));
}

#[test]
fn a_matrix_of_agents_and_one_of_too_little() {
    let plan = plan(12);
    let run = stored_run(&plan, &records(&plan));
    let name = "openai:gpt-5-mini · seeded · prompt";
    let found = matrix(run.side("run"), Axis::Agent, Some(name)).unwrap();
    assert_eq!((found.reference.as_str(), found.columns.len(), found.rows.len()), (name, 3, 2));
    assert!(found.columns[0].cells[1].as_ref().unwrap().differences.is_empty());
    assert_eq!(found.columns[0].cells[0].as_ref().unwrap().differences.len(), Metric::ALL.len());
    let unknown = matrix(run.side("run"), Axis::Agent, Some("nobody"));
    assert!(matches!(unknown, Err(ComparisonError::Axis(_))), "{unknown:?}");
    let mut one = plan.clone();
    one.agents.remove(1);
    let too_few = matrix(stored_run(&one, &records(&one)).side("run"), Axis::Agent, None);
    assert!(matches!(too_few, Err(ComparisonError::TooFew { .. })), "{too_few:?}");
}
