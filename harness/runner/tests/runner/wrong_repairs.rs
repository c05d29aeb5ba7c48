//! Wrong repairs of simulated readers: what they cost, and that they are counted.

use healbench_core::TemplateSource;
use healbench_reader::{Profile, ScriptedAgent, shipped_profile};

use super::memory_server::agent_factory;
use super::*;

/// Returns the numbers of successes, error chains, fixed ones, and wrong repairs of a reader in 40 trials of each of the
/// quickstart's scenarios that `is_used` selects.
fn totals(is_used: impl Fn(&str) -> bool, profile: Profile, format: ErrorFormat) -> [u32; 4] {
    let mut scenarios = load_suite(&[PathBuf::from("quickstart")]).unwrap();
    scenarios.retain(|scenario| is_used(&scenario.id));
    let axes = Axes {
        agents: vec![profile.spec("reader")],
        conditions: Condition::of_parts(&[Guardrails::ALL], &[format]),
        trials: 40,
        seed: Seed(1),
    };
    let plan = build_plan(&axes, &scenarios);
    let make_agent =
        agent_factory(move |_, start, script| Box::new(ScriptedAgent::new(&profile, start, script.unwrap())));
    let records = run_from(&plan, &scenarios, 1, 0, &make_agent).unwrap();
    assert_eq!(records.episodes.len(), 40 * scenarios.len());
    let mut totals = [0; 4];
    for row in &records.episodes {
        let counts = &row.counts;
        let success = u32::from(row.outcome == Outcome::Success);
        let own = [success, counts.chains, counts.errors_fixed, counts.wrong_repairs];
        totals.iter_mut().zip(own).for_each(|(total, own)| *total += own);
    }
    totals
}

#[test]
fn a_wrong_value_that_is_accepted_is_a_wrong_repair_and_no_success() {
    let perfect = shipped_profile("perfect").unwrap();
    let is_used = |id: &str| id == "quickstart/wrong-enum";
    let with = |wrong_value| totals(is_used, Profile { wrong_value, ..perfect }, ErrorFormat::FusionXml);
    assert_eq!(with(0.0), [40, 40, 40, 0]);
    assert_eq!(with(1.0), [0, 40, 0, 40], "every other option is accepted");
    let [success, chains, fixed, wrong] = with(0.3);
    assert_eq!((success + wrong, chains, fixed), (40, 40, success));
    // Of 40, 12 are expected, with a standard error of 2.9.
    assert!((4..=20).contains(&wrong), "{wrong}");
}

#[test]
fn a_wrong_action_costs_successes_or_calls() {
    let perfect = shipped_profile("perfect").unwrap();
    let is_used = |id: &str| id == "quickstart/misspelled-action";
    let with = |wrong_action| totals(is_used, Profile { wrong_action, ..perfect }, ErrorFormat::FusionXml);
    let [right, wrong] = [with(0.0), with(1.0)];
    assert_eq!((right[0], right[3]), (40, 0));
    assert!(wrong[0] < 40, "{wrong:?}");
}

/// A reader whose wrong repairs depend on what the text lists would gain by a text that lists less.
#[test]
fn a_text_that_says_less_is_followed_no_better() {
    let whole = include_str!("../../../../scenarios/templates/teaching.jinja");
    let without = |parts: &[&str]| {
        parts.iter().fold(whole.to_owned(), |text, part| {
            assert!(text.contains(part), "{part}");
            text.replace(part, "")
        })
    };
    let (correction, available) = (" {{ issue.correction | line }}", r#"{{ available | join(", ") | line }}"#);
    for reader in ["persistent", "yielding"] {
        let successes = |parts: &[&str]| {
            let template = TemplateSource { file: "teaching.jinja".to_owned(), text: without(parts) };
            totals(|_| true, shipped_profile(reader).unwrap(), ErrorFormat::Template(template))[0]
        };
        let all = successes(&[]);
        for parts in [[correction], [available]] {
            // Two points of 600 episodes are more than the draws alone make.
            assert!(successes(&parts) <= all + 12, "{reader} without {parts:?}: {} of {all}", successes(&parts));
        }
    }
}
