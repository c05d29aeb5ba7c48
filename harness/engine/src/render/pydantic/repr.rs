//! JSON values as formatted by Python.

use serde_json::Value;

use crate::render::decimal::shortest;

/// Returns Python's `repr()` of the value.
pub(in crate::render) fn repr(value: &Value) -> String {
    let mut out = String::new();
    write_repr(value, &mut out);
    out
}

/// Returns the `repr()`, shortened in the middle like pydantic does.
pub(in crate::render) fn truncated_repr(value: &Value) -> String {
    const MAX_LENGTH: usize = 50;
    let full = repr(value);
    if full.len() <= MAX_LENGTH {
        return full;
    }
    let head = full.floor_char_boundary(MAX_LENGTH / 2);
    let tail = full.ceil_char_boundary(full.len() - (MAX_LENGTH / 2 - 1));
    format!("{}...{}", &full[..head], &full[tail..])
}

/// Returns the name of the value's Python type.
pub(in crate::render) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
    }
}

fn write_repr(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => {
                let text = shortest(float, -4..16, 2);
                let is_bare = text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
                out.push_str(&text);
                out.push_str(if is_bare { ".0" } else { "" });
            }
            _ => out.push_str(&number.to_string()),
        },
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_repr(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (index, (name, member)) in members.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_text(name, out);
                out.push_str(": ");
                write_repr(member, out);
            }
            out.push('}');
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            c if is_printable(c) => out.push(c),
            c => {
                let code = u32::from(c);
                out.push_str(&match code {
                    0..=0xFF => format!("\\x{code:02x}"),
                    0x100..=0xFFFF => format!("\\u{code:04x}"),
                    _ => format!("\\U{code:08x}"),
                });
            }
        }
    }
    out.push(quote);
}

/// Returns true if Python prints the character unescaped. Rust's `Debug` escapes the same characters, and also a
/// combining character without a base character.
fn is_printable(c: char) -> bool {
    let mut pair = String::from("x");
    pair.push(c);
    pair.escape_debug().eq(pair.chars())
}
