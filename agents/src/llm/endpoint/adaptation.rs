//! Changes to requests that a server asks for when it refuses one. They say the same in another form, and are named in the
//! run.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::wordings::is_not_taken;
use crate::llm::agent::short_id;
use crate::llm::api::PLACEHOLDER_SIGNATURE;

/// The statuses of refusals that a change of the request may avoid.
const STATUSES: [u16; 2] = [400, 422];

/// A change of requests.
pub(super) struct Adaptation {
    /// The change, as the run says it.
    pub(super) name: &'static str,
    /// Returns true if a refusal in lower case asks for it.
    asks: fn(&str) -> bool,
    /// Words of templates of local servers, which fail with 500 on what they do not take.
    failures: &'static [&'static str],
    /// Changes the body of a request. Does nothing if there is nothing to change.
    apply: fn(&mut Map<String, Value>),
}

/// All changes. A bit for each of them is kept for each server.
pub(super) const ADAPTATIONS: [Adaptation; 10] = [
    Adaptation {
        name: "answers without reasoning have a blank for it",
        asks: wants_reasoning,
        failures: &[],
        // Kimi takes an empty text for none.
        apply: |body| {
            for message in messages(body).filter(|message| message.get("role").is_some_and(|role| role == "assistant"))
            {
                let is_empty = |value: &Value| value.as_str().is_none_or(str::is_empty);
                if message.get("reasoning_content").is_none_or(is_empty) {
                    let reasoning = message.get("reasoning").filter(|value| !is_empty(value)).cloned();
                    message.insert("reasoning_content".to_owned(), reasoning.unwrap_or_else(|| " ".into()));
                }
            }
        },
    },
    Adaptation {
        name: "reasoning of earlier answers is left out",
        asks: |text| text.contains("reasoning") && is_not_taken(text) && !wants_reasoning(text),
        failures: &[],
        apply: |body| {
            for message in messages(body) {
                message.retain(|key, _| !key.starts_with("reasoning"));
            }
        },
    },
    Adaptation {
        name: "the limit on output is sent as `max_completion_tokens`",
        asks: |text| text.contains("max_completion_tokens") && is_not_taken(text),
        failures: &[],
        apply: |body| {
            if !body.contains_key("max_completion_tokens")
                && let Some(limit) = body.remove("max_tokens")
            {
                body.insert("max_completion_tokens".to_owned(), limit);
            }
        },
    },
    Adaptation {
        name: "results of calls name their tool",
        asks: |text| {
            let of_results = ["function_response.name", "tool message", "tool role", "role 'tool'", "role tool"];
            text.contains("name") && of_results.iter().any(|of| text.contains(of))
        },
        failures: &[],
        apply: name_results,
    },
    Adaptation {
        name: "calls without a text have an empty one",
        asks: |text| text.contains("content") || text.contains("nil"),
        failures: &["nonetype", "none type", "undefined value"],
        apply: |body| {
            for message in messages(body).filter(|message| message.get("content").is_some_and(Value::is_null)) {
                message.insert("content".to_owned(), "".into());
            }
        },
    },
    Adaptation {
        name: "the system text stands before the task",
        asks: |text| {
            text.contains("system") && (text.contains("role") || is_not_taken(text))
                || text.contains("roles must alternate")
        },
        failures: &["system role", "roles must alternate", "system message"],
        apply: system_into_task,
    },
    Adaptation {
        name: "calls that the model did not make have a placeholder for a signature",
        asks: |text| text.contains("thought_signature") || text.contains("thought signature"),
        failures: &[],
        apply: |body| {
            let first_calls =
                messages(body).filter_map(|message| message.get_mut("tool_calls")?.get_mut(0)?.as_object_mut());
            for call in first_calls.filter(|call| !call.contains_key("extra_content")) {
                let signature = json!({"google": {"thought_signature": PLACEHOLDER_SIGNATURE}});
                call.insert("extra_content".to_owned(), signature);
            }
        },
    },
    Adaptation {
        name: "ids of calls have nine letters and digits",
        asks: |text| {
            text.contains("id")
                && ["length of 9", "length 9", "{9}", "9 char", "nine", "alphanumeric"]
                    .iter()
                    .any(|form| text.contains(form))
        },
        failures: &["alphanumeric", "length 9"],
        apply: |body| {
            let is_short = |id: &str| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
            conversation(body).for_each(|message| shorten_ids(message, is_short));
        },
    },
    Adaptation {
        name: "ids of calls are short and have only letters and digits",
        asks: |text| {
            let is_of_call =
                ["tool_call", "tool call", "call_id", "call id", "tool_use"].iter().any(|of| text.contains(of));
            let form = ["pattern", "too long", "at most", "length", "match", "character"];
            is_of_call && text.contains("id") && form.iter().any(|form| text.contains(form))
        },
        failures: &[],
        apply: |body| {
            let is_ordinary = |id: &str| {
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
                (1..=40).contains(&id.len()) && id.bytes().all(is_plain)
            };
            conversation(body).for_each(|message| shorten_ids(message, is_ordinary));
        },
    },
    Adaptation {
        name: "answers are streamed",
        asks: |text| {
            let only = [
                "stream mode",
                "stream must",
                "stream=true",
                "only support stream",
                "only supports stream",
                "non-stream",
            ];
            text.contains("'stream'") || text.contains("\"stream\"") || only.iter().any(|words| text.contains(words))
        },
        failures: &[],
        // Not in Gemini's API, where the path says so.
        apply: |body| {
            if body.contains_key("messages") || body.contains_key("input") {
                body.insert("stream".to_owned(), true.into());
            }
            // Without it, servers of chat completions do not count the tokens. Anthropic's API, which has `max_tokens` in every
            // request and the system text beside the messages, does not know it.
            let is_chat = body
                .get("messages")
                .and_then(|messages| messages.get(0))
                .is_some_and(|first| first["content"].is_string());
            if is_chat {
                body.entry("stream_options").or_insert_with(|| json!({"include_usage": true}));
            }
        },
    },
];

/// Applies the changes of `active`, and returns the bits of those that changed something.
pub(super) fn apply(body: &mut Value, active: u32) -> u32 {
    let Some(object) = body.as_object_mut() else { return 0 };
    let mut changed = 0;
    for (bit, adaptation) in ADAPTATIONS.iter().enumerate().filter(|(bit, _)| active & (1 << bit) != 0) {
        let before = object.clone();
        (adaptation.apply)(object);
        changed |= u32::from(*object != before) << bit;
    }
    changed
}

/// Returns the bit of a change that a refusal asks for and that changes this request.
pub(super) fn asked_for(status: u16, text: &str, body: &Value) -> Option<u32> {
    // A page of HTML is of a proxy, and says nothing about the request.
    let is_page = text.trim_start().starts_with('<');
    let is_asked = |adaptation: &Adaptation| match status {
        500 => adaptation.failures.iter().any(|words| text.contains(words)),
        _ => STATUSES.contains(&status) && (adaptation.asks)(text),
    };
    let bits = (0..ADAPTATIONS.len()).filter(|bit| !is_page && is_asked(&ADAPTATIONS[*bit]));
    bits.map(|bit| 1 << bit).find(|bit| apply(&mut body.clone(), *bit) != 0)
}

/// Returns the names of the changes with these bits.
pub(super) fn names(bits: u32) -> Vec<&'static str> {
    let is_set = |(bit, _): &(usize, &Adaptation)| bits & (1 << bit) != 0;
    ADAPTATIONS.iter().enumerate().filter(is_set).map(|(_, adaptation)| adaptation.name).collect()
}

/// Returns the messages of a chat.
fn messages(body: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let messages = body.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten();
    messages.filter_map(Value::as_object_mut)
}

/// Returns true if a refusal in lower case asks for the reasoning of each answer, those too that the model did not write.
fn wants_reasoning(text: &str) -> bool {
    let asks = ["missing", "must be passed back", "required", "requires"];
    // Beside a field that is refused, unions of schemas list what others of their members lack.
    let refuses = ["extra", "not permitted", "not allowed", "not supported", "unsupported", "unknown", "unrecognized"];
    let has = |words: &[&str]| words.iter().any(|words| text.contains(words));
    text.contains("reasoning_content") && has(&asks) && !has(&refuses)
}

/// Adds the name of its tool to each result of a chat.
fn name_results(body: &mut Map<String, Value>) {
    let calls = messages(body).filter_map(|message| message.get("tool_calls")?.as_array()).flatten();
    let names: BTreeMap<String, Value> =
        calls.filter_map(|call| Some((call["id"].as_str()?.to_owned(), call["function"]["name"].clone()))).collect();
    for message in messages(body) {
        if let Some(name) = message.get("tool_call_id").and_then(Value::as_str).and_then(|id| names.get(id)) {
            message.entry("name").or_insert_with(|| name.clone());
        }
    }
}

/// Puts the system text before the text of the first message of the user.
fn system_into_task(body: &mut Map<String, Value>) {
    let Some(messages) = body.get_mut("messages").and_then(Value::as_array_mut) else { return };
    let text = |message: Option<&Value>, role: &str| {
        message.filter(|message| message["role"] == role)?["content"].as_str().map(str::to_owned)
    };
    if let (Some(system), Some(task)) = (text(messages.first(), "system"), text(messages.get(1), "user")) {
        messages.remove(0);
        messages[0]["content"] = format!("{system}\n\n{task}").into();
    }
}

/// Returns the messages of a chat or of Anthropic's API, or the items of OpenAI's responses.
fn conversation(body: &mut Map<String, Value>) -> impl Iterator<Item = &mut Value> {
    let parts = body.iter_mut().filter(|(key, _)| matches!(key.as_str(), "messages" | "input"));
    parts.filter_map(|(_, messages)| messages.as_array_mut()).flatten()
}

/// Replaces ids of calls in a message by nine letters and digits that follow from them, unless they have the form that is asked for.
fn shorten_ids(message: &mut Value, is_right: fn(&str) -> bool) {
    let replace = |id: Option<&mut Value>| {
        if let Some(id) = id
            && let Some(text) = id.as_str().filter(|text| !is_right(text))
        {
            *id = short_id(text.as_bytes()).into();
        }
    };
    for key in ["tool_call_id", "tool_use_id", "call_id"] {
        replace(message.get_mut(key));
    }
    if message["type"] == "tool_use" {
        replace(message.get_mut("id"));
    }
    for call in message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
        replace(call.get_mut("id"));
    }
    for block in message.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
        shorten_ids(block, is_right);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the request after a refusal, or `None` if nothing changes.
    fn after(status: u16, text: &str, body: &Value) -> Option<Value> {
        let mut changed = body.clone();
        apply(&mut changed, asked_for(status, text, body)?);
        Some(changed)
    }

    #[test]
    fn a_refusal_changes_what_it_names_and_nothing_else() {
        let body = json!({"max_tokens": 9, "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Do it."},
            {"role": "assistant", "content": null, "reasoning_content": "Hm.", "tool_calls": [{"id": "call_1"}, {"id": "b"}]},
            {"role": "tool", "tool_call_id": "call_1", "content": "done"},
        ]});
        let changed = |text| after(400, text, &body).unwrap_or_default();
        assert_eq!(changed("extra inputs: reasoning_content")["messages"][2].get("reasoning_content"), None);
        assert_eq!(changed("unknown key max_tokens, use max_completion_tokens")["max_completion_tokens"], 9);
        let mut seeded = body.clone();
        seeded["messages"].as_array_mut().unwrap().push(
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": "b", "function": {"name": "door"}}]}),
        );
        for text in [
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
            "the `reasoning_content` in the thinking mode must be passed back to the api.",
        ] {
            let changed = after(400, text, &seeded).unwrap_or_default();
            assert_eq!(changed["messages"][2]["reasoning_content"], "Hm.", "{text}");
            assert_eq!(changed["messages"][4]["reasoning_content"], " ", "{text}");
        }
        seeded["messages"].as_array_mut().unwrap().push(json!({"role": "tool", "tool_call_id": "b", "content": "ok"}));
        let named = after(400, "contents[2].parts[0].function_response.name: name cannot be empty.", &seeded);
        assert_eq!(named.unwrap_or_default()["messages"][5]["name"], "door");
        let mut filled = body.clone();
        filled["messages"][2]["content"] = "".into();
        assert_eq!(changed("messages[2]: content must be a text"), filled);
        assert_eq!(after(500, "'nonetype' is not iterable", &body), Some(filled));
        let merged = changed("only user and assistant roles are supported, not system");
        assert_eq!(merged["messages"][0], json!({"role": "user", "content": "Be brief.\n\nDo it."}));
        let signed = changed("function call is missing a thought_signature");
        assert!(signed["messages"][2]["tool_calls"][0].get("extra_content").is_some());
        assert!(signed["messages"][2]["tool_calls"][1].get("extra_content").is_none());
        let ids = changed("call ids should be alphanumeric strings with length 9!");
        assert_eq!(ids["messages"][2]["tool_calls"][0]["id"], ids["messages"][3]["tool_call_id"]);
        assert_eq!(ids["messages"][3]["tool_call_id"].as_str().map(str::len), Some(9));
        let mut odd = body.clone();
        odd["messages"][2]["tool_calls"][1]["id"] = "functions.door:0".into();
        let ids = after(400, "'messages[2].tool_calls[1].id' does not match the pattern", &odd).unwrap_or_default();
        assert_eq!(ids["messages"][2]["tool_calls"][0]["id"], "call_1");
        assert_eq!(ids["messages"][2]["tool_calls"][1]["id"].as_str().map(str::len), Some(9));
        let blocks = json!({"messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a:0", "name": "door", "input": {"id": "x:y"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a:0"}]},
        ]});
        let ids =
            after(400, "messages.0.content.0.tool_use.id: string should match pattern", &blocks).unwrap_or_default();
        assert_eq!(ids["messages"][0]["content"][0]["id"], ids["messages"][1]["content"][0]["tool_use_id"]);
        assert_eq!(ids["messages"][0]["content"][0]["input"]["id"], "x:y");
        assert_eq!(changed("this model only supports stream mode")["stream"], true);
        for (status, text) in [
            (400, "no such model"),
            (401, "content must be a text"),
            (429, "stream mode"),
            (500, "model requires more system memory than is available"),
            (500, "the system encountered an unexpected error"),
            (500, "reasoning parser: unexpected token"),
            (400, "<html><meta content=\"x\">"),
        ] {
            assert_eq!(after(status, text, &body), None, "{text}");
        }
    }

    #[test]
    fn a_change_is_made_once() {
        let body = json!({"messages": [{"role": "assistant", "content": ""}]});
        assert_eq!(asked_for(400, "content must not be null", &body), None);
    }
}
