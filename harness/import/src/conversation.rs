//! A recorded conversation of an agent with tools, in one form for all sources.

use std::collections::BTreeMap;

pub use healbench_core::ErrorSource;
use serde_json::Value;

/// A recorded conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// The name of the source: `agentdojo`.
    pub source: &'static str,
    /// The file, counted from 0 in the order in which files were read, and the position of the conversation in it, from 0.
    pub origin: (usize, usize),
    /// The suite, if the source has suites.
    pub suite: Option<String>,
    /// The task. Conversations of the same task have the same name; a source without tasks gives each conversation one of its own.
    pub task: String,
    /// The model; `None` if the source does not name it.
    pub model: Option<String>,
    /// True if the task succeeded; `None` if the source does not say.
    pub success: Option<bool>,
    /// Everything else that the source says: `attack` to its name, `epoch` to its number.
    pub tags: BTreeMap<String, String>,
    /// The tools that the model was shown, if the source lists them.
    pub tools: Option<Vec<Tool>>,
    /// The messages, in their order.
    pub events: Vec<Event>,
    /// True if the log ends in the middle: nothing tells whether the agent went on.
    pub is_cut_off: bool,
}

/// A tool that a model was shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its description; empty if there is none.
    pub description: String,
    /// The schema of its arguments; null if there is none.
    pub schema: Value,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Hash)]
pub enum Event {
    /// Text of the user: the task, and later replies. A marker with which a source ends a conversation is none.
    User {
        /// The text.
        text: String,
    },
    /// Everything that the model sent before it saw a result of any of its calls.
    Turn(Turn),
}

/// A turn of a model.
#[derive(Debug, Clone, Default, PartialEq, Hash)]
pub struct Turn {
    /// Its text without reasoning; empty if there is none.
    pub text: String,
    /// Its calls, in order.
    pub calls: Vec<Call>,
    /// The number of calls that [`crate::Options::tools`] and [`crate::Options::skip_tools`] left out of `calls`.
    pub left_out: usize,
    /// Tokens sent and received, if the source says so for this turn.
    pub usage: Option<(u64, u64)>,
}

/// A call with its result.
#[derive(Debug, Clone, PartialEq, Hash)]
pub struct Call {
    /// The tool as the agent named it, after routers are unwrapped.
    pub tool: String,
    /// The arguments: an object, or a string that holds what was sent if it is no JSON object.
    pub arguments: Value,
    /// The result; `None` if the log has none.
    pub result: Option<CallResult>,
    /// True for a tool that runs shell commands.
    pub is_shell: bool,
}

/// The result of a call.
#[derive(Debug, Clone, Default, PartialEq, Hash)]
pub struct CallResult {
    /// The text blocks as the agent saw them, wrapping included.
    pub blocks: Vec<String>,
    /// The text inside of wrappings: nested JSON, and Python's text of a result. Equal to the joined blocks if there are none.
    pub text: String,
    /// The sign that the call failed; `None` if it succeeded.
    pub error: Option<ErrorSource>,
    /// True if the user refused the call, which is no error.
    pub is_refused: bool,
}
