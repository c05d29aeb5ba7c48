//! Results that are errors, and others.

use serde_json::{Value, json};

use super::{outline, read};

/// Returns what a result becomes: `flag`, `text` or nothing, and its text.
fn judged(content: &Value) -> String {
    let log = json!({"messages": [
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "a", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": content},
        {"role": "assistant", "content": "end"}]});
    let outline = outline(&read("a.json", &log.to_string(), &[])[0]);
    outline.trim_start_matches("turn \ncall a{} -> ").trim_end_matches("\nturn end\n").to_owned()
}

#[test]
fn json_that_says_so_is_an_error() {
    for value in [
        json!({"error": "no"}),
        json!({"error": {"code": 1}}),
        json!({"error": true}),
        json!({"isError": false, "success": false}),
        json!({"ok": false}),
        json!({"object": "error", "status": 404}),
        json!({"status": "error"}),
        json!({"status": 503, "title": "later"}),
        json!({"statusCode": 404}),
        json!({"status_code": 404, "url": "https://a.example", "message": "no such page"}),
        json!([{"name": "a.pdf", "success": false, "error": "no such file"}]),
        json!({"errors": [{"message": "no"}], "data": null}),
        json!({"message": "Not Found", "documentation_url": "https://x.example"}),
        json!({"detail": "Not found."}),
        json!({"is_error": true, "text": "no"}),
        json!({"result": "error", "reason": "no"}),
        json!({"type": "error", "message": "no"}),
        json!({"errorCode": "E7"}),
        json!([{"success": false, "n": 1}, {"success": false, "n": 2}]),
        json!({"results": [{"success": false}], "total": 1}),
    ] {
        assert_eq!(judged(&value.to_string().into()), format!("text {value}"));
    }
    for value in [
        json!({"error": null}),
        json!({"error": false}),
        json!({"error": ""}),
        json!({"error": 0}),
        json!({"error": []}),
        json!({"error": "none"}),
        json!({"errorCode": 0}),
        json!({"errors": []}),
        json!({"errors": 3}),
        json!({"errors": "none"}),
        json!({"errors": "None", "warnings": "no error"}),
        json!({"errors": ["a row"], "rows": [1]}),
        json!({"message": "Not found in the cache", "rows": [1]}),
        json!({"message": "saved"}),
        json!({"type": "error"}),
        json!({"result": "error"}),
        json!([{"success": false}, {"success": true}]),
        json!([]),
        json!({"status": 200}),
        json!({"status": "open"}),
        json!({"items": [{"error": "one of many"}]}),
        json!([{"id": 1, "ok": true}, {"id": 2, "ok": false}]),
        json!([{"name": "build", "ok": false}]),
        json!([{"name": "build", "status": "failed"}, {"name": "test", "status": "passed"}]),
        json!({"runs": [{"id": 7, "status": "failed"}], "total": 1}),
        json!({"results": [{"url": "https://a.example", "ok": false, "status_code": 404}]}),
        json!({"url": "https://a.example", "status_code": 404}),
        json!({"checked": 2, "broken": [{"url": "https://a.example", "status_code": 404}]}),
        json!([{"error": "an entry"}]),
    ] {
        assert_eq!(judged(&value.to_string().into()), value.to_string());
    }
    assert_eq!(judged(&json!({"isError": true}).to_string().into()), "flag {\"isError\":true}");
}

#[test]
fn wrappings_are_taken_off() {
    let block = |text: &str| json!({"type": "text", "text": text}).to_string();
    assert_eq!(judged(&block("plain").into()), "plain");
    assert_eq!(judged(&json!([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}])), "one\ntwo");
    let nested =
        json!({"content": [{"type": "text", "text": block("{\"error\":\"deep\"}")}], "isError": false}).to_string();
    assert_eq!(judged(&nested.into()), "text {\"error\":\"deep\"}");
    let flagged = json!({"content": [{"type": "text", "text": "it is gone"}], "isError": true}).to_string();
    assert_eq!(judged(&block(&flagged).into()), "flag it is gone");
    for error in [true, false] {
        let flag = if error { "flag " } else { "" };
        let text = json!({"type": "text", "text": "stopped", "error": error}).to_string();
        assert_eq!(judged(&text.into()), format!("{flag}stopped"));
    }
    for (code, flag) in [(json!(null), ""), (json!("no"), ""), (json!(0), ""), (json!(2), "flag ")] {
        let shell = json!({"output": "done", "metadata": {"exit_code": code}}).to_string();
        assert_eq!(judged(&shell.into()), format!("{flag}done"));
    }
    // After four levels the text stays as it is.
    let five = (0..5).fold("inside".to_owned(), |text, _| block(&text));
    assert_eq!(judged(&five.into()), block("inside"));
}

#[test]
fn the_text_of_a_python_result_is_decoded() {
    let result = |text: &str, is_error: &str| {
        format!("meta=None content=[TextContent(type='text', text={text}, annotations=None)] isError={is_error}")
    };
    assert_eq!(judged(&result("'it\\'s \\u00e9\\n\"x\"'", "False").into()), "it's é\n\"x\"");
    assert_eq!(judged(&result("\"it's\"", "True").into()), "flag it's");
    assert_eq!(
        judged(&result("'{\"isError\": true, \"content\": [{\"type\": \"text\", \"text\": \"in\"}]}'", "False").into()),
        "flag in"
    );
    let two = "CallToolResult(meta=None, content=[TextContent(type='text', text='a'), TextContent(type='text', text='isError=True')], isError=False)";
    assert_eq!(judged(&two.into()), "a\nisError=True");
    assert_eq!(judged(&"meta=None content=[TextContent(type='text', text='cut o".into()), "cut o");
    assert_eq!(judged(&"meta=analysis of content".into()), "meta=analysis of content");
}

#[test]
fn texts_that_begin_like_errors_are_errors() {
    for text in [
        "File not found: x",
        "[ERROR] the port is closed",
        "**Error:** the port is closed",
        "<error>the port is closed</error>",
        "Validation failed: x",
        "Error. The port is closed",
    ] {
        assert_eq!(judged(&text.into()), format!("text {text}"));
    }
}

#[test]
fn texts_that_only_speak_of_errors_are_none() {
    for text in [
        "Errors were found in 0 files",
        "ERROR: 3\nINFO: 5",
        "# Error handling\n\nUse `Result`.",
        "error_log.txt\nmain.rs",
        "error.log\nmain.rs",
        "Error.md",
        "Error: none",
        "Permission denied count: 0",
        "Access denied events: 0",
        "Access to the repository is free; nothing is forbidden",
        "Search failed: 0, found: 12",
        "Tool box not found in the shop; a drill was",
        "The file was not found in the cache, and was downloaded",
        "Failedness is no word",
        "invalidate(cache)",
        "0 validation problems",
        "Exceptional results",
        "404 Not Found: https://a.example/x\n200 OK: https://a.example/y",
        "",
    ] {
        assert_eq!(judged(&text.into()), text);
    }
}
