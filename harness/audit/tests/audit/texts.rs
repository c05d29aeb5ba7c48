//! Texts of servers: the parts that a report keeps, and the better texts made of them.

use super::*;

fn refuses(field: &str, kind: &str, text: &str) -> Value {
    json!([[[format!("!{field}:{kind}")], format!("!{text}")], [[], "ok"]])
}

#[test]
fn secrets_are_read_and_not_shown() {
    let text = "`striped_id` has to be an integer (host zebra-9.internal)";
    healbench_text::keep_variable("MESSAGE", text);
    // What the list of tools names is public.
    healbench_text::keep_variable("MODE", "striped_id");
    let report = answering(
        &[("stripes", fields(&[("striped_id!", "integer")]), refuses("striped_id", "number", text))],
        &options(),
    );
    assert_eq!(answer_to(&report, "wrong_type", "striped_id"), (AnswerKind::IsError, Some(100.0)));
    let shown = serde_json::to_string(&report).unwrap() + &terminal(&report, None);
    assert!(shown.contains("striped_id") && shown.contains("[key]") && !shown.contains("zebra-9"), "{shown}");
}

#[test]
fn a_better_text_is_the_servers_own_with_what_it_lacks() {
    let bad = |text: &str| {
        let report =
            answering(&[("get", fields(&[("days!", "integer")]), refuses("days", "number", text))], &options());
        let template = report.templates.first().unwrap().clone();
        (template.lacks.len(), template.better.map(|better| better.text))
    };
    let lacking = "days: Required. You sent: (missing). Expected type: number.";
    assert_eq!(bad("Error: bad request").1, Some(format!("Error: bad request. {lacking}")));
    assert_eq!(
        bad(r#"{"ok":false,"error":{"message":"bad!","code":3}}"#).1,
        Some(format!(r#"{{"ok":false,"error":{{"message":"bad! {lacking}","code":3}}}}"#))
    );
    assert_eq!(bad("days has to be an integer"), (0, None));
}

/// An agent that is told the name of another thing, where one does not exist, changes that.
#[test]
fn a_better_text_names_no_other_thing() {
    let rules = |text: &str| {
        json!([
            [["!order_id:string"], "!order_id: expected string"],
            [["order_id=ORD-1"], "cancelled"],
            [[], format!("!{text}")]
        ])
    };
    let calls = CallsFile::parse("tools: {cancel: {right: {order_id: ORD-1}, wrong: [{order_id: ORD-7}]}}").unwrap();
    for text in ["Not found", "Order is in a wrong state", "Session expired"] {
        let only = Options { calls: calls.clone(), ..options() };
        let report = answering(&[("cancel", fields(&[("order_id!", "string")]), rules(text))], &only);
        let of = report.templates.iter().filter(|template| template.text.contains(text));
        let better: Vec<String> = of.filter_map(|template| template.better.clone()).map(|one| one.text).collect();
        assert!(!better.iter().any(|better| better.contains("ORD-1")), "{text}: {better:?}");
    }
}

#[test]
fn an_answer_that_the_right_call_waits_for_as_well_is_not_scored() {
    let quick = Options { call_timeout: Duration::from_millis(200), ..options() };
    let rules = json!([[["!days:number"], ""], [[], "!Cannot reach db.example"]]);
    let report = answering(&[("get", fields(&[("days!", "integer")]), rules)], &quick);
    assert_eq!((report.score, findings(&report).iter().any(|(id, ..)| *id == "hangs")), (None, false));
}

#[test]
fn data_of_an_accepted_call_are_no_error() {
    for data in
        ["{\"name\": \"desk\", \"available\": true}", "Desk 1\navailable: true", "{\"allowed\": [\"red\", \"blue\"]}"]
    {
        let rules = json!([[["room=example"], "ok"], [[], data]]);
        let report = answering(&[("get", fields(&[("room", "string")]), rules)], &options());
        assert_eq!(report.tools[0].base.as_ref().unwrap().state, BaseState::Accepted, "{data}");
        assert_eq!(answer_to(&report, "wrong_type", "room").0, AnswerKind::AcceptedSame, "{data}");
        let rules = json!([[["room:number"], data], [[], "ok"]]);
        let report = answering(&[("get", fields(&[("room", "string")]), rules)], &options());
        assert_eq!(answer_to(&report, "wrong_type", "room").0, AnswerKind::AcceptedOther, "{data}");
    }
}

#[test]
fn a_text_that_repairs_is_a_remedy_and_one_with_a_stack_is_found() {
    let text = "days: must be a whole number\n    at check (/srv/a.js:3:9)\n    at call (/srv/b.js:8:2)";
    let report = answering(&[("get", fields(&[("days!", "integer")]), refuses("days", "number", text))], &options());
    assert!(findings(&report).contains(&("stack-trace", "get", 5)), "{:?}", findings(&report));
    let probes = report.tools[0].probes.iter().filter(|probe| probe.repaired == Some(true));
    assert!(probes.clone().count() > 0 && probes.clone().all(|probe| probe.remedy != Some(false)), "{report:?}");
}

/// A base call that was refused leaves nothing but checks of arguments to score.
#[test]
fn a_score_without_an_accepted_call_says_so() {
    let rules = json!([[["!url:string"], "!url: expected string"], [[], "!fetch failed"]]);
    let refused = answering(&[("map", fields(&[("url!", "string")]), rules)], &options());
    assert!(terminal(&refused, None).contains("; of the checks of arguments alone, since no base call was accepted\n"));
    let accepted = answering(
        &[("map", fields(&[("url!", "string")]), refuses("url", "string", "url: expected string"))],
        &options(),
    );
    assert!(!terminal(&accepted, None).contains("alone"));
}
