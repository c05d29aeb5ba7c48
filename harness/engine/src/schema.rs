//! Input schemas: compiled once, asked yes or no on every call, and asked why only when the answer is no.

use healbench_protocol::Object;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use serde_json::{Value, json};

use crate::failure::{Bound, Expected, Issue, IssueKind, Measure};

/// An input schema that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the input schema does not compile: {message}")]
pub struct SchemaError {
    /// Where in the schema, as a JSON pointer.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

/// Whether `schema` can serve as an input schema.
///
/// # Errors
/// [`SchemaError`] with the place.
pub fn check_schema(schema: &Value) -> Result<(), SchemaError> {
    InputSchema::compile(schema, None, true).map(|_| ())
}

/// Everything that is wrong with `arguments` under `schema`, with undeclared fields rejected; empty when nothing is.
///
/// # Errors
/// [`SchemaError`] when the schema does not compile.
pub fn validate(schema: &Value, arguments: &Value) -> Result<Vec<Issue>, SchemaError> {
    Ok(InputSchema::compile(schema, None, true)?.issues(arguments))
}

/// A compiled input schema.
#[derive(Debug)]
pub(crate) struct InputSchema {
    schema: Value,
    validator: Validator,
    /// Names the undeclared fields when they are let through: the same schema, strict.
    strict: Option<Box<Validator>>,
}

impl InputSchema {
    /// Compiles `schema`; `discriminator` (field and value) is allowed beside the declared properties.
    pub(crate) fn compile(
        schema: &Value,
        discriminator: Option<(&str, &str)>,
        strict: bool,
    ) -> Result<InputSchema, SchemaError> {
        let build = |closed: bool| {
            jsonschema::options()
                .with_draft(jsonschema::Draft::Draft202012)
                .should_validate_formats(true)
                .build(&prepared(schema, discriminator, closed))
                .map_err(|error| SchemaError {
                    pointer: error.instance_path().as_str().to_owned(),
                    message: error.to_string(),
                })
        };
        // Without the prepared root, so that a pointer in an error is one into the schema as it was written.
        let strict_validator = build(true)?;
        Ok(if strict {
            InputSchema { schema: schema.clone(), validator: strict_validator, strict: None }
        } else {
            InputSchema { schema: schema.clone(), validator: build(false)?, strict: Some(Box::new(strict_validator)) }
        })
    }

    pub(crate) fn accepts(&self, arguments: &Value) -> bool {
        self.validator.is_valid(arguments)
    }

    /// How many undeclared fields valid `arguments` carry.
    pub(crate) fn undeclared(&self, arguments: &Value) -> u32 {
        let Some(strict) = &self.strict else { return 0 };
        if strict.is_valid(arguments) {
            return 0;
        }
        let count = |error: ValidationError<'_>| match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => unexpected.len() as u32,
            _ => 0,
        };
        strict.iter_errors(arguments).map(count).sum()
    }

    /// Everything that is wrong, in the order of the schema's properties, undeclared fields of the root last.
    pub(crate) fn issues(&self, arguments: &Value) -> Vec<Issue> {
        let mut issues: Vec<Issue> =
            self.validator.iter_errors(arguments).map(|error| self.issue(&error, arguments)).collect();
        // One wrong type makes every other complaint about the same value noise.
        let retyped: Vec<String> = issues
            .iter()
            .filter(|issue| matches!(issue.kind, IssueKind::WrongType { .. }))
            .map(|issue| issue.path.clone())
            .collect();
        issues.retain(|issue| matches!(issue.kind, IssueKind::WrongType { .. }) || !retyped.contains(&issue.path));
        let properties = self.schema.get("properties").and_then(Value::as_object);
        let rank = |issue: &Issue| {
            let top = issue.path.split('.').next().unwrap_or_default();
            if top.is_empty() {
                return usize::MAX;
            }
            properties.and_then(|map| map.keys().position(|key| key == top)).unwrap_or(usize::MAX - 1)
        };
        issues.sort_by_key(rank);
        issues.dedup();
        issues
    }

    fn issue(&self, error: &ValidationError<'_>, arguments: &Value) -> Issue {
        let pointer = error.instance_path().as_str();
        let mut path = dotted(pointer);
        let mut sent = arguments.pointer(pointer).cloned();
        let bound = |measure, relation, limit: Value| IssueKind::OutOfBounds { measure, relation, limit };
        let kind = match error.kind() {
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                let expected = self.expected_at(&format!("{pointer}/{}", escape_pointer(name)));
                path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                sent = None;
                IssueKind::Missing { expected }
            }
            ValidationErrorKind::Type { kind } => match self.expected_at(pointer) {
                // A text with options that gets no text at all is told the options: they say more than the type.
                Expected::Options(options) => IssueKind::WrongType { expected: Expected::Options(options) },
                _ => IssueKind::WrongType { expected: Expected::Types(type_names(kind)) },
            },
            ValidationErrorKind::Enum { options } => {
                let options = options.as_array().cloned().unwrap_or_default();
                let sent_type = sent.as_ref().map(json_type);
                if options.iter().all(|option| Some(json_type(option)) != sent_type) {
                    IssueKind::WrongType { expected: Expected::Options(options) }
                } else {
                    IssueKind::NotAnOption { options }
                }
            }
            ValidationErrorKind::Constant { expected_value } => {
                IssueKind::NotAnOption { options: vec![expected_value.as_ref().clone()] }
            }
            ValidationErrorKind::Minimum { limit } => bound(Measure::Number, Bound::AtLeast, limit.clone()),
            ValidationErrorKind::Maximum { limit } => bound(Measure::Number, Bound::AtMost, limit.clone()),
            ValidationErrorKind::ExclusiveMinimum { limit } => bound(Measure::Number, Bound::MoreThan, limit.clone()),
            ValidationErrorKind::ExclusiveMaximum { limit } => bound(Measure::Number, Bound::LessThan, limit.clone()),
            ValidationErrorKind::MinLength { limit } => bound(Measure::Characters, Bound::AtLeast, json!(limit)),
            ValidationErrorKind::MaxLength { limit } => bound(Measure::Characters, Bound::AtMost, json!(limit)),
            ValidationErrorKind::MinItems { limit } => bound(Measure::Items, Bound::AtLeast, json!(limit)),
            ValidationErrorKind::MaxItems { limit } => bound(Measure::Items, Bound::AtMost, json!(limit)),
            ValidationErrorKind::MinProperties { limit } => bound(Measure::Properties, Bound::AtLeast, json!(limit)),
            ValidationErrorKind::MaxProperties { limit } => bound(Measure::Properties, Bound::AtMost, json!(limit)),
            ValidationErrorKind::Format { format } => IssueKind::BadFormat { format: format.clone() },
            ValidationErrorKind::Pattern { pattern } => IssueKind::BadPattern { pattern: pattern.clone() },
            ValidationErrorKind::MultipleOf { multiple_of } => {
                IssueKind::NotAMultiple { of: Value::from(*multiple_of) }
            }
            ValidationErrorKind::UniqueItems => IssueKind::NotUnique,
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                IssueKind::Undeclared { fields: unexpected.clone() }
            }
            other => IssueKind::Other { keyword: other.keyword().to_owned(), message: error.to_string() },
        };
        Issue { path, sent, kind }
    }

    /// What the schema asks for at the place in the arguments, as far as plain `properties` and `items` lead there.
    fn expected_at(&self, pointer: &str) -> Expected {
        let mut schema = &self.schema;
        for part in pointer.split('/').skip(1) {
            let name = part.replace("~1", "/").replace("~0", "~");
            let next = match schema.get("properties").and_then(|map| map.get(&name)) {
                Some(property) => Some(property),
                None => schema.get("items"),
            };
            match next {
                Some(next) => schema = next,
                None => return Expected::Any,
            }
        }
        if let Some(options) = schema.get("enum").and_then(Value::as_array) {
            return Expected::Options(options.clone());
        }
        if let Some(value) = schema.get("const") {
            return Expected::Options(vec![value.clone()]);
        }
        match schema.get("type") {
            Some(Value::String(name)) => Expected::Types(vec![name.clone()]),
            Some(Value::Array(names)) => {
                Expected::Types(names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            }
            _ => Expected::Any,
        }
    }
}

/// The schema as the validator gets it: an object, with the discriminator declared, and closed or open at its root.
pub(crate) fn prepared(schema: &Value, discriminator: Option<(&str, &str)>, closed: bool) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    let mut root: Object = schema.clone();
    root.entry("type").or_insert_with(|| json!("object"));
    if let Some((field, value)) = discriminator {
        let properties = root.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(properties) = properties {
            properties.insert(field.to_owned(), json!({ "const": value }));
        }
    }
    // Properties that `$ref` or a combination declares are invisible to `additionalProperties`.
    let applicators = ["$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"];
    let combined = applicators.iter().any(|keyword| root.contains_key(*keyword));
    let (keyword, other) = if combined {
        ("unevaluatedProperties", "additionalProperties")
    } else {
        ("additionalProperties", "unevaluatedProperties")
    };
    if closed {
        root.remove(other);
        root.insert(keyword.to_owned(), json!(false));
    } else {
        // A declared schema for further properties stays; a ban is what this guardrail is.
        for keyword in [keyword, other] {
            if root.get(keyword) == Some(&json!(false)) {
                root.remove(keyword);
            }
        }
    }
    Value::Object(root)
}

fn type_names(kind: &TypeKind) -> Vec<String> {
    match kind {
        TypeKind::Single(name) => vec![name.to_string()],
        TypeKind::Multiple(names) => names.iter().map(|name| name.to_string()).collect(),
    }
}

/// The JSON Schema name of a value's type; whole numbers are numbers.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn dotted(pointer: &str) -> String {
    let parts: Vec<String> =
        pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
    parts.join(".")
}

fn escape_pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
