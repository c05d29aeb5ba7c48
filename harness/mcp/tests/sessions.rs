//! Sessions with servers that do what no server should. Each test ends, and leaves no process behind.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that meets a surprise shall panic")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use healbench_core::{CallResult, ContentBlock, ProtocolError};
use healbench_mcp::{
    CallAnswer, CallOutcome, Defects, Endpoint, Limits, McpError, McpSession, ProgramEnd, ServerCommand, StdioSession,
    Supervisor, run_program,
};
use serde_json::{Value, json};

const LIMITS: Limits = Limits { start: Duration::from_secs(20), line: 1 << 20 };
/// Time enough for an answer on a busy machine.
const LONG: Duration = Duration::from_secs(20);
/// Time in which an answer that never comes is waited for.
const SHORT: Duration = Duration::from_millis(300);

fn command(words: &[&str]) -> ServerCommand {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    ServerCommand::new(&words, &[]).unwrap()
}

/// An owner of processes whose flag is never set.
fn supervisor() -> Supervisor {
    Supervisor::new(env!("CARGO_BIN_EXE_mcp-test-server").into(), Arc::default())
}

fn server(mode: &str) -> ServerCommand {
    command(&[env!("CARGO_BIN_EXE_mcp-test-server"), mode])
}

fn start(mode: &str) -> Result<StdioSession, McpError> {
    StdioSession::start(&supervisor(), &server(mode), &LIMITS)
}

fn session(mode: &str) -> StdioSession {
    start(mode).unwrap_or_else(|error| panic!("{mode}: {error}"))
}

/// The message of a session that does not start, without the folder of the server.
fn refusal(mode: &str) -> String {
    let error = start(mode).err().unwrap_or_else(|| panic!("{mode} starts"));
    without_folder(&error)
}

fn without_folder(error: &McpError) -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_mcp-test-server")).parent().unwrap();
    error.to_string().replace(&format!("{}/", folder.display()), "")
}

fn echo(session: &mut StdioSession, text: &str) -> CallAnswer {
    session.call("echo", &json!({"text": text}), LONG).unwrap()
}

fn text_of(answer: &CallAnswer) -> String {
    match answer.outcome.to_call_result().content.as_slice() {
        [ContentBlock::Text(text)] => text.clone(),
        other => panic!("{other:?}"),
    }
}

/// Returns the processes whose command line or session fits.
fn running(fits: impl Fn(&str, &str) -> bool) -> usize {
    let process = |entry: fs::DirEntry| {
        let folder = entry.path();
        let line = String::from_utf8_lossy(&fs::read(folder.join("cmdline")).ok()?).replace('\0', " ");
        Some((line, fs::read_to_string(folder.join("stat")).ok()?))
    };
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| process(entry.unwrap()));
    all.filter(|(line, stat)| !stat.contains(") Z ") && fits(line, stat)).count()
}

#[test]
fn a_server_is_started_listed_called_and_ended() {
    let mut session = session("ok");
    assert_eq!((session.revision(), &session.server_info()["name"]), ("2025-06-18", &json!("test")));
    let tools: Vec<(&str, bool)> =
        session.tools().iter().map(|tool| (tool.name.as_str(), tool.is_read_only())).collect();
    assert_eq!(tools, [("echo", true), ("add", true)]);
    assert_eq!(session.tools()[0].input_schema()["required"], json!(["text"]));
    assert_eq!(text_of(&echo(&mut session, "a\nb")), "a\nb");
    let refused = session.call("echo", &json!({}), LONG).unwrap().outcome.to_call_result();
    assert!(refused.is_error && refused.shown()[0].ends_with("text is required"));
    let unknown = session.call("lost", &json!({}), LONG).unwrap().outcome.to_call_result();
    let error = ProtocolError { code: -32602, message: "Unknown tool: lost".to_owned(), data: None };
    assert_eq!(unknown, CallResult { protocol_error: Some(error), ..CallResult::default() });
    assert_eq!(*session.defects(), healbench_mcp::Defects::default());
}

#[test]
fn pages_are_read_to_the_end() {
    let names = |mode| session(mode).tools().iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    assert_eq!(names("pages"), ["echo", "other"]);
    assert_eq!(names("many").len(), 5000);
}

#[test]
fn a_server_that_does_not_start_says_why() {
    let said = |words: &str| format!("; its last words: {words}");
    let ended = "`mcp-test-server` ended (exit status: 3) before it answered `initialize`".to_owned();
    assert_eq!(refusal("exit"), ended + &said("no configuration found"));
    assert_eq!(
        refusal("revision"),
        "`mcp-test-server` answered `initialize` with the revision 1999-01-01 of MCP; this client knows 2025-11-25, \
         2025-06-18, 2025-03-26, 2024-11-05"
    );
    assert_eq!(refusal("no-tools"), "`mcp-test-server` answered `tools/list` with no list of `tools`");
    assert_eq!(refusal("refuses"), "`mcp-test-server` refused `tools/list`: no tools\\nhere (-32601)");
    assert_eq!(
        refusal("cursor"),
        "`mcp-test-server` answered `tools/list` with the cursor again a second time: its pages never end"
    );
    let garbage = refusal("garbage");
    let expected = "does not speak MCP: 1001 lines of its standard output are no messages; the first is Listening ...";
    assert!(garbage.contains(expected), "{garbage}");
    let limits = Limits { start: SHORT, ..LIMITS };
    let deaf = StdioSession::start(&supervisor(), &server("deaf"), &limits).err().unwrap();
    assert_eq!(without_folder(&deaf), "`mcp-test-server` did not answer `initialize` within 0 s");
    let missing = StdioSession::start(&supervisor(), &command(&["no-such-server\u{1b}"]), &LIMITS).err().unwrap();
    assert!(missing.to_string().starts_with("`no-such-server\\u{1b}` cannot be started: "), "{missing}");
    assert!(missing.help().is_some());
    assert_eq!(ServerCommand::new(&[], &[]), None);
}

/// Programs that are used wrongly give the reason first, and a usage after it.
#[test]
fn the_reason_before_a_long_usage_is_shown() {
    // All lines, some, and more than are kept.
    for lines in [5, 200, 5000] {
        let lines = lines.to_string();
        let command = command(&[env!("CARGO_BIN_EXE_mcp-test-server"), "usage", &lines]);
        let error = StdioSession::start(&supervisor(), &command, &LIMITS).err().unwrap();
        let text = error.to_string();
        let words = text.split_once("its last words: ").unwrap().1;
        let last = format!("  --flag-{}  is described here", lines.parse::<u32>().unwrap() - 1);
        assert!(
            words.starts_with("Error: there is no file notes.toml\\n  --flag-0 ") && words.ends_with(&last),
            "{text}"
        );
        assert_eq!((words.contains(" … "), words.len() < 2400), (lines != "5", true), "{text}");
        assert!(error.help().unwrap().contains("HOME"), "{error:?}");
    }
}

#[test]
fn a_server_that_ends_in_a_call_leaves_its_last_words() {
    let mut session = session("dies");
    let error = session.call("echo", &json!({"text": ""}), LONG).unwrap_err();
    let expected = "`mcp-test-server` ended (exit status: 137) before it answered `tools/call`; its last words: out of \
                    memory\\u{1b}[31m";
    assert_eq!(without_folder(&error), expected);
    // It stays ended.
    assert!(session.call("echo", &json!({}), LONG).is_err());
}

#[test]
fn an_output_that_is_closed_is_told_from_an_end() {
    let closed =
        StdioSession::start(&supervisor(), &command(&["sh", "-c", "exec >&-; sleep 60"]), &LIMITS).err().unwrap();
    assert_eq!(
        closed.to_string(),
        "`sh` closed its standard output before it answered `initialize`, and goes on running"
    );
}

#[test]
fn lines_that_are_no_messages_are_counted() {
    let mut logs = session("logs");
    assert_eq!(text_of(&echo(&mut logs, "x")), "x");
    assert_eq!((logs.defects().stray_lines, logs.defects().first_stray_lines[0].as_str()), (1, "Server started"));
    let mut invalid = session("invalid");
    assert_eq!(text_of(&echo(&mut invalid, "x")), "x");
    assert_eq!((invalid.defects().stray_lines, invalid.defects().batches), (2, 1));
}

#[test]
fn answers_that_were_not_asked_for_are_dropped() {
    let mut twice = session("twice");
    assert_eq!((text_of(&echo(&mut twice, "1")), text_of(&echo(&mut twice, "2"))), ("1".to_owned(), "2".to_owned()));
    assert_eq!(twice.defects().second_answers, 1);
    let mut unknown = session("unknown");
    assert_eq!(text_of(&echo(&mut unknown, "1")), "1");
    assert_eq!(unknown.defects().unknown_ids, 1);
}

#[test]
fn a_late_answer_is_not_that_of_the_next_call() {
    let mut session = session("late");
    let late = session.call("echo", &json!({"text": "late"}), SHORT).unwrap();
    assert_eq!(late.outcome, CallOutcome::TimedOut);
    assert!(late.elapsed >= SHORT);
    let error = late.outcome.to_call_result().protocol_error.unwrap();
    assert_eq!((error.code, error.message.as_str()), (-32001, "Request timed out"));
    assert_eq!(text_of(&echo(&mut session, "next")), "next");
    assert_eq!(session.defects().late_answers, 1);
}

/// The first of two calls is answered if it can be, and the second leaves no trace.
#[test]
fn a_call_without_an_answer_is_sent_again() {
    let answer = |text: &str| {
        let endpoint = Endpoint::Command(server("again"));
        let mut session = McpSession::start(&supervisor(), &endpoint, &LIMITS).unwrap();
        let (time, again) = (Duration::from_secs(6), Some(Duration::from_secs(3)));
        let call = session.call_unmasked("echo", &json!({"text": text}), time, again).unwrap();
        // It begins with a call that is not answered, so that all lines before were read.
        let end = session.call("echo", &json!({"text": "end"}), SHORT).unwrap();
        assert_eq!((end.outcome, session.defects()), (CallOutcome::TimedOut, &Defects::default()), "{text}");
        text_of(&call)
    };
    thread::scope(|scope| {
        let calls = ["lost", "busy", "late"].map(|text| (text, scope.spawn(move || answer(text))));
        for (text, call) in calls {
            assert_eq!(call.join().unwrap(), text);
        }
    });
}

#[test]
fn neither_silence_nor_progress_is_an_answer() {
    for mode in ["hangs", "progress"] {
        let mut session = session(mode);
        let started = Instant::now();
        assert_eq!(session.call("echo", &json!({"text": ""}), SHORT).unwrap().outcome, CallOutcome::TimedOut, "{mode}");
        assert!(started.elapsed() < LONG, "{mode}");
    }
}

#[test]
fn requests_of_a_server_are_refused_and_reported() {
    let mut asks = session("asks");
    let answer = echo(&mut asks, "x");
    assert_eq!((answer.asked.as_slice(), text_of(&answer).as_str()), (&["elicitation/create".to_owned()][..], "x"));
    let mut changes = session("changes");
    assert!(!changes.defects().tools_changed);
    echo(&mut changes, "x");
    assert!(changes.defects().tools_changed);
}

#[test]
fn results_are_read_as_far_as_they_can_be() {
    let outcome = |mode: &str| session(mode).call("echo", &json!({"text": "x"}), LONG).unwrap().outcome;
    let result = |mode: &str| outcome(mode).to_call_result();
    assert!(result("text-error").is_error);
    assert_eq!(result("no-content"), CallResult::default());
    // A line that is not UTF-8 is no message, so the call has no answer.
    let mut utf8 = session("utf8");
    assert_eq!(utf8.call("echo", &json!({"text": "x"}), SHORT).unwrap().outcome, CallOutcome::TimedOut);
    assert_eq!(utf8.defects().stray_lines, 1);
    let error = session("long").call("echo", &json!({"text": "x"}), LONG).unwrap_err();
    assert_eq!(
        without_folder(&error),
        "`mcp-test-server` sent a line of over 1048576 bytes while `tools/call` was to be answered"
    );
    for (result, has_problem) in [
        (json!({}), false),
        (json!({"content": []}), false),
        (json!({"content": [{"type": "image", "data": ""}, {"type": "text", "text": "x"}]}), false),
        (json!("done"), true),
        (json!({"content": "done"}), true),
        (json!({"content": ["done"]}), true),
        (json!({"content": [{"type": "text", "text": 5}]}), true),
    ] {
        assert_eq!(CallOutcome::Result(result.clone()).problem().is_some(), has_problem, "{result}");
    }
    let structured =
        CallOutcome::Result(json!({"structuredContent": {"n": 1}, "content": [{"type": "image"}, {"text": ""}]}));
    let read = structured.to_call_result();
    assert_eq!(read.structured, Some(json!({"n": 1})));
    assert_eq!(read.content, [json!({"type": "image"}), json!({"text": ""})].map(ContentBlock::Other));
}

#[test]
fn a_server_gets_few_variables() {
    let mut named = server("environment");
    named.environment = healbench_mcp::Variables::Only(vec!["CARGO_MANIFEST_DIR".to_owned(), "NOT_SET".to_owned()]);
    let mut session = StdioSession::start(&supervisor(), &named, &LIMITS).unwrap();
    let text = text_of(&echo(&mut session, ""));
    let mut names: Vec<&str> = text.split(' ').filter(|name| *name != "LANG").collect();
    names.sort_unstable();
    assert_eq!(names, ["CARGO_MANIFEST_DIR", "HOME", "PATH", "TMPDIR"]);
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_is_left_running() {
    let session = session("child");
    // The child has a group of its own, and holds the output of the server.
    let deadline = Instant::now() + LONG;
    while session.last_words().is_empty() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(5));
    }
    let words = session.last_words();
    let child = words.strip_prefix("child ").unwrap();
    assert_eq!(running(|_, stat| stat.starts_with(&format!("{child} "))), 1);
    drop(session);
    assert_eq!(running(|_, stat| stat.starts_with(&format!("{child} "))), 0);
    // Neither does a server that hangs, or one that did not start.
    let mut hanging = self::session("hangs");
    assert_eq!(hanging.call("echo", &Value::Null, SHORT).unwrap().outcome, CallOutcome::TimedOut);
    drop(hanging);
    let marked = command(&["sh", "-c", "trap '' TERM; echo x >&2; sleep 7613 & wait"]);
    let limits = Limits { start: SHORT, ..LIMITS };
    assert!(StdioSession::start(&supervisor(), &marked, &limits).is_err());
    assert_eq!(running(|line, _| line.contains("sleep 7613")), 0);
}

#[test]
fn a_program_is_run_to_its_end() {
    let run = |script: &str, timeout| run_program(&supervisor(), &command(&["sh", "-c", script]), timeout).unwrap();
    let ProgramEnd { status, last_words } = run("echo no >&2; exit 4", LONG);
    assert_eq!((status.unwrap().code(), last_words.as_str()), (Some(4), "no"));
    assert_eq!(run("sleep 60", SHORT).status, None);
    assert_eq!(run("sleep 7614 & exit 0", LONG).status.unwrap().code(), Some(0));
    assert_eq!(running(|line, _| line.contains("sleep 7614")), 0);
    let mut in_root = command(&["sh", "-c", "test \"$PWD\" = /"]);
    in_root.dir = Some("/".into());
    assert!(run_program(&supervisor(), &in_root, LONG).unwrap().status.unwrap().success());
}
