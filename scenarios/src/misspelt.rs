//! Texts of rows, rules and expectations that are nearly one of those that the column or the argument can have.

use std::collections::BTreeSet;

use healbench_core::{Object, ToolCall, property};
use healbench_engine::definition::{Action, Expression, Handler, Operand, Write};
use healbench_engine::{StateCheck, validate};
use healbench_text::{nearest_name, plain_text};
use serde_json::Value;

use crate::Diagnostic;
use crate::declared::declared;
use crate::expectation::{CallPattern, Expectation};
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
    for (at, action) in scenario.placed_actions() {
        let rules = child(&at, "rules");
        for (index, rule) in document.value.pointer(&rules).and_then(Value::as_array).into_iter().flatten().enumerate()
        {
            for (kind, inner) in rule.as_object().into_iter().flatten().filter(|(_, inner)| inner["when"].is_object()) {
                found.condition(action, &child(&child(&child(&rules, index), kind), "when"), &inner["when"]);
            }
        }
    }
    for (at, action) in scenario.placed_actions() {
        found.columns_set(action, &at);
        found.actions_named(&at);
    }
    for index in 0..scenario.faults.len() {
        found.actions_named(&child("/faults", index));
    }
    for (index, expectation) in scenario.expect.iter().enumerate() {
        let (kind, table, matching) = match expectation {
            Expectation::NotCalled(pattern) => {
                found.pattern(&child(&child("/expect", index), "not_called"), pattern);
                continue;
            }
            Expectation::AtMost(_, pattern) => {
                found.pattern(&child(&child("/expect", index), "at_most"), pattern);
                continue;
            }
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
                    let known = options(property(&action.input, &action.input, name), &action.input);
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

    /// Notes arguments that no call can have, of a call that is not to be made.
    fn pattern(&mut self, at: &str, pattern: &CallPattern) {
        let call = ToolCall::new(&pattern.tool, Value::Object(pattern.arguments.clone()));
        let Some(action) = self.scenario.action_of(&call) else { return };
        let at = child(at, "arguments");
        let mut input = action.input.clone();
        if let Some(input) = input.as_object_mut() {
            input.shift_remove("required");
        }
        // The argument that selects the action is not written here.
        let written = |name: &str| self.document.value.pointer(&child(&at, name)).is_some();
        for (name, value) in pattern.arguments.iter().filter(|(name, _)| written(name)) {
            let known = || declared(&action.input).map(|(name, _)| name);
            let is_known = known().any(|known| known == name);
            if !is_known && nearest_name(name, known()).is_some() {
                let message =
                    format!("the action declares no argument `{}`, so that no call is meant", plain_text(name));
                self.warnings.push(self.document.at_key(&child(&at, name), message, help(name, known())));
            }
            let is_plain = !value.is_object() && !value.is_array();
            let sent = Value::Object(Object::from_iter([(name.clone(), value.clone())]));
            if is_known && is_plain && validate(&input, &sent).is_ok_and(|issues| !issues.is_empty()) {
                let message = format!("the input schema rejects {value}, so that no call is meant");
                self.warnings.push(self.document.at_value(&child(&at, name), message, None));
            }
        }
    }

    /// Notes columns that an action sets and that no row has, where rows have one of nearly that name.
    fn columns_set(&mut self, action: &Action, at: &str) {
        let handler = child(at, "handler");
        let listed = |list: String, writes: &'_ [Write]| -> Vec<(String, String, Vec<String>)> {
            let one = |(index, write): (usize, &Write)| {
                let names = write.set().iter().map(|(name, _)| name.clone()).collect();
                (child(&list, index), write.table().to_owned(), names)
            };
            writes.iter().enumerate().map(one).collect()
        };
        let mut all = listed(child(at, "meanwhile"), &action.effects.meanwhile);
        all.extend(listed(child(&handler, "also"), &action.effects.also));
        let own = action.effects.set.iter().map(|(name, _)| name.clone()).collect();
        all.push((handler, action.handler.table().unwrap_or_default().to_owned(), own));
        for (at, table, names) in all {
            let Some(plan) = self.scenario.tables.iter().find(|plan| plan.def.name == table) else { continue };
            let generated = plan.columns.iter().map(|(name, _)| name.as_str());
            let known: BTreeSet<&str> =
                plan.def.rows.iter().flat_map(|row| row.keys().map(String::as_str)).chain(generated).collect();
            for name in names.iter().filter(|name| !known.contains(name.as_str())) {
                if nearest_name(name, known.iter().copied()).is_some() {
                    let message = format!("no row of `{}` has `{}`", plain_text(&table), plain_text(name));
                    self.warnings.push(self.document.at_key(
                        &child(&child(&at, "set"), name),
                        message,
                        help(name, known.iter().copied()),
                    ));
                }
            }
        }
    }

    /// Notes names such as `books.lent` in the messages and recoveries at and below a place, if the tool has no such action but nearly such a
    /// one. A text may be wrong on purpose.
    fn actions_named(&mut self, at: &str) {
        let Some(map) = self.document.value.pointer(at).and_then(Value::as_object) else { return };
        for (key, value) in map.iter().filter(|_| map.get("misleading") != Some(&Value::Bool(true))) {
            let at = child(at, key);
            match value {
                Value::String(text) if ["message", "recovery"].contains(&key.as_str()) => {
                    let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '_' | '-'));
                    for (tool, name) in words.filter_map(|word| word.trim_end_matches('.').split_once('.')) {
                        let tool = self.scenario.tools.iter().find(|known| known.name == tool);
                        let names =
                            || tool.into_iter().flat_map(|tool| &tool.actions).map(|action| action.name.as_str());
                        if !names().any(|known| known == name) && nearest_name(name, names()).is_some() {
                            let message = format!("the tool has no action `{}`", plain_text(name));
                            self.warnings.push(self.document.at_value(&at, message, help(name, names())));
                        }
                    }
                }
                Value::Array(items) => (0..items.len()).for_each(|index| self.actions_named(&child(&at, index))),
                _ => self.actions_named(&at),
            }
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
    on_table.flat_map(|action| options(property(&action.input, &action.input, column), &action.input)).collect()
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
        let argument = property(&action.input, &action.input, column);
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

/// Returns the texts in the `enum` and `const` of a schema, of its alternatives, and of what it refers to.
fn options(schema: &Value, root: &Value) -> BTreeSet<String> {
    options_within(schema, root, MAX_DEPTH)
}

fn options_within(schema: &Value, root: &Value, depth: u32) -> BTreeSet<String> {
    let own = schema["enum"].as_array().into_iter().flatten().chain([&schema["const"]]);
    let own = own.filter_map(Value::as_str).map(str::to_owned);
    let mut found: BTreeSet<String> = own.collect();
    if let Some(depth) = depth.checked_sub(1) {
        let referred = schema["$ref"].as_str().and_then(|to| root.pointer(to.strip_prefix('#')?));
        let parts =
            ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema[*key].as_array()).flatten().chain(referred);
        found.extend(parts.flat_map(|part| options_within(part, root, depth)));
    }
    found
}
