//! Why a call did not succeed: data, never a Rust `Err`, and without a word of how it will be written.

use serde_json::Value;

use crate::definition::ToolFailure;

/// Why a call did not succeed.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// No action could be chosen.
    Routing(Routing),
    /// The arguments do not fit the input schema.
    Validation {
        /// The tool.
        tool: String,
        /// The action; the tool's own name when it has no discriminator.
        action: String,
        /// Every issue, in the order of the schema's properties; undeclared fields last. Never empty.
        issues: Vec<Issue>,
    },
    /// A handler or a rule refused.
    Tool(ToolFailure),
    /// An injected fault struck.
    Fault(ToolFailure),
}

/// Why no action could be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Routing {
    /// The discriminator is absent, or says nothing: `null`, `false`, 0 or an empty text.
    MissingDiscriminator {
        /// The discriminator's name.
        field: String,
        /// The actions that exist.
        available: Vec<String>,
    },
    /// No action has this name.
    UnknownAction {
        /// The name as it was sent; what is no text as JSON.
        action: String,
        /// The actions that exist.
        available: Vec<String>,
    },
    /// No tool has this name.
    UnknownTool {
        /// The name as it was sent.
        tool: String,
        /// The tools that exist.
        available: Vec<String>,
    },
}

/// One thing that is wrong with the arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Issue {
    /// Where: names and indices joined by dots, empty for the arguments as a whole. Of undeclared fields, the object that they
    /// stand in.
    pub path: String,
    /// The value as it was sent; `None` when it is missing, and of undeclared fields, whose values are not what is wrong.
    pub sent: Option<Value>,
    /// What is wrong.
    pub kind: IssueKind,
}

/// What is wrong with one value.
#[derive(Debug, Clone, PartialEq)]
pub enum IssueKind {
    /// A required field is absent.
    Missing {
        /// What belongs there.
        expected: Expected,
    },
    /// The value has another type.
    WrongType {
        /// What belongs there.
        expected: Expected,
    },
    /// The value is none of the options.
    NotAnOption {
        /// The options.
        options: Vec<Value>,
    },
    /// A number, a length or a count is out of bounds.
    OutOfBounds {
        /// What is measured.
        measure: Quantity,
        /// What it must be.
        relation: Bound,
        /// The limit.
        limit: Value,
    },
    /// A text is not of its format.
    BadFormat {
        /// The format's JSON Schema name, as in `email`.
        format: String,
    },
    /// A text does not match its pattern.
    BadPattern {
        /// The regular expression.
        pattern: String,
    },
    /// A number is not a multiple.
    NotAMultiple {
        /// Of what.
        of: Value,
    },
    /// An array's items are not unique.
    NotUnique,
    /// Fields that the schema does not declare.
    Undeclared {
        /// Their names, in the order in which they were sent.
        fields: Vec<String>,
    },
    /// Anything else that JSON Schema can express.
    Other {
        /// The schema's keyword.
        keyword: String,
        /// What the validator says.
        message: String,
    },
}

/// What a schema asks for at some place.
#[derive(Debug, Clone, PartialEq)]
pub enum Expected {
    /// One of the JSON types, by their JSON Schema names.
    Types(Vec<String>),
    /// One of these values.
    Options(Vec<Value>),
    /// Nothing that can be said in a word.
    Any,
}

/// What a bound measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// A number itself.
    Number,
    /// The characters of a text.
    Characters,
    /// The items of an array.
    Items,
    /// The properties of an object.
    Properties,
}

/// What a measure must be, against its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Not less.
    AtLeast,
    /// More.
    MoreThan,
    /// Not more.
    AtMost,
    /// Less.
    LessThan,
}

impl Quantity {
    /// The word in data.
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
    /// The sign between a measure and its limit.
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
    /// The one word for it in rows: `VALIDATION`, a routing code, or a tool error's code (`ERROR` when it has none).
    pub fn class(&self) -> &str {
        match self {
            Failure::Routing(Routing::MissingDiscriminator { .. }) => "MISSING_DISCRIMINATOR",
            Failure::Routing(Routing::UnknownAction { .. }) => "UNKNOWN_ACTION",
            Failure::Routing(Routing::UnknownTool { .. }) => "UNKNOWN_TOOL",
            Failure::Validation { .. } => "VALIDATION",
            Failure::Tool(failure) | Failure::Fault(failure) => failure.code.as_deref().unwrap_or("ERROR"),
        }
    }

    /// The top-level fields that are wrong, sorted: what a row keeps. Empty unless arguments or the discriminator are at fault.
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
    /// Whether [`fields`](Failure::fields) has any.
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

/// One step from a value to one inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathSegment<'a> {
    Name(&'a str),
    Index(usize),
}

impl PathSegment<'_> {
    /// As it stands in a path.
    pub(crate) fn into_name(self) -> String {
        match self {
            PathSegment::Name(name) => name.to_owned(),
            PathSegment::Index(index) => index.to_string(),
        }
    }

    /// The value that the step leads to.
    pub(crate) fn resolve(self, value: &Value) -> Option<&Value> {
        match self {
            PathSegment::Name(name) => value.get(name),
            PathSegment::Index(index) => value.get(index),
        }
    }

    /// The schema of that value, as far as plain `properties` and `items` lead there.
    pub(crate) fn resolve_schema(self, schema: &Value) -> Option<&Value> {
        match self {
            PathSegment::Name(name) => schema.get("properties")?.get(name),
            PathSegment::Index(_) => schema.get("items"),
        }
    }
}

impl Issue {
    /// The path taken apart. Only the arguments tell an index from a name that looks like one, and where a name ends that has a
    /// dot in it.
    pub(crate) fn segments<'a>(&'a self, arguments: &Value) -> Vec<PathSegment<'a>> {
        let mut segments = Vec::new();
        let mut rest = self.path.as_str();
        let mut current = Some(arguments);
        while !rest.is_empty() {
            // The longest name that is there.
            let ends = std::iter::once(rest.len()).chain(rest.rmatch_indices('.').map(|(at, _)| at));
            let (segment, end) = match current {
                Some(Value::Array(_)) => {
                    let end = rest.find('.').unwrap_or(rest.len());
                    (rest[..end].parse().map_or(PathSegment::Name(&rest[..end]), PathSegment::Index), end)
                }
                Some(Value::Object(object)) => {
                    // What is not there is missing, and is the last step.
                    let end = ends.into_iter().find(|end| object.contains_key(&rest[..*end])).unwrap_or(rest.len());
                    (PathSegment::Name(&rest[..end]), end)
                }
                _ => (PathSegment::Name(rest), rest.len()),
            };
            current = current.and_then(|value| segment.resolve(value));
            segments.push(segment);
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        segments
    }

    /// The value that the issue is about, or that undeclared fields stand in.
    pub(crate) fn value_in<'a>(&self, arguments: &'a Value) -> Option<&'a Value> {
        self.segments(arguments).into_iter().try_fold(arguments, |value, segment| segment.resolve(value))
    }

    fn top_level_fields(&self) -> Vec<String> {
        match (&self.kind, self.path.split('.').next()) {
            (IssueKind::Undeclared { fields }, Some("")) => fields.clone(),
            (_, Some(first)) if !first.is_empty() => vec![first.to_owned()],
            _ => Vec::new(),
        }
    }
}
