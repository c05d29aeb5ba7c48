//! Input schemas: compiled once, checked for validity on every call; issues are collected only for invalid arguments.

mod branches;
mod dialect;
mod expected;
mod issues;
mod lookup;

use healbench_protocol::Object;
pub(crate) use healbench_protocol::json_type;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Value, json};

pub use dialect::upgrade_schema;

use crate::failure::Issue;

/// The error for an input schema that does not compile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the input schema does not compile: {message}")]
pub struct SchemaError {
    /// The location in the schema, as a JSON pointer.
    pub pointer: String,
    /// The problem at that location.
    pub message: String,
}

/// Checks that `schema` compiles as an input schema.
///
/// # Errors
/// [`SchemaError`] with the location of the problem.
pub fn check_schema(schema: &Value) -> Result<(), SchemaError> {
    InputSchema::compile(schema, None, true).map(|_| ())
}

/// Returns all issues of `arguments` under `schema`, with undeclared fields rejected. Empty if the arguments are valid.
///
/// # Errors
/// [`SchemaError`] if the schema does not compile.
pub fn validate(schema: &Value, arguments: &Value) -> Result<Vec<Issue>, SchemaError> {
    Ok(InputSchema::compile(schema, None, true)?.issues(arguments))
}

#[derive(Debug)]
pub(crate) struct InputSchema {
    schema: Value,
    validator: Validator,
    /// The same schema, strict: used to count undeclared fields when they are accepted.
    strict: Option<Box<Validator>>,
}

impl InputSchema {
    /// Compiles `schema`; `discriminator` (field and value) is accepted in addition to the declared properties.
    pub(crate) fn compile(
        schema: &Value,
        discriminator: Option<(&str, &str)>,
        strict: bool,
    ) -> Result<InputSchema, SchemaError> {
        let build = |closed: bool| compile_validator(&prepare_schema(schema, discriminator, closed));
        // The prefix of the prepared root is not added, so that pointers in errors refer to the schema as written.
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

    /// Returns the number of undeclared fields in valid `arguments`.
    pub(crate) fn count_undeclared(&self, arguments: &Value) -> u32 {
        let Some(strict) = &self.strict else { return 0 };
        if strict.is_valid(arguments) {
            return 0;
        }
        let count = |error: ValidationError<'_>| match error.kind() {
            ValidationErrorKind::FalseSchema if forbids_additional(error.schema_path().as_str()) => {
                let instance = arguments.pointer(error.instance_path().as_str());
                instance.and_then(Value::as_object).map_or(0, |object| object.len() as u32)
            }
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => unexpected.len() as u32,
            _ => 0,
        };
        strict.iter_errors(arguments).map(count).sum()
    }

    /// Returns all issues, in the order of the schema's properties, with undeclared fields of the root last.
    pub(crate) fn issues(&self, arguments: &Value) -> Vec<Issue> {
        issues::collect_issues(&self.schema, self.validator.iter_errors(arguments), arguments)
    }
}

/// Compiles validators for all subschemas, by pointer (`#/properties/age`), with the same strictness as for arguments.
pub(crate) fn subschema_validators(schema: &Value) -> Option<jsonschema::ValidatorMap> {
    let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).should_validate_formats(true);
    options.build_map(schema).ok()
}

/// The schema that each shown row must match.
#[derive(Debug)]
pub(crate) struct RowSchema(Validator);

impl RowSchema {
    pub(crate) fn compile(schema: &Value) -> Result<RowSchema, SchemaError> {
        compile_validator(schema).map(RowSchema)
    }

    pub(crate) fn accepts(&self, row: &Object) -> bool {
        self.0.is_valid(&Value::Object(row.clone()))
    }
}

fn compile_validator(schema: &Value) -> Result<Validator, SchemaError> {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .build(schema)
        .map_err(|error| SchemaError { pointer: error.instance_path().as_str().to_owned(), message: error.to_string() })
}

/// Keywords that apply further schemas to the same value.
const APPLICATORS: [&str; 6] = ["$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"];

/// Returns true if the path ends in a keyword that forbids further properties. Without declared properties, the
/// validator reports such a violation as that of a `false` schema.
fn forbids_additional(schema_path: &str) -> bool {
    schema_path.ends_with("/additionalProperties") || schema_path.ends_with("/unevaluatedProperties")
}

/// Returns the schema given to the validator: an object schema that declares the discriminator, closed or open at its
/// root.
pub(crate) fn prepare_schema(schema: &Value, discriminator: Option<(&str, &str)>, closed: bool) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    let mut root: Object = schema.clone();
    root.entry("type").or_insert_with(|| json!("object"));
    if let Some((field, value)) = discriminator {
        let properties = root.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(properties) = properties {
            properties.insert(field.to_owned(), json!({ "const": value }));
        }
    }
    // `additionalProperties` does not see properties declared by `$ref` or a combination.
    let combined = APPLICATORS.iter().any(|keyword| root.contains_key(*keyword));
    let (keyword, other) = if combined {
        ("unevaluatedProperties", "additionalProperties")
    } else {
        ("additionalProperties", "unevaluatedProperties")
    };
    if closed {
        root.remove(other);
        root.insert(keyword.to_owned(), json!(false));
    } else {
        // A schema for further properties is kept; a ban is removed, because banning them is what the guardrail adds.
        for keyword in [keyword, other] {
            if root.get(keyword) == Some(&json!(false)) {
                root.remove(keyword);
            }
        }
    }
    Value::Object(root)
}
