//! JSON in the layout of document 002: two spaces per level, a list of scalars on one line.

use std::fmt::Write as _;

use serde_json::Value;

/// Formats the value on one line.
pub(crate) fn inline(value: &Value) -> String {
    let mut out = String::new();
    push_inline(&mut out, value);
    out
}

/// Appends the value over several lines; all but the first are indented by at least `indent` spaces.
pub(crate) fn push_pretty(out: &mut String, value: &Value, indent: usize) {
    let deeper = indent + 2;
    match value {
        Value::Object(object) if !object.is_empty() => {
            out.push('{');
            for (index, (name, value)) in object.iter().enumerate() {
                push_line_break(out, index, deeper);
                push_string(out, name);
                out.push_str(": ");
                push_pretty(out, value, deeper);
            }
            let _ = write!(out, "\n{:indent$}}}", "");
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                push_line_break(out, index, deeper);
                push_pretty(out, item, deeper);
            }
            let _ = write!(out, "\n{:indent$}]", "");
        }
        _ => push_inline(out, value),
    }
}

fn push_line_break(out: &mut String, index: usize, indent: usize) {
    out.push_str(if index == 0 { "\n" } else { ",\n" });
    let _ = write!(out, "{:indent$}", "");
}

pub(crate) fn push_inline(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => push_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                push_inline(out, item);
            }
            out.push(']');
        }
        Value::Object(object) => {
            out.push('{');
            for (index, (name, value)) in object.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                push_string(out, name);
                out.push_str(": ");
                push_inline(out, value);
            }
            out.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            let _ = write!(out, "{value}");
        }
    }
}

/// Appends a JSON string. In addition to JSON's requirements, escapes everything that some reader treats as a line
/// break or control character, so that the text stays on one line.
pub(crate) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
