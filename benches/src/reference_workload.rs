//! The reference workload: ordinary work that the engine's times are divided by, so that they can be compared over days
//! on one machine.
//!
//! It must never change, because earlier measurements relative to it would become meaningless. A different workload
//! needs a new name.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// Returns the input of [`reference_workload_1`].
pub fn input() -> Value {
    json!({
        "order": "A-1007",
        "customer": {"name": "Acme & Sons", "since": 1998, "mails": ["a@example.com", "b@example.com"]},
        "lines": [
            {"item": "bolt <M6>", "count": 400, "price": 0.12},
            {"item": "nut", "count": 400, "price": 0.07},
            {"item": "washer", "count": 1200, "price": 0.015},
        ],
        "paid": false,
        "note": null,
    })
}

/// Writes a value as lines of paths and texts. Like a renderer of errors, it traverses, formats, allocates and escapes.
pub fn reference_workload_1(value: &Value) -> String {
    let mut out = String::new();
    walk(value, "", &mut out);
    out
}

fn walk(value: &Value, path: &str, out: &mut String) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| walk(value, &format!("{path}/{name}"), out)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| walk(item, &format!("{path}/{index}"), out));
        }
        Value::String(text) => {
            let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
            // Writing to a String cannot fail.
            let _ = writeln!(out, "<v at=\"{path}\">{escaped}</v>");
        }
        other => {
            let _ = writeln!(out, "<v at=\"{path}\">{other}</v>");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Do not update the expected text: see the module's documentation.
    #[test]
    fn the_reference_workload_never_changes() {
        let text = reference_workload_1(&input());
        let expected = r#"<v at="/order">A-1007</v>
<v at="/customer/name">Acme &amp; Sons</v>
<v at="/customer/since">1998</v>
<v at="/customer/mails/0">a@example.com</v>
<v at="/customer/mails/1">b@example.com</v>
<v at="/lines/0/item">bolt &lt;M6></v>
<v at="/lines/0/count">400</v>
<v at="/lines/0/price">0.12</v>
<v at="/lines/1/item">nut</v>
<v at="/lines/1/count">400</v>
<v at="/lines/1/price">0.07</v>
<v at="/lines/2/item">washer</v>
<v at="/lines/2/count">1200</v>
<v at="/lines/2/price">0.015</v>
<v at="/paid">false</v>
<v at="/note">null</v>
"#;
        assert_eq!(text, expected);
    }
}
