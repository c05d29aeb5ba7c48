//! The parts of a schema, each checked by itself: for examples of fields.

use std::collections::HashMap;

use serde_json::Value;

use super::PartValidators;
use super::undeclared::Declarations;

/// The parts of one schema, by the address of the part.
#[derive(Debug)]
pub(crate) struct SchemaParts {
    validators: PartValidators,
    pointers: HashMap<*const Value, String>,
    /// The declarations, with the index of each part; `None` if undeclared fields are allowed.
    declarations: Option<(Declarations, HashMap<*const Value, usize>)>,
}

impl SchemaParts {
    /// Compiles the parts of `root`. Values with undeclared fields are not accepted if `is_closed`. Returns `None` if the schema
    /// does not compile.
    pub(crate) fn compile(root: &Value, is_closed: bool) -> Option<SchemaParts> {
        let validators = PartValidators::compile(root)?;
        let pointers = validators.by_address(root);
        let declarations = is_closed.then(|| Declarations::of_parts(root, validators.references()));
        Some(SchemaParts { validators, pointers, declarations })
    }

    /// Returns true if a value matches all of these parts.
    pub(crate) fn accept(&self, parts: &[&Value], value: &Value) -> bool {
        let is_valid = |part: &&Value| {
            let pointer = self.pointers.get(&std::ptr::from_ref(*part));
            pointer.and_then(|pointer| self.validators.accepts(pointer, value)).unwrap_or(false)
        };
        parts.iter().all(is_valid)
            && self.declarations.as_ref().is_none_or(|(declarations, indices)| {
                let nodes = parts.iter().filter_map(|part| indices.get(&std::ptr::from_ref(*part)).copied());
                super::scope(|| declarations.undeclared_in(nodes.collect(), value).is_empty())
            })
    }
}
