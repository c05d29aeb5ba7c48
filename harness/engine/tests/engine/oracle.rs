//! Invariants of every text that a renderer returns, for any input. The fuzz targets use this file too.

use std::sync::Arc;

use healbench_core::{ErrorFormat, Guardrails, ToolCall};
use healbench_engine::definition::{Action, Handler, Tool, ToolFailure, WorldDef};
use healbench_engine::{Engine, Failure, GuardedReply, Issue, IssueKind, Routing, World, WorldBase};
use serde_json::{Value, json};

/// Untrusted texts, one for each position where they can occur.
#[derive(Debug, Clone)]
pub(crate) struct Texts {
    /// The name of the tool and of the action.
    pub(crate) name: String,
    /// The description of the tool, and the message of a handler.
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

/// Checks the texts of a validation failure with contract changes, an unknown action, a missing discriminator, and a
/// tool error.
pub(crate) fn check_all(format: &ErrorFormat, texts: &Texts) {
    let tools = [tool(texts), failing(texts)];
    let engine = match Engine::new(&tools, Guardrails::ALL, format) {
        Ok(engine) => engine,
        // The template may be invalid.
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
fn check(format: &ErrorFormat, answer: &GuardedReply, texts: &Texts) {
    let text = answer.response.text();
    let failure = answer.failure.as_ref().expect("only failures are checked");
    match format {
        ErrorFormat::FusionXml => check_xml(&text, failure, texts),
        ErrorFormat::LlmFriendlyJson | ErrorFormat::ProblemJson => {
            let value: Value = serde_json::from_str(&text).expect("JSON");
            if matches!(failure, Failure::Tool(_)) {
                assert!(contains_text(&value, &texts.prose), "{text} gives back {:?}", texts.prose);
            }
            if answer.contract_deltas > 0 {
                assert!(contains_text(&value, &texts.name), "{text} tells the contract of {:?}", texts.name);
            }
        }
        ErrorFormat::ZodJson => check_zod(&text, answer, texts),
        ErrorFormat::ZodLines | ErrorFormat::ZodInline => check_zod_messages(&text, failure),
        ErrorFormat::ToolFailure => {
            // The changes of the contract follow.
            let mut objects = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let classified = objects.find(|object| object["class"].is_string()).expect("a classification");
            assert!(classified["code"].is_string(), "{text}");
            check_zod_messages(&text, failure);
        }
        ErrorFormat::Pydantic => {
            let head = |tool: &str| (format!("Error executing tool {tool}: "), format!("{tool}Arguments"));
            check_pydantic(&text, answer, texts, |text, tool| text == format!("Unknown tool: {tool}"), head);
        }
        ErrorFormat::FastMcp => {
            let head = |tool: &str| (String::new(), format!("call[{tool}]"));
            check_pydantic(&text, answer, texts, |text, _| !text.contains(is_control), head);
        }
        ErrorFormat::JsonSchema => match failure {
            Failure::Tool(failure) | Failure::Fault(failure) => assert_eq!(text, failure.message),
            Failure::Routing(Routing::UnknownTool { tool, .. }) => assert_eq!(text, format!("Unknown tool: {tool}")),
            _ => assert!(!text.contains(is_control), "a control character in {text:?}"),
        },
        ErrorFormat::LlmFriendly => check_markdown(&text),
        ErrorFormat::FusionText | ErrorFormat::Serde | ErrorFormat::Bare => {
            let ours = text.split("<contract_awareness>").next().unwrap_or_default();
            assert!(!ours.contains(is_control), "a control character in {ours:?}");
        }
        ErrorFormat::Template(source) if source.text == SHIPPED => check_shipped(&text, answer),
        // The invariants of other templates are not known.
        ErrorFormat::Template(_) => {}
    }
}

/// The template that is shipped as an example.
pub(crate) const SHIPPED: &str = include_str!("../../../../scenarios/templates/teaching.jinja");

/// Returns true for characters that break a line or hide text; the format's own line feeds are excluded.
fn is_control(c: char) -> bool {
    c != '\n' && (c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))
}

/// After the SDK's prefix there are only issues, and a failure outside of validation is only its message.
fn check_zod(text: &str, answer: &GuardedReply, texts: &Texts) {
    let failure = answer.failure.as_ref().expect("only failures are checked");
    let tool = match failure {
        Failure::Tool(failure) | Failure::Fault(failure) => return assert_eq!(text, failure.message),
        Failure::Routing(Routing::UnknownTool { tool, .. }) => {
            return assert_eq!(text, format!("MCP error -32602: Tool {tool} not found"));
        }
        Failure::Routing(_) => &texts.name,
        Failure::Validation { tool, .. } => tool,
    };
    let head = format!("MCP error -32602: Input validation error: Invalid arguments for tool {tool}: ");
    let array = text.strip_prefix(&head).expect("the SDK's words");
    let issues: Vec<Value> = serde_json::from_str(array).expect("a JSON array, and nothing after it");
    for issue in &issues {
        assert!(issue["code"].is_string() && issue["path"].is_array() && issue["message"].is_string(), "{issue}");
    }
    let changes: Vec<&Value> = issues.iter().filter(|issue| !issue["params"].is_null()).collect();
    assert_eq!(changes.len(), usize::from(answer.contract_deltas > 0), "{text}");
    for issue in changes {
        assert_eq!(issue["params"]["tool"], json!(tool));
    }
}

/// Checks that the text begins as that of a server on a TypeScript SDK does. Names are written as they are.
fn check_zod_messages(text: &str, failure: &Failure) {
    let beginning = match failure {
        Failure::Tool(failure) | Failure::Fault(failure) => failure.message.clone(),
        Failure::Routing(Routing::UnknownTool { tool, .. }) => format!("Tool {tool} not found"),
        Failure::Routing(_) => "Input validation error: Invalid arguments for tool ".to_owned(),
        Failure::Validation { tool, .. } => format!("Input validation error: Invalid arguments for tool {tool}: "),
    };
    assert!(text.strip_prefix("MCP error -32602: ").unwrap_or(text).starts_with(&beginning), "{text}");
}

/// Checks that every line of an error is of a known kind. pydantic does not escape names, so a name must be compared
/// exactly; a value that was sent stays on one line.
fn check_pydantic(
    text: &str,
    answer: &GuardedReply,
    texts: &Texts,
    says_unknown: impl Fn(&str, &str) -> bool,
    head: impl Fn(&str) -> (String, String),
) {
    let failure = answer.failure.as_ref().expect("only failures are checked");
    let (tool, locations) = match failure {
        Failure::Tool(failure) | Failure::Fault(failure) => {
            return assert_eq!(text, format!("{}{}", head("failing").0, failure.message));
        }
        Failure::Routing(Routing::UnknownTool { tool, .. }) => {
            return assert!(text.starts_with("Unknown tool: ") && says_unknown(text, tool), "{text}");
        }
        Failure::Routing(_) => (&texts.name, vec!["action".to_owned()]),
        Failure::Validation { tool, issues, .. } => (tool, issues.iter().flat_map(locations).collect()),
    };
    let count_and_errors = || {
        let (head, title) = head(tool);
        let rest = text.strip_prefix(&head)?;
        let (count, rest) = rest.split_once(" validation error")?;
        let s = if count == "1" { "" } else { "s" };
        Some((count.parse::<usize>().ok()?, rest.strip_prefix(&format!("{s} for {title}"))?))
    };
    let (count, errors) = count_and_errors().expect("a count of errors");
    // A model is named after its tool.
    let model = format!("Input should be a valid dictionary or instance of {tool}Arguments");
    assert!(are_errors(errors, count, &locations, &model, answer.contract_deltas > 0), "{count} errors in {text}");
}

/// Returns the possible locations of pydantic's error for the issue.
fn locations(issue: &Issue) -> Vec<String> {
    let mut locations = match &issue.kind {
        IssueKind::Undeclared { fields } if issue.path.is_empty() => fields.clone(),
        IssueKind::Undeclared { fields } => fields.iter().map(|field| format!("{}.{field}", issue.path)).collect(),
        _ => vec![issue.path.clone()],
    };
    // pydantic shows an empty name as it is.
    let with_empty: Vec<String> = locations.iter().map(|location| location.replace("\"\"", "")).collect();
    locations.extend(with_empty);
    // A path that ends with a dot may belong to a name without one.
    let shorter: Vec<String> =
        locations.iter().filter_map(|location| location.strip_suffix('.').map(str::to_owned)).collect();
    locations.extend(shorter);
    locations
}

/// Returns true if `rest` consists of `count` errors and, if `changed`, the block of contract changes.
fn are_errors(rest: &str, count: usize, locations: &[String], model: &str, changed: bool) -> bool {
    if count == 0 {
        return if changed { is_text_block(rest) } else { rest.is_empty() };
    }
    // A name may be a prefix of another one.
    let placed = locations.iter().filter_map(|location| strip_location(rest.strip_prefix('\n')?, location));
    placed
        .chain([rest])
        .filter_map(|rest| after_error(rest, model))
        .any(|rest| are_errors(rest, count - 1, locations, model, changed))
}

/// Returns the rest after the location; names with a dot are enclosed in backticks.
fn strip_location<'t>(text: &'t str, location: &str) -> Option<&'t str> {
    let mut rest = text;
    for c in location.chars() {
        rest = rest.strip_prefix(c).or_else(|| rest.trim_start_matches('`').strip_prefix(c))?;
    }
    Some(rest.strip_prefix('`').unwrap_or(rest))
}

/// Returns the rest after the error of one value: a message, the value sent and possibly a link, each on one line.
fn after_error<'t>(text: &'t str, model: &str) -> Option<&'t str> {
    const BEGINNINGS: [&str; 5] = [
        "Field required ",
        "Missing required argument ",
        "Extra inputs are not permitted ",
        "Unexpected keyword argument ",
        "Input should be ",
    ];
    let message = text.strip_prefix("\n  ")?;
    let known = || BEGINNINGS.into_iter().find_map(|beginning| message.strip_prefix(beginning));
    let rest_of_message = message.strip_prefix(model).or_else(known)?;
    let (line, rest) = rest_of_message.split_at(rest_of_message.find('\n').unwrap_or(rest_of_message.len()));
    let markers = ["[type=", ", input_value=", ", input_type="];
    let has_all =
        markers.into_iter().try_fold(line, |line, marker| line.split_once(marker).map(|(_, after)| after)).is_some();
    if !has_all || !line.ends_with(']') || line.contains(is_control) {
        return None;
    }
    let link = rest.strip_prefix("\n    For further information visit https://errors.pydantic.dev/2.14/v/");
    Some(link.map_or(rest, |kind| kind.trim_start_matches(|c: char| c.is_ascii_lowercase() || c == '_')))
}

/// Returns true if the text is the list of contract changes.
fn is_text_block(text: &str) -> bool {
    let Some(lines) = text.strip_prefix("\n\n🔄 CONTRACT CHANGED — ") else { return false };
    let is_known =
        |line: &str| line.starts_with("  • ") || line == "💡 Adjust your next call to the contract as it is now.";
    lines.lines().skip(1).all(is_known) && !text.contains(is_control)
}

/// Checks that every line belongs to the template, and that their number is as expected.
fn check_shipped(text: &str, answer: &GuardedReply) {
    assert!(!text.contains(is_control), "a control character in {text:?}");
    let lines: Vec<&str> = text.split('\n').collect();
    let expected = match answer.failure.as_ref().expect("only failures are checked") {
        // The code and the message, the available actions, the detail and the wait, and the recovery if there is one.
        Failure::Tool(failure) | Failure::Fault(failure) => {
            4 + usize::from(failure.recovery.as_ref().is_some_and(|recovery| !recovery.is_empty()))
        }
        Failure::Routing(Routing::MissingDiscriminator { .. }) => 3,
        Failure::Routing(_) => 2,
        Failure::Validation { issues, .. } => {
            let starting = |start| lines.iter().filter(|line| line.starts_with(start)).count();
            assert!(lines[0].starts_with("Call of "), "{text}");
            assert_eq!(lines.last(), Some(&"Correct these fields and call again."), "{text}");
            assert_eq!(starting("- "), issues.len(), "{text}");
            assert_eq!(starting("Changed ("), answer.contract_deltas as usize, "{text}");
            2 + issues.len() + answer.contract_deltas as usize + starting("Required: ").min(1)
        }
    };
    assert_eq!(lines.len(), expected, "{text}");
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
    // Untrusted text created no element.
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

/// Checks that all headings belong to the format, and that every fence is closed.
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

/// Returns true if a value contains the text anywhere.
fn contains_text(value: &Value, wanted: &str) -> bool {
    match value {
        Value::String(text) => text.contains(wanted),
        Value::Array(items) => items.iter().any(|item| contains_text(item, wanted)),
        Value::Object(object) => object.iter().any(|(key, value)| key.contains(wanted) || contains_text(value, wanted)),
        _ => false,
    }
}

/// Replaces the characters that XML 1.0 does not allow.
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
        details: vec![(texts.field.clone(), texts.prose.clone().into())],
        retry_after: Some(30),
        ..ToolFailure::new(texts.name.clone(), texts.prose.clone())
    };
    let action =
        Action { name: "fail".to_owned(), handler: Handler::Fail(failure), input: json!({}), ..Action::default() };
    Tool { name: "failing".to_owned(), actions: vec![action], ..Tool::default() }
}

fn call(tool: &str, arguments: Value) -> ToolCall {
    ToolCall::new(tool, arguments)
}

fn world() -> World {
    World::new(Arc::new(WorldBase::new(WorldDef::default())))
}
