//! The JSON structure of document 002. It ends with the closing braces of `error` and of the whole on lines of their
//! own: contract changes are put in before them.

use serde_json::{Map, Value, json};

use super::friendly::{FieldHelp, Kind, Plain, ToolHelp, explain, items, json as layout, plain, suggestions, summary};
use super::{ActionFacts, Sheet, Told};
use crate::failure::{Failure, Issue};

/// Members of `error` are indented by this much.
const INDENT: usize = 4;

pub(super) fn sheet(facts: &ActionFacts) -> Sheet {
    let help = explain(facts);
    let laid_out = |value: &Value| {
        let mut out = String::new();
        layout::push_laid_out(&mut out, value, INDENT);
        out
    };
    Sheet {
        schema: laid_out(&schema_value(&facts.description, &help)),
        example: help.example.as_ref().map(laid_out).unwrap_or_default(),
        options: help.options,
    }
}

pub(super) fn render(told: &Told<'_>) -> String {
    match (told.failure, plain(told)) {
        (Failure::Validation { issues, .. }, _) => validation_text(told, issues),
        (_, Some(failure)) => plain_text(&failure),
        // Every failure is one of the two.
        (_, None) => super::bare_line(told.failure),
    }
}

fn validation_text(told: &Told<'_>, issues: &[Issue]) -> String {
    let items = items(told, issues);
    let empty = Sheet::default();
    let sheet = told.action.map_or(&empty, |action| &action.sheet);
    let mut out = String::with_capacity(1024 + sheet.schema.len() + sheet.example.len() + told.spare);
    out.push_str("{\n  \"error\": {\n    \"type\": \"validation\"");
    member(&mut out, "summary", |out| layout::push_text(out, &summary(told, items.len())));
    member(&mut out, "issues", |out| {
        out.push('[');
        for (index, item) in items.iter().enumerate() {
            out.push_str(if index == 0 { "\n      {" } else { ",\n      {" });
            field(out, "\n", "field", |out| layout::push_text(out, &item.field));
            field(out, ",\n", "problem", |out| layout::push_text(out, &item.problem));
            if let Some(received) = item.received {
                field(out, ",\n", "received", |out| layout::push_inline(out, received));
            }
            field(out, ",\n", "expected", |out| layout::push_text(out, &item.expected));
            field(out, ",\n", "fix", |out| layout::push_text(out, &item.fix));
            out.push_str("\n      }");
        }
        out.push_str("\n    ]");
    });
    if !sheet.schema.is_empty() {
        member(&mut out, "schema", |out| out.push_str(&sheet.schema));
    }
    let suggestions = suggestions(issues, sheet.options, !sheet.example.is_empty());
    if !suggestions.is_empty() {
        member(&mut out, "suggestions", |out| {
            for (index, suggestion) in suggestions.iter().enumerate() {
                out.push_str(if index == 0 { "[\n      " } else { ",\n      " });
                layout::push_text(out, suggestion);
            }
            out.push_str("\n    ]");
        });
    }
    if !sheet.example.is_empty() {
        member(&mut out, "validExample", |out| out.push_str(&sheet.example));
    }
    out.push_str("\n  }\n}");
    out
}

/// A further member of `error`.
fn member(out: &mut String, name: &str, write: impl FnOnce(&mut String)) {
    out.push_str(",\n    \"");
    out.push_str(name);
    out.push_str("\": ");
    write(out);
}

/// A member of an issue.
fn field(out: &mut String, before: &str, name: &str, write: impl FnOnce(&mut String)) {
    out.push_str(before);
    out.push_str("        \"");
    out.push_str(name);
    out.push_str("\": ");
    write(out);
}

fn schema_value(description: &str, help: &ToolHelp) -> Value {
    let mut out = Map::new();
    if !description.is_empty() {
        out.insert("description".to_owned(), json!(description));
    }
    out.insert("properties".to_owned(), properties(&help.fields));
    out.insert("required".to_owned(), json!(help.required));
    if !help.examples.is_empty() {
        out.insert("examples".to_owned(), Value::Array(help.examples.clone()));
    }
    Value::Object(out)
}

fn properties(fields: &[FieldHelp]) -> Value {
    Value::Object(fields.iter().map(|field| (field.name.clone(), property(field))).collect())
}

fn property(help: &FieldHelp) -> Value {
    let mut out = Map::new();
    out.insert("type".to_owned(), json!(help.kind));
    if let Some(description) = &help.description {
        out.insert("description".to_owned(), json!(description));
    }
    if !help.constraints.is_empty() {
        out.insert("constraints".to_owned(), json!(help.constraints));
    }
    if !help.examples.is_empty() {
        out.insert("examples".to_owned(), Value::Array(help.examples.clone()));
    }
    if !help.fields.is_empty() {
        let mut inner = Map::new();
        inner.insert("properties".to_owned(), properties(&help.fields));
        inner.insert("required".to_owned(), json!(help.required));
        if help.list {
            out.insert("items".to_owned(), Value::Object(inner));
        } else {
            out.extend(inner);
        }
    }
    Value::Object(out)
}

fn plain_text(failure: &Plain<'_>) -> String {
    let mut error = Map::new();
    let mut put = |name: &str, value: Value| {
        error.insert(name.to_owned(), value);
    };
    put("type", json!(if failure.kind == Kind::Tool { "tool" } else { "routing" }));
    if let Some(code) = failure.code {
        put("code", json!(code));
    }
    if let Some(severity) = failure.severity {
        put("severity", json!(severity.name()));
    }
    put("summary", json!(failure.summary));
    if !failure.details.is_empty() {
        let details = failure.details.iter().map(|(key, value)| (key.clone(), json!(value)));
        put("details", Value::Object(details.collect()));
    }
    if !failure.available.is_empty() {
        let name = if failure.kind == Kind::UnknownTool { "availableTools" } else { "availableActions" };
        put(name, json!(failure.available));
    }
    if let Some(recovery) = &failure.recovery {
        put("recovery", json!(recovery));
    }
    if let Some(seconds) = failure.retry_after {
        put("retryAfter", json!(seconds));
    }
    let mut out = String::new();
    layout::push_laid_out(&mut out, &json!({ "error": error }), 0);
    out
}
