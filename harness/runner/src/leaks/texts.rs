//! The texts that an agent reads: tools, and the errors of calls.

use std::collections::{BTreeMap, BTreeSet};

use healbench_core::{Condition, Deadline, ErrorFormat, Guardrails, Seed, ToolCall, ToolSpec};
use healbench_engine::Faults;
use healbench_scenarios::Scenario;
use serde_json::Value;

use super::occurrences::scalars;
use super::plain;
use crate::episode::Unavailable;
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
/// option stands there; the constants of several branches are such a list.
pub(super) fn tool_texts(tools: &[ToolSpec]) -> Vec<ToolText> {
    let mut texts = Vec::new();
    let plain_text = |location: String, text: &str| ToolText { location, text: text.to_owned(), argument: None };
    for tool in tools {
        texts.push(plain_text(format!("{}.name", tool.name), &tool.name));
        texts.push(plain_text(format!("{}.description", tool.name), &tool.description));
        for action in &tool.actions {
            let path = format!("{}.{}", tool.name, action.name);
            texts.push(plain_text(format!("{path}.description"), &action.description));
            let schema = &action.input_schema;
            let mut found =
                SchemaTexts { root: schema, texts: Vec::new(), options: BTreeMap::new(), references: Vec::new() };
            found.walk(&path, "", schema);
            let SchemaTexts { texts: found, options, .. } = found;
            let is_choice = |path: &String| options.get(path).is_some_and(|options| options.len() > 1);
            let kept = found.into_iter().filter(|(of_constant, _)| !of_constant.as_ref().is_some_and(is_choice));
            texts.extend(kept.map(|(_, text)| text));
        }
    }
    texts
}

/// The most texts of an action.
const MAX_TEXTS: usize = 10_000;

struct SchemaTexts<'s> {
    root: &'s Value,
    /// Each with the path of the constant that it is.
    texts: Vec<(Option<String>, ToolText)>,
    /// The options at each path, in all branches.
    options: BTreeMap<String, BTreeSet<String>>,
    /// The references that are followed at the moment.
    references: Vec<&'s str>,
}

impl<'s> SchemaTexts<'s> {
    fn walk(&mut self, path: &str, argument: &str, schema: &'s Value) {
        let Some(members) = schema.as_object().filter(|_| self.texts.len() < MAX_TEXTS) else { return };
        let constant = schema.get("const");
        for (keyword, inner) in members {
            let location = format!("{path}.{keyword}");
            match (keyword.as_str(), inner) {
                ("description" | "title", Value::String(text)) => {
                    self.texts.push((None, ToolText { location, text: text.clone(), argument: None }));
                }
                ("properties", Value::Object(properties)) => {
                    for (name, schema) in properties {
                        self.walk(&format!("{path}.{name}"), name, schema);
                    }
                }
                ("const", value) => {
                    self.options.entry(path.to_owned()).or_default().insert(value.to_string());
                    self.add_values(&location, argument, value, Some(path));
                }
                ("enum", Value::Array(options)) => {
                    self.options.entry(path.to_owned()).or_default().extend(options.iter().map(Value::to_string));
                }
                // The default of a constant is the constant.
                ("default", value) => {
                    let of_constant = constant.filter(|constant| *constant == value).map(|_| path);
                    self.add_values(&location, argument, value, of_constant);
                }
                ("examples", Value::Array(values)) => {
                    values.iter().for_each(|value| self.add_values(&location, argument, value, None));
                }
                ("items" | "not" | "if" | "then" | "else", schema) => self.walk(path, argument, schema),
                ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => {
                    branches.iter().for_each(|schema| self.walk(path, argument, schema));
                }
                ("$ref", Value::String(reference)) => {
                    let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
                    if let Some(target) = target.filter(|_| !self.references.contains(&reference.as_str())) {
                        self.references.push(reference);
                        self.walk(path, argument, target);
                        self.references.pop();
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds each scalar of a value of this argument; of the root, the members are arguments.
    fn add_values(&mut self, location: &str, argument: &str, value: &Value, of_constant: Option<&str>) {
        for (inner, value) in scalars(value) {
            let argument = if inner.is_empty() { argument.to_owned() } else { inner };
            let text = ToolText { location: location.to_owned(), text: plain(value), argument: Some(argument) };
            self.texts.push((of_constant.map(str::to_owned), text));
        }
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
    let formats: Vec<ErrorFormat> = ErrorFormat::named().map(|entry| entry.format.clone()).collect();
    let conditions = Condition::of_parts(guardrails, &formats);
    let axes = Axes { agents: Vec::new(), conditions, trials: 1, seed };
    let plan = build_plan(&axes, std::slice::from_ref(scenario));
    let context = ScenarioContext::new(scenario, &plan, None)?;
    let intended: Vec<ToolCall> = context.schedule(0).script.steps.iter().map(|step| step.intended.clone()).collect();
    let texts = calls.map(|(step, call)| {
        let answers = plan.conditions.iter().zip(&context.engines).filter_map(|(condition, engine)| {
            // No server is started: only what the engine answers is known of it.
            let mut session = context.open_session(0).unwrap_or_else(|error| Box::new(Unavailable(error)));
            let mut answer = |call| {
                let mut faults = Faults::none();
                // The simulator always replies.
                engine.answer(session.as_mut(), &mut faults, call, Deadline::NONE).ok()
            };
            intended[..step].iter().for_each(|call| _ = answer(call));
            let response = answer(call)?.response;
            response.is_error.then(|| (condition.format().name().into_owned(), response.text().into_owned()))
        });
        answers.collect()
    });
    Ok(texts.collect())
}
