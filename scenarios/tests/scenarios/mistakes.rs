use std::collections::BTreeSet;

use healbench_core::{Object, Seed, Step};
use healbench_scenarios::{MistakeKind, Scenario};
use serde_json::{Value, json};

use crate::{CHANGE_CALL, mistakes_yaml, quickstart, scenario};

const TRIALS: u32 = 200;

/// Returns true if the engine would reject the call: an unknown action, undeclared fields, or values that the schema
/// rejects.
fn is_rejected(scenario: &Scenario, arguments: &Value, tool: &str) -> bool {
    let tool = scenario.tools.iter().find(|candidate| candidate.name == tool).unwrap();
    let mut arguments = arguments.as_object().unwrap().clone();
    let action = match &tool.discriminator {
        Some(discriminator) => arguments.shift_remove(discriminator),
        None => Some(tool.actions[0].name.clone().into()),
    };
    let Some(action) = action.and_then(|name| tool.actions.iter().find(|action| name == action.name.as_str())) else {
        return true;
    };
    !healbench_engine::validate(&action.input, &Value::Object(arguments)).unwrap().is_empty()
}

fn steps(scenario: &Scenario, trials: u32) -> impl Iterator<Item = Step> {
    let world = scenario.world(Seed(7));
    (0..trials).flat_map(move |trial| scenario.schedule(Seed(7), trial, &world).script.steps)
}

fn arguments(call: &healbench_core::ToolCall) -> &Object {
    call.object().unwrap()
}

#[test]
fn every_kind_mutates_the_call_in_its_own_way() {
    for kind in MistakeKind::ALL {
        let call = match kind {
            MistakeKind::UnfilteredList => "{tool: notes, action: list, arguments: {status: draft, size: 3}}",
            _ => CHANGE_CALL,
        };
        let scenario = scenario(&mistakes_yaml(&format!("{call}\n    mistakes: [{kind}]")));
        let mut drafts = BTreeSet::new();
        for step in steps(&scenario, TRIALS) {
            let (draft, intended) = (arguments(&step.draft), arguments(&step.intended));
            drafts.insert(step.draft.arguments.to_string());
            assert_ne!(draft, intended, "{kind}");
            assert!(!is_rejected(&scenario, &step.intended.arguments, "notes"), "{kind}: the intended call is valid");
            let rejected = is_rejected(&scenario, &step.draft.arguments, "notes");
            match kind {
                MistakeKind::UnknownId => {
                    assert!(!rejected, "an unknown id has the right shape: {draft:?}");
                    let world = scenario.world(Seed(7));
                    assert!(world.tables[0].rows.iter().all(|row| row["id"] != draft["id"]), "{draft:?}");
                }
                MistakeKind::UnfilteredList => {
                    assert!(!rejected);
                    assert_eq!(*draft, *json!({"action": "list"}).as_object().unwrap());
                }
                MistakeKind::MissingDiscriminator => assert!(!draft.contains_key("action")),
                MistakeKind::MisspelledAction => {
                    assert!(draft["action"] != "change" && draft["action"] != "list", "{draft:?}");
                }
                MistakeKind::WrongEnum => assert!(rejected && draft["status"].is_string()),
                MistakeKind::WrongType => {
                    let same = |(name, value): (&String, &Value)| {
                        std::mem::discriminant(value) == std::mem::discriminant(&intended[name])
                    };
                    assert!(rejected && !draft.iter().all(same), "{draft:?}");
                }
                MistakeKind::Missing => assert!(rejected && draft.len() == intended.len() - 1),
                MistakeKind::HallucinatedField => assert!(rejected && draft.len() == intended.len() + 1),
                MistakeKind::MisspelledField => assert!(rejected && draft.len() == intended.len()),
                MistakeKind::OutOfRange | MistakeKind::BadFormat => assert!(rejected, "{draft:?}"),
                MistakeKind::StaleContract => {
                    let previous_arguments = json!({"action": "edit", "id": "N-07", "state": "public", "size": "3"});
                    assert_eq!(step.draft.arguments, previous_arguments);
                }
            }
        }
        let certain = [MistakeKind::MissingDiscriminator, MistakeKind::UnfilteredList, MistakeKind::StaleContract]
            .contains(&kind);
        assert_eq!(drafts.len() == 1, certain, "{kind}: {} different draft calls in {TRIALS} trials", drafts.len());
    }
}

#[test]
fn calls_with_built_in_mistakes_are_rejected() {
    for scenario in quickstart() {
        for step in steps(&scenario, 40) {
            assert!(!is_rejected(&scenario, &step.intended.arguments, &step.intended.tool), "{}", scenario.id);
            let well_formed = ["quickstart/unknown-id", "quickstart/oversized-list"].contains(&scenario.id.as_str());
            if step.draft != step.intended && !well_formed {
                assert!(is_rejected(&scenario, &step.draft.arguments, &step.draft.tool), "{}: {step:?}", scenario.id);
            }
        }
    }
}

#[test]
fn a_given_field_and_value_are_used() {
    let draft = |mistake: &str| {
        let scenario = scenario(&mistakes_yaml(&format!("{CHANGE_CALL}\n    mistakes: [{mistake}]")));
        let all: BTreeSet<String> = steps(&scenario, 20).map(|step| step.draft.arguments.to_string()).collect();
        assert_eq!(all.len(), 1, "{mistake}");
        serde_json::from_str::<Value>(all.first().unwrap()).unwrap()
    };
    assert_eq!(draft("{kind: wrong_enum, field: status, value: live}")["status"], "live");
    assert_eq!(draft("{kind: out_of_range, field: size, value: 99}")["size"], 99);
    assert_eq!(draft("{kind: hallucinated_field, field: colour, value: red}")["colour"], "red");
    assert_eq!(draft("{kind: misspelled_field, field: status, value: stat}")["stat"], "published");
    assert_eq!(draft("{kind: misspelled_action, value: chnage}")["action"], "chnage");
    assert_eq!(draft("{kind: unknown_id, value: N-99}")["id"], "N-99");
    assert_eq!(draft("{kind: missing, field: size}").get("size"), None);
    assert_eq!(draft("{kind: wrong_type, field: size, value: null}")["size"], Value::Null);
}

#[test]
fn drawn_mistakes_hit_different_fields_and_differ_between_trials() {
    let from = "[{kind: wrong_enum, field: status}, {kind: wrong_type, field: size}, {kind: missing, field: id}]";
    let scenario = scenario(&mistakes_yaml(&format!("{CHANGE_CALL}\n    draw: {{count: 2, from: {from}}}")));
    let mut pairs = BTreeSet::new();
    for step in steps(&scenario, TRIALS) {
        let (draft, intended) = (arguments(&step.draft), arguments(&step.intended));
        let wrong: Vec<&str> = intended
            .iter()
            .filter(|(name, value)| draft.get(*name) != Some(value))
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(wrong.len(), 2, "{draft:?}");
        pairs.insert(wrong.join("+"));
    }
    assert_eq!(pairs.into_iter().collect::<Vec<_>>(), ["id+size", "id+status", "status+size"]);
}

#[test]
fn an_inapplicable_mistake_is_an_error() {
    let list = "{tool: notes, action: list, arguments: {size: 3}}";
    let table = [
        (list, "wrong_enum", "no argument of the call is restricted to listed values (`enum`)"),
        (list, "unknown_id", "no argument of the call names a row of a table"),
        (list, "missing", "the call has no required argument"),
        (
            list,
            "stale_contract",
            "the current contract accepts the call of the previous one, so sending it is no mistake",
        ),
        (CHANGE_CALL, "unfiltered_list", "`change` does not list rows: its handler is not `select`"),
        (CHANGE_CALL, "{kind: wrong_enum, field: size}", "`size` is not restricted to listed values (`enum`)"),
        (
            CHANGE_CALL,
            "{kind: wrong_enum, field: status, value: draft}",
            "\"draft\" is valid here, so sending it is no mistake",
        ),
        (CHANGE_CALL, "{kind: missing, field: due}", "`due` is not required, so leaving it out is no mistake"),
        (CHANGE_CALL, "{kind: hallucinated_field, field: due}", "`due` is declared, so sending it is no mistake"),
        (CHANGE_CALL, "{kind: missing_discriminator, field: due}", "`missing_discriminator` takes no field"),
        (CHANGE_CALL, "{kind: wrong_type, field: stauts}", "the call has no argument `stauts`"),
    ];
    for (call, mistake, reason) in table {
        let text = mistakes_yaml(&format!("{call}\n    mistakes: [{mistake}]"));
        let diagnostics =
            healbench_scenarios::load_str("lab.yaml", &text, healbench_scenarios::Syntax::Yaml).unwrap_err();
        assert_eq!(diagnostics.len(), 1, "{mistake}: {diagnostics:?}");
        assert!(diagnostics[0].message.ends_with(reason), "{mistake}: {}", diagnostics[0].message);
    }
}

#[test]
fn conflicting_mistakes_are_an_error() {
    let text = mistakes_yaml(&format!(
        "{CHANGE_CALL}\n    mistakes: [{{kind: missing, field: id}}, {{kind: unknown_id, field: id}}]"
    ));
    let diagnostics = healbench_scenarios::load_str("lab.yaml", &text, healbench_scenarios::Syntax::Yaml).unwrap_err();
    assert!(diagnostics[0].message.contains("do not fit into one call"), "{diagnostics:?}");
}
