//! Readings in the form in which labelled texts are scored.

use healbench_core::{ActionSpec, ErrorKind, ToolSpec};
use serde_json::{Map, Value, json};

use super::{ExpectedFormat, Fault, Reading, Relation, Statement, Vocabulary, read};

/// A record that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a record needs an `id`, a `tool` and a `text`")]
pub struct InvalidRecord;

/// Verbs with which the names of tools begin that read something.
const READING_VERBS: &[&str] = &[
    "get", "list", "read", "search", "find", "show", "describe", "fetch", "query", "lookup", "look", "view", "check",
    "count",
];

/// Reads one record: `id`, `tool`, `known_tools`, `schema`, `arguments` and `text`. Returns `id`, `is_error`, `fields`, `remedies` (`field`,
/// `kind`, `value`), `tools`, `enough` and `kind`.
///
/// # Errors
/// [`InvalidRecord`] if a key is absent that no text can be read without.
pub fn predict(record: &Value) -> Result<Value, InvalidRecord> {
    let text_of = |key: &str| record.get(key).and_then(Value::as_str).ok_or(InvalidRecord);
    let (id, tool, text) = (text_of("id")?, text_of("tool")?, text_of("text")?);
    let null = Value::Null;
    let sent = record.get("arguments").unwrap_or(&null);
    let schema = record.get("schema").filter(|schema| schema.is_object()).cloned();
    // Without a schema the names are those that were sent.
    let names = || {
        sent.as_object().into_iter().flat_map(Map::keys).map(|name| (name.clone(), json!({}))).collect::<Map<_, _>>()
    };
    let schema = schema.unwrap_or_else(|| json!({ "properties": names() }));
    let known = record.get("known_tools").and_then(Value::as_array);
    let others = known.into_iter().flatten().filter_map(Value::as_str).filter(|name| *name != tool);
    let tools: Vec<ToolSpec> =
        std::iter::once(tool_named(tool, schema)).chain(others.map(|name| tool_named(name, json!({})))).collect();
    let vocabulary = Vocabulary::of_tools(&tools);
    let reading = read(text, &vocabulary, sent, record.get("is_error").and_then(Value::as_bool));
    Ok(prediction(id, tool, &reading))
}

fn tool_named(name: &str, input_schema: Value) -> ToolSpec {
    let action = ActionSpec { name: name.to_owned(), description: String::new(), input_schema, read_only: false };
    ToolSpec { name: name.to_owned(), description: String::new(), discriminator: None, actions: vec![action] }
}

fn prediction(id: &str, tool: &str, reading: &Reading) -> Value {
    let mut fields: Vec<&str> = Vec::new();
    let mut tools: Vec<&str> = Vec::new();
    let mut remedies: Vec<Value> = Vec::new();
    // That something failed for now is no advice to try again.
    let says_again = |words: &str| {
        let words = words.to_lowercase();
        ["again", "retry", "later", "shortly"].iter().any(|word| words.contains(word))
    };
    let waits = reading.statements.iter().any(|statement| matches!(statement, Statement::Delay { .. }));
    let faulty = reading.statements.iter().find_map(Statement::field);
    for (statement, words) in reading.statements.iter().zip(&reading.words) {
        if *statement == Statement::Transient && !waits && says_again(words) {
            remedies.push(json!({"field": null, "kind": "retry_later", "value": null}));
        }
        if let Statement::Narrow { .. } | Statement::Page { .. } = statement {
            continue;
        }
        if let Statement::Suggest { tool: Some(advised), .. } = statement {
            if advised == tool {
                continue;
            }
            if !tools.contains(&advised.as_str()) {
                tools.push(advised);
            }
        }
        // A thing in a state that another call changes is not at fault.
        let is_state = matches!(statement, Statement::Fault { fault: Fault::State, .. });
        if is_state && reading.facts.names_tool {
            continue;
        }
        if let Some(field) = statement.field()
            && !fields.contains(&field)
        {
            fields.push(field);
        }
        if let Some((kind, value)) = remedy(statement) {
            let field = if kind == "lookup" { statement.field().or(faulty) } else { statement.field() };
            remedies.push(json!({"field": field, "kind": kind, "value": value}));
        }
    }
    json!({
        "id": id,
        "is_error": reading.kind.is_some(),
        "fields": fields,
        "remedies": remedies,
        "tools": tools,
        "enough": reading.kind.is_some().then(|| reading.is_enough() || remedies.iter().any(|remedy| remedy["kind"] == "retry_later")),
        "kind": reading.kind.map(ErrorKind::name),
    })
}

/// Returns the kind of a remedy, and its value.
fn remedy(statement: &Statement) -> Option<(&'static str, Value)> {
    Some(match statement {
        Statement::Missing { .. } | Statement::MissingDiscriminator { .. } => ("missing", Value::Null),
        Statement::WrongType { expected, .. } => ("type", json!(expected)),
        Statement::Options { values, .. } => ("options", json!(values.join(" | "))),
        Statement::Actions { names } => ("options", json!(names.join(" | "))),
        Statement::Bound { relation, limit, .. } => ("bound", json!(format!("{}{limit}", symbol(*relation)))),
        Statement::Compared { relation, other, .. } => ("bound", json!(format!("{}{other}", symbol(*relation)))),
        Statement::Format { expected: ExpectedFormat::Named(name) | ExpectedFormat::Pattern(name), .. } => {
            ("format", json!(name))
        }
        Statement::Unrecognized { .. } => ("remove", Value::Null),
        Statement::Rename { name, .. } => ("rename", json!(name)),
        Statement::Value { value, .. } => ("value", value.clone().unwrap_or(Value::Null)),
        Statement::Suggest { tool, action } => {
            let name = tool.as_ref().unwrap_or(action);
            let verb = action.split(['_', '-', '.']).find(|word| !word.is_empty()).unwrap_or_default();
            let reads =
                READING_VERBS.iter().any(|known| verb.eq_ignore_ascii_case(known)) || action.ends_with("snapshot");
            (if reads { "lookup" } else { "action" }, json!(name))
        }
        Statement::Lookup { .. } => ("lookup", Value::Null),
        Statement::Delay { seconds } => ("wait", json!(seconds)),
        Statement::SearchDifferently { .. } => ("search_differently", Value::Null),
        Statement::Stop => ("stop", Value::Null),
        Statement::Conflict { .. }
        | Statement::Transient
        | Statement::UnknownTool
        | Statement::Contract { .. }
        | Statement::Example { .. }
        | Statement::Narrow { .. }
        | Statement::Page { .. }
        | Statement::Fault { .. } => {
            return None;
        }
    })
}

fn symbol(relation: Relation) -> &'static str {
    match relation {
        Relation::AtLeast => ">=",
        Relation::Above => ">",
        Relation::AtMost => "<=",
        Relation::Below => "<",
        Relation::MultipleOf => "multiple of ",
    }
}

impl Reading {
    /// Returns true if somebody who knows the task knows the next step from the text: a call, a wait or an end, or else a remedy for every
    /// argument at fault.
    pub fn is_enough(&self) -> bool {
        let leads_on = |statement: &Statement| {
            matches!(
                statement,
                Statement::Suggest { .. }
                    | Statement::Lookup { .. }
                    | Statement::SearchDifferently { .. }
                    | Statement::Delay { .. }
                    | Statement::Stop
                    | Statement::Conflict { .. }
            )
        };
        let is_left_open = |statement: &Statement| matches!(statement, Statement::Fault { .. });
        self.statements.iter().any(leads_on) || self.facts.states_remedy && !self.statements.iter().any(is_left_open)
    }
}
