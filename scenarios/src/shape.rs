//! Validates a parsed file against the JSON Schema of scenario files and explains errors in terms of the file.

use std::sync::LazyLock;

use healbench_text::nearest_name;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError, Validator};
use serde_json::Value;

use crate::Diagnostic;
use crate::diagnostic::MAX_PROBLEMS;
use crate::locate::{Document, child};
use crate::schema::schema;
use crate::suggest;

static VALIDATOR: LazyLock<Option<Validator>> = LazyLock::new(|| jsonschema::draft202012::new(schema()).ok());

/// All differences between a file and the schema.
#[derive(Debug, Default)]
pub(crate) struct ShapeErrors {
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The pointers of unknown keys.
    pub(crate) unknown_keys: Vec<String>,
}

pub(crate) fn check(document: &Document<'_>) -> ShapeErrors {
    let mut errors = ShapeErrors::default();
    // The schema always compiles; a test checks it.
    let Some(validator) = VALIDATOR.as_ref() else { return errors };
    for error in validator.iter_errors(&document.value).take(MAX_PROBLEMS) {
        explain(&error, document, &mut errors);
    }
    errors
}

fn explain(error: &ValidationError<'_>, document: &Document<'_>, errors: &mut ShapeErrors) {
    let pointer = error.instance_path().as_str();
    let subject = || subject_of(pointer);
    let diagnostic = match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            return explain_unknown_keys(error, unexpected, document, errors);
        }
        ValidationErrorKind::Required { property } => {
            explain_missing_key(error, property.as_str().unwrap_or_default(), document)
        }
        ValidationErrorKind::Type { kind } => explain_type(error, kind, &subject(), document),
        ValidationErrorKind::Enum { options } => {
            let known = options.as_array().into_iter().flatten().filter_map(Value::as_str);
            let sent = error.instance().as_str().unwrap_or_default();
            document.at_value(
                pointer,
                format!("unknown {} `{sent}`", kind_of(pointer)),
                suggest::help_by_words(sent, known),
            )
        }
        ValidationErrorKind::Minimum { limit } => {
            document.at_value(pointer, format!("{} must be at least {limit}", subject()), None)
        }
        ValidationErrorKind::Maximum { limit } => {
            document.at_value(pointer, format!("{} must be at most {limit}", subject()), None)
        }
        ValidationErrorKind::MinLength { .. } => {
            document.at_value(pointer, format!("{} must not be empty", subject()), None)
        }
        ValidationErrorKind::MinItems { limit } | ValidationErrorKind::MinProperties { limit } => {
            let message = match limit {
                1 => format!("{} must not be empty", subject()),
                _ => format!("{} must have {limit} items", subject()),
            };
            document.at_value(pointer, message, None)
        }
        ValidationErrorKind::MaxItems { limit } => {
            document.at_value(pointer, format!("{} must have no more than {limit} items", subject()), None)
        }
        _ => document.at_value(pointer, error.masked().to_string(), None),
    };
    errors.diagnostics.push(diagnostic);
}

fn explain_unknown_keys(
    error: &ValidationError<'_>,
    unexpected: &[String],
    document: &Document<'_>,
    errors: &mut ShapeErrors,
) {
    let pointer = error.instance_path().as_str();
    let keyword = error.schema_path().as_str();
    let parent = keyword.rsplit_once('/').map_or("", |(parent, _)| parent);
    let properties = follow(parent).and_then(|schema| schema["properties"].as_object());
    let given = error.instance().as_object();
    let known = || properties.into_iter().flatten().map(|(key, _)| key.as_str());
    let is_of_action = |key: &str| is_flat(pointer, error.instance()) && is_key_of_action(key);
    let is_given = |key: &str| given.is_some_and(|given| given.contains_key(key));
    for key in unexpected.iter().take(MAX_PROBLEMS.saturating_sub(errors.diagnostics.len())) {
        let help = match nearest_name(key, known()) {
            Some(name) if is_given(name) => Some(format!("`{name}` is given already; remove this one")),
            Some(name) => Some(format!("did you mean `{name}`?")),
            None => suggest::help(key, known().filter(|name| !is_given(name))),
        };
        let at = child(pointer, key);
        // The missing `actions` are reported.
        if !is_of_action(key) {
            errors.diagnostics.push(document.at_key(&at, format!("unknown key `{key}`"), help));
        }
        errors.unknown_keys.push(at);
    }
}

fn explain_missing_key(error: &ValidationError<'_>, name: &str, document: &Document<'_>) -> Diagnostic {
    let pointer = error.instance_path().as_str();
    if name == "actions" && is_flat(pointer, error.instance()) {
        let given = error.instance().as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        let keys: Vec<&str> = given.filter(|key| is_key_of_action(key)).collect();
        let tool = unescape(pointer.rsplit('/').next().unwrap_or_default());
        let help = format!(
            "a tool that is one operation has one action: `discriminator: null`, and below `actions: {{{tool}: {{…}}}}` the keys {}",
            suggest::list(&keys)
        );
        return document.at_value(pointer, format!("missing key `{name}`"), Some(help));
    }
    let parent = error.schema_path().as_str().rsplit_once('/').map_or("", |(parent, _)| parent);
    let text = follow(parent).and_then(|schema| describe(&schema["properties"][name]));
    document.at_value(pointer, format!("missing key `{name}`"), text.map(|text| format!("`{name}`: {text}")))
}

fn explain_type(error: &ValidationError<'_>, kind: &TypeKind, subject: &str, document: &Document<'_>) -> Diagnostic {
    let pointer = error.instance_path().as_str();
    let wanted = match kind {
        TypeKind::Single(kind) => type_name(*kind).to_owned(),
        TypeKind::Multiple(kinds) => kinds.iter().map(type_name).collect::<Vec<_>>().join(" or "),
    };
    let sent = value_type(error.instance());
    let role = nearest_name(pointer.strip_prefix("/world/").unwrap_or_default(), ["role"]);
    let quote = (wanted == "a text" && !matches!(error.instance().as_ref(), Value::Array(_) | Value::Object(_)))
        .then(|| format!("put it in quotes: \"{}\"", scalar(error.instance())));
    let help = match role {
        Some(role) if wanted == "a mapping" => Some(format!("did you mean `{role}`? Every other key is a table")),
        _ if wanted == "a mapping" && !pointer.is_empty() => describe_keys(error),
        _ => quote,
    };
    document.at_value(pointer, format!("{subject} must be {wanted}, and this is {sent}"), help)
}

/// Returns the name of a value for messages.
fn subject_of(pointer: &str) -> String {
    match pointer.rsplit('/').next() {
        Some(name) if !name.is_empty() && name.parse::<usize>().is_err() => format!("`{}`", unescape(name)),
        _ => "this".to_owned(),
    }
}

/// Returns true for a tool that is written as its only action.
fn is_flat(pointer: &str, tool: &Value) -> bool {
    let is_tool = pointer.strip_prefix("/tools/").is_some_and(|name| !name.contains('/'));
    is_tool && tool.get("actions").is_none() && ["input", "handler"].iter().any(|key| tool.get(key).is_some())
}

/// Returns true for a key of an action that no tool has.
fn is_key_of_action(key: &str) -> bool {
    let has = |definition: &str| schema()["$defs"][definition]["properties"].get(key).is_some();
    has("ActionFile") && !has("ToolFile")
}

/// Returns the noun for an enumerated value in a message.
fn kind_of(pointer: &str) -> &str {
    let parts: Vec<&str> = pointer.rsplit('/').collect();
    match parts.as_slice() {
        _ if pointer.starts_with("/script/") => "kind of mistake",
        ["kind", ..] if pointer.starts_with("/faults/") => "kind of fault",
        ["measure", ..] => "measure",
        ["relation", ..] => "relation",
        ["severity", ..] => "severity",
        [_, "entitlements", ..] => "entitlement",
        _ => "value",
    }
}

/// Returns the subschema at a location whose path may contain `$ref`s.
fn follow(location: &str) -> Option<&'static Value> {
    let mut at = schema();
    for token in location.split('/').skip(1) {
        at = match token {
            "$ref" => schema().pointer(at["$ref"].as_str()?.strip_prefix('#')?)?,
            _ => at.pointer(&format!("/{token}"))?,
        };
    }
    if let Some(reference) = at["$ref"].as_str().and_then(|text| text.strip_prefix('#')) {
        at = schema().pointer(reference)?;
    }
    Some(at)
}

fn describe(schema: &Value) -> Option<String> {
    let text = schema["description"].as_str()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns the keys of the mapping that stands where another value was expected, or else what it is.
fn describe_keys(error: &ValidationError<'_>) -> Option<String> {
    let schema = follow(error.schema_path().as_str().rsplit_once('/')?.0)?;
    match schema["properties"].as_object() {
        None => describe(schema),
        Some(properties) => {
            let keys: Vec<&str> = properties.keys().map(String::as_str).collect();
            Some(format!("its keys: {}", suggest::list(&keys)))
        }
    }
}

fn type_name(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "a list",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "a mapping",
        JsonType::String => "a text",
    }
}

/// Returns the name of a value's type for messages.
pub(crate) fn value_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}
