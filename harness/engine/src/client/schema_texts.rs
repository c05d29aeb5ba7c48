//! The errors of Ajv 8, a validator of JSON Schema, in its order and in its words. Keywords that draft 7 does not have are ignored,
//! as Ajv does by default.
//!
//! Ajv checks a value keyword by keyword, and stops at the first error of each schema unless it is asked for all of them.

use healbench_core::json_type;
use serde_json::{Value, json};

use super::options;

/// The errors to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// The first one. A failed choice between schemas has those of its branches, too.
    First,
    All,
}

/// An error, as Ajv reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SchemaError {
    /// The JSON pointer of the value.
    pub(super) pointer: String,
    pub(super) message: String,
    /// The property that is missing.
    missing: Option<String>,
}

impl SchemaError {
    /// Returns the argument that the error names: that which the pointer begins with, or a missing one.
    pub(super) fn top_level_field(&self) -> Option<String> {
        match self.pointer.split('/').nth(1) {
            Some(first) => Some(first.replace("~1", "/").replace("~0", "~")),
            None => self.missing.clone(),
        }
    }
}

/// Returns the errors of a value under a schema, which is also the document of its references.
pub(super) fn schema_errors(schema: &Value, value: &Value, report: Report) -> Vec<SchemaError> {
    let mut errors = Vec::new();
    let mut check = Check { root: schema, is_all: report == Report::All, choices: 0, depth: 0 };
    check.schema(schema, value, "", &mut errors);
    errors
}

/// The keywords that apply to one type, in Ajv's order. Those of no type come between strings and arrays.
const GROUPS: [(&str, &[&str]); 5] = [
    ("number", &["maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf", "format"]),
    ("string", &["maxLength", "minLength", "pattern", "format"]),
    ("", &["$ref", "const", "enum", "not", "anyOf", "oneOf", "allOf", "if"]),
    ("array", &["maxItems", "minItems", "uniqueItems", "items", "contains"]),
    (
        "object",
        &[
            "maxProperties",
            "minProperties",
            "required",
            "propertyNames",
            "additionalProperties",
            "properties",
            "patternProperties",
        ],
    ),
];
/// The depth of references at which checking stops: a schema may contain itself.
const MAX_DEPTH: usize = 64;

struct Check<'s> {
    root: &'s Value,
    is_all: bool,
    /// The number of choices, such as `anyOf`, around the present schema.
    choices: usize,
    depth: usize,
}

impl<'s> Check<'s> {
    fn schema(&mut self, schema: &'s Value, value: &Value, pointer: &str, errors: &mut Vec<SchemaError>) {
        let Value::Object(keywords) = schema else {
            if *schema == Value::Bool(false) {
                push(errors, pointer, "boolean schema is false");
            }
            return;
        };
        if self.depth >= MAX_DEPTH {
            return;
        }
        self.depth += 1;
        let start = errors.len();
        let types: Vec<&str> = match keywords.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let has = |group: &[&str]| group.iter().any(|keyword| keywords.contains_key(*keyword));
        let is_null = value.is_null() && keywords.get("nullable") == Some(&Value::Bool(true));
        let wrong_type = (!types.is_empty() && !is_null && !types.iter().any(|kind| has_type(value, kind)))
            .then(|| format!("must be {}", types.join(",")));
        // The only type is checked with its own keywords, if there are any. Integers have none of their own.
        let is_late = |kind: &str| types.as_slice() == [kind];
        let is_deferred = GROUPS.iter().any(|(kind, group)| !kind.is_empty() && is_late(kind) && has(group));
        if let (Some(message), false) = (&wrong_type, is_deferred) {
            push(errors, pointer, message);
        }
        let mut is_guarded = self.choices == 0 && errors.len() > start;
        for (kind, group) in GROUPS {
            if !has(group) {
                continue;
            }
            if is_guarded && !self.is_all && errors.len() > start {
                break;
            }
            if kind.is_empty() || json_type(value) == kind {
                for keyword in group.iter().filter(|keyword| keywords.contains_key(**keyword)) {
                    let before = errors.len();
                    self.keyword(keyword, schema, value, pointer, errors);
                    if !self.is_all && errors.len() > before {
                        break;
                    }
                }
            } else if let (Some(message), true) = (&wrong_type, is_late(kind)) {
                push(errors, pointer, message);
            }
            is_guarded = true;
        }
        self.depth -= 1;
    }

    fn keyword(
        &mut self,
        keyword: &str,
        schema: &'s Value,
        value: &Value,
        pointer: &str,
        errors: &mut Vec<SchemaError>,
    ) {
        let parameter = &schema[keyword];
        match keyword {
            "$ref" => {
                let target = parameter.as_str().and_then(|target| target.strip_prefix('#'));
                if let Some(target) = target.and_then(|target| self.root.pointer(target)) {
                    self.schema(target, value, pointer, errors);
                }
            }
            "anyOf" | "oneOf" => self.choice(keyword, parameter, value, pointer, errors),
            "allOf" => self.all_of(parameter, value, pointer, errors),
            "not" => {
                if self.accepts(parameter, value) {
                    push(errors, pointer, "must NOT be valid");
                }
            }
            "if" => {
                let branch = if self.accepts(parameter, value) { "then" } else { "else" };
                if let Some(then) = schema.get(branch) {
                    let before = errors.len();
                    self.schema(then, value, pointer, errors);
                    if errors.len() > before && (self.is_all || self.choices > 0) {
                        push(errors, pointer, &format!("must match \"{branch}\" schema"));
                    }
                }
            }
            "items" => self.items(parameter, value, pointer, errors),
            "contains" => self.contains(parameter, value, pointer, errors),
            "required" => self.required(parameter, value, pointer, errors),
            "additionalProperties" => self.additional(schema, value, pointer, errors),
            "properties" => {
                for (name, branch) in parameter.as_object().into_iter().flatten() {
                    let Some(member) = value.get(name) else { continue };
                    if self.nested(branch, member, &join(pointer, name), errors) {
                        return;
                    }
                }
            }
            "patternProperties" => self.pattern_properties(parameter, value, pointer, errors),
            _ => {
                if !leaf_accepts(keyword, parameter, value) {
                    push(errors, pointer, &leaf_message(keyword, parameter, value));
                }
            }
        }
    }

    fn all_of(&mut self, parameter: &'s Value, value: &Value, pointer: &str, errors: &mut Vec<SchemaError>) {
        for branch in parameter.as_array().into_iter().flatten() {
            let before = errors.len();
            self.schema(branch, value, pointer, errors);
            if !self.is_all && errors.len() > before {
                return;
            }
        }
    }

    fn items(&mut self, parameter: &'s Value, value: &Value, pointer: &str, errors: &mut Vec<SchemaError>) {
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            let branch = match parameter {
                Value::Array(branches) => branches.get(index),
                branch => Some(branch),
            };
            if let Some(branch) = branch
                && self.nested(branch, item, &format!("{pointer}/{index}"), errors)
            {
                return;
            }
        }
    }

    fn contains(&mut self, parameter: &'s Value, value: &Value, pointer: &str, errors: &mut Vec<SchemaError>) {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        if items.iter().any(|item| self.accepts(parameter, item)) {
            return;
        }
        if self.is_all {
            for (index, item) in items.iter().enumerate() {
                self.schema(parameter, item, &format!("{pointer}/{index}"), errors);
            }
        }
        push(errors, pointer, "must contain at least 1 valid item(s)");
    }

    fn required(&self, parameter: &'s Value, value: &Value, pointer: &str, errors: &mut Vec<SchemaError>) {
        for name in parameter.as_array().into_iter().flatten().filter_map(Value::as_str) {
            if value.get(name).is_none() {
                push(errors, pointer, &format!("must have required property '{name}'"));
                if let Some(error) = errors.last_mut() {
                    error.missing = Some(name.to_owned());
                }
                if !self.is_all {
                    return;
                }
            }
        }
    }

    fn pattern_properties(
        &mut self,
        parameter: &'s Value,
        value: &Value,
        pointer: &str,
        errors: &mut Vec<SchemaError>,
    ) {
        for (pattern, branch) in parameter.as_object().into_iter().flatten() {
            for (name, member) in value.as_object().into_iter().flatten() {
                if matches(pattern, name) && self.nested(branch, member, &join(pointer, name), errors) {
                    return;
                }
            }
        }
    }

    /// Checks a nested value, and returns true if the keyword is to be left.
    fn nested(&mut self, schema: &'s Value, value: &Value, pointer: &str, errors: &mut Vec<SchemaError>) -> bool {
        let before = errors.len();
        self.schema(schema, value, pointer, errors);
        !self.is_all && errors.len() > before
    }

    fn choice(
        &mut self,
        keyword: &str,
        branches: &'s Value,
        value: &Value,
        pointer: &str,
        errors: &mut Vec<SchemaError>,
    ) {
        let start = errors.len();
        let mut accepting = 0;
        self.choices += 1;
        for branch in branches.as_array().into_iter().flatten() {
            let before = errors.len();
            self.schema(branch, value, pointer, errors);
            accepting += usize::from(errors.len() == before);
        }
        self.choices -= 1;
        let (is_accepted, message) = match keyword {
            "anyOf" => (accepting > 0, "must match a schema in anyOf"),
            _ => (accepting == 1, "must match exactly one schema in oneOf"),
        };
        match is_accepted {
            true => errors.truncate(start),
            false => push(errors, pointer, message),
        }
    }

    fn additional(&mut self, schema: &'s Value, value: &Value, pointer: &str, errors: &mut Vec<SchemaError>) {
        let parameter = &schema["additionalProperties"];
        let is_declared = |name: &str| {
            let patterns = schema["patternProperties"].as_object();
            schema["properties"].get(name).is_some()
                || patterns.is_some_and(|patterns| patterns.keys().any(|pattern| matches(pattern, name)))
        };
        for (name, member) in value.as_object().into_iter().flatten().filter(|(name, _)| !is_declared(name)) {
            let before = errors.len();
            match parameter {
                Value::Bool(false) => push(errors, pointer, "must NOT have additional properties"),
                parameter => self.schema(parameter, member, &join(pointer, name), errors),
            }
            if !self.is_all && errors.len() > before {
                return;
            }
        }
    }

    fn accepts(&mut self, schema: &'s Value, value: &Value) -> bool {
        let mut errors = Vec::new();
        self.choices += 1;
        self.schema(schema, value, "", &mut errors);
        self.choices -= 1;
        errors.is_empty()
    }
}

fn push(errors: &mut Vec<SchemaError>, pointer: &str, message: &str) {
    errors.push(SchemaError { pointer: pointer.to_owned(), message: message.to_owned(), missing: None });
}

fn join(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn has_type(value: &Value, kind: &str) -> bool {
    leaf_accepts("type", &json!(kind), value)
}

fn matches(pattern: &str, name: &str) -> bool {
    leaf_accepts("pattern", &json!(pattern), &json!(name))
}

/// Returns true if a keyword alone accepts a value; true if it does not compile.
fn leaf_accepts(keyword: &str, parameter: &Value, value: &Value) -> bool {
    options().build(&json!({ keyword: parameter })).map_or(true, |validator| validator.is_valid(value))
}

fn leaf_message(keyword: &str, parameter: &Value, value: &Value) -> String {
    let shown = super::json_text::javascript_json(parameter);
    let text = parameter.as_str().unwrap_or(&shown);
    match keyword {
        "maximum" => format!("must be <= {shown}"),
        "minimum" => format!("must be >= {shown}"),
        "exclusiveMaximum" => format!("must be < {shown}"),
        "exclusiveMinimum" => format!("must be > {shown}"),
        "multipleOf" => format!("must be multiple of {shown}"),
        "maxLength" => format!("must NOT have more than {shown} characters"),
        "minLength" => format!("must NOT have fewer than {shown} characters"),
        "pattern" => format!("must match pattern \"{text}\""),
        "format" => format!("must match format \"{text}\""),
        "const" => "must be equal to constant".to_owned(),
        "enum" => "must be equal to one of the allowed values".to_owned(),
        "maxItems" => format!("must NOT have more than {shown} items"),
        "minItems" => format!("must NOT have fewer than {shown} items"),
        "uniqueItems" => duplicate_items(value),
        "maxProperties" => format!("must NOT have more than {shown} properties"),
        "minProperties" => format!("must NOT have fewer than {shown} properties"),
        "propertyNames" => "property name must be valid".to_owned(),
        other => format!("must pass \"{other}\" keyword validation"),
    }
}

/// Names the last item that has an equal one before it, and that one.
fn duplicate_items(value: &Value) -> String {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let pair = (0..items.len()).rev().find_map(|later| {
        let earlier = (0..later).rev().find(|earlier| items[*earlier] == items[later])?;
        Some((earlier, later))
    });
    let (earlier, later) = pair.unwrap_or_default();
    format!("must NOT have duplicate items (items ## {earlier} and {later} are identical)")
}
