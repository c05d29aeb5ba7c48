//! Conversion of the validator's errors to the issues of a failure.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::{Value, json};

use super::branches::{BranchResult, FailedBranches, discriminator_issue, judge_branches};
use super::expected::{dotted_path, expected_at, has_branches, normalize_number, type_names, value_at};
use super::lookup::{pointer_tokens, schema_at};
use super::references::{References, is_incomplete};
use super::{UndeclaredFields, forbids_additional, json_type};
use crate::contract::readable_subschema;
use crate::failure::{Bound, Expected, Issue, IssueKind, PathSegment, Quantity, path_segment};

/// The largest number of issues of a call, and of errors that are looked at to find them. Beyond either, checking stops.
const MAX_ISSUES: usize = 100;
const MAX_VISITS: usize = 10_000;

/// The deepest nesting of expanded references.
const MAX_DEPTH: usize = 128;

/// Returns the issues, at every depth in the order of the schema's properties: issues inside a value before those of
/// the value itself, and undeclared fields last. If checking stopped, the last issue says so.
pub(super) fn collect_issues<'a>(
    schema: &Value,
    references: Option<&References>,
    errors: impl Iterator<Item = ValidationError<'a>>,
    undeclared: Vec<UndeclaredFields<'_>>,
    arguments: &Value,
) -> Vec<Issue> {
    let mut collector =
        Collector { schema, references, arguments, issues: Vec::new(), visits: 0, depth: 0, has_stopped: false };
    for error in errors {
        if collector.has_stopped {
            break;
        }
        collector.add(LocatedError { base: String::new(), schema_base: String::new(), error });
    }
    let Collector { mut issues, mut has_stopped, .. } = collector;
    has_stopped |= is_incomplete();
    if issues.len() > 1 && issues.iter().any(is_undeclared) && has_branches(schema) {
        retain_undeclared(&mut issues, schema, arguments);
    }
    has_stopped |= issues.len() + undeclared.len() > MAX_ISSUES;
    issues.extend(undeclared.into_iter().map(UndeclaredFields::into_issue).take(MAX_ISSUES - issues.len()));
    if issues.len() > 1 {
        drop_redundant(&mut issues);
        if issues.iter().any(|issue| issue.path.contains('.')) {
            issues.sort_by_cached_key(|issue| rank(schema, issue, arguments));
        } else {
            issues.sort_by_key(|issue| (property_rank(schema, &issue.path), is_undeclared(issue)));
        }
        issues.dedup();
    }
    if has_stopped {
        issues.push(Issue::checking_stopped());
    }
    issues
}

/// An error of the validator, whose location is relative to a value in the arguments.
pub(super) struct LocatedError<'a> {
    /// The pointer of the value.
    base: String,
    /// The pointer of the schema that was checked.
    schema_base: String,
    pub(super) error: ValidationError<'a>,
}

impl LocatedError<'_> {
    /// Returns the location in the arguments, as a pointer.
    pub(super) fn pointer(&self) -> String {
        format!("{}{}", self.base, self.error.instance_path().as_str())
    }

    /// Returns the target of the reference whose errors this error stands for.
    fn target(&self) -> Option<&str> {
        match self.error.kind() {
            ValidationErrorKind::Custom { message, .. } => Some(message),
            _ => None,
        }
    }
}

/// Converts errors to issues, and expands references.
struct Collector<'s> {
    schema: &'s Value,
    references: Option<&'s References>,
    arguments: &'s Value,
    issues: Vec<Issue>,
    visits: usize,
    depth: usize,
    has_stopped: bool,
}

impl Collector<'_> {
    /// Counts a visit. Returns false if checking has to stop.
    fn visit(&mut self) -> bool {
        self.visits += 1;
        self.has_stopped |=
            self.visits > MAX_VISITS || self.issues.len() >= MAX_ISSUES || self.depth > MAX_DEPTH || is_incomplete();
        !self.has_stopped
    }

    fn push(&mut self, issue: Issue) {
        self.issues.push(issue);
    }

    /// Returns the errors that a reference stands for at the value of this location.
    fn expand(&self, target: &str, pointer: String) -> Vec<LocatedError<'static>> {
        let value = value_at(self.arguments, &pointer);
        let errors = value.zip(self.references).map(|(value, references)| references.errors(target, value));
        let schema_base = target.trim_start_matches('#');
        let located = |error| LocatedError { base: pointer.clone(), schema_base: schema_base.to_owned(), error };
        errors.into_iter().flatten().map(located).collect()
    }

    /// Expands the references to schemas of the same value, so that the branches of a choice can be compared.
    fn flatten(&mut self, errors: Vec<LocatedError<'static>>, pointer: &str) -> Vec<LocatedError<'static>> {
        let mut flat = Vec::with_capacity(errors.len());
        let mut pending = errors;
        pending.reverse();
        while let Some(located) = pending.pop() {
            match located.target() {
                Some(target) if located.pointer() == pointer => {
                    if !self.visit() {
                        break;
                    }
                    let mut expanded = self.expand(target, pointer.to_owned());
                    expanded.reverse();
                    pending.extend(expanded);
                }
                _ => flat.push(located),
            }
        }
        flat
    }

    fn add(&mut self, located: LocatedError<'_>) {
        if !self.visit() {
            return;
        }
        if let Some(target) = located.target() {
            self.depth += 1;
            for error in self.expand(target, located.pointer()) {
                self.add(error);
            }
            self.depth -= 1;
            return;
        }
        let LocatedError { base, schema_base, error } = located;
        let (schema, arguments) = (self.schema, self.arguments);
        let error = error.into_parts();
        let joined;
        let pointer = match base.as_str() {
            "" => error.instance_path.as_str(),
            base => {
                joined = format!("{base}{}", error.instance_path.as_str());
                &joined
            }
        };
        let sent = error.instance;
        let bound = |measure, relation, limit: Value| IssueKind::OutOfBounds {
            measure,
            relation,
            limit: if limit.is_f64() { normalize_number(&limit) } else { limit },
        };
        let kind = match error.kind {
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                let expected = expected_at(schema, pointer_tokens(pointer).chain(std::iter::once(Cow::Borrowed(name))));
                let mut path = dotted_path(pointer);
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(path_segment(name));
                self.push(Issue { path, sent: None, kind: IssueKind::Missing { expected } });
                return;
            }
            ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
                let schema_path = format!("{schema_base}{}", error.schema_path.as_str());
                let located = |error| LocatedError { base: base.clone(), schema_base: schema_base.clone(), error };
                let errors = context.into_iter().map(|errors| {
                    let errors = errors.into_iter().map(located).collect();
                    self.flatten(errors, pointer)
                });
                let branches = FailedBranches { schema_path: &schema_path, pointer, errors: errors.collect() };
                match judge_branches(schema, branches, arguments) {
                    BranchResult::Issue(issue) => self.push(issue),
                    BranchResult::Errors(errors) => errors.into_iter().for_each(|error| self.add(error)),
                }
                return;
            }
            ValidationErrorKind::OneOfMultipleValid { .. } => {
                let schema_path = format!("{schema_base}{}", error.schema_path.as_str());
                if let Some(issue) = discriminator_issue(schema, &schema_path, pointer, arguments) {
                    self.push(issue);
                    return;
                }
                IssueKind::Other {
                    keyword: "oneOf".to_owned(),
                    message: format!("it fits more than one of {}", alternatives(schema, pointer)),
                }
            }
            ValidationErrorKind::Type { kind } => match expected_at(schema, pointer_tokens(pointer)) {
                // Options are more informative than a type.
                Expected::Options(options) => IssueKind::WrongType { expected: Expected::Options(options) },
                expected => {
                    let names = type_names(&kind);
                    // For the intended branch, include the types of the other ones, usually `null`.
                    let types = match expected {
                        Expected::Types(types) if names.iter().all(|name| types.contains(name)) => types,
                        _ => names,
                    };
                    IssueKind::WrongType { expected: Expected::Types(types) }
                }
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
            ValidationErrorKind::Minimum { limit } => bound(Quantity::Number, Bound::AtLeast, limit),
            ValidationErrorKind::Maximum { limit } => bound(Quantity::Number, Bound::AtMost, limit),
            ValidationErrorKind::ExclusiveMinimum { limit } => bound(Quantity::Number, Bound::MoreThan, limit),
            ValidationErrorKind::ExclusiveMaximum { limit } => bound(Quantity::Number, Bound::LessThan, limit),
            ValidationErrorKind::MinLength { limit } => bound(Quantity::Characters, Bound::AtLeast, json!(limit)),
            ValidationErrorKind::MaxLength { limit } => bound(Quantity::Characters, Bound::AtMost, json!(limit)),
            ValidationErrorKind::MinItems { limit } => bound(Quantity::Items, Bound::AtLeast, json!(limit)),
            ValidationErrorKind::MaxItems { limit } => bound(Quantity::Items, Bound::AtMost, json!(limit)),
            ValidationErrorKind::MinProperties { limit } => bound(Quantity::Properties, Bound::AtLeast, json!(limit)),
            ValidationErrorKind::MaxProperties { limit } => bound(Quantity::Properties, Bound::AtMost, json!(limit)),
            ValidationErrorKind::Format { format } => IssueKind::BadFormat { format },
            ValidationErrorKind::Pattern { pattern } => IssueKind::BadPattern { pattern },
            ValidationErrorKind::MultipleOf { multiple_of } => {
                IssueKind::NotAMultiple { of: normalize_number(&Value::from(multiple_of)) }
            }
            ValidationErrorKind::UniqueItems => IssueKind::NotUnique,
            // `additionalProperties: false` without any declared property.
            ValidationErrorKind::FalseSchema if forbids_additional(error.schema_path.as_str()) => {
                let object = value_at(arguments, pointer).and_then(Value::as_object);
                let fields = object.into_iter().flat_map(|object| object.keys().cloned()).collect();
                self.push(Issue { path: dotted_path(pointer), sent: None, kind: IssueKind::Undeclared { fields } });
                return;
            }
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                let kind = IssueKind::Undeclared { fields: unexpected };
                self.push(Issue { path: dotted_path(pointer), sent: None, kind });
                return;
            }
            ValidationErrorKind::Contains => {
                let schema_path = format!("{schema_base}{}", error.schema_path.as_str());
                let (parent, keyword) = schema_path.rsplit_once('/').unwrap_or_default();
                let message = contains_message(schema, parent, keyword);
                IssueKind::Other { keyword: keyword.to_owned(), message }
            }
            other => IssueKind::Other { keyword: other.keyword().to_owned(), message: other_message(&other) },
        };
        self.push(Issue { path: dotted_path(pointer), sent: Some(sent.into_owned()), kind });
    }
}

/// Removes fields from undeclared ones if a branch declares them: the validator ignores the declarations of a failed
/// branch.
fn retain_undeclared(issues: &mut Vec<Issue>, schema: &Value, arguments: &Value) {
    for issue in issues.iter_mut() {
        let IssueKind::Undeclared { fields } = &issue.kind else { continue };
        let location: Vec<String> = issue.segments(arguments).into_iter().map(PathSegment::into_name).collect();
        let declared = |field: &String| {
            let path = location.iter().chain([field]).map(|token| Cow::Borrowed(token.as_str()));
            schema_at(schema, path).is_some()
        };
        let fields = fields.iter().filter(|field| !declared(field)).cloned().collect();
        issue.kind = IssueKind::Undeclared { fields };
    }
    issues.retain(|issue| !matches!(&issue.kind, IssueKind::Undeclared { fields } if fields.is_empty()));
}

/// Returns true if branches may declare properties.
fn is_undeclared(issue: &Issue) -> bool {
    matches!(issue.kind, IssueKind::Undeclared { .. })
}

/// Returns the index of a property among its siblings. Undeclared names come after them, and the arguments as a whole
/// last.
fn property_rank(schema: &Value, name: &str) -> usize {
    if name.is_empty() {
        return usize::MAX;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.and_then(|map| map.keys().position(|key| key == name)).unwrap_or(usize::MAX - 2)
}

fn rank(schema: &Value, issue: &Issue, arguments: &Value) -> Vec<usize> {
    let mut schema = Some(schema);
    let mut rank: Vec<usize> = Vec::new();
    for segment in issue.segments(arguments) {
        rank.push(match segment {
            PathSegment::Index(index) => index,
            PathSegment::Name(name) => schema.map_or(usize::MAX - 2, |schema| property_rank(schema, name)),
        });
        schema = schema.and_then(|schema| segment.resolve_schema(schema));
    }
    rank.push(usize::MAX - usize::from(!is_undeclared(issue)));
    rank
}

/// Up to this size, comparing all pairs is faster than a set.
const SMALL_COUNT: usize = 16;

/// Removes other issues of a value that also has the wrong type.
fn drop_redundant(issues: &mut Vec<Issue>) {
    let is_type = |issue: &Issue| matches!(issue.kind, IssueKind::WrongType { .. });
    if !issues.iter().any(is_type) || issues.iter().all(is_type) {
        return;
    }
    let is_redundant: Vec<bool> = if issues.len() <= SMALL_COUNT {
        let has_type_issue = |issue: &Issue| issues.iter().any(|other| is_type(other) && other.path == issue.path);
        issues.iter().map(|issue| !is_type(issue) && has_type_issue(issue)).collect()
    } else {
        let has_type_issue: BTreeSet<&str> =
            issues.iter().filter(|issue| is_type(issue)).map(|issue| issue.path.as_str()).collect();
        issues.iter().map(|issue| !is_type(issue) && has_type_issue.contains(issue.path.as_str())).collect()
    };
    let mut redundant = is_redundant.into_iter();
    issues.retain(|_| redundant.next() != Some(true));
}

/// Returns the alternatives at a location in readable form.
fn alternatives(schema: &Value, pointer: &str) -> String {
    schema_at(schema, pointer_tokens(pointer))
        .map_or_else(|| "the alternatives".to_owned(), |schema_part| readable_subschema(schema_part, schema))
}

/// Returns what a list must contain. `parent` is the pointer of the schema with the failed `keyword`: `contains`,
/// `minContains` or `maxContains`.
fn contains_message(root: &Value, parent: &str, keyword: &str) -> String {
    let schema = root.pointer(parent);
    let member = |name: &str| schema.and_then(|schema| schema.get(name));
    let kind = member("contains").map_or_else(|| "as required".to_owned(), |item| readable_subschema(item, root));
    // Integral numbers may have a fraction in a schema.
    let limit = member(keyword).map(normalize_number);
    match (keyword, limit) {
        ("minContains", Some(limit)) => format!("at least {limit} of its items must be {kind}"),
        ("maxContains", Some(limit)) => {
            let at_least_one = member("minContains").is_none();
            let least = if at_least_one { "at least 1 and " } else { "" };
            format!("{least}at most {limit} of its items must be {kind}")
        }
        _ => format!("at least 1 of its items must be {kind}"),
    }
}

fn other_message(kind: &ValidationErrorKind) -> String {
    match kind {
        ValidationErrorKind::Not { schema } => format!("it must not be {}", readable_subschema(schema, schema)),
        ValidationErrorKind::FalseSchema => "nothing may stand here".to_owned(),
        ValidationErrorKind::PropertyNames { error } => format!("a name in it is not allowed: {error}"),
        ValidationErrorKind::AdditionalItems { limit } => format!("it has more than {limit} items"),
        ValidationErrorKind::UnevaluatedItems { unexpected } => {
            format!("items that are not declared: {}", unexpected.join(", "))
        }
        other => format!("`{}` is not met", other.keyword()),
    }
}
