//! Input schemas: compiled once, asked yes or no on every call, and asked why only when the answer is no.

mod branches;
mod issues;
mod lookup;

use healbench_protocol::Object;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Value, json};

use crate::failure::Issue;

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
        let build = |closed: bool| compile_validator(&prepare_schema(schema, discriminator, closed));
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

    /// Everything that is wrong, in the order of the schema's properties, undeclared fields of the root last.
    pub(crate) fn issues(&self, arguments: &Value) -> Vec<Issue> {
        issues::collect_issues(&self.schema, self.validator.iter_errors(arguments), arguments)
    }
}

/// Validators for all parts of a schema, by their pointers (`#/properties/age`), as strict as for arguments.
pub(crate) fn subschema_validators(schema: &Value) -> Option<jsonschema::ValidatorMap> {
    let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).should_validate_formats(true);
    options.build_map(schema).ok()
}

/// What a row that is shown has to fit.
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

/// Whether the keyword bans further properties. Over an object that declares none the validator knows it as a schema that nothing
/// fits.
fn forbids_additional(schema_path: &str) -> bool {
    schema_path.ends_with("/additionalProperties") || schema_path.ends_with("/unevaluatedProperties")
}

/// The schema as the validator gets it: an object, with the discriminator declared, and closed or open at its root.
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
    // Properties that `$ref` or a combination declares are invisible to `additionalProperties`.
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
        // A declared schema for further properties stays; a ban is what this guardrail is.
        for keyword in [keyword, other] {
            if root.get(keyword) == Some(&json!(false)) {
                root.remove(keyword);
            }
        }
    }
    Value::Object(root)
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
