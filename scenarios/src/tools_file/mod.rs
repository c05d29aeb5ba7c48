//! Files with tools but no data: the answers of a server to `tools/list`, the tools of a request to a model, or a list
//! of tools with actions behind a discriminator.

mod listing;
mod openapi;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use healbench_core::Object;
use healbench_engine::definition::{Action, Handler, Presenter, Tool};
use healbench_engine::{upgrade_schema, valid_example};
use healbench_files::normal_text;
use healbench_text::nearest_name;
use serde_json::{Value, json};

use self::listing::Entry;
use crate::Diagnostic;
use crate::diagnostic::{MAX_PROBLEMS, in_order};
use crate::load::not_utf8;
use crate::load_error::LoadError;
use crate::locate::{Document, Syntax, child, diagnostic, json_document, parse};

/// The tools of a file.
#[derive(Debug, Clone)]
pub struct ToolList {
    /// The valid tools, in the order of the file.
    pub tools: Vec<Tool>,
    /// The problems of the other tools, sorted by position.
    pub problems: Vec<Diagnostic>,
    /// The names of the other tools, as far as they have one.
    pub rejected: BTreeSet<String>,
    /// The texts of the files with problems, by path, for [`render_diagnostics`](crate::render_diagnostics).
    pub sources: BTreeMap<String, String>,
}

/// Loads a file with tools: in JSON, a list of them, the result or response of MCP's `tools/list`, several of these one after
/// the other, or the tools of a request to a model; in JSON or YAML, an OpenAPI document, whose operations are the tools.
///
/// Each tool has a `name`, a `description`, and either a schema of its arguments (`inputSchema`, or the key of another API)
/// or `actions`: a map from action to input schema, with the discriminator `action`. Schemas of older drafts of JSON Schema
/// are converted. All valid calls of such a tool return `OK`, or an example of its `outputSchema`. This schema and the
/// hints in `annotations` become part of the contract; other fields are ignored.
///
/// # Errors
/// Returns [`LoadError::Unreadable`], or [`LoadError::Invalid`] with all problems of a file without a valid tool.
pub fn load_tools(path: &Path) -> Result<ToolList, LoadError> {
    let label = path.display().to_string();
    let bytes = healbench_files::read_file(path, healbench_files::MAX_LIST_BYTES)
        .map_err(|source| LoadError::Unreadable { path: label.clone(), source })?;
    let result = match std::str::from_utf8(&bytes) {
        Ok(text) => load_tools_str(&label, text),
        Err(error) => Err(vec![not_utf8(&label, &bytes, error.valid_up_to())]),
    };
    result.map_err(|diagnostics| {
        let text = String::from_utf8_lossy(&bytes);
        let sources = BTreeMap::from([(label.clone(), normal_text(&text).into_owned())]);
        LoadError::Invalid { diagnostics, sources }
    })
}

/// Parses a list of tools. `path_label` is the file name used in diagnostics.
///
/// # Errors
/// Returns the problems, sorted by position, if there is no valid tool, or if there are too many problems; at least one.
pub fn load_tools_str(path_label: &str, text: &str) -> Result<ToolList, Vec<Diagnostic>> {
    let text = &*normal_text(text);
    let is_yaml = path_label.ends_with(".yaml") || path_label.ends_with(".yml");
    let json = if is_yaml { Cow::Borrowed(text) } else { event_data(text) };
    if json.trim().is_empty() {
        let help = "a list of tools, or the answer of a server to `tools/list`".to_owned();
        return Err(vec![diagnostic(path_label, text, 0..0, "the file is empty".to_owned(), Some(help))]);
    }
    let document = match is_yaml {
        true => parse(path_label, &json, Syntax::Yaml),
        false => json_document(path_label, &json, true),
    };
    let document = document.map_err(|diagnostic| vec![diagnostic])?;
    let is_openapi = openapi::is_document(&document.value);
    let (entries, mut problems) = if is_openapi { openapi::entries(&document) } else { listing::entries(&document) };
    if entries.is_empty() && problems.is_empty() {
        let empty = [("", &document.value), ("/tools", &document.value["tools"])];
        problems.push(match empty.iter().find(|(_, value)| *value == &json!([])) {
            Some((pointer, _)) => document.at_value(pointer, "there is no tool in the list", None),
            None => {
                let help = "a list of tools, or an object that has one under `tools`".to_owned();
                document.at_value("", "there is no list of tools", Some(help))
            }
        });
    }
    let mut names = BTreeSet::new();
    let mut rejected = BTreeSet::new();
    let mut tools = Vec::new();
    for entry in entries {
        if problems.len() >= MAX_PROBLEMS {
            return Err(in_order(problems));
        }
        let mut reader = ToolReader { document: &document, problems: Vec::new() };
        reader.problems.extend(document.duplicates_within(&entry.pointer).take(MAX_PROBLEMS));
        reader.problems.extend(document.too_deep_within(&entry.pointer).take(MAX_PROBLEMS));
        let tool = if is_openapi { reader.operation(&entry) } else { reader.tool(&entry) };
        if let Some(tool) = tool.as_ref().filter(|tool| names.contains(&tool.name)) {
            reader.problem(&child(&entry.pointer, "name"), format!("a second tool `{}`", tool.name), None);
        }
        match tool {
            Some(tool) if reader.problems.is_empty() => {
                names.insert(tool.name.clone());
                tools.push(tool);
            }
            _ => rejected.extend(name_of(&document, &entry)),
        }
        problems.extend(reader.problems);
    }
    let problems = in_order(problems);
    if tools.is_empty() {
        return Err(problems);
    }
    rejected.retain(|name| !names.contains(name));
    let sources =
        if problems.is_empty() { BTreeMap::new() } else { BTreeMap::from([(path_label.to_owned(), text.to_owned())]) };
    Ok(ToolList { tools, problems, rejected, sources })
}

/// Returns the data of server-sent events, as a server streams its answers, at the same positions; other texts are returned
/// unchanged.
fn event_data(text: &str) -> Cow<'_, str> {
    let is_field = |line: &str| ["event:", "data:", "id:", "retry:", ":"].iter().any(|field| line.starts_with(field));
    if !text.lines().find(|line| !line.is_empty()).is_some_and(is_field) {
        return Cow::Borrowed(text);
    }
    let data = |line: &str| match line.strip_prefix("data:") {
        Some(data) => format!("     {data}"),
        None => line.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect(),
    };
    Cow::Owned(text.split_inclusive('\n').map(data).collect())
}

/// Returns the object with a tool's members, and its pointer: some APIs wrap it.
fn definition<'a>(document: &'a Document<'_>, entry: &Entry) -> (String, &'a Value) {
    static NULL: Value = Value::Null;
    let value = document.value.pointer(&entry.pointer).unwrap_or(&NULL);
    let inner =
        ["function", "toolSpec"].iter().find_map(|key| Some((*key, value.get(key).filter(|inner| inner.is_object())?)));
    match inner {
        Some((key, inner)) => (child(&entry.pointer, key), inner),
        None => (entry.pointer.clone(), value),
    }
}

fn name_of(document: &Document<'_>, entry: &Entry) -> Option<String> {
    let (_, value) = definition(document, entry);
    value.get("name").and_then(Value::as_str).map(str::to_owned).or_else(|| entry.key.clone())
}

/// The keys of the schema of the arguments: that of MCP, and those of the APIs of models.
const SCHEMA_KEYS: [&str; 5] =
    ["inputSchema", "input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema"];

/// Reads one tool.
struct ToolReader<'a> {
    document: &'a Document<'a>,
    problems: Vec<Diagnostic>,
}

impl ToolReader<'_> {
    fn problem(&mut self, pointer: &str, message: impl Into<String>, help: Option<String>) {
        self.problems.push(self.document.at_value(pointer, message, help));
    }

    fn tool(&mut self, entry: &Entry) -> Option<Tool> {
        let (at, value) = definition(self.document, entry);
        let Some(object) = value.as_object() else {
            self.problem(&at, "a tool must be an object", None);
            return None;
        };
        let name = self.text(&at, object, "name").or_else(|| entry.key.clone());
        if name.is_none() && object.get("name").is_none_or(Value::is_null) {
            self.problem(&at, "missing key `name`", None);
        } else if name.as_ref().is_some_and(|name| name.trim().is_empty()) {
            self.problem(&child(&at, "name"), "a tool needs a name", None);
        }
        let description = self.text(&at, object, "description").unwrap_or_default();
        let schemas = self.schemas(entry, &at, object, name.as_deref().unwrap_or_default())?;
        let discriminator = object.get("actions").map(|_| "action".to_owned());
        let hint = |name: &str| value.pointer(&format!("/annotations/{name}")) == Some(&Value::Bool(true));
        // The result is part of the contract, like the rows of a presenter.
        let output = object.get("outputSchema").filter(|schema| schema.is_object()).map(upgrade_schema);
        let example = output.as_ref().and_then(valid_example).unwrap_or_else(|| json!("OK"));
        let mut actions = Vec::new();
        for (pointer, name, schema) in schemas {
            let Some(input) = self.input(&pointer, schema) else { continue };
            actions.push(Action {
                name,
                description: String::new(),
                input,
                handler: Handler::Return(example.clone()),
                presenter: output.clone().map(|schema| Presenter { egress: Some(schema), ..Presenter::default() }),
                destructive: hint("destructiveHint"),
                read_only: hint("readOnlyHint"),
                idempotent: hint("idempotentHint"),
                ..Action::default()
            });
        }
        Some(Tool { name: name?, description, discriminator, actions, ..Tool::default() })
    }

    /// Returns the actions of a tool, with the pointer and the value of their schemas.
    fn schemas<'v>(
        &mut self,
        entry: &Entry,
        at: &str,
        object: &'v Object,
        name: &str,
    ) -> Option<Vec<(String, String, &'v Value)>> {
        let schema = SCHEMA_KEYS.iter().find_map(|key| Some((*key, object.get(*key)?)));
        match (schema, object.get("actions")) {
            (Some((key, schema)), None) => {
                // Bedrock and the AI SDK wrap the schema.
                let inner = ["json", "jsonSchema"].into_iter().find_map(|key| {
                    let inner = schema.get(key).filter(|inner| inner.is_object() && schema.get("type").is_none())?;
                    Some((key, inner))
                });
                let at = child(at, key);
                let (at, schema) = inner.map_or((at.clone(), schema), |(key, inner)| (child(&at, key), inner));
                Some(vec![(at, name.to_owned(), schema)])
            }
            (None, Some(Value::Object(actions))) if !actions.is_empty() => {
                let pointer = child(at, "actions");
                Some(actions.iter().map(|(name, schema)| (child(&pointer, name), name.clone(), schema)).collect())
            }
            (None, Some(_)) => {
                self.problem(&child(at, "actions"), "`actions` must map each action to its schema", None);
                None
            }
            (Some((key, _)), Some(_)) => {
                let help = format!("`{key}` is of a tool with one action, `actions` of one with several");
                self.problem(at, format!("a tool has `{key}` or `actions`, not both"), Some(help));
                None
            }
            (None, None)
                if entry.optional_schema
                    || object.get("type").or_else(|| self.kind(entry)) == Some(&json!("function")) =>
            {
                static NOTHING: Value = Value::Null;
                Some(vec![(at.to_owned(), name.to_owned(), &NOTHING)])
            }
            (None, None) => {
                let known = ["inputSchema", "actions"];
                let hint = object.keys().find_map(|key| nearest_name(key, known).map(|name| (key, name)));
                let help = hint.map(|(key, name)| format!("`{key}` is not known; did you mean `{name}`?"));
                self.problem(at, "missing key `inputSchema`, or `actions`", help);
                None
            }
        }
    }

    /// Returns the `type` of an entry that wraps a tool.
    fn kind(&self, entry: &Entry) -> Option<&Value> {
        self.document.value.pointer(&child(&entry.pointer, "type"))
    }

    /// Returns a text; null is the same as nothing.
    fn text(&mut self, at: &str, object: &Object, key: &str) -> Option<String> {
        match object.get(key)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            _ => {
                self.problem(&child(at, key), format!("`{key}` must be a text"), None);
                None
            }
        }
    }

    /// Returns the input schema as draft 2020-12; null declares no arguments.
    fn input(&mut self, at: &str, schema: &Value) -> Option<Value> {
        if schema.is_null() {
            return Some(json!({"type": "object"}));
        }
        if !schema.is_object() {
            self.problem(at, "an input schema must be an object", None);
            return None;
        }
        let schema = upgrade_schema(schema);
        let is_object =
            |kind: &Value| kind == "object" || kind.as_array().is_some_and(|kinds| kinds.contains(&json!("object")));
        if schema.get("type").is_some_and(|kind| !is_object(kind)) {
            let help = "the arguments of a call are an object; `type` may be left out".to_owned();
            self.problem(&child(at, "type"), "an input schema must be of `type: object`", Some(help));
            return None;
        }
        if let Err(error) = healbench_engine::check_schema(&schema) {
            let message = format!("the input schema does not compile: {}", error.message);
            let help = "schemas are read as JSON Schema draft 2020-12, after a conversion of older keywords".to_owned();
            self.problem(&format!("{at}{}", error.pointer), message, Some(help));
            return None;
        }
        Some(schema)
    }
}
