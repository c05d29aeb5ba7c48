//! The JSON format of document 002. The closing braces of `error` and of the root are on separate lines at the end, so
//! that contract changes can be inserted before them.

use serde_json::{Map, Value, json};

use super::friendly::{
    CUT, FieldHelp, OtherFailure, OtherFailureKind, ToolHelp, explain, issue_items, json as layout, other_failure,
    suggestions, summary,
};
use super::{ActionDoc, RenderInput, RenderedDoc};
use crate::failure::{Failure, Issue};

/// The indentation of the members of `error`.
const INDENT: usize = 4;

pub(super) fn render_doc(doc: &ActionDoc) -> RenderedDoc {
    let pretty = |value: &Value| {
        let mut out = String::new();
        layout::push_pretty(&mut out, value, INDENT);
        out
    };
    let (help, schema) = explain(doc, |help| pretty(&schema_value(&doc.description, help)));
    RenderedDoc { schema, example: help.example.as_ref().map(pretty).unwrap_or_default(), options: help.options }
}

pub(super) fn render(input: &RenderInput<'_>) -> String {
    match (input.failure, other_failure(input)) {
        (Failure::Validation { issues, .. }, _) => validation_text(input, issues),
        (_, Some(failure)) => other_failure_text(&failure),
        // Unreachable: every failure is one of the two.
        (_, None) => super::bare_line(input.failure),
    }
}

fn validation_text(input: &RenderInput<'_>, issues: &[Issue]) -> String {
    let items = issue_items(input, issues);
    let empty = RenderedDoc::default();
    let rendered = input.action.map_or(&empty, |action| &action.rendered);
    let mut out = String::with_capacity(1024 + rendered.schema.len() + rendered.example.len() + input.reserve);
    out.push_str("{\n  \"error\": {\n    \"type\": \"validation\"");
    member(&mut out, "summary", |out| layout::push_string(out, &summary(input, items.len())));
    member(&mut out, "issues", |out| {
        out.push('[');
        for (index, item) in items.iter().enumerate() {
            out.push_str(if index == 0 { "\n      {" } else { ",\n      {" });
            field(out, "\n", "field", |out| layout::push_string(out, &item.field));
            field(out, ",\n", "problem", |out| layout::push_string(out, &item.problem));
            if let Some(received) = &item.received {
                field(out, ",\n", "received", |out| layout::push_inline(out, received));
            }
            field(out, ",\n", "expected", |out| layout::push_string(out, &item.expected));
            field(out, ",\n", "fix", |out| layout::push_string(out, &item.fix));
            out.push_str("\n      }");
        }
        out.push_str("\n    ]");
    });
    if !rendered.schema.is_empty() {
        member(&mut out, "schema", |out| out.push_str(&rendered.schema));
    }
    let suggestions = suggestions(issues, rendered.options, !rendered.example.is_empty());
    if !suggestions.is_empty() {
        member(&mut out, "suggestions", |out| {
            for (index, suggestion) in suggestions.iter().enumerate() {
                out.push_str(if index == 0 { "[\n      " } else { ",\n      " });
                layout::push_string(out, suggestion);
            }
            out.push_str("\n    ]");
        });
    }
    if !rendered.example.is_empty() {
        member(&mut out, "validExample", |out| out.push_str(&rendered.example));
    }
    out.push_str("\n  }\n}");
    out
}

/// Appends a member of `error`.
fn member(out: &mut String, name: &str, write: impl FnOnce(&mut String)) {
    out.push_str(",\n    \"");
    out.push_str(name);
    out.push_str("\": ");
    write(out);
}

/// Appends a member of an issue.
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
    if help.is_cut {
        out.insert("note".to_owned(), json!(CUT));
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

fn other_failure_text(failure: &OtherFailure<'_>) -> String {
    let mut error = Map::new();
    let mut put = |name: &str, value: Value| {
        error.insert(name.to_owned(), value);
    };
    put("type", json!(if failure.kind == OtherFailureKind::Tool { "tool" } else { "routing" }));
    if let Some(code) = failure.code {
        put("code", json!(code));
    }
    if let Some(severity) = failure.severity {
        put("severity", json!(severity.name()));
    }
    put("summary", json!(failure.summary));
    if !failure.details.is_empty() {
        let details = failure.details.iter().map(|(key, value)| (key.clone(), value.clone()));
        put("details", Value::Object(details.collect()));
    }
    if !failure.available.is_empty() {
        let name = if failure.kind == OtherFailureKind::UnknownTool { "availableTools" } else { "availableActions" };
        put(name, json!(failure.available));
    }
    if let Some(recovery) = &failure.recovery {
        put("recovery", json!(recovery));
    }
    if let Some(seconds) = failure.retry_after {
        put("retryAfter", json!(seconds));
    }
    let mut out = String::new();
    layout::push_pretty(&mut out, &json!({ "error": error }), 0);
    out
}
