//! Names that are nearly those of others, and expectations that say nothing: what is valid, and probably not meant.

use std::collections::BTreeSet;

use healbench_core::Object;
use healbench_engine::StateCheck;
use healbench_engine::definition::{Action, Handler};
use healbench_text::nearest_name;
use serde_json::Value;

use crate::Diagnostic;
use crate::expectation::Expectation;
use crate::generate::TablePlan;
use crate::locate::{Document, child};
use crate::scenario::Scenario;

/// The arguments of a list that choose rows without being compared with a column.
const PAGING: [&str; 4] = ["limit", "offset", "sort", "cursor"];

/// Returns a warning for each.
pub(crate) fn oddities(scenario: &Scenario, document: &Document<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for tool in &scenario.tools {
        let actions = child(&child("/tools", &tool.name), "actions");
        for action in &tool.actions {
            let at = child(&actions, &action.name);
            found.extend(arguments_without_effect(scenario, action, &at, document));
            no_options(&action.input, &child(&at, "input"), &mut |at| {
                let help = Some("list the options, or leave `enum` out".to_owned());
                found.push(document.at_value(at, "no value is one of no options", help));
            });
        }
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

/// Finds schemas that accept nothing because their `enum` is empty.
fn no_options(schema: &Value, at: &str, note: &mut dyn FnMut(&str)) {
    match schema {
        Value::Object(map) => {
            for (key, inner) in map {
                let here = child(at, key);
                match key == "enum" && inner.as_array().is_some_and(Vec::is_empty) {
                    true => note(&here),
                    false => no_options(inner, &here, note),
                }
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                no_options(inner, &child(at, index), note);
            }
        }
        _ => {}
    }
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
    let names = action.input["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
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

/// Finds columns that only one row has, where it lacks a column of nearly the same name that all others have.
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
    found
}
