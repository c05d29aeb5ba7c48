//! Records that logs have twice.

use healbench_import::{Options, ProblemKind};
use serde_json::{Value, json};

use super::sources::{claude_part, claude_result, claude_user};
use super::{import_files, import_paths, lines, outline, read};

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Read", "input": {}})
}

#[test]
fn a_resumed_session_has_only_what_is_new() {
    let history = [
        claude_user("u1", "", "first"),
        claude_part("u2", "u1", "m1", &call("a")),
        claude_result("u3", "u2", "a", "A"),
        claude_part("u4", "u3", "m2", &json!({"type": "text", "text": "one"})),
    ];
    let mut resumed = history.to_vec();
    resumed.push(claude_user("v1", "u4", "second"));
    resumed.push(claude_part("v2", "v1", "m3", &json!({"type": "text", "text": "two"})));
    resumed.iter_mut().for_each(|line| line["sessionId"] = "t".into());
    let (first, second) = (lines(&history), lines(&resumed));
    let files: [(&str, &[u8]); 3] =
        [("a.jsonl", first.as_bytes()), ("b.jsonl", second.as_bytes()), ("c.jsonl", first.as_bytes())];
    let (all, summary) = import_files(&files, &Options::default()).unwrap();
    let outlines: Vec<String> = all.iter().map(outline).collect();
    let expected = "user first\nturn 10/5 \ncall Read{} -> A\nturn 10/5 one\n";
    assert_eq!(outlines, [expected, "user second\nturn 10/5 two\n"]);
    let told: Vec<String> = summary.problems.listed.iter().map(ToString::to_string).collect();
    let told_of = |place: &str| format!("{place}: it was read before and was left out (4 records of another session)");
    assert_eq!(told, [told_of("b.jsonl:1"), told_of("c.jsonl:1")]);
}

#[test]
fn a_result_that_only_the_resumed_session_has_is_kept_with_its_call() {
    let history = [
        claude_user("u1", "", "first"),
        claude_part("u2", "u1", "m1", &call("z")),
        claude_result("u3", "u2", "z", "Z"),
        claude_part("u4", "u3", "m2", &call("a")),
        claude_part("u5", "u4", "m2", &call("b")),
        claude_result("u6", "u4", "a", "A"),
    ];
    let mut resumed = history.to_vec();
    resumed.push(claude_result("v1", "u5", "b", "B"));
    resumed.push(claude_part("v2", "v1", "m3", &json!({"type": "text", "text": "two"})));
    let (first, second) = (lines(&history), lines(&resumed));
    let files: [(&str, &[u8]); 2] = [("a.jsonl", first.as_bytes()), ("b.jsonl", second.as_bytes())];
    let (all, summary) = import_files(&files, &Options::default()).unwrap();
    let outlines: Vec<String> = all.iter().map(outline).collect();
    let before = "user first\nturn 10/5 \ncall Read{} -> Z\nturn 10/5 \ncall Read{} -> A\ncall Read{} -> nothing\n";
    let after = "turn 10/5 \ncall Read{} -> B\nturn 10/5 two\n";
    assert_eq!(outlines, [before, after]);
    assert!(!summary.problems.counts.contains_key(&ProblemKind::NoCall), "{:?}", summary.problems.listed);
    let mut told = summary.problems.listed.iter().map(ToString::to_string);
    assert!(told.any(|text| text.ends_with("(5 records of another session)")));
}

#[test]
fn an_answer_that_was_taken_back_is_left_out() {
    let log = lines(&[
        claude_user("u1", "", "go"),
        claude_part("u2", "u1", "m1", &call("a")),
        claude_result("u3", "u2", "a", "A"),
        claude_part("u4", "u3", "m2", &json!({"type": "text", "text": "old"})),
        claude_part("v2", "u1", "m3", &call("b")),
        claude_part("v3", "u1", "m3", &call("c")),
        claude_result("v4", "v2", "b", "B"),
        claude_result("v5", "v3", "c", "C"),
        claude_part("v6", "v5", "m4", &json!({"type": "text", "text": "new"})),
    ]);
    let all = read("s.jsonl", &log, &[]);
    let expected = "user go\nturn 10/5 \ncall Read{} -> B\ncall Read{} -> C\nturn 10/5 new\n";
    assert_eq!(all.iter().map(outline).collect::<Vec<_>>(), [expected]);
}

fn codex_log(id: &str, answer: &str) -> Vec<u8> {
    let line = |kind: &str, payload: Value| json!({"type": kind, "payload": payload});
    let text = json!([{"type": "output_text", "text": answer}]);
    let item = json!({"type": "message", "role": "assistant", "content": text});
    lines(&[line("session_meta", json!({"id": id})), line("response_item", item)]).into_bytes()
}

fn opencode_log(id: &str, answer: &str) -> Vec<u8> {
    lines(&[json!({"type": "text", "sessionID": id, "part": {"messageID": "m", "text": answer}})]).into_bytes()
}

fn recorded_log(id: &str, answer: &str) -> Vec<u8> {
    let row = json!({"episode": id, "call": 1, "effect": "none", "tool": "a", "arguments": {}, "text": answer});
    lines(&[row]).into_bytes()
}

fn tau2_log(id: &str, answer: &str) -> Vec<u8> {
    let simulation =
        json!({"id": id, "task_id": "7", "trial": 0, "messages": [{"role": "assistant", "content": answer}]});
    json!({"info": {"environment_info": {}}, "simulations": [simulation]}).to_string().into_bytes()
}

fn inspect_sample(id: &str, answer: &str) -> Value {
    json!({"id": 4, "epoch": 1, "uuid": id, "messages": [{"role": "assistant", "content": answer}]})
}

fn inspect_log(id: &str, answer: &str) -> Vec<u8> {
    let eval = json!({"task": "t", "model": "m"});
    json!({"status": "success", "eval": eval, "samples": [inspect_sample(id, answer)]}).to_string().into_bytes()
}

#[test]
fn a_copy_of_a_conversation_with_an_id_is_read_once() {
    let forms: [fn(&str, &str) -> Vec<u8>; 5] = [codex_log, opencode_log, recorded_log, tau2_log, inspect_log];
    for log in forms {
        let files = [log("s1", "done"), log("s1", "done"), log("s2", "done"), log("s1", "done, and more")];
        let ending =
            if files[0].starts_with(b"{\"info\"") || files[0].starts_with(b"{\"status\"") { "json" } else { "jsonl" };
        let names = ["calls-a", "calls-b", "calls-c", "calls-d"].map(|name| format!("{name}.{ending}"));
        let named: Vec<(&str, &[u8])> =
            names.iter().zip(&files).map(|(name, file)| (name.as_str(), &file[..])).collect();
        let (all, summary) = import_files(&named, &Options { strict: true, ..Options::default() }).unwrap();
        assert_eq!(all.iter().map(|one| one.origin.0).collect::<Vec<_>>(), [0, 2, 3], "{}", all[0].source);
        let is_copy = |problem: &&healbench_import::Problem| problem.kind == ProblemKind::Repeated;
        let told: Vec<String> = summary.problems.listed.iter().filter(is_copy).map(ToString::to_string).collect();
        assert!(told.len() == 1 && told[0].starts_with("calls-b.") && told[0].contains("(a copy of "), "{told:?}");
    }
}

#[test]
fn the_samples_of_an_eval_are_those_of_its_json() {
    use std::io::Write as _;
    let mut out = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let header = json!({"eval": {"task": "t", "model": "m", "eval_id": "e"}});
    let sample = |epoch: u8| json!({"id": 4, "epoch": epoch, "messages": [{"role": "assistant", "content": "done"}]});
    for (name, value) in [("header.json", &header), ("samples/1.json", &sample(1)), ("samples/2.json", &sample(2))] {
        out.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        out.write_all(value.to_string().as_bytes()).unwrap();
    }
    let eval = out.finish().unwrap().into_inner();
    let json = json!({"status": "success", "eval": header["eval"], "samples": [sample(1), sample(2)]}).to_string();
    let files: [(&str, &[u8]); 2] = [("log.eval", &eval), ("log.json", json.as_bytes())];
    let (all, summary) = import_files(&files, &Options::default()).unwrap();
    assert_eq!((all.len(), summary.problems.counts[&ProblemKind::Repeated]), (2, 2));
}

#[test]
fn a_file_that_is_named_twice_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let log = json!({"messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "end"}]});
    std::fs::write(&path, log.to_string()).unwrap();
    let (all, summary) = import_paths(&[path.clone(), folder.path().to_owned(), path], &Options::default()).unwrap();
    assert_eq!((all.len(), summary.files.len(), summary.problems.counts[&ProblemKind::Repeated]), (1, 1, 2));
}
