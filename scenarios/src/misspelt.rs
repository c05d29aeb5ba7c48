//! Texts of rows, rules and expectations that are nearly one of those that the column or the argument can have.

use std::collections::BTreeSet;

use healbench_engine::StateCheck;
use healbench_engine::definition::{Action, Expression, Handler, Operand};
use healbench_text::{nearest_name, plain_text};
use serde_json::Value;

use crate::Diagnostic;
use crate::expectation::Expectation;
use crate::locate::{Document, child};
use crate::scenario::Scenario;
use crate::suggest::help;

/// The keys of a condition whose values are compared as they stand.
const COMPARED: [&str; 4] = ["equals", "not", "in", "not_in"];

/// Returns a warning for each.
pub(crate) fn misspelt_values(scenario: &Scenario, document: &Document<'_>) -> Vec<Diagnostic> {
    let mut found = Found { scenario, document, warnings: Vec::new() };
    for plan in &scenario.tables {
        let rows = child(&child("/world", &plan.def.name), "rows");
        for (index, row) in plan.def.rows.iter().enumerate() {
            for (column, value) in row {
                let options = options_of(scenario, &plan.def.name, column);
                let at = child(&child(&rows, index), column);
                found.text(&at, value, &options, "no option of the argument of that name");
            }
        }
    }
    for tool in &scenario.tools {
        let actions = child(&child("/tools", &tool.name), "actions");
        for action in &tool.actions {
            let rules = child(&child(&actions, &action.name), "rules");
            for (index, rule) in
                document.value.pointer(&rules).and_then(Value::as_array).into_iter().flatten().enumerate()
            {
                for (kind, inner) in
                    rule.as_object().into_iter().flatten().filter(|(_, inner)| inner["when"].is_object())
                {
                    found.condition(action, &child(&child(&child(&rules, index), kind), "when"), &inner["when"]);
                }
            }
        }
    }
    for (index, expectation) in scenario.expect.iter().enumerate() {
        let (kind, table, matching) = match expectation {
            Expectation::State(StateCheck::NoRow { table, matching }) => ("no_row", table, matching),
            Expectation::State(StateCheck::Count { table, matching, .. }) => ("count", table, matching),
            // What no row has is not led to, and so a problem.
            _ => continue,
        };
        let at = child(&child(&child("/expect", index), kind), "where");
        for (column, value) in matching {
            let known = values_of(scenario, table, column);
            found.text(&child(&at, column), value, &known, "no value that a row can have");
        }
    }
    found.warnings
}

struct Found<'a> {
    scenario: &'a Scenario,
    document: &'a Document<'a>,
    warnings: Vec<Diagnostic>,
}

impl Found<'_> {
    /// Compares the constants of a condition with what arguments and columns can be.
    fn condition(&mut self, action: &Action, at: &str, when: &Value) {
        for (name, condition) in when.as_object().into_iter().flatten() {
            let at = child(at, name);
            match name.as_str() {
                "now" => {}
                "row" => {
                    let table = action.handler.table().unwrap_or_default();
                    self.columns(table, &at, condition);
                }
                "rows" => {
                    let table = condition["in"].as_str().unwrap_or_default();
                    self.columns(table, &child(&at, "where"), &condition["where"]);
                }
                _ => {
                    let known = options(&action.input["properties"][name], &action.input);
                    self.constants(&at, condition, &known, "no option of the argument of that name");
                }
            }
        }
    }

    fn columns(&mut self, table: &str, at: &str, conditions: &Value) {
        for (column, condition) in conditions.as_object().into_iter().flatten() {
            let known = values_of(self.scenario, table, column);
            self.constants(&child(at, column), condition, &known, "no value that a row can have");
        }
    }

    fn constants(&mut self, at: &str, condition: &Value, known: &BTreeSet<String>, what: &str) {
        match condition {
            Value::Object(operators) => {
                for (operator, value) in operators.iter().filter(|(name, _)| COMPARED.contains(&name.as_str())) {
                    self.constants(&child(at, operator), value, known, what);
                }
            }
            Value::Array(values) => {
                for (index, value) in values.iter().enumerate() {
                    self.text(&child(at, index), value, known, what);
                }
            }
            value => self.text(at, value, known, what),
        }
    }

    /// Notes a text that is none of the known ones, and nearly one of them.
    fn text(&mut self, at: &str, value: &Value, known: &BTreeSet<String>, what: &str) {
        let Some(text) = value.as_str().filter(|text| !known.contains(*text)) else { return };
        let known = || known.iter().map(String::as_str);
        if nearest_name(text, known()).is_some() {
            self.warnings.push(self.document.at_value(
                at,
                format!("`{}` is {what}", plain_text(text)),
                help(text, known()),
            ));
        }
    }
}

/// Returns the options of the arguments that have the name of a column, in actions on the table.
fn options_of(scenario: &Scenario, table: &str, column: &str) -> BTreeSet<String> {
    let actions = scenario.tools.iter().flat_map(|tool| &tool.actions);
    let on_table = actions.filter(|action| action.handler.table() == Some(table));
    on_table.flat_map(|action| options(&action.input["properties"][column], &action.input)).collect()
}

/// Returns the texts that a column can have, as far as the file has them: of rows, options and handlers. Empty if arguments or generated
/// rows can give it any text.
fn values_of(scenario: &Scenario, table: &str, column: &str) -> BTreeSet<String> {
    let mut values = options_of(scenario, table, column);
    for plan in scenario.tables.iter().filter(|plan| plan.def.name == *table) {
        if plan.columns.iter().any(|(name, _)| name == column) {
            return BTreeSet::new();
        }
        values.extend(plan.def.rows.iter().filter_map(|row| row.get(column)?.as_str()).map(str::to_owned));
    }
    for action in scenario.tools.iter().flat_map(|tool| &tool.actions) {
        let writes = matches!(action.handler, Handler::Insert { .. } | Handler::Update { .. });
        let is_own = writes && action.handler.table() == Some(table);
        let argument = &action.input["properties"][column];
        if is_own && !argument.is_null() && options(argument, &action.input).is_empty() {
            return BTreeSet::new();
        }
        let own = action.effects.set.iter().filter(|_| is_own);
        let others = action.effects.meanwhile.iter().chain(&action.effects.also).filter(|write| write.table() == table);
        let set = own.chain(others.flat_map(|write| write.set())).filter(|(name, _)| name == column);
        for (_, expression) in set {
            match expression {
                Expression::Operand(Operand::Constant(value)) => values.extend(value.as_str().map(str::to_owned)),
                _ => return BTreeSet::new(),
            }
        }
    }
    values
}

/// The alternatives within alternatives, and references, that are followed. A schema may contain itself.
const MAX_DEPTH: u32 = 3;

/// Returns the texts in the `enum` of a schema, of its alternatives, and of what it refers to.
fn options(schema: &Value, root: &Value) -> BTreeSet<String> {
    options_within(schema, root, MAX_DEPTH)
}

fn options_within(schema: &Value, root: &Value, depth: u32) -> BTreeSet<String> {
    let own = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    let mut found: BTreeSet<String> = own.collect();
    if let Some(depth) = depth.checked_sub(1) {
        let referred = schema["$ref"].as_str().and_then(|to| root.pointer(to.strip_prefix('#')?));
        let parts =
            ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema[*key].as_array()).flatten().chain(referred);
        found.extend(parts.flat_map(|part| options_within(part, root, depth)));
    }
    found
}
