//! Logs that are broken.

use healbench_import::{ImportError, Options, Position, ProblemKind};
use serde_json::{Value, json};

use super::sources::claude_line;
use super::{import_files, lines, outline};

const MIB: usize = 1024 * 1024;

fn conversation(text: &str) -> Value {
    json!({"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "end"}]})
}

/// Reads a log, and returns the outlines of its conversations and its problems.
fn problems(name: &str, log: &[u8]) -> (Vec<String>, Vec<(ProblemKind, Position)>) {
    let (all, summary) = import_files(&[(name, log)], &Options::default()).unwrap();
    let found: Vec<_> = summary.problems.listed.iter().map(|problem| (problem.kind, problem.position)).collect();
    let strict = import_files(&[(name, log)], &Options { strict: true, ..Options::default() });
    assert_eq!(strict.is_err(), found.iter().any(|(kind, _)| kind.is_damage()), "{found:?}");
    (all.iter().map(outline).collect(), found)
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| format!("user {text}\nturn end\n")).collect()
}

#[test]
fn a_broken_line_is_left_out() {
    let log = format!("{}\n{{\"messages\": [}}\n\n{}\n", conversation("a"), conversation("b"));
    assert_eq!(
        problems("a.jsonl", log.as_bytes()),
        (texts(&["a", "b"]), vec![(ProblemKind::Broken, Position::Line(2))])
    );
}

#[test]
fn a_broken_entry_is_left_out() {
    let log = format!("[{}, {{\"messages\" 1}}, {{\"other\": 1}}, {}]", conversation("a"), conversation("b"));
    let expected = vec![(ProblemKind::Broken, Position::Entry(1)), (ProblemKind::Broken, Position::Entry(2))];
    assert_eq!(problems("a.json", log.as_bytes()), (texts(&["a", "b"]), expected));
}

#[test]
fn fields_that_come_too_late_are_told() {
    let log = json!({"results": [conversation("a")], "model": "m", "notes": 1}).to_string();
    assert_eq!(problems("a.json", log.as_bytes()), (texts(&["a"]), vec![(ProblemKind::Broken, Position::File)]));
}

#[test]
fn a_log_may_end_in_the_middle() {
    let two = lines(&[conversation("a"), conversation("b")]);
    let cut = &two.as_bytes()[..two.len() - 9];
    assert_eq!(problems("a.jsonl", cut), (texts(&["a"]), vec![(ProblemKind::EndsInTheMiddle, Position::Line(2))]));
    let array = json!([conversation("a"), conversation("b")]).to_string();
    let (all, found) = problems("a.json", &array.as_bytes()[..array.len() - 9]);
    assert_eq!((all, found[0].0), (texts(&["a"]), ProblemKind::EndsInTheMiddle));
    // A last line that is whole needs no end.
    assert_eq!(problems("a.jsonl", two.trim_end().as_bytes()), (texts(&["a", "b"]), vec![]));
}

#[test]
fn a_session_that_ends_in_the_middle_is_cut_off() {
    let log = lines(&[
        claude_line("user", "1", "", &json!({"role": "user", "content": "go"})),
        claude_line(
            "assistant",
            "2",
            "1",
            &json!({"id": "m", "role": "assistant", "content": [{"type": "text", "text": "half"}]}),
        ),
    ]);
    let log = format!("{log}{{\"type\":\"assis");
    let (all, summary) = import_files(&[("s.jsonl", log.as_bytes())], &Options::default()).unwrap();
    assert!(all[0].is_cut_off);
    assert_eq!((summary.problems.listed.len(), summary.problems.listed[0].position), (1, Position::Line(3)));
}

#[test]
fn problems_of_a_session_have_their_own_lines() {
    let part = |uuid: &str, parent: &str, block: &Value| {
        claude_line("assistant", uuid, parent, &json!({"id": uuid, "role": "assistant", "content": [block]}))
    };
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "a", "input": {}});
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "r"}]});
    let log = lines(&[
        claude_line("user", "1", "", &json!({"role": "user", "content": "go"})),
        part("2", "1", &call("a")),
        part("3", "2", &json!({"type": "text", "text": "b"})),
        claude_line("user", "4", "3", &result),
        claude_line("user", "5", "4", &result),
        part("6", "5", &call("c")),
    ]);
    let expected = [
        (ProblemKind::NoCall, Position::Line(4)),
        (ProblemKind::NoCall, Position::Line(5)),
        (ProblemKind::NoResult, Position::Line(2)),
        (ProblemKind::NoResult, Position::Line(6)),
        (ProblemKind::CutOff, Position::Line(6)),
    ];
    assert_eq!(problems("s.jsonl", log.as_bytes()).1, expected);
}

#[test]
fn a_log_that_is_cut_is_told_once() {
    let whole = json!([conversation("a"), conversation("b")]).to_string();
    for cut in [&whole[..whole.len() - 9], "{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"content\":"] {
        let found = problems("a.json", cut.as_bytes()).1;
        assert_eq!(found.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [ProblemKind::EndsInTheMiddle], "{cut}");
    }
}

#[test]
fn a_compressed_log_may_end_in_the_middle() {
    let log: Vec<Value> = (0..20_000).map(|n| conversation(&format!("text {} of {n}", n * 7919 % 10007))).collect();
    let zstd = zstd::encode_all(lines(&log).as_bytes(), 1).unwrap();
    let (all, found) = problems("a.jsonl.zst", &zstd[..zstd.len() / 2]);
    assert!(!all.is_empty() && all.len() < 20_000, "{}", all.len());
    // It is told where the text ends, and not once more for the file.
    let ends: Vec<_> = found.iter().filter(|(kind, _)| *kind == ProblemKind::EndsInTheMiddle).collect();
    assert_eq!(ends, [&(ProblemKind::EndsInTheMiddle, Position::Line(all.len() as u64 + 1))]);
}

#[test]
fn bytes_that_are_no_utf8_are_replaced() {
    let mut log = lines(&[conversation("aXb"), conversation("c")]).into_bytes();
    let at = log.iter().position(|byte| *byte == b'X').unwrap();
    log[at] = 0xff;
    assert_eq!(
        problems("a.jsonl", &log),
        (texts(&["a\u{fffd}b", "c"]), vec![(ProblemKind::BrokenUtf8, Position::Line(1))])
    );
}

#[test]
fn json_as_python_writes_it_is_read() {
    let log = r#"{"score": NaN, "cost": [-Infinity, Infinity], "messages": [{"role": "user", "content": "NaN \ud83d cut, \ud83d\ude00 \\"},
        {"role": "assistant", "content": "end"}]}"#;
    assert_eq!(problems("a.json", log.as_bytes()), (texts(&["NaN \u{fffd} cut, 😀 \\"]), vec![]));
}

#[test]
fn a_conversation_of_more_than_64_mib_is_left_out() {
    let long = "x".repeat(64 * MIB);
    for (name, log, position) in [
        ("a.jsonl", lines(&[conversation("a"), conversation(&long), conversation("b")]), Position::Line(2)),
        ("a.json", json!([conversation("a"), conversation(&long), conversation("b")]).to_string(), Position::Entry(1)),
    ] {
        assert_eq!(
            problems(name, log.as_bytes()),
            (texts(&["a", "b"]), vec![(ProblemKind::TooLong, position)]),
            "{name}"
        );
    }
}

#[test]
fn clocks_that_run_backwards_are_told_once() {
    let message = |time: &str, role: &str| json!({"role": role, "content": "x", "timestamp": time});
    let log = json!({"messages": [
        message("2026-01-01T00:00:02", "user"), message("2026-01-01T00:00:01", "assistant"),
        message("2026-01-01T00:00:00", "user"), message("2026-01-01T00:00:09", "assistant")]});
    assert_eq!(problems("a.json", log.to_string().as_bytes()).1, [(ProblemKind::ClockBackwards, Position::File)]);
}

#[test]
fn a_strict_import_names_the_place() {
    let log = format!("{}\n{{]\n", conversation("a"));
    let strict = Options { strict: true, ..Options::default() };
    let error = import_files(&[("x/a.jsonl", log.as_bytes())], &strict).unwrap_err();
    assert!(matches!(error, ImportError::Damage(_)));
    assert!(error.to_string().starts_with("x/a.jsonl:2: it cannot be read"), "{error}");
}

#[test]
fn of_many_problems_a_hundred_are_listed() {
    let (_, summary) = import_files(
        &[
            ("a.jsonl", "{\"role\": \"user\", \"content\"\n".repeat(150).as_bytes()),
            ("b.json", conversation("b").to_string().as_bytes()),
        ],
        &Options { source: Some("openai-chat".to_owned()), ..Options::default() },
    )
    .unwrap();
    assert_eq!((summary.problems.listed.len(), summary.problems.counts[&ProblemKind::Broken]), (100, 150));
}

#[test]
fn sessions_of_more_than_64_mib_together_are_not_held() {
    let long = "x".repeat(40 * MIB);
    let line = |session: &str, uuid: &str, is_long: bool| {
        let mut line = claude_line("user", uuid, "", &json!({"role": "user", "content": uuid}));
        line["sessionId"] = session.into();
        line["toolUseResult"] = if is_long { long.as_str().into() } else { Value::Null };
        line
    };
    // The older session is passed on as soon as both are too long, so that its last line begins a new conversation.
    let log = lines(&[line("a", "1", true), line("b", "2", true), line("a", "3", false)]);
    assert_eq!(
        problems("s.jsonl", log.as_bytes()),
        (
            ["user 1\n", "user 2\n", "user 3\n"].map(str::to_owned).to_vec(),
            vec![(ProblemKind::CutOff, Position::Line(1))]
        )
    );
    // A session that is too long alone is left out, and so are its later lines.
    let log = lines(&[line("a", "1", true), line("a", "2", true), line("a", "3", false), line("b", "4", false)]);
    let (all, found) = problems("s.jsonl", log.as_bytes());
    assert_eq!((all, found), (vec!["user 4\n".to_owned()], vec![(ProblemKind::TooLong, Position::Line(2))]));
}
