//! Names that are nearly those of others, repetitions, and expectations that say nothing: what is valid, and probably not meant.

use std::collections::{BTreeMap, BTreeSet};

use healbench_core::{Object, json_type};
use healbench_engine::StateCheck;
use healbench_engine::definition::{Action, Handler};
use healbench_text::{nearest_name, plain_text};
use serde_json::Value;

use crate::Diagnostic;
use crate::declared::declared;
use crate::expectation::Expectation;
use crate::generate::TablePlan;
use crate::locate::{Document, child};
use crate::scenario::Scenario;

/// The formats of JSON Schema (draft 2020-12, validation, section 7.3).
const FORMATS: [&str; 19] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

/// The arguments of a list that choose rows without being compared with a column.
const PAGING: [&str; 4] = ["limit", "offset", "sort", "cursor"];

/// Returns a warning for each.
pub(crate) fn oddities(scenario: &Scenario, document: &Document<'_>) -> Vec<Diagnostic> {
    let mut found = repetitions(scenario, document);
    for (at, action) in scenario.placed_actions() {
        found.extend(arguments_without_effect(scenario, action, &at, document));
        let mut note = |at: &str, message: String, help: String| found.push(document.at_value(at, message, Some(help)));
        schema_oddities(&action.input, &child(&at, "input"), &mut note);
    }
    for plan in &scenario.tables {
        found.extend(columns_of_one_row(plan, &child(&child("/world", &plan.def.name), "rows"), document));
    }
    for (index, expectation) in scenario.expect.iter().enumerate() {
        if let Expectation::State(StateCheck::Row { table, matching, .. }) = expectation
            && matching.is_empty()
        {
            let at = child(&child(&child("/expect", index), "row"), "where");
            let help = Some("write the columns that tell the row from others".to_owned());
            found.push(document.at_value(&at, format!("every row of `{table}` is such a row"), help));
        }
    }
    found
}

/// Finds schemas that accept nothing because their `enum` is empty, that list an option twice, or whose format is nearly one of the standard.
fn schema_oddities(schema: &Value, at: &str, note: &mut dyn FnMut(&str, String, String)) {
    let parts: Vec<(String, &Value)> = match schema {
        Value::Object(map) => map.iter().map(|(key, inner)| (child(at, key), inner)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, inner)| (child(at, index), inner)).collect(),
        _ => return,
    };
    for (here, inner) in parts {
        let key = schema.is_object().then(|| here.rsplit('/').next()).flatten();
        match (key, inner) {
            (Some("enum"), Value::Array(options)) if options.is_empty() => {
                note(&here, "no value is one of no options".into(), "list the options, or leave `enum` out".into());
            }
            (Some("enum"), Value::Array(options)) => {
                for index in repeated(options) {
                    note(&child(&here, index), "this option is listed twice".into(), "remove it".into());
                }
            }
            (Some("format"), Value::String(format)) if !FORMATS.contains(&format.as_str()) => {
                if let Some(near) = nearest_name(format, FORMATS) {
                    let message = format!("`{}` is no format of JSON Schema", plain_text(format));
                    note(&here, message, format!("did you mean `{near}`?"));
                }
            }
            // Data, and no schemas.
            (Some("default" | "const" | "example" | "examples"), _) => {}
            _ => schema_oddities(inner, &here, note),
        }
    }
}

/// Returns the places of values that an earlier one equals.
fn repeated(values: &[Value]) -> impl Iterator<Item = usize> {
    (1..values.len()).filter(|index| values[..*index].contains(&values[*index]))
}

/// Finds labels, mistakes to draw, rules, and expectations that are written twice.
fn repetitions(scenario: &Scenario, document: &Document<'_>) -> Vec<Diagnostic> {
    let mut lists = vec![("/tags".to_owned(), "a tag"), ("/expect".to_owned(), "an expectation")];
    let steps = document.value["script"].as_array().map_or(0, Vec::len);
    for index in 0..steps {
        lists.push((child(&child(&child("/script", index), "draw"), "from"), "a mistake"));
    }
    lists.extend(scenario.placed_actions().map(|(at, _)| (child(&at, "rules"), "a rule")));
    let mut found = Vec::new();
    for (at, what) in lists {
        let Some(values) = document.value.pointer(&at).and_then(Value::as_array) else { continue };
        for index in repeated(values) {
            let help = Some("remove it".to_owned());
            found.push(document.at_value(&child(&at, index), format!("{what} that is listed already"), help));
        }
    }
    found
}

/// Finds arguments of a list that filter nothing while a column has nearly the same name.
fn arguments_without_effect(
    scenario: &Scenario,
    action: &Action,
    at: &str,
    document: &Document<'_>,
) -> Vec<Diagnostic> {
    let Handler::Select { table, filters, .. } = &action.handler else { return Vec::new() };
    let Some(plan) = scenario.tables.iter().find(|plan| plan.def.name == *table) else { return Vec::new() };
    let compared: BTreeSet<&str> = filters.iter().map(|filter| filter.column.as_str()).collect();
    let written = plan.def.rows.iter().flat_map(Object::keys).map(String::as_str);
    let columns = plan.columns.iter().map(|(name, _)| name.as_str()).chain(written);
    let free: Vec<&str> = columns.filter(|column| !compared.contains(column)).collect();
    // Whatever else an action says of an argument uses it.
    let parts = ["rules", "meanwhile", "handler"];
    let rest: String =
        parts.iter().filter_map(|part| document.value.pointer(&child(at, part))).map(Value::to_string).collect();
    let names = declared(&action.input).map(|(name, _)| name);
    let unused = names.filter(|name| {
        !PAGING.contains(name) && !filters.iter().any(|filter| filter.argument == *name) && !rest.contains(name)
    });
    let warning = |name: &str| {
        let help = format!("did you mean the column `{}`?", nearest_name(name, free.iter().copied())?);
        let here = child(&child(&child(at, "input"), "properties"), name);
        Some(document.at_key(&here, format!("`{name}` filters nothing"), Some(help)))
    };
    unused.filter_map(warning).collect()
}

/// Finds columns that only one row has, where it lacks a column of nearly the same name that all others have, and values whose type no
/// other row has.
fn columns_of_one_row(plan: &TablePlan, at: &str, document: &Document<'_>) -> Vec<Diagnostic> {
    let rows = &plan.def.rows;
    let mut found = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let others = || rows.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, other)| other);
        let Some(first) = others().next() else { continue };
        let lacking =
            first.keys().filter(|name| !row.contains_key(*name) && others().all(|other| other.contains_key(*name)));
        let lacking: Vec<&str> = lacking.map(String::as_str).collect();
        for name in row.keys().filter(|name| !others().any(|other| other.contains_key(*name))) {
            if let Some(meant) = nearest_name(name, lacking.iter().copied()) {
                let at = child(&child(at, index), name);
                let help = Some(format!("did you mean `{meant}`, as in the other rows?"));
                found.push(document.at_key(&at, format!("only this row has `{name}`"), help));
            }
        }
    }
    for (name, types) in types_of(rows) {
        let [(usual, many), (odd, one)] = types.as_slice() else { continue };
        let (usual, odd) =
            if many.len() >= one.len() { ((*usual, many), (*odd, one)) } else { ((*odd, one), (*usual, many)) };
        if let ([index], true) = (odd.1.as_slice(), usual.1.len() > 1) {
            let message = format!("only in this row, `{name}` is of type {}", odd.0);
            let help = Some(format!("in the others it is of type {}", usual.0));
            found.push(document.at_value(&child(&child(at, index), name), message, help));
        }
    }
    found
}

/// Returns the types of each column, with the rows that have them.
fn types_of(rows: &[Object]) -> BTreeMap<&str, Vec<(&'static str, Vec<usize>)>> {
    let mut columns: BTreeMap<&str, Vec<(&'static str, Vec<usize>)>> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        for (name, value) in row.iter().filter(|(_, value)| !value.is_null()) {
            let types = columns.entry(name).or_default();
            match types.iter_mut().find(|(known, _)| *known == json_type(value)) {
                Some((_, rows)) => rows.push(index),
                None => types.push((json_type(value), vec![index])),
            }
        }
    }
    columns
}
