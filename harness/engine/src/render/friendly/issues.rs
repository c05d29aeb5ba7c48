//! The issues of a validation failure, each with its problem, the received and the expected value, and the fix.

use std::borrow::Cow;

use serde_json::Value;

use super::phrases::{
    Clause, MAX_DEPTH, at_least, at_most, constraints, count_phrase, expected_phrase, number_text, option_union,
    options_fix, provide_fix, type_label,
};
use super::schema_node::SchemaNode;
use crate::failure::{Bound, Expected, Issue, IssueKind, Quantity, join_path};
use crate::render::RenderInput;
use crate::render::excerpt::excerpt;
use crate::schema::{Trail, json_type};

/// A numbered item of the list of issues.
#[derive(Debug)]
pub(crate) struct IssueItem<'a> {
    pub(crate) field: Cow<'a, str>,
    pub(crate) problem: String,
    /// `None` if the field is missing.
    pub(crate) received: Option<Cow<'a, Value>>,
    pub(crate) expected: String,
    pub(crate) fix: String,
}

/// Returns the items of `issues`; each undeclared field has a separate one.
pub(crate) fn issue_items<'a>(input: &RenderInput<'a>, issues: &'a [Issue]) -> Vec<IssueItem<'a>> {
    let root = input.action.map(|action| SchemaNode::root(&action.schema));
    let mut items = Vec::with_capacity(issues.len());
    for issue in issues {
        let node = root.as_ref().and_then(|root| node_of(root, issue, input.arguments));
        match &issue.kind {
            IssueKind::Undeclared { fields } => {
                let fix = undeclared_fix(node.as_ref(), fields);
                let object = issue.value_in(input.arguments);
                items.extend(fields.iter().take(MAX_UNDECLARED).map(|field| {
                    let received = object.and_then(|object| object.get(field));
                    undeclared_item(&issue.path, field, received, &fix)
                }));
                if let Some(more) = fields.len().checked_sub(MAX_UNDECLARED + 1) {
                    items.push(undeclared_item(&issue.path, "…", None, &format!("Remove {} more fields.", more + 1)));
                }
            }
            _ => items.push(IssueItem {
                field: if issue.path.is_empty() { "(root)".into() } else { issue.path.as_str().into() },
                problem: problem(issue),
                received: issue.sent.as_ref().map(excerpt),
                expected: expected(issue, node.as_ref()),
                fix: fix(issue, node.as_ref()),
            }),
        }
    }
    items
}

/// Returns what the schema requires of the value of an issue: its type, bounds, format and options, each as a phrase.
pub(crate) fn requirements(input: &RenderInput<'_>, issue: &Issue) -> Vec<String> {
    let root = input.action.map(|action| SchemaNode::root(&action.schema));
    let Some(node) = root.and_then(|root| node_of(&root, issue, input.arguments)) else { return Vec::new() };
    let (non_null, nullable) = node.without_null();
    let node = non_null.unwrap_or(node);
    let kind = type_label(&node);
    let types = (kind != "any").then(|| if nullable { format!("{kind} | null") } else { kind });
    let constraints = constraints(&node).into_iter().filter(|phrase| !phrase.starts_with("Default: "));
    types.into_iter().chain(constraints).collect()
}

/// Returns the names of the properties that the schema declares for the object of an issue.
pub(crate) fn declared_names(input: &RenderInput<'_>, issue: &Issue) -> Vec<String> {
    let root = input.action.map(|action| SchemaNode::root(&action.schema));
    let node = root.and_then(|root| node_of(&root, issue, input.arguments));
    node.map(|node| node.all_property_names().into_iter().map(str::to_owned).collect()).unwrap_or_default()
}

/// Returns the node of the value of an issue, by the branches that the value was held against.
fn node_of<'s>(root: &SchemaNode<'s>, issue: &Issue, arguments: &Value) -> Option<SchemaNode<'s>> {
    let trail = Trail::new(root.root, &issue.keyword_locations);
    root.at(&issue.segments(arguments), &trail)
}

fn undeclared_item<'a>(path: &str, field: &'a str, received: Option<&'a Value>, fix: &str) -> IssueItem<'a> {
    IssueItem {
        field: join_path(path, field).into(),
        problem: "Unrecognized field".to_owned(),
        received: received.map(excerpt),
        expected: "no such field".to_owned(),
        fix: fix.to_owned(),
    }
}

/// A name that only another branch declares may be one of the `undeclared` fields.
fn undeclared_fix(node: Option<&SchemaNode<'_>>, undeclared: &[String]) -> String {
    let mut names = node.map(SchemaNode::all_property_names).unwrap_or_default();
    if names.len() > MAX_ALLOWED {
        names.truncate(MAX_ALLOWED);
        names.push("and others");
    }
    names.retain(|name| !undeclared.iter().any(|field| field == name));
    if names.is_empty() {
        return "Remove this field.".to_owned();
    }
    format!("Remove this field or correct its name. Allowed fields: {}.", names.join(", "))
}

fn problem(issue: &Issue) -> String {
    match &issue.kind {
        IssueKind::Missing { .. } => "Required field is missing".to_owned(),
        IssueKind::WrongType { expected } => {
            format!("Expected {}, received {}", expected_text(expected), received_type(issue, expected))
        }
        IssueKind::NotAnOption { options } if options.len() == 1 => "Invalid literal value".to_owned(),
        IssueKind::NotAnOption { .. } => "Invalid enum value".to_owned(),
        IssueKind::OutOfBounds { measure, relation, limit } => match measure {
            Quantity::Number => format!("Number must be {} {limit}", relation_phrase(*relation)),
            Quantity::Characters => {
                count_phrase(&subject("String must be", *relation), limit, "character", "characters")
            }
            Quantity::Items => count_phrase(&subject("Array must have", *relation), limit, "item", "items"),
            Quantity::Properties => {
                count_phrase(&subject("Object must have", *relation), limit, "property", "properties")
            }
        },
        IssueKind::BadFormat { format } => format!("Invalid {format} format"),
        IssueKind::BadPattern { .. } => "String does not match the required pattern".to_owned(),
        IssueKind::NotAMultiple { of } => format!("Number must be a multiple of {}", number_text(of)),
        IssueKind::NotUnique => "Array items must be unique".to_owned(),
        IssueKind::Undeclared { .. } => "Unrecognized field".to_owned(),
        IssueKind::Other { message, .. } => format!("Invalid input: {message}"),
    }
}

fn subject(phrase: &str, relation: Bound) -> String {
    format!("{phrase} {}", relation_phrase(relation))
}

fn relation_phrase(relation: Bound) -> &'static str {
    match relation {
        Bound::AtLeast => "at least",
        Bound::MoreThan => "greater than",
        Bound::AtMost => "at most",
        Bound::LessThan => "less than",
    }
}

fn received_type(issue: &Issue, expected: &Expected) -> &'static str {
    let found = issue.sent.as_ref().map_or("nothing", json_type);
    let wants_integer = matches!(expected, Expected::Types(names) if names.iter().any(|name| name == "integer"));
    if wants_integer && found == "number" { "float" } else { found }
}

fn expected_text(expected: &Expected) -> String {
    match expected {
        Expected::Types(names) => names.join(" | "),
        Expected::Options(options) => option_union(options),
        Expected::Any => "another value".to_owned(),
    }
}

fn expected(issue: &Issue, node: Option<&SchemaNode<'_>>) -> String {
    let by_schema = || match node {
        Some(node) => match (node.options(), type_label(node)) {
            (Some(options), _) => option_union(options),
            (None, phrase) if phrase == "any" => "valid value".to_owned(),
            (None, phrase) => phrase,
        },
        None => "valid value".to_owned(),
    };
    match &issue.kind {
        IssueKind::Missing { expected: Expected::Any } | IssueKind::WrongType { expected: Expected::Any } => {
            by_schema()
        }
        IssueKind::Missing { expected } | IssueKind::WrongType { expected } => expected_text(expected),
        IssueKind::NotAnOption { options } => option_union(options),
        IssueKind::OutOfBounds { measure: Quantity::Number, relation, limit } => match relation {
            Bound::AtLeast => format!("minimum {limit}"),
            Bound::MoreThan => format!("exclusive minimum {limit}"),
            Bound::AtMost => format!("maximum {limit}"),
            Bound::LessThan => format!("exclusive maximum {limit}"),
        },
        IssueKind::OutOfBounds { measure: Quantity::Characters, .. } => "string".to_owned(),
        IssueKind::OutOfBounds { measure: Quantity::Items, .. } => "array".to_owned(),
        IssueKind::OutOfBounds { measure: Quantity::Properties, .. } => "object".to_owned(),
        IssueKind::BadFormat { .. } | IssueKind::BadPattern { .. } => "valid value".to_owned(),
        IssueKind::NotAMultiple { of } => format!("multiple of {}", number_text(of)),
        IssueKind::NotUnique => "unique items".to_owned(),
        IssueKind::Undeclared { .. } => "no such field".to_owned(),
        IssueKind::Other { .. } => by_schema(),
    }
}

fn fix(issue: &Issue, node: Option<&SchemaNode<'_>>) -> String {
    match &issue.kind {
        IssueKind::NotAnOption { options }
        | IssueKind::Missing { expected: Expected::Options(options) }
        | IssueKind::WrongType { expected: Expected::Options(options) } => options_fix(&allowed(options, issue, node)),
        IssueKind::Undeclared { fields } => undeclared_fix(node, fields),
        IssueKind::Other { keyword, message } => other_fix(keyword, message, issue, node),
        kind => match (node, clause(kind), kind) {
            (Some(node), clause, _) => provide_fix(node, clause.as_ref()),
            (None, Some(clause), _) => provide_fix(&SchemaNode::root(&Value::Bool(true)), Some(&clause)),
            (None, None, IssueKind::Missing { expected } | IssueKind::WrongType { expected }) => match expected {
                Expected::Types(names) => format!("Provide {}.", types_phrase(names)),
                Expected::Options(options) => options_fix(&options.iter().collect::<Vec<_>>()),
                Expected::Any => "Provide a valid value.".to_owned(),
            },
            (None, None, _) => "Provide a valid value.".to_owned(),
        },
    }
}

/// Returns those of the options that a failed keyword names which the other schemas of the value allow too, if there are any.
/// Those of a tag are of several branches.
fn allowed<'v>(options: &'v [Value], issue: &Issue, node: Option<&SchemaNode<'_>>) -> Vec<&'v Value> {
    let is_tag = matches!(failed_keyword(issue), Some("anyOf" | "oneOf"));
    let common = node.filter(|_| !is_tag).and_then(SchemaNode::options).unwrap_or_default();
    let both: Vec<&Value> = options.iter().filter(|option| common.contains(option)).collect();
    if both.is_empty() { options.iter().collect() } else { both }
}

fn failed_keyword(issue: &Issue) -> Option<&str> {
    Some(issue.keyword_locations.last()?.parent()?.1)
}

/// Returns the fix for a keyword that has no kind of issue of its own.
fn other_fix(keyword: &str, message: &str, issue: &Issue, node: Option<&SchemaNode<'_>>) -> String {
    // The failure calls all unions alike.
    let keyword = failed_keyword(issue).filter(|failed| keyword == "anyOf" && *failed == "oneOf").unwrap_or(keyword);
    let failed = node.and_then(|node| node.failed_schema(issue, keyword));
    let by_schema = || match (keyword, node, &failed) {
        ("anyOf" | "oneOf", _, Some(failed)) => union_fix(keyword, failed),
        ("contains" | "minContains" | "maxContains", _, Some(failed)) => contains_fix(failed),
        ("propertyNames", _, Some(failed)) => {
            let names = failed.named_part("propertyNames")?;
            Some(format!("Use only field names that are {}.", expected_phrase(&names, None, MAX_DEPTH)))
        }
        ("not", ..) => Some(format!("Provide another value: {message}.")),
        ("enum" | "falseSchema", ..) if !issue.path.is_empty() => Some("Remove this field.".to_owned()),
        ("unevaluatedItems" | "additionalItems", ..) => Some("Remove the items that are not declared.".to_owned()),
        (_, Some(node), _) => Some(provide_fix(node, None)),
        _ => None,
    };
    by_schema().unwrap_or_else(|| "Provide a valid value.".to_owned())
}

/// The largest numbers of alternatives and of allowed fields that a fix names, and of undeclared fields that are listed.
const MAX_ALTERNATIVES: usize = 10;
const MAX_ALLOWED: usize = 50;
const MAX_UNDECLARED: usize = 100;

/// Returns the fix for a value that fits no branch, or too many.
fn union_fix(keyword: &str, schema: &SchemaNode<'_>) -> Option<String> {
    let branches = schema.alternatives_of(keyword);
    if branches.is_empty() {
        return None;
    }
    let groups: Option<Vec<Vec<&str>>> = branches.iter().map(SchemaNode::only_required).collect();
    let amount = if keyword == "oneOf" { "only" } else { "at least" };
    match groups {
        Some(groups) if groups.iter().all(|group| group.len() == 1) => {
            Some(format!("Send {amount} one of these fields: {}.", groups.concat().join(", ")))
        }
        Some(groups) => {
            let groups: Vec<String> = groups.iter().map(|group| group.join(" and ")).collect();
            Some(format!("Send {amount} one of these groups of fields: {}.", groups.join("; ")))
        }
        None => {
            let mut phrases: Vec<String> = Vec::new();
            for branch in branches.iter().take(MAX_ALTERNATIVES) {
                let phrase = expected_phrase(branch, None, MAX_DEPTH);
                if !phrases.contains(&phrase) {
                    phrases.push(phrase);
                }
            }
            let both = if keyword == "oneOf" && branches.len() > 1 { ", but only one of these" } else { "" };
            (!phrases.is_empty()).then(|| format!("Provide {}{both}.", phrases.join(" or ")))
        }
    }
}

fn contains_fix(schema: &SchemaNode<'_>) -> Option<String> {
    let item = schema.named_part("contains")?;
    let item = item.options().map_or_else(|| expected_phrase(&item, None, MAX_DEPTH), option_union);
    let one = Value::from(1);
    let least = schema.keyword_value("minContains").unwrap_or(&one);
    let (items, are) = if least.as_f64() == Some(1.0) { ("item", "is") } else { ("items", "are") };
    let most = schema.keyword_value("maxContains").map(|most| format!(" and at most {}", number_text(most)));
    let most = most.unwrap_or_default();
    Some(format!("Provide an array with at least {}{most} {items} that {are} {item}.", number_text(least)))
}

fn types_phrase(types: &[String]) -> String {
    let article = |name: &String| match name.as_str() {
        "null" => "null".to_owned(),
        "array" | "object" => format!("an {name}"),
        name => format!("a {name}"),
    };
    types.iter().map(article).collect::<Vec<_>>().join(" or ")
}

/// Returns the requirement stated by the failure itself.
fn clause(kind: &IssueKind) -> Option<Clause> {
    Some(match kind {
        IssueKind::OutOfBounds { measure, relation, limit } => match (measure, relation) {
            (Quantity::Number, Bound::AtLeast) => Clause::new("number", format!(">= {limit}")),
            (Quantity::Number, Bound::MoreThan) => Clause::new("number", format!("> {limit}")),
            (Quantity::Number, Bound::AtMost) => Clause::new("number", format!("<= {limit}")),
            (Quantity::Number, Bound::LessThan) => Clause::new("number", format!("< {limit}")),
            (Quantity::Characters, Bound::AtLeast) => Clause::new("string", at_least(limit, "character")),
            (Quantity::Characters, _) => Clause::new("string", at_most(limit, "character")),
            (Quantity::Items, Bound::AtLeast) => Clause::new("array", at_least(limit, "item")),
            (Quantity::Items, _) => Clause::new("array", at_most(limit, "item")),
            (Quantity::Properties, Bound::AtLeast) => {
                Clause::new("object", count_phrase("at least", limit, "property", "properties"))
            }
            (Quantity::Properties, _) => {
                Clause::new("object", count_phrase("at most", limit, "property", "properties"))
            }
        },
        IssueKind::BadFormat { format } => Clause::new("string", format!("in {format} format")),
        IssueKind::BadPattern { pattern } => Clause::new("string", format!("matching pattern {pattern}")),
        IssueKind::NotAMultiple { of } => Clause::new("number", format!("multiple of {}", number_text(of))),
        IssueKind::NotUnique => Clause::new("array", "all items must be unique".to_owned()),
        _ => return None,
    })
}
