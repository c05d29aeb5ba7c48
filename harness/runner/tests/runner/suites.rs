//! Tests of the shipped suites with the weakest and the strongest agents, and of invariants for all agents.

use std::collections::{BTreeMap, BTreeSet};

use healbench_core::{CONDITIONS, Condition, ErrorClass, FORMATS, family};
use healbench_reader::{Profile, ScriptedAgent, shipped_profile, shipped_profiles};
use healbench_scenarios::{FAMILIES, built_in_suites};

use super::*;

fn all_scenarios() -> Vec<Scenario> {
    let suites: Vec<PathBuf> = built_in_suites().into_iter().map(PathBuf::from).collect();
    load_suite(&suites).unwrap()
}

fn named_formats() -> Vec<ErrorFormat> {
    ErrorFormat::named().map(|entry| entry.format.clone()).collect()
}

fn guardrails(word: &str) -> Guardrails {
    word.parse().unwrap()
}

fn agent_factory(
    profile: &Profile,
) -> impl for<'s> Fn(usize, EpisodeStart<'s>, Option<&'s Script>) -> Box<dyn Agent + 's> + Sync + '_ {
    move |_, start, script| Box::new(ScriptedAgent::new(profile, start, script.unwrap()))
}

/// Runs scenarios with one profile.
pub(super) fn run_profile(
    name: &str,
    scenarios: &[Scenario],
    sets: &[&str],
    formats: &[ErrorFormat],
    trials: u32,
) -> (Plan, Records) {
    let profile: Profile = shipped_profile(name).unwrap();
    let axes = Axes {
        agents: vec![profile.spec(name)],
        conditions: Condition::of_parts(&sets.iter().map(|word| guardrails(word)).collect::<Vec<_>>(), formats),
        trials,
        seed: Seed(3),
    };
    let plan = build_plan(&axes, scenarios);
    let records = run_plan(&profile, &plan, scenarios);
    (plan, records)
}

fn run_plan(profile: &Profile, plan: &Plan, scenarios: &[Scenario]) -> Records {
    let make_agent = agent_factory(profile);
    let pools = [WorkerPool::of_all_agents(plan, 2)];
    let episodes = (0..plan.len()).into();
    let job = Job { plan, scenarios, episodes, pools: &pools, make_agent: &make_agent, make_environment: None };
    run_job(&job).unwrap().0
}

/// The second trial of every cell of all scenarios, whose responses come from the cache where they can, has the rows of
/// an episode that is executed alone.
#[test]
fn caching_changes_no_row_of_any_scenario() {
    let scenarios = all_scenarios();
    for name in shipped_profiles() {
        let (plan, records) = run_profile(name, &scenarios, &["none", "all"], &[ErrorFormat::FusionXml], 2);
        let profile: Profile = shipped_profile(name).unwrap();
        let make_agent = agent_factory(&profile);
        let episodes = (0..plan.len()).into();
        let job = Job {
            plan: &plan,
            scenarios: &scenarios,
            episodes,
            pools: &[],
            make_agent: &make_agent,
            make_environment: None,
        };
        let mut calls = records.calls.iter().peekable();
        for row in &records.episodes {
            let cached: Vec<_> = std::iter::from_fn(|| calls.next_if(|call| call.episode == row.episode)).collect();
            if row.episode % 2 == 1 {
                let (alone, alone_calls) = replay(&job, row.episode, &mut |_| ()).unwrap().unwrap();
                assert_eq!(*row, alone, "{name}");
                assert!(cached.into_iter().eq(&alone_calls), "{name}, episode {}", row.episode);
            }
        }
    }
}

/// Returns the calls of an episode and their responses, printed for a failure.
pub(super) fn transcript(name: &str, plan: &Plan, scenarios: &[Scenario], episode: u64) -> String {
    let profile: Profile = shipped_profile(name).unwrap();
    let make_agent = agent_factory(&profile);
    let job = Job {
        plan,
        scenarios,
        episodes: (0..plan.len()).into(),
        pools: &[],
        make_agent: &make_agent,
        make_environment: None,
    };
    let mut lines = String::new();
    replay(&job, episode, &mut |event| {
        if let EpisodeEvent::Call(call, answer, _) = event {
            lines.push_str(&format!("\n> {} {}\n{}", call.tool, call.arguments, answer.response.text()));
        }
    })
    .unwrap();
    lines
}

/// Formats that contain all facts of a failure; those of existing servers deliberately contain fewer.
const COMPLETE_FORMATS: [ErrorFormat; 4] =
    [ErrorFormat::FusionXml, ErrorFormat::FusionText, ErrorFormat::LlmFriendly, ErrorFormat::ProblemJson];

/// Scenarios for which `zod-json`, `pydantic` and `serde` contain too little, with the reason. For a failure that is
/// not about the shape of arguments, these formats contain only the message, like their servers: no suggestion, no list
/// of actions, and no hint that the failure is temporary. Failures about the shape contain enough, so nothing is listed
/// for `llm-friendly-json` or for any scenario about shapes.
const UNRECOVERABLE: [(&str, &str); 4] = [
    ("hostile/fake-lines", "`Claim '…' does not exist.` names no list of claims, and what it quotes was sent"),
    ("hostile/json-and-markdown", "`There is no queue '…'.` names no queue that there is"),
    ("hostile/orders-in-records", "`Review 'REV-289' does not exist.` names no list of reviews"),
    ("quickstart/unknown-id", "`Ticket 'TCK-3690' does not exist.` names no list of tickets"),
];

/// The scenarios whose errors `jsonschema` describes without the field, or in words that readers do not know: `is too short`.
const WITHOUT_FIELD: [&str; 1] = ["quickstart/several-at-once"];

/// The suites in which the texts of servers say too little on purpose: what a text lacks is their subject.
const SUITES_OF_SILENCE: [&str; 1] = ["published/"];

#[test]
fn perfect_recovers_wherever_the_text_allows_it() {
    // The families draw errors that only state a fact among others.
    let is_family = |scenario: &Scenario| FAMILIES.contains(&family(&scenario.id)) || family(&scenario.id) == "silent";
    let scenarios: Vec<_> = all_scenarios().into_iter().filter(|scenario| !is_family(scenario)).collect();
    let (plan, records) = run_profile("perfect", &scenarios, &["all"], &named_formats(), 2);
    let mut failed = BTreeMap::new();
    let unrecoverable: BTreeSet<(&str, ErrorFormat)> = UNRECOVERABLE
        .iter()
        .flat_map(|(id, _)| FORMATS.iter().filter(|entry| entry.is_of_servers).map(|entry| (*id, entry.format.clone())))
        .chain(WITHOUT_FIELD.iter().map(|id| (*id, ErrorFormat::JsonSchema)))
        .collect();
    for row in &records.episodes {
        let cell = plan.cell(row.episode).unwrap();
        let scenario = &scenarios[cell.scenario];
        if row.outcome != Outcome::Success {
            let format = plan.conditions[cell.condition].format();
            failed.insert((scenario.id.as_str(), format.clone()), row.episode);
        }
    }
    let is_silent = |(id, format): &(&str, ErrorFormat)| {
        let is_of_servers = FORMATS.iter().any(|entry| entry.is_of_servers && entry.format == *format);
        // Beside what servers say, the proposal states only their authors' texts.
        (is_of_servers || *format == ErrorFormat::ToolFailure)
            && SUITES_OF_SILENCE.iter().any(|suite| id.starts_with(suite))
    };
    let unlisted: Vec<String> = failed
        .iter()
        .filter(|(cell, _)| !unrecoverable.contains(cell) && !is_silent(cell))
        .map(|((id, format), episode)| format!("{id} {format}{}", transcript("perfect", &plan, &scenarios, *episode)))
        .collect();
    assert!(unlisted.is_empty(), "{}", unlisted.join("\n\n"));
    let recovered: Vec<_> = unrecoverable.iter().filter(|cell| !failed.contains_key(*cell)).collect();
    assert!(recovered.is_empty(), "listed as silent, and recovered from: {recovered:?}");
}

/// Each mistake is drawn in some trial: a missing tag, a missing field, and an object that is sent as a text. `serde` names no field
/// where no alternative fits.
#[test]
fn perfect_understands_every_format_with_fields_about_a_tagged_union() {
    let scenarios: Vec<_> =
        all_scenarios().into_iter().filter(|scenario| scenario.id == "fields/payout-union").collect();
    let mut formats = named_formats();
    formats.retain(|format| ![ErrorFormat::JsonSchema, ErrorFormat::Serde].contains(format));
    let (plan, records) = run_profile("perfect", &scenarios, &["all"], &formats, 20);
    for row in &records.episodes {
        let shown = || transcript("perfect", &plan, &scenarios, row.episode);
        assert_eq!(row.outcome, Outcome::Success, "{}", shown());
    }
    assert!(!records.episodes.is_empty());
}

#[test]
fn perfect_never_fixes_what_a_bare_line_does_not_explain() {
    let scenarios = all_scenarios();
    let (_, records) = run_profile("perfect", &scenarios, &["none", "strict+truncation"], &COMPLETE_FORMATS, 2);
    const UNEXPLAINED: [ErrorClass; 3] =
        [ErrorClass::Validation, ErrorClass::MissingDiscriminator, ErrorClass::UnknownAction];
    let mut first: BTreeMap<(u64, u32), Option<&ErrorClass>> = BTreeMap::new();
    let mut seen = 0;
    for call in &records.calls {
        let Some(chain) = call.chain else { continue };
        let opened = *first.entry((call.episode, chain)).or_insert(call.error_class.as_ref());
        // The bare line of these failures does not state the problem.
        if opened.is_some_and(|class| UNEXPLAINED.contains(class)) {
            seen += 1;
            assert!(call.is_error, "episode {} chain {chain}: {}", call.episode, call.arguments);
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn blind_gains_nothing_from_any_format() {
    let scenarios = all_scenarios();
    let others = "strict+truncation+contract";
    let (plan, records) = run_profile("blind", &scenarios, &[others, "all"], &named_formats(), 2);
    let mut bare: BTreeMap<(usize, u32), Outcome> = BTreeMap::new();
    let mut compared = 0;
    for row in &records.episodes {
        let cell = plan.cell(row.episode).unwrap();
        let key = (cell.scenario, cell.trial);
        if *plan.conditions[cell.condition].format() == ErrorFormat::Bare {
            bare.insert(key, row.outcome);
        } else if row.outcome == Outcome::Success {
            let id = &scenarios[cell.scenario].id;
            assert_eq!(bare[&key], Outcome::Success, "{id} with {}", plan.conditions[cell.condition].format());
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}

/// If only descriptions in a contract changed, the guardrail `contract` changes no row.
#[test]
fn cosmetic_drift_costs_nothing() {
    let scenarios: Vec<Scenario> =
        all_scenarios().into_iter().filter(|scenario| scenario.id == "contracts/wording-only").collect();
    assert_eq!(scenarios.len(), 1);
    for name in ["blind", "typical", "perfect"] {
        let rows = |set: &str| {
            let (plan, records) = run_profile(name, &scenarios, &[set], &COMPLETE_FORMATS, 10);
            assert_eq!(plan.conditions.len(), COMPLETE_FORMATS.len());
            records
        };
        let aware = rows("all");
        assert_eq!(aware, rows("strict+healing+truncation"));
        assert!(
            aware.calls.iter().any(|call| call.is_error) && aware.calls.iter().all(|call| call.contract_deltas == 0)
        );
    }
}

/// The scenarios whose descriptions say that guardrails do harm: a refusal that costs a call for nothing, or a cut that hides the row.
const GUARDRAILS_LOSE: [&str; 8] = [
    "cut-lists/devices-without-filter",
    "cut-lists/permits-behind-a-filter",
    "strictness/control-last-transfer",
    "strictness/enrol-three",
    "strictness/gift-order",
    "strictness/meter-readings",
    "strictness/pallet-label",
    "strictness/sorted-directory",
];

fn named_condition(name: &str) -> Condition {
    Condition::of(CONDITIONS.iter().find(|entry| entry.name == name).unwrap())
}

/// The successes and the billed tokens in each scenario under the texts of the TypeScript SDK, and with all guardrails.
fn sdk_and_guardrails(reader: &str, scenarios: &[Scenario], trials: u32) -> Vec<[[u64; 2]; 2]> {
    let profile: Profile = shipped_profile(reader).unwrap();
    let axes = Axes {
        agents: vec![profile.spec(reader)],
        conditions: Condition::of_parts(&[guardrails("none"), guardrails("all")], &[ErrorFormat::FusionXml]),
        trials,
        seed: Seed(3),
    };
    let mut plan = build_plan(&axes, scenarios);
    plan.conditions = ["sdk-typescript", "fusion"].map(named_condition).into();
    let records = run_plan(&profile, &plan, scenarios);
    let mut sums = vec![[[0; 2]; 2]; scenarios.len()];
    for row in &records.episodes {
        let cell = plan.cell(row.episode).unwrap();
        let [successes, billed] = &mut sums[cell.scenario][cell.condition];
        *successes += u64::from(row.outcome == Outcome::Success);
        *billed += row.billed.map_or(0, |billed| billed.input + billed.output);
    }
    sums
}

/// In each of these scenarios, guardrails cost at least five points of success.
#[test]
fn guardrails_lose_in_the_scenarios_for_that() {
    let mut scenarios = all_scenarios();
    scenarios.retain(|scenario| GUARDRAILS_LOSE.contains(&scenario.id.as_str()));
    assert_eq!(scenarios.len(), GUARDRAILS_LOSE.len());
    let successes = sdk_and_guardrails("typical", &scenarios, 100);
    for (scenario, [[sdk, _], [all, _]]) in scenarios.iter().zip(successes) {
        assert!(all + 5 <= sdk, "{}: {sdk} and {all} of 100", scenario.id);
    }
}

/// A scenario that everybody solves, or nobody, tells nothing about a change. For a reader of texts or for one of moves, two thirds of each
/// family at least are neither.
#[test]
fn two_thirds_of_each_family_are_neither_trivial_nor_hopeless() {
    let mut scenarios = all_scenarios();
    scenarios.retain(|scenario| FAMILIES.contains(&family(&scenario.id)));
    let [texts, moves] = ["typical", "persistent"].map(|reader| sdk_and_guardrails(reader, &scenarios, 40));
    let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for ((scenario, texts), moves) in scenarios.iter().zip(texts).zip(moves) {
        let (middle, all) = counts.entry(family(&scenario.id)).or_default();
        *middle += u32::from(texts.iter().chain(&moves).any(|[successes, _]| (8..=32).contains(successes)));
        *all += 1;
    }
    assert_eq!(counts.len(), FAMILIES.len());
    assert!(counts.values().all(|(middle, all)| middle * 3 >= all * 2), "{counts:?}");
}

/// No scenario has more than a fifth of the absolute differences between guardrails and the texts of the TypeScript SDK, for any reader of the
/// default run: a headline that one file makes says nothing about the others.
#[test]
fn no_scenario_makes_more_than_a_fifth_of_a_headline() {
    let mut scenarios = all_scenarios();
    scenarios.retain(|scenario| FAMILIES.contains(&family(&scenario.id)));
    for reader in ["perfect", "persistent", "yielding"] {
        let sums = sdk_and_guardrails(reader, &scenarios, 5);
        for (metric, name) in ["success", "billed tokens"].into_iter().enumerate() {
            let sizes: Vec<u64> = sums.iter().map(|[sdk, all]| all[metric].abs_diff(sdk[metric])).collect();
            let largest = (0..sizes.len()).max_by_key(|scenario| sizes[*scenario]).unwrap();
            let (size, all): (u64, u64) = (sizes[largest], sizes.iter().sum());
            assert!(size > 0 && size * 5 <= all, "{reader}, {name}: {size} of {all} in {}", scenarios[largest].id);
        }
    }
}
