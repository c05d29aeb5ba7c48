use std::sync::Arc;

use healbench_core::{Seed, ToolCall};
use healbench_engine::{World, WorldBase};
use healbench_scenarios::{EpisodeState, Expectation};
use serde_json::{Value, json};

use crate::{CHANGE_CALL, mistakes_yaml, scenario, state_of, world_and_engine};

fn with_expectation(expectation: &str) -> healbench_scenarios::Scenario {
    let mut text = mistakes_yaml(CHANGE_CALL);
    let start = text.find("expect:").unwrap();
    let end = text.find("script:").unwrap();
    text.replace_range(start..end, &format!("expect: [{expectation}]\n"));
    scenario(&text)
}

#[test]
fn each_kind_can_hold_and_fail() {
    let call = |arguments: Value| ToolCall::new("notes", arguments);
    let done = call(json!({"action": "change", "id": "N-07", "status": "published", "size": 3.0}));
    let other = call(json!({"action": "list", "id": "N-07"}));
    // Each expectation with its result before and after the change.
    let table = [
        ("row: {in: notes, where: {id: N-07, due: x}}", false, true),
        ("no_row: {in: notes, where: {id: N-07, due: x}}", true, false),
        ("count: {in: notes, where: {due: x}, equals: 1}", false, true),
        ("count: {in: notes, equals: 60}", true, true),
        ("count: {in: notes, equals: 59}", false, false),
        ("unchanged: notes", true, false),
        ("called: {tool: notes, action: change, arguments: {size: 3}}", false, true),
        ("called: {tool: notes, action: change, arguments: {size: 4}}", false, false),
        ("called: {tool: notes, action: list}", false, true),
        ("stops: true", false, true),
    ];
    for (text, before, after) in table {
        let scenario = with_expectation(&format!("{{{text}}}"));
        let (mut world, _) = world_and_engine(&scenario, Seed(1));
        let state = EpisodeState {
            state: &state_of(&scenario, &world),
            gave_up: false,
            succeeded: &[],
            ..EpisodeState::default()
        };
        assert_eq!(scenario.unmet(&state).is_empty(), before, "{text}");
        assert_eq!(scenario.expects_stop(), text.starts_with("stops"));

        let open = mistakes_yaml(CHANGE_CALL).replace("due: {type: string, format: date}", "due: {type: string}");
        let (_, engine) = world_and_engine(&crate::scenario(&open), Seed(1));
        let change = call(json!({"action": "change", "id": "N-07", "status": "draft", "size": 3, "due": "x"}));
        assert!(!engine.call(&mut world, &change).response.is_error);
        let state = EpisodeState {
            state: &state_of(&scenario, &world),
            gave_up: true,
            succeeded: &[done.clone(), other.clone()],
            ..EpisodeState::default()
        };
        assert_eq!(scenario.unmet(&state).is_empty(), after, "{text}");
    }
}

#[test]
fn an_only_row_may_also_have_its_key() {
    let scenario = with_expectation("{row: {in: notes, where: {size: 3}, only: true}}");
    let met = |row: Value| {
        let mut def = scenario.world(Seed(1), 0);
        def.tables[0].rows = vec![row.as_object().unwrap().clone()];
        let world = World::new(Arc::new(WorldBase::new(def)));
        scenario
            .unmet(&EpisodeState {
                state: &state_of(&scenario, &world),
                gave_up: false,
                succeeded: &[],
                ..EpisodeState::default()
            })
            .is_empty()
    };
    assert!(met(json!({"id": "N-01", "size": 3})));
    assert!(!met(json!({"id": "N-01", "size": 3, "priority": "high"})));
    assert!(!met(json!({"id": "N-01", "size": 4})));
}

#[test]
fn numbers_are_compared_by_value() {
    let scenario = with_expectation("{row: {in: notes, where: {id: N-07, size: 3.0}}}");
    let mut def = scenario.world(Seed(1), 0);
    let row = def.tables[0].rows.iter_mut().find(|row| row["id"] == "N-07").unwrap();
    row["size"] = json!(3);
    let world = World::new(Arc::new(WorldBase::new(def)));
    assert!(
        scenario
            .unmet(&EpisodeState {
                state: &state_of(&scenario, &world),
                gave_up: false,
                succeeded: &[],
                ..EpisodeState::default()
            })
            .is_empty()
    );
}

#[test]
fn each_kind_is_one_line() {
    let texts = [
        "{row: {in: notes, where: {id: N-07, size: 3}}}",
        "{row: {in: notes, where: {size: 3}, only: true}}",
        "{no_row: {in: notes, where: {status: draft}}}",
        "{count: {in: notes, equals: 1}}",
        "{count: {in: notes, where: {status: draft}, equals: 2}}",
        "{unchanged: notes}",
        "{called: {tool: notes, action: change, arguments: {id: N-07}}}",
        "{called: {tool: notes, action: list}}",
        "{stops: true}",
    ];
    let scenario = with_expectation(&texts.join(", "));
    let lines: Vec<String> = scenario.expect.iter().map(Expectation::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    a row in notes with id = "N-07", size = 3
    a row in notes with size = 3 and nothing else
    no row in notes with status = "draft"
    exactly 1 row in notes
    exactly 2 rows in notes with status = "draft"
    notes unchanged
    a successful call of notes.change with id = "N-07"
    a successful call of notes.list
    the agent says that it cannot be done
    "#);
}
