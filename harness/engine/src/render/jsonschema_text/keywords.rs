//! The keywords of JSON Schema as Python's jsonschema checks them, with its messages.

use std::collections::HashSet;

use healbench_core::{Object, canonical_json, same_json};
use serde_json::Value;

use super::{MatchError, Step, beyond, not_of_type, not_one_of, required, shown};
use crate::failure::Bound;
use crate::render::excerpt_text;
use crate::render::pydantic::repr;
use crate::schema::matches_pattern;

/// The depth of schemas at which checking stops; a schema may refer to itself without end.
const MAX_DEPTH: usize = 64;

/// The number of schemas after which checking stops: branches of branches are many.
const MAX_VISITS: usize = 20_000;

/// A walk through the schemas of one value.
pub(super) struct Walker<'s> {
    root: &'s Value,
    path: Vec<Step>,
    depth: usize,
    visits_left: usize,
    errors: Vec<MatchError>,
}

/// A schema, the keyword at hand, and the value that it is about.
#[derive(Clone, Copy)]
struct Place<'s, 'v> {
    schema: &'s Object,
    keyword: &'s str,
    value: &'v Value,
}

impl<'s> Walker<'s> {
    pub(super) fn new(root: &'s Value) -> Walker<'s> {
        Walker { root, path: Vec::new(), depth: 0, visits_left: MAX_VISITS, errors: Vec::new() }
    }

    /// Returns the errors of a value under a schema, with paths from this value.
    pub(super) fn errors(&mut self, schema: &'s Value, value: &Value) -> Vec<MatchError> {
        let (path, errors) = (std::mem::take(&mut self.path), std::mem::take(&mut self.errors));
        self.visit(schema, value);
        self.path = path;
        std::mem::replace(&mut self.errors, errors)
    }

    fn accepts(&mut self, schema: &'s Value, value: &Value) -> bool {
        self.errors(schema, value).is_empty()
    }

    fn visit(&mut self, schema: &'s Value, value: &Value) {
        if self.depth >= MAX_DEPTH || self.visits_left == 0 {
            return;
        }
        self.depth += 1;
        self.visits_left -= 1;
        match schema {
            Value::Object(schema) => {
                for (keyword, argument) in schema {
                    self.check(argument, Place { schema, keyword, value });
                }
            }
            Value::Bool(false) => self.fail_as_false(value),
            _ => {}
        }
        self.depth -= 1;
    }

    fn descend(&mut self, step: Step, schema: &'s Value, value: &Value) {
        if *schema == Value::Bool(false) {
            // The library loses this step.
            return self.fail_as_false(value);
        }
        self.path.push(step);
        self.visit(schema, value);
        self.path.pop();
    }

    fn fail_as_false(&mut self, value: &Value) {
        let message = format!("False schema does not allow {}", shown(value));
        let path = self.path.clone();
        self.errors.push(MatchError { path, is_of_union: false, message, has_type: false, context: Vec::new() });
    }

    fn fail(&mut self, place: Place<'s, '_>, message: String) {
        self.fail_with(place, message, Vec::new());
    }

    fn fail_with(&mut self, place: Place<'s, '_>, message: String, context: Vec<MatchError>) {
        let types = place.schema.get("type").into_iter().flat_map(names);
        let has_type = types.into_iter().any(|name| is_type(place.value, name));
        let is_of_union = matches!(place.keyword, "anyOf" | "oneOf");
        self.errors.push(MatchError { path: self.path.clone(), is_of_union, message, has_type, context });
    }

    fn check(&mut self, argument: &'s Value, place: Place<'s, '_>) {
        let value = place.value;
        match (place.keyword, value) {
            ("$ref", _) => {
                let target = argument.as_str().and_then(|reference| self.root.pointer(reference.strip_prefix('#')?));
                if let Some(target) = target {
                    self.visit(target, value);
                }
            }
            ("type", _) if !names(argument).any(|name| is_type(value, name)) => {
                self.fail(place, not_of_type(&shown(value), names(argument)));
            }
            ("const", _) if !same_json(argument, value) => self.fail(place, format!("{} was expected", repr(argument))),
            ("enum", _) if !items(argument).iter().any(|option| same_json(option, value)) => {
                self.fail(place, not_one_of(value, argument));
            }
            ("allOf", _) => items(argument).iter().for_each(|schema| self.visit(schema, value)),
            ("anyOf" | "oneOf", _) => self.check_union(items(argument), place),
            ("not", _) if self.accepts(argument, value) => {
                self.fail(place, format!("{} should not be valid under {}", shown(value), repr(argument)));
            }
            ("if", _) => {
                let next = if self.accepts(argument, value) { "then" } else { "else" };
                if let Some(schema) = place.schema.get(next) {
                    self.visit(schema, value);
                }
            }
            (_, Value::Object(object)) => self.check_object(argument, object, place),
            (_, Value::Array(array)) => self.check_array(argument, array, place),
            (_, Value::String(text)) => self.check_text(argument, text, place),
            (_, Value::Number(_)) => self.check_number(argument, place),
            _ => {}
        }
    }

    fn check_union(&mut self, branches: &'s [Value], place: Place<'s, '_>) {
        let value = place.value;
        let errors: Vec<Vec<MatchError>> = branches.iter().map(|branch| self.errors(branch, value)).collect();
        let mut fitting =
            branches.iter().zip(&errors).filter(|(_, errors)| errors.is_empty()).map(|(branch, _)| branch);
        match (fitting.next(), place.keyword) {
            (None, _) => {
                let context = errors.into_iter().flatten().collect();
                let message = format!("{} is not valid under any of the given schemas", shown(value));
                self.fail_with(place, message, context);
            }
            (Some(first), "oneOf") => {
                let mut more: Vec<&Value> = fitting.collect();
                if !more.is_empty() {
                    more.push(first);
                    let schemas: Vec<String> = more.into_iter().map(repr).collect();
                    self.fail(place, format!("{} is valid under each of {}", shown(value), schemas.join(", ")));
                }
            }
            _ => {}
        }
    }

    fn check_object(&mut self, argument: &'s Value, object: &Object, place: Place<'s, '_>) {
        let members = || argument.as_object().into_iter().flatten();
        match place.keyword {
            "properties" => {
                for (name, schema) in members() {
                    if let Some(value) = object.get(name) {
                        self.descend(Step::Name(name.clone()), schema, value);
                    }
                }
            }
            "patternProperties" => {
                for (pattern, schema) in members() {
                    for (name, value) in object.iter().filter(|(name, _)| matches(pattern, name)) {
                        self.descend(Step::Name(name.clone()), schema, value);
                    }
                }
            }
            "additionalProperties" => self.check_extras(argument, object, place),
            "propertyNames" => {
                object.keys().for_each(|name| self.visit(argument, &Value::from(name.as_str())));
            }
            "dependentSchemas" => {
                for (_, schema) in members().filter(|(name, _)| object.contains_key(*name)) {
                    self.visit(schema, place.value);
                }
            }
            "required" => {
                for name in names(argument).filter(|name| !object.contains_key(*name)) {
                    self.fail(place, required(name));
                }
            }
            "dependentRequired" => {
                for (name, needed) in members().filter(|(name, _)| object.contains_key(*name)) {
                    for each in names(needed).filter(|each| !object.contains_key(*each)) {
                        let [each, name] = [each, name].map(|name| repr(&Value::from(name)));
                        self.fail(place, format!("{each} is a dependency of {name}"));
                    }
                }
            }
            _ => self.check_size(
                argument,
                object.len(),
                place,
                ["minProperties", "maxProperties"],
                ["does not have enough properties", "has too many properties"],
            ),
        }
    }

    fn check_extras(&mut self, argument: &'s Value, object: &Object, place: Place<'s, '_>) {
        let declared = place.schema.get("properties").and_then(Value::as_object);
        let patterns = place.schema.get("patternProperties").and_then(Value::as_object);
        let is_extra = |name: &&String| {
            !declared.is_some_and(|declared| declared.contains_key(*name))
                && !patterns.is_some_and(|patterns| patterns.keys().any(|pattern| matches(pattern, name)))
        };
        let mut extras: Vec<&String> = object.keys().filter(is_extra).collect();
        if argument.is_object() {
            for name in extras {
                self.descend(Step::Name(name.clone()), argument, &object[name]);
            }
        } else if *argument == Value::Bool(false) && !extras.is_empty() {
            extras.sort_unstable();
            let message = match patterns {
                None => {
                    let extras = extras_text(extras.into_iter().cloned());
                    format!("Additional properties are not allowed ({extras} unexpected)")
                }
                Some(patterns) => {
                    let verb = if extras.len() == 1 { "does" } else { "do" };
                    let mut patterns: Vec<&String> = patterns.keys().collect();
                    patterns.sort_unstable();
                    let [extras, patterns] = [extras, patterns].map(|names| reprs(names.into_iter().cloned()));
                    format!("{extras} {verb} not match any of the regexes: {patterns}")
                }
            };
            self.fail(place, message);
        }
    }

    fn check_array(&mut self, argument: &'s Value, array: &[Value], place: Place<'s, '_>) {
        match place.keyword {
            "prefixItems" => {
                for (index, (schema, item)) in items(argument).iter().zip(array).enumerate() {
                    self.descend(Step::Index(index), schema, item);
                }
            }
            "items" => {
                let first = place.schema.get("prefixItems").map_or(0, |first| items(first).len());
                let rest = array.get(first..).unwrap_or_default();
                match (argument, rest) {
                    (_, []) => {}
                    (Value::Bool(false), rest) => {
                        let s = if first == 1 { "" } else { "s" };
                        let extra = if let [one] = rest { shown(one) } else { shown(&Value::from(rest)) };
                        let count = rest.len();
                        self.fail(place, format!("Expected at most {first} item{s} but found {count} extra: {extra}"));
                    }
                    (schema, rest) => {
                        for (index, item) in rest.iter().enumerate() {
                            self.descend(Step::Index(first + index), schema, item);
                        }
                    }
                }
            }
            "uniqueItems" if *argument == Value::Bool(true) => {
                let mut known = HashSet::new();
                if !array.iter().all(|item| known.insert(canonical_json(item))) {
                    self.fail(place, format!("{} has non-unique elements", shown(place.value)));
                }
            }
            "contains" => {
                let bound = |keyword| place.schema.get(keyword).and_then(Value::as_u64);
                let fitting = array.iter().filter(|item| self.accepts(argument, item)).count() as u64;
                let least = bound("minContains").unwrap_or(1);
                if let Some(most) = bound("maxContains").filter(|most| fitting > *most) {
                    let message = format!("Too many items match the given schema (expected at most {most})");
                    self.fail(place, message);
                } else if fitting == 0 && least > 0 {
                    self.fail(
                        place,
                        format!("{} does not contain items matching the given schema", shown(place.value)),
                    );
                } else if fitting < least {
                    let expected = format!("expected at least {least} but only {fitting} matched");
                    self.fail(place, format!("Too few items match the given schema ({expected})"));
                }
            }
            _ => {
                self.check_size(argument, array.len(), place, ["minItems", "maxItems"], ["is too short", "is too long"])
            }
        }
    }

    fn check_text(&mut self, argument: &'s Value, text: &str, place: Place<'s, '_>) {
        match (place.keyword, argument.as_str()) {
            ("pattern", Some(pattern)) if !matches(pattern, text) => {
                self.fail(place, format!("{} does not match {}", shown(place.value), repr(argument)));
            }
            _ => self.check_size(
                argument,
                text.chars().count(),
                place,
                ["minLength", "maxLength"],
                ["is too short", "is too long"],
            ),
        }
    }

    /// Checks a size against a least or a greatest one.
    fn check_size(
        &mut self,
        argument: &'s Value,
        size: usize,
        place: Place<'s, '_>,
        [least, most]: [&str; 2],
        [too_small, too_large]: [&str; 2],
    ) {
        let Some(limit) = argument.as_f64() else { return };
        let problem = match place.keyword {
            keyword if keyword == least && (size as f64) < limit => {
                if limit == 1.0 {
                    "should be non-empty"
                } else {
                    too_small
                }
            }
            keyword if keyword == most && size as f64 > limit => {
                if limit == 0.0 {
                    "is expected to be empty"
                } else {
                    too_large
                }
            }
            _ => return,
        };
        self.fail(place, format!("{} {problem}", shown(place.value)));
    }

    fn check_number(&mut self, argument: &'s Value, place: Place<'s, '_>) {
        let (Some(number), Some(limit)) = (place.value.as_f64(), argument.as_f64()) else { return };
        let relation = match place.keyword {
            "minimum" if number < limit => beyond(Bound::AtLeast),
            "maximum" if number > limit => beyond(Bound::AtMost),
            "exclusiveMinimum" if number <= limit => beyond(Bound::MoreThan),
            "exclusiveMaximum" if number >= limit => beyond(Bound::LessThan),
            "multipleOf" if limit != 0.0 && (number / limit).fract() != 0.0 => "not a multiple of",
            _ => return,
        };
        self.fail(place, format!("{} is {relation} {}", shown(place.value), repr(argument)));
    }
}

/// Formats `'a' was` or `'a', 'b' were`.
pub(super) fn extras_text(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    let verb = if names.len() == 1 { "was" } else { "were" };
    format!("{} {verb}", reprs(names.into_iter()))
}

fn reprs(names: impl Iterator<Item = String>) -> String {
    excerpt_text(&names.map(|name| repr(&Value::from(name))).collect::<Vec<_>>().join(", ")).into_owned()
}

/// Returns one name, or those of a list.
fn names(argument: &Value) -> impl Iterator<Item = &str> {
    let several = items(argument).iter().filter_map(Value::as_str);
    argument.as_str().into_iter().chain(several)
}

fn items(argument: &Value) -> &[Value] {
    argument.as_array().map_or(&[], Vec::as_slice)
}

fn matches(pattern: &str, text: &str) -> bool {
    matches_pattern(pattern, text).unwrap_or(true)
}

fn is_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => false,
    }
}
