//! From what the validator reports to what a failure says.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::{Value, json};

use super::json_type;
use super::place::{member, parts, schema_at};
use crate::contract::readable_schema;
use crate::failure::{Bound, Expected, Issue, IssueKind, Measure, Step};

/// Every issue, at every depth in the order of the schema's properties: first what is wrong inside a value, then the value itself,
/// and undeclared fields last.
pub(super) fn issues<'a>(
    schema: &Value,
    errors: impl Iterator<Item = ValidationError<'a>>,
    arguments: &Value,
) -> Vec<Issue> {
    let mut issues = Vec::new();
    for error in errors {
        push(&mut issues, schema, error, arguments);
    }
    if issues.len() < 2 {
        return issues;
    }
    drop_noise(&mut issues);
    if issues.iter().any(|issue| issue.path.contains('.')) {
        issues.sort_by_cached_key(|issue| rank(schema, issue, arguments));
    } else {
        issues.sort_by_key(|issue| (top_rank(schema, &issue.path), is_undeclared(issue)));
    }
    issues.dedup();
    issues
}

fn is_undeclared(issue: &Issue) -> bool {
    matches!(issue.kind, IssueKind::Undeclared { .. })
}

/// The place of a property among its siblings; a name that is not declared comes after them, the arguments as a whole last.
fn top_rank(schema: &Value, name: &str) -> usize {
    if name.is_empty() {
        return usize::MAX;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.and_then(|map| map.keys().position(|key| key == name)).unwrap_or(usize::MAX - 2)
}

fn rank(schema: &Value, issue: &Issue, arguments: &Value) -> Vec<usize> {
    let mut schema = Some(schema);
    let mut rank: Vec<usize> = Vec::new();
    for step in issue.steps(arguments) {
        rank.push(match step {
            Step::Index(index) => index,
            Step::Name(name) => schema.map_or(usize::MAX - 2, |schema| top_rank(schema, name)),
        });
        schema = schema.and_then(|schema| step.of_schema(schema));
    }
    rank.push(usize::MAX - usize::from(!is_undeclared(issue)));
    rank
}

/// Up to here comparing all with all is faster than a set.
const FEW: usize = 16;

/// One wrong type makes every other complaint about the same value noise.
fn drop_noise(issues: &mut Vec<Issue>) {
    let is_type = |issue: &Issue| matches!(issue.kind, IssueKind::WrongType { .. });
    if !issues.iter().any(is_type) || issues.iter().all(is_type) {
        return;
    }
    let is_noise: Vec<bool> = if issues.len() <= FEW {
        let retyped = |issue: &Issue| issues.iter().any(|other| is_type(other) && other.path == issue.path);
        issues.iter().map(|issue| !is_type(issue) && retyped(issue)).collect()
    } else {
        let retyped: BTreeSet<&str> =
            issues.iter().filter(|issue| is_type(issue)).map(|issue| issue.path.as_str()).collect();
        issues.iter().map(|issue| !is_type(issue) && retyped.contains(issue.path.as_str())).collect()
    };
    let mut noise = is_noise.into_iter();
    issues.retain(|_| noise.next() != Some(true));
}

fn push(issues: &mut Vec<Issue>, schema: &Value, error: ValidationError<'_>, arguments: &Value) {
    let error = error.into_parts();
    let pointer = error.instance_path.as_str();
    let sent = error.instance;
    let bound = |measure, relation, limit: Value| IssueKind::OutOfBounds { measure, relation, limit };
    let kind = match error.kind {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let expected = expected_at(schema, parts(pointer).chain(std::iter::once(Cow::Borrowed(name))));
            let mut path = dotted(pointer);
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(name);
            issues.push(Issue { path, sent: None, kind: IssueKind::Missing { expected } });
            return;
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            return push_branches(issues, schema, context, pointer, arguments);
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => IssueKind::Other {
            keyword: "oneOf".to_owned(),
            message: format!("it fits more than one of {}", alternatives(schema, pointer)),
        },
        ValidationErrorKind::Type { kind } => match expected_at(schema, parts(pointer)) {
            // A text with options that gets no text at all is told the options: they say more than the type.
            Expected::Options(options) => IssueKind::WrongType { expected: Expected::Options(options) },
            _ => IssueKind::WrongType { expected: Expected::Types(type_names(&kind)) },
        },
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().cloned().unwrap_or_default();
            if options.iter().all(|option| json_type(option) != json_type(&sent)) {
                IssueKind::WrongType { expected: Expected::Options(options) }
            } else {
                IssueKind::NotAnOption { options }
            }
        }
        ValidationErrorKind::Constant { expected_value } => {
            IssueKind::NotAnOption { options: vec![expected_value.as_ref().clone()] }
        }
        ValidationErrorKind::Minimum { limit } => bound(Measure::Number, Bound::AtLeast, limit),
        ValidationErrorKind::Maximum { limit } => bound(Measure::Number, Bound::AtMost, limit),
        ValidationErrorKind::ExclusiveMinimum { limit } => bound(Measure::Number, Bound::MoreThan, limit),
        ValidationErrorKind::ExclusiveMaximum { limit } => bound(Measure::Number, Bound::LessThan, limit),
        ValidationErrorKind::MinLength { limit } => bound(Measure::Characters, Bound::AtLeast, json!(limit)),
        ValidationErrorKind::MaxLength { limit } => bound(Measure::Characters, Bound::AtMost, json!(limit)),
        ValidationErrorKind::MinItems { limit } => bound(Measure::Items, Bound::AtLeast, json!(limit)),
        ValidationErrorKind::MaxItems { limit } => bound(Measure::Items, Bound::AtMost, json!(limit)),
        ValidationErrorKind::MinProperties { limit } => bound(Measure::Properties, Bound::AtLeast, json!(limit)),
        ValidationErrorKind::MaxProperties { limit } => bound(Measure::Properties, Bound::AtMost, json!(limit)),
        ValidationErrorKind::Format { format } => IssueKind::BadFormat { format },
        ValidationErrorKind::Pattern { pattern } => IssueKind::BadPattern { pattern },
        ValidationErrorKind::MultipleOf { multiple_of } => IssueKind::NotAMultiple { of: whole_if_whole(multiple_of) },
        ValidationErrorKind::UniqueItems => IssueKind::NotUnique,
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let kind = IssueKind::Undeclared { fields: unexpected };
            issues.push(Issue { path: dotted(pointer), sent: None, kind });
            return;
        }
        other => IssueKind::Other { keyword: other.keyword().to_owned(), message: other_message(&other) },
    };
    issues.push(Issue { path: dotted(pointer), sent: Some(sent.into_owned()), kind });
}

/// A value that fits none of several alternatives. Where its type, or a constant in it, tells which one was meant, what is wrong by
/// that one is reported; else what the alternatives are.
fn push_branches(
    issues: &mut Vec<Issue>,
    schema: &Value,
    context: Vec<Vec<ValidationError<'static>>>,
    pointer: &str,
    arguments: &Value,
) {
    let at_the_value = |error: &ValidationError<'_>| error.instance_path().as_str() == pointer;
    let wrong_type = |errors: &[ValidationError<'_>]| {
        errors.iter().any(|error| at_the_value(error) && matches!(error.kind(), ValidationErrorKind::Type { .. }))
    };
    let wrong_tag = |errors: &[ValidationError<'_>]| {
        errors.iter().any(|error| matches!(error.kind(), ValidationErrorKind::Constant { .. }))
    };
    let mut names: Vec<String> = Vec::new();
    let mut options: Vec<Value> = Vec::new();
    let mut simple = true;
    let mut meant = Vec::new();
    for errors in context {
        if !wrong_type(&errors) {
            meant.push(errors);
            continue;
        }
        for error in errors.iter().filter(|error| at_the_value(error)) {
            match error.kind() {
                ValidationErrorKind::Type { kind } => names.extend(type_names(kind)),
                ValidationErrorKind::Enum { options: more } => {
                    options.extend(more.as_array().into_iter().flatten().cloned())
                }
                ValidationErrorKind::Constant { expected_value } => options.push(expected_value.as_ref().clone()),
                _ => simple = false,
            }
        }
    }
    if meant.len() > 1 && meant.iter().any(|errors| !wrong_tag(errors)) {
        meant.retain(|errors| !wrong_tag(errors));
    }
    let sent = value_at(arguments, pointer).cloned();
    let path = dotted(pointer);
    if meant.len() == 1 {
        for error in meant.into_iter().flatten() {
            push(issues, schema, error, arguments);
        }
    } else if meant.is_empty() && simple && options.is_empty() {
        names.dedup();
        issues.push(Issue { path, sent, kind: IssueKind::WrongType { expected: Expected::Types(names) } });
    } else {
        let message = format!("it fits none of {}", alternatives(schema, pointer));
        issues.push(Issue { path, sent, kind: IssueKind::Other { keyword: "anyOf".to_owned(), message } });
    }
}

/// The alternatives at a place, in readable form.
fn alternatives(schema: &Value, pointer: &str) -> String {
    schema_at(schema, parts(pointer)).map_or_else(|| "the alternatives".to_owned(), readable_schema)
}

fn other_message(kind: &ValidationErrorKind) -> String {
    match kind {
        ValidationErrorKind::Contains => "no item is of the kind that has to be there".to_owned(),
        ValidationErrorKind::Not { schema } => format!("it must not be {}", readable_schema(schema)),
        ValidationErrorKind::FalseSchema => "nothing may stand here".to_owned(),
        ValidationErrorKind::PropertyNames { error } => format!("a name in it is not allowed: {error}"),
        ValidationErrorKind::AdditionalItems { limit } => format!("it has more than {limit} items"),
        ValidationErrorKind::UnevaluatedItems { unexpected } => {
            format!("items that are not declared: {}", unexpected.join(", "))
        }
        other => format!("`{}` is not met", other.keyword()),
    }
}

/// What the schema asks for at the place in the arguments.
fn expected_at<'p>(schema: &Value, parts: impl Iterator<Item = Cow<'p, str>>) -> Expected {
    let Some(schema) = schema_at(schema, parts) else { return Expected::Any };
    if let Some(options) = member(schema, "enum").and_then(Value::as_array) {
        return Expected::Options(options.clone());
    }
    if let Some(value) = member(schema, "const") {
        return Expected::Options(vec![value.clone()]);
    }
    match member(schema, "type") {
        Some(Value::String(name)) => return Expected::Types(vec![name.clone()]),
        Some(Value::Array(names)) => {
            return Expected::Types(names.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        }
        _ => {}
    }
    let branches = ["anyOf", "oneOf"].into_iter().find_map(|keyword| schema.get(keyword)?.as_array());
    let types: Option<Vec<String>> = branches
        .and_then(|branches| branches.iter().map(|branch| branch["type"].as_str().map(str::to_owned)).collect());
    types.map_or(Expected::Any, Expected::Types)
}

fn type_names(kind: &TypeKind) -> Vec<String> {
    match kind {
        TypeKind::Single(name) => vec![name.to_string()],
        TypeKind::Multiple(names) => names.iter().map(|name| name.to_string()).collect(),
    }
}

/// The validator keeps divisors as floats; `5` is told as it was written.
fn whole_if_whole(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT { Value::from(number as i64) } else { Value::from(number) }
}

/// `Value::pointer`, without allocating for every part of the pointer.
fn value_at<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    parts(pointer).try_fold(value, |value, part| match value {
        Value::Object(object) => object.get(&*part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

/// `/lines/0/qty` as `lines.0.qty`.
fn dotted(pointer: &str) -> String {
    let Some(rest) = pointer.strip_prefix('/') else { return String::new() };
    if !rest.contains(['/', '~']) {
        return rest.to_owned();
    }
    let mut path = String::with_capacity(rest.len());
    for (index, part) in parts(pointer).enumerate() {
        if index > 0 {
            path.push('.');
        }
        path.push_str(&part);
    }
    path
}
