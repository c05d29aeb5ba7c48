use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Object;

/// A tool as an agent is shown it: what MCP's `tools/list` tells, with the actions kept apart.
///
/// An adapter that needs one flat schema (as Fusion sends it) joins the actions itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The tool's name, unique within a scenario.
    pub name: String,
    /// What the tool is for, for the agent to read.
    pub description: String,
    /// The argument that selects the action; `None` for a tool that has a single action and no such argument.
    pub discriminator: Option<String>,
    /// The actions in the order in which they were declared.
    pub actions: Vec<ActionSpec>,
}

impl ToolSpec {
    /// The action with this name.
    pub fn action(&self, name: &str) -> Option<&ActionSpec> {
        self.actions.iter().find(|action| action.name == name)
    }
}

/// One action of a [`ToolSpec`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionSpec {
    /// The value of the discriminator that selects this action.
    pub name: String,
    /// What the action does, for the agent to read.
    pub description: String,
    /// The JSON Schema (draft 2020-12) of the arguments, without the discriminator.
    pub input_schema: Value,
    /// MCP's `readOnlyHint`: a call changes nothing.
    #[serde(default)]
    pub read_only: bool,
}

/// One tool call, as an agent sends it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The name of the tool; it need not exist.
    pub tool: String,
    /// The arguments, the discriminator among them. An agent may send anything, so this need not be an object.
    pub arguments: Value,
}

impl ToolCall {
    /// The arguments if they are an object.
    pub fn object(&self) -> Option<&Object> {
        self.arguments.as_object()
    }

    /// The text that stands for this call wherever its tokens are counted: compact JSON `{"name":…,"arguments":…}`.
    pub fn wire_text(&self) -> String {
        String::from_utf8(self.wire_bytes(Vec::with_capacity(128))).unwrap_or_default()
    }

    /// The [`wire_text`](ToolCall::wire_text) as bytes in `buffer`, whose contents are replaced. Calls with the same bytes are equal.
    pub fn wire_bytes(&self, mut buffer: Vec<u8>) -> Vec<u8> {
        #[derive(Serialize)]
        struct Wire<'a> {
            name: &'a str,
            arguments: &'a Value,
        }
        buffer.clear();
        // JSON that is written into memory cannot fail.
        let _ = serde_json::to_writer(&mut buffer, &Wire { name: &self.tool, arguments: &self.arguments });
        buffer
    }
}

/// What comes back for a call: the text content of an MCP `CallToolResult`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolResponse {
    /// The text blocks, in order; at least one.
    pub content: Vec<String>,
    /// MCP's `isError`. A warning is `false`.
    pub is_error: bool,
}

impl ToolResponse {
    /// The blocks as one text, with an empty line between them: what an agent reads and what tokens are counted of.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        match self.content.as_slice() {
            [only] => only.into(),
            blocks => blocks.join("\n\n").into(),
        }
    }
}
