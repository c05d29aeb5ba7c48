//! Clients: what agent programs show their models of the answers of a server, and which calls they answer themselves.
//!
//! Each profile is compared byte by byte with recordings of the program in `agents/clients/fixtures`. Arguments that are no
//! object, loop detection, compaction and the search for tools are not modelled. A wall time is always zero, and a file
//! that a client writes is named as in the recordings.

mod codex;
mod json_text;
mod opencode;
mod qwen_code;
mod schema_texts;
mod typescript_sdk;

use std::borrow::Cow;

use healbench_core::{CallResult, Client, ToolCall};
use jsonschema::Validator;
use serde_json::Value;

/// A part of what a model is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownBlock {
    /// Text.
    Text(String),
    /// An image, as a data URL.
    Image(String),
}

/// The fate of a call in a client.
#[derive(Debug, Clone, PartialEq)]
pub enum Sending<'c> {
    /// It is sent to the server, possibly with other arguments.
    Sent(Cow<'c, ToolCall>),
    /// The client answers the call itself, since no tool has this name.
    UnknownTool(Vec<ShownBlock>),
    /// The client answers the call itself, since the arguments do not match the tool's input schema.
    InvalidArguments {
        /// The answer.
        shown: Vec<ShownBlock>,
        /// The top-level arguments that the answer names, sorted.
        named: Vec<String>,
    },
}

/// A tool as a client knows it.
#[derive(Debug)]
struct ListedTool {
    name: String,
    /// The definition in `tools/list`.
    definition: Value,
    /// Accepts what the client accepts, and little else; `None` if the schema is missing or does not compile.
    input: Option<Validator>,
    output: Option<Validator>,
}

/// A client that is connected to one server.
#[derive(Debug)]
pub struct ClientProfile {
    entry: &'static ProfileEntry,
    /// The name of the server in the client's settings.
    server: String,
    tools: Vec<ListedTool>,
}

/// The behavior of a client.
#[derive(Debug)]
struct ProfileEntry {
    client: Client,
    send: for<'c> fn(&ClientProfile, &'c ToolCall) -> Sending<'c>,
    show: fn(&ClientProfile, &ToolCall, &CallResult) -> Vec<ShownBlock>,
}

/// The profiles, one for each client but `raw`.
static PROFILES: [ProfileEntry; 3] = [
    ProfileEntry { client: Client::Codex, send: codex::send, show: codex::show },
    ProfileEntry { client: Client::OpenCode, send: opencode::send, show: opencode::show },
    ProfileEntry { client: Client::QwenCode, send: qwen_code::send, show: qwen_code::show },
];

impl ClientProfile {
    /// Connects a client to a server with these definitions of tools, which are those of MCP's `tools/list`. Returns `None`
    /// for [`Client::Raw`], which changes nothing.
    pub fn new(client: Client, server: &str, definitions: &[Value]) -> Option<ClientProfile> {
        let entry = PROFILES.iter().find(|entry| entry.client == client)?;
        let validator = |schema: Option<&Value>| schema.and_then(|schema| options().build(schema).ok());
        let tool = |definition: &Value| ListedTool {
            name: definition["name"].as_str().unwrap_or_default().to_owned(),
            input: validator(definition.get("inputSchema")),
            output: validator(definition.get("outputSchema")),
            definition: definition.clone(),
        };
        Some(ClientProfile { entry, server: server.to_owned(), tools: definitions.iter().map(tool).collect() })
    }

    /// Returns what becomes of a call.
    pub fn send<'c>(&self, call: &'c ToolCall) -> Sending<'c> {
        (self.entry.send)(self, call)
    }

    /// Returns what the model is shown of an answer, at least one block.
    pub fn show(&self, call: &ToolCall, result: &CallResult) -> Vec<ShownBlock> {
        (self.entry.show)(self, call, result)
    }

    /// Returns the names of the tools.
    pub fn tool_names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.name.clone()).collect()
    }

    fn tool(&self, name: &str) -> Option<&ListedTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

impl ShownBlock {
    /// Returns the text, or a placeholder for an image.
    pub fn into_text(self) -> String {
        match self {
            ShownBlock::Text(text) => text,
            ShownBlock::Image(_) => "[image]".to_owned(),
        }
    }
}

/// The dialect that clients take every schema for.
fn options() -> jsonschema::ValidationOptions<'static> {
    jsonschema::options().with_draft(jsonschema::Draft::Draft7).should_validate_formats(true)
}
