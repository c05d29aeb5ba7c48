//! Input schemas: compiled once, checked for validity on every call; issues are collected only for invalid arguments.

mod branches;
mod closed;
mod dialect;
mod expected;
mod issues;
mod keyword_messages;
mod located_error;
mod lookup;
mod parts;
mod references;
mod tags;
mod tidy;
mod undeclared;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use healbench_core::json_type;
use healbench_core::{Object, Undeclared};
use jsonschema::Validator;
use serde_json::{Value, json};

pub use self::dialect::upgrade_schema;
pub(crate) use self::lookup::{Trail, resolve_refs};
pub(crate) use self::parts::SchemaParts;
use self::references::{References, scope};
pub(crate) use self::tags::{TaggedUnion, tagged_unions};
use self::undeclared::Declarations;
pub(crate) use self::undeclared::UndeclaredFields;
use crate::failure::{Issue, PathSegment};

/// The error for an input schema that does not compile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema does not compile: {message}")]
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
    Ok(InputSchema::compile(schema, None)?.issues(arguments, Undeclared::Reject))
}

/// Returns true if a schema, by its own dialect, accepts the arguments. Undeclared fields are as the schema says.
///
/// # Errors
/// [`SchemaError`] if the schema does not compile.
pub fn accepts(schema: &Value, arguments: &Value) -> Result<bool, SchemaError> {
    Ok(InputSchema::compile(&upgrade_schema(schema), None)?.accepts(arguments))
}

/// Returns true if a text matches a regular expression of JSON Schema; `None` if that does not compile.
pub(crate) fn matches_pattern(pattern: &str, text: &str) -> Option<bool> {
    compile_validator(&json!({ "pattern": pattern })).ok().map(|validator| validator.is_valid(&json!(text)))
}

/// Returns the schema of the value of an issue, at these segments of its path, if it is a single one.
pub(crate) fn schema_of_issue<'s>(root: &'s Value, issue: &Issue, segments: &[PathSegment<'_>]) -> Option<&'s Value> {
    let trail = Trail::new(root, &issue.keyword_locations);
    let mut schema = lookup::schema_at(root, segments.iter().map(|segment| segment.into_name().into()), &trail)?;
    // Of a union, the branch that the value was held against.
    for _ in 0..lookup::MAX_STEPS {
        let branches = ["anyOf", "oneOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array()).flatten();
        let Some(branch) = branches.into_iter().find(|branch| trail.passes(branch, segments.len())) else { break };
        schema = resolve_refs(root, branch);
    }
    Some(schema)
}

/// Returns true for a list whose items have schemas of their own by position.
pub(crate) fn is_tuple(schema: Option<&Value>) -> bool {
    schema.is_some_and(|schema| schema.get("prefixItems").is_some())
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
        let (validator, references) = compile_with_references(&prepared)?;
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
    /// fields that the author does not forbid are issues if `policy` lets them fail the call.
    pub(crate) fn issues(&self, arguments: &Value, policy: Undeclared) -> Vec<Issue> {
        scope(|| {
            let mut undeclared = self.undeclared(arguments);
            undeclared.retain(|fields| fields.fail(policy));
            let errors = self.validator.iter_errors(arguments);
            issues::collect_issues(&self.schema, self.references.as_deref(), errors, undeclared, arguments)
        })
    }
}

/// The validators of all parts of a schema, by pointer (`#/properties/age`), with the same strictness as for arguments.
#[derive(Debug)]
enum PartValidators {
    Plain(jsonschema::ValidatorMap),
    WithReferences(Arc<References>),
}

impl PartValidators {
    /// Compiles them. Returns `None` if the schema does not compile.
    fn compile(schema: &Value) -> Option<PartValidators> {
        // Compiling a part compiles what it refers to once more, which doubles with each level of branches.
        match References::compile(schema) {
            Some((_, references)) => Some(PartValidators::WithReferences(references)),
            None => options().build_map(schema).ok().map(PartValidators::Plain),
        }
    }

    fn references(&self) -> Option<Arc<References>> {
        match self {
            PartValidators::Plain(_) => None,
            PartValidators::WithReferences(references) => Some(Arc::clone(references)),
        }
    }

    fn pointers(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            PartValidators::Plain(map) => Box::new(map.keys()),
            PartValidators::WithReferences(references) => Box::new(references.pointers()),
        }
    }

    /// Returns the pointers of the parts of `root` by the address of the part.
    fn by_address(&self, root: &Value) -> HashMap<*const Value, String> {
        let address = |key: &str| root.pointer(key.strip_prefix('#')?).map(std::ptr::from_ref);
        self.pointers().filter_map(|key| Some((address(key)?, key.to_owned()))).collect()
    }

    /// Returns true if a value matches the part at this pointer; `None` if there is none.
    fn accepts(&self, pointer: &str, value: &Value) -> Option<bool> {
        match self {
            PartValidators::Plain(map) => map.get(pointer).map(|validator| validator.is_valid(value)),
            PartValidators::WithReferences(references) => references.accepts(pointer, value),
        }
    }
}

/// A schema for values of any type, such as rows and results.
#[derive(Debug)]
pub(crate) struct RowSchema {
    validator: Validator,
    /// Kept for the validator. `None` without references.
    references: Option<Arc<References>>,
}

impl RowSchema {
    pub(crate) fn compile(schema: &Value) -> Result<RowSchema, SchemaError> {
        let (validator, references) = compile_with_references(schema)?;
        Ok(RowSchema { validator, references })
    }

    pub(crate) fn accepts_row(&self, row: &Object) -> bool {
        self.accepts(&Value::Object(row.clone()))
    }

    pub(crate) fn accepts(&self, result: &Value) -> bool {
        match self.references {
            None => self.validator.is_valid(result),
            Some(_) => scope(|| self.validator.is_valid(result)),
        }
    }
}

fn options() -> jsonschema::ValidationOptions<'static> {
    let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).should_validate_formats(true);
    let options = options.with_format("idn-email", is_idn_email).with_format("idn-hostname", is_idn_hostname);
    options.with_keyword(dialect::METASCHEMA, |_, draft: &Value, _| {
        let is_schema = match draft.as_str().unwrap_or_default() {
            "draft-04" => jsonschema::draft4::meta::is_valid,
            "draft-06" => jsonschema::draft6::meta::is_valid,
            "draft-07" => jsonschema::draft7::meta::is_valid,
            "2019-09" => jsonschema::draft201909::meta::is_valid,
            _ => jsonschema::draft202012::meta::is_valid,
        };
        Ok(Box::new(MetaSchema(is_schema)) as Box<dyn for<'i> jsonschema::Keyword<'i>>)
    })
}

/// Returns true if a text may be an internationalized address: something before and after the last `@`, without spaces.
fn is_idn_email(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(user, host)| !user.is_empty() && !user.contains(' ') && is_idn_hostname(host))
}

/// Returns true if a text has the shape of an internationalized host name: labels of letters, digits, marks and inner hyphens. Which
/// letters may stand together is not checked (RFC 5892).
fn is_idn_hostname(text: &str) -> bool {
    let is_part = |c: char| c == '-' || !c.is_ascii() && !c.is_whitespace() || c.is_ascii_alphanumeric();
    let is_label = |label: &str| {
        let length = label.chars().count();
        (1..=63).contains(&length) && !label.starts_with('-') && !label.ends_with('-') && label.chars().all(is_part)
    };
    text.len() <= 253 && text.split(['.', '\u{3002}', '\u{ff0e}', '\u{ff61}']).all(is_label)
}

/// The keyword for values that must be schemas.
struct MetaSchema(fn(&Value) -> bool);

impl<'i> jsonschema::Keyword<'i> for MetaSchema {
    fn validate(&self, value: &'i Value) -> Result<(), jsonschema::ValidationError<'i>> {
        if self.is_valid(value) { Ok(()) } else { Err(jsonschema::ValidationError::custom("a valid JSON Schema")) }
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        (self.0)(value)
    }
}

fn compile_with_references(schema: &Value) -> Result<(Validator, Option<Arc<References>>), SchemaError> {
    Ok(match References::compile(schema) {
        Some((validator, references)) => (validator, Some(references)),
        None => (compile_validator(schema)?, None),
    })
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
    // Where the schema refers to itself, values of other types may be meant.
    if !refers_to_root(&root) {
        root.entry("type").or_insert_with(|| json!("object"));
    }
    if let Some((field, value)) = discriminator {
        let properties = root.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(properties) = properties {
            properties.insert(field.to_owned(), json!({ "const": value }));
        }
    }
    Value::Object(root)
}

fn refers_to_root(keywords: &Object) -> bool {
    let within = |value: &Value| match value {
        Value::Object(inner) => refers_to_root(inner),
        Value::Array(list) => list.iter().filter_map(Value::as_object).any(refers_to_root),
        _ => false,
    };
    keywords.get("$ref").is_some_and(|target| target == "#") || keywords.values().any(within)
}

/// Returns the schema of arguments with a ban of undeclared fields wherever the author did not write otherwise.
pub(crate) fn closed_schema(schema: &Value) -> Value {
    closed::close(&prepare_schema(schema, None))
}
