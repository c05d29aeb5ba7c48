//! Prompt mode: the system text describes the functions, and a call is a JSON object in the reply.
//!
//! Many real clients work this way. No server validates such a reply, so every kind of mistake can occur.

use serde_json::{Deserializer, Value, json};

use super::{Arguments, CallResult, Function, SentCall, lenient_json};

/// Returns the system text followed by the descriptions of the functions.
pub(super) fn system_text(text: &str, functions: &[Function]) -> String {
    let mut out = text.trim_end().to_owned();
    if !out.is_empty() {
        out.push_str("\n\n");
    }
    out.push_str("These are the functions, a line each:\n");
    for function in functions {
        let line =
            json!({"name": function.name, "description": function.description, "parameters": function.parameters});
        out.push_str(&line.to_string());
        out.push('\n');
    }
    out.push_str(
        "\nTo call a function, answer with a JSON object and nothing else:\n\
         {\"name\": \"<the function>\", \"arguments\": {<its arguments>}}\n\
         What the function returns is in the next message.",
    );
    out
}

/// Formats a call as the model would write it.
pub(super) fn call_text(name: &str, arguments: &Value) -> String {
    json!({"name": name, "arguments": arguments}).to_string()
}

/// Returns the message with the results of calls.
pub(super) fn format_results(results: &[CallResult]) -> String {
    let blocks: Vec<String> =
        results.iter().map(|result| format!("<tool_response>\n{}\n</tool_response>", result.text)).collect();
    blocks.join("\n")
}

/// Returns the calls in a reply and the remaining text.
///
/// A call is an object with `name` and `arguments` anywhere in the reply: bare, in a code fence, in tags or in a list.
/// If there is none, an object that begins like a call but is not valid JSON (truncated, single quotes) becomes a call
/// whose arguments are text.
pub(super) fn parse_calls(answer: &str, functions: &[Function]) -> (Vec<SentCall>, String) {
    let answer = strip_thinking(answer);
    let (mut calls, mut prose) = find_calls(answer, functions);
    if calls.is_empty() {
        (calls, prose) = find_calls(&lenient_json::repair(answer), functions);
    }
    if calls.is_empty() {
        match parse_malformed_call(answer) {
            Some((name, arguments, before)) => (vec![sent_call(0, name, Arguments::Text(arguments))], before),
            None => (Vec::new(), answer.trim().to_owned()),
        }
    } else {
        let calls = calls.into_iter().enumerate().map(|(index, (name, arguments))| sent_call(index, name, arguments));
        (calls.collect(), strip_fences(&prose))
    }
}

/// The largest number of bytes that are parsed in search of calls. Only a reply of several megabytes can need more, since
/// a bracket inside of a value is looked at again, down to the parser's depth of 128.
const MAX_PARSED_BYTES: usize = 64 << 20;

/// Returns the names and arguments of the calls in a reply, and the text around them.
fn find_calls(answer: &str, functions: &[Function]) -> (Vec<(String, Arguments)>, String) {
    let mut calls = Vec::new();
    let mut prose = String::new();
    let mut rest = answer;
    let mut parsed = 0;
    while let Some(at) = rest.find(['{', '[']) {
        if parsed > MAX_PARSED_BYTES {
            break;
        }
        let mut values = Deserializer::from_str(&rest[at..]).into_iter::<Value>();
        let found = match values.next() {
            Some(Ok(value)) => {
                parsed += values.byte_offset();
                calls_in_value(&value, functions)
            }
            Some(Err(error)) => {
                parsed += offset_of(&rest[at..], &error);
                Vec::new()
            }
            None => Vec::new(),
        };
        // A value that is not a call, such as a list of data, may contain one, so only its bracket is skipped.
        let end = if found.is_empty() { at + 1 } else { at + values.byte_offset() };
        prose.push_str(if found.is_empty() { &rest[..end] } else { &rest[..at] });
        calls.extend(found);
        rest = &rest[end..];
    }
    prose.push_str(rest);
    (calls, prose)
}

/// Returns the number of bytes up to a syntax error.
fn offset_of(text: &str, error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    lines.map(str::len).sum::<usize>() + error.column()
}

/// Returns the reply without leading reasoning, which some servers include. Chat templates that add the opening tag
/// themselves leave only the closing one.
fn strip_thinking(answer: &str) -> &str {
    match answer.rsplit_once("</think>") {
        Some((_, rest)) => rest,
        None if answer.trim_start().starts_with("<think>") => "",
        None => answer,
    }
}

fn sent_call(index: usize, name: String, arguments: Arguments) -> SentCall {
    SentCall { id: format!("call_{}", index + 1), name, arguments, numbers: None }
}

/// Returns the calls in a value: a single call, or a list of only calls.
fn calls_in_value(value: &Value, functions: &[Function]) -> Vec<(String, Arguments)> {
    match value {
        Value::Array(items) => {
            let found: Vec<Vec<(String, Arguments)>> =
                items.iter().map(|item| calls_in_value(item, functions)).collect();
            // A list in which only some items look like calls is data.
            if found.iter().all(|calls| calls.len() == 1) { found.into_iter().flatten().collect() } else { Vec::new() }
        }
        Value::Object(object) => {
            if let Some(Value::Object(_)) = object.get("function") {
                return calls_in_value(&object["function"], functions);
            }
            let Some(name) = object.get("name").and_then(Value::as_str) else { return Vec::new() };
            let arguments = object.get("arguments").or_else(|| object.get("parameters"));
            let known = functions.iter().any(|function| function.name == name);
            match arguments {
                None if !known => Vec::new(),
                None => vec![(name.to_owned(), Arguments::Json(json!({})))],
                // Some models write the arguments as a string that contains JSON, as APIs do.
                Some(Value::String(text)) => {
                    let read = lenient_json::parse(text.as_bytes())
                        .map_or_else(|_| Arguments::Text(text.clone()), Arguments::Json);
                    vec![(name.to_owned(), read)]
                }
                Some(arguments) => vec![(name.to_owned(), Arguments::Json(arguments.clone()))],
            }
        }
        _ => Vec::new(),
    }
}

/// Parses a call that is not valid JSON: returns its name, the text of its arguments, and the text before it.
fn parse_malformed_call(answer: &str) -> Option<(String, String, String)> {
    let start = answer.find('{')?;
    let body = &answer[start..];
    let (_, after) = body.split_once("\"name\"")?;
    let name = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let name = &name[..name.find('"')?];
    let (_, arguments) = body.split_once("\"arguments\"")?;
    let arguments = arguments.trim_start().strip_prefix(':').unwrap_or(arguments).trim();
    let arguments = arguments.trim_end_matches('`').trim_end();
    Some((name.to_owned(), arguments.to_owned(), strip_fences(&answer[..start])))
}

/// Returns the text without the fences and tags that enclosed a call.
fn strip_fences(prose: &str) -> String {
    let mut out = prose.to_owned();
    for mark in ["```json", "```", "<tool_call>", "</tool_call>"] {
        out = out.replace(mark, "");
    }
    out.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions() -> Vec<Function> {
        vec![Function { name: "issues".to_owned(), description: String::new(), parameters: json!({}) }]
    }

    fn read(answer: &str) -> (Vec<(String, Arguments)>, String) {
        let (calls, prose) = parse_calls(answer, &functions());
        (calls.into_iter().map(|call| (call.name, call.arguments)).collect(), prose)
    }

    fn issues(arguments: Value) -> (String, Arguments) {
        ("issues".to_owned(), Arguments::Json(arguments))
    }

    #[test]
    fn a_call_is_found_wherever_it_stands() {
        let call = r#"{"name": "issues", "arguments": {"id": "WEB-7"}}"#;
        let expected = vec![issues(json!({"id": "WEB-7"}))];
        for (answer, prose) in [
            (call.to_owned(), ""),
            (format!("```json\n{call}\n```"), ""),
            (format!("I will close it.\n```\n{call}\n```\nDone."), "I will close it.\n\n\n\nDone."),
            (format!("<tool_call>\n{call}\n</tool_call>"), ""),
            (format!("[{call}]"), ""),
            (format!(r#"{{"type": "function", "function": {call}}}"#), ""),
            (call.replace("arguments", "parameters"), ""),
            (call.replace(r#"{"id": "WEB-7"}"#, r#""{\"id\": \"WEB-7\"}""#), ""),
        ] {
            assert_eq!(read(&answer), (expected.clone(), prose.to_owned()), "{answer}");
        }
    }

    #[test]
    fn thinking_is_removed() {
        let call = r#"{"name": "issues", "arguments": {"id": 1}}"#;
        assert_eq!(read(&format!("<think>\nMaybe {call}?\n</think>\nNo.")), (Vec::new(), "No.".to_owned()));
        assert_eq!(read(&format!("Maybe {call}?</think>No.")), (Vec::new(), "No.".to_owned()));
        assert_eq!(read(&format!("<think>Hm.</think>{call}")).0, [issues(json!({"id": 1}))]);
        assert_eq!(read(&format!("<think>Never ends {call}")), (Vec::new(), String::new()));
    }

    #[test]
    fn several_calls_are_several_calls() {
        let answer = r#"{"name": "issues", "arguments": {"id": 1}} and {"name": "nobody", "arguments": []}"#;
        let expected = vec![issues(json!({"id": 1})), ("nobody".to_owned(), Arguments::Json(json!([])))];
        assert_eq!(read(answer), (expected, "and".to_owned()));
        assert_eq!(read(r#"{"name": "issues"}"#).0, [issues(json!({}))]);
    }

    #[test]
    fn data_is_no_call() {
        for answer in [
            "All done.",
            r#"The customer is {"name": "Acme", "city": "Oslo"}."#,
            r#"[{"name": "Acme"}, {"id": 3}]"#,
            "{action: list}",
            "",
            "a { b [ c",
        ] {
            assert_eq!(read(answer), (Vec::new(), answer.trim().to_owned()), "{answer}");
        }
    }

    #[test]
    fn a_call_that_is_no_json_is_a_call_with_text_for_arguments() {
        let text = |arguments: &str| vec![("issues".to_owned(), Arguments::Text(arguments.to_owned()))];
        let cut = r#"{"name": "issues", "arguments": {"id": "WEB-"#;
        assert_eq!(read(cut), (text(r#"{"id": "WEB-"#), String::new()));
        let quoted = "Now:\n```json\n{\"name\": \"issues\", \"arguments\": {'id': 1}}\n```";
        assert_eq!(read(quoted), (text("{'id': 1}}"), "Now:".to_owned()));
    }

    #[test]
    fn functions_are_described_and_answers_marked() {
        let text = system_text("Do it.\n", &functions());
        assert!(text.starts_with("Do it.\n\nThese are the functions, a line each:\n{\"name\":\"issues\""), "{text}");
        let result = |text: &str| CallResult {
            id: "call_1".to_owned(),
            name: "issues".to_owned(),
            text: text.to_owned(),
            is_error: false,
        };
        assert_eq!(
            format_results(&[result("a"), result("b")]),
            "<tool_response>\na\n</tool_response>\n<tool_response>\nb\n</tool_response>"
        );
    }
}
