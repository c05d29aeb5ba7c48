//! Files with tools but no data: the result of a server's `tools/list`, or the same with actions behind a
//! discriminator.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use healbench_engine::definition::{Action, Handler, Presenter, Tool};
use healbench_engine::valid_example;
use healbench_protocol::Object;
use serde_json::{Value, json};

use crate::Diagnostic;
use crate::load::{not_utf8, without_bom};
use crate::load_error::LoadError;
use crate::locate::{Document, Syntax, child, parse};
use crate::suggest;

/// Loads a JSON file with a list of tools, or an object with such a list under `tools`. Each tool has a `name`, a
/// `description`, and either `inputSchema` (one action) or `actions`: a map from action to input schema, with the
/// discriminator `action`. All valid calls of such a tool return `OK`, or an example of its `outputSchema`. This schema
/// and the hints in `annotations` become part of the contract; other MCP fields are ignored.
///
/// # Errors
/// Returns [`LoadError::Unreadable`], or [`LoadError::Invalid`] with all problems of the file.
pub fn load_tools(path: &Path) -> Result<Vec<Tool>, LoadError> {
    let label = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|source| LoadError::Unreadable { path: label.clone(), source })?;
    let result = match std::str::from_utf8(&bytes) {
        Ok(text) => load_tools_str(&label, text),
        Err(error) => Err(vec![not_utf8(&label, &bytes, error.valid_up_to())]),
    };
    result.map_err(|diagnostics| {
        let text = String::from_utf8_lossy(&bytes);
        let sources = BTreeMap::from([(label.clone(), without_bom(&text).to_owned())]);
        LoadError::Invalid { diagnostics, sources }
    })
}

/// Parses a list of tools. `path_label` is the file name used in diagnostics.
///
/// # Errors
/// Returns all problems, sorted by position; at least one.
pub fn load_tools_str(path_label: &str, text: &str) -> Result<Vec<Tool>, Vec<Diagnostic>> {
    let document = parse(path_label, without_bom(text), Syntax::Json).map_err(|diagnostic| vec![diagnostic])?;
    let mut diagnostics: Vec<Diagnostic> = document.duplicate_keys().collect();
    let (pointer, list) = match &document.value {
        Value::Array(list) => ("", list.as_slice()),
        value => match value.get("tools") {
            Some(Value::Array(list)) => ("/tools", list.as_slice()),
            Some(_) => return Err(vec![document.at_value("/tools", "`tools` must be a list of tools", None)]),
            None => {
                let help = "a list of tools, or an object that has one under `tools`".to_owned();
                return Err(vec![document.at_value("", "there is no list of tools", Some(help))]);
            }
        },
    };
    if list.is_empty() {
        diagnostics.push(document.at_value(pointer, "there is no tool in the list", None));
    }
    let mut names = BTreeSet::new();
    let mut tools = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let at = child(pointer, index);
        let Some(tool) = tool(&document, &at, value, &mut diagnostics) else { continue };
        if !names.insert(tool.name.clone()) {
            let message = format!("a second tool `{}`", tool.name);
            diagnostics.push(document.at_value(&child(&at, "name"), message, None));
        }
        tools.push(tool);
    }
    if diagnostics.is_empty() {
        return Ok(tools);
    }
    diagnostics.sort();
    diagnostics.dedup();
    Err(diagnostics)
}

fn tool(document: &Document<'_>, at: &str, value: &Value, diagnostics: &mut Vec<Diagnostic>) -> Option<Tool> {
    let Some(object) = value.as_object() else {
        diagnostics.push(document.at_value(at, "a tool must be an object", None));
        return None;
    };
    let name = text(document, at, object, "name", diagnostics);
    if object.get("name").is_none() {
        diagnostics.push(document.at_value(at, "missing key `name`", None));
    }
    let description = text(document, at, object, "description", diagnostics).unwrap_or_default();
    let mut problem = |pointer: &str, message: &str, help: Option<String>| {
        diagnostics.push(document.at_value(pointer, message, help));
        None
    };
    let schemas = match (object.get("inputSchema"), object.get("actions")) {
        (Some(schema), None) => vec![(child(at, "inputSchema"), name.clone().unwrap_or_default(), schema)],
        (None, Some(Value::Object(actions))) if !actions.is_empty() => {
            let pointer = child(at, "actions");
            actions.iter().map(|(name, schema)| (child(&pointer, name), name.clone(), schema)).collect()
        }
        (None, Some(_)) => return problem(&child(at, "actions"), "`actions` must map each action to its schema", None),
        (Some(_), Some(_)) => {
            let help = "`inputSchema` is of a tool with one action, `actions` of one with several".to_owned();
            return problem(at, "a tool has `inputSchema` or `actions`, not both", Some(help));
        }
        (None, None) => {
            let known = ["inputSchema", "actions"];
            let hint = object.keys().find_map(|key| suggest::nearest(key, known).map(|name| (key, name)));
            let help = hint.map(|(key, name)| format!("`{key}` is not known; did you mean `{name}`?"));
            return problem(at, "missing key `inputSchema`, or `actions`", help);
        }
    };
    let discriminator = object.get("actions").map(|_| "action".to_owned());
    let hint = |name: &str| value.pointer(&format!("/annotations/{name}")).and_then(Value::as_bool).unwrap_or(false);
    let output = value.get("outputSchema").filter(|schema| schema.is_object());
    let mut actions = Vec::new();
    for (pointer, name, schema) in schemas {
        let Some(input) = input(document, &pointer, schema, diagnostics) else { continue };
        actions.push(Action {
            name,
            description: String::new(),
            input,
            handler: Handler::Return(output.and_then(valid_example).unwrap_or_else(|| json!("OK"))),
            rules: Vec::new(),
            // The result is part of the contract, like the rows of a presenter.
            presenter: output.map(|schema| Presenter { egress: Some(schema.clone()), ..Presenter::default() }),
            warning: None,
            destructive: hint("destructiveHint"),
            read_only: hint("readOnlyHint"),
            idempotent: hint("idempotentHint"),
        });
    }
    Some(Tool { name: name?, description, discriminator, actions, ..Tool::default() })
}

fn text(
    document: &Document<'_>,
    at: &str,
    object: &Object,
    key: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<String> {
    match object.get(key)? {
        Value::String(text) => Some(text.clone()),
        _ => {
            diagnostics.push(document.at_value(&child(at, key), format!("`{key}` must be a text"), None));
            None
        }
    }
}

fn input(document: &Document<'_>, at: &str, schema: &Value, diagnostics: &mut Vec<Diagnostic>) -> Option<Value> {
    let Some(object) = schema.as_object() else {
        diagnostics.push(document.at_value(at, "an input schema must be an object", None));
        return None;
    };
    if object.get("type").is_some_and(|kind| kind != "object" && kind != &json!(["object"])) {
        let help = "the arguments of a call are an object; `type` may be left out".to_owned();
        let message = "an input schema must be of `type: object`";
        diagnostics.push(document.at_value(&child(at, "type"), message, Some(help)));
        return None;
    }
    if let Err(error) = healbench_engine::check_schema(schema) {
        let message = format!("the input schema does not compile: {}", error.message);
        let help = "schemas are read as JSON Schema draft 2020-12".to_owned();
        diagnostics.push(document.at_value(&format!("{at}{}", error.pointer), message, Some(help)));
        return None;
    }
    Some(schema.clone())
}
