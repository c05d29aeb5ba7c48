//! Refusals that begin during an audit, and are about no call.

use super::*;

/// A tool with three fields that refuses wrong calls well, and to which these rules apply first.
fn interrupted(first: Value) -> AuditReport {
    let schema = fields(&[("id!", "string"), ("limit", "integer"), ("mode", "boolean")]);
    let mut rules: Vec<Value> = first.as_array().unwrap().clone();
    rules.extend([
        json!([["!id:string"], "!id: expected string"]),
        json!([["!limit:none", "!limit:number"], "!limit: expected integer"]),
        json!([["!mode:none", "!mode:boolean"], "!mode: expected boolean"]),
        json!([[], "item"]),
    ]);
    answering(&[("get", schema, Value::from(rules))], &options())
}

#[test]
fn a_refusal_that_the_base_call_gets_now_is_not_scored() {
    let whole = interrupted(json!([]));
    let all = whole.tools[0].probes.iter().filter(|probe| probe.points.is_some()).count();
    for text in [
        "429 Too Many Requests. Try again in 30 seconds.",
        "Rate limit exceeded",
        "Error: upstream returned 503 Service Unavailable",
        "Session expired",
        "getaddrinfo EAI_AGAIN api.x.dev",
        "The licence of this installation is used up",
    ] {
        let report = interrupted(json!([[["#6"], format!("!{text}")]]));
        let probes = &report.tools[0].probes;
        let lost = probes.iter().filter(|probe| probe.answer == AnswerKind::Environment).count();
        let scored = probes.iter().filter(|probe| probe.points.is_some()).count();
        assert!(lost > 4 && scored > 1 && scored < all, "{text}: {lost} {scored} {probes:#?}");
        // Some of what came before is scored, as without the outage.
        assert_eq!((report.score, whole.score), (Some(100.0), Some(100.0)), "{text}");
        assert!(!report.templates.iter().any(|template| template.text.contains(text)), "{:?}", report.templates);
        let environment = report.environment.as_ref().unwrap();
        assert_eq!((environment.calls - environment.reached, environment.reason.as_str()), (lost, text));
        assert_eq!(terminal(&report, None).matches(text).count(), 1, "{}", terminal(&report, None));
    }
}

#[test]
fn a_call_that_an_outage_met_is_made_again_after_it() {
    let whole = interrupted(json!([]));
    // One call long: the base call is accepted again.
    let report = interrupted(json!([[["#5", "!#6"], "!503 Service Unavailable"]]));
    assert_eq!((&report.tools, &report.environment), (&whole.tools, &None));
    // Several calls long.
    let report = interrupted(json!([[["#5", "!#8"], "!getaddrinfo EAI_AGAIN api.x.dev"]]));
    assert_eq!((report.score, report.environment.is_some()), (Some(100.0), true), "{report:#?}");
    let scored = |report: &AuditReport| report.tools[0].probes.iter().filter(|probe| probe.points.is_some()).count();
    assert!(scored(&report) + 3 >= scored(&whole), "{report:#?}");
}

#[test]
fn a_text_that_the_tool_says_of_all_wrong_calls_is_its_own() {
    for text in ["Bad request", "Service unavailable, try again later", "Rate limit exceeded"] {
        let refuse = |field: &str, kind: &str| {
            json!([[format!("!{field}:none"), format!("!{field}:{kind}")], format!("!{text}")])
        };
        let report = interrupted(json!([
            [["id:none"], format!("!{text}")],
            refuse("id", "string"),
            refuse("limit", "number"),
            refuse("mode", "boolean"),
        ]));
        assert_eq!(report.environment, None, "{text}: {report:#?}");
        assert!(report.score.is_some_and(|score| score < 60.0), "{text}: {:?}", report.score);
    }
}
