//! Logs in the forms of later versions of agents' programs.

use healbench_import::ProblemKind;
use serde_json::{Value, json};

use super::{lines, outline, read};

#[test]
fn codex_writes_a_head_before_what_a_tool_returns() {
    let line = |kind: &str, payload: Value| json!({"type": kind, "payload": payload});
    let call = |id: &str, namespace: Option<&str>, name: &str| {
        line(
            "response_item",
            json!({"type": "function_call", "namespace": namespace, "name": name, "arguments": "{}", "call_id": id}),
        )
    };
    let done = |id: &str, status: &str| {
        line(
            "event_msg",
            json!({"type": "item_completed", "item": {"type": "McpToolCall", "id": id, "status": status}}),
        )
    };
    let output = |id: &str, output: Value| {
        line("response_item", json!({"type": "function_call_output", "call_id": id, "output": output}))
    };
    let behind_head = |text: &str| json!([{"type": "input_text", "text": "Wall time: 0.01 seconds\nOutput:"}, {"type": "input_text", "text": text}]);
    let shell = |code: u8, text: &str| {
        format!(
            "Chunk ID: ab12\nWall time: 0.0 seconds\nProcess exited with code {code}\nOriginal token count: 3\nOutput:\n{text}"
        )
        .into()
    };
    let log = lines(&[
        call("a", Some("mcp__shop"), "find"),
        done("a", "failed"),
        output("a", behind_head("no item has this number")),
        call("b", Some("mcp__shop__"), "buy"),
        done("b", "completed"),
        output("b", behind_head("{\"success\":false,\"reason\":\"sold\"}")),
        call("c", Some("mcp__shop"), "find"),
        output("c", behind_head("err: EOF while parsing a value at line 1 column 4")),
        call("d", None, "guess"),
        output("d", "unsupported call: guess".into()),
        call("e", None, "apply_patch"),
        output("e", "apply_patch verification failed: no such lines in a.txt".into()),
        call("f", None, "exec_command"),
        output("f", shell(2, "no such folder")),
        call("g", None, "exec_command"),
        output("g", shell(0, "Error: a line of a file")),
    ]);
    let expected = "call mcp__shop__find{} -> flag no item has this number\n\
        call mcp__shop__buy{} -> text {\"success\":false,\"reason\":\"sold\"}\n\
        call mcp__shop__find{} -> text err: EOF while parsing a value at line 1 column 4\n\
        call guess{} -> text unsupported call: guess\n\
        call apply_patch{} -> text apply_patch verification failed: no such lines in a.txt\n\
        call $exec_command{} -> flag no such folder\n\
        call $exec_command{} -> Error: a line of a file\n";
    let all = read("rollout-3.jsonl", &log, &[ProblemKind::CutOff]);
    assert_eq!(outline(&all[0]).replace("turn \n", ""), expected);
}

#[test]
fn opencode_names_the_tool_of_a_call_that_it_refused() {
    let call = |id: &str, tool: &str, state: Value| {
        let part = json!({"messageID": id, "callID": id, "tool": tool, "state": state});
        json!({"type": "tool_use", "sessionID": "s", "part": part})
    };
    let done = |input: Value, exit: Value| json!({"status": "completed", "input": input, "output": "out", "metadata": {"exit": exit}});
    let log = lines(&[
        call(
            "a",
            "invalid",
            done(json!({"tool": "find", "error": "Invalid input for tool find: cut off"}), Value::Null),
        ),
        call("b", "invalid", done(json!({"tool": 3}), Value::Null)),
        call("c", "bash", done(json!({}), json!(2))),
        call("d", "bash", done(json!({}), json!(0))),
    ]);
    let expected = "call find{} -> flag Invalid input for tool find: cut off\ncall invalid{\"tool\":3} -> out\n\
        call $bash{} -> flag out\ncall $bash{} -> out\n";
    let all = read("run.jsonl", &log, &[ProblemKind::CutOff]);
    assert_eq!(outline(&all[0]).replace("turn \n", ""), expected);
}
