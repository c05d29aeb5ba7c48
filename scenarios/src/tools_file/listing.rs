//! The tools in an answer of a server, or in a request to a model.

use serde_json::Value;

use crate::Diagnostic;
use crate::diagnostic::MAX_PROBLEMS;
use crate::locate::{Document, child};

/// A tool in a file.
pub(super) struct Entry {
    pub(super) pointer: String,
    /// The key of the tool, if the tools are in an object.
    pub(super) key: Option<String>,
    /// True if a tool without a schema takes no arguments.
    pub(super) optional_schema: bool,
}

/// Keys that contain tools, or an object that does, and whether a schema is optional in them.
const WRAPPERS: [(&str, bool); 6] = [
    ("result", false),
    ("toolConfig", false),
    ("tools", false),
    ("functions", true),
    ("functionDeclarations", true),
    ("function_declarations", true),
];

/// Returns the tools of all lists, and the errors that a server answered with. Other messages of JSON-RPC are skipped.
pub(super) fn entries(document: &Document<'_>) -> (Vec<Entry>, Vec<Diagnostic>) {
    let mut lists = Lists { document, entries: Vec::new(), problems: Vec::new() };
    lists.read("", &document.value, false);
    (lists.entries, lists.problems)
}

struct Lists<'a> {
    document: &'a Document<'a>,
    entries: Vec<Entry>,
    problems: Vec<Diagnostic>,
}

impl Lists<'_> {
    fn read(&mut self, pointer: &str, value: &Value, optional_schema: bool) {
        let Some(map) = value.as_object() else {
            match value {
                Value::Array(items) => {
                    for (index, item) in items.iter().enumerate() {
                        self.read(&child(pointer, index), item, optional_schema);
                    }
                }
                _ => self.push(pointer, None, optional_schema),
            }
            return;
        };
        let mut is_wrapper = map.contains_key("jsonrpc");
        for (key, optional_schema) in WRAPPERS {
            let at = child(pointer, key);
            match map.get(key) {
                Some(list @ Value::Array(_)) => self.read(&at, list, optional_schema),
                Some(inner @ Value::Object(object)) if key == "result" || wraps(object) => {
                    self.read(&at, inner, optional_schema);
                }
                // Tools by name.
                Some(Value::Object(tools)) => {
                    for name in tools.keys() {
                        self.push(&child(&at, name), Some(name), optional_schema);
                    }
                }
                _ => continue,
            }
            is_wrapper = true;
        }
        let has_room = self.problems.len() < MAX_PROBLEMS;
        if let Some(error) = map.get("error").filter(|_| is_wrapper && has_room) {
            let message = error.get("message").and_then(Value::as_str).unwrap_or("no message");
            let at = child(pointer, "error");
            self.problems.push(self.document.at_value(
                &at,
                format!("the server answered with an error: {message}"),
                None,
            ));
        }
        // Something else than a tool, such as the result of `initialize`.
        let is_tool = ["name", "inputSchema", "function", "toolSpec"].iter().any(|key| map.contains_key(*key));
        let is_listed = !pointer.is_empty() && !pointer.ends_with("/result");
        if !is_wrapper && (is_tool || is_listed) {
            self.push(pointer, None, optional_schema);
        }
    }

    fn push(&mut self, pointer: &str, key: Option<&str>, optional_schema: bool) {
        self.entries.push(Entry { pointer: pointer.to_owned(), key: key.map(str::to_owned), optional_schema });
    }
}

fn wraps(map: &healbench_core::Object) -> bool {
    WRAPPERS.iter().any(|(key, _)| map.get(*key).is_some_and(Value::is_array))
}
