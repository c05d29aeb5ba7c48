//! Signs that a server, and not its model, made an answer what it is. They change no outcome; the report names them.

use healbench_core::{Function, diagnostics};

use serde_json::Value;

use super::{FinishReason, Reply, prompt_tools};

/// The most bytes of a conversation for a token that a server counts. No tokenizer joins more bytes of JSON and English on
/// average; a count below this is one of a part of the request.
const BYTES_PER_TOKEN: u64 = 10;

/// The most characters of a model's name that are kept.
const MAX_NAME: usize = 100;

/// Marks of calls that a server left in a text, in lower case: of Qwen, Hermes, GLM and Granite; MiniMax; Claude; Nemotron;
/// Mistral; Llama; DeepSeek; gpt-oss; Cohere; Apertus; Phi; Gemma; ReAct; Cline; transcripts.
const CALL_MARKS: [&str; 23] = [
    "<tool_call",
    "<|tool_call",
    ":tool_call>",
    "<function=",
    "<function_call",
    "<invoke name=",
    "<toolcall>",
    "[tool_calls]",
    "<|python_tag|>",
    "<｜tool▁call",
    "<｜dsml｜",
    "<|dsml|",
    "<|channel|>",
    "<|start|>assistant",
    " to=functions.",
    "<|start_action|>",
    "<|tools_prefix|>",
    "functools[",
    "```tool_code",
    "\nbegin_arg:",
    "\naction input:",
    "<use_mcp_tool>",
    "[calling tool",
];

/// Returns the words of an answer to a request whose conversation has so many bytes. `has_calls` is true if calls were found in it.
pub(super) fn of_answer(reply: &Reply, model: &str, bytes: usize, has_calls: bool, native: &[Function]) -> Vec<String> {
    let text = reply.message.text.as_str();
    let is_cut = reply.finish_reason == FinishReason::Length;
    let has_note = |word| reply.note == Some(word);
    let is_unparsed = reply.finish_reason == FinishReason::Unparsed
        || has_note(diagnostics::UNPARSED)
        || reply.message.calls.iter().any(|call| call.name.is_empty());
    let is_empty = !has_calls && text.trim().is_empty() && reply.finish_reason == FinishReason::End;
    let calls_in_text = !native.is_empty()
        && (reply.message.calls.iter().any(|call| is_marked(&call.name))
            || !has_calls && (is_marked(text) || has_known_call(text, native) || reasoning(reply).any(is_marked)));
    let counted = reply.usage.map(|usage| usage.input);
    let few = counted.is_some_and(|counted| counted < bytes as u64 / BYTES_PER_TOKEN);
    let findings = [
        (is_cut, diagnostics::CUT),
        (is_empty, diagnostics::EMPTY),
        (calls_in_text, diagnostics::CALLS_IN_TEXT),
        (is_unparsed, diagnostics::UNPARSED),
        (has_note(diagnostics::OTHER_CHOICE), diagnostics::OTHER_CHOICE),
        (few, diagnostics::FEW_TOKENS),
    ];
    let mut found: Vec<String> =
        findings.iter().filter(|(is_found, _)| *is_found).map(|(_, word)| (*word).to_owned()).collect();
    let other = reply.model.as_deref().filter(|answered| !is_same_model(answered, model));
    found.extend(other.map(|other| {
        let name: String = other.chars().take(MAX_NAME).collect();
        format!("{}{name}", diagnostics::OTHER_MODEL)
    }));
    found
}

/// Returns the reasoning beside the text: of chat completions in fields of the message, of Anthropic in blocks.
fn reasoning(reply: &Reply) -> impl Iterator<Item = &str> {
    let raw = reply.message.raw.as_ref();
    let blocks = raw.and_then(Value::as_array).into_iter().flatten();
    let objects = raw.into_iter().chain(blocks);
    objects
        .flat_map(|object| ["reasoning_content", "reasoning", "thinking"].map(|key| object.get(key)?.as_str()))
        .flatten()
}

fn is_marked(text: &str) -> bool {
    let text = text.to_lowercase();
    CALL_MARKS.iter().any(|mark| text.contains(mark))
}

/// Returns true if a text has a call of one of the functions as JSON, or is one in Python's form.
fn has_known_call(text: &str, functions: &[Function]) -> bool {
    let (calls, _) = prompt_tools::parse_calls(text, functions);
    let is_known = |name: &str| functions.iter().any(|function| function.name == name);
    let bare = text.trim().trim_start_matches("```python").trim_matches('`').trim();
    let in_python = bare.strip_suffix(')').or_else(|| bare.strip_suffix(")]"));
    calls.iter().any(|call| is_known(&call.name))
        || functions.iter().any(|function| has_json_call(text, &function.name))
        || in_python
            .and_then(|call| call.trim_start_matches('[').split_once('('))
            .is_some_and(|(name, _)| is_known(name))
}

/// Returns true if a text has the name of a function and arguments as fields of JSON, under keys that other servers' templates
/// have taught a model.
fn has_json_call(text: &str, function: &str) -> bool {
    const NAMES: [&str; 4] = ["\"tool\"", "\"tool_name\"", "\"function\"", "\"action\""];
    const ARGUMENTS: [&str; 4] = ["\"arguments\"", "\"parameters\"", "\"args\"", "\"action_input\""];
    let name = format!("\"{function}\"");
    let follows = |(at, key): (usize, &str)| {
        let value = text[at + key.len()..].trim_start().strip_prefix(':');
        value.is_some_and(|value| value.trim_start().starts_with(&name))
    };
    NAMES.iter().any(|key| text.match_indices(key).any(follows)) && ARGUMENTS.iter().any(|key| text.contains(key))
}

/// Returns true if a server's name of a model is that of the one that was asked for: the same, without a path or the provider
/// before it, and without a date, a version, a tag or a precision behind it.
fn is_same_model(answered: &str, asked: &str) -> bool {
    let short = |name: &str| {
        let name = name.rsplit(['/', '\\']).next().unwrap_or(name).to_lowercase();
        // Bedrock's `us.anthropic.`; a version such as `qwen2.5` has a digit before its point.
        let is_provider = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphabetic());
        let provider = name.split_inclusive('.').take_while(|part| part.strip_suffix('.').is_some_and(is_provider));
        let provider = provider.map(str::len).sum::<usize>();
        // `mistral.gguf` has no provider.
        let start = if is_version(&name[provider.saturating_sub(1)..]) { 0 } else { provider };
        name[start..].to_owned()
    };
    let (answered, asked) = (short(answered), short(asked));
    let extends = |long: &str, short: &str| long.strip_prefix(short).is_some_and(is_version);
    // An empty name says nothing.
    answered.is_empty() || extends(&answered, &asked) || extends(&asked, &answered)
}

/// Returns true for the end of a model's name after the name itself, such as `-2026-01`, `@001`, `:latest` or `-q4_k_m.gguf`.
fn is_version(rest: &str) -> bool {
    const PRECISIONS: [&str; 8] = ["awq", "gptq", "fp8", "fp16", "bf16", "int4", "int8", "mlx"];
    let Some(text) = rest.strip_prefix(['-', '@', ':', '.', '_']) else { return rest.is_empty() };
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    is_number(text)
        || ["v", "q", "iq"].iter().any(|start| text.strip_prefix(start).is_some_and(is_number))
        || matches!(text, "latest" | "gguf")
        || PRECISIONS.iter().any(|precision| text.starts_with(precision))
}

#[cfg(test)]
mod tests {
    use healbench_core::Usage;
    use serde_json::json;

    use super::*;
    use crate::llm::AssistantMessage;

    fn found(text: &str, change: impl Fn(&mut Reply)) -> Vec<String> {
        let mut reply = Reply {
            message: AssistantMessage { text: text.to_owned(), ..AssistantMessage::default() },
            finish_reason: FinishReason::End,
            usage: Some(Usage { input: 300, output: 5, ..Usage::default() }),
            model: Some("org/Small-7b-2026-01".to_owned()),
            note: None,
        };
        change(&mut reply);
        let tool = Function { name: "door".to_owned(), description: String::new(), parameters: json!({}) };
        of_answer(&reply, "small-7b", 1_200, false, &[tool])
    }

    #[test]
    fn an_ordinary_answer_says_nothing() {
        assert_eq!(found("It is open.", |_| ()), Vec::<String>::new());
        for text in [
            r#"The reply was {"name": "Acme", "arguments": {}}."#,
            "I opened it with door(room=12).",
            r#"It is {"action": "open", "by": "door"} (as wanted)"#,
        ] {
            assert_eq!(found(text, |_| ()), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn what_a_server_did_is_named() {
        assert_eq!(found("", |_| ()), ["empty"]);
        assert_eq!(found("I th", |reply| reply.finish_reason = FinishReason::Length), ["cut"]);
        for text in [
            "<tool_call>\n{",
            r#"{"name": "door", "arguments": {"room": 12}}"#,
            "<|channel|>commentary to=functions.door <|message|>{}",
            "<minimax:tool_call>\n<invoke name=\"door\">",
            r#"{"type": "function", "function": "door", "parameters": {"room": 12}}"#,
            "Action: ```json\n[{\"tool_name\" : \"door\", \"parameters\": {}}]\n```",
            "[door(room=12, state='open')]",
            "```tool_code\ndoor(room=12)\n```",
            "```python\ndoor(room=12)\n```",
            "call:door:\nBEGIN_ARG:\n{\"room\": 12}\nEND_ARG",
            "<|DSML|tool_calls>\n<|DSML|invoke name=\"door\">",
            "<use_mcp_tool>\n<tool_name>door</tool_name>",
            "[Calling tool: door with arguments {\"room\": 12}]",
            "Thought: I open it.\nAction: door\nAction Input: {\"room\": 12}",
        ] {
            assert_eq!(found(text, |_| ()), ["calls_in_text"], "{text}");
        }
        let thought = "I open it. <tool_call>{\"name\": \"door\"}</tool_call>";
        for raw in [json!({"reasoning_content": thought}), json!([{"type": "thinking", "thinking": thought}])] {
            assert_eq!(found("Done.", |reply| reply.message.raw = Some(raw.clone())), ["calls_in_text"], "{raw}");
        }
        assert_eq!(found("", |reply| reply.finish_reason = FinishReason::Unparsed), ["unparsed"]);
        assert_eq!(found("Yes.", |reply| reply.usage.as_mut().unwrap().input = 80), ["few_tokens"]);
        for other in ["other", "small-7b-mini", "small-70b", "small-7b-quick"] {
            let found = found("Yes.", |reply| reply.model = Some(other.to_owned()));
            assert_eq!(found, [format!("model {other}")]);
        }
        for same in [
            "small-7b@001",
            "SMALL-7B:latest",
            "models/small-7b",
            "us.maker.small-7b-20260929-v1:0",
            "small-7b-q4_k_m.gguf",
            "small-7b-AWQ",
            "small-7b.gguf",
            "",
        ] {
            assert_eq!(found("Yes.", |reply| reply.model = Some(same.to_owned())), Vec::<String>::new(), "{same}");
        }
    }
}
