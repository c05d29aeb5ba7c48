//! Values that match none of several alternatives: selects the intended branch and reports its issues.

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::expected::{dotted_path, expected_of, type_names, value_at};
use super::located_error::LocatedError;
use super::lookup::resolve_refs;
use super::tags::{Tag, is_null};
use crate::contract::readable_subschema;
use crate::failure::{Expected, Issue, IssueKind};
use crate::render::excerpt_text;

/// The failed keyword, and the errors of each of its branches.
pub(super) struct FailedBranches<'a> {
    /// The location of the keyword in the schema.
    pub(super) schema_path: &'a str,
    /// The location of the value in the arguments.
    pub(super) pointer: &'a str,
    pub(super) errors: &'a [Vec<LocatedError<'static>>],
}

/// The problem with a value that matches no branch.
pub(super) enum Judgement {
    /// The issue of a tag that is missing or unknown, or of a value that can have none.
    Tag(Issue),
    /// The index of the branch that a tag selects, or of the only one besides `null`.
    Selected(usize),
    /// The index of the branch that seems to be intended.
    Intended(usize),
    /// The issue of the value itself, if no branch is clearly intended.
    Value(Issue),
}

/// Returns the intended branch if it is clear, or else an issue with the expected alternatives.
///
/// A tag decides: the property that OpenAPI's `discriminator` names, or else a property with distinct options in every
/// branch that has to be sent or has a default. Otherwise the only branch besides `null` is chosen, or a branch of which
/// only bounds, formats and the like are violated: zod, and therefore Fusion, reports unions this way.
pub(super) fn judge_branches(root: &Value, branches: FailedBranches<'_>, arguments: &Value) -> Judgement {
    let FailedBranches { schema_path, pointer, errors } = branches;
    let listed = root.pointer(schema_path).and_then(Value::as_array).filter(|listed| listed.len() == errors.len());
    let listed: Vec<&Value> = listed.into_iter().flatten().collect();
    let schemas: Vec<&Value> = listed.iter().map(|schema| resolve_refs(root, schema)).collect();
    let value = value_at(arguments, pointer);
    let tag = Tag::find(root, union_at(root, schema_path), &listed);
    let is_tagged = tag.is_some();
    if let (Some(tag), Some(Value::Object(object))) = (tag, value) {
        match (object.get(tag.name), tag.issue(object, pointer)) {
            (_, Some(issue)) => return Judgement::Tag(issue),
            (Some(sent), None) => {
                let intended = tag.branch(sent);
                let mut branches = schemas.iter().enumerate().filter(|(_, schema)| !is_null(schema));
                let branch = branches.nth(intended.unwrap_or_default());
                return Judgement::Selected(branch.map_or(0, |(at, _)| at));
            }
            (None, None) => {}
        }
    }
    let non_null: Vec<usize> = (0..errors.len()).filter(|at| schemas.get(*at).is_none_or(|s| !is_null(s))).collect();
    let others = errors.len() > 1;
    let intended: Vec<usize> = match non_null.as_slice() {
        [only] if !schemas.is_empty() => return Judgement::Selected(*only),
        several => several.iter().copied().filter(|at| !others || is_minor(&errors[*at])).collect(),
    };
    if let [intended] = intended.as_slice() {
        return Judgement::Intended(*intended);
    }
    let path = dotted_path(pointer);
    let kind = match expected_types(errors, pointer) {
        Some(types) => IssueKind::WrongType { expected: Expected::Types(types) },
        None => IssueKind::Other { keyword: "anyOf".to_owned(), message: no_branch_message(root, &schemas) },
    };
    let issue = Issue::new(path, value.cloned(), kind);
    if is_tagged { Judgement::Tag(issue) } else { Judgement::Value(issue) }
}

/// Returns the issue of the tag if a value matches several branches because it has no tag or an unknown one.
pub(super) fn discriminator_issue(root: &Value, schema_path: &str, pointer: &str, arguments: &Value) -> Option<Issue> {
    let listed: Vec<&Value> = root.pointer(schema_path)?.as_array()?.iter().collect();
    let tag = Tag::named(root, union_at(root, schema_path)?, &listed)?;
    tag.issue(value_at(arguments, pointer)?.as_object()?, pointer)
}

/// Returns the schema that has the keyword.
fn union_at<'s>(root: &'s Value, schema_path: &str) -> Option<&'s Value> {
    root.pointer(schema_path.rsplit_once('/')?.0)
}

/// Returns true if only bounds, patterns and formats are violated.
fn is_minor(errors: &[LocatedError<'_>]) -> bool {
    errors.iter().all(LocatedError::is_minor)
}

/// Returns the types of all branches if the only problem is that the value has none of them.
fn expected_types(errors: &[Vec<LocatedError<'static>>], pointer: &str) -> Option<Vec<String>> {
    let mut types: Vec<String> = Vec::new();
    for located in errors.iter().flatten() {
        match located.error.kind() {
            ValidationErrorKind::Type { kind } if located.pointer() == pointer => {
                for name in type_names(kind) {
                    if !types.contains(&name) {
                        types.push(name);
                    }
                }
            }
            _ => return None,
        }
    }
    Some(types)
}

/// The largest number of alternatives that a message names.
const MAX_NAMED: usize = 20;

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
    let named: Vec<String> = match options {
        Some(options) => options.iter().take(MAX_NAMED).map(Value::to_string).collect(),
        None => schemas.iter().take(MAX_NAMED).map(|schema| readable_subschema(schema, root)).collect(),
    };
    let mut phrases: Vec<String> = Vec::new();
    for phrase in named {
        let phrase = excerpt_text(&phrase).into_owned();
        if !phrases.contains(&phrase) {
            phrases.push(phrase);
        }
    }
    let others = if schemas.len() > MAX_NAMED { " | …" } else { "" };
    format!("it fits none of {}{others}", phrases.join(" | "))
}
