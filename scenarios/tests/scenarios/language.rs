//! What the words of the scenario language mean, each in a scenario of one table.

use healbench_core::ToolCall;
use healbench_engine::GuardedReply;
use serde_json::{Value, json};

use super::*;

const LAB: &str = r#"
id: lab/words
title: One table
task: {prompt: Do it., max_calls: 9}
tools:
  rows:
    description: Rows.
    actions:
      list: {description: List., input: {properties: {id: {type: string}}}, handler: {select: rows}, read_only: true}
      get: {description: Get., input: {properties: {id: {type: string}}, required: [id]}, handler: {get: rows}, read_only: true}
      add: {description: Add., input: {properties: {name: {type: string}}, required: [name]}, handler: {insert: rows}}
      set: {description: Set., input: {properties: {id: {type: string}, name: {type: string}, n: {}, lines: {type: array, items: {properties: {a: {}}}}}, required: [id]}, handler: {update: rows}, rules: [RULES]}
      drop: {description: Drop., input: {properties: {id: {type: string}}, required: [id]}, handler: {delete: rows}}
world:
  rows: {key_prefix: R-, rows: [{id: R-1, name: one, n: 1}, {id: R-2, name: two, n: 0}]}
  others: {rows: [{id: 1, name: other}]}
faults: [FAULTS]
expect: [EXPECT]
script: [SCRIPT]
"#;

/// Returns the text of the laboratory with these parts.
fn lab(parts: &[(&str, &str)]) -> String {
    let defaults = [
        ("RULES", ""),
        ("FAULTS", ""),
        ("EXPECT", "{row: {in: rows, where: {name: new}}}"),
        ("SCRIPT", "{call: {tool: rows, action: add, arguments: {name: new}}}"),
    ];
    parts.iter().chain(&defaults).fold(LAB.to_owned(), |text, (name, part)| text.replace(name, part))
}

/// Returns the problems of the scenario, those of the loader or else those of the played script.
fn problems(parts: &[(&str, &str)]) -> Vec<String> {
    problems_of(&lab(parts))
}

fn problems_of(text: &str) -> Vec<String> {
    let found = match load_str("test.yaml", text, Syntax::Yaml) {
        Ok(scenario) => scenario.findings().problems,
        Err(problems) => problems,
    };
    found.into_iter().map(|problem| problem.message).collect()
}

fn step(action: &str, arguments: &str) -> String {
    format!("{{call: {{tool: rows, action: {action}, arguments: {arguments}}}}}")
}

fn script(steps: &[(&str, &str)]) -> String {
    steps.iter().map(|(action, arguments)| step(action, arguments)).collect::<Vec<_>>().join(", ")
}

/// Returns the reply to a call of `set` with these arguments, under a rule that denies it if `when` holds.
fn set(when: &str, arguments: Value) -> GuardedReply {
    let rule = format!("{{deny: {{when: {when}, code: DENIED, message: \"It is {{row.name}}.\"}}}}");
    let scenario = scenario(&lab(&[("RULES", &rule)]));
    let (mut world, engine) = world_and_engine(&scenario, Seed(1));
    let mut all = json!({"action": "set", "id": "R-1"});
    all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
    engine.call(&mut world, &ToolCall::new("rows", all))
}

fn denies(when: &str, arguments: Value) -> bool {
    set(when, arguments).response.text().contains("DENIED")
}

#[test]
fn a_row_is_verified_by_a_call_that_reads_it_after_the_write() {
    let verified = ("EXPECT", "{verified: {in: rows, where: {name: new}}}");
    let found = |steps: &[(&str, &str)]| problems(&[verified, ("SCRIPT", &script(steps))]);
    let unread = found(&[("add", "{name: new}")]);
    assert!(unread[0].contains("a row of rows") && unread[0].contains("read after it was written"), "{unread:?}");
    let write = ("set", "{id: R-1, name: new}");
    assert_eq!(found(&[write]).len(), 1, "the answer to a write is no reading");
    for read in [("get", "{id: R-1}"), ("list", "{}")] {
        assert!(found(&[write, read]).is_empty());
        assert!(found(&[write, read, ("set", "{id: R-2, name: three}")]).is_empty(), "another row is written");
        assert!(found(&[write, read, ("add", "{name: four}"), ("drop", "{id: R-2}")]).is_empty());
        assert_eq!(found(&[write, read, ("set", "{id: R-1, n: 4}")]).len(), 1, "the row is written again");
        assert_eq!(found(&[write, read, ("set", "{id: R-2, name: new}")]).len(), 1, "there is another such row");
    }
    let other = ("EXPECT", "{verified: {in: others, where: {name: other}}}");
    assert_eq!(problems(&[other, ("SCRIPT", &script(&[write, ("list", "{}")]))]).len(), 1);
}

/// A page verifies the rows that it shows, and no others.
#[test]
fn a_row_is_verified_by_the_page_that_shows_it() {
    let found = |size: u32, changed: &str, fault: &str| {
        let steps = script(&[("set", &format!("{{id: {changed}, name: new}}")), ("list", "{}")]);
        let verified = ("EXPECT", "{verified: {in: rows, where: {name: new}}}");
        let text = lab(&[verified, ("SCRIPT", &steps), ("FAULTS", fault)]);
        let list = "input: {properties: {id: {type: string}}}, handler: {select: rows}";
        assert!(text.contains(list));
        let paged =
            format!("input: {{properties: {{cursor: {{type: string}}}}}}, handler: {{select: rows, page: {size}}}");
        problems_of(&text.replace(list, &paged)).len()
    };
    assert_eq!((found(1, "R-1", ""), found(2, "R-1", ""), found(2, "R-2", "")), (0, 0, 0));
    assert_eq!(found(1, "R-2", ""), 1, "it is on the second page");
    for fault in ["stale", "cut, column: n", "corrupt, column: n"] {
        assert_eq!(found(2, "R-1", &format!("{{kind: {fault}, on: rows.list}}")), 1, "{fault}");
    }
}

#[test]
fn equal_numbers_are_neither_less_nor_greater() {
    for sent in [json!(1), json!(1.0)] {
        for operator in ["less", "greater"] {
            assert!(!denies(&format!("{{n: {{{operator}: {{row: n}}}}}}"), json!({"n": sent})), "{operator} {sent}");
        }
        for operator in ["at_most", "at_least", "equals"] {
            assert!(denies(&format!("{{n: {{{operator}: {{row: n}}}}}}"), json!({"n": sent})), "{operator} {sent}");
        }
    }
    assert!(!denies("{n: {greater: 0}}", json!({"n": 0.0})) && denies("{n: {greater: 0}}", json!({"n": 0.5})));
}

#[test]
fn a_list_of_other_types_says_nothing_of_a_value() {
    assert!(denies("{n: {not_in: [a, b]}}", json!({"n": "c"})));
    assert!(!denies("{n: {not_in: [a, b]}}", json!({"n": "b"})));
    assert!(!denies("{n: {not_in: [a, b]}}", json!({"n": 3})));
    assert!(!denies("{n: {not_in: {row: name}}}", json!({"n": "c"})), "no list");
    assert!(denies("{n: {not_in: []}}", json!({"n": 3})));
}

#[test]
fn what_a_value_does_not_contain_is_of_its_type() {
    for (sent, is_denied) in
        [(json!("abc"), false), (json!("AB"), true), (json!(["c"]), false), (json!([]), true), (json!(3), false)]
    {
        assert_eq!(denies("{n: {not_contains: c}}", json!({"n": sent})), is_denied, "{sent}");
    }
    assert!(!denies("{n: {not_contains: c}}", json!({})), "an absent value");
}

#[test]
fn a_sum_pairs_the_values_of_each_element() {
    let text = lab(&[]).replace("{properties: {a: {}}}", "{}").replace(
        "handler: {update: rows}",
        "handler: {update: rows, set: {n: {sum: [\"lines[].a\", \"lines[].b\"]}, name: {sum: [\"lines[].a\", n]}}}",
    );
    let scenario = scenario(&text);
    let (mut world, engine) = world_and_engine(&scenario, Seed(1));
    let lines = json!([{"a": 2}, {"a": 3, "b": 10}, {"b": 100}, {"a": 4, "b": 1}]);
    let call = ToolCall::new("rows", json!({"action": "set", "id": "R-1", "n": 5, "lines": lines}));
    let row: Value = serde_json::from_str(&engine.call(&mut world, &call).response.text()).unwrap();
    assert_eq!((&row["n"], &row["name"]), (&json!(34), &json!(45)));
    let text = text.replace("\"lines[].b\"", "\"n[].b\"");
    let found = load_str("test.yaml", &text, Syntax::Yaml).unwrap_err();
    assert!(found[0].message.contains("different lists"), "{found:?}");
}

#[test]
fn a_failure_tells_of_the_row_that_the_action_names() {
    // There is no row R-9, and that of another table is not told in its place.
    let reply = set("{rows: {in: others}}", json!({"id": "R-9"}));
    assert!(!reply.response.text().contains("other"), "{}", reply.response.text());
    // An action without a row tells of the first row that is counted, if there must be one.
    let rule = |when: &str| {
        let rule = format!("rules: [{{deny: {{when: {when}, message: \"It is {{row.name}}.\"}}}}]");
        let text = lab(&[]).replace("handler: {insert: rows}", &format!("handler: {{insert: rows}}, {rule}"));
        load_str("test.yaml", &text, Syntax::Yaml).map_err(|problems| problems[0].message.clone())
    };
    let scenario = rule("{rows: [{in: others}, {in: rows, where: {n: 0}}]}").unwrap();
    let (mut world, engine) = world_and_engine(&scenario, Seed(1));
    let call = ToolCall::new("rows", json!({"action": "add", "name": "new"}));
    assert!(engine.call(&mut world, &call).response.text().contains("It is other."));
    for count in ["0", "{less: 3}", "{at_least: 0}"] {
        let message = rule(&format!("{{rows: {{in: others, count: {count}}}}}")).unwrap_err();
        assert_eq!(message, "there is no row for `{row.name}`");
    }
    assert!(rule("{rows: {in: others, count: {greater: 0}}}").is_ok());
}

#[test]
fn a_silent_fault_is_not_repaired_by_a_script_that_does_not_look() {
    for kind in ["no_op", "not_an_error"] {
        let fault = format!("{{kind: {kind}, on: rows.add}}");
        let found = |steps: &[(&str, &str)]| problems(&[("FAULTS", &fault), ("SCRIPT", &script(steps))]);
        let add = ("add", "{name: new}");
        let unmet = found(&[add]);
        assert!(unmet.len() == 1 && unmet[0].contains("do not lead to a row in rows"), "{kind}: {unmet:?}");
        assert!(found(&[add, ("list", "{}"), add]).is_empty(), "{kind}");
    }
}

#[test]
fn a_task_may_be_to_remove_something() {
    let drop = script(&[("drop", "{id: R-1}")]);
    let removed = "{no_row: {in: rows, where: {id: R-1}}}, {not_called: {tool: rows, action: add}}";
    assert_eq!(problems(&[("EXPECT", removed), ("SCRIPT", &drop)]), Vec::<String>::new());
}

#[test]
fn an_answer_that_says_nothing_is_a_problem() {
    for answer in ["\" \"", "[\"\"]", "[1, \" \"]", "[]", "[[], 1]"] {
        let found = problems(&[("EXPECT", &format!("{{answer: {answer}}}"))]);
        assert_eq!(found.len(), 1, "{answer}: {found:?}");
    }
    assert_eq!(problems(&[("EXPECT", "{answer: \" \"}")]), ["this answer says nothing"]);
}

/// Returns the replies to these calls under a fault, of the text with a change.
fn replies(fault: &str, change: (&str, &str), trial: u32, calls: &[(&str, Value)]) -> Vec<GuardedReply> {
    let text = lab(&[("FAULTS", fault)]);
    assert!(text.contains(change.0), "{}", change.0);
    let scenario = scenario(&text.replacen(change.0, change.1, 1));
    let engine = Engine::new(&scenario.tools, Guardrails::ALL, &ErrorFormat::FusionXml).unwrap();
    let draws = healbench_core::DrawKey::of_trial(Seed(1), "lab", trial);
    let mut world = World::new(Arc::new(WorldBase::new(scenario.world(Seed(1), 0)))).with_draws(draws);
    let answer = |(action, arguments): &(&str, Value)| {
        let mut all = json!({ "action": action });
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        engine.call(&mut world, &ToolCall::new("rows", all))
    };
    calls.iter().map(answer).collect()
}

#[test]
fn a_fault_strikes_a_call_that_it_changes() {
    let faults = |fault: &str, calls: &[(&str, Value)]| -> Vec<Option<&'static str>> {
        let replies = replies(fault, ("", ""), 0, calls);
        replies.iter().map(|reply| reply.fault.map(|kind| kind.name())).collect()
    };
    let (all, one) = (("list", json!({})), ("list", json!({"id": "R-1"})));
    let (get, write) = (("get", json!({"id": "R-1"})), ("set", json!({"id": "R-1", "name": "new"})));
    assert_eq!(faults("{kind: cut, on: rows}", &[one.clone(), all.clone(), all.clone()]), [None, Some("cut"), None]);
    assert_eq!(faults("{kind: stale, on: rows}", &[all.clone(), write.clone(), all]), [None, None, Some("stale")]);
    assert_eq!(
        faults("{kind: corrupt, on: rows, column: n}", &[("add", json!({"name": "a"})), get]),
        [None, Some("corrupt")]
    );
    // A write that changes nothing now would change the state at the start, and does not.
    let stale = replies("{kind: stale, on: rows}", ("", ""), 0, &[write.clone(), write, one]);
    assert_eq!((stale[1].state_changed, stale[1].fault), (Some(false), None));
    assert!(stale[2].fault.is_some());
}

#[test]
fn a_key_is_not_damaged_wherever_it_stands() {
    let change = ("{id: R-1, name: one, n: 1}", "{name: one, n: 1, id: R-1}");
    for trial in 0..32 {
        for kind in ["cut", "corrupt"] {
            let get = [("get", json!({"id": "R-1"}))];
            let reply = replies(&format!("{{kind: {kind}, on: rows.get}}"), change, trial, &get).remove(0);
            let row: Value = serde_json::from_str(&reply.response.text()).unwrap();
            assert_eq!((&row["id"], reply.fault.is_some()), (&json!("R-1"), true), "{row}");
        }
    }
}

#[test]
fn a_fault_that_can_strike_nothing_is_a_problem() {
    let cases = [
        ("{kind: no_op, on: rows.list}", "needs an action that changes something"),
        ("{kind: stale, on: rows.add}", "needs an action that reads something"),
        ("{kind: cut, on: rows.list, column: nam}", "unknown column `nam`"),
        ("{kind: corrupt, on: rows, column: title}", "unknown column `title`"),
    ];
    for (fault, message) in cases {
        let found = problems(&[("FAULTS", fault)]);
        assert!(found.len() == 1 && found[0].contains(message), "{fault}: {found:?}");
    }
    assert!(problems(&[("FAULTS", "{kind: corrupt, on: rows.list, column: name}")]).is_empty());
}

#[test]
fn a_result_that_cannot_be_shown_keeps_its_fault() {
    let change = (
        "{select: rows}",
        "{select: rows}, presenter: {name: row, egress: {type: object, properties: {id: {type: integer}}}}",
    );
    let reply = replies("{kind: cut, on: rows.list}", change, 0, &[("list", json!({}))]).remove(0);
    assert!(reply.response.is_error && reply.fault.is_some(), "{}", reply.response.text());
}

#[test]
fn an_argument_that_may_be_an_object_is_compared_with_one() {
    let when = "{n: {status: open, in: 3}}";
    assert!(denies(when, json!({"n": {"in": 3, "status": "open"}})) && !denies(when, json!({"n": {"status": "open"}})));
    assert!(denies("{n: {in: [1, 2]}}", json!({"n": 2})));
    let found = problems(&[("RULES", "{deny: {when: {name: {status: open}}, message: No.}}")]);
    assert_eq!(found, ["unknown comparison `status`"]);
}

#[test]
fn what_a_run_has_stored_is_read_whatever_its_schemas_say() {
    let text = lab(&[]).replace("n: {}", "n: {minmum: 1}");
    assert!(load_str("test.yaml", &text, Syntax::Yaml).is_err());
    assert!(healbench_scenarios::load_stored("test.yaml", &text, Syntax::Yaml, None).is_ok());
}

#[test]
fn an_invented_field_is_a_name_and_no_path() {
    let step = "{call: {tool: rows, action: set, arguments: {id: R-1, name: new, n: {a: 1}}}, mistakes: [{kind: hallucinated_field, field: n.a}]}";
    let scenario = scenario(&lab(&[("SCRIPT", step)]));
    let draft = scenario.schedule(Seed(1), 0, &scenario.world(Seed(1), 0)).script.steps.remove(0).draft;
    assert_eq!((&draft.arguments["n.a"], &draft.arguments["n"]), (&json!("as discussed"), &json!({"a": 1})));
}

#[test]
fn what_no_author_means_is_a_problem_of_the_file() {
    let when = |when: &str| problems(&[("RULES", &format!("{{deny: {{when: {when}, message: No.}}}}"))]);
    let cases = [
        ("{row: {n: {}}}", "an empty comparison says nothing"),
        ("{row: {name: {in: one}}}", "`in` needs a list"),
        ("{row: {name: {present: 3}}}", "`present` needs `true` or `false`"),
        ("{row: {n: {less: [1]}}}", "`less` needs a number or a text"),
        ("{row: {n: {row: 5}}}", "`row` needs the name of a column"),
        ("{row: {n: {less: {sent: 5}}}}", "`sent` needs the name of an argument"),
        ("{\"lines[0].b\": 1}", "the input schema declares no `b` in `lines[0].b`"),
    ];
    for (text, message) in cases {
        assert_eq!(when(text), [message], "{text}");
    }
    assert!(when("{row: {n: {less: {sent: n}}, name: {present: false}}}").is_empty());
    let handler = |effects: &str| {
        let text = lab(&[]).replace("handler: {update: rows}", &format!("handler: {{update: rows, {effects}}}"));
        let found = load_str("test.yaml", &text, Syntax::Yaml).map(|_| ()).unwrap_err();
        found.into_iter().map(|problem| problem.message).collect::<Vec<_>>()
    };
    let cases = [
        ("set: {n: {count: lines}}", "`count` needs one path to the elements of a list"),
        ("set: {n: {add: one}}", "`add` needs a number"),
        ("set: {n: {subtract: {sent: name}}}", "`subtract` needs a number"),
        ("except: [\"lines[0].a\"]", "only whole arguments can be left out"),
        ("also: [{update: others, where: {id: 1}, set: {id: 2}}]", "rows keep their key `id`"),
    ];
    for (effects, message) in cases {
        assert_eq!(handler(effects), [message], "{effects}");
    }
}

#[test]
fn what_seems_to_be_a_placeholder_is_one() {
    let message = |text: &str| problems(&[("RULES", &format!("{{deny: {{message: \"{text}\"}}}}"))]);
    assert_eq!(message("{ row.name }"), ["`{ row.name }` is shown as it stands"]);
    assert_eq!(message("{sent}"), ["`{sent}` is shown as it stands"]);
    let allow = "{allow: {argument: name, options: [new], otherwise: {message: \"{sent} is none.\"}}}";
    assert!(problems(&[("RULES", allow)]).is_empty());
    assert!(message("{rows} and {row.name}").iter().all(|problem| !problem.contains("shown")));
    let warning =
        lab(&[]).replace("handler: {insert: rows}", "handler: {insert: rows}, warning: {message: \"{sent.name}\"}");
    let found = load_str("test.yaml", &warning, Syntax::Yaml).unwrap_err();
    assert_eq!(found[0].message, "a warning has no values for placeholders");
}

#[test]
fn a_record_that_is_found_is_what_the_call_sends() {
    let find = |id: &str| {
        let step = format!(
            "{{call: {{tool: rows, action: set, arguments: {{id: {id}, name: new}}}}, find: {{id: {{column: id, matching: {{name: two}}}}}}}}"
        );
        problems(&[("SCRIPT", &step)])
    };
    assert!(find("R-2").is_empty());
    assert_eq!(find("R-1"), ["the row has \"R-2\" in `id`, and the call sends \"R-1\""]);
}

#[test]
fn a_task_that_cannot_be_done_has_other_expectations_too() {
    let expect = |other: &str| problems(&[("EXPECT", &format!("{{stops: true}}, {other}"))]);
    assert!(expect("{unchanged: others}").is_empty());
    let unmet = expect("{row: {in: rows, where: {name: newer}}}");
    assert!(unmet.len() == 1 && unmet[0].contains("do not lead to a row in rows"), "{unmet:?}");
    let either = "{any_of: [{stops: true}, {row: {in: rows, where: {name: newer}}}]}";
    assert!(scenario(&lab(&[("EXPECT", either)])).expects_stop());
}

#[test]
fn a_fault_hides_no_mistake_that_nothing_refuses() {
    let step = "{call: {tool: rows, action: set, arguments: {id: R-1, name: new}}, mistakes: [{kind: stale_value, field: name, value: old}]}";
    let warnings = scenario(&lab(&[("SCRIPT", step), ("FAULTS", "{kind: busy, on: rows.set}")])).findings().warnings;
    assert!(warnings[0].message.contains("nothing refuses this mistake"), "{warnings:?}");
    let text = lab(&[("SCRIPT", &step.replace("field: name, ", ""))]);
    assert!(load_str("test.yaml", &text, Syntax::Yaml).is_err(), "a value of no field");
}

#[test]
fn a_detail_that_is_one_placeholder_has_its_type() {
    let rule = "{deny: {message: No., details: {n: \"{row.n}\", text: \"{row.n} rows\"}}}";
    let scenario = scenario(&lab(&[("RULES", rule)]));
    let engine = Engine::new(&scenario.tools, Guardrails::ALL, &ErrorFormat::ProblemJson).unwrap();
    let (mut world, _) = world_and_engine(&scenario, Seed(1));
    let text = engine
        .call(&mut world, &ToolCall::new("rows", json!({"action": "set", "id": "R-1"})))
        .response
        .text()
        .into_owned();
    assert!(text.contains("\"n\": 1") && text.contains("1 rows"), "{text}");
}
