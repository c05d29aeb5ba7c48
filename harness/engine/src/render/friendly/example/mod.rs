//! Valid examples from a schema. A candidate is put together from what the keywords say, and only what the validator
//! accepts is ever given out. The same schema has the same example on every call.

mod composed;
mod number;
mod pattern;
mod text;

use std::cell::Cell;
use std::collections::HashMap;

use jsonschema::ValidatorMap;
use serde_json::Value;

use super::place::Place;
use super::words::implied_type;
use crate::schema::validators;

/// How many candidates are tried for one schema. Schemas that need more are riddles, and go without an example.
const MOST_TRIES: u32 = 20_000;

/// How many combinations of branches are tried at one place.
const MOST_VARIANTS: usize = 16;

/// How deep examples are nested.
const DEEPEST: usize = 16;

/// All types, in the order in which they are tried where a schema names none.
const TYPES: [&str; 6] = ["string", "integer", "boolean", "object", "array", "null"];

/// Makes examples for the places of one schema.
#[derive(Debug)]
pub(super) struct Examples<'s> {
    validators: Option<ValidatorMap>,
    /// The pointers of schemas by their addresses: a schema is one place in one document.
    pointers: HashMap<*const Value, String>,
    tries: Cell<u32>,
    root: &'s Value,
}

/// The places around the one that an example is made for.
#[derive(Debug, Clone, Copy)]
struct Around<'a, 's> {
    place: &'a Place<'s>,
    above: Option<&'a Around<'a, 's>>,
    depth: usize,
}

/// Which properties an example shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// All that are declared, or else those that are required.
    Declared,
    /// Those that are required.
    Required,
}

impl<'s> Examples<'s> {
    pub(super) fn new(root: &'s Value) -> Examples<'s> {
        let validators = validators(root);
        let keys = validators.iter().flat_map(ValidatorMap::keys);
        let address = |key: &str| root.pointer(key.strip_prefix('#')?).map(std::ptr::from_ref);
        let pointers = keys.filter_map(|key| Some((address(key)?, key.to_owned()))).collect();
        Examples { validators, pointers, tries: Cell::new(MOST_TRIES), root }
    }

    /// An example of the whole.
    pub(super) fn whole(&self, shown: Shown) -> Option<Value> {
        self.make(&Place::root(self.root), 1, shown, None).pop()
    }

    /// An example at a place, as it stands in the example of the whole.
    pub(super) fn at(&self, place: &Place<'s>) -> Option<Value> {
        self.make(place, 1, Shown::Declared, None).pop()
    }

    /// The `examples` that the schema itself gives at a place, those of them that are valid.
    pub(super) fn given(&self, place: &Place<'s>) -> Vec<Value> {
        let given = place.each("examples").filter_map(Value::as_array).flatten();
        given.filter(|value| self.accepts(place, value)).cloned().collect()
    }

    /// Up to `want` different examples.
    fn make(&self, place: &Place<'s>, want: usize, shown: Shown, around: Option<&Around<'_, 's>>) -> Vec<Value> {
        let mut found: Vec<Value> = Vec::new();
        let depth = around.map_or(0, |around| around.depth);
        if place.never || depth >= DEEPEST {
            return found;
        }
        // Takes those that are valid and new, until there are enough.
        let mut take = |candidates: Vec<Value>| {
            for candidate in candidates {
                if found.len() < want && !found.contains(&candidate) && self.accepts(place, &candidate) {
                    found.push(candidate);
                }
            }
            found.len() >= want
        };
        let given = |keyword| place.each(keyword).filter_map(Value::as_array).flatten().cloned();
        if shown == Shown::Declared && take(given("examples").chain(place.each("default").cloned()).collect()) {
            return found;
        }
        for variant in variants(place) {
            if variant.never || around.is_some_and(|around| around.leads_back(&variant)) {
                continue;
            }
            let inside = Around { place: &variant, above: around, depth: depth + 1 };
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
                    "array" => self.arrays(&variant, want, &inside),
                    "object" => self.objects(&variant, want, shown, &inside),
                    _ => vec![Value::Null],
                };
                if take(candidates) {
                    return found;
                }
            }
        }
        found
    }

    fn accepts(&self, place: &Place<'s>, value: &Value) -> bool {
        let left = self.tries.get();
        self.tries.set(left.saturating_sub(1));
        let valid = |schema: &&'s Value| {
            let pointer = self.pointers.get(&std::ptr::from_ref(*schema));
            let validator = pointer.and_then(|pointer| self.validators.as_ref()?.get(pointer));
            validator.is_some_and(|validator| validator.is_valid(value))
        };
        left > 0 && place.origins.iter().all(valid)
    }
}

impl<'s> Around<'_, 's> {
    /// Whether a schema of the place is one that stands around it: an example of it would have no end.
    fn leads_back(&self, place: &Place<'s>) -> bool {
        let stands = |schema| self.place.schemas.iter().any(|known| std::ptr::eq(*known, schema));
        place.schemas.iter().any(|schema| stands(*schema)) || self.above.is_some_and(|above| above.leads_back(place))
    }
}

/// The place with each combination of its choices decided.
fn variants<'s>(place: &Place<'s>) -> Vec<Place<'s>> {
    let mut decided = Vec::new();
    // The last is decided first, so the first branches come out first.
    let mut open = vec![(place.clone(), 0)];
    while let Some((place, choices_made)) = open.pop() {
        if decided.len() >= MOST_VARIANTS {
            break;
        }
        match place.choices().get(choices_made) {
            None => decided.push(place),
            Some(branches) => {
                open.extend(branches.iter().rev().map(|branch| (place.with(branch), choices_made + 1)));
            }
        }
    }
    decided
}

/// The types to try, null last: an example should show something.
fn types<'s>(place: &Place<'s>) -> Vec<&'s str> {
    let mut types = place.types().unwrap_or_else(|| {
        let implied = implied_type(place);
        implied.into_iter().chain(TYPES.into_iter().filter(|name| Some(*name) != implied)).collect()
    });
    types.sort_by_key(|name| *name == "null");
    types
}
