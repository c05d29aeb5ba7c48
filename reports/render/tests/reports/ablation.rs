use std::collections::BTreeMap;

use healbench_analysis::statistics::{ClusterPairs, ClusterSums, Resamples, clustered_difference, ratio_interval};
use healbench_analysis::{Ablation, Difference, Effect, ReportError, Scope, Verdict, summarize};
use healbench_core::{CellRef, Condition, EpisodeCounts, ErrorFormat, Guardrails, Outcome, Plan, Records};
use healbench_frames::Rows;

use crate::sample::{manifest, plan, records, run_with};
use crate::slow_rows::cluster_of;

/// Returns the sample's plan with these guardrail sets and formats.
pub(crate) fn sweep(trials: u32, sets: impl IntoIterator<Item = usize>, formats: &[ErrorFormat]) -> Plan {
    let mut plan = plan(trials);
    plan.conditions.clear();
    for guardrails in sets.into_iter().map(Guardrails::from_bits) {
        let bare = [ErrorFormat::Bare];
        for format in if guardrails.healing { formats } else { &bare } {
            plan.conditions.push(Condition::new(guardrails, format.clone()));
        }
    }
    plan
}

const FORMATS: [ErrorFormat; 2] = [ErrorFormat::FusionXml, ErrorFormat::FusionText];

fn ablation(plan: &Plan, records: &Records) -> Result<Vec<Ablation>, ReportError> {
    let (_folder, run) = run_with(plan, records);
    summarize(&Rows(&run), &manifest(plan), Scope::Full).map(|report| report.ablation)
}

/// Success and tokens of the scored episodes of one agent, format, scenario and trial, by guardrail set; `None` for an
/// episode that is not scored.
type Block = BTreeMap<usize, Option<[f64; 2]>>;

/// Returns the blocks by scenario, then by trial.
fn blocks(plan: &Plan, records: &Records, agent: usize, format: &ErrorFormat) -> Vec<BTreeMap<u32, Block>> {
    let mut tokens: BTreeMap<u64, u64> = BTreeMap::new();
    for call in &records.calls {
        *tokens.entry(call.episode).or_default() += u64::from(call.request_tokens) + u64::from(call.response_tokens);
    }
    let mut blocks = vec![BTreeMap::<u32, Block>::new(); plan.scenarios.len()];
    for row in &records.episodes {
        let cell = plan.cell(row.episode).unwrap();
        let condition = &plan.conditions[cell.condition];
        if cell.agent == agent && (condition.format() == format || *condition.format() == ErrorFormat::Bare) {
            let used = tokens.get(&row.episode).copied().unwrap_or(0) + u64::from(row.prose_tokens.unwrap());
            let success = f64::from(u8::from(row.outcome == Outcome::Success));
            let played = row.outcome.is_scored().then_some([success, used as f64]);
            blocks[cell.scenario].entry(cell.trial).or_default().insert(condition.guardrails().bits(), played);
        }
    }
    blocks
}

/// Computes an effect by its definition: `of` computes it within a block from a function that returns the value of a
/// set.
fn slow(
    plan: &Plan,
    blocks: &[BTreeMap<u32, Block>],
    switches: usize,
    needed: &[usize],
    of: impl Fn(&dyn Fn(usize) -> f64) -> f64,
) -> Effect {
    let (mut scenarios, mut matched, mut unmatched) = (0, 0, 0);
    let mut clusters: [BTreeMap<usize, ClusterSums>; 2] = Default::default();
    for (at, trials) in blocks.iter().enumerate() {
        let mut sums = [0.0, 0.0];
        let mut here = 0;
        for block in trials.values() {
            let known = |set: &usize| block.get(set).copied().flatten();
            if needed.iter().all(|set| known(set).is_some()) {
                here += 1;
                for (measure, sum) in sums.iter_mut().enumerate() {
                    *sum += of(&|set| known(&set).unwrap()[measure]);
                }
            } else {
                unmatched += u64::from(needed.iter().any(|set| block.contains_key(set)));
            }
        }
        if here > 0 {
            matched += here;
            scenarios += 1;
            for (clusters, sum) in clusters.iter_mut().zip(sums) {
                let cluster = clusters.entry(cluster_of(plan, at)).or_insert(ClusterSums {
                    numerator: 0.0,
                    denominator: 0.0,
                    stratum: 0,
                });
                cluster.numerator += sum;
                cluster.denominator += here as f64;
            }
        }
    }
    let [success, tokens] = clusters.map(|clusters| {
        let clusters: Vec<ClusterSums> = clusters.into_values().collect();
        let interval = ratio_interval(&clusters, &mut Resamples::new(plan.seed), 0.95);
        Difference {
            difference: (matched > 0)
                .then(|| clusters.iter().map(|cluster| cluster.numerator).sum::<f64>() / matched as f64),
            interval: interval.map(|(interval, _)| interval),
            method: interval.map(|(_, method)| method),
        }
    });
    // Between two sets, the pairs of each cluster of scenarios decide on success.
    let paired = (needed.len() == 2).then(|| {
        let mut pairs: BTreeMap<&str, ClusterPairs> = BTreeMap::new();
        for (scenario, trials) in plan.scenarios.iter().zip(blocks) {
            let cluster = pairs.entry(&scenario.cluster).or_default();
            for block in trials.values() {
                let known = |set: &usize| block.get(set).copied().flatten();
                if needed.iter().all(|set| known(set).is_some()) {
                    let gain = of(&|set| known(&set).unwrap()[0]);
                    cluster.pairs += 1;
                    cluster.gains += u64::from(gain > 0.0);
                    cluster.losses += u64::from(gain < 0.0);
                }
            }
        }
        // Equal outcomes have no interval.
        let differs = pairs.values().any(|cluster| cluster.gains + cluster.losses > 0);
        clustered_difference(&pairs.into_values().collect::<Vec<_>>(), 0.95).filter(|_| differs)
    });
    let success = match paired {
        None => success,
        Some(paired) => Difference {
            interval: paired.map(|paired| paired.interval),
            method: paired.map(|paired| paired.method),
            ..success
        },
    };
    let p_value = paired.flatten().map(|paired| paired.p_value);
    Effect {
        switches: Guardrails::from_bits(switches),
        success,
        p_value,
        p_adjusted: None,
        verdict: Verdict::Unknown,
        tokens,
        scenarios,
        matched,
        unmatched,
    }
}

fn slow_ablation(plan: &Plan, records: &Records, agent: usize, format: &ErrorFormat) -> Ablation {
    let blocks = blocks(plan, records, agent, format);
    let held = |set: usize| {
        let of = |condition: &Condition| condition.format() == format || *condition.format() == ErrorFormat::Bare;
        plan.conditions.iter().any(|condition| condition.guardrails().bits() == set && of(condition))
    };
    let all: Vec<usize> = (0..16).collect();
    let full = all.iter().all(|set| held(*set));
    let mut found = Ablation {
        agent: plan.agents[agent].to_string(),
        title: plan.agents[agent].title(),
        format: format.clone(),
        main: Vec::new(),
        interactions: Vec::new(),
        one_in: Vec::new(),
        one_out: Vec::new(),
    };
    for a in [1, 2, 4, 8] {
        if held(0) && held(a) {
            found.one_in.push(slow(plan, &blocks, a, &[0, a], |y| y(a) - y(0)));
        }
        if held(15) && held(15 - a) {
            found.one_out.push(slow(plan, &blocks, a, &[15, 15 - a], |y| y(15) - y(15 - a)));
        }
        if full {
            found.main.push(slow(plan, &blocks, a, &all, |y| {
                let others = all.iter().filter(|set| *set & a == 0);
                others.map(|set| y(set | a) - y(*set)).sum::<f64>() / 8.0
            }));
            for b in [1, 2, 4, 8].into_iter().filter(|b| *b > a) {
                found.interactions.push(slow(plan, &blocks, a | b, &all, |y| {
                    let rest = all.iter().filter(|set| *set & (a | b) == 0);
                    let gains = rest.map(|set| (y(set | a | b) - y(set | b)) - (y(set | a) - y(*set)));
                    gains.sum::<f64>() / 4.0 / 2.0
                }));
            }
        }
    }
    found
}

fn assert_same_effects(found: &[Effect], expected: &[Effect]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let counts = |effect: &Effect| (effect.switches, effect.scenarios, effect.matched, effect.unmatched);
        assert_eq!(counts(found), counts(expected));
        assert_eq!(found.p_value, expected.p_value);
        assert!(found.p_value.zip(found.p_adjusted).is_none_or(|(p, adjusted)| adjusted >= p && adjusted <= 1.0));
        assert_eq!(found.p_value.is_some(), found.p_adjusted.is_some());
        for (found, expected) in [(found.success, expected.success), (found.tokens, expected.tokens)] {
            let numbers = |of: Difference| {
                let ends = of.interval.map(|interval| (interval.lower, interval.upper)).unzip();
                [of.difference, ends.0, ends.1]
            };
            for (found, expected) in numbers(found).into_iter().zip(numbers(expected)) {
                let near = |(a, b): (f64, f64)| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
                assert!(found.zip(expected).map_or(found == expected, near), "{found:?} is not {expected:?}");
            }
        }
    }
}

fn check(plan: &Plan, records: &Records) -> Vec<Ablation> {
    let found = ablation(plan, records).unwrap();
    for (index, ablation) in found.iter().enumerate() {
        let agent = plan.agents.iter().position(|agent| agent.to_string() == ablation.agent).unwrap();
        let expected = slow_ablation(plan, records, agent, &ablation.format);
        assert_same_effects(&ablation.main, &expected.main);
        assert_same_effects(&ablation.interactions, &expected.interactions);
        assert_same_effects(&ablation.one_in, &expected.one_in);
        assert_same_effects(&ablation.one_out, &expected.one_out);
        assert_eq!(agent, index / (found.len() / plan.agents.len()));
    }
    found
}

#[test]
fn every_effect_is_what_its_definition_finds() {
    for trials in [1, 7, 30] {
        let plan = sweep(trials, (0..16).rev(), &FORMATS);
        let mut records = records(&plan);
        let found = check(&plan, &records);
        let formats: Vec<&ErrorFormat> = found.iter().map(|ablation| &ablation.format).collect();
        assert_eq!(formats, [&FORMATS[0], &FORMATS[1], &FORMATS[0], &FORMATS[1]]);
        // An interrupted run that ends within the conditions of a scenario.
        records.episodes.retain(|row| row.episode < plan.len() * 2 / 5);
        records.calls.retain(|row| row.episode < plan.len() * 2 / 5);
        check(&plan, &records);
        check(&plan, &Records::default());
        if trials == 30 {
            // If the sample had only zeros, agreement would prove nothing.
            let [main, interaction] = [found[3].main[1], found[3].interactions[4]];
            assert!(main.scenarios == 3 && main.matched > 5 && main.unmatched > 5, "{main:?}");
            assert_ne!((main.success.difference, interaction.success.difference), (Some(0.0), Some(0.0)));
            assert!(main.tokens.interval.unwrap().upper > main.tokens.interval.unwrap().lower);
        }
    }
}

#[test]
fn a_plan_shows_what_its_sets_allow() {
    let bits = |effects: &[Effect]| effects.iter().map(|effect| effect.switches.bits()).collect::<Vec<_>>();
    let shown = |sets: &[usize]| {
        let plan = sweep(4, sets.iter().copied(), &FORMATS);
        let found = check(&plan, &records(&plan));
        found
            .first()
            .map(|first| [&first.main, &first.interactions, &first.one_in, &first.one_out].map(|effects| bits(effects)))
    };
    let sets = |word| Guardrails::sweep(word).unwrap().iter().map(|set| set.bits()).collect::<Vec<_>>();
    let singles = vec![1, 2, 4, 8];
    let none = Vec::new();
    assert_eq!(
        shown(&sets("full")),
        Some([singles.clone(), vec![3, 5, 9, 6, 10, 12], singles.clone(), singles.clone()])
    );
    assert_eq!(shown(&sets("one-in")), Some([none.clone(), none.clone(), singles.clone(), none.clone()]));
    assert_eq!(shown(&sets("one-out")), Some([none.clone(), none.clone(), none.clone(), singles]));
    // All 16 sets but one, lists that contain part of a sweep, and lists without any effect.
    assert_eq!(shown(&(1..16).collect::<Vec<_>>()), Some([none.clone(), none.clone(), none.clone(), vec![1, 2, 4, 8]]));
    assert_eq!(shown(&[0, 4, 11, 15]), Some([none.clone(), none.clone(), vec![4], vec![4]]));
    assert_eq!(shown(&[0, 1]), Some([none.clone(), none.clone(), vec![1], none]));
    assert_eq!(shown(&[0, 3, 15]), None);
}

/// One trial in each of two scenarios in which only `strict` and `healing` matter: success requires both.
fn worked_example() -> (Plan, Records) {
    let mut plan = sweep(1, 0..16, &FORMATS[..1]);
    plan.scenarios.truncate(2);
    plan.scenarios[1].cluster = "another".to_owned();
    plan.agents.truncate(1);
    let mut records = records(&plan);
    records.calls.clear();
    for row in &mut records.episodes {
        let set = plan.conditions[plan.cell(row.episode).unwrap().condition].guardrails();
        row.counts = EpisodeCounts::default();
        row.calls = 0;
        (row.outcome, row.prose_tokens) = match (set.strict, set.healing) {
            (false, false) => (Outcome::TaskFail, Some(100)),
            (true, false) => (Outcome::TaskFail, Some(120)),
            (false, true) => (Outcome::GaveUp, Some(150)),
            (true, true) => (Outcome::Success, Some(90)),
        };
    }
    (plan, records)
}

#[test]
fn a_table_of_two_by_two_worked_by_hand() {
    let (plan, records) = worked_example();
    let found = ablation(&plan, &records).unwrap().remove(0);
    let numbers = |effect: &Effect| (effect.success.difference.unwrap(), effect.tokens.difference.unwrap());
    let main: Vec<_> = found.main.iter().map(numbers).collect();
    // strict: (120 - 100 + 90 - 150) / 2; healing: (150 - 100 + 90 - 120) / 2.
    assert_eq!(main, [(0.5, -20.0), (0.5, 10.0), (0.0, 0.0), (0.0, 0.0)]);
    let interactions: Vec<_> = found.interactions.iter().map(numbers).collect();
    // (90 - 150 - (120 - 100)) / 2.
    assert_eq!(interactions[0], (0.5, -40.0));
    assert!(interactions[1..].iter().all(|numbers| *numbers == (0.0, 0.0)));
    let single = |effects: &[Effect]| effects.iter().map(numbers).take(2).collect::<Vec<_>>();
    assert_eq!(single(&found.one_in), [(0.0, 20.0), (0.0, 50.0)]);
    assert_eq!(single(&found.one_out), [(1.0, -60.0), (1.0, -30.0)]);
    let strict = found.main[0];
    assert_eq!((strict.scenarios, strict.matched, strict.unmatched), (2, 2, 0));
    // Both scenarios have the same difference.
    assert_eq!(strict.tokens.interval.map(|interval| (interval.lower, interval.upper)), Some((-20.0, -20.0)));
}

#[test]
fn one_scenario_has_no_interval() {
    let (mut plan, mut records) = worked_example();
    plan.scenarios.truncate(1);
    records.episodes.truncate(16);
    let found = ablation(&plan, &records).unwrap().remove(0);
    assert_eq!(found.main[0].success, Difference { difference: Some(0.5), interval: None, method: None });
}

#[test]
fn effects_are_not_computed_from_episodes_that_met_other_difficulties() {
    let plan = sweep(3, Guardrails::sweep("one-out").unwrap().iter().map(|set| set.bits()), &FORMATS[..1]);
    let mut records = records(&plan);
    for row in &mut records.episodes {
        row.outcome = Outcome::Success;
    }
    let odd = plan.episode(CellRef { scenario: 1, agent: 1, condition: 2, trial: 2 });
    records.episodes[odd as usize].schedule_hash = "0123456789abcdef".to_owned();
    let error = ablation(&plan, &records).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the effects of guardrails cannot be computed: openai:gpt-5-mini met another schedule in episode {odd}, under \
             `strict+truncation+contract`, than under other guardrails in trial 2 of `orders/typo`"
        )
    );
    // Nothing is computed from an episode that is not scored.
    records.episodes[odd as usize].outcome = Outcome::Infra;
    assert!(ablation(&plan, &records).is_ok());
}
