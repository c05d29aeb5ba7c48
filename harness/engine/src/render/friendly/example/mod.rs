//! Generation of valid examples from a schema. Candidates are derived from the keywords, and only those that the
//! validator accepts are returned. Generation is deterministic.

mod containers;
mod number;
mod pattern;
mod text;

use std::cell::Cell;

use serde_json::Value;

use super::phrases::implied_type;
use super::schema_node::SchemaNode;
use crate::schema::SchemaParts;

/// The maximum number of nodes and candidates for one schema; schemas that need more get no example.
const MAX_TRIES: u32 = 20_000;

/// The maximum number of combinations of branches for one node.
const MAX_VARIANTS: usize = 16;

/// The maximum depth of an example.
const MAX_DEPTH: usize = 16;

/// All types, in the order in which they are tried if a schema names none.
const TYPES: [&str; 6] = ["string", "integer", "boolean", "object", "array", "null"];

/// Generates examples for the subschemas of one schema.
#[derive(Debug)]
pub(super) struct ExampleGenerator<'s> {
    parts: Option<SchemaParts>,
    tries: Cell<u32>,
    root: &'s Value,
}

/// The nodes that enclose the one for which an example is generated.
#[derive(Debug, Clone, Copy)]
struct ParentSchemas<'a, 's> {
    node: &'a SchemaNode<'s>,
    parent: Option<&'a ParentSchemas<'a, 's>>,
    depth: usize,
}

/// The properties included in an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IncludedProperties {
    /// All declared properties; if that is impossible, the required ones.
    Declared,
    /// The required properties.
    Required,
}

/// Returns a value that a schema accepts, the same one for each call; `None` if none is found.
pub fn valid_example(schema: &Value) -> Option<Value> {
    ExampleGenerator::new(schema, false).root_example(IncludedProperties::Declared)
}

impl<'s> ExampleGenerator<'s> {
    /// Examples have no undeclared fields if `is_closed`.
    pub(super) fn new(root: &'s Value, is_closed: bool) -> ExampleGenerator<'s> {
        ExampleGenerator { parts: SchemaParts::compile(root, is_closed), tries: Cell::new(MAX_TRIES), root }
    }

    /// Returns an example of the whole schema.
    pub(super) fn root_example(&self, included: IncludedProperties) -> Option<Value> {
        self.generate(&SchemaNode::root(self.root), 1, included, None).pop()
    }

    /// Returns an example of a node, as contained in the example of the whole schema.
    pub(super) fn example_at(&self, node: &SchemaNode<'s>) -> Option<Value> {
        self.generate(node, 1, IncludedProperties::Declared, None).pop()
    }

    /// Returns the valid ones of the `examples` in the schema of a node.
    pub(super) fn declared_examples(&self, node: &SchemaNode<'s>) -> Vec<Value> {
        let declared_examples = node.keyword_values("examples").filter_map(Value::as_array).flatten();
        declared_examples.filter(|value| self.accepts(node, value)).cloned().collect()
    }

    /// Returns up to `want` different examples.
    fn generate(
        &self,
        node: &SchemaNode<'s>,
        want: usize,
        included: IncludedProperties,
        parents: Option<&ParentSchemas<'_, 's>>,
    ) -> Vec<Value> {
        let mut found: Vec<Value> = Vec::new();
        let depth = parents.map_or(0, |parents| parents.depth);
        if node.never || depth >= MAX_DEPTH || !self.spend() {
            return found;
        }
        // Adds new and valid candidates until there are enough.
        let mut take = |candidates: Vec<Value>| {
            for candidate in candidates {
                if found.len() < want && !found.contains(&candidate) && self.accepts(node, &candidate) {
                    found.push(candidate);
                }
            }
            found.len() >= want
        };
        let declared_examples = |keyword| node.keyword_values(keyword).filter_map(Value::as_array).flatten().cloned();
        if included == IncludedProperties::Declared
            && take(declared_examples("examples").chain(node.keyword_values("default").cloned()).collect())
        {
            return found;
        }
        for variant in variants(node) {
            if variant.never || parents.is_some_and(|parents| parents.is_recursive(&variant)) {
                continue;
            }
            let nested_parents = ParentSchemas { node: &variant, parent: parents, depth: depth + 1 };
            if let Some(options) = variant.options() {
                if take(options.into_iter().cloned().collect()) {
                    return found;
                }
                continue;
            }
            for name in types(&variant) {
                let candidates = match name {
                    "string" => text::candidates(&variant, want),
                    "integer" => number::candidates(&variant, true, want),
                    "number" => number::candidates(&variant, false, want),
                    "boolean" => vec![Value::Bool(true), Value::Bool(false)],
                    "array" => self.arrays(&variant, want, &nested_parents),
                    "object" => self.objects(&variant, want, included, &nested_parents),
                    _ => vec![Value::Null],
                };
                if take(candidates) {
                    return found;
                }
            }
        }
        found
    }

    /// Counts a try. Returns false if none is left.
    fn spend(&self) -> bool {
        let left = self.tries.get();
        self.tries.set(left.saturating_sub(1));
        left > 0
    }

    fn accepts(&self, node: &SchemaNode<'s>, value: &Value) -> bool {
        self.spend() && self.parts.as_ref().is_some_and(|parts| parts.accept(&node.origins, value))
    }
}

impl<'s> ParentSchemas<'_, 's> {
    /// Returns true if a schema of the node also encloses it: its example would be infinite.
    fn is_recursive(&self, node: &SchemaNode<'s>) -> bool {
        let is_parent = |schema| self.node.schemas.iter().any(|known| std::ptr::eq(*known, schema));
        node.schemas.iter().any(|schema| is_parent(*schema))
            || self.parent.is_some_and(|parent| parent.is_recursive(node))
    }
}

/// Returns one node for each combination of branches.
fn variants<'s>(node: &SchemaNode<'s>) -> Vec<SchemaNode<'s>> {
    let mut decided = Vec::new();
    // A stack: the first branches are pushed last, so that they are returned first.
    let mut open = vec![(node.clone(), 0)];
    while let Some((node, choices_made)) = open.pop() {
        if decided.len() >= MAX_VARIANTS {
            break;
        }
        match node.choices().get(choices_made) {
            None => decided.push(node),
            Some(branches) => {
                open.extend(branches.iter().rev().map(|branch| (node.with_schemas(branch), choices_made + 1)));
            }
        }
    }
    decided
}

/// Returns the types to try, `null` last, because it is the least informative example.
fn types<'s>(node: &SchemaNode<'s>) -> Vec<&'s str> {
    let mut types = node.types().unwrap_or_else(|| {
        let implied = implied_type(node);
        implied.into_iter().chain(TYPES.into_iter().filter(|name| Some(*name) != implied)).collect()
    });
    types.sort_by_key(|name| *name == "null");
    types
}
