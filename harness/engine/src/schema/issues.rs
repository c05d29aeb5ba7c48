//! Conversion of the validator's errors to the issues of a failure.

use std::borrow::Cow;
use std::sync::Arc;

use healbench_core::Object;
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::{Value, json};

use super::branches::{FailedBranches, Judgement, discriminator_issue, judge_branches};
use super::expected::{dotted_path, expected_at, expected_of, has_branches, normalize_number, type_names, value_at};
use super::keyword_messages::{NOTHING_ALLOWED, alternatives, contains_message, other_message};
use super::located_error::LocatedError;
use super::lookup::{MAX_STEPS, Trail, member, parts, pointer_tokens, resolve_refs, schema_at, subschema};
use super::references::{References, is_incomplete};
use super::tags::is_null;
use super::tidy::{is_pattern_of_format, tidy};
use super::{UndeclaredFields, forbids_additional, json_type};
use crate::failure::{
    Bound, Expected, FailedBranch, FailedUnion, Issue, IssueKind, KeywordLocation, PathSegment, Quantity, path_segment,
};

/// The largest number of issues of a call, and of errors that are looked at to find them. Beyond either, checking stops.
const MAX_ISSUES: usize = 100;
const MAX_VISITS: usize = 10_000;

/// The largest number of errors that are looked at to compare the branches of one union, and the part of it that counts for
/// the whole call.
const MAX_UNION_VISITS: usize = 200;
const UNION_VISITS: usize = 10;

/// The deepest nesting of expanded references.
const MAX_DEPTH: usize = 128;

/// Returns the issues, at every depth in the order of the schema's properties and then of the sent ones: issues inside a
/// value before those of the value itself, and undeclared fields last. If checking stopped, the last issue says so.
pub(super) fn collect_issues<'a>(
    schema: &Value,
    references: Option<&References>,
    errors: impl Iterator<Item = ValidationError<'a>>,
    undeclared: Vec<UndeclaredFields<'_>>,
    arguments: &Value,
) -> Vec<Issue> {
    let mut collector = Collector {
        schema,
        references,
        arguments,
        issues: Vec::new(),
        way: Vec::new(),
        compared: None,
        limit: MAX_VISITS,
        visits: 0,
        has_stopped: false,
    };
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
        tidy(&mut issues);
        if has_branches(schema) || issues.iter().any(|issue| issue.path.contains('.')) {
            issues.sort_by_cached_key(|issue| rank(schema, issue, arguments));
        } else {
            issues.sort_by_key(|issue| (property_rank(schema, &issue.path), is_undeclared(issue)));
        }
        issues.dedup_by(|one, other| one.says_the_same(other));
    }
    if has_stopped {
        issues.push(Issue::checking_stopped());
    }
    issues
}

/// Returns the location of a branch of a union.
fn branch_of(location: &KeywordLocation, index: usize) -> KeywordLocation {
    KeywordLocation { pointer: format!("{}/{index}", location.pointer).into(), ..location.clone() }
}

/// Converts errors to issues, and expands references.
struct Collector<'s> {
    schema: &'s Value,
    references: Option<&'s References>,
    arguments: &'s Value,
    issues: Vec<Issue>,
    /// The locations of the references and branches that are being expanded, outermost first.
    way: Vec<KeywordLocation>,
    /// The value of the union whose branches are being compared.
    compared: Option<String>,
    limit: usize,
    visits: usize,
    has_stopped: bool,
}

impl Collector<'_> {
    /// Counts a visit. Returns false if checking has to stop.
    fn visit(&mut self) -> bool {
        self.visits += 1;
        self.has_stopped |= self.visits > self.limit
            || self.issues.len() >= MAX_ISSUES
            || self.way.len() > MAX_DEPTH
            || is_incomplete();
        !self.has_stopped
    }

    /// Adds an issue that a keyword at this location found.
    fn push(&mut self, issue: Issue, location: Option<KeywordLocation>) {
        let keyword_locations = self.way.iter().cloned().chain(location).collect();
        self.issues.push(Issue { keyword_locations, ..issue });
    }

    /// Adds the issues of a value that fits no branch of a union: those of the intended branch, or else one of the value
    /// itself. They know the issues of all branches.
    fn add_union(
        &mut self,
        location: &KeywordLocation,
        pointer: &str,
        errors: Vec<Vec<LocatedError<'static>>>,
        intended: Result<usize, Issue>,
    ) {
        let listed = self.schema.pointer(&location.pointer).and_then(Value::as_array);
        let is_null_branch = |at: usize| {
            listed
                .and_then(|branches| branches.get(at))
                .is_some_and(|branch| is_null(resolve_refs(self.schema, branch)))
        };
        let nulls: Vec<bool> = (0..errors.len()).map(is_null_branch).collect();
        let mut main = Vec::new();
        let mut branches = Vec::new();
        let compared = self.compared.replace(pointer.to_owned());
        // What is compared is bounded by itself, so that the issues of other values are found.
        let (visits, limit, has_stopped) = (self.visits, self.limit, self.has_stopped);
        self.limit = limit.min(visits + MAX_UNION_VISITS);
        for (at, errors) in errors.into_iter().enumerate() {
            if nulls[at] && intended.as_ref() != Ok(&at) {
                continue;
            }
            let around = std::mem::take(&mut self.issues);
            let branch = branch_of(location, at);
            self.add_all(branch.clone(), errors);
            let mut issues = std::mem::replace(&mut self.issues, around);
            tidy(&mut issues);
            if issues.len() > 1 {
                issues.sort_by_cached_key(|issue| rank(self.schema, issue, self.arguments));
            }
            if intended.as_ref() == Ok(&at) {
                main.clone_from(&issues);
            }
            branches.push(FailedBranch { location: branch.pointer.to_string(), issues });
        }
        (self.limit, self.has_stopped) = (limit, has_stopped);
        if compared.is_none() {
            self.visits = visits + UNION_VISITS;
        }
        self.compared = compared;
        let union = Arc::new(FailedUnion { path: dotted_path(pointer), branches });
        match intended {
            // An issue within an inner union keeps that.
            Ok(_) => self.issues.extend(main.into_iter().map(|issue| match &issue.union {
                Some(_) => issue,
                None => Issue { union: Some(Arc::clone(&union)), ..issue },
            })),
            Err(issue) => self.push(Issue { union: Some(union), ..issue }, Some(location.clone())),
        }
    }

    /// Adds errors that stand for the one at this location.
    fn add_all(&mut self, location: KeywordLocation, errors: Vec<LocatedError<'_>>) {
        self.way.push(location);
        errors.into_iter().for_each(|error| self.add(error));
        self.way.pop();
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
            let errors = self.expand(target, located.pointer());
            self.add_all(located.keyword_location(), errors);
            return;
        }
        // Most errors need no location, and it would have to be allocated.
        let is_needed = !self.way.is_empty() || located.is_conditional() || located.needs_location();
        let location = is_needed.then(|| located.keyword_location());
        let schema_path = location.as_ref().map_or("", |location| &location.pointer).to_owned();
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
        let kind = match error.kind {
            ValidationErrorKind::Required { property } => {
                return self.add_missing(property.as_str().unwrap_or_default(), pointer, location);
            }
            ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
                let located = |error| LocatedError { base: base.clone(), schema_base: schema_base.clone(), error };
                let errors = context.into_iter().map(|errors| errors.into_iter().map(located).collect()).collect();
                return self.add_branches(errors, pointer, location);
            }
            ValidationErrorKind::OneOfMultipleValid { .. } => {
                if let Some(issue) = discriminator_issue(schema, &schema_path, pointer, arguments) {
                    return self.push(issue, location);
                }
                IssueKind::Other {
                    keyword: "oneOf".to_owned(),
                    message: format!("it fits more than one of {}", alternatives(schema, pointer)),
                }
            }
            // `additionalProperties: false` without any declared property.
            ValidationErrorKind::FalseSchema if forbids_additional(error.schema_path.as_str()) => {
                let object = value_at(arguments, pointer).and_then(Value::as_object);
                let fields = object.into_iter().flat_map(|object| object.keys().cloned()).collect();
                let kind = IssueKind::Undeclared { fields };
                return self.push(Issue::new(dotted_path(pointer), None, kind), location);
            }
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                let kind = IssueKind::Undeclared { fields: unexpected };
                return self.push(Issue::new(dotted_path(pointer), None, kind), location);
            }
            ValidationErrorKind::Type { kind } => self.wrong_type(&kind, pointer, &schema_path, &location),
            kind => self.kind_of(kind, &sent, &schema_path),
        };
        self.push(Issue::new(dotted_path(pointer), Some(sent.into_owned()), kind), location);
    }

    /// Adds the issue of a required field that the value at `pointer` lacks.
    fn add_missing(&mut self, name: &str, pointer: &str, location: Option<KeywordLocation>) {
        let tokens = pointer_tokens(pointer).chain(std::iter::once(Cow::Borrowed(name)));
        let expected = expected_at(self.schema, tokens, &self.trail(&location));
        let mut path = dotted_path(pointer);
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(path_segment(name));
        self.push(Issue::new(path, None, IssueKind::Missing { expected }), location);
    }

    /// Adds the issues of a value that fits no branch of a choice, by the errors of each branch.
    fn add_branches(
        &mut self,
        errors: Vec<Vec<LocatedError<'static>>>,
        pointer: &str,
        location: Option<KeywordLocation>,
    ) {
        let mut errors: Vec<Vec<LocatedError<'static>>> =
            errors.into_iter().map(|errors| self.flatten(errors, pointer)).collect();
        let Some(location) = location else { return };
        let branches = FailedBranches { schema_path: &location.pointer, pointer, errors: &errors };
        match judge_branches(self.schema, branches, self.arguments) {
            Judgement::Tag(issue) => self.push(issue, Some(location)),
            Judgement::Selected(branch) if branch < errors.len() => {
                self.add_all(branch_of(&location, branch), errors.swap_remove(branch));
            }
            Judgement::Selected(_) => {}
            Judgement::Intended(branch) => self.add_union(&location, pointer, errors, Ok(branch)),
            Judgement::Value(issue) => self.add_union(&location, pointer, errors, Err(issue)),
        }
    }

    fn wrong_type(
        &self,
        kind: &TypeKind,
        pointer: &str,
        schema_path: &str,
        location: &Option<KeywordLocation>,
    ) -> IssueKind {
        // Of a branch, its own type.
        if self.compared.as_deref() == Some(pointer) {
            let location = schema_path.rsplit_once('/').and_then(|(parent, _)| self.schema.pointer(parent));
            return match location.map(|location| expected_of(self.schema, location)) {
                Some(expected @ Expected::Options(_)) => IssueKind::WrongType { expected },
                _ => IssueKind::WrongType { expected: Expected::Types(type_names(kind)) },
            };
        }
        match expected_at(self.schema, pointer_tokens(pointer), &self.trail(location)) {
            // Options are more informative than a type.
            Expected::Options(options) => IssueKind::WrongType { expected: Expected::Options(options) },
            expected => {
                let names = type_names(kind);
                // For the intended branch, include the types of the other ones, usually `null`.
                let types = match expected {
                    Expected::Types(types) if names.iter().all(|name| types.contains(name)) => types,
                    _ => names,
                };
                IssueKind::WrongType { expected: Expected::Types(types) }
            }
        }
    }

    /// Returns the kind of an issue that is about the sent value alone.
    fn kind_of(&self, kind: ValidationErrorKind, sent: &Value, schema_path: &str) -> IssueKind {
        let bound = |measure, relation, limit: Value| IssueKind::OutOfBounds {
            measure,
            relation,
            limit: if limit.is_f64() { normalize_number(&limit) } else { limit },
        };
        match kind {
            ValidationErrorKind::Enum { options } => {
                let options = options.as_array().cloned().unwrap_or_default();
                if options.is_empty() {
                    IssueKind::Other { keyword: "enum".to_owned(), message: NOTHING_ALLOWED.to_owned() }
                } else if options.iter().all(|option| json_type(option) != json_type(sent)) {
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
            ValidationErrorKind::Pattern { pattern } => match self.format_beside(schema_path) {
                Some(format) if is_pattern_of_format(format, &pattern) => {
                    IssueKind::BadFormat { format: format.to_owned() }
                }
                _ => IssueKind::BadPattern { pattern },
            },
            ValidationErrorKind::MultipleOf { multiple_of } => {
                IssueKind::NotAMultiple { of: normalize_number(&Value::from(multiple_of)) }
            }
            ValidationErrorKind::UniqueItems => IssueKind::NotUnique,
            ValidationErrorKind::Contains => {
                let (parent, keyword) = schema_path.rsplit_once('/').unwrap_or_default();
                let message = contains_message(self.schema, parent, keyword);
                IssueKind::Other { keyword: keyword.to_owned(), message }
            }
            other => IssueKind::Other { keyword: other.keyword().to_owned(), message: other_message(&other) },
        }
    }

    /// Returns the format in the schema of a keyword.
    fn format_beside(&self, location: &str) -> Option<&str> {
        self.schema.pointer(location.rsplit_once('/')?.0)?.get("format")?.as_str()
    }

    /// Returns the way to a keyword that is being added.
    fn trail(&self, location: &Option<KeywordLocation>) -> Trail<'_> {
        let locations: Vec<KeywordLocation> = self.way.iter().chain(location).cloned().collect();
        Trail::new(self.schema, &locations)
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
            schema_at(schema, path, &Trail::default()).is_some()
        };
        let fields = fields.iter().filter(|field| !declared(field)).cloned().collect();
        issue.kind = IssueKind::Undeclared { fields };
    }
    issues.retain(|issue| !matches!(&issue.kind, IssueKind::Undeclared { fields } if fields.is_empty()));
}

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

fn rank(root: &Value, issue: &Issue, arguments: &Value) -> Vec<usize> {
    let trail = Trail::new(root, &issue.keyword_locations);
    let mut schema = Some(resolve_refs(root, root));
    let mut value = Some(arguments);
    let mut rank: Vec<usize> = Vec::new();
    for (depth, segment) in issue.segments(arguments).into_iter().enumerate() {
        rank.push(match segment {
            PathSegment::Index(index) => index,
            PathSegment::Name(name) => {
                let names = schema.map(|schema| property_names(root, schema, &trail, depth)).unwrap_or_default();
                let sent = || value.and_then(Value::as_object)?.keys().position(|sent| sent == name);
                let of_others = || usize::MAX / 2 + sent().unwrap_or_default();
                names.iter().position(|known| *known == name).unwrap_or_else(of_others)
            }
        });
        value = value.and_then(|value| segment.resolve(value));
        let inner = schema.and_then(|schema| subschema(root, schema, &segment.into_name(), &trail, depth));
        schema = inner.map(|inner| resolve_refs(root, inner));
    }
    rank.push(usize::MAX - usize::from(!is_undeclared(issue)));
    rank
}

/// Returns the names of the properties of a schema and its parts, in order.
fn property_names<'s>(root: &'s Value, schema: &'s Value, trail: &Trail<'_>, depth: usize) -> Vec<&'s str> {
    let (mut names, mut schemas, mut at) = (Vec::new(), vec![schema], 0);
    while let Some(schema) = schemas.get(at).copied().filter(|_| at < MAX_STEPS) {
        names.extend(member(schema, "properties").and_then(Value::as_object).into_iter().flat_map(Object::keys));
        schemas.extend(parts(schema, trail, depth).map(|part| resolve_refs(root, part)));
        at += 1;
    }
    names.into_iter().map(String::as_str).collect()
}
