//! What a server in Rust sends whose parameters are typed with serde: the first thing that serde stumbles over, and no place.
//!
//! The words are those of rmcp, the official SDK, and of serde and `serde_json`; `tests/fixtures/servers` holds the real answers that
//! the tests compare with. What a schema says is read as the Rust types that an author would write for it:
//!
//! - An object with properties is a struct with `deny_unknown_fields`, named by its `title` or `$ref`, else after the property that
//!   holds it, `PascalCase`; without properties it is a map. A grouped tool is an internally tagged enum of such structs.
//! - An integer is a `u64` when its `minimum` is 0 or more, else an `i64`; a number is an `f64`.
//! - Options that are texts are an enum of unit variants, several types an untagged enum.
//! - An optional field may be left out, but is not `null` unless its schema says so.
//!
//! The SDK keeps the arguments in a map of `serde_json`, which sorts its keys unless a build asks otherwise. So fields are visited
//! in alphabetical order, whatever was sent first; what is missing is noticed afterwards, in the order of the struct.
//!
//! Bounds, lengths, patterns, options that are no texts and the like have no serde type. A newtype checks them, in words that are its
//! author's: they are the only ones here that no real answer vouches for. One departure: line ends and control characters that serde
//! leaves as they are (in names, and in a handler's own message) are written as escapes, so that an answer is always one line.

use serde::de::{Error as _, Unexpected};
use serde_json::{Error, Map, Value, json};

use super::{Told, single_line};
use crate::failure::{Expected, Failure, Issue, IssueKind, Measure, Routing};
use crate::schema::validate;

pub(super) fn render(told: &Told<'_>) -> String {
    let text = match told.failure {
        Failure::Routing(Routing::UnknownTool { .. }) => "Mcp error: -32602: tool not found".to_owned(),
        Failure::Routing(
            Routing::MissingDiscriminator { available, .. } | Routing::UnknownAction { available, .. },
        ) => {
            let field = told.discriminator.unwrap_or("action");
            rejected(&match told.arguments.get(field) {
                None => format!("missing field `{field}`"),
                Some(Value::String(sent)) => unknown_variant(sent, available),
                Some(sent) => invalid_type(sent, "variant identifier"),
            })
        }
        // Such a request is none that the SDK knows: the method's name is all that it says.
        Failure::Validation { .. } if !told.arguments.is_object() => "Mcp error: -32601: tools/call".to_owned(),
        Failure::Validation { issues, .. } => rejected(&first_error(told, issues)),
        Failure::Tool(failure) | Failure::Fault(failure) => failure.message.clone(),
    };
    single_line(&text).into_owned()
}

fn rejected(error: &str) -> String {
    format!("failed to deserialize parameters: {error}")
}

/// What is looked for, and where.
#[derive(Debug, Clone, Copy)]
struct Walk<'a> {
    issues: &'a [Issue],
    /// The schema's root, for its `$ref`s.
    root: &'a Value,
    /// Whether the tool is grouped. serde buffers the fields of a tagged enum, and tells of a buffered sequence in other words.
    buffered: bool,
}

/// A value on its way to a type.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    /// As in [`Issue::path`].
    path: &'a str,
    value: &'a Value,
    /// `None` where the schema is of no help.
    schema: Option<&'a Value>,
    /// What a type for this place is called.
    name: &'a str,
}

fn first_error(told: &Told<'_>, issues: &[Issue]) -> String {
    let schema = told.action.map(|facts| &facts.schema);
    let root = Place { path: "", value: told.arguments, schema, name: "parameters" };
    let buffered = told.action.is_some_and(|facts| facts.discriminator.is_some());
    let walk = Walk { issues, root: schema.unwrap_or(&Value::Null), buffered };
    visit(walk, root).or_else(|| issues.first().map(|issue| lost(walk, issue))).unwrap_or_default()
}

/// What serde would say at this place, or below.
fn visit(walk: Walk<'_>, place: Place<'_>) -> Option<String> {
    let place = resolved(walk, place);
    let here =
        || walk.issues.iter().filter(|issue| issue.path == place.path && issue.sent.as_ref() == Some(place.value));
    here()
        .find_map(|issue| type_error(walk, place, issue))
        .or_else(|| match place.value {
            Value::Object(fields) => visit_fields(walk, place, fields),
            Value::Array(items) => {
                let schema = place.schema.and_then(|schema| schema.get("items"));
                items.iter().enumerate().find_map(|(index, value)| {
                    visit(walk, Place { path: &joined(place.path, &index.to_string()), value, schema, ..place })
                })
            }
            _ => None,
        })
        // A newtype looks at what is there already.
        .or_else(|| here().find_map(|issue| check_error(place, issue)))
}

fn visit_fields(walk: Walk<'_>, place: Place<'_>, fields: &Map<String, Value>) -> Option<String> {
    let declared = properties(place.schema);
    let undeclared = |name: &String| {
        walk.issues.iter().any(|issue| match &issue.kind {
            IssueKind::Undeclared { fields } => issue.path == place.path && fields.contains(name),
            _ => false,
        })
    };
    let mut names: Vec<&String> = fields.keys().collect();
    names.sort_unstable();
    let met = names.into_iter().find_map(|name| {
        let schema = declared.and_then(|map| map.get(name));
        let other = || place.schema.and_then(|schema| schema.get("additionalProperties"));
        let below = Place {
            path: &joined(place.path, name),
            value: &fields[name],
            schema: schema.or_else(other),
            name: if schema.is_some() { name } else { place.name },
        };
        visit(walk, below).or_else(|| undeclared(name).then(|| unknown_field(name, declared)))
    });
    let required = || place.schema.and_then(|schema| schema.get("required")).and_then(Value::as_array);
    met.or_else(|| {
        let rest = required().into_iter().flatten().filter_map(Value::as_str);
        let names = declared.into_iter().flat_map(Map::keys).map(String::as_str).chain(rest);
        let missing = |name: &&str| {
            let path = joined(place.path, name);
            !fields.contains_key(*name)
                && walk.issues.iter().any(|issue| matches!(issue.kind, IssueKind::Missing { .. }) && issue.path == path)
        };
        names.into_iter().find(missing).map(|name| format!("missing field `{name}`"))
    })
}

/// What the type of this place says of the value; `None` when the value is of the type.
fn type_error(walk: Walk<'_>, place: Place<'_>, issue: &Issue) -> Option<String> {
    match &issue.kind {
        IssueKind::WrongType { expected: Expected::Types(types) } => Some(wrong_type(walk, place, types)),
        IssueKind::WrongType { expected: Expected::Options(options) } | IssueKind::NotAnOption { options } => {
            Some(no_option(place.value, options))
        }
        IssueKind::WrongType { expected: Expected::Any } => Some(invalid_type(place.value, "another type")),
        IssueKind::OutOfBounds { measure: Measure::Number, .. } if place.value.is_i64() && !place.value.is_u64() => {
            let unsigned = is_type(place.schema, "integer") && is_unsigned(place.schema);
            unsigned.then(|| invalid_value(place.value, "u64"))
        }
        _ => None,
    }
}

fn wrong_type(walk: Walk<'_>, place: Place<'_>, types: &[String]) -> String {
    let named: Vec<&str> = types.iter().map(String::as_str).filter(|name| *name != "null").collect();
    let [name] = named[..] else {
        return if named.is_empty() { invalid_type(place.value, "unit") } else { no_variant(place.name) };
    };
    let expected = match name {
        "integer" if is_unsigned(place.schema) => "u64",
        "integer" => "i64",
        "number" => "f64",
        "boolean" => "a boolean",
        "array" => "a sequence",
        "object" => match properties(place.schema) {
            None => "a map",
            Some(fields) => return no_struct(walk, place, fields),
        },
        _ => "a string",
    };
    invalid_type(place.value, expected)
}

/// serde reads a struct from a sequence, too: one element a field.
fn no_struct(walk: Walk<'_>, place: Place<'_>, fields: &Map<String, Value>) -> String {
    let expected = format!("struct {}", pascal_case(place.name));
    let Value::Array(items) = place.value else { return invalid_type(place.value, &expected) };
    let count = fields.len();
    let elements = if count == 1 { "element" } else { "elements" };
    for (index, (name, schema)) in fields.iter().enumerate() {
        let Some(item) = items.get(index) else {
            return Error::invalid_length(index, &format!("{expected} with {count} {elements}").as_str()).to_string();
        };
        let alone = json!({ name: item });
        let declared = json!({ "properties": { name: schema } });
        // A schema that does not stand on its own lets everything through here.
        let issues = validate(&declared, &alone).unwrap_or_default();
        let alone = Place { path: "", value: &alone, schema: Some(&declared), name: "" };
        let found = visit(Walk { issues: &issues, root: &declared, buffered: walk.buffered }, alone);
        let left_out = item.is_null() && !requires(place.schema, name);
        if let Some(found) = found.filter(|_| !left_out) {
            return found;
        }
    }
    match (items.len() > count, walk.buffered) {
        (true, false) => Error::invalid_length(items.len(), &"fewer elements in array").to_string(),
        (true, true) => {
            Error::invalid_length(items.len(), &format!("{count} {elements} in sequence").as_str()).to_string()
        }
        // serde would take it; the engine does not.
        (false, _) => invalid_type(place.value, &expected),
    }
}

/// Of an enum's variants, none.
fn no_option(sent: &Value, options: &[Value]) -> String {
    let names: Vec<&str> = options.iter().filter_map(Value::as_str).collect();
    if options.iter().any(|option| !option.is_string() && !option.is_null()) {
        let known: Vec<String> = options.iter().map(Value::to_string).collect();
        return invalid_value(sent, &one_of(&known));
    }
    match sent {
        Value::String(name) => unknown_variant(name, &names),
        // A map's one key is the variant, its value what the variant holds.
        Value::Object(map) => match map.iter().next().filter(|_| map.len() == 1) {
            Some((name, _)) if !names.contains(&name.as_str()) => unknown_variant(name, &names),
            Some((_, held)) => invalid_type(held, "unit"),
            None => invalid_value(sent, "map with a single key"),
        },
        _ => invalid_type(sent, "string or map"),
    }
}

/// What a newtype's check says of a value that is of its type.
fn check_error(place: Place<'_>, issue: &Issue) -> Option<String> {
    let value = place.value;
    Some(match &issue.kind {
        IssueKind::OutOfBounds { measure, relation, limit } => {
            let sign = relation.sign();
            let length = |length: usize, unit: &str| {
                Error::invalid_length(length, &format!("{sign} {limit} {unit}").as_str()).to_string()
            };
            match (measure, value) {
                (Measure::Items, Value::Array(items)) => length(items.len(), "elements"),
                (Measure::Properties, Value::Object(fields)) => length(fields.len(), "entries"),
                (Measure::Characters, _) => invalid_value(value, &format!("a string of {sign} {limit} characters")),
                _ => invalid_value(value, &format!("a number {sign} {limit}")),
            }
        }
        IssueKind::BadFormat { format } => invalid_value(value, &format!("a valid {format}")),
        IssueKind::BadPattern { pattern } => invalid_value(value, &format!("a string that matches `{pattern}`")),
        IssueKind::NotAMultiple { of } => invalid_value(value, &format!("a multiple of {of}")),
        IssueKind::NotUnique => invalid_value(value, "unique elements"),
        IssueKind::Other { keyword, .. } if keyword == "anyOf" || keyword == "oneOf" => no_variant(place.name),
        IssueKind::Other { message, .. } => message.clone(),
        IssueKind::Missing { .. }
        | IssueKind::WrongType { .. }
        | IssueKind::NotAnOption { .. }
        | IssueKind::Undeclared { .. } => return None,
    })
}

/// An issue at a place that cannot be told from its path.
fn lost(walk: Walk<'_>, issue: &Issue) -> String {
    let name = issue.path.rsplit('.').next().unwrap_or_default();
    let place = Place { path: &issue.path, value: issue.sent.as_ref().unwrap_or(&Value::Null), schema: None, name };
    match &issue.kind {
        IssueKind::Missing { .. } => format!("missing field `{name}`"),
        IssueKind::Undeclared { fields } => unknown_field(fields.first().map_or("", String::as_str), None),
        _ => type_error(walk, place, issue).or_else(|| check_error(place, issue)).unwrap_or_default(),
    }
}

fn invalid_type(sent: &Value, expected: &str) -> String {
    Error::invalid_type(unexpected(sent), &expected).to_string()
}

fn invalid_value(sent: &Value, expected: &str) -> String {
    Error::invalid_value(unexpected(sent), &expected).to_string()
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
    match variants {
        [] => format!("unknown variant `{name}`, there are no variants"),
        variants => format!("unknown variant `{name}`, expected {}", one_of(variants)),
    }
}

fn unknown_field(name: &str, declared: Option<&Map<String, Value>>) -> String {
    let fields: Vec<&String> = declared.into_iter().flat_map(Map::keys).collect();
    match &fields[..] {
        [] => format!("unknown field `{name}`, there are no fields"),
        fields => format!("unknown field `{name}`, expected {}", one_of(fields)),
    }
}

fn no_variant(name: &str) -> String {
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

/// The place with what its schema refers to, and the name that the schema gives it.
fn resolved<'a>(walk: Walk<'a>, place: Place<'a>) -> Place<'a> {
    let mut place = place;
    // A `$ref` that leads back to itself is followed a few times.
    for _ in 0..8 {
        let Some(target) = place.schema.and_then(|schema| schema.get("$ref")).and_then(Value::as_str) else { break };
        place.name = target.rsplit('/').next().unwrap_or(place.name);
        place.schema = target.strip_prefix('#').and_then(|pointer| walk.root.pointer(pointer));
    }
    match place.schema.and_then(|schema| schema.get("title")).and_then(Value::as_str) {
        Some(title) => Place { name: title, ..place },
        None => place,
    }
}

fn properties(schema: Option<&Value>) -> Option<&Map<String, Value>> {
    schema?.get("properties")?.as_object()
}

fn requires(schema: Option<&Value>, name: &str) -> bool {
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

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
