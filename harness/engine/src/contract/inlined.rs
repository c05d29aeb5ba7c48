//! Schemas with the targets of their references in place.

use healbench_core::Object;
use serde_json::Value;

use super::canonical::ANNOTATIONS;

/// The most references that are replaced in one schema: definitions that use others twice double with each level.
const MAX_REFERENCES: u32 = 500;

/// Returns the schema with references replaced by what they refer to. References to other documents, to a schema that is
/// around them, and with keywords beside them are kept.
pub(super) fn inlined(root: &Value) -> Value {
    Inliner { root, left: MAX_REFERENCES, around: Vec::new() }.schema(root)
}

struct Inliner<'a> {
    root: &'a Value,
    /// The number of references that may still be replaced.
    left: u32,
    /// The references that are being replaced.
    around: Vec<&'a str>,
}

impl<'a> Inliner<'a> {
    fn schema(&mut self, value: &'a Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| self.schema(item)).collect(),
            Value::Object(map) => match self.target(map) {
                Some((reference, target)) => {
                    self.left -= 1;
                    self.around.push(reference);
                    let mut schema = self.schema(target);
                    self.around.pop();
                    if let Value::Object(schema) = &mut schema {
                        let beside = map.iter().filter(|(keyword, _)| *keyword != "$ref");
                        schema.extend(beside.map(|(keyword, value)| (keyword.clone(), value.clone())));
                    }
                    schema
                }
                None => Value::Object(map.iter().map(|(key, value)| (key.clone(), self.member(key, value))).collect()),
            },
            other => other.clone(),
        }
    }

    /// Definitions are copied as they are, for the references that are kept.
    fn member(&mut self, key: &str, value: &'a Value) -> Value {
        if matches!(key, "$defs" | "definitions") { value.clone() } else { self.schema(value) }
    }

    fn target(&self, map: &'a Object) -> Option<(&'a str, &'a Value)> {
        let reference = map.get("$ref")?.as_str()?;
        let is_alone = map.keys().all(|keyword| keyword == "$ref" || ANNOTATIONS.contains(&keyword.as_str()));
        let may_replace = is_alone && self.left > 0 && !self.around.contains(&reference);
        let pointer = reference.strip_prefix('#').filter(|pointer| may_replace && !pointer.is_empty())?;
        Some((reference, self.root.pointer(pointer)?))
    }
}
