use std::collections::BTreeSet;

use healbench_core::{Object, Seed, Step};
use healbench_scenarios::{MISTAKES, MistakeKind, Scenario};
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
    let world = scenario.world(Seed(7), 0);
    (0..trials).flat_map(move |trial| scenario.schedule(Seed(7), trial, &world).script.steps)
}

fn arguments(call: &healbench_core::ToolCall) -> &Object {
    call.object().unwrap()
}

#[test]
fn every_kind_mutates_the_call_in_its_own_way() {
    for kind in MistakeKind::all().take(12) {
        let call = match kind.name() {
            "unfiltered_list" => "{tool: notes, action: list, arguments: {status: draft, size: 3}}",
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
            match kind.name() {
                "unknown_id" => {
                    assert!(!rejected, "an unknown id has the right shape: {draft:?}");
                    let world = scenario.world(Seed(7), 0);
                    assert!(world.tables[0].rows.iter().all(|row| row["id"] != draft["id"]), "{draft:?}");
                }
                "unfiltered_list" => {
                    assert!(!rejected);
                    assert_eq!(*draft, *json!({"action": "list"}).as_object().unwrap());
                }
                "missing_discriminator" => assert!(!draft.contains_key("action")),
                "misspelled_action" => {
                    assert!(draft["action"] != "change" && draft["action"] != "list", "{draft:?}");
                }
                "wrong_enum" => assert!(rejected && draft["status"].is_string()),
                "wrong_type" => {
                    let same = |(name, value): (&String, &Value)| {
                        std::mem::discriminant(value) == std::mem::discriminant(&intended[name])
                    };
                    assert!(rejected && !draft.iter().all(same), "{draft:?}");
                }
                "missing" => assert!(rejected && draft.len() == intended.len() - 1),
                "hallucinated_field" => assert!(rejected && draft.len() == intended.len() + 1),
                "misspelled_field" => assert!(rejected && draft.len() == intended.len()),
                "out_of_range" | "bad_format" => assert!(rejected, "{draft:?}"),
                "stale_contract" => {
                    let previous_arguments = json!({"action": "edit", "id": "N-07", "state": "public", "size": "3"});
                    assert_eq!(step.draft.arguments, previous_arguments);
                }
                other => panic!("{other} has no test"),
            }
        }
        let certain = ["missing_discriminator", "unfiltered_list", "stale_contract"].contains(&kind.name());
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

/// A search with one required argument, whose optional ones the intended call leaves out.
fn search(mistakes: &str) -> String {
    format!(
        "\
id: lab/search
title: Search
task: {{prompt: Find the notes about rent., max_calls: 4}}
tools:
  notes:
    description: Notes.
    discriminator: null
    actions:
      search:
        input:
          properties:
            query: {{type: string}}
            after: {{type: string}}
            limit: {{type: integer, minimum: 1, maximum: 50}}
            order: {{enum: [newest, oldest]}}
            since: {{type: string, format: date}}
            labels: {{type: array, items: {{type: string}}}}
            area: {{type: string}}
            where: {{type: object, properties: {{city: {{type: string}}, zip: {{type: string}}}}}}
            kind: {{$ref: '#/$defs/kind'}}
            odd: {{type: string, pattern: '^(?=a)b$'}}
            any: {{}}
          required: [query, where]
          $defs: {{kind: {{enum: [short, long]}}}}
        rules:
          - allow: {{argument: area, options: [north, south], otherwise: {{message: No such area., code: BAD_AREA, recovery: Name another one.}}}}
        handler: {{return: []}}
expect: [{{called: {{tool: notes, arguments: {{query: rent}}}}}}]
script:
  - call: {{tool: notes, arguments: {{query: rent, where: {{city: Ulm}}}}}}
    mistakes: [{mistakes}]
"
    )
}

#[test]
fn a_mistake_can_be_in_an_optional_argument_that_the_call_leaves_out() {
    let drafts = |mistake: &str| -> BTreeSet<String> {
        let scenario = scenario(&search(mistake));
        let added = |step: Step| {
            let (draft, intended) = (arguments(&step.draft), arguments(&step.intended));
            assert!(
                intended.iter().all(|(name, value)| name == "where" || draft.get(name) == Some(value)),
                "{draft:?}"
            );
            let added: Vec<String> = draft
                .iter()
                .filter(|(name, value)| intended.get(*name) != Some(value))
                .map(|(name, value)| format!("{name}: {value}"))
                .collect();
            added.join(", ")
        };
        steps(&scenario, 30).map(added).collect()
    };
    let only = |mistake: &str| {
        let drafts = drafts(mistake);
        assert_eq!(drafts.len(), 1, "{mistake}: {drafts:?}");
        drafts.into_iter().next().unwrap()
    };
    assert_eq!(only("{kind: wrong_type, field: after, value: 5}"), "after: 5");
    assert_eq!(only("{kind: wrong_type, field: after, value: null}"), "after: null");
    assert_eq!(only("{kind: out_of_range, field: limit, value: 500}"), "limit: 500");
    assert_eq!(only("{kind: wrong_enum, field: order, value: latest}"), "order: \"latest\"");
    assert_eq!(only("{kind: bad_format, field: since, value: May}"), "since: \"May\"");
    assert_eq!(only("{kind: wrong_type, field: where.zip, value: 5}"), "where: {\"city\":\"Ulm\",\"zip\":5}");
    assert_eq!(only("{kind: bad_format, field: odd, value: x}"), "odd: \"x\"");
    assert_eq!(only("{kind: stale_value, field: after, value: c1}"), "after: \"c1\"");
    assert_eq!(only("{kind: null_value, field: after}"), "after: null");
    // Without a value, a wrong one is drawn, and the rest of the call stays.
    for (kind, field) in [
        ("wrong_type", "after"),
        ("wrong_type", "limit"),
        ("out_of_range", "limit"),
        ("wrong_enum", "order"),
        ("wrong_enum", "kind"),
        ("wrong_enum", "area"),
        ("bad_format", "since"),
        ("comma_text", "labels"),
        ("single_item", "labels"),
        ("json_text", "labels"),
        ("number_text", "limit"),
    ] {
        let drafts = drafts(&format!("{{kind: {kind}, field: {field}}}"));
        assert!(drafts.iter().all(|draft| draft.starts_with(&format!("{field}: "))), "{kind}: {drafts:?}");
        assert!(!drafts.iter().any(|draft| draft.contains(", ")) || kind == "comma_text", "{kind}: {drafts:?}");
    }
    // A field that is not named is one of the call.
    let scenario = scenario(&search("wrong_type"));
    for step in steps(&scenario, 30) {
        assert!(arguments(&step.draft).keys().eq(arguments(&step.intended).keys()), "{step:?}");
    }
}

#[test]
fn an_impossible_mistake_in_an_argument_that_is_left_out_says_what_is_possible() {
    let table = [
        ("out_of_range", "no argument of the call is bounded", "name one that it leaves out as `field`: `limit`"),
        ("{kind: wrong_type, field: aftr}", "the call has no argument `aftr`", "did you mean `after`?"),
        ("{kind: wrong_type, field: no.zip}", "the call has no argument `no.zip`", "known: `query`, `where`, `after`"),
        ("{kind: wrong_type, field: after, value: x}", "\"x\" is valid here", ""),
        (
            "{kind: wrong_enum, field: after, value: x}",
            "`after` is not restricted to listed values",
            "it can happen to `order`, `kind`",
        ),
        ("{kind: bad_format, field: odd}", "the call leaves `odd` out, and no right value", "give the `value`"),
        ("{kind: wrong_type, field: any, value: 5}", "5 is valid here", ""),
    ];
    for (mistake, reason, help) in table {
        let diagnostics =
            healbench_scenarios::load_str("lab.yaml", &search(mistake), healbench_scenarios::Syntax::Yaml).unwrap_err();
        assert_eq!(diagnostics.len(), 1, "{mistake}: {diagnostics:?}");
        let (message, advice) = (&diagnostics[0].message, diagnostics[0].help.clone().unwrap_or_default());
        assert!(message.contains(reason) && advice.contains(help), "{mistake}: {message}; {advice}");
    }
}

/// A tool that had another name, with what else its previous contract says.
fn renamed(previous: &str, mistake: &str) -> String {
    format!(
        "\
id: lab/renamed
title: A tool was renamed
task: {{prompt: Read work item 7., max_calls: 4}}
tools:
  work_item_get:
    description: Get a work item.
    discriminator: null
    actions:
      get: {{input: {{properties: {{id: {{type: integer}}}}, required: [id]}}, handler: {{return: {{}}}}, read_only: true}}
    previous: {{{previous}}}
  ping:
    description: Ping.
    discriminator: null
    actions: {{ping: {{input: {{}}, handler: {{return: pong}}}}}}
expect: [{{called: {{tool: work_item_get, arguments: {{id: 7}}}}}}]
script:
  - call: {{tool: work_item_get, arguments: {{id: 7}}}}
    mistakes: [{mistake}]
"
    )
}

#[test]
fn the_previous_name_of_a_tool_is_called() {
    let draft = |previous: &str, mistake: &str| {
        let scenario = scenario(&renamed(previous, mistake));
        let drafts: BTreeSet<String> =
            steps(&scenario, 20).map(|step| format!("{} {}", step.draft.tool, step.draft.arguments)).collect();
        assert_eq!(drafts.len(), 1, "{drafts:?}");
        drafts.into_iter().next().unwrap()
    };
    let name = "name: wit_get";
    let input = "name: wit_get, actions: {get: {input: {properties: {workItem: {type: string}, id: {type: string}}}}}";
    assert_eq!(draft(name, "old_tool_name"), "wit_get {\"id\":7}");
    assert_eq!(draft(name, "stale_contract"), "wit_get {\"id\":7}");
    assert_eq!(draft(input, "stale_contract"), "wit_get {\"id\":\"7\"}");
    assert_eq!(draft(name, "{kind: old_tool_name, value: wit}"), "wit {\"id\":7}");
    // Agents are shown the previous name.
    let tool = &scenario(&renamed(name, "stale_contract")).tools[0];
    assert_eq!((tool.advertised().name.as_str(), tool.previous_name()), ("wit_get", Some("wit_get")));
}

#[test]
fn a_previous_name_is_one_that_no_tool_has() {
    let problem = |text: &str| {
        let problems = healbench_scenarios::load_str("lab.yaml", text, healbench_scenarios::Syntax::Yaml).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:?}");
        (problems[0].line, problems[0].message.clone())
    };
    assert_eq!(problem(&renamed("name: ping", "missing")), (10, "`ping` is the name of a tool".to_owned()));
    assert_eq!(problem(&renamed("name: work_item_get", "missing")).1, "`work_item_get` is the name of a tool");
    assert_eq!(problem(&renamed("name: ' '", "missing")).1, "a tool needs a name");
    let twice = renamed("name: wit", "missing").replace("pong}}}", "pong}}}\n    previous: {name: wit}");
    assert_eq!(problem(&twice).1, "another tool had the name `wit` too");
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
fn an_argument_that_a_rule_requires_can_be_missing() {
    let text = mistakes_yaml(&format!("{CHANGE_CALL}\n    mistakes: [{{kind: missing, field: due}}]"));
    let optional = healbench_scenarios::load_str("lab.yaml", &text, healbench_scenarios::Syntax::Yaml).unwrap_err();
    assert!(optional[0].message.contains("`due` is not required"), "{optional:?}");
    let rule = "        rules: [{required: {argument: due}}]\n        handler: {update";
    let required = scenario(&text.replacen("        handler: {update", rule, 1));
    let step = steps(&required, 1).next().unwrap();
    assert!(step.draft.arguments.get("due").is_none() && step.intended.arguments.get("due").is_some());
}

#[test]
fn conflicting_mistakes_are_an_error() {
    let text = mistakes_yaml(&format!(
        "{CHANGE_CALL}\n    mistakes: [{{kind: missing, field: id}}, {{kind: unknown_id, field: id}}]"
    ));
    let diagnostics = healbench_scenarios::load_str("lab.yaml", &text, healbench_scenarios::Syntax::Yaml).unwrap_err();
    assert!(diagnostics[0].message.contains("do not fit into one call"), "{diagnostics:?}");
}

const WAREHOUSE: &str = include_str!("../../examples/warehouse-mistakes.yaml");

/// Every kind is made in its example, and the call is another one than the intended one.
#[test]
fn the_example_of_every_kind_is_made() {
    let scenario_with = |mistake: &str, step: usize| {
        let text = WAREHOUSE.replace("\nworld:", "\n    previous: {actions: {order: {name: buy}}}\nworld:");
        let (before, steps) = text.split_once("script:").unwrap();
        let mut lines: Vec<String> = steps.lines().filter(|line| !line.contains("draw:")).map(str::to_owned).collect();
        let starts: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].starts_with("  - ")).collect();
        lines.insert(starts.get(step + 1).copied().unwrap_or(lines.len()), format!("    mistakes: [{mistake}]"));
        scenario(&format!("{before}script:{}\n", lines.join("\n")))
    };
    for entry in &MISTAKES {
        let step = match entry.name {
            "unfiltered_list" => 0,
            "previous_value" => 1,
            _ => 2,
        };
        let scenario = scenario_with(entry.example, step);
        let step = steps(&scenario, 1).nth(step).unwrap();
        assert!(step.is_mistaken(), "{}", entry.name);
        assert!(entry.says.ends_with('.'), "{}", entry.says);
    }
    let draft = |mistake: &str| {
        let scenario = scenario_with(mistake, 2);
        let step = steps(&scenario, 1).nth(2).unwrap();
        step.draft
    };
    let sent = |mistake: &str| draft(mistake).arguments;
    assert_eq!(sent("{kind: missing, field: \"lines[0].copies\"}")["lines"][0], json!({"part": "bolt"}));
    assert_eq!(
        sent("{kind: null_value, field: \"lines[1].copies\"}")["lines"][1],
        json!({"part": "nut", "copies": null})
    );
    assert_eq!(sent("{kind: number_text, field: \"lines[part=nut].copies\"}")["lines"][1]["copies"], "40");
    assert_eq!(sent("missing_all"), json!({"action": "order"}));
    assert!(sent("missing_longest").get("lines").is_none());
    assert!(sent("{kind: json_text, field: lines}")["lines"].as_str().unwrap().starts_with("[{\"part\":"));
    let broken = sent("{kind: broken_json, field: lines}");
    assert!(serde_json::from_str::<Value>(broken["lines"].as_str().unwrap()).is_err());
    assert!(["red,fragile", "red, fragile"].contains(&sent("comma_text")["labels"].as_str().unwrap()));
    assert_eq!(sent("{kind: single_item, field: lines}")["lines"], json!({"part": "bolt", "copies": 12}));
    assert!(sent("{kind: other_kind_id, field: supplier}")["supplier"].as_str().unwrap().starts_with("A-"));
    assert_eq!(sent("{kind: stale_value, field: version, value: 3}")["version"], 3);
    let other = draft("{kind: other_tool, value: stock.count}");
    assert_eq!((other.tool.as_str(), &other.arguments["action"]), ("stock", &json!("count")));
    let other = draft("{kind: other_tool, value: {tool: stock, action: count, arguments: {part: bolt}}}");
    assert_eq!((other.tool.as_str(), other.arguments), ("stock", json!({"part": "bolt", "action": "count"})));
    assert_eq!(draft("{kind: old_tool_name, value: warehouse}").tool, "warehouse");
}

#[test]
fn the_guide_lists_all_kinds() {
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/suites.md")).unwrap();
    let section = guide.split("\n## ").find(|section| section.starts_with("Kinds of mistakes")).unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | ")).skip(1);
    let mut listed: Vec<&str> = cells.flat_map(|(_, kinds)| kinds.split('`').skip(1).step_by(2)).collect();
    let mut kinds: Vec<&str> = MISTAKES.iter().map(|kind| kind.name).collect();
    listed.sort_unstable();
    kinds.sort_unstable();
    assert_eq!(listed, kinds);
}
