use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Object, ToolCall};

/// What a scripted agent sets out to do: the intended calls, in order, each beside the call that it first believes in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Script {
    /// The steps; the agent is done when each has succeeded.
    pub steps: Vec<Step>,
}

/// One intended call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The call that a perfect agent would make: what the agent knows from the task.
    #[serde(rename = "intent")]
    pub intended: ToolCall,
    /// The call that it will send at first: the intent, spoiled by the scheduled mistakes. Equal to `intended` without one.
    #[serde(rename = "belief")]
    pub draft: ToolCall,
    /// Arguments whose right value is not told by the task but has to be read from a record, by argument name. `intended` holds
    /// the right value, for the sake of checks; an agent may send it only once a response has shown it.
    pub find: BTreeMap<String, RecordQuery>,
}

/// How an agent recognises the record that holds a value it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordQuery {
    /// The record's own field that holds the value; a name, not a path.
    pub column: String,
    /// What the task tells about the record: every one of these must be equal.
    pub matching: Object,
}
