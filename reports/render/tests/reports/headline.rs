use healbench_analysis::{AgentReport, Example, HeadlineConditions, OtherTrial, PairedDifference, Rate};
use healbench_core::{
    AgentKind, AgentSpec, CONDITIONS, CallRecord, CellRef, Condition, EpisodeRecord, ErrorClass, Outcome, Plan, Records,
};

use crate::sample::{plan, records};
use crate::slow_rows::{slow_billed, slow_median_of, slow_pairs};
use crate::summary::report;

/// Computes the examples by their definition.
fn slow_examples(plan: &Plan, records: &Records, headline: HeadlineConditions) -> Vec<Example> {
    let row = |scenario, agent, condition, trial| {
        let episode = plan.episode(CellRef { scenario, agent, condition, trial });
        records.episodes.iter().find(|row| row.episode == episode)
    };
    let rate = |report: &[&EpisodeRecord]| {
        let scored: Vec<_> = report.iter().filter(|row| row.outcome.is_scored()).collect();
        let successes = scored.iter().filter(|row| row.outcome == Outcome::Success).count();
        (!scored.is_empty()).then(|| successes as f64 / scored.len() as f64)
    };
    let mut examples = Vec::new();
    for scenario in 0..plan.scenarios.len() {
        for agent in 0..plan.agents.len() {
            let both = |trial| [headline.left, headline.right].map(|condition| row(scenario, agent, condition, trial));
            let flips = |trial: &u32| match both(*trial) {
                [Some(left), Some(right)] => {
                    let scored = left.outcome.is_scored() && right.outcome.is_scored();
                    scored && (left.outcome == Outcome::Success) != (right.outcome == Outcome::Success)
                }
                _ => false,
            };
            let fails = |trial: &u32| both(*trial).iter().flatten().any(|row| row.counts.errors > 0);
            let pattern = |trial: u32| -> Vec<_> {
                let rows = (0..plan.conditions.len()).map(|condition| row(scenario, agent, condition, trial));
                rows.map(|row| row.map(|row| (row.outcome, row.counts.errors > 0))).collect()
            };
            let alike = |trial: u32| (0..plan.trials).filter(|other| pattern(*other) == pattern(trial)).count() as u64;
            let first_of_kind = |trial: &u32| (0..*trial).all(|other| pattern(other) != pattern(*trial));
            let kinds: Vec<u32> = (0..plan.trials).filter(first_of_kind).collect();
            let most = kinds.iter().map(|trial| alike(*trial)).max().unwrap();
            let mut frequent = kinds.iter().copied().filter(|trial| alike(*trial) == most);
            let trial = frequent.clone().find(flips).or(frequent.clone().find(fails)).or(frequent.next()).unwrap();
            // A failed call counts only where no trial ended differently.
            let rank =
                |trial: &u32| (flips(trial), alike(*trial), !flips(trial) && fails(trial), std::cmp::Reverse(*trial));
            let other = kinds.iter().copied().filter(|other| *other != trial).max_by_key(rank);
            let all = |condition| {
                (0..plan.trials).filter_map(|trial| row(scenario, agent, condition, trial)).collect::<Vec<_>>()
            };
            let episode = |condition| Some(plan.episode(CellRef { scenario, agent, condition, trial }));
            examples.push(Example {
                scenario,
                agent,
                trial,
                alike: alike(trial),
                trials: u64::from(plan.trials),
                other: other.map(|trial| OtherTrial { trial, alike: alike(trial), flips: flips(&trial) }),
                left: episode(headline.left),
                right: episode(headline.right),
                flips: flips(&trial),
                flipped: (0..plan.trials).filter(flips).count() as u64,
                spread: {
                    let mut rates: Vec<f64> =
                        (0..plan.conditions.len()).filter_map(|condition| rate(&all(condition))).collect();
                    rates.sort_by(f64::total_cmp);
                    (rates.len() > 1).then(|| rates[rates.len() - 1] - rates[0])
                },
                difference: rate(&all(headline.right)).zip(rate(&all(headline.left))).map(|(right, left)| right - left),
            });
        }
    }
    examples
}

#[test]
fn examples_are_episodes_that_end_differently() {
    for trials in [1, 4] {
        let plan = plan(trials);
        let records = records(&plan);
        let report = report(&plan, &records).unwrap();
        assert_eq!(report.headline, Some(HeadlineConditions { left: 0, right: 1 }), "none, and all of them");
        let examples = slow_examples(&plan, &records, HeadlineConditions { left: 0, right: 1 });
        assert!(examples.iter().any(|example| example.flips) && examples.iter().any(|example| !example.flips));
        assert_eq!(examples.iter().any(|example| example.other.is_some()), trials > 1);
        assert_eq!(report.examples, examples);
        assert_eq!(report.error_classes, [ErrorClass::Validation]);
    }
}

/// Computes successes, calls, tokens and billed tokens of the left and right episodes of all pairs by loops.
fn slow_headline_sums(plan: &Plan, records: &Records, agent: usize) -> [[u64; 5]; 2] {
    let mut sums = [[0; 5]; 2];
    for left in records.episodes.iter().filter(|row| row.outcome.is_scored()) {
        let cell = plan.cell(left.episode).unwrap();
        let right = plan.episode(CellRef { condition: 1, ..cell });
        let right = records.episodes.iter().find(|row| row.episode == right && row.outcome.is_scored());
        let (true, Some(right)) = ((cell.agent, cell.condition) == (agent, 0), right) else { continue };
        for (sums, row) in sums.iter_mut().zip([left, right]) {
            let calls: Vec<&CallRecord> = records.calls.iter().filter(|call| call.episode == row.episode).collect();
            let tokens = calls.iter().map(|call| u64::from(call.request_tokens) + u64::from(call.response_tokens));
            sums[0] += 1;
            sums[1] += u64::from(row.outcome == Outcome::Success);
            sums[2] += calls.len() as u64;
            sums[3] += tokens.sum::<u64>() + u64::from(row.prose_tokens.unwrap());
            sums[4] += slow_billed(&[row]);
        }
    }
    sums
}

/// Computes the provider's counts over the pairs of which it counted both.
fn slow_provider_sums(plan: &Plan, records: &Records, agent: usize) -> [Rate; 2] {
    let counted = |row: &EpisodeRecord| Some(row.model.as_ref()?.usage?).map(|usage| usage.input + usage.output);
    let (mut sums, mut pairs) = ([0, 0], 0);
    for left in records.episodes.iter().filter(|row| row.outcome.is_scored()) {
        let cell = plan.cell(left.episode).unwrap();
        let right = plan.episode(CellRef { condition: 1, ..cell });
        let right = records.episodes.iter().find(|row| row.episode == right && row.outcome.is_scored());
        let (true, Some(right)) = ((cell.agent, cell.condition) == (agent, 0), right) else { continue };
        if let (Some(left), Some(right)) = (counted(left), counted(right)) {
            pairs += 1;
            sums = [sums[0] + left, sums[1] + right];
        }
    }
    sums.map(|sum| Rate::of(sum, pairs))
}

#[test]
fn both_sides_of_the_headline_are_over_the_same_pairs() {
    for without_none in [false, true] {
        let mut plan = plan(40);
        // Two models: beside a model, a simulated reader has no headline.
        plan.agents[0] = AgentSpec { name: "openai:gpt-5".to_owned(), ..plan.agents[1].clone() };
        if without_none {
            plan.conditions.remove(0);
        }
        let records = records(&plan);
        let report = report(&plan, &records).unwrap();
        let mut alone = 0;
        for (index, agent) in report.agents.iter().enumerate() {
            let comparison = agent.headline.unwrap();
            let sums = slow_headline_sums(&plan, &records, index);
            let both = |of: usize, over: usize| sums.map(|sums| Rate::of(sums[of], sums[over]));
            alone += agent.rows[0].scored - sums[0][0];
            assert_eq!(comparison.success_rates, both(1, 0));
            assert_eq!(comparison.calls_per_episode, both(2, 0));
            assert_eq!(comparison.tokens_per_episode, both(3, 0));
            assert_eq!(comparison.tokens_per_success, both(3, 1));
            assert_eq!(comparison.billed_tokens_per_episode, both(4, 0));
            assert_eq!(comparison.billed_tokens_per_success, both(4, 1));
            let provider = slow_provider_sums(&plan, &records, index);
            assert_eq!(comparison.provider_tokens_per_episode, provider);
            // One scenario each: the medians over scenarios are those of three rates.
            let alone = |scenario: usize| {
                let here = |row: &&EpisodeRecord| plan.cell(row.episode).unwrap().scenario == scenario;
                let episodes = records.episodes.iter().filter(here).cloned().collect();
                slow_headline_sums(&plan, &Records { episodes, ..records.clone() }, index)
            };
            for side in 0..2 {
                let rates = |over: usize| {
                    (0..3).map(move |scenario| Rate::of(alone(scenario)[side][4], alone(scenario)[side][over]))
                };
                assert_eq!(comparison.median_billed_tokens_per_episode[side], slow_median_of(rates(0)));
                assert_eq!(comparison.median_billed_tokens_per_success[side], slow_median_of(rates(1)));
            }
            let slow = slow_pairs(&plan, &records, index, 1);
            let mut success = PairedDifference { p_adjusted: None, verdict: slow.verdict, ..comparison.success };
            if let Some(this_suite) = &mut success.this_suite {
                this_suite.p_adjusted = None;
            }
            assert_eq!(success, slow);
            let mean = |rates: [Rate; 2]| rates[1].rate.unwrap() - rates[0].rate.unwrap();
            for (found, rates) in [
                (comparison.calls, comparison.calls_per_episode),
                (comparison.tokens, comparison.tokens_per_episode),
                (comparison.billed_tokens, comparison.billed_tokens_per_episode),
            ] {
                assert!((found.difference.unwrap() - mean(rates)).abs() < 1e-9 && found.interval.is_some());
            }
        }
        assert!(alone > 0, "some have no partner");
        for agent in &report.agents {
            let rows = agent.rows.iter().filter_map(|row| row.vs_reference?.p_adjusted);
            let adjusted = agent.headline.unwrap().success.p_adjusted.unwrap();
            assert!(
                report.reference.is_none() || rows.into_iter().any(|row| row == adjusted),
                "one pair has one p-value"
            );
        }
    }
}

#[test]
fn no_headline_is_about_simulated_readers_beside_a_model() {
    let mut plan = plan(3);
    let titles = |plan: &Plan| {
        let report = report(plan, &records(plan)).unwrap();
        let with: Vec<String> = report.headline_agents().map(AgentReport::headline_title).collect();
        assert_eq!(report.agents.iter().filter(|agent| agent.headline.is_some()).count(), with.len());
        with
    };
    assert_eq!(titles(&plan), ["openai:gpt-5-mini · seeded · prompt"]);
    plan.agents[1].kind = AgentKind::Replay;
    assert_eq!(titles(&plan), ["openai:gpt-5-mini · seeded · prompt · replayed"]);
    plan.agents[1] = AgentSpec { name: "careless".to_owned(), ..plan.agents[0].clone() };
    assert_eq!(titles(&plan), ["Simulated reader typical", "Simulated reader careless"]);
    plan.agents.remove(0);
    assert_eq!(titles(&plan), ["Simulated reader careless"]);
}

#[test]
fn a_plan_with_one_condition_has_no_headline() {
    let mut plan = plan(3);
    plan.conditions.truncate(1);
    let report = report(&plan, &records(&plan)).unwrap();
    assert_eq!((report.headline, &report.matrix), (None, &None));
    assert_eq!(report.examples.len(), 6);
    assert!(report.examples.iter().all(|example| example.left.is_some() && example.right.is_none() && !example.flips));
}

#[test]
fn what_servers_send_today_is_on_the_left() {
    let mut plan = plan(2);
    plan.conditions = CONDITIONS.iter().rev().map(Condition::of).collect();
    let records = records(&plan);
    let report = report(&plan, &records).unwrap();
    let headline = report.headline.unwrap();
    let names = [headline.left, headline.right].map(|condition| plan.conditions[condition].name.as_deref());
    assert_eq!(names, [Some("sdk-typescript"), Some("fusion")]);
    assert_eq!(report.matrix.unwrap().reference, "sdk-typescript");
}

#[test]
fn without_none_the_first_condition_is_on_the_left() {
    let mut plan = plan(2);
    plan.conditions.remove(0);
    plan.conditions.swap(0, 1);
    let report = report(&plan, &records(&plan)).unwrap();
    assert_eq!(report.headline, Some(HeadlineConditions { left: 0, right: 1 }));
    let matrix = report.matrix.unwrap();
    assert_eq!(
        (matrix.rows, matrix.reference.as_str()),
        (vec!["fusion-text".to_owned(), "fusion-xml".to_owned()], "fusion-text")
    );
}
