//! Values that match none of several alternatives: selects the intended branch and reports its issues.

use std::borrow::Cow;

use healbench_protocol::Object;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::expected::{dotted_path, expected_of, type_names, value_at};
use super::issues::LocatedError;
use super::json_type;
use super::lookup::{member, resolve_refs};
use crate::contract::readable_subschema;
use crate::failure::{Expected, Issue, IssueKind, join_path};

/// The failed keyword, and the errors of each of its branches.
pub(super) struct FailedBranches<'a> {
    /// The location of the keyword in the schema.
    pub(super) schema_path: &'a str,
    /// The location of the value in the arguments.
    pub(super) pointer: &'a str,
    pub(super) errors: Vec<Vec<LocatedError<'static>>>,
}

/// The problem with a value that matches no branch.
pub(super) enum BranchResult {
    /// The errors of the intended branch.
    Errors(Vec<LocatedError<'static>>),
    /// The issue of the value itself, if no branch is clearly intended.
    Issue(Issue),
}

/// Returns the errors of the intended branch if it is clear, or else an issue with the expected alternatives.
///
/// A tag decides: the property that OpenAPI's `discriminator` names, or else a property with distinct options in every
/// branch that has to be sent or has a default. Otherwise the only branch besides `null` is chosen, or a branch of which
/// only bounds, formats and the like are violated: zod, and therefore Fusion, reports unions this way.
pub(super) fn judge_branches(root: &Value, branches: FailedBranches<'_>, arguments: &Value) -> BranchResult {
    let FailedBranches { schema_path, pointer, errors } = branches;
    let listed = root.pointer(schema_path).and_then(Value::as_array).filter(|listed| listed.len() == errors.len());
    let listed: Vec<&Value> = listed.into_iter().flatten().collect();
    let schemas: Vec<&Value> = listed.iter().map(|schema| resolve_refs(root, schema)).collect();
    let value = value_at(arguments, pointer);
    let errors_of = |errors: Option<Vec<LocatedError<'static>>>| BranchResult::Errors(errors.unwrap_or_default());
    let tag = discriminator(root, schema_path, &listed).or_else(|| tag_of(root, &schemas));
    if let (Some(tag), Some(Value::Object(object))) = (tag, value) {
        match (object.get(tag.name), tag.issue(object, pointer)) {
            (_, Some(issue)) => return BranchResult::Issue(issue),
            (Some(sent), None) => {
                let intended = tag.options.iter().position(|options| options.contains(&Cow::Borrowed(sent)));
                let object_branches = schemas.iter().zip(errors).filter(|(schema, _)| !is_null(schema));
                return errors_of(object_branches.map(|(_, errors)| errors).nth(intended.unwrap_or_default()));
            }
            (None, None) => {}
        }
    }
    let non_null: Vec<usize> = (0..errors.len()).filter(|at| schemas.get(*at).is_none_or(|s| !is_null(s))).collect();
    let others = errors.len() > 1;
    let intended: Vec<usize> = match non_null.as_slice() {
        [only] if !schemas.is_empty() => vec![*only],
        several => several.iter().copied().filter(|at| !others || is_minor(&errors[*at])).collect(),
    };
    if let [intended] = intended.as_slice() {
        return errors_of(errors.into_iter().nth(*intended));
    }
    let path = dotted_path(pointer);
    let kind = match expected_types(&errors, pointer) {
        Some(types) => IssueKind::WrongType { expected: Expected::Types(types) },
        None => IssueKind::Other { keyword: "anyOf".to_owned(), message: no_branch_message(root, &schemas) },
    };
    BranchResult::Issue(Issue { path, sent: value.cloned(), kind })
}

/// Returns the issue of the tag if a value matches several branches because it has no tag or an unknown one.
pub(super) fn discriminator_issue(root: &Value, schema_path: &str, pointer: &str, arguments: &Value) -> Option<Issue> {
    let listed: Vec<&Value> = root.pointer(schema_path)?.as_array()?.iter().collect();
    let tag = discriminator(root, schema_path, &listed)?;
    tag.issue(value_at(arguments, pointer)?.as_object()?, pointer)
}

/// A property with distinct options in every branch that is an object.
struct Tag<'s> {
    name: &'s str,
    /// False if the branches have a default for it.
    is_required: bool,
    /// One list of options for each branch.
    options: Vec<Vec<Cow<'s, Value>>>,
}

impl Tag<'_> {
    fn all_options(&self) -> Vec<Value> {
        self.options.iter().flatten().map(|option| option.clone().into_owned()).collect()
    }

    /// Returns the issue of a tag that is missing or unknown.
    fn issue(&self, object: &Object, pointer: &str) -> Option<Issue> {
        let options = self.all_options();
        let sent = object.get(self.name);
        let kind = match sent {
            None if self.is_required => IssueKind::Missing { expected: Expected::Options(options) },
            None => return None,
            Some(sent) if options.contains(sent) => return None,
            Some(sent) if options.iter().any(|option| json_type(option) == json_type(sent)) => {
                IssueKind::NotAnOption { options }
            }
            Some(_) => IssueKind::WrongType { expected: Expected::Options(options) },
        };
        Some(Issue { path: join_path(&dotted_path(pointer), self.name), sent: sent.cloned(), kind })
    }
}

/// Returns the tag that OpenAPI's `discriminator` names. A branch that has no options for it has the names that the mapping
/// gives it, or else the last segment of its reference.
fn discriminator<'s>(root: &'s Value, schema_path: &str, listed: &[&'s Value]) -> Option<Tag<'s>> {
    let parent = root.pointer(schema_path.rsplit_once('/')?.0)?;
    let discriminator = member(parent, "discriminator")?;
    let name = member(discriminator, "propertyName")?.as_str()?;
    let mapping = member(discriminator, "mapping").and_then(Value::as_object);
    let options = listed.iter().filter(|schema| !is_null(resolve_refs(root, schema))).map(|schema| {
        if let Some(options) = options_of(root, resolve_refs(root, schema), name) {
            return Some(options.into_iter().map(Cow::Borrowed).collect());
        }
        let reference = member(schema, "$ref")?.as_str()?;
        let simple = reference.rsplit('/').next().unwrap_or(reference);
        let mapped = mapping.into_iter().flatten().filter(|(_, target)| *target == reference || *target == simple);
        let mut names: Vec<Cow<'s, Value>> = mapped.map(|(name, _)| Cow::Owned(Value::from(name.as_str()))).collect();
        if names.is_empty() {
            names.push(Cow::Owned(Value::from(simple)));
        }
        Some(names)
    });
    Some(Tag { name, is_required: true, options: options.collect::<Option<_>>()? })
}

fn tag_of<'s>(root: &'s Value, schemas: &[&'s Value]) -> Option<Tag<'s>> {
    let objects: Vec<&Value> = schemas.iter().copied().filter(|schema| !is_null(schema)).collect();
    let (first, rest) = objects.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let names = member(first, "properties").and_then(Value::as_object).into_iter().flat_map(Object::keys);
    names.map(String::as_str).find_map(|name| {
        let branches = || std::iter::once(first).chain(rest);
        let is_required = branches().all(|schema| is_required(schema, name));
        let is_tag = |schema: &&Value| is_required || is_required_or_default(root, schema, name);
        let options = branches().map(|schema| {
            let options = Some(*schema).filter(is_tag).and_then(|schema| options_of(root, schema, name))?;
            Some(options.into_iter().map(Cow::Borrowed).collect())
        });
        let options: Vec<Vec<Cow<'s, Value>>> = options.collect::<Option<_>>()?;
        let all: Vec<&Value> = options.iter().flatten().map(AsRef::as_ref).collect();
        let is_distinct = (1..all.len()).all(|at| !all[..at].contains(&all[at]));
        is_distinct.then_some(Tag { name, is_required, options })
    })
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = member(schema, "required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|required| required == name))
}

fn is_required_or_default(root: &Value, schema: &Value, name: &str) -> bool {
    let default = || property(root, schema, name).and_then(|property| member(property, "default"));
    is_required(schema, name) || default().is_some()
}

fn property<'s>(root: &'s Value, schema: &'s Value, name: &str) -> Option<&'s Value> {
    Some(resolve_refs(root, member(schema, "properties").and_then(|map| member(map, name))?))
}

/// Returns the only values that a property may have, if it has any.
fn options_of<'s>(root: &'s Value, schema: &'s Value, name: &str) -> Option<Vec<&'s Value>> {
    let property = property(root, schema, name)?;
    match (member(property, "const"), member(property, "enum").and_then(Value::as_array)) {
        (Some(only), _) => Some(vec![only]),
        (None, Some(options)) => Some(options.iter().collect()),
        (None, None) => None,
    }
}

fn is_null(schema: &Value) -> bool {
    let null = |value: &Value| value == "null";
    member(schema, "type").is_some_and(null) || member(schema, "const").is_some_and(Value::is_null)
}

/// Returns true if nothing is missing or of another type: only bounds, formats and the like are violated.
fn is_minor(errors: &[LocatedError<'_>]) -> bool {
    use ValidationErrorKind as Kind;
    errors.iter().all(|located| {
        matches!(
            located.error.kind(),
            Kind::Minimum { .. }
                | Kind::Maximum { .. }
                | Kind::ExclusiveMinimum { .. }
                | Kind::ExclusiveMaximum { .. }
                | Kind::MultipleOf { .. }
                | Kind::MinLength { .. }
                | Kind::MaxLength { .. }
                | Kind::MinItems { .. }
                | Kind::MaxItems { .. }
                | Kind::Pattern { .. }
                | Kind::Format { .. }
        )
    })
}

/// Returns the types of all branches if the only problem is that the value has none of them.
fn expected_types(errors: &[Vec<LocatedError<'static>>], pointer: &str) -> Option<Vec<String>> {
    let mut types: Vec<String> = Vec::new();
    for located in errors.iter().flatten() {
        match located.error.kind() {
            ValidationErrorKind::Type { kind } if located.pointer() == pointer => {
                types.extend(type_names(kind));
            }
            _ => return None,
        }
    }
    types.dedup();
    Some(types)
}

fn no_branch_message(root: &Value, schemas: &[&Value]) -> String {
    let options: Option<Vec<Value>> = schemas
        .iter()
        .map(|schema| match expected_of(root, schema) {
            Expected::Options(options) => Some(options),
            _ if is_null(schema) => Some(vec![Value::Null]),
            _ => None,
        })
        .collect::<Option<Vec<_>>>()
        .map(|lists| lists.concat());
    let phrases: Vec<String> = match options {
        Some(options) => options.iter().map(Value::to_string).collect(),
        None => schemas.iter().map(|schema| readable_subschema(schema, root)).collect(),
    };
    format!("it fits none of {}", phrases.join(" | "))
}
