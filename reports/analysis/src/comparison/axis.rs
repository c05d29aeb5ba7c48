//! The dimensions of a run that can be compared.

use std::borrow::Cow;

use healbench_core::{AXES, Axis as ConditionAxis};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// The dimension of a run that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Sets of guardrails, of the same agent under conditions that are alike otherwise.
    Guardrails,
    /// Agents, under the same condition.
    Agent,
    /// Conditions, of the same agent.
    Condition,
    /// Values of the axis of conditions with this key, of the same agent under conditions that are alike otherwise.
    Value(&'static str),
}

impl Axis {
    /// Error formats.
    pub const FORMAT: Axis = Axis::Value("errors");
    /// Levels of content.
    pub const CONTENT: Axis = Axis::Value("content");

    /// Returns all dimensions.
    pub fn all() -> impl Iterator<Item = Axis> {
        let values = AXES.iter().map(|axis| Axis::Value(axis.key));
        [Axis::Guardrails, Axis::Agent, Axis::Condition].into_iter().chain(values)
    }

    /// Returns the name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Axis::Guardrails => "guardrails",
            Axis::Agent => "agent",
            Axis::Condition => "condition",
            Axis::FORMAT => "format",
            Axis::Value(key) => key,
        }
    }

    /// Returns the noun for one value.
    pub fn singular(self) -> &'static str {
        self.nouns().0
    }

    /// Returns the noun for several values.
    pub fn plural(self) -> &'static str {
        self.nouns().1
    }

    fn nouns(self) -> (&'static str, &'static str) {
        match self {
            Axis::Guardrails => ("guardrails", "sets of guardrails"),
            Axis::Agent => ("agent", "agents"),
            Axis::Condition => ("condition", "conditions"),
            Axis::Value(key) => value_axis(key).map_or((key, key), |axis| (axis.title, axis.plural)),
        }
    }
}

impl Serialize for Axis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl JsonSchema for Axis {
    fn schema_name() -> Cow<'static, str> {
        "Axis".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = Axis::all().map(Axis::name).collect();
        json_schema!({"type": "string", "enum": names, "description": "The dimension of a run that is compared."})
    }
}

/// Returns the axis of conditions with this key.
pub(super) fn value_axis(key: &str) -> Option<&'static ConditionAxis> {
    AXES.iter().find(|axis| axis.key == key)
}
