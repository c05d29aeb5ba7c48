//! The output of a Rust server with parameters typed by serde: the first error of serde, without a path.
//!
//! The messages are those of rmcp (the official SDK), serde and `serde_json`; the tests compare them with the real
//! answers in `tests/fixtures/servers`. A schema is mapped to the Rust types that an author would write:
//!
//! - An object with properties is a struct with `deny_unknown_fields`, named by its `title` or `$ref`, or else after
//!   its property in `PascalCase`; without properties it is a map. A tool with a discriminator is an internally tagged
//!   enum of such structs.
//! - An integer is a `u64` if its `minimum` is at least 0, or else an `i64`; a number is an `f64`.
//! - String options are an enum of unit variants, several types an untagged enum.
//! - An optional field may be omitted, but is not `null` unless its schema allows it.
//!
//! The SDK stores the arguments in a `serde_json` map, which sorts its keys by default. Therefore fields are visited in
//! alphabetical order; missing fields are detected afterwards, in the order of the struct.
//!
//! Bounds, lengths, patterns, options that are not strings and similar constraints have no serde type. They are checked
//! by a newtype with messages chosen by its author; only these messages are not verified against a real server. Two
//! differences: long values are cut, and line breaks and control characters that serde leaves unescaped (in names, and in
//! a handler's message) are escaped, so that the output is always one line.

use std::borrow::Cow;

use serde::de::{Error as _, Unexpected};
use serde_json::{Error, Map, Value, json};

use super::excerpt::{excerpt, excerpt_text};
use super::{RenderInput, single_line};
use crate::failure::{Expected, Failure, Issue, IssueKind, Quantity, Routing, join_path, segment_name};
use crate::schema::validate;

pub(super) fn render(input: &RenderInput<'_>) -> String {
    let text = match input.failure {
        Failure::Routing(Routing::UnknownTool { .. }) => "Mcp error: -32602: tool not found".to_owned(),
        Failure::Routing(
            Routing::MissingDiscriminator { available, .. } | Routing::UnknownAction { available, .. },
        ) => {
            let field = input.discriminator.unwrap_or("action");
            deserialize_error(&match input.arguments.get(field) {
                None => format!("missing field `{field}`"),
                Some(Value::String(sent)) => unknown_variant(sent, available),
                Some(sent) => invalid_type(sent, "variant identifier"),
            })
        }
        // The SDK does not recognize such a request, so the message contains only the name of the method.
        Failure::Validation { .. } if !input.arguments.is_object() => "Mcp error: -32601: tools/call".to_owned(),
        Failure::Validation { issues, .. } => deserialize_error(&first_error(input, issues)),
        Failure::Tool(failure) | Failure::Fault(failure) => failure.message.clone(),
    };
    single_line(&text).into_owned()
}

fn deserialize_error(error: &str) -> String {
    format!("failed to deserialize parameters: {error}")
}

/// The context of a visit.
#[derive(Debug, Clone, Copy)]
struct VisitContext<'a> {
    issues: &'a [Issue],
    /// The root of the schema, for its `$ref`s.
    root: &'a Value,
    /// True if the tool has a discriminator. serde buffers the fields of a tagged enum, and describes a buffered
    /// sequence differently.
    buffered: bool,
}

/// A value to be deserialized.
#[derive(Debug, Clone, Copy)]
struct ValueNode<'a> {
    /// As in [`Issue::path`].
    path: &'a str,
    value: &'a Value,
    /// The schema, if it could be found.
    schema: Option<&'a Value>,
    /// The name of the type at this location.
    name: &'a str,
}

fn first_error(input: &RenderInput<'_>, issues: &[Issue]) -> String {
    let schema = input.action.map(|doc| &doc.schema);
    let root = ValueNode { path: "", value: input.arguments, schema, name: "parameters" };
    let buffered = input.action.is_some_and(|doc| doc.discriminator.is_some());
    let context = VisitContext { issues, root: schema.unwrap_or(&Value::Null), buffered };
    visit(context, root).or_else(|| issues.first().map(|issue| unlocated_error(context, issue))).unwrap_or_default()
}

/// Returns serde's error for this value or a value inside it.
fn visit(context: VisitContext<'_>, node: ValueNode<'_>) -> Option<String> {
    let node = resolve_ref(context, node);
    let issues_here =
        || context.issues.iter().filter(|issue| issue.path == node.path && issue.sent.as_ref() == Some(node.value));
    issues_here()
        .find_map(|issue| type_error(context, node, issue))
        .or_else(|| match node.value {
            Value::Object(fields) => visit_fields(context, node, fields),
            Value::Array(items) => {
                let schema = node.schema.and_then(|schema| schema.get("items"));
                items.iter().enumerate().find_map(|(index, value)| {
                    visit(context, ValueNode { path: &join_path(node.path, &index.to_string()), value, schema, ..node })
                })
            }
            _ => None,
        })
        // A newtype checks its value only after all fields exist.
        .or_else(|| issues_here().find_map(|issue| check_error(node, issue)))
}

fn visit_fields(context: VisitContext<'_>, node: ValueNode<'_>, fields: &Map<String, Value>) -> Option<String> {
    let declared = properties(node.schema);
    let undeclared = |name: &String| {
        context.issues.iter().any(|issue| match &issue.kind {
            IssueKind::Undeclared { fields } => issue.path == node.path && fields.contains(name),
            _ => false,
        })
    };
    let mut names: Vec<&String> = fields.keys().collect();
    names.sort_unstable();
    let field_error = names.into_iter().find_map(|name| {
        let schema = declared.and_then(|map| map.get(name));
        let other = || node.schema.and_then(|schema| schema.get("additionalProperties"));
        let child = ValueNode {
            path: &join_path(node.path, name),
            value: &fields[name],
            schema: schema.or_else(other),
            name: if schema.is_some() { name } else { node.name },
        };
        visit(context, child).or_else(|| undeclared(name).then(|| unknown_field(name, declared)))
    });
    let required = || node.schema.and_then(|schema| schema.get("required")).and_then(Value::as_array);
    field_error.or_else(|| {
        let rest = required().into_iter().flatten().filter_map(Value::as_str);
        let names = declared.into_iter().flat_map(Map::keys).map(String::as_str).chain(rest);
        let missing = |name: &&str| {
            let path = join_path(node.path, name);
            !fields.contains_key(*name)
                && context
                    .issues
                    .iter()
                    .any(|issue| matches!(issue.kind, IssueKind::Missing { .. }) && issue.path == path)
        };
        names.into_iter().find(missing).map(|name| format!("missing field `{name}`"))
    })
}

/// Returns the type error of a value; `None` if it has the right type.
fn type_error(context: VisitContext<'_>, node: ValueNode<'_>, issue: &Issue) -> Option<String> {
    match &issue.kind {
        IssueKind::WrongType { expected: Expected::Types(types) } => Some(wrong_type(context, node, types)),
        IssueKind::WrongType { expected: Expected::Options(options) } | IssueKind::NotAnOption { options } => {
            Some(option_error(node.value, options))
        }
        IssueKind::WrongType { expected: Expected::Any } => Some(invalid_type(node.value, "another type")),
        IssueKind::OutOfBounds { measure: Quantity::Number, .. } if node.value.is_i64() && !node.value.is_u64() => {
            let unsigned = is_type(node.schema, "integer") && is_unsigned(node.schema);
            unsigned.then(|| invalid_value(node.value, "u64"))
        }
        _ => None,
    }
}

fn wrong_type(context: VisitContext<'_>, node: ValueNode<'_>, types: &[String]) -> String {
    let named: Vec<&str> = types.iter().map(String::as_str).filter(|name| *name != "null").collect();
    let [name] = named[..] else {
        return if named.is_empty() { invalid_type(node.value, "unit") } else { untagged_enum_error(node.name) };
    };
    let expected = match name {
        "integer" if is_unsigned(node.schema) => "u64",
        "integer" => "i64",
        "number" => "f64",
        "boolean" => "a boolean",
        "array" => "a sequence",
        "object" => match properties(node.schema) {
            None => "a map",
            Some(fields) => return struct_error(context, node, fields),
        },
        _ => "a string",
    };
    invalid_type(node.value, expected)
}

/// Returns the error for a value that is not an object; serde also accepts a sequence with one element per field as a
/// struct.
fn struct_error(context: VisitContext<'_>, node: ValueNode<'_>, fields: &Map<String, Value>) -> String {
    let expected = format!("struct {}", pascal_case(node.name));
    let Value::Array(items) = node.value else { return invalid_type(node.value, &expected) };
    let count = fields.len();
    let elements = if count == 1 { "element" } else { "elements" };
    for (index, (name, schema)) in fields.iter().enumerate() {
        let Some(item) = items.get(index) else {
            return Error::invalid_length(index, &format!("{expected} with {count} {elements}").as_str()).to_string();
        };
        let single_field = json!({ name: item });
        let declared = json!({ "properties": { name: schema } });
        // A schema that does not compile on its own accepts everything here.
        let issues = validate(&declared, &single_field).unwrap_or_default();
        let single_field = ValueNode { path: "", value: &single_field, schema: Some(&declared), name: "" };
        let found = visit(VisitContext { issues: &issues, root: &declared, buffered: context.buffered }, single_field);
        let omitted = item.is_null() && !is_required(node.schema, name);
        if let Some(found) = found.filter(|_| !omitted) {
            return found;
        }
    }
    match (items.len() > count, context.buffered) {
        (true, false) => Error::invalid_length(items.len(), &"fewer elements in array").to_string(),
        (true, true) => {
            Error::invalid_length(items.len(), &format!("{count} {elements} in sequence").as_str()).to_string()
        }
        // serde would accept it, but the engine does not.
        (false, _) => invalid_type(node.value, &expected),
    }
}

/// Returns the error for an unknown enum variant.
fn option_error(sent: &Value, options: &[Value]) -> String {
    let names: Vec<&str> = options.iter().filter_map(Value::as_str).collect();
    if options.iter().any(|option| !option.is_string() && !option.is_null()) {
        let known: Vec<String> = options.iter().map(Value::to_string).collect();
        return invalid_value(sent, &one_of(&known));
    }
    match sent {
        Value::String(name) => unknown_variant(name, &names),
        // The only key of a map is the variant, its value the variant's content.
        Value::Object(map) => match map.iter().next().filter(|_| map.len() == 1) {
            Some((name, _)) if !names.contains(&name.as_str()) => unknown_variant(name, &names),
            Some((_, content)) => invalid_type(content, "unit"),
            None => invalid_value(sent, "map with a single key"),
        },
        _ => invalid_type(sent, "string or map"),
    }
}

/// Returns the error of a newtype's check for a value of the right type.
fn check_error(node: ValueNode<'_>, issue: &Issue) -> Option<String> {
    let value = node.value;
    Some(match &issue.kind {
        IssueKind::OutOfBounds { measure, relation, limit } => {
            let sign = relation.sign();
            let length = |length: usize, unit: &str| {
                Error::invalid_length(length, &format!("{sign} {limit} {unit}").as_str()).to_string()
            };
            match (measure, value) {
                (Quantity::Items, Value::Array(items)) => length(items.len(), "elements"),
                (Quantity::Properties, Value::Object(fields)) => length(fields.len(), "entries"),
                (Quantity::Characters, _) => invalid_value(value, &format!("a string of {sign} {limit} characters")),
                _ => invalid_value(value, &format!("a number {sign} {limit}")),
            }
        }
        IssueKind::BadFormat { format } => invalid_value(value, &format!("a valid {format}")),
        IssueKind::BadPattern { pattern } => invalid_value(value, &format!("a string that matches `{pattern}`")),
        IssueKind::NotAMultiple { of } => invalid_value(value, &format!("a multiple of {of}")),
        IssueKind::NotUnique => invalid_value(value, "unique elements"),
        IssueKind::Other { keyword, .. } if keyword == "anyOf" || keyword == "oneOf" => untagged_enum_error(node.name),
        IssueKind::Other { message, .. } => message.clone(),
        IssueKind::Missing { .. }
        | IssueKind::WrongType { .. }
        | IssueKind::NotAnOption { .. }
        | IssueKind::Undeclared { .. } => return None,
    })
}

/// Returns the error for an issue whose path cannot be resolved.
fn unlocated_error(context: VisitContext<'_>, issue: &Issue) -> String {
    let name = segment_name(issue.path.rsplit('.').next().unwrap_or_default());
    let node = ValueNode { path: &issue.path, value: issue.sent.as_ref().unwrap_or(&Value::Null), schema: None, name };
    match &issue.kind {
        IssueKind::Missing { .. } => format!("missing field `{name}`"),
        IssueKind::Undeclared { fields } => unknown_field(fields.first().map_or("", String::as_str), None),
        _ => type_error(context, node, issue).or_else(|| check_error(node, issue)).unwrap_or_default(),
    }
}

fn invalid_type(sent: &Value, expected: &str) -> String {
    Error::invalid_type(unexpected(&excerpt_of_string(sent)), &expected).to_string()
}

fn invalid_value(sent: &Value, expected: &str) -> String {
    Error::invalid_value(unexpected(&excerpt_of_string(sent)), &expected).to_string()
}

/// Lists and objects are not shown.
fn excerpt_of_string(sent: &Value) -> Cow<'_, Value> {
    if sent.is_string() { excerpt(sent) } else { Cow::Borrowed(sent) }
}

fn unexpected(sent: &Value) -> Unexpected<'_> {
    match sent {
        Value::Null => Unexpected::Unit,
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(value), ..) => Unexpected::Unsigned(value),
            (_, Some(value), _) => Unexpected::Signed(value),
            (.., value) => Unexpected::Float(value.unwrap_or(f64::NAN)),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    }
}

fn unknown_variant(name: &str, variants: &[impl AsRef<str>]) -> String {
    let name = excerpt_text(name);
    match variants {
        [] => format!("unknown variant `{name}`, there are no variants"),
        variants => format!("unknown variant `{name}`, expected {}", one_of(variants)),
    }
}

fn unknown_field(name: &str, declared: Option<&Map<String, Value>>) -> String {
    let name = excerpt_text(name);
    let fields: Vec<&String> = declared.into_iter().flat_map(Map::keys).collect();
    match &fields[..] {
        [] => format!("unknown field `{name}`, there are no fields"),
        fields => format!("unknown field `{name}`, expected {}", one_of(fields)),
    }
}

fn untagged_enum_error(name: &str) -> String {
    format!("data did not match any variant of untagged enum {}", pascal_case(name))
}

fn one_of(names: &[impl AsRef<str>]) -> String {
    match names {
        [one, other] => format!("`{}` or `{}`", one.as_ref(), other.as_ref()),
        names => {
            let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", name.as_ref())).collect();
            if quoted.len() == 1 { quoted.concat() } else { format!("one of {}", quoted.join(", ")) }
        }
    }
}

/// Resolves the reference of a node and adopts the name given by the schema.
fn resolve_ref<'a>(context: VisitContext<'a>, node: ValueNode<'a>) -> ValueNode<'a> {
    let mut node = node;
    // Limits references that lead back to themselves.
    for _ in 0..8 {
        let Some(target) = node.schema.and_then(|schema| schema.get("$ref")).and_then(Value::as_str) else { break };
        node.name = target.rsplit('/').next().unwrap_or(node.name);
        node.schema = target.strip_prefix('#').and_then(|pointer| context.root.pointer(pointer));
    }
    match node.schema.and_then(|schema| schema.get("title")).and_then(Value::as_str) {
        Some(title) => ValueNode { name: title, ..node },
        None => node,
    }
}

fn properties(schema: Option<&Value>) -> Option<&Map<String, Value>> {
    schema?.get("properties")?.as_object()
}

fn is_required(schema: Option<&Value>, name: &str) -> bool {
    let required = schema.and_then(|schema| schema.get("required")).and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required.as_str() == Some(name)))
}

fn is_type(schema: Option<&Value>, name: &str) -> bool {
    match schema.and_then(|schema| schema.get("type")) {
        Some(Value::Array(names)) => names.iter().any(|other| other == name),
        other => other.and_then(Value::as_str) == Some(name),
    }
}

fn is_unsigned(schema: Option<&Value>) -> bool {
    let bound = |keyword| schema.and_then(|schema| schema.get(keyword)).and_then(Value::as_f64);
    ["minimum", "exclusiveMinimum"].iter().any(|keyword| bound(keyword).is_some_and(|limit| limit >= 0.0))
}

fn pascal_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for word in name.split(|c: char| !c.is_alphanumeric()) {
        let mut chars = word.chars();
        out.extend(chars.next().into_iter().flat_map(char::to_uppercase).chain(chars));
    }
    if out.is_empty() { "Value".to_owned() } else { out }
}
