use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Object, ToolCall};

/// The plan of a scripted agent: the intended calls in order, each with its draft, which is the call that the agent
/// sends first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Script {
    /// The steps. The agent is done when all of them have succeeded.
    pub steps: Vec<Step>,
}

/// One intended call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The correct call, as far as it follows from the task.
    #[serde(rename = "intent")]
    pub intended: ToolCall,
    /// The call that the agent sends first: the intended call with the scheduled mistakes applied. Equal to `intended`
    /// if there are none.
    #[serde(rename = "belief")]
    pub draft: ToolCall,
    /// The arguments that the task does not state and that must be read from a record, by argument name. `intended`
    /// holds their correct values for checks; an agent may send one only after a response has shown it.
    pub find: BTreeMap<String, RecordQuery>,
}

/// The description of the record that holds a needed value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordQuery {
    /// The record's top-level field that holds the value; a name, not a path.
    pub column: String,
    /// The fields that the task states about the record; all of them must be equal.
    pub matching: Object,
}
