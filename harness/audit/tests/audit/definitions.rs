//! Definitions of tools, which are checked without a call.

use super::*;

/// Audits a server with tools of these definitions, of which none may be called.
fn uncalled(tools: &[(&str, Value)]) -> AuditReport {
    let tool = |(name, more): &(&str, Value)| {
        let mut tool =
            json!({"name": name, "inputSchema": fields(&[("x!", "string")]), "annotations": {"readOnlyHint": false}});
        tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tool
    };
    let document = json!({"tools": tools.iter().map(tool).collect::<Vec<_>>(), "rules": {}});
    audited(&format!("answers\n{document}"), &options())
}

#[test]
fn tools_that_are_not_called_are_checked_as_well() {
    let report = uncalled(&[
        ("bare", json!({"outputSchema": {"description": "result"}})),
        ("no object", json!({"inputSchema": {"type": "string"}})),
        ("lost", json!({"inputSchema": {"type": "object", "properties": {"x": {"type": "text"}}}})),
        ("fine", json!({})),
    ]);
    let found = findings(&report);
    for expected in [
        ("output-schema-broken", "bare", 1),
        ("schema-broken", "no object", 1),
        ("schema-broken", "lost", 1),
        ("client-limits", "no object", 1),
    ] {
        assert!(found.contains(&expected), "{expected:?}: {found:?}");
    }
    assert_eq!((report.tools.len(), found.iter().any(|(_, tool, _)| *tool == "fine")), (0, false), "{found:?}");
}

#[test]
fn each_broken_schema_has_its_reason() {
    let report = uncalled(&[
        ("text", json!({"inputSchema": {"type": "string"}})),
        ("lost", json!({"inputSchema": {"type": "object", "properties": {"x": {"type": "text"}}}})),
    ]);
    let reasons: Vec<&str> = report
        .findings
        .iter()
        .filter(|finding| finding.id == "schema-broken")
        .map(|finding| finding.example.as_str())
        .collect();
    assert!(reasons.len() == 2 && reasons[0] != reasons[1], "{reasons:?}");
    for text in [terminal(&report, None), markdown(&report, None)] {
        let lines = |tool: &str| text.lines().filter(|line| line.contains(&format!("{tool}: "))).count();
        assert!(lines("text") >= 1 && lines("lost") >= 1, "{text}");
    }
}
