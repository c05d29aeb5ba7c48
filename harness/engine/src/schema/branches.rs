//! Values that match none of several alternatives: selects the intended branch and reports its issues.

use healbench_protocol::Object;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::expected::{dotted_path, expected_of, type_names, value_at};
use super::issues::LocatedError;
use super::json_type;
use super::lookup::{member, resolve_refs};
use crate::contract::readable_subschema;
use crate::failure::{Expected, Issue, IssueKind};

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
/// A tag, which is a required property with distinct options in every branch, decides. Otherwise the only branch
/// besides `null` is chosen, or a branch of which only bounds, formats and the like are violated: zod, and therefore
/// Fusion, reports unions this way.
pub(super) fn judge_branches(root: &Value, branches: FailedBranches<'_>, arguments: &Value) -> BranchResult {
    let FailedBranches { schema_path, pointer, errors } = branches;
    let listed = root.pointer(schema_path).and_then(Value::as_array).filter(|listed| listed.len() == errors.len());
    let schemas: Vec<&Value> = listed.into_iter().flatten().map(|schema| resolve_refs(root, schema)).collect();
    let value = value_at(arguments, pointer);
    let errors_of = |errors: Option<Vec<LocatedError<'static>>>| BranchResult::Errors(errors.unwrap_or_default());
    if let (Some(tag), Some(Value::Object(object))) = (tag_of(root, &schemas), value) {
        let Some(sent) = object.get(tag.name) else {
            let kind = IssueKind::Missing { expected: Expected::Options(tag.all_options()) };
            return BranchResult::Issue(Issue { path: child_path(pointer, tag.name), sent: None, kind });
        };
        let Some(intended) = tag.options.iter().position(|options| options.contains(&sent)) else {
            let options = tag.all_options();
            let kind = if options.iter().any(|option| json_type(option) == json_type(sent)) {
                IssueKind::NotAnOption { options }
            } else {
                IssueKind::WrongType { expected: Expected::Options(options) }
            };
            return BranchResult::Issue(Issue { path: child_path(pointer, tag.name), sent: Some(sent.clone()), kind });
        };
        let object_branches = schemas.iter().zip(errors).filter(|(schema, _)| !is_null(schema));
        return errors_of(object_branches.map(|(_, errors)| errors).nth(intended));
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

/// A required property with distinct options in every branch that is an object.
struct Tag<'s> {
    name: &'s str,
    /// One list of options for each branch.
    options: Vec<Vec<&'s Value>>,
}

impl Tag<'_> {
    fn all_options(&self) -> Vec<Value> {
        self.options.iter().flatten().map(|option| (*option).clone()).collect()
    }
}

fn tag_of<'s>(root: &'s Value, schemas: &[&'s Value]) -> Option<Tag<'s>> {
    let objects: Vec<&Value> = schemas.iter().copied().filter(|schema| !is_null(schema)).collect();
    let (first, rest) = objects.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let names = member(first, "properties").and_then(Value::as_object).into_iter().flat_map(Object::keys);
    names.map(String::as_str).find_map(|name| {
        let options = std::iter::once(first).chain(rest).map(|schema| tag_options(root, schema, name));
        Some(Tag { name, options: options.collect::<Option<_>>()? })
    })
}

fn tag_options<'s>(root: &'s Value, schema: &'s Value, name: &str) -> Option<Vec<&'s Value>> {
    let required = member(schema, "required").and_then(Value::as_array)?;
    let property = resolve_refs(root, member(schema, "properties").and_then(|map| member(map, name))?);
    let options = match (member(property, "const"), member(property, "enum").and_then(Value::as_array)) {
        (Some(only), _) => vec![only],
        (None, Some(options)) => options.iter().collect(),
        (None, None) => return None,
    };
    required.iter().any(|required| required == name).then_some(options)
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

fn child_path(pointer: &str, name: &str) -> String {
    let path = dotted_path(pointer);
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
