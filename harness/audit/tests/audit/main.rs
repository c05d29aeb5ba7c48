//! Audits of a server that answers wrong calls in every way, and of servers that do what no server should.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that meets a surprise shall panic")]

mod bases;
mod definitions;
mod outages;
mod outputs;
mod statuses;
mod texts;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use healbench_audit::{
    AnswerKind, AuditError, AuditReport, BaseState, CallsFile, Options, Server, audit, changes, first_calls_file,
    junit, markdown, terminal,
};
use healbench_mcp::{Endpoint, Limits, McpSession, ServerCommand, Supervisor};
use serde_json::{Value, json};
use tempfile::TempDir;

const LIMITS: Limits = Limits { start: Duration::from_secs(20), line: 1 << 20 };

/// Returns the path of the test server, which is built if need be.
fn test_server() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let folder = tests.ancestors().find(|folder| folder.ends_with("deps")).and_then(Path::parent).unwrap();
    let server = folder.join("mcp-test-server");
    if !server.exists() {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "healbench-mcp", "--bin", "mcp-test-server", "--target-dir"]);
        build.arg(folder.parent().unwrap()).current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(build.status().unwrap().success());
    }
    server
}

fn options() -> Options {
    Options { call_timeout: Duration::from_secs(20), ..Options::default() }
}

/// Audits the test server, and returns the number of its starts as well. The mode is its first words, one a line.
fn try_audit(mode: &str, options: &Options) -> (Result<AuditReport, AuditError>, usize) {
    let supervisor = Supervisor::new(test_server(), Arc::clone(&options.stop));
    let program = test_server().display().to_string();
    let starts = AtomicUsize::new(0);
    let result = audit(options, &|| {
        starts.fetch_add(1, Ordering::Relaxed);
        let folder = TempDir::new().unwrap();
        let words: Vec<String> = std::iter::once(program.as_str()).chain(mode.lines()).map(str::to_owned).collect();
        let command = ServerCommand { dir: Some(folder.path().into()), ..ServerCommand::new(&words, &[]).unwrap() };
        let session = McpSession::start(&supervisor, &Endpoint::Command(command), &LIMITS)?;
        Ok(Server { session, folder })
    });
    (result, starts.into_inner())
}

fn audited(mode: &str, options: &Options) -> AuditReport {
    try_audit(mode, options).0.unwrap_or_else(|error| panic!("{mode}: {error}"))
}

/// Audits a server with read-only tools, each with its name, its schema and its rules.
fn answering(tools: &[(&str, Value, Value)], options: &Options) -> AuditReport {
    let listed = |(name, schema, _): &(&str, Value, Value)| json!({"name": name, "inputSchema": schema, "annotations": {"readOnlyHint": true}});
    let rules: serde_json::Map<String, Value> =
        tools.iter().map(|(name, _, rules)| ((*name).to_owned(), rules.clone())).collect();
    let document = json!({"tools": tools.iter().map(listed).collect::<Vec<_>>(), "rules": rules});
    audited(&format!("answers\n{document}"), options)
}

/// A schema with these fields, of which those with a `!` are required.
fn fields(fields: &[(&str, &str)]) -> Value {
    let required: Vec<&str> = fields.iter().filter_map(|(name, _)| name.strip_suffix('!')).collect();
    let properties: serde_json::Map<String, Value> =
        fields.iter().map(|(name, kind)| (name.trim_end_matches('!').to_owned(), json!({"type": kind}))).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// The answer to the first probe of a kind, and its points.
fn answer_to(report: &AuditReport, kind: &str, path: &str) -> (AnswerKind, Option<f64>) {
    let probes = report.tools.iter().flat_map(|tool| &tool.probes);
    let mut found = probes.filter(|probe| json!(probe.kind) == json!(kind) && probe.path == path);
    let probe = found.next().unwrap_or_else(|| panic!("no {kind} {path}"));
    (probe.answer, probe.points)
}

/// The findings as name, tool and count.
fn findings(report: &AuditReport) -> Vec<(&str, &str, usize)> {
    let of = |finding: &'_ healbench_audit::Finding| -> (String, String, usize) {
        (finding.id.clone(), finding.tool.clone().unwrap_or_default(), finding.count)
    };
    assert!(report.findings.iter().all(|finding| of(finding).2 > 0));
    report
        .findings
        .iter()
        .map(|finding| (finding.id.as_str(), finding.tool.as_deref().unwrap_or_default(), finding.count))
        .collect()
}

#[test]
fn a_server_is_scored_and_shown() {
    let (report, starts) = try_audit("audited", &options());
    let report = report.unwrap();
    let score = |name: &str| report.tools.iter().find(|tool| tool.name == name).unwrap().score;
    // Refused, named, remedied, repaired, in all of: missing, wrong type, null, option, case, bound, misspelled.
    assert_eq!(score("tells"), Some(100.0));
    assert_eq!((score("accepts"), score("pretends")), (Some(0.0), Some(0.0)));
    // Refused only; the reader finds neither field nor remedy, and repairs nothing.
    assert_eq!(score("mutters"), Some(25.0));
    assert_eq!((score("breaks\u{1b}[31m|"), score("large")), (Some(0.0), None));
    assert_eq!(report.score, Some(25.0));
    assert_eq!((report.scored.tools, report.counts.tools, report.counts.audited), (5, 10, 6));
    assert_eq!(report.counts.not_read_only, 2);
    // No error of `mutters` is repaired, and each of `tells`.
    let answer = report.answer.clone();
    let worst = answer.worst.unwrap();
    assert_eq!((worst.tool.as_str(), worst.repaired), ("mutters", 0));
    assert!(worst.errors > 0 && answer.repaired > 0 && answer.errors == answer.repaired + worst.errors, "{worst:?}");
    // Once at the beginning, and once after the end of it.
    assert_eq!(starts, 2);
    let found = findings(&report);
    for expected in [
        ("accepts-wrong", "accepts", 9),
        ("null-is-absent", "accepts", 1),
        ("soft-error", "pretends", 11),
        ("dies", "breaks\u{1b}[31m|", 1),
        ("schema-broken", "broken", 1),
        ("no-field", "mutters", 10),
        ("no-remedy", "mutters", 10),
        ("protocol-error-for-arguments", "mutters", 10),
        ("oversize", "large", 1),
        ("undeclared-hints", "unmarked", 1),
    ] {
        assert!(found.contains(&expected), "{expected:?}: {found:?}");
    }
    assert!(
        !found.iter().any(|(id, tool, _)| *tool == "tells"
            && *id != "ignores-undeclared"
            && *id != "ignores-misspelled-optional"),
        "{found:?}"
    );
    assert!(report.notes[0].contains("two tools of the name `tells`"), "{:?}", report.notes);
    let shown = [terminal(&report, None), markdown(&report, None), junit(&report, None)];
    for text in &shown {
        assert!(!text.contains('\u{1b}') && text.contains("Oslo"), "{text}");
    }
    insta::assert_snapshot!("terminal", shown[0]);
    insta::assert_snapshot!("markdown", shown[1]);
    insta::assert_snapshot!("junit", shown[2]);
    // Nothing depends on chance, and nothing is lost in a file.
    let again = audited("audited", &options());
    assert_eq!(again, report);
    assert_eq!(AuditReport::parse(&json!(report).to_string()).unwrap(), report);
}

#[test]
fn only_what_may_be_called_is_called() {
    let names = |report: &AuditReport| report.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    let read = audited("files", &options());
    assert_eq!(names(&read), ["read"]);
    let named = audited("files", &Options { tools: vec!["write".to_owned()], ..options() });
    assert_eq!((names(&named), named.counts.not_asked_for), (vec!["write".to_owned()], 1));
    let (all, starts) = try_audit("files", &Options { allow_writes: true, ..options() });
    let all = all.unwrap();
    // One folder for each tool: what `write` wrote is not there for `read`.
    assert_eq!((names(&all).len(), starts, all.writes_allowed), (2, 2, true));
    let unknown = try_audit("files", &Options { tools: vec!["wirte".to_owned()], ..options() }).0.unwrap_err();
    assert_eq!(unknown.to_string(), "the server has no tool `wirte`; did you mean `write`?");
    let nothing = audited("unmarked", &options());
    assert_eq!((nothing.score, nothing.tools.len()), (None, 0));
    assert!(nothing.notes[0].contains("No tool was audited"), "{:?}", nothing.notes);
}

#[test]
fn a_calls_file_adds_right_and_wrong_calls() {
    let right = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let text = format!(
        "tools:\n  read:\n    right: {{path: {right:?}}}\n    wrong: [{{path: \"{{dir}}/none\"}}]\n  write:\n    right: {{path: \"{{dir}}/a\", text: x}}\n"
    );
    let calls = CallsFile::parse(&text).unwrap();
    let report = audited("files", &Options { calls, allow_writes: true, ..options() });
    let tool = |name: &str| report.tools.iter().find(|tool| tool.name == name).unwrap();
    assert_eq!(tool("write").base.as_ref().unwrap().state, BaseState::Accepted);
    let declared = tool("read").probes.last().unwrap();
    assert_eq!((json!(declared.kind), declared.answer), (json!("declared"), AnswerKind::IsError));
    // The folder is the same in every report.
    assert!(declared.text.as_ref().unwrap().starts_with("{dir}/none: "), "{declared:?}");
    // The value that was sent says which field is meant.
    assert_eq!((declared.field, declared.remedy, declared.repaired), (Some(true), Some(false), None));
    assert!((declared.points.unwrap() - 200.0 / 3.0).abs() < 1e-9);

    let written = first_calls_file(&report);
    let read_again = CallsFile::parse(&written).unwrap();
    assert_eq!(read_again.tools["write"].right, CallsFile::parse(&text).unwrap().tools["write"].right);
    // A file that is not there is no right call.
    let refused = CallsFile::parse("tools: {read: {right: {path: none.toml}}}").unwrap();
    let written = first_calls_file(&audited("files", &Options { calls: refused, ..options() }));
    assert!(written.contains("refused: none.toml: "), "{written}");
    let unknown = CallsFile::parse("tools: {reads: {right: {}}}").unwrap();
    let error = try_audit("files", &Options { calls: unknown, ..options() }).0.unwrap_err();
    assert!(error.to_string().contains("`reads`, which the server does not have; did you mean `read`?"), "{error}");
}

#[test]
fn a_later_audit_is_compared() {
    let before = audited("audited", &options());
    assert_eq!(changes(&before, &before), []);
    let mut after = before.clone();
    after.tools.retain(|tool| tool.name != "large");
    let tells = after.tools.iter_mut().find(|tool| tool.name == "tells").unwrap();
    tells.score = Some(90.0);
    after.score = Some(23.0);
    after.findings.retain(|finding| finding.id != "dies");
    let found: Vec<(bool, String)> =
        changes(&before, &after).into_iter().map(|change| (change.is_worse, change.text)).collect();
    let expected = [
        (true, "score: 25.0 → 23.0"),
        (true, "tells: 100.0 → 90.0"),
        (true, "large: no longer audited"),
        (false, "breaks\u{1b}[31m|: error dies, gone"),
    ];
    assert_eq!(found, expected.map(|(is_worse, text)| (is_worse, text.to_owned())));
    // The other way round, what was lost is found again, and the finding is new.
    let back: Vec<bool> = changes(&after, &before).into_iter().map(|change| change.is_worse).collect();
    assert_eq!(back, [false, false, false, true]);
    assert!(terminal(&after, Some(&changes(&before, &after))).contains("worse  score: 25.0 → 23.0"));
}

#[test]
fn servers_that_do_what_no_server_should_end_as_findings() {
    let short = Options { call_timeout: Duration::from_millis(300), ..options() };
    let state = |mode: &str, options: &Options| {
        let report = audited(mode, options);
        let tool = report.tools.iter().find(|tool| tool.name == "echo").unwrap();
        (tool.base.as_ref().unwrap().state, tool.probes.len(), tool.score.is_some(), report.notes.join("; "))
    };
    assert_eq!(state("hangs", &short).0, BaseState::Slow);
    assert_eq!(state("dies", &options()).0, BaseState::Died);
    assert_eq!(state("long", &options()).0, BaseState::Died);
    // It says why, and what the server said last.
    let found = audited("dies", &options()).findings;
    let found = found.iter().find(|finding| finding.id == "base-dies").unwrap();
    let example = &found.example;
    assert!(example.contains("137") && example.contains("out of memory"), "{example}");
    // Where a report is short, its end stays.
    let mut long = audited("dies", &options());
    for lines in [30, 300] {
        let found = long.findings.iter_mut().find(|finding| finding.id == "base-dies").unwrap();
        found.example = format!("{}KeyError: token", "  in line 1 of notes.py\n".repeat(lines));
        assert!(
            terminal(&long, None).contains("in line 1 of notes.py\\n")
                && terminal(&long, None).contains("KeyError: token\n")
        );
    }
    for (mode, end) in [("hangs", ": no answer within 0.3 s"), ("utf8", "\"text\":\"\u{fffd}\"}]}}")] {
        let found = audited(mode, &short).findings;
        let found = found.iter().find(|finding| finding.id == "base-hangs").unwrap();
        assert!(found.example.ends_with(end), "{mode}: {}", found.example);
    }
    assert_eq!(state("asks", &options()).0, BaseState::Asks);
    // A line that is not UTF-8 is no answer.
    assert_eq!(state("utf8", &short).0, BaseState::Slow);
    for (mode, expected) in [("no-content", BaseState::Accepted), ("text-error", BaseState::Refused)] {
        let (base, probes, scored, _) = state(mode, &options());
        // What is answered alike to every call says nothing.
        assert_eq!((base, probes > 0, scored), (expected, true, expected == BaseState::Accepted), "{mode}");
    }
    for (mode, note) in [
        ("logs", "It wrote to standard output what is no message, once: Server started"),
        ("twice", "It answered a request twice"),
        ("unknown", "It answered a request that was not made"),
        ("changes", "It changed its tools during the audit."),
        ("child", ""),
    ] {
        let (base, .., notes) = state(mode, &options());
        assert!(base == BaseState::Accepted && notes.contains(note), "{mode}: {base:?} {notes}");
    }
    let many = audited("many", &Options { tools: vec!["echo_4999".to_owned()], ..options() });
    assert_eq!((many.counts.tools, many.tools.len()), (5000, 1));
    for (mode, message) in [
        ("exit", "no configuration found"),
        ("garbage", "does not speak MCP"),
        ("no-tools", "no list of `tools`"),
        ("cursor", "its pages never end"),
        ("refuses", "refused `tools/list`"),
        ("revision", "1999-01-01"),
    ] {
        let error = try_audit(mode, &options()).0.unwrap_err().to_string();
        assert!(error.contains(message), "{mode}: {error}");
    }
}

#[test]
fn an_audit_can_be_stopped() {
    let options = options();
    options.stop.store(true, Ordering::Relaxed);
    assert!(matches!(try_audit("audited", &options).0, Err(AuditError::Interrupted)));
}

#[test]
fn only_what_reached_a_tool_is_scored() {
    let schema = fields(&[("page!", "string"), ("depth", "integer")]);
    let none = answering(&[("open", schema.clone(), json!([[[], "!No browser at /opt/b: install one"]]))], &options());
    assert_eq!((none.score, none.tools[0].score), (None, None));
    let environment = none.environment.clone().unwrap();
    assert_eq!((environment.reached, environment.calls), (0, none.tools[0].probes.len()));
    assert!(none.tools[0].probes.iter().all(|probe| probe.answer == AnswerKind::Environment), "{none:?}");
    let said = format!("0 of {} calls reached a tool: No browser at /opt/b: install one", environment.calls);
    for text in [terminal(&none, None), markdown(&none, None)] {
        assert!(text.replace('\\', "").contains(&said), "{text}");
    }
    assert!(
        !findings(&none).iter().any(|(id, ..)| matches!(*id, "no-field" | "no-remedy" | "accepts-wrong")),
        "{none:?}"
    );
    // What was refused before, for its own sake, is scored.
    let some = json!([[["!page:string"], "!page: expected string"], [[], "!No browser at /opt/{page} (attempt 12)"]]);
    let some = answering(&[("open", schema, some)], &options());
    assert_eq!(answer_to(&some, "missing", "page"), (AnswerKind::IsError, Some(100.0)));
    assert_eq!(answer_to(&some, "wrong_type", "depth"), (AnswerKind::Environment, None));
    assert_eq!(some.score, Some(100.0));
    assert!(some.environment.is_some_and(|environment| environment.reached > 0));
}

/// A call that gets what the right one gets is repaired, although the right one is refused.
#[test]
fn a_repair_may_end_at_the_refusal_of_the_base_call() {
    let mut closed = fields(&[("url!", "string")]);
    closed["additionalProperties"] = json!(false);
    let rules = json!([[["!url:string"], "!url: expected string, received undefined"], [[], "!fetch failed"]]);
    let report = answering(&[("map", closed, rules)], &options());
    assert_eq!(answer_to(&report, "misspelled_required", "url"), (AnswerKind::IsError, Some(100.0)));
}

#[test]
fn a_refused_base_call_is_changed_as_the_text_says() {
    let schema = fields(&[("project_id!", "string"), ("mode!", "string")]);
    let rules = json!([
        [["!mode=fast"], "!mode must be one of: fast, slow"],
        [["!project_id=p7"], "!Unknown project '{project_id}'. Call list_projects to see them."],
        [[], "done"],
    ]);
    let list = json!([[[], "{\"projects\": [{\"id\": \"p7\", \"name\": \"Web\"}]}"]]);
    let report = answering(&[("build", schema, rules), ("list_projects", fields(&[]), list)], &options());
    let base = report.tools[0].base.as_ref().unwrap();
    assert_eq!(base.arguments, json!({"project_id": "p7", "mode": "fast"}));
    assert_eq!((base.state, json!(base.source)), (BaseState::Accepted, json!("mended")));
    assert!(findings(&report).contains(&("base-mended", "build", 1)), "{:?}", report.findings);
    // A call of the user stays as it is.
    let calls = CallsFile::parse("tools: {build: {right: {project_id: a, mode: b}}}").unwrap();
    let options = Options { calls, ..options() };
    let kept = answering(
        &[("build", fields(&[("mode!", "string")]), json!([[[], "!mode must be one of: fast, slow"]]))],
        &options,
    );
    assert_eq!(kept.tools[0].base.as_ref().unwrap().arguments, json!({"project_id": "a", "mode": "b"}));
}

#[test]
fn errors_that_are_sent_as_successes_are_found_everywhere() {
    let schema = fields(&[("file_name!", "string"), ("depth", "integer")]);
    let rules = |last: &str| {
        json!([[["!file_name:string"], "!file_name: expected string"], [["file_name=a"], "pages: 3"], [[], last],])
    };
    let calls = CallsFile::parse("tools: {info: {right: {file_name: a}, wrong: [{file_name: none}]}}").unwrap();
    let calls = Options { calls, ..options() };
    let report = answering(&[("info", schema.clone(), rules("Document {file_name} does not exist"))], &calls);
    assert_eq!(answer_to(&report, "declared", "file_name"), (AnswerKind::SoftError, Some(0.0)));
    assert_eq!(answer_to(&report, "no_such", "file_name").0, AnswerKind::SoftError);
    let soft = report.findings.iter().find(|finding| finding.id == "soft-error").unwrap();
    assert!(soft.example.contains("Document a_hb_none does not exist"), "{soft:?}");
    // Also in the base call.
    for text in ["Document {file_name} does not exist", "{\"success\": false, \"error\": \"Connection refused\"}"] {
        let report = answering(&[("info", schema.clone(), rules(text))], &options());
        let base = report.tools[0].base.clone().unwrap();
        assert_eq!(base.state, BaseState::RefusedSoftly, "{text}");
        assert!(findings(&report).contains(&("base-soft-error", "info", 1)), "{text}");
        assert_eq!(answer_to(&report, "undeclared", "hb_extra").0, AnswerKind::Environment);
        assert!(first_calls_file(&report).contains("an error sent as a success: "), "{text}");
        for printed in [terminal(&report, None), markdown(&report, None)] {
            let first = "What to flag: 1 of 1 tool answered the base call with an error that was sent as a success";
            assert!(printed.contains(first), "{printed}");
        }
    }
    // An empty result of a search is none.
    let empty = answering(
        &[("info", schema, json!([[["!file_name:string"], "!file_name: expected string"], [[], "[]"]]))],
        &options(),
    );
    assert_eq!(empty.tools[0].base.as_ref().unwrap().state, BaseState::Accepted);
}

#[test]
fn a_success_that_warns_is_neither_error_nor_silence() {
    let mut schema = fields(&[("path!", "string"), ("depth", "integer")]);
    schema["additionalProperties"] = json!(false);
    let rules = json!([
        [["!path:string"], "!path: expected string"],
        [
            [">path,depth"],
            "You sent parameters that are unknown and were ignored: dephth. Supported: path, depth.\n\n[FILE] a"
        ],
        [["!depth:none", "!depth:number"], "Warning: depth has to be a number; using 1.\n[FILE] a"],
        [[], "[FILE] a"],
    ]);
    let report = answering(&[("list", schema, rules)], &options());
    for (kind, path) in [("undeclared", "hb_extra"), ("misspelled_optional", "depth"), ("wrong_type", "depth")] {
        let (answer, points) = answer_to(&report, kind, path);
        assert!(
            answer == AnswerKind::Warned && points.is_some_and(|points| points < 100.0),
            "{kind}: {answer:?} {points:?}"
        );
    }
    // The data beside a notice is not kept.
    let warned = report.tools[0].probes.iter().filter(|probe| probe.answer == AnswerKind::Warned);
    let kept: Vec<&str> = warned.filter_map(|probe| probe.text.as_deref()).collect();
    assert!(kept.len() > 2 && kept.iter().all(|text| text.len() > 10 && !text.contains("[FILE]")), "{kept:?}");
    let found = findings(&report);
    assert!(found.iter().any(|(id, ..)| *id == "warns"), "{found:?}");
    assert!(!found.iter().any(|(id, ..)| matches!(*id, "accepts-wrong" | "soft-error")), "{found:?}");
}

#[test]
fn calls_that_lose_nothing_do_not_lower_the_score() {
    let mut closed = fields(&[]);
    closed["additionalProperties"] = json!(false);
    let schema = fields(&[("query!", "string"), ("limit", "integer")]);
    let rules = json!([
        [["!query:string"], "!query: expected string"],
        [["limit:string"], "!limit: expected number, received string"],
        [[], "3 hits"],
    ]);
    let report = answering(&[("sessions", closed, json!([[[], "none"]])), ("search", schema, rules)], &options());
    assert_eq!((report.tools[0].score, report.tools[1].score, report.score), (None, Some(100.0), Some(100.0)));
    assert_eq!(answer_to(&report, "null", "limit").1, None);
    let found = findings(&report);
    assert!(found.contains(&("null-is-absent", "search", 1)), "{found:?}");
    // Everything can be searched for.
    assert!(!found.iter().any(|(id, ..)| matches!(*id, "accepts-wrong" | "no-such-accepted")), "{found:?}");
    assert!(terminal(&report, None).contains("Score 100.0 of 100: 1 tool"), "{}", terminal(&report, None));
}

#[test]
fn errors_of_the_domain_are_worth_as_much_as_those_of_the_schema() {
    let schema = fields(&[("zone!", "string"), ("ttl", "integer")]);
    let rules = |text: &str| {
        json!([
            [["!zone:string"], "!zone: expected string"],
            [["ttl:string"], "!ttl: expected integer"],
            [["ttl:null"], "!ttl: expected integer"],
            [["zone=a"], "A 192.0.2.1"],
            [[], format!("!{text}")],
        ])
    };
    let calls = CallsFile::parse("tools: {dns: {right: {zone: a}, wrong: [{zone: other}]}}").unwrap();
    let options = Options { calls, ..options() };
    let points = |text: &str| {
        let list = ("list_zones", fields(&[]), json!([[[], "zones"]]));
        let report = answering(&[("dns", schema.clone(), rules(text)), list], &options);
        (answer_to(&report, "declared", "zone").1.unwrap().round(), report.score.unwrap().round())
    };
    // The schema's half is 100; of the other, the zone is named.
    assert_eq!(points("Zone {zone} cannot be read"), (67.0, 83.0));
    // A tool of the server is a way out, and one that it does not have is none.
    assert_eq!(points("Zone {zone} not found. Call list_zones to see all zones."), (100.0, 100.0));
    assert_eq!(points("Zone {zone} not found. Call show_regions to see all zones."), (67.0, 83.0));
}

#[test]
fn what_ends_a_server_and_what_was_not_called_is_said() {
    let dies = answering(&[("read", fields(&[("path!", "string")]), json!([[[], "†KeyError: token"]]))], &options());
    let found = dies.findings.iter().find(|finding| finding.id == "base-dies").unwrap();
    assert!(found.example.contains("KeyError: token"), "{found:?}");
    let later = json!([[["path:string"], "ok"], [[], "†KeyError: path"]]);
    let later = answering(&[("read", fields(&[("path!", "string")]), later)], &options());
    let found = later.findings.iter().find(|finding| finding.id == "dies").unwrap();
    assert!(found.example.contains("KeyError: path"), "{found:?}");
    // Tools that may write are in the first calls file.
    let unmarked = audited("files", &options());
    let written = first_calls_file(&unmarked);
    let read = CallsFile::parse(&written).unwrap();
    assert_eq!(read.tools.len(), 2);
    assert!(json!(read.tools["write"].right).is_object() && written.contains("# Not called"), "{written}");
}

#[test]
fn what_looks_equal_did_not_change() {
    let before = audited("audited", &options());
    let mut after = before.clone();
    after.score = before.score.map(|score| score - 0.04);
    after.tools[0].score = Some(99.96);
    assert_eq!(changes(&before, &after), []);
    after.tools[0].score = Some(99.94);
    assert_eq!(changes(&before, &after)[0].text, "tells: 100.0 → 99.9");
}
