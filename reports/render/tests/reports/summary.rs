use healbench_analysis::statistics::Resamples;
use healbench_analysis::{
    ModelReport, PairedDifference, Report, ReportError, ReportRow, RowMetric, Scope, Totals, Verdict, summarize,
};
use healbench_core::{CallRecord, EndedBy, EpisodeCounts, EpisodeRecord, Plan, Records};
use healbench_frames::Rows;
use healbench_render::{Detail, TerminalOptions, terminal};

use crate::sample::{manifest, plan, records, run_with};
use crate::slow_rows::{slow_pairs_of, slow_row};

pub(crate) fn report(plan: &Plan, records: &Records) -> Result<Report, ReportError> {
    let (_folder, run) = run_with(plan, records);
    summarize(&Rows(&run), &manifest(plan), Scope::Full)
}

/// Checks Holm's adjustment by its definition: the smallest of m p-values is multiplied by m, the next by m - 1, and
/// none is smaller than those before. The family is all pairs of conditions of an agent, of which those with equal outcomes have the p-value
/// 1. Removes the adjusted values and the verdicts because rows are compared one by one.
fn check_adjusted(report: &mut Report, plan: &Plan, records: &Records) {
    let mut families = Vec::new();
    for (agent, found) in report.agents.iter_mut().enumerate() {
        let pairs = (1..plan.conditions.len()).flat_map(|one| (1..one).map(move |other| [one, other]));
        type Ranked<'p> = (f64, Option<&'p mut Option<f64>>);
        let (mut others, mut same): (Vec<Ranked<'_>>, Vec<_>) = (Vec::new(), Vec::new());
        for pair in pairs {
            let PairedDifference { p_value, this_suite, verdict, .. } = slow_pairs_of(plan, records, agent, pair);
            let equal = (verdict == Verdict::Equal).then_some(1.0);
            others.extend(p_value.or(equal).map(|p_value| (p_value, None)));
            same.extend(this_suite.map(|this| this.p_value).or(equal).map(|p_value| (p_value, None)));
        }
        for paired in found.rows.iter_mut().filter_map(|row| row.vs_reference.as_mut()) {
            match paired.verdict {
                Verdict::Equal => others.push((1.0, None)),
                _ => paired.verdict = Verdict::Unknown,
            }
            if paired.verdict == Verdict::Equal {
                same.push((1.0, None));
            }
            others.extend(paired.p_value.map(|p_value| (p_value, Some(&mut paired.p_adjusted))));
            same.extend(paired.this_suite.as_mut().map(|this| (this.p_value, Some(&mut this.p_adjusted))));
        }
        families.extend([others, same]);
    }
    for mut family in families {
        family.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut least, mut left) = (0.0_f64, family.len() as f64);
        for (p_value, adjusted) in family {
            least = least.max(p_value * left).min(1.0);
            left -= 1.0;
            if let Some(adjusted) = adjusted {
                assert!((adjusted.take().unwrap() - least).abs() < 1e-12);
            }
        }
    }
}

fn check_all_rows(plan: &Plan, records: &Records) -> Report {
    let mut report = report(plan, records).unwrap();
    check_adjusted(&mut report, plan, records);
    report.agents.iter_mut().flat_map(|agent| &mut agent.rows).for_each(|row| row.families.clear());
    let mut resamples = Resamples::new(plan.seed);
    assert_eq!(report.agents.len(), plan.agents.len());
    for (agent, found) in report.agents.iter().enumerate() {
        assert_eq!((&found.agent, found.kind), (&plan.agents[agent].to_string(), plan.agents[agent].kind));
        assert_eq!(found.rows.len(), plan.conditions.len());
        for (condition, row) in found.rows.iter().enumerate() {
            assert_eq!(row, &slow_row(plan, records, agent, condition, &mut resamples), "{} {condition}", found.agent);
        }
    }
    report
}

#[test]
fn every_number_is_what_loops_over_the_rows_find() {
    let plan = plan(40);
    let records = records(&plan);
    let report = check_all_rows(&plan, &records);
    // If the sample had only zeros, agreement would prove nothing.
    let models: Vec<ModelReport> = report.agents[1].rows.iter().map(|row| row.model.unwrap()).collect();
    assert_eq!(models.iter().map(|model| model.usd.is_some()).collect::<Vec<_>>(), [false, false, true]);
    let reported = [models[2].cache_read, models[2].cache_write, models[2].reasoning];
    assert!(reported.iter().all(|rate| rate.numerator > 0 && rate.denominator > rate.numerator));
    assert!(models[0].bpe_input.denominator < models[0].input_per_episode.numerator, "some are not counted");
    let own = report.agents[1].rows[2].rate(RowMetric::FirstCallSuccess).denominator;
    assert!(own > 0 && own < report.agents[1].rows[2].scored, "some openings are not the model's own");
    assert_eq!(report.agents[0].rows[2].model, None);
    let row = &report.agents[0].rows[2];
    let paired = row.vs_reference.unwrap();
    let reached = [
        row.infra,
        row.rate(RowMetric::Success).numerator,
        row.rate(RowMetric::Recovered).numerator,
        row.rate(RowMetric::ErrorsFixed).numerator,
        row.rate(RowMetric::ErrorsFixed).denominator - row.rate(RowMetric::ErrorsFixed).numerator,
        row.rate(RowMetric::WrongRepairs).numerator,
        row.rate(RowMetric::FirstCallSuccess).numerator,
        row.rate(RowMetric::WastedTokens).numerator,
        row.rate(RowMetric::ProseTokens).numerator,
        row.rate(RowMetric::GuardrailTokens).numerator,
        row.rate(RowMetric::LeakedFields).numerator,
        row.rate(RowMetric::RepeatedCalls).numerator,
        row.rate(RowMetric::FalseSuccess).numerator,
        row.rate(RowMetric::Stuck).numerator,
        row.rate(RowMetric::Stuck).denominator - row.rate(RowMetric::Stuck).numerator,
        row.rate(RowMetric::HintsFollowed).numerator,
        row.rate(RowMetric::HintsFollowed).denominator - row.rate(RowMetric::HintsFollowed).numerator,
        row.repair_at[0].chains.numerator,
        row.repair_at[2].chains.numerator - row.repair_at[1].chains.numerator,
        row.rate(RowMetric::CallEfficiencyOfSuccesses).denominator
            - row.rate(RowMetric::CallEfficiencyOfSuccesses).numerator,
        paired.gains,
        paired.losses,
        paired.unmatched,
        report.totals.config,
    ];
    assert!(reached.iter().all(|number| *number > 0), "{reached:?}");
    assert_eq!(report.suite.as_deref(), Some("quickstart"));
    assert_eq!((report.planned, report.totals.episodes), (plan.len(), plan.len()));
}

#[test]
fn an_interrupted_run_is_reported_as_far_as_it_got() {
    let plan = plan(10);
    let mut records = records(&plan);
    // Ends within the second agent's conditions on the first scenario: some cells have no partner, some have no row.
    records.episodes.retain(|row| row.episode < 45);
    records.calls.retain(|row| row.episode < 45);
    let report = check_all_rows(&plan, &records);
    let last = &report.agents[1].rows[2];
    assert_eq!((last.episodes, last.rate(RowMetric::Success).rate, last.success_interval), (0, None, None));
    assert_eq!(last.rate(RowMetric::CallsPerSuccess).rate, None);
    let paired = last.vs_reference.unwrap();
    assert_eq!((paired.pairs, paired.unmatched, paired.difference, paired.p_value), (0, 10, None, None));
    assert_eq!(report.agents[1].rows[1].vs_reference.unwrap().unmatched, 5 + unscored(&plan, &records));
    assert_eq!((report.planned, report.totals.episodes), (180, 45));
}

/// Returns the number of pairs of the second agent's first two conditions that exist but are not both scored.
fn unscored(plan: &Plan, records: &Records) -> u64 {
    let outcome = |episode: u64| records.episodes[episode as usize].outcome.is_scored();
    (40..45).filter(|episode| !(outcome(*episode) && outcome(episode - u64::from(plan.trials)))).count() as u64
}

#[test]
fn no_episode_at_all() {
    let plan = plan(3);
    let report = check_all_rows(&plan, &Records::default());
    assert_eq!(report.totals, Totals::default());
}

#[test]
fn sums_do_not_overflow() {
    let plan = plan(2);
    let mut records = records(&plan);
    for call in &mut records.calls {
        call.request_tokens = u32::MAX;
        call.response_tokens = u32::MAX;
        call.guardrail_tokens = u32::MAX;
        call.leaked_fields = Some(u32::MAX);
    }
    for row in &mut records.episodes {
        let calls: Vec<CallRecord> = records.calls.iter().filter(|call| call.episode == row.episode).cloned().collect();
        row.counts = EpisodeCounts::from_calls(&calls);
    }
    check_all_rows(&plan, &records);
}

#[test]
fn a_request_that_is_too_long_counts_in_success_and_not_in_tokens() {
    let plan = plan(4);
    let mut rows = records(&plan);
    let before = report(&plan, &rows).unwrap();
    let mine = |row: &EpisodeRecord| plan.cell(row.episode).is_some_and(|cell| (cell.agent, cell.condition) == (1, 2));
    let mut long = rows.episodes.iter_mut().filter(|row| mine(row) && row.outcome.is_scored());
    let episode = long.next().unwrap();
    episode.ended_by = EndedBy::TooLong;
    let billed = episode.billed.unwrap();
    let after = report(&plan, &rows).unwrap();
    let [before, row] = [&before, &after].map(|report| &report.agents[1].rows[2]);
    assert_eq!((before.too_long, row.too_long, before.scored), (0, 1, row.scored));
    assert_eq!(before.rate(RowMetric::Success), row.rate(RowMetric::Success));
    let tokens = |row: &ReportRow| row.rate(RowMetric::BilledTokensPerEpisode);
    assert_eq!(tokens(before).denominator, tokens(row).denominator + 1);
    assert_eq!(tokens(before).numerator, tokens(row).numerator + billed.input + billed.output);
    let text = terminal(&after, TerminalOptions { width: 300, color: false, detail: Detail::Metrics, lines: None });
    assert!(text.contains("1 episode with a request too long for the model: in success and not in tokens."), "{text}");
}
