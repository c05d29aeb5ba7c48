//! What must hold of every text that a renderer writes, whatever it was given. The fuzz targets use this file too.

use std::sync::Arc;

use healbench_engine::definition::{Action, Handler, Tool, ToolFailure, WorldDef};
use healbench_engine::{Answer, Engine, Failure, World, WorldBase};
use healbench_protocol::{ErrorFormat, Guardrails, ToolCall};
use serde_json::{Value, json};

/// Texts from outside, one for each place where they can stand.
#[derive(Debug, Clone)]
pub(crate) struct Texts {
    /// A tool's and an action's name.
    pub(crate) name: String,
    /// What the tool is for, and what a handler says.
    pub(crate) prose: String,
    /// A declared field.
    pub(crate) field: String,
    /// An undeclared field.
    pub(crate) extra: String,
    /// One of a field's options.
    pub(crate) option: String,
    /// A value that is sent.
    pub(crate) value: String,
    /// A name in the previous contract.
    pub(crate) previous: String,
}

/// The calls that are tried: a validation failure with contract changes, an unknown action, a missing discriminator, and a tool error.
pub(crate) fn check_all(format: &ErrorFormat, texts: &Texts) {
    let tools = [tool(texts), failing(texts)];
    let engine = match Engine::new(&tools, Guardrails::ALL, format) {
        Ok(engine) => engine,
        // Not every text can be a template.
        Err(_) => return,
    };
    let invalid =
        json!({"action": texts.name, "age": texts.value, "list": [texts.value, 1], texts.extra.clone(): [texts.value]});
    let calls = [
        call(&texts.name, invalid),
        call(&texts.name, json!({"action": texts.value, texts.extra.clone(): 1})),
        call(&texts.name, json!({})),
        call(&texts.name, json!(texts.value)),
        call(&texts.value, json!({texts.extra.clone(): texts.value})),
        call("failing", json!({})),
    ];
    for call in calls {
        let answer = engine.call(&mut world(), &call);
        let again = engine.call(&mut world(), &call);
        assert_eq!(answer.response, again.response, "the same call has the same answer");
        if answer.failure.is_some() {
            check(format, &answer, texts);
        }
    }
}

/// Checks one failure's text.
fn check(format: &ErrorFormat, answer: &Answer, texts: &Texts) {
    let text = answer.response.text();
    let failure = answer.failure.as_ref().expect("only failures are checked");
    match format {
        ErrorFormat::FusionXml => check_xml(&text, failure, texts),
        ErrorFormat::LlmFriendlyJson | ErrorFormat::ProblemJson => {
            let value: Value = serde_json::from_str(&text).expect("JSON");
            if matches!(failure, Failure::Tool(_)) {
                assert!(holds(&value, &texts.prose), "{text} gives back {:?}", texts.prose);
            }
            if answer.contract_deltas > 0 {
                assert!(holds(&value, &texts.name), "{text} tells the contract of {:?}", texts.name);
            }
        }
        ErrorFormat::ZodJson if matches!(failure, Failure::Validation { .. }) => {
            let array = text.find("[\n").map(|at| &text[at..]).expect("an array");
            // A name may hold the same two characters: the array is what the text ends with.
            let starts = text.match_indices('[').map(|(at, _)| &text[at..]);
            let parsed = starts.filter_map(|rest| serde_json::from_str::<Vec<Value>>(rest).ok()).next();
            assert!(parsed.is_some(), "no JSON array at the end of {array}");
        }
        ErrorFormat::LlmFriendly => check_markdown(&text),
        ErrorFormat::FusionText | ErrorFormat::Serde | ErrorFormat::Bare => {
            let control = |c: char| c != '\n' && (c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'));
            let ours = text.split("<contract_awareness>").next().unwrap_or_default();
            assert!(!ours.contains(control), "a control character in {ours:?}");
        }
        ErrorFormat::ZodJson | ErrorFormat::Pydantic | ErrorFormat::Template(_) => {}
    }
}

fn check_xml(text: &str, failure: &Failure, texts: &Texts) {
    let document = roxmltree::Document::parse(text).expect("XML");
    let content = |name: &str| {
        let mut found = document.descendants().filter(|node| node.has_tag_name(name));
        found.next().map(|node| node.text().unwrap_or_default().to_owned())
    };
    match failure {
        Failure::Tool(_) => {
            for name in ["message", "recovery", "action", "detail"] {
                assert_eq!(content(name), Some(xml_safe(&texts.prose)), "{name} in {text}");
            }
        }
        Failure::Validation { .. } => {
            let action = document.root_element().attribute("action").expect("an action");
            assert_eq!(action, xml_safe(&format!("{0}/{0}", texts.name)));
            assert!(document.root_element().has_tag_name("validation_error"));
        }
        _ => assert!(document.root_element().has_tag_name("tool_error")),
    }
    // Nothing that came from outside made an element of its own.
    const OURS: [&str; 20] = [
        "validation_error",
        "tool_error",
        "field",
        "recovery",
        "message",
        "available_actions",
        "available_tools",
        "action",
        "details",
        "detail",
        "retry_after",
        "contract_awareness",
        "system_note",
        "change_count",
        "max_severity",
        "instructions",
        "contract_deltas",
        "delta",
        "previous",
        "current",
    ];
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        assert!(OURS.contains(&node.tag_name().name()), "<{}> in {text}", node.tag_name().name());
    }
}

/// Sections are ours, and a fence that opens closes.
fn check_markdown(text: &str) {
    const SECTIONS: [&str; 7] = [
        "## Issues Found:",
        "## Tool Schema:",
        "## Suggestions:",
        "## Valid Example:",
        "## Contract Changes:",
        "## Available Actions:",
        "## Available Tools:",
    ];
    let mut fence: Option<usize> = None;
    for line in text.lines() {
        let ticks = line.chars().take_while(|c| *c == '`').count();
        match fence {
            Some(open) if ticks >= open && line.chars().all(|c| c == '`') => fence = None,
            None if ticks >= 3 => fence = Some(ticks),
            None if line.starts_with('#') => {
                assert!(SECTIONS.contains(&line) || line == "## Details:", "section {line:?} in {text}");
            }
            _ => {}
        }
    }
    assert_eq!(fence, None, "an open fence in {text}");
}

/// Whether a text stands somewhere in a value, as a whole or within another.
fn holds(value: &Value, wanted: &str) -> bool {
    match value {
        Value::String(text) => text.contains(wanted),
        Value::Array(items) => items.iter().any(|item| holds(item, wanted)),
        Value::Object(object) => object.iter().any(|(key, value)| key.contains(wanted) || holds(value, wanted)),
        _ => false,
    }
}

/// The text as an XML 1.0 document can hold it.
pub(crate) fn xml_safe(text: &str) -> String {
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..);
    text.chars().map(|c| if allowed(c) { c } else { '\u{FFFD}' }).collect()
}

fn tool(texts: &Texts) -> Tool {
    let schema = |field: &str| {
        json!({
            "type": "object",
            "description": texts.prose,
            "properties": {
                "age": {"type": "integer", "description": texts.prose},
                "list": {"type": "array", "items": {"enum": [texts.option, 7]}},
                field: {"enum": [texts.option]},
            },
            "required": ["age", field],
        })
    };
    let action = |field: &str| Action {
        name: texts.name.clone(),
        description: texts.prose.clone(),
        input: schema(field),
        handler: Handler::Return(json!("OK")),
        ..Action::default()
    };
    let tool = |field: &str, previous| Tool {
        name: texts.name.clone(),
        description: texts.prose.clone(),
        discriminator: Some("action".to_owned()),
        actions: vec![action(field)],
        previous,
        ..Tool::default()
    };
    tool(&texts.field, Some(Box::new(tool(&texts.previous, None))))
}

fn failing(texts: &Texts) -> Tool {
    let failure = ToolFailure {
        recovery: Some(texts.prose.clone()),
        available_actions: vec![texts.prose.clone()],
        details: vec![(texts.field.clone(), texts.prose.clone())],
        retry_after: Some(30),
        ..ToolFailure::new(texts.name.clone(), texts.prose.clone())
    };
    let action =
        Action { name: "fail".to_owned(), handler: Handler::Fail(failure), input: json!({}), ..Action::default() };
    Tool { name: "failing".to_owned(), actions: vec![action], ..Tool::default() }
}

fn call(tool: &str, arguments: Value) -> ToolCall {
    ToolCall { tool: tool.to_owned(), arguments }
}

fn world() -> World {
    World::new(Arc::new(WorldBase::new(WorldDef::default())))
}
