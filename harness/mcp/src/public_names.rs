//! The names that a server publishes, which are no secrets.

use healbench_text::keep_public;
use serde_json::Value;

/// Makes public what a page of `tools/list` names: tools, fields, types and options.
pub(crate) fn publish_names(page: &Value) {
    fn collect<'v>(value: &'v Value, names: &mut Vec<&'v str>) {
        match value {
            Value::Object(object) => {
                for (key, value) in object {
                    match (key.as_str(), value) {
                        ("properties", Value::Object(fields)) => names.extend(fields.keys().map(String::as_str)),
                        ("name" | "type" | "const", Value::String(name)) => names.push(name),
                        ("enum" | "type", Value::Array(options)) => {
                            names.extend(options.iter().filter_map(Value::as_str));
                        }
                        _ => {}
                    }
                    collect(value, names);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
            _ => {}
        }
    }
    let mut names = Vec::new();
    collect(&page["tools"], &mut names);
    keep_public(names);
}
