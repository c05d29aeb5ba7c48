//! Audits of a server that answers wrong calls in every way, and of servers that do what no server should.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that meets a surprise shall panic")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use healbench_audit::{
    AnswerKind, AuditError, AuditReport, BaseState, CallsFile, Options, Server, audit, changes, first_calls_file,
    junit, markdown, terminal,
};
use healbench_mcp::{Endpoint, Limits, McpSession, ServerCommand, Supervisor};
use serde_json::json;
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

/// Audits the test server, and returns the number of its starts as well.
fn try_audit(mode: &str, options: &Options) -> (Result<AuditReport, AuditError>, usize) {
    let supervisor = Supervisor::new(test_server(), Arc::clone(&options.stop));
    let program = test_server().display().to_string();
    let mut starts = 0;
    let result = audit(options, &mut || {
        starts += 1;
        let folder = TempDir::new().unwrap();
        let words = [program.clone(), mode.to_owned()];
        let command = ServerCommand { dir: Some(folder.path().into()), ..ServerCommand::new(&words, &[]).unwrap() };
        let session = McpSession::start(&supervisor, &Endpoint::Command(command), &LIMITS)?;
        Ok(Server { session, folder })
    });
    (result, starts)
}

fn audited(mode: &str, options: &Options) -> AuditReport {
    try_audit(mode, options).0.unwrap_or_else(|error| panic!("{mode}: {error}"))
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
    let answer = report.answer.clone().unwrap();
    let worst = answer.worst.unwrap();
    assert_eq!((worst.tool.as_str(), worst.repaired), ("mutters", 0));
    assert!(worst.errors > 0 && answer.repaired > 0 && answer.errors == answer.repaired + worst.errors, "{worst:?}");
    // Once at the beginning, and once after the end of it.
    assert_eq!(starts, 2);
    let found = findings(&report);
    for expected in [
        ("accepts-wrong", "accepts", 10),
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
    let text = "tools:\n  read:\n    right: {path: Cargo.toml}\n    wrong: [{path: \"{dir}/none\"}]\n  write:\n    right: {path: \"{dir}/a\", text: x}\n";
    let calls = CallsFile::parse(text).unwrap();
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
    assert_eq!(read_again.tools["write"].right, CallsFile::parse(text).unwrap().tools["write"].right);
    assert!(written.contains("refused: Cargo.toml: "), "{written}");
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
    for mode in ["hangs", "utf8"] {
        let found = audited(mode, &short).findings;
        let found = found.iter().find(|finding| finding.id == "base-hangs").unwrap();
        assert!(found.example.ends_with(": no answer within 0.3 s"), "{mode}: {}", found.example);
    }
    assert_eq!(state("asks", &options()).0, BaseState::Asks);
    // A line that is not UTF-8 is no answer.
    assert_eq!(state("utf8", &short).0, BaseState::Slow);
    for (mode, expected) in [("no-content", BaseState::Accepted), ("text-error", BaseState::Refused)] {
        let (base, probes, scored, _) = state(mode, &options());
        assert_eq!((base, probes > 0, scored), (expected, true, true), "{mode}");
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
