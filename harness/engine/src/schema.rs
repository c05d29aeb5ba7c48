//! Input schemas: compiled once, checked for validity on every call; issues are collected only for invalid arguments.

mod branches;
mod closed;
mod dialect;
mod expected;
mod issues;
mod lookup;
mod references;
mod tags;
mod undeclared;

use std::sync::Arc;

use healbench_core::Object;
pub(crate) use healbench_core::json_type;
use jsonschema::Validator;
use serde_json::{Value, json};

pub use self::dialect::upgrade_schema;
use self::references::{References, scope};
pub(crate) use self::tags::{TaggedUnion, tagged_unions};
use self::undeclared::Declarations;
pub(crate) use self::undeclared::UndeclaredFields;
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
    InputSchema::compile(schema, None).map(|_| ())
}

/// Returns all issues of `arguments` under `schema`, with undeclared fields rejected. Empty if the arguments are valid.
///
/// # Errors
/// [`SchemaError`] if the schema does not compile.
pub fn validate(schema: &Value, arguments: &Value) -> Result<Vec<Issue>, SchemaError> {
    Ok(InputSchema::compile(schema, None)?.issues(arguments, true))
}

/// Returns true if a schema, by its own dialect, accepts the arguments. Undeclared fields are as the schema says.
///
/// # Errors
/// [`SchemaError`] if the schema does not compile.
pub fn accepts(schema: &Value, arguments: &Value) -> Result<bool, SchemaError> {
    Ok(InputSchema::compile(&upgrade_schema(schema), None)?.accepts(arguments))
}

#[derive(Debug)]
pub(crate) struct InputSchema {
    schema: Value,
    validator: Validator,
    /// `None` without references.
    references: Option<Arc<References>>,
    declarations: Declarations,
}

impl InputSchema {
    /// Compiles `schema`; `discriminator` (field and value) is accepted in addition to the declared properties.
    pub(crate) fn compile(schema: &Value, discriminator: Option<(&str, &str)>) -> Result<InputSchema, SchemaError> {
        // The prefix of the prepared root is not added, so that pointers in errors refer to the schema as written.
        let prepared = prepare_schema(schema, discriminator);
        let (validator, references) = match References::compile(&prepared) {
            Some((validator, references)) => (validator, Some(references)),
            None => (compile_validator(&prepared)?, None),
        };
        let declarations = Declarations::new(&prepared, references.clone());
        Ok(InputSchema { schema: schema.clone(), validator, references, declarations })
    }

    /// Returns true if `arguments` are valid, whatever undeclared fields they have.
    pub(crate) fn accepts(&self, arguments: &Value) -> bool {
        match self.references {
            None => self.validator.is_valid(arguments),
            Some(_) => scope(|| self.validator.is_valid(arguments)),
        }
    }

    /// Returns the undeclared fields of `arguments`, at every depth.
    pub(crate) fn undeclared<'v>(&self, arguments: &'v Value) -> Vec<UndeclaredFields<'v>> {
        scope(|| self.declarations.undeclared(arguments))
    }

    /// Returns all issues, in the order of the schema's properties, with undeclared fields of the root last. Undeclared
    /// fields that the author does not forbid are issues if `reject`.
    pub(crate) fn issues(&self, arguments: &Value, reject: bool) -> Vec<Issue> {
        scope(|| {
            let undeclared = if reject { self.undeclared(arguments) } else { Vec::new() };
            let errors = self.validator.iter_errors(arguments);
            issues::collect_issues(&self.schema, self.references.as_deref(), errors, undeclared, arguments)
        })
    }
}

/// Compiles validators for all subschemas, by pointer (`#/properties/age`), with the same strictness as for arguments.
pub(crate) fn subschema_validators(schema: &Value) -> Option<jsonschema::ValidatorMap> {
    options().build_map(schema).ok()
}

/// The schema that each shown row, or any other result, must match.
#[derive(Debug)]
pub(crate) struct RowSchema(Validator);

impl RowSchema {
    pub(crate) fn compile(schema: &Value) -> Result<RowSchema, SchemaError> {
        compile_validator(schema).map(RowSchema)
    }

    pub(crate) fn accepts_row(&self, row: &Object) -> bool {
        self.accepts(&Value::Object(row.clone()))
    }

    pub(crate) fn accepts(&self, result: &Value) -> bool {
        self.0.is_valid(result)
    }
}

fn options() -> jsonschema::ValidationOptions<'static> {
    jsonschema::options().with_draft(jsonschema::Draft::Draft202012).should_validate_formats(true)
}

fn compile_validator(schema: &Value) -> Result<Validator, SchemaError> {
    options()
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

/// Returns the schema given to the validator: an object schema that declares the discriminator.
pub(crate) fn prepare_schema(schema: &Value, discriminator: Option<(&str, &str)>) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    let mut root: Object = schema.clone();
    root.entry("type").or_insert_with(|| json!("object"));
    if let Some((field, value)) = discriminator {
        let properties = root.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(properties) = properties {
            properties.insert(field.to_owned(), json!({ "const": value }));
        }
    }
    Value::Object(root)
}

/// Returns the schema of the arguments as sent: with the discriminator, and with a ban of undeclared fields wherever the
/// author did not write otherwise.
pub(crate) fn closed_schema(schema: &Value, discriminator: Option<(&str, &str)>) -> Value {
    let prepared = prepare_schema(schema, discriminator);
    closed::close(&prepared)
}
