//! The structured reason why a call did not succeed. It is data, never a Rust `Err`, and independent of the error
//! format.

use std::sync::Arc;

use healbench_core::{DomainErrors, ErrorClass};
use serde_json::Value;

use crate::definition::ToolFailure;

/// The reason why a call did not succeed.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// No action could be selected.
    Routing(Routing),
    /// The arguments do not match the input schema.
    Validation {
        /// The tool.
        tool: String,
        /// The action, or the tool's name if it has no discriminator.
        action: String,
        /// All issues, in the order of the schema's properties, with undeclared fields last. Empty if a client refused the call.
        issues: Vec<Issue>,
    },
    /// A handler or a rule rejected the call.
    Tool(ToolFailure),
    /// An injected fault.
    Fault(ToolFailure),
}

/// The reason why no action could be selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Routing {
    /// The discriminator is absent or empty: `null`, `false`, 0 or an empty string.
    MissingDiscriminator {
        /// The discriminator's name.
        field: String,
        /// The existing actions.
        available: Vec<String>,
    },
    /// No action has this name.
    UnknownAction {
        /// The name as sent; a value that is not a string is formatted as JSON.
        action: String,
        /// The existing actions.
        available: Vec<String>,
    },
    /// No tool has this name.
    UnknownTool {
        /// The name as it was sent.
        tool: String,
        /// The existing tools.
        available: Vec<String>,
    },
}

/// One problem with the arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Issue {
    /// The path: names and indices joined by dots, empty for the arguments as a whole. For undeclared fields, the path
    /// of the object that contains them.
    pub path: String,
    /// The value as sent; `None` if it is missing or if the issue is about undeclared fields, whose values are not the
    /// problem.
    pub sent: Option<Value>,
    /// The kind of problem.
    pub kind: IssueKind,
    /// The locations of the failed keyword and of the references and branches on the way to it, outermost first. They tell
    /// which branches of unions the value was held against. Empty if unknown.
    pub keyword_locations: Vec<KeywordLocation>,
    /// The innermost union around the value, or of it, of which no tag selected a branch. `None` without one.
    pub union: Option<Arc<FailedUnion>>,
}

/// The location of a keyword in the input schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeywordLocation {
    /// A JSON pointer.
    pub pointer: Arc<str>,
    /// The number of bytes of the pointer that lead to the target of the reference that was followed last; 0 without one.
    pub target: usize,
    /// The number of segments on the way to the value that the reference was followed for.
    pub depth: usize,
}

impl KeywordLocation {
    /// Returns the pointer of the schema with the keyword, and the keyword.
    pub(crate) fn parent(&self) -> Option<(&str, &str)> {
        self.pointer.rsplit_once('/')
    }
}

/// A value that fits no branch of a union.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedUnion {
    /// The path of the value.
    pub path: String,
    /// The branches, without those for null.
    pub branches: Vec<FailedBranch>,
}

/// A branch of a union, and why the value does not fit it.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedBranch {
    /// The location of the branch in the input schema, as a JSON pointer.
    pub location: String,
    /// The issues of the value under this branch, in the order of the schema's properties.
    pub issues: Vec<Issue>,
}

/// The keyword of an issue that is none, but says that checking stopped.
const STOPPED: &str = "";

impl Issue {
    /// Creates an issue whose location in the schema is unknown.
    pub(crate) fn new(path: String, sent: Option<Value>, kind: IssueKind) -> Issue {
        Issue { path, sent, kind, keyword_locations: Vec::new(), union: None }
    }

    /// Returns true if both say the same of the same value.
    pub(crate) fn says_the_same(&self, other: &Issue) -> bool {
        self.path == other.path && self.kind == other.kind && self.sent == other.sent
    }

    /// Returns the mark at the end of issues that are not all.
    pub(crate) fn checking_stopped() -> Issue {
        let message = "checking stopped here; there may be more problems".to_owned();
        Issue::new(String::new(), None, IssueKind::Other { keyword: STOPPED.to_owned(), message })
    }

    /// Returns true for the mark at the end of issues that are not all. Formats of existing servers do not show it.
    pub fn is_end_mark(&self) -> bool {
        matches!(&self.kind, IssueKind::Other { keyword, .. } if keyword == STOPPED)
    }
}

/// The kind of a problem with one value.
#[derive(Debug, Clone, PartialEq)]
pub enum IssueKind {
    /// A required field is absent.
    Missing {
        /// The expected type or options.
        expected: Expected,
    },
    /// The value has another type.
    WrongType {
        /// The expected type or options.
        expected: Expected,
    },
    /// The value is none of the options.
    NotAnOption {
        /// The options.
        options: Vec<Value>,
    },
    /// A number, a length or a count is out of bounds.
    OutOfBounds {
        /// The measured quantity.
        measure: Quantity,
        /// The required relation to the limit.
        relation: Bound,
        /// The limit.
        limit: Value,
    },
    /// A string does not have the required format.
    BadFormat {
        /// The JSON Schema name of the format, such as `email`.
        format: String,
    },
    /// A string does not match the pattern.
    BadPattern {
        /// The regular expression.
        pattern: String,
    },
    /// A number is not a multiple of another.
    NotAMultiple {
        /// The divisor.
        of: Value,
    },
    /// The items of an array are not unique.
    NotUnique,
    /// Fields that the schema does not declare.
    Undeclared {
        /// The names, in the order in which they were sent.
        fields: Vec<String>,
    },
    /// A violation of any other JSON Schema keyword.
    Other {
        /// The keyword.
        keyword: String,
        /// The validator's message.
        message: String,
    },
}

/// The type or options that a schema requires of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Expected {
    /// One of these types, by their JSON Schema names.
    Types(Vec<String>),
    /// One of these values.
    Options(Vec<Value>),
    /// No requirement that can be expressed as types or options.
    Any,
}

/// The quantity that a bound limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// The value of a number.
    Number,
    /// The number of characters of a string.
    Characters,
    /// The number of items of an array.
    Items,
    /// The number of properties of an object.
    Properties,
}

/// The required relation of a quantity to its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Greater than or equal.
    AtLeast,
    /// Greater than.
    MoreThan,
    /// Less than or equal.
    AtMost,
    /// Less than.
    LessThan,
}

impl Quantity {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Quantity::Number => "number",
            Quantity::Characters => "characters",
            Quantity::Items => "items",
            Quantity::Properties => "properties",
        }
    }
}

impl Bound {
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Bound::AtLeast => ">=",
            Bound::MoreThan => ">",
            Bound::AtMost => "<=",
            Bound::LessThan => "<",
        }
    }
}

impl Failure {
    /// Returns a domain error with only those facts that its text may state; `None` if that is all of them, and for
    /// other failures.
    pub(crate) fn limited_to(&self, domain_errors: DomainErrors) -> Option<Failure> {
        match self {
            Failure::Tool(_) | Failure::Fault(_) if domain_errors.is_everything() => None,
            Failure::Tool(failure) => Some(Failure::Tool(failure.limited_to(domain_errors))),
            Failure::Fault(failure) => Some(Failure::Fault(failure.limited_to(domain_errors))),
            Failure::Routing(_) | Failure::Validation { .. } => None,
        }
    }

    /// Returns the failure class stored in rows.
    pub fn class(&self) -> ErrorClass {
        match self {
            Failure::Routing(Routing::MissingDiscriminator { .. }) => ErrorClass::MissingDiscriminator,
            Failure::Routing(Routing::UnknownAction { .. }) => ErrorClass::UnknownAction,
            Failure::Routing(Routing::UnknownTool { .. }) => ErrorClass::UnknownTool,
            Failure::Validation { .. } => ErrorClass::Validation,
            Failure::Tool(failure) | Failure::Fault(failure) => {
                failure.code.as_deref().map_or(ErrorClass::Uncoded, ErrorClass::from)
            }
        }
    }

    /// Returns the top-level fields that are wrong, sorted and unique. Empty unless the arguments or the discriminator
    /// are at fault.
    pub fn fields(&self) -> Vec<String> {
        let mut fields: Vec<String> = match self {
            Failure::Routing(Routing::MissingDiscriminator { field, .. }) => vec![field.clone()],
            Failure::Validation { issues, .. } => issues.iter().flat_map(Issue::top_level_fields).collect(),
            Failure::Routing(_) | Failure::Tool(_) | Failure::Fault(_) => Vec::new(),
        };
        fields.sort_unstable();
        fields.dedup();
        fields
    }
}

impl Failure {
    /// Returns true if [`fields`](Failure::fields) is not empty.
    pub(crate) fn has_fields(&self) -> bool {
        match self {
            Failure::Routing(Routing::MissingDiscriminator { .. }) => true,
            Failure::Validation { issues, .. } => {
                issues.iter().any(|issue| !issue.path.is_empty() || matches!(issue.kind, IssueKind::Undeclared { .. }))
            }
            Failure::Routing(_) | Failure::Tool(_) | Failure::Fault(_) => false,
        }
    }
}

impl From<ToolFailure> for Failure {
    fn from(failure: ToolFailure) -> Failure {
        Failure::Tool(failure)
    }
}

/// One segment of a path to a nested value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathSegment<'a> {
    Name(&'a str),
    Index(usize),
}

impl PathSegment<'_> {
    pub(crate) fn into_name(self) -> String {
        match self {
            PathSegment::Name(name) => name.to_owned(),
            PathSegment::Index(index) => index.to_string(),
        }
    }

    /// Returns the name or the index as JSON.
    pub(crate) fn to_json(self) -> Value {
        match self {
            PathSegment::Name(name) => name.into(),
            PathSegment::Index(index) => index.into(),
        }
    }

    pub(crate) fn resolve(self, value: &Value) -> Option<&Value> {
        match self {
            PathSegment::Name(name) => value.get(name),
            PathSegment::Index(index) => value.get(index),
        }
    }
}

/// Returns the name of a property as a segment of a path: an empty name as `""`, because an empty path is that of the arguments.
pub(crate) fn path_segment(name: &str) -> &str {
    if name.is_empty() { EMPTY_NAME } else { name }
}

/// Returns the name of the property that a segment of a path stands for.
pub(crate) fn segment_name(segment: &str) -> &str {
    if segment == EMPTY_NAME { "" } else { segment }
}

/// Appends the name of a property to the path of its object.
pub(crate) fn join_path(path: &str, name: &str) -> String {
    let name = path_segment(name);
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

const EMPTY_NAME: &str = "\"\"";

impl Issue {
    /// Splits the path. This requires the arguments, because a property name may look like an index or contain dots.
    pub(crate) fn segments<'a>(&'a self, arguments: &Value) -> Vec<PathSegment<'a>> {
        let mut segments = Vec::new();
        let mut rest = self.path.as_str();
        let mut current = Some(arguments);
        while !rest.is_empty() {
            // The longest existing name.
            let ends = std::iter::once(rest.len()).chain(rest.rmatch_indices('.').map(|(at, _)| at));
            let (segment, end) = match current {
                Some(Value::Array(_)) => {
                    let end = rest.find('.').unwrap_or(rest.len());
                    (rest[..end].parse().map_or(PathSegment::Name(&rest[..end]), PathSegment::Index), end)
                }
                Some(Value::Object(object)) => {
                    // A missing property is always the last segment.
                    let name = |end: usize| segment_name(&rest[..end]);
                    let end = ends.into_iter().find(|end| object.contains_key(name(*end))).unwrap_or(rest.len());
                    (PathSegment::Name(name(end)), end)
                }
                _ => (PathSegment::Name(rest), rest.len()),
            };
            current = current.and_then(|value| segment.resolve(value));
            segments.push(segment);
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        segments
    }

    /// Returns the value that the issue is about, or the object that contains the undeclared fields.
    pub(crate) fn value_in<'a>(&self, arguments: &'a Value) -> Option<&'a Value> {
        self.segments(arguments).into_iter().try_fold(arguments, |value, segment| segment.resolve(value))
    }

    fn top_level_fields(&self) -> Vec<String> {
        match (&self.kind, self.path.split('.').next()) {
            (IssueKind::Undeclared { fields }, Some("")) => fields.clone(),
            (_, Some(first)) if !first.is_empty() => vec![segment_name(first).to_owned()],
            _ => Vec::new(),
        }
    }
}
