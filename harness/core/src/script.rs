use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Object, ToolCall};

/// The plan of a scripted agent: the intended calls in order, each with its draft, which is the call that the agent
/// sends first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Script {
    /// The steps. The agent is done when all of them have succeeded.
    pub steps: Vec<Step>,
    /// The closing text of an agent that is done; `None` for one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

impl Script {
    /// Returns the number of calls that a perfect agent needs.
    pub fn perfect_calls(&self) -> usize {
        self.steps.iter().filter(|step| !step.optional).count()
    }
}

/// One intended call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The correct call, as far as it follows from the task.
    #[serde(rename = "intent")]
    pub intended: ToolCall,
    /// The call that the agent sends first: the intended call with the scheduled mistakes applied. Equal to `intended`
    /// if there are none.
    #[serde(rename = "belief")]
    pub draft: ToolCall,
    /// The values that the task does not state and that must be read from a record, by argument name or dotted path, such as
    /// `lines.0.sku`. `intended` holds the correct ones for checks; an agent may send one only after a response has shown it.
    pub find: BTreeMap<String, RecordQuery>,
    /// The code with which the call fails by design: the step is done when it has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails: Option<String>,
    /// True if the task can be done without the step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// True if the draft is sent twice at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub twice: bool,
    /// Other calls that do the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<ToolCall>,
}

impl Step {
    /// Returns true unless the draft is the intended call, made once.
    pub fn is_mistaken(&self) -> bool {
        self.twice || self.draft != self.intended
    }

    /// Returns the calls of which one makes the step.
    pub fn intended_calls(&self) -> impl Iterator<Item = &ToolCall> {
        std::iter::once(&self.intended).chain(&self.alternatives)
    }
}

/// The description of the record that holds a needed value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordQuery {
    /// The record's top-level field that holds the value; a name, not a path.
    pub column: String,
    /// The fields that the task states about the record; all of them must be equal.
    pub matching: Object,
}
