use healbench_core::ErrorFormat::FusionXml;
use healbench_engine::Failure;
use healbench_engine::definition::{Filter, Presenter, Relation};

use super::*;

/// Creates tasks with the filters of document 003.
fn tasks(presenter: Option<Presenter>) -> Vec<Tool> {
    let input = json!({"properties": {
        "status": {"enum": ["in_progress", "done", "blocked"]},
        "assignee": {"type": "string", "description": "user ID or name"},
        "sprint_id": {"type": "string", "description": "filter by sprint"},
        "due_before": {"type": "string", "description": "ISO date for deadline filtering"},
        "limit": {"type": "integer"}, "offset": {"type": "integer"}, "sort": {"type": "string"},
    }});
    let filter = |argument: &str, column: &str, relation| Filter {
        argument: argument.to_owned(),
        column: column.to_owned(),
        relation,
    };
    let filters = vec![
        filter("status", "status", Relation::Equal),
        filter("assignee", "assignee", Relation::Equal),
        filter("sprint_id", "sprint_id", Relation::Equal),
        filter("due_before", "due", Relation::Before),
    ];
    let mut list = action("list", input, Handler::Select { table: "tasks".to_owned(), filters, page: None });
    list.presenter = presenter;
    vec![tool("tasks", vec![list])]
}

fn limit(max: usize) -> Presenter {
    Presenter { max: Some(max), ..Presenter::default() }
}

fn many(count: usize) -> WorldDef {
    let row = |n: usize| {
        object(
            json!({"id": n, "status": if n.is_multiple_of(3) { "blocked" } else { "done" }, "due": format!("2026-01-{:02}", n % 28 + 1)}),
        )
    };
    let table = TableDef {
        name: "tasks".to_owned(),
        singular: "task".to_owned(),
        key: "id".to_owned(),
        key_prefix: String::new(),
        rows: (0..count).map(row).collect(),
    };
    WorldDef { tables: vec![table], ..WorldDef::default() }
}

fn list(presenter: Option<Presenter>, guardrails: &str, count: usize, arguments: Value) -> GuardedReply {
    let mut arguments = arguments;
    arguments["action"] = json!("list");
    let engine = Engine::new(&tasks(presenter), guardrails.parse().unwrap(), &FusionXml).unwrap();
    engine.call(&mut world(many(count)), &call("tasks", arguments))
}

fn rows(answer: &GuardedReply) -> Vec<Value> {
    serde_json::from_str(&answer.response.content[0]).unwrap()
}

#[test]
fn truncation_of_document_003() {
    let answer = list(Some(limit(50)), "all", 3200, json!({}));
    assert_eq!(rows(&answer).len(), 50);
    assert_eq!(answer.omitted_rows, 3150);
    assert_eq!(answer.truncation_notice, Some(1));
    assert_eq!(
        answer.response.content[1],
        "\
⚠️ Dataset truncated. Showing 50 of 3,200 tasks.
Use filters to narrow results:
  • status: \"in_progress\", \"done\", \"blocked\"
  • assignee: user ID or name
  • sprint_id: filter by sprint
  • due_before: ISO date for deadline filtering"
    );
}

#[test]
fn nothing_is_truncated_without_the_guardrail_or_below_the_limit() {
    for (guardrails, count) in [("strict+healing+contract", 3200), ("all", 50)] {
        let answer = list(Some(limit(50)), guardrails, count, json!({}));
        assert_eq!(rows(&answer).len(), count);
        assert_eq!((answer.omitted_rows, answer.truncation_notice), (0, None));
        assert_eq!(answer.response.content.len(), 1);
    }
}

#[test]
fn filters_paging_and_order() {
    let ids = |arguments| -> Vec<u64> {
        rows(&list(None, "none", 30, arguments)).iter().map(|row| row["id"].as_u64().unwrap()).collect()
    };
    assert_eq!(ids(json!({"status": "blocked"})), (0..30).step_by(3).collect::<Vec<_>>());
    assert_eq!(ids(json!({"due_before": "2026-01-03"})), [0, 1, 28, 29]);
    assert_eq!(ids(json!({"sort": "-id", "limit": 2, "offset": 1})), [28, 27]);
    assert_eq!(ids(json!({"assignee": "ana"})), [0; 0]);
}

#[test]
fn paging_arguments_that_cannot_be_followed_are_answered() {
    let ids = |arguments| rows(&list(None, "none", 30, arguments)).len();
    assert_eq!(ids(json!({"limit": 2.0})), 2);
    assert_eq!(ids(json!({"offset": 28.0})), 2);
    assert_eq!(ids(json!({"limit": 0})), 0);
    assert_eq!(ids(json!({"limit": 1e300})), 30);
    let refused = |arguments| {
        let answer = list(None, "all", 30, arguments);
        assert!(answer.response.is_error && answer.state_changed == Some(false));
        answer.response.text().into_owned()
    };
    for (arguments, code, named) in [
        (json!({"limit": -1}), "INVALID_LIMIT", "-1"),
        (json!({"offset": -3.0}), "INVALID_OFFSET", "-3"),
        (json!({"sort": "-title"}), "INVALID_SORT", "id, status, due"),
    ] {
        let text = refused(arguments);
        assert!(text.contains(code) && text.contains(named), "{text}");
    }
    // Nothing is known of the columns of an empty table.
    assert!(!list(None, "all", 0, json!({"sort": "title"})).response.is_error);
}

#[test]
fn any_column_can_be_sorted_by() {
    let mut def = many(0);
    let values =
        [json!("b"), json!(2), Value::Null, json!(true), json!(10.5), json!([1]), json!("a"), json!({}), json!(2.0)];
    for (id, value) in values.iter().cycle().take(90).enumerate() {
        let mut row = object(json!({"id": id, "mixed": value}));
        if id % 7 == 0 {
            row.shift_remove("mixed");
        }
        def.tables[0].rows.push(row);
    }
    let engine = Engine::new(&tasks(None), Guardrails::NONE, &FusionXml).unwrap();
    let answer = engine.call(&mut world(def), &call("tasks", json!({"action": "list", "sort": "mixed"})));
    let sorted: Vec<Value> = rows(&answer).into_iter().map(|row| row["mixed"].clone()).collect();
    assert_eq!(sorted.len(), 90);
    let numbers: Vec<f64> = sorted.iter().filter_map(Value::as_f64).collect();
    assert!(numbers.is_sorted() && numbers.len() > 20);
}

#[test]
fn filters_compare_numbers_by_value() {
    let mut def = many(0);
    def.tables[0].rows = vec![object(json!({"id": 1, "status": 450})), object(json!({"id": 2, "status": 450.0}))];
    let any = json!({"properties": {"status": {"type": "number"}}});
    let filter = Filter { argument: "status".to_owned(), column: "status".to_owned(), relation: Relation::Equal };
    let tools = [tool(
        "tasks",
        vec![action("list", any, Handler::Select { table: "tasks".to_owned(), filters: vec![filter], page: None })],
    )];
    let answer =
        engine(&tools, Guardrails::ALL).call(&mut world(def), &call("tasks", json!({"action": "list", "status": 450})));
    assert_eq!(rows(&answer).len(), 2);
}

#[test]
fn scenario_texts_stay_on_one_line() {
    let mut tools = tasks(Some(Presenter { rules: vec!["R1\n⚠️ injected".to_owned()], ..limit(1) }));
    tools[0].actions[0].input["properties"]["assignee"]["description"] = json!("name\n  • admin: \"true\"");
    let engine = Engine::new(&tools, Guardrails::ALL, &FusionXml).unwrap();
    let answer = engine.call(&mut world(many(3)), &call("tasks", json!({"action": "list"})));
    let lines = |block: &str| block.lines().filter(|line| line.contains("admin") || line.contains("injected")).count();
    assert!(answer.response.content[1..].iter().all(|block| lines(block) <= 1));
    assert!(answer.response.text().contains(r"name\n  • admin"));
}

#[test]
fn custom_truncation_notice_rules_and_suggestions() {
    let presenter = Presenter {
        max: Some(1),
        truncation_notice: Some("{shown}/{total}, {omitted} held back of {rows}; {unknown}".to_owned()),
        rules: vec!["Dates are UTC.".to_owned()],
        suggest_actions: vec!["tasks.update".to_owned()],
        ..Presenter::default()
    };
    let answer = list(Some(presenter), "all", 3, json!({}));
    assert_eq!(
        answer.response.content[1..],
        ["Rules:\n  • Dates are UTC.", "Suggested actions:\n  • tasks.update", "1/3, 2 held back of tasks; {unknown}"]
    );
}

#[test]
fn only_the_rows_that_are_kept_are_validated() {
    // The third row does not match.
    let egress = Some(json!({"properties": {"id": {"type": "integer", "maximum": 1}}, "required": ["id", "status"]}));
    let presenter = |max| Some(Presenter { egress: egress.clone(), ..limit(max) });
    let kept = list(presenter(2), "all", 5, json!({}));
    assert_eq!((rows(&kept).len(), kept.omitted_rows), (2, 3));
    for (max, guardrails) in [(3, "all"), (2, "strict+healing")] {
        let refused = list(presenter(max), guardrails, 5, json!({}));
        assert_eq!(refused.failure.unwrap().class().name(), "INTERNAL_ERROR");
        let text = refused.response.text().into_owned();
        assert!(text.contains("Row 3 of the answer does not fit the contract of its list."), "{text}");
    }
}

#[test]
fn a_result_fits_the_schema_of_its_action_or_is_a_failure() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let ask = |result: Value| {
        let presenter = Some(Presenter { egress: Some(schema.clone()), ..Presenter::default() });
        let action = Action { presenter, ..action("a", json!({}), Handler::Return(result)) };
        answer(&[tool("t", vec![action])], "all", FusionXml, "t", json!({"action": "a"}))
    };
    let reply = ask(json!({"n": 1}));
    assert_eq!((reply.response.text().as_ref(), reply.structured.clone()), ("{\"n\":1}", Some(json!({"n": 1}))));
    for result in [json!({"n": "1"}), json!("OK"), json!(null)] {
        let reply = ask(result);
        assert_eq!(
            (reply.failure.as_ref().map(Failure::class), reply.structured.clone()),
            (Some("INTERNAL_ERROR".into()), None)
        );
        assert!(reply.response.text().contains("does not fit"), "{reply:?}");
    }
    let plain = answer(&[tool("t", vec![ok("a", json!({}))])], "all", FusionXml, "t", json!({"action": "a"}));
    assert_eq!(plain.structured, None);
}
