use serde_json::json;

use crate::{Function, ToolSpec, functions};

/// The system text of models whose settings do not specify one.
pub const DEFAULT_SYSTEM_TEXT: &str = include_str!("system.txt").trim_ascii_end();

/// Returns the text that a model receives with every request in addition to the conversation: the system text, and a line for each
/// function.
pub fn preamble(system: &str, functions: &[Function]) -> String {
    let mut text = system.to_owned();
    for function in functions {
        let line =
            json!({"name": function.name, "description": function.description, "parameters": function.parameters});
        text.push('\n');
        text.push_str(&line.to_string());
    }
    text
}

/// Returns the [`preamble`] of a model without settings, which is that of simulated readers too: the default system text, and tools in
/// the API's own field.
pub fn default_preamble(tools: &[ToolSpec]) -> String {
    preamble(DEFAULT_SYSTEM_TEXT, &functions(tools))
}
