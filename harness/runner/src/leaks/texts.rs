//! The texts that an agent reads: tools, and the errors of calls.

use healbench_engine::Faults;
use healbench_protocol::{Deadline, ErrorFormat, Guardrails, Seed, ToolCall, ToolSpec};
use healbench_scenarios::Scenario;
use serde_json::Value;

use super::occurrences::scalars;
use super::plain;
use crate::{Axes, ScenarioContext, ScenarioSetupError, build_plan};

/// A text of the list of tools.
pub(super) struct ToolText {
    /// The path: `tickets.create.priority.description`.
    pub(super) location: String,
    pub(super) text: String,
    /// The argument whose value the text is: for an example, a default and a constant.
    argument: Option<String>,
}

impl ToolText {
    /// Returns true if the text can give the value of this argument: a description can give any.
    pub(super) fn concerns(&self, path: &str) -> bool {
        let last = |path: &str| path.rsplit('.').find(|name| name.parse::<usize>().is_err()).map(str::to_owned);
        self.argument.as_deref().is_none_or(|argument| last(argument) == last(path))
    }
}

/// Returns the names, descriptions, examples, defaults and constants of tools. Lists of options are left out, because each
/// option stands there.
pub(super) fn tool_texts(tools: &[ToolSpec]) -> Vec<ToolText> {
    let mut texts = Vec::new();
    let mut add = |location: String, text: &str, argument: Option<String>| {
        texts.push(ToolText { location, text: text.to_owned(), argument });
    };
    for tool in tools {
        add(format!("{}.name", tool.name), &tool.name, None);
        add(format!("{}.description", tool.name), &tool.description, None);
        for action in &tool.actions {
            let path = format!("{}.{}", tool.name, action.name);
            add(format!("{path}.description"), &action.description, None);
            walk_schema(&path, "", &action.input_schema, &mut add);
        }
    }
    texts
}

fn walk_schema(path: &str, argument: &str, schema: &Value, add: &mut impl FnMut(String, &str, Option<String>)) {
    let Some(members) = schema.as_object() else { return };
    for (keyword, inner) in members {
        let location = format!("{path}.{keyword}");
        match (keyword.as_str(), inner) {
            ("description" | "title", Value::String(text)) => add(location, text, None),
            ("properties", Value::Object(properties)) => {
                for (name, schema) in properties {
                    walk_schema(&format!("{path}.{name}"), name, schema, add);
                }
            }
            ("default" | "const", value) => add_values(location, argument, value, add),
            ("examples", Value::Array(values)) => {
                values.iter().for_each(|value| add_values(location.clone(), argument, value, add));
            }
            ("items" | "not" | "if" | "then" | "else", schema) => walk_schema(path, argument, schema, add),
            ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => {
                branches.iter().for_each(|schema| walk_schema(path, argument, schema, add));
            }
            _ => {}
        }
    }
}

/// Adds each scalar of a value of this argument; of the root, the members are arguments.
fn add_values(location: String, argument: &str, value: &Value, add: &mut impl FnMut(String, &str, Option<String>)) {
    for (inner, value) in scalars(value) {
        let path = if inner.is_empty() { argument.to_owned() } else { inner };
        add(location.clone(), &plain(value), Some(path));
    }
}

/// Returns the error texts of each call, with the names of their formats. A call of a step is made after the intended calls of
/// the steps before it, each on a new environment without faults.
pub(super) fn error_texts<'c>(
    scenario: &Scenario,
    seed: Seed,
    guardrails: &[Guardrails],
    calls: impl Iterator<Item = (usize, &'c ToolCall)>,
) -> Result<Vec<Vec<(String, String)>>, ScenarioSetupError> {
    let formats = ErrorFormat::named().map(|entry| entry.format.clone()).collect();
    let axes = Axes { agents: Vec::new(), guardrails: guardrails.to_vec(), formats, trials: 1, seed };
    let plan = build_plan(&axes, std::slice::from_ref(scenario));
    let context = ScenarioContext::new(scenario, &plan, None)?;
    let intended: Vec<ToolCall> =
        context.with_schedule(0, |schedule| schedule.script.steps.iter().map(|step| step.intended.clone()).collect());
    let texts = calls.map(|(step, call)| {
        let answers = plan.conditions.iter().zip(&context.engines).filter_map(|(condition, engine)| {
            let mut session = context.environment.open().ok()?;
            let mut answer = |call| {
                let mut faults = Faults::new(Vec::new().into());
                // The simulator always replies.
                engine.answer(session.as_mut(), &mut faults, call, Deadline::NONE).ok()
            };
            intended[..step].iter().for_each(|call| _ = answer(call));
            let response = answer(call)?.response;
            response.is_error.then(|| (condition.format.name().into_owned(), response.text().into_owned()))
        });
        answers.collect()
    });
    Ok(texts.collect())
}
