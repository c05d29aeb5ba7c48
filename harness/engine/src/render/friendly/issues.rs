//! The issues of a validation failure, each with its problem, what was received, what was expected, and the fix.

use std::borrow::Cow;

use serde_json::Value;

use super::place::Place;
use super::words::{Clause, alternatives, at_least, at_most, counted, plain_number, provide, type_words, use_options};
use crate::failure::{Bound, Expected, Issue, IssueKind, Measure};
use crate::render::Told;
use crate::schema::json_type;

/// One numbered item of the list of issues.
#[derive(Debug)]
pub(crate) struct Item<'a> {
    pub(crate) field: Cow<'a, str>,
    pub(crate) problem: String,
    /// None when the field is missing.
    pub(crate) received: Option<&'a Value>,
    pub(crate) expected: String,
    pub(crate) fix: String,
}

/// The items of `issues`; each undeclared field has its own.
pub(crate) fn items<'a>(told: &Told<'a>, issues: &'a [Issue]) -> Vec<Item<'a>> {
    let root = told.action.map(|action| Place::root(&action.schema));
    let mut items = Vec::with_capacity(issues.len());
    for issue in issues {
        let place = root.as_ref().and_then(|root| root.at(&issue.path));
        match &issue.kind {
            IssueKind::Undeclared { fields } => {
                let fix = undeclared_fix(place.as_ref());
                let object = issue.place(told.arguments);
                items.extend(fields.iter().map(|field| {
                    let received = object.and_then(|object| object.get(field));
                    undeclared(&issue.path, field, received, &fix)
                }));
            }
            _ => items.push(Item {
                field: if issue.path.is_empty() { "(root)".into() } else { issue.path.as_str().into() },
                problem: problem(issue),
                received: issue.sent.as_ref(),
                expected: expected(issue, place.as_ref()),
                fix: fix(issue, place.as_ref()),
            }),
        }
    }
    items
}

fn undeclared<'a>(path: &str, field: &'a str, received: Option<&'a Value>, fix: &str) -> Item<'a> {
    Item {
        field: if path.is_empty() { field.into() } else { format!("{path}.{field}").into() },
        problem: "Unrecognized field".to_owned(),
        received,
        expected: "no such field".to_owned(),
        fix: fix.to_owned(),
    }
}

fn undeclared_fix(place: Option<&Place<'_>>) -> String {
    let names = place.map(Place::names_anywhere).unwrap_or_default();
    if names.is_empty() {
        return "Remove this field.".to_owned();
    }
    format!("Remove this field or correct its name. Allowed fields: {}.", names.join(", "))
}

fn problem(issue: &Issue) -> String {
    match &issue.kind {
        IssueKind::Missing { .. } => "Required field is missing".to_owned(),
        IssueKind::WrongType { expected } => {
            format!("Expected {}, received {}", expected_words(expected), received(issue, expected))
        }
        IssueKind::NotAnOption { options } if options.len() == 1 => "Invalid literal value".to_owned(),
        IssueKind::NotAnOption { .. } => "Invalid enum value".to_owned(),
        IssueKind::OutOfBounds { measure, relation, limit } => match measure {
            Measure::Number => format!("Number must be {} {limit}", relation_words(*relation)),
            Measure::Characters => counted(&subject("String must be", *relation), limit, "character", "characters"),
            Measure::Items => counted(&subject("Array must have", *relation), limit, "item", "items"),
            Measure::Properties => counted(&subject("Object must have", *relation), limit, "property", "properties"),
        },
        IssueKind::BadFormat { format } => format!("Invalid {format} format"),
        IssueKind::BadPattern { .. } => "String does not match the required pattern".to_owned(),
        IssueKind::NotAMultiple { of } => format!("Number must be a multiple of {}", plain_number(of)),
        IssueKind::NotUnique => "Array items must be unique".to_owned(),
        IssueKind::Undeclared { .. } => "Unrecognized field".to_owned(),
        IssueKind::Other { message, .. } => format!("Invalid input: {message}"),
    }
}

fn subject(words: &str, relation: Bound) -> String {
    format!("{words} {}", relation_words(relation))
}

fn relation_words(relation: Bound) -> &'static str {
    match relation {
        Bound::AtLeast => "at least",
        Bound::MoreThan => "greater than",
        Bound::AtMost => "at most",
        Bound::LessThan => "less than",
    }
}

fn received(issue: &Issue, expected: &Expected) -> &'static str {
    let found = issue.sent.as_ref().map_or("nothing", json_type);
    let whole = matches!(expected, Expected::Types(names) if names.iter().any(|name| name == "integer"));
    if whole && found == "number" { "float" } else { found }
}

fn expected_words(expected: &Expected) -> String {
    match expected {
        Expected::Types(names) => names.join(" | "),
        Expected::Options(options) => alternatives(options),
        Expected::Any => "another value".to_owned(),
    }
}

fn expected(issue: &Issue, place: Option<&Place<'_>>) -> String {
    let by_schema = || match place {
        Some(place) => match (place.options(), type_words(place)) {
            (Some(options), _) => alternatives(options),
            (None, words) if words == "any" => "valid value".to_owned(),
            (None, words) => words,
        },
        None => "valid value".to_owned(),
    };
    match &issue.kind {
        IssueKind::Missing { expected: Expected::Any } | IssueKind::WrongType { expected: Expected::Any } => {
            by_schema()
        }
        IssueKind::Missing { expected } | IssueKind::WrongType { expected } => expected_words(expected),
        IssueKind::NotAnOption { options } => alternatives(options),
        IssueKind::OutOfBounds { measure: Measure::Number, relation, limit } => match relation {
            Bound::AtLeast => format!("minimum {limit}"),
            Bound::MoreThan => format!("exclusive minimum {limit}"),
            Bound::AtMost => format!("maximum {limit}"),
            Bound::LessThan => format!("exclusive maximum {limit}"),
        },
        IssueKind::OutOfBounds { measure: Measure::Characters, .. } => "string".to_owned(),
        IssueKind::OutOfBounds { measure: Measure::Items, .. } => "array".to_owned(),
        IssueKind::OutOfBounds { measure: Measure::Properties, .. } => "object".to_owned(),
        IssueKind::BadFormat { .. } | IssueKind::BadPattern { .. } => "valid value".to_owned(),
        IssueKind::NotAMultiple { of } => format!("multiple of {}", plain_number(of)),
        IssueKind::NotUnique => "unique items".to_owned(),
        IssueKind::Undeclared { .. } => "no such field".to_owned(),
        IssueKind::Other { .. } => by_schema(),
    }
}

fn fix(issue: &Issue, place: Option<&Place<'_>>) -> String {
    match &issue.kind {
        // What the failure names is what was checked, whatever else the schema says there.
        IssueKind::NotAnOption { options } | IssueKind::WrongType { expected: Expected::Options(options) } => {
            use_options(&options.iter().collect::<Vec<_>>())
        }
        IssueKind::Undeclared { .. } => undeclared_fix(place),
        kind => match (place, clause(kind), kind) {
            (Some(place), clause, _) => provide(place, clause.as_ref()),
            (None, Some(clause), _) => provide(&Place::root(&Value::Bool(true)), Some(&clause)),
            (None, None, IssueKind::Missing { expected } | IssueKind::WrongType { expected }) => match expected {
                Expected::Types(names) => format!("Provide {}.", named(names)),
                Expected::Options(options) => use_options(&options.iter().collect::<Vec<_>>()),
                Expected::Any => "Provide a valid value.".to_owned(),
            },
            (None, None, _) => "Provide a valid value.".to_owned(),
        },
    }
}

fn named(types: &[String]) -> String {
    let article = |name: &String| match name.as_str() {
        "null" => "null".to_owned(),
        "array" | "object" => format!("an {name}"),
        name => format!("a {name}"),
    };
    types.iter().map(article).collect::<Vec<_>>().join(" or ")
}

/// What the failure itself says about a valid value.
fn clause(kind: &IssueKind) -> Option<Clause> {
    Some(match kind {
        IssueKind::OutOfBounds { measure, relation, limit } => match (measure, relation) {
            (Measure::Number, Bound::AtLeast) => Clause::new("number", format!(">= {limit}")),
            (Measure::Number, Bound::MoreThan) => Clause::new("number", format!("> {limit}")),
            (Measure::Number, Bound::AtMost) => Clause::new("number", format!("<= {limit}")),
            (Measure::Number, Bound::LessThan) => Clause::new("number", format!("< {limit}")),
            (Measure::Characters, Bound::AtLeast) => Clause::new("string", at_least(limit, "character")),
            (Measure::Characters, _) => Clause::new("string", at_most(limit, "character")),
            (Measure::Items, Bound::AtLeast) => Clause::new("array", at_least(limit, "item")),
            (Measure::Items, _) => Clause::new("array", at_most(limit, "item")),
            (Measure::Properties, Bound::AtLeast) => {
                Clause::new("object", counted("at least", limit, "property", "properties"))
            }
            (Measure::Properties, _) => Clause::new("object", counted("at most", limit, "property", "properties")),
        },
        IssueKind::BadFormat { format } => Clause::new("string", format!("in {format} format")),
        IssueKind::BadPattern { pattern } => Clause::new("string", format!("matching pattern {pattern}")),
        IssueKind::NotAMultiple { of } => Clause::new("number", format!("multiple of {}", plain_number(of))),
        IssueKind::NotUnique => Clause::new("array", "all items must be unique".to_owned()),
        _ => return None,
    })
}
