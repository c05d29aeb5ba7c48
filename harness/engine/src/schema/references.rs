//! References between schemas, checked once for each value.
//!
//! Without references, the work for a value is bounded by the sizes of schema and value. With them it is not: where two
//! branches lead to the same schema, each level of nesting doubles the work. So validators of schemas with references
//! remember, for the duration of one check, whether a value matches the target of a reference, and report a mismatch as
//! one error, which is expanded only where its details are needed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use jsonschema::{Keyword, ValidationError, Validator, ValidatorMap};
use serde_json::Value;

use super::options;
use crate::keywords::{KeywordKind, keyword_kind};

/// The validators of all subschemas of a schema with references, by pointer (`#/$defs/filter`).
#[derive(Debug, Default)]
pub(super) struct References(OnceLock<ValidatorMap>);

/// The keyword `$ref`, whose target's errors are reported as one.
pub(super) const REF: &str = "$ref";

/// The deepest nesting of references within a check. Beyond it, the check has no result.
const MAX_DEPTH: usize = 256;

thread_local! {
    static CHECK: RefCell<Check> = RefCell::default();
}

/// The results of the check in progress on this thread.
#[derive(Default)]
struct Check {
    /// The number of scopes around it; zero if no check is in progress.
    scopes: usize,
    /// The number of references around the current value.
    depth: usize,
    /// True if the nesting was too deep.
    is_incomplete: bool,
    /// By the address of the reference, and by value; `None` while being computed.
    results: HashMap<(usize, Checked), Option<bool>>,
}

/// A value that is checked.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Checked {
    /// The address, which is stable while the check lasts.
    Value(usize),
    /// A text itself: the names of properties are texts at one address.
    Text(String),
}

/// Runs a check whose results are remembered until it ends.
pub(super) fn scope<T>(check: impl FnOnce() -> T) -> T {
    struct Scope;
    impl Drop for Scope {
        fn drop(&mut self) {
            CHECK.with_borrow_mut(|check| {
                check.scopes -= 1;
                if check.scopes == 0 {
                    *check = Check::default();
                }
            });
        }
    }
    CHECK.with_borrow_mut(|check| check.scopes += 1);
    let _scope = Scope;
    check()
}

/// Returns true if a check on this thread has ended without a result, because references were nested too deeply.
pub(super) fn is_incomplete() -> bool {
    CHECK.with_borrow(|check| check.is_incomplete)
}

impl References {
    /// Compiles a schema with references. Returns `None` if it has none, or others than to its own parts by pointer.
    pub(super) fn compile(schema: &Value) -> Option<(Validator, Arc<References>)> {
        let (mut count, mut pending) = (0, vec![schema]);
        while let Some(part) = pending.pop() {
            for (keyword, value) in part.as_object().into_iter().flatten() {
                match (keyword.as_str(), keyword_kind(keyword), value) {
                    ("$dynamicRef" | "$recursiveRef" | "$id", ..) => return None,
                    (REF, ..) => {
                        schema.pointer(value.as_str()?.strip_prefix('#')?)?;
                        count += 1;
                    }
                    (_, KeywordKind::Schema, inner) => pending.push(inner),
                    (_, KeywordKind::SchemaMap, Value::Object(inner)) => pending.extend(inner.values()),
                    (_, KeywordKind::SchemaList, Value::Array(inner)) => pending.extend(inner),
                    _ => {}
                }
            }
        }
        if count == 0 {
            return None;
        }
        let references: Arc<References> = Arc::default();
        let all = Arc::downgrade(&references);
        let options = options().with_keyword(REF, move |_, target: &Value, _| {
            let target = target.as_str().unwrap_or_default().into();
            Ok(Box::new(Reference { target, all: Weak::clone(&all) }) as Box<dyn for<'i> Keyword<'i>>)
        });
        let validator = options.build(schema).ok()?;
        let _ = references.0.set(options.build_map(schema).ok()?);
        Some((validator, references))
    }

    /// Returns the errors of a value under the target of a reference.
    pub(super) fn errors(&self, target: &str, value: &Value) -> Vec<ValidationError<'static>> {
        let validator = self.0.get().and_then(|validators| validators.get(target));
        let errors = |validator: &Validator| validator.iter_errors(value).map(ValidationError::to_owned).collect();
        validator.map_or_else(Vec::new, errors)
    }

    /// Returns true if a value matches a part of the schema, by its pointer; `None` if there is none.
    pub(super) fn accepts(&self, pointer: &str, value: &Value) -> Option<bool> {
        let validator = self.0.get()?.get(pointer)?;
        Some(scope(|| validator.is_valid(value)))
    }

    /// Returns the pointers of all parts of the schema.
    pub(super) fn pointers(&self) -> impl Iterator<Item = &str> {
        self.0.get().into_iter().flat_map(ValidatorMap::keys)
    }
}

/// The keyword `$ref`.
struct Reference {
    /// The pointer of the target, with `#`.
    target: Box<str>,
    all: Weak<References>,
}

impl Reference {
    fn check(&self, value: &Value) -> bool {
        let checked = match value {
            Value::String(text) => Checked::Text(text.clone()),
            _ => Checked::Value(std::ptr::from_ref(value).addr()),
        };
        let key = (std::ptr::from_ref(self).addr(), checked);
        let known = CHECK.with_borrow_mut(|check| {
            if let Some(known) = check.results.get(&key) {
                // A schema that consists of a reference to itself allows any value.
                return Some(known.unwrap_or(true));
            }
            if check.depth >= MAX_DEPTH {
                check.is_incomplete = true;
                return Some(false);
            }
            check.depth += 1;
            check.results.insert(key.clone(), None);
            None
        });
        known.unwrap_or_else(|| {
            let all = self.all.upgrade();
            let validator = all.as_ref().and_then(|all| all.0.get()?.get(&self.target));
            let is_valid = validator.is_none_or(|validator| validator.is_valid(value));
            CHECK.with_borrow_mut(|check| {
                check.depth -= 1;
                check.results.insert(key, Some(is_valid));
            });
            is_valid
        })
    }
}

impl<'i> Keyword<'i> for Reference {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        match self.is_valid(value) {
            true => Ok(()),
            false => Err(ValidationError::custom(&*self.target)),
        }
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        scope(|| self.check(value))
    }
}
