//! The clients, compared byte by byte with recordings of the programs: `agents/clients/fixtures`, made by
//! `tools/record-clients.py`.

use std::collections::BTreeMap;

use healbench_core::{CLIENTS, CallResult, Client, ContentBlock, ProtocolError, ToolCall};
use healbench_engine::{ClientProfile, Sending, ShownBlock};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../agents/clients");

fn read(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(format!("{FOLDER}/{name}")).unwrap()).unwrap()
}

/// Makes the texts that cases describe, independently of the server that sends them.
fn expand(value: &Value, arguments: &Value) -> Value {
    let Value::Object(members) = value else {
        let Value::Array(items) = value else { return value.clone() };
        return items.iter().map(|item| expand(item, arguments)).collect();
    };
    if let Some(count) = value["numbered_lines"].as_u64() {
        let lines: Vec<String> = (1..).map(|line| format!("{line:09}\n")).take(count as usize / 10).collect();
        return lines.concat().into();
    }
    if let (Some(text), Some(count)) = (value["repeat"].as_str(), value["characters"].as_u64()) {
        assert_eq!(count as usize % text.chars().count(), 0);
        return text.repeat(count as usize / text.chars().count()).into();
    }
    if value["echo"] == "arguments" {
        return arguments.to_string().into();
    }
    members.iter().map(|(name, member)| (name.clone(), expand(member, arguments))).collect()
}

fn call_result(case: &Value, arguments: &Value) -> CallResult {
    if let Some(error) = case.get("error") {
        let protocol_error = ProtocolError {
            code: error["code"].as_i64().unwrap(),
            message: error["message"].as_str().unwrap().to_owned(),
            data: error.get("data").cloned(),
        };
        return CallResult { protocol_error: Some(protocol_error), ..CallResult::default() };
    }
    let result = expand(&case["result"], arguments);
    let block = |block: &Value| match (block["type"].as_str(), block["text"].as_str()) {
        (Some("text"), Some(text)) => ContentBlock::Text(text.to_owned()),
        _ => ContentBlock::Other(block.clone()),
    };
    CallResult {
        content: result["content"].as_array().unwrap().iter().map(block).collect(),
        structured: result.get("structuredContent").cloned(),
        is_error: result["isError"] == true,
        protocol_error: None,
    }
}

/// Returns what a client shows of a case.
fn shown(profile: &ClientProfile, case: &Value) -> Vec<ShownBlock> {
    let default = json!({"tool": "get_invoice", "arguments": {"id": "7"}});
    let call = case.get("call").unwrap_or(&default);
    let call = ToolCall::new(call["tool"].as_str().unwrap(), call["arguments"].clone());
    match profile.send(&call) {
        Sending::Sent(sent) => profile.show(&sent, &call_result(case, &sent.arguments)),
        Sending::UnknownTool(shown) | Sending::InvalidArguments { shown, .. } => shown,
    }
}

/// Returns a text as in fixtures, where a long one is described.
fn described(text: &str) -> Value {
    let count = text.chars().count();
    if count <= 2000 {
        return text.into();
    }
    let characters: Vec<char> = text.chars().collect();
    json!({
        "sha256": Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
        "characters": count,
        "head": characters[..100].iter().collect::<String>(),
        "tail": characters[count - 100..].iter().collect::<String>(),
    })
}

fn described_blocks(blocks: &[ShownBlock]) -> Vec<Value> {
    let block = |block: &ShownBlock| match block {
        ShownBlock::Text(text) => described(text),
        ShownBlock::Image(url) => json!({ "image": url }),
    };
    blocks.iter().map(block).collect()
}

/// Returns the texts and images of recorded messages, in order.
fn recorded_blocks(messages: &Value) -> Vec<Value> {
    let content = |message: &Value| {
        let content = message.get("output").unwrap_or(&message["content"]).clone();
        match content {
            Value::Array(items) => items,
            text => vec![json!({ "text": text })],
        }
    };
    let block = |item: Value| match item.get("image_url") {
        Some(url) => json!({ "image": url }),
        None => item["text"].clone(),
    };
    messages.as_array().unwrap().iter().flat_map(content).map(block).collect()
}

fn definitions(case: &Value) -> [Value; 1] {
    [case["tool"].clone()]
}

#[test]
fn profiles_show_what_the_programs_showed() {
    let cases = read("cases.json");
    let lock = read("package-lock.json");
    let mut differences = Vec::new();
    for entry in CLIENTS.iter().filter(|entry| entry.value != Client::Raw) {
        let fixture = read(&format!("fixtures/{}.json", entry.name));
        let package = fixture["package"].as_str().unwrap();
        assert_eq!(fixture["client"], entry.name);
        assert_eq!(fixture["integrity"], lock["packages"][format!("node_modules/{package}")]["integrity"], "{package}");
        assert!(entry.name.ends_with(&format!("-{}", fixture["version"].as_str().unwrap())), "{}", entry.name);
        let recorded = fixture["cases"].as_object().unwrap();
        let names = |cases: &Value| cases.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&fixture["cases"]), names(&cases["cases"]), "{}", entry.name);
        for (name, messages) in recorded {
            let case = &cases["cases"][name];
            let server = fixture["server"].as_str().unwrap();
            let profile = ClientProfile::new(entry.value, server, &definitions(case)).unwrap();
            let (shown, expected) = (described_blocks(&shown(&profile, case)), recorded_blocks(messages));
            if shown != expected {
                differences.push(format!("{} {name}:\n  {}\n  {}", entry.name, json!(expected), json!(shown)));
            }
        }
    }
    assert!(differences.is_empty(), "recorded, then shown:\n{}", differences.join("\n"));
}

/// Errors of Ajv 8.20 with ajv-formats 3.0, made by `tools/ajv-errors`.
#[test]
fn schema_errors_are_those_of_ajv() {
    let mut differences = Vec::new();
    let mut keywords: BTreeMap<String, usize> = BTreeMap::new();
    for case in read("ajv-errors.json").as_array().unwrap() {
        let tool = json!({"name": "t", "inputSchema": case["schema"], "outputSchema": case["schema"]});
        let qwen = ClientProfile::new(Client::QwenCode, "s", std::slice::from_ref(&tool)).unwrap();
        let call = ToolCall::new("t", case["value"].clone());
        let first = match qwen.send(&call) {
            Sending::InvalidArguments { shown, .. } => shown[0].clone().into_text(),
            Sending::Sent(sent) => {
                assert_eq!(sent.arguments, case["value"]);
                String::new()
            }
            Sending::UnknownTool(shown) => panic!("{shown:?}"),
        };
        let result = CallResult { structured: Some(case["value"].clone()), ..CallResult::default() };
        let all = qwen.show(&call, &result)[0].clone().into_text();
        let all = all.split_once("schema: ").map_or("", |(_, errors)| errors);
        for (ours, theirs) in [(first.as_str(), &case["first"]), (all, &case["all"])] {
            if ours != theirs {
                differences.push(format!("{}\n  {theirs}\n  \"{ours}\"", json!([case["schema"], case["value"]])));
            }
        }
        for keyword in case["keywords"].as_array().unwrap() {
            *keywords.entry(keyword.as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    assert!(differences.is_empty(), "Ajv's, then ours:\n{}", differences.join("\n"));
    assert!(keywords.len() >= 20, "{keywords:?}");
}

#[test]
fn raw_is_no_profile() {
    assert!(ClientProfile::new(Client::Raw, "s", &[]).is_none());
}
