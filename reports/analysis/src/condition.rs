//! A condition in a report: the condition itself, of which JSON has the label, the guardrails and the error format.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use healbench_core::Condition;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

/// A condition of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownCondition(Arc<Condition>);

/// What JSON has of a condition.
#[derive(Serialize, JsonSchema)]
struct Shown {
    /// The name of the condition.
    condition: String,
    /// The guardrails in force.
    #[schemars(with = "crate::schema::GuardrailsSchema")]
    guardrails: String,
    /// The error format; in JSON, its name.
    format: String,
}

impl From<&Condition> for ShownCondition {
    fn from(condition: &Condition) -> ShownCondition {
        ShownCondition(Arc::new(condition.clone()))
    }
}

impl Deref for ShownCondition {
    type Target = Condition;

    fn deref(&self) -> &Condition {
        &self.0
    }
}

impl Serialize for ShownCondition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (guardrails, format) = (self.guardrails().to_string(), self.format().to_string());
        Shown { condition: self.label(), guardrails, format }.serialize(serializer)
    }
}

impl JsonSchema for ShownCondition {
    fn schema_name() -> Cow<'static, str> {
        "ShownCondition".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Shown::json_schema(generator)
    }
}
