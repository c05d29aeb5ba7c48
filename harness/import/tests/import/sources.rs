//! A conversation of each source.

use healbench_import::{Conversation, ProblemKind, SOURCES};
use serde_json::{Value, json};

use super::{import_files, lines, outline, read};

fn only(all: Vec<Conversation>) -> Conversation {
    assert_eq!(all.len(), 1, "{all:?}");
    all.into_iter().next().unwrap()
}

#[test]
fn openai_chat() {
    let log = json!({"model": "m-1", "tools": [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}], "messages": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "add 1 and 2"}]},
        {"role": "assistant", "content": null, "usage": {"prompt_tokens": 10, "completion_tokens": 3}, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "add", "arguments": "{\"x\":1}"}},
            {"id": "b", "type": "function", "function": {"name": "add", "arguments": "{\"x\":1,\"y\":2}"}}]},
        {"role": "tool", "tool_call_id": "b", "content": "3"},
        {"role": "tool", "tool_call_id": "a", "content": "y is missing", "is_error": true},
        {"role": "assistant", "content": "it is 3"}]});
    let conversation = only(read("sums/one.json", &log.to_string(), &[]));
    assert_eq!(conversation.source, "openai-chat");
    assert_eq!(conversation.task, "sums/one");
    assert_eq!(conversation.model.as_deref(), Some("m-1"));
    assert_eq!(conversation.tools.as_ref().unwrap()[0].name, "add");
    assert!(!conversation.is_cut_off);
    let expected = "user add 1 and 2\nturn 10/3 \ncall add{\"x\":1} -> flag y is missing\ncall add{\"x\":1,\"y\":2} -> 3\nturn it is 3\n";
    assert_eq!(outline(&conversation), expected);
}

#[test]
fn messages_alone_one_a_line_and_in_arrays() {
    let messages = json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]);
    let expected = "user hi\nturn ho\n";
    assert_eq!(outline(&only(read("a.json", &messages.to_string(), &[]))), expected);
    let objects = [json!({"task_id": "t", "messages": messages}), json!({"messages": messages})];
    for (name, text) in [
        ("a.jsonl", lines(&objects)),
        ("a.json", lines(&objects)),
        ("a.json", json!(objects).to_string()),
        ("a.json", json!({"model": "m", "results": objects}).to_string()),
        ("a.json", format!("{:#}", json!({"conversations": [{"task": {"id": "t"}, "trace": objects[0]}, objects[1]]}))),
    ] {
        let all = read(name, &text, &[]);
        assert_eq!(all.iter().map(outline).collect::<Vec<_>>(), [expected, expected], "{text}");
        assert_eq!(all.iter().map(|one| one.task.as_str()).collect::<Vec<_>>(), ["t", "a/2"], "{text}");
        assert_eq!(all.iter().map(|one| one.origin).collect::<Vec<_>>(), [(0, 0), (0, 1)], "{text}");
    }
    let arrays = [messages.clone(), messages];
    assert_eq!(read("a.jsonl", &lines(&arrays), &[]).len(), 2);
    assert_eq!(read("a.json", &json!(arrays).to_string(), &[]).len(), 2);
}

#[test]
fn openai_responses() {
    let log = json!({"model": "m-2", "input": [
        {"role": "user", "content": "look"},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "find", "arguments": "{\"q\":\"x\"}"},
        {"type": "function_call", "call_id": "c2", "name": "find", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "{\"content\":[{\"type\":\"text\",\"text\":\"none\"}],\"isError\":true}"},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "two"}]},
        {"type": "custom_tool_call", "call_id": "c3", "name": "patch", "input": "*** a"},
        {"type": "custom_tool_call_output", "call_id": "c3", "output": "done"}],
        "output": [
        {"type": "mcp_call", "id": "c4", "name": "get", "arguments": "{\"n\":1}", "output": null, "error": {"message": "gone"}},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "bye"}]}],
        "usage": {"input_tokens": 5, "output_tokens": 6}});
    let conversation = only(read("r.json", &log.to_string(), &[]));
    assert_eq!((conversation.source, conversation.model.as_deref()), ("openai-responses", Some("m-2")));
    let expected = "user look\nturn \ncall find{\"q\":\"x\"} -> flag none\ncall find{} -> two\nturn \ncall patch\"*** a\" -> done\n\
                    turn \ncall get{\"n\":1} -> flag gone\nturn 5/6 bye\n";
    assert_eq!(outline(&conversation), expected);
    let items = log["input"].to_string();
    assert_eq!(read("r.json", &items, &[ProblemKind::CutOff])[0].source, "openai-responses");
}

#[test]
fn anthropic() {
    let result = |role: &str| {
        json!({"provider": "x", "model": "m-3", "results": [{"task": {"id": "t1"}, "trace": {"messages": [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "I try"}, {"type": "tool_use", "id": "a", "name": "bash", "input": {"c": "ls"}}]},
        {"role": role, "content": [{"type": "tool_result", "tool_use_id": "a", "content": "no such file", "is_error": true}]},
        {"role": "assistant", "content": "so it is"}]}}]})
    };
    for role in ["user", "tool", "tool_result"] {
        let conversation = only(read("e.json", &format!("{:#}", result(role)), &[]));
        assert_eq!((conversation.source, conversation.task.as_str()), ("anthropic", "t1"));
        assert_eq!(conversation.model.as_deref(), Some("m-3"));
        let expected = "user go\nturn I try\ncall $bash{\"c\":\"ls\"} -> flag no such file\nturn so it is\n";
        assert_eq!(outline(&conversation), expected, "{role}");
    }
}

/// A line of a Claude Code session.
pub(super) fn claude_line(kind: &str, uuid: &str, parent: &str, message: &Value) -> Value {
    let parent = if parent.is_empty() { Value::Null } else { parent.into() };
    json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "isSidechain": false, "version": "2.0.1",
           "timestamp": "2026-01-01T00:00:00.000Z", "message": message})
}

pub(super) fn claude_part(uuid: &str, parent: &str, id: &str, block: &Value) -> Value {
    let usage = json!({"input_tokens": 2, "cache_read_input_tokens": 8, "output_tokens": 5});
    let message = json!({"id": id, "role": "assistant", "model": "m-4", "content": [block], "usage": usage});
    claude_line("assistant", uuid, parent, &message)
}

pub(super) fn claude_result(uuid: &str, parent: &str, id: &str, text: &str) -> Value {
    let block = json!({"type": "tool_result", "tool_use_id": id, "content": text});
    claude_line("user", uuid, parent, &json!({"role": "user", "content": [block]}))
}

pub(super) fn claude_user(uuid: &str, parent: &str, text: &str) -> Value {
    claude_line("user", uuid, parent, &json!({"role": "user", "content": text}))
}

#[test]
fn claude_code_keeps_a_turn_together() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Read", "input": {"n": id}});
    let log = lines(&[
        json!({"type": "queue-operation", "sessionId": "s", "operation": "enqueue"}),
        claude_user("u1", "", "read both"),
        claude_part("u2", "u1", "m1", &json!({"type": "text", "text": "I read"})),
        claude_part("u3", "u2", "m1", &call("a")),
        // The results are on branches of their own, the first one before the second call.
        claude_result("u4", "u3", "a", "A"),
        claude_part("u5", "u3", "m1", &call("b")),
        claude_result("u6", "u5", "b", "B"),
        claude_result("u6", "u5", "b", "B"),
        claude_part("u7", "u6", "m2", &json!({"type": "text", "text": "done"})),
    ]);
    let conversation = only(read("p/s.jsonl", &log, &[]));
    assert_eq!((conversation.source, conversation.task.as_str()), ("claude-code", "p/s"));
    assert_eq!((conversation.model.as_deref(), conversation.tags["version"].as_str()), (Some("m-4"), "2.0.1"));
    let expected =
        "user read both\nturn 10/5 I read\ncall Read{\"n\":\"a\"} -> A\ncall Read{\"n\":\"b\"} -> B\nturn 10/5 done\n";
    assert_eq!(outline(&conversation), expected);
}

#[test]
fn claude_code_leaves_out_prompts_that_were_edited() {
    let call = json!({"type": "tool_use", "id": "a", "name": "Read", "input": {}});
    let log = lines(&[
        claude_user("u1", "", "first"),
        claude_part("u2", "u1", "m1", &call),
        claude_user("u3", "u2", "old prompt"),
        claude_result("u4", "u3", "a", "A"),
        claude_part("u5", "u4", "m2", &json!({"type": "text", "text": "old answer"})),
        claude_user("u6", "u2", "new prompt"),
        claude_part("u7", "u6", "m3", &json!({"type": "text", "text": "new answer"})),
    ]);
    let expected = "user first\nturn 10/5 \ncall Read{} -> A\nuser new prompt\nturn 10/5 new answer\n";
    assert_eq!(outline(&only(read("s.jsonl", &log, &[]))), expected);
}

#[test]
fn claude_code_side_chains_are_conversations() {
    let side = |mut line: Value| {
        line["isSidechain"] = true.into();
        line
    };
    let log = lines(&[
        claude_user("u1", "", "main"),
        side(claude_user("v1", "", "side")),
        claude_part("u2", "u1", "m1", &json!({"type": "text", "text": "main answer"})),
        side(claude_part("v2", "v1", "m2", &json!({"type": "text", "text": "side answer"}))),
    ]);
    let all = read("s.jsonl", &log, &[]);
    let outlines: Vec<String> = all.iter().map(outline).collect();
    assert_eq!(outlines, ["user main\nturn 10/5 main answer\n", "user side\nturn 10/5 side answer\n"]);
    assert_eq!(all[1].tags["side_chain"], "v1");
}

#[test]
fn claude_code_sessions_with_different_ids_are_one_if_they_are_linked() {
    let of = |session: &str, mut line: Value| {
        line["sessionId"] = session.into();
        line
    };
    let answer = |uuid: &str, parent: &str| claude_part(uuid, parent, uuid, &json!({"type": "text", "text": uuid}));
    let log = lines(&[
        of("s1", claude_user("u1", "", "first")),
        of("s2", claude_user("w1", "", "other")),
        of("s1", answer("u2", "u1")),
        of("s3", claude_user("u3", "u2", "resumed")),
        of("s2", answer("w2", "w1")),
        of("s3", answer("u4", "u3")),
    ]);
    let outlines: Vec<String> = read("s.jsonl", &log, &[]).iter().map(outline).collect();
    assert_eq!(outlines, ["user first\nturn 10/5 u2\nuser resumed\nturn 10/5 u4\n", "user other\nturn 10/5 w2\n"]);
}

#[test]
fn claude_code_as_it_is_printed() {
    let line = |kind: &str, parent: Option<&str>, content: Value| {
        let message = json!({"id": "m1", "role": kind, "model": "m-4", "content": [content]});
        json!({"type": kind, "session_id": "s", "parent_tool_use_id": parent, "message": message})
    };
    let log = lines(&[
        json!({"type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "2.1.19"}),
        line("assistant", None, json!({"type": "tool_use", "id": "a", "name": "Task", "input": {}})),
        line("user", Some("a"), json!({"type": "text", "text": "look"})),
        line("assistant", Some("a"), json!({"type": "text", "text": "seen"})),
        line("user", None, json!({"type": "tool_result", "tool_use_id": "a", "content": "seen"})),
    ]);
    let all = read("s.jsonl", &log, &[ProblemKind::CutOff]);
    let outlines: Vec<String> = all.iter().map(outline).collect();
    assert_eq!(outlines, ["turn \ncall Task{} -> seen\n", "user look\nturn seen\n"]);
    assert_eq!((all[0].tags["version"].as_str(), all[1].tags["side_chain"].as_str()), ("2.1.19", "a"));
}

#[test]
fn codex() {
    let line =
        |kind: &str, payload: Value| json!({"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload});
    let item = |payload: Value| line("response_item", payload);
    let log = lines(&[
        line("session_meta", json!({"id": "x", "cli_version": "0.50.0"})),
        item(
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>here</environment_context>"}]}),
        ),
        item(json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "list"}]})),
        line("turn_context", json!({"model": "m-5"})),
        item(json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}", "call_id": "a"})),
        line(
            "event_msg",
            json!({"type": "token_count", "info": {"last_token_usage": {"input_tokens": 7, "output_tokens": 2}}}),
        ),
        item(
            json!({"type": "function_call_output", "call_id": "a", "output": "{\"output\":\"no\",\"metadata\":{\"exit_code\":2}}"}),
        ),
        item(json!({"type": "custom_tool_call", "name": "apply_patch", "input": "*** x", "call_id": "b"})),
        item(
            json!({"type": "custom_tool_call_output", "call_id": "b", "output": {"content": "bad patch", "success": false}}),
        ),
        item(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "end"}]})),
    ]);
    let conversation = only(read("rollout-1.jsonl", &log, &[]));
    assert_eq!((conversation.source, conversation.model.as_deref()), ("codex", Some("m-5")));
    assert_eq!(conversation.tags["version"], "0.50.0");
    let expected = "user list\nturn 7/2 \ncall $shell{\"command\":[\"ls\"]} -> flag no\nturn \n\
                    call apply_patch\"*** x\" -> flag bad patch\nturn end\n";
    assert_eq!(outline(&conversation), expected);
}

#[test]
fn codex_events_tell_which_calls_failed() {
    let line = |kind: &str, payload: Value| json!({"type": kind, "payload": payload});
    let call = |id: &str| {
        line("response_item", json!({"type": "function_call", "name": "mail__send", "arguments": "{}", "call_id": id}))
    };
    let result = |id: &str| {
        line(
            "response_item",
            json!({"type": "function_call_output", "call_id": id, "output": "[{\"type\":\"text\",\"text\":\"x\"}]"}),
        )
    };
    let event = |id: &str, result: Value| {
        line("event_msg", json!({"type": "mcp_tool_call_end", "call_id": id, "result": result}))
    };
    let log = lines(&[
        call("a"),
        call("b"),
        call("c"),
        event("a", json!({"Ok": {"content": [], "isError": true}})),
        event("b", json!({"Ok": {"content": []}})),
        event("c", json!({"Err": "x"})),
        result("a"),
        result("b"),
        result("c"),
    ]);
    let conversation = only(read("rollout-2.jsonl", &log, &[ProblemKind::CutOff]));
    let expected = "turn \ncall mail__send{} -> flag x\ncall mail__send{} -> x\ncall mail__send{} -> flag x\n";
    assert_eq!(outline(&conversation), expected);
}

#[test]
fn opencode_sessions_may_be_interleaved() {
    let line = |session: &str, kind: &str, part: Value| json!({"type": kind, "timestamp": 1, "sessionID": session, "part": part});
    let call = |id: &str, state: Value| json!({"messageID": "m1", "type": "tool", "callID": id, "tool": "read", "state": state});
    let log = lines(&[
        line("s1", "step_start", json!({"messageID": "m1"})),
        line("s2", "text", json!({"messageID": "n1", "text": "other"})),
        line("s1", "tool_use", call("a", json!({"status": "completed", "input": {"f": 1}, "output": "one"}))),
        line("s1", "tool_use", call("b", json!({"status": "error", "input": {"f": 2}, "error": "no file"}))),
        line(
            "s1",
            "step_finish",
            json!({"messageID": "m1", "reason": "tool-calls", "tokens": {"input": 3, "output": 4, "reasoning": 1, "cache": {"read": 10, "write": 0}}}),
        ),
        line("s1", "text", json!({"messageID": "m2", "text": "done"})),
    ]);
    let all = read("run.jsonl", &log, &[]);
    assert_eq!(all[0].source, "opencode");
    let outlines: Vec<String> = all.iter().map(outline).collect();
    let expected = "turn 13/5 \ncall read{\"f\":1} -> one\ncall read{\"f\":2} -> flag no file\nturn done\n";
    assert_eq!(outlines, [expected, "turn other\n"]);
    assert_eq!((all[0].task.as_str(), all[1].task.as_str()), ("run", "run/2"));
}

/// A sample of Inspect.
fn inspect_sample() -> Value {
    json!({"id": 4, "epoch": 2, "attachments": {"abc": "a long result"},
        "messages": [
            {"role": "user", "content": "solve"},
            {"id": "x", "role": "assistant", "content": "", "tool_calls": [
                {"id": "a", "function": "look", "arguments": {"k": 1}}, {"id": "b", "function": "look", "arguments": {}}]},
            {"role": "tool", "tool_call_id": "a", "function": "look", "content": "attachment://abc"},
            {"role": "tool", "tool_call_id": "b", "function": "look", "content": "", "error": {"type": "parsing", "message": "k is required"}},
            {"role": "assistant", "content": [{"type": "text", "text": "42"}]}],
        "scores": {"match": {"value": "C"}},
        "events": [{"event": "model", "tools": [{"name": "look", "description": "looks", "parameters": {"type": "object"}}],
            "output": {"usage": {"input_tokens": 9, "output_tokens": 1}, "choices": [{"message": {"id": "x"}}]}}]})
}

fn check_inspect(conversation: &Conversation) {
    assert_eq!((conversation.source, conversation.suite.as_deref()), ("inspect", Some("puzzles")));
    assert_eq!((conversation.task.as_str(), conversation.model.as_deref()), ("4", Some("mock/model")));
    assert_eq!((conversation.success, conversation.tags["epoch"].as_str()), (Some(true), "2"));
    assert_eq!(conversation.tools.as_ref().unwrap()[0].description, "looks");
    let expected =
        "user solve\nturn 9/1 \ncall look{\"k\":1} -> a long result\ncall look{} -> flag k is required\nturn 42\n";
    assert_eq!(outline(conversation), expected);
}

#[test]
fn inspect_json() {
    let eval = json!({"task": "puzzles", "model": "mock/model"});
    let log = json!({"version": 2, "status": "success", "eval": eval, "samples": [inspect_sample()]});
    check_inspect(&only(read("log.json", &format!("{log:#}"), &[])));
}

#[test]
fn inspect_messages_that_are_codes_are_not_what_the_agent_saw() {
    let texts = |message: &str, content: &str| {
        let mut sample = inspect_sample();
        sample["messages"][3]["error"]["message"] = json!(message);
        sample["messages"][3]["content"] = json!(content);
        let log = json!({"version": 2, "status": "success", "eval": {"task": "p", "model": "m"}, "samples": [sample]});
        outline(&only(read("log.json", &log.to_string(), &[])))
    };
    assert!(texts("NOT_FOUND", "no such key").contains("flag no such key\n"));
    assert!(texts("no such key", "beside it").contains("flag no such key\n"));
    assert!(texts("NOT_FOUND", " ").contains("flag NOT_FOUND\n"));
}

#[test]
fn the_answer_of_an_inspect_sample_at_a_limit_is_no_end() {
    let sample = |limit: Value| {
        let mut sample = inspect_sample();
        sample["limit"] = limit;
        let log = json!({"version": 2, "status": "success", "eval": {"task": "p", "model": "m"}, "samples": [&sample]});
        let expected: &[ProblemKind] = if sample["limit"].is_null() { &[] } else { &[ProblemKind::CutOff] };
        only(read("log.json", &log.to_string(), expected))
    };
    let limited = sample(json!({"type": "message", "limit": 5}));
    assert!(limited.is_cut_off && !outline(&limited).contains("turn 42"), "{}", outline(&limited));
    assert!(!sample(Value::Null).is_cut_off && outline(&sample(Value::Null)).contains("turn 42"));
}

#[test]
fn inspect_eval() {
    use std::io::Write as _;
    for method in [zip::CompressionMethod::Deflated, zip::CompressionMethod::Zstd] {
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        let mut out = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let header = json!({"version": 2, "eval": {"task": "puzzles", "model": "mock/model"}});
        for (name, value) in [("samples/4_epoch_2.json", inspect_sample()), ("header.json", header)] {
            out.start_file(name, options).unwrap();
            out.write_all(value.to_string().as_bytes()).unwrap();
        }
        let bytes = out.finish().unwrap().into_inner();
        let (all, summary) = import_files(&[("log.eval", &bytes)], &Default::default()).unwrap();
        check_inspect(&only(all));
        assert_eq!(summary.files[0].bytes, u64::try_from(bytes.len()).unwrap());
    }
}

#[test]
fn inspect_scores_that_differ_tell_nothing() {
    let success = |scores: Value| {
        let mut sample = inspect_sample();
        sample["scores"] = scores;
        let log = json!({"status": "success", "eval": {"task": "t", "model": "m"}, "samples": [sample]});
        only(read("log.json", &log.to_string(), &[])).success
    };
    assert_eq!(success(json!({"a": {"value": "I"}})), Some(false));
    assert_eq!(success(json!({"a": {"value": 1}})), Some(true));
    assert_eq!(success(json!({"a": {"value": false}})), Some(false));
    assert_eq!(success(json!({"a": {"value": 0.5}})), None);
    assert_eq!(success(json!({"a": {"value": "C"}, "b": {"value": 0}})), None);
    assert_eq!(success(json!(null)), None);
}

fn agentdojo_run() -> Value {
    json!({"suite_name": "bank", "pipeline_name": "m-6", "user_task_id": "user_task_1", "injection_task_id": "injection_task_2",
        "attack_type": "direct", "injections": {}, "utility": false, "security": true, "messages": [
        {"role": "user", "content": [{"type": "text", "content": "pay"}]},
        {"role": "assistant", "content": "", "tool_calls": [{"function": "pay", "args": {"to": "x"}, "id": ""}, {"function": "pay", "args": {}, "id": ""}]},
        {"role": "tool", "content": "paid", "tool_call_id": null, "tool_call": {}, "error": null},
        {"role": "tool", "content": "", "tool_call_id": null, "tool_call": {}, "error": "ValidationError: to is missing"},
        {"role": "assistant", "content": "done", "tool_calls": []}]})
}

#[test]
fn agentdojo() {
    let conversation = only(read("none.json", &agentdojo_run().to_string(), &[]));
    assert_eq!((conversation.source, conversation.suite.as_deref()), ("agentdojo", Some("bank")));
    assert_eq!((conversation.task.as_str(), conversation.model.as_deref()), ("user_task_1", Some("m-6")));
    assert_eq!(conversation.success, Some(false));
    assert_eq!(
        (conversation.tags["attack"].as_str(), conversation.tags["injection"].as_str()),
        ("direct", "injection_task_2")
    );
    let expected = "user pay\nturn \ncall pay{\"to\":\"x\"} -> paid\ncall pay{} -> flag ValidationError: to is missing\nturn done\n";
    assert_eq!(outline(&conversation), expected);
}

#[test]
fn agentdojo_knows_a_local_model_by_its_path_and_no_attack() {
    let mut run = agentdojo_run();
    run["pipeline_name"] = "local".into();
    run["attack_type"] = "none".into();
    let path = "runs/llama-9/bank/user_task_1/none/none.json";
    let conversation = only(read(path, &run.to_string(), &[]));
    assert_eq!(conversation.model.as_deref(), Some("llama-9"));
    assert!(!conversation.tags.contains_key("attack"));
}

#[test]
fn tau2() {
    let simulation = |task: &str, reward: f64| {
        json!({"id": "s", "task_id": task, "trial": 0, "reward_info": {"reward": reward}, "messages": [
        {"role": "assistant", "content": "Hello!", "tool_calls": null},
        {"role": "user", "content": "cancel it", "tool_calls": null},
        {"role": "assistant", "content": null, "usage": {"prompt_tokens": 8, "completion_tokens": 2},
            "tool_calls": [{"id": "a", "name": "cancel", "arguments": {"id": 1}, "requestor": "assistant"}]},
        {"id": "a", "role": "tool", "content": "Error: too late", "requestor": "assistant", "error": true},
        {"id": "u", "role": "tool", "content": "mine", "requestor": "user", "error": false},
        {"role": "assistant", "content": "It is too late."},
        {"role": "user", "content": "Bye! ###STOP###"}]})
    };
    let log = json!({"timestamp": "t", "info": {"environment_info": {"domain_name": "air", "tool_defs": [{"name": "cancel"}]}, "agent_info": {"llm": "m-7"}},
        "tasks": [], "simulations": [simulation("7", 1.0), simulation("8", 0.9)]});
    let all = read("results.json", &format!("{log:#}"), &[]);
    assert_eq!(all.len(), 2);
    assert_eq!((all[0].source, all[0].suite.as_deref(), all[0].task.as_str()), ("tau2", Some("air"), "7"));
    assert_eq!((all[0].model.as_deref(), all[0].tools.as_ref().unwrap().len()), (Some("m-7"), 1));
    assert_eq!((all[0].success, all[1].success), (Some(true), Some(false)));
    let expected =
        "turn Hello!\nuser cancel it\nturn 8/2 \ncall cancel{\"id\":1} -> flag Error: too late\nturn It is too late.\n";
    assert_eq!(outline(&all[0]), expected);
}

#[test]
fn the_table_describes_every_source() {
    for source in SOURCES {
        assert!(!source.conversation.is_empty() && !source.fields.is_empty() && !source.seen.is_empty(), "{source:?}");
    }
}

#[test]
fn recorded_sessions_of_the_proxy() {
    let row = |call: u64, is_error: bool, text: &str| {
        json!({"episode": "s", "call": call, "tool": "get", "arguments": r#"{"id":"x1"}"#, "effect": "passed",
               "is_error": is_error, "text": text})
    };
    // Rows are in the order of the answers.
    let conversation = only(read("calls-s.jsonl", &lines(&[row(2, false, "fine"), row(1, true, "no x1")]), &[]));
    assert_eq!((conversation.source, conversation.is_cut_off), ("healbench", true));
    let expected = "turn \ncall get{\"id\":\"x1\"} -> flag no x1\nturn \ncall get{\"id\":\"x1\"} -> fine\n";
    assert_eq!(outline(&conversation), expected);
}

#[test]
fn what_claude_code_wrote_itself_is_no_answer() {
    let message = json!({"id": "m", "role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": "No response requested."}]});
    let log = lines(&[claude_user("1", "", "go"), claude_line("assistant", "2", "1", &message)]);
    let conversation = only(read("s.jsonl", &log, &[]));
    assert_eq!((outline(&conversation).as_str(), conversation.model), ("user go\n", None));
}
