use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{NumberTexts, Object};

/// A tool as listed for an agent: the contents of MCP's `tools/list`, with the actions kept apart.
///
/// An adapter that needs one flat schema (as Fusion sends it) joins the actions itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The tool's name, unique within a scenario.
    pub name: String,
    /// The description shown to the agent.
    pub description: String,
    /// The argument that selects the action; `None` for a tool with one action and no such argument.
    pub discriminator: Option<String>,
    /// The actions, in the order of declaration.
    pub actions: Vec<ActionSpec>,
}

impl ToolSpec {
    /// Returns the action with this name.
    pub fn action(&self, name: &str) -> Option<&ActionSpec> {
        self.actions.iter().find(|action| action.name == name)
    }
}

/// One action of a [`ToolSpec`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionSpec {
    /// The value of the discriminator that selects this action.
    pub name: String,
    /// The description shown to the agent.
    pub description: String,
    /// The JSON Schema (draft 2020-12) of the arguments, without the discriminator.
    pub input_schema: Value,
    /// MCP's `readOnlyHint`: true if a call changes nothing.
    #[serde(default)]
    pub read_only: bool,
}

/// A tool call as sent by an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The name of the tool, which need not exist.
    pub tool: String,
    /// The arguments, including the discriminator. An agent may send any JSON value, not only an object.
    pub arguments: Value,
    /// The texts of numbers in the arguments that were sent in another form, if the text of the call is known.
    #[serde(skip)]
    pub numbers: Option<Box<NumberTexts>>,
}

impl ToolCall {
    /// Creates a call whose text is not known.
    pub fn new(tool: impl Into<String>, arguments: Value) -> ToolCall {
        ToolCall { tool: tool.into(), arguments, numbers: None }
    }

    /// Returns the arguments if they are an object.
    pub fn object(&self) -> Option<&Object> {
        self.arguments.as_object()
    }

    /// Returns the text whose tokens are counted for this call: compact JSON `{"name":…,"arguments":…}`.
    pub fn wire_text(&self) -> String {
        String::from_utf8(self.wire_bytes(Vec::with_capacity(128))).unwrap_or_default()
    }

    /// Writes the [`wire_text`](ToolCall::wire_text) to `buffer`, replacing its contents. Calls with the same bytes are
    /// equal.
    pub fn wire_bytes(&self, mut buffer: Vec<u8>) -> Vec<u8> {
        #[derive(Serialize)]
        struct Wire<'a> {
            name: &'a str,
            arguments: &'a Value,
        }
        buffer.clear();
        // Writing JSON to memory cannot fail.
        let _ = serde_json::to_writer(&mut buffer, &Wire { name: &self.tool, arguments: &self.arguments });
        buffer
    }
}

/// The response to a call: the text content of an MCP `CallToolResult`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolResponse {
    /// The text blocks, in order; at least one.
    pub content: Vec<String>,
    /// MCP's `isError`; false for a warning.
    pub is_error: bool,
}

impl ToolResponse {
    /// Returns the blocks joined by an empty line: the text that an agent reads and whose tokens are counted.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        match self.content.as_slice() {
            [only] => only.into(),
            blocks => blocks.join("\n\n").into(),
        }
    }

    /// Returns the hash that rows name a response by; see [`CallRecord::response_hash`](crate::CallRecord::response_hash).
    pub fn hash(&self) -> u64 {
        let mut hasher = Sha256::new();
        hasher.update([u8::from(self.is_error)]);
        for block in &self.content {
            hasher.update((block.len() as u64).to_le_bytes());
            hasher.update(block);
        }
        let digest: [u8; 32] = hasher.finalize().into();
        digest.iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte))
    }
}

/// Returns the top-level arguments that differ from `previous`, sorted.
pub fn changed_arguments(previous: &ToolCall, call: &ToolCall) -> Vec<String> {
    let empty = Object::new();
    let previous = previous.object().unwrap_or(&empty);
    let current = call.object().unwrap_or(&empty);
    let differs = |name: &&String| previous.get(*name) != current.get(*name);
    let mut names: Vec<String> = current.keys().filter(differs).cloned().collect();
    names.extend(previous.keys().filter(|name| !current.contains_key(*name)).cloned());
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn changed_fields_are_added_removed_or_different() {
        let before = json!({"same": 1, "gone": 1, "new_value": 1});
        let arguments: Value = json!({"same": 1, "new_value": 2, "added": null});
        let call = |arguments| ToolCall::new("t", arguments);
        assert_eq!(changed_arguments(&call(before), &call(arguments)), ["added", "gone", "new_value"]);
    }
}
