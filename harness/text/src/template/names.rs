//! The names of tools and of their arguments, which stay in templates.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The largest number of names of a tool's arguments.
const MAX_NAMES: usize = 1 << 10;

/// The names of arguments by tool, and the names of tools.
#[derive(Debug, Default)]
pub struct Names(BTreeMap<String, BTreeSet<String>>);

impl Names {
    /// Adds a tool, and the names of the arguments of one of its calls at every depth. Of a tool, the first 1,024 names are kept.
    pub fn add(&mut self, tool: &str, arguments: &Value) {
        add_names(arguments, self.of_tool(tool));
    }

    /// Adds the name of an argument of a tool.
    pub fn add_name(&mut self, tool: &str, name: &str) {
        add_name(name, self.of_tool(tool));
    }

    fn of_tool(&mut self, tool: &str) -> &mut BTreeSet<String> {
        self.0.entry(tool.to_owned()).or_default()
    }

    /// Returns true for the name of a tool, and for that of an argument of `tool`.
    pub fn has(&self, tool: &str, word: &str) -> bool {
        self.0.contains_key(word) || self.0.get(tool).is_some_and(|names| names.contains(word))
    }

    /// Returns true for the name of a tool, and for that of an argument of any tool.
    pub fn has_of_any_tool(&self, word: &str) -> bool {
        self.0.contains_key(word) || self.0.values().any(|names| names.contains(word))
    }
}

fn add_name(name: &str, names: &mut BTreeSet<String>) {
    if names.len() < MAX_NAMES && !names.contains(name) {
        names.insert(name.to_owned());
    }
}

fn add_names(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                add_name(name, names);
                add_names(value, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| add_names(item, names)),
        _ => {}
    }
}
