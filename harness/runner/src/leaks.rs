//! The audit of leaks: texts that give an agent a value which it has to know or to find.

mod occurrences;
mod possible_values;
mod texts;

use std::collections::BTreeMap;

use healbench_core::{Guardrails, Seed, Step, ToolCall, ToolSpec};
use healbench_engine::definition::Rule;
use healbench_scenarios::Scenario;
use serde::Serialize;
use serde_json::Value;

use crate::ScenarioSetupError;
use occurrences::{is_assigned, occurrences, scalars};
use possible_values::PossibleValues;
use texts::{ToolText, error_texts, tool_texts};

/// The audit of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeakAudit {
    pub scenario: String,
    /// The number of distinct expected values: those of arguments that a draft lacks or has wrong, and those that must be found.
    pub expected_values: usize,
    /// The places in which an expected value stands, ordered by step, argument and place.
    pub matches: Vec<LeakMatch>,
}

/// A place in which an expected value stands although the agent did not send it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeakMatch {
    /// What the match means.
    pub kind: LeakKind,
    /// The step of the script, from 1.
    pub step: usize,
    /// The tool of the step's call.
    pub tool: String,
    /// The path of the argument: `goods.0.tariff`.
    pub argument: String,
    pub value: Value,
    /// The kind of text.
    pub place: LeakPlace,
    /// The text: the path of a tool text, or the name of the error format; null for the prompt.
    pub location: Option<String>,
    /// The number of values that the argument can have; null if there is no limit.
    pub possible_values: Option<u64>,
    /// The probability, from 0 to 1, that a value drawn from the possible ones stands there at least as often as the expected
    /// one; 0 if there is no limit.
    pub chance: f64,
}

/// The meaning of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeakKind {
    /// The text singles the value out: it stands there more often than any other possible value.
    Leak,
    /// Another possible value stands there as often, such as in a list of options.
    Chance,
    /// The prompt states the value as a fact of the task.
    Task,
}

/// A kind of text that an agent reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum LeakPlace {
    Prompt,
    Tools,
    Error,
}

impl LeakPlace {
    /// Returns the name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            LeakPlace::Prompt => "prompt",
            LeakPlace::Tools => "tools",
            LeakPlace::Error => "error",
        }
    }
}

/// The conditions whose error texts are audited: a bare line, and all guardrails with each format.
const GUARDRAILS: [Guardrails; 2] = [Guardrails::NONE, Guardrails::ALL];

/// Audits the mistakes of the first `trials` trials of a scenario. Error texts are those of the engine, for each draft and for
/// each of its mistakes alone, without faults.
///
/// # Errors
/// [`ScenarioSetupError`] if a tool does not compile; cannot occur for a loaded scenario.
pub fn audit_leaks(scenario: &Scenario, seed: Seed, trials: u32) -> Result<LeakAudit, ScenarioSetupError> {
    let mut audit = Audit { scenario, expected: BTreeMap::new(), matches: BTreeMap::new() };
    let tools = tool_texts(&scenario.advertised());
    let worlds: Vec<_> = (0..scenario.worlds().min(trials)).map(|number| scenario.world(seed, number)).collect();
    let mut probes: BTreeMap<(usize, String), (Step, ToolCall)> = BTreeMap::new();
    for trial in 0..trials {
        let schedule = scenario.schedule(seed, trial, &worlds[trial as usize % worlds.len()]);
        for (index, step) in schedule.script.steps.iter().enumerate() {
            audit.check_prompt_and_tools(index, step, &tools);
            for call in drafts(step) {
                probes.entry((index, call.wire_text())).or_insert_with(|| (step.clone(), call));
            }
        }
    }
    let calls = probes.iter().map(|((index, _), (_, call))| (*index, call));
    let texts = error_texts(scenario, seed, &GUARDRAILS, calls)?;
    for (((index, _), (step, call)), errors) in probes.iter().zip(texts) {
        for (format, text) in errors {
            audit.check_error(*index, step, call, &format, &text);
        }
    }
    Ok(LeakAudit {
        scenario: scenario.id.clone(),
        expected_values: audit.expected.len(),
        matches: audit.matches.into_values().collect(),
    })
}

/// Returns the draft, and the intended call with each of the draft's arguments alone that differ from it. Empty if the draft has no
/// mistake.
fn drafts(step: &Step) -> Vec<ToolCall> {
    let (Some(draft), Some(intended)) = (step.draft.object(), step.intended.object()) else { return Vec::new() };
    let names = intended.keys().chain(draft.keys().filter(|name| !intended.contains_key(*name)));
    let wrong: Vec<&String> = names.filter(|name| draft.get(*name) != intended.get(*name)).collect();
    let mut calls: Vec<ToolCall> = if wrong.is_empty() { Vec::new() } else { vec![step.draft.clone()] };
    if wrong.len() > 1 {
        calls.extend(wrong.into_iter().map(|name| {
            let mut arguments = intended.clone();
            match draft.get(name) {
                Some(value) => _ = arguments.insert(name.clone(), value.clone()),
                None => _ = arguments.shift_remove(name),
            }
            ToolCall::new(&step.draft.tool, Value::Object(arguments))
        }));
    }
    calls
}

type Key = (usize, String, String, LeakPlace, Option<String>, LeakKind);

struct Audit<'a> {
    scenario: &'a Scenario,
    /// The expected values by step, argument and JSON.
    expected: BTreeMap<(usize, String, String), Value>,
    matches: BTreeMap<Key, LeakMatch>,
}

impl Audit<'_> {
    fn check_prompt_and_tools(&mut self, index: usize, step: &Step, tools: &[ToolText]) {
        for (argument, value) in missing_values(step, &step.draft).into_iter().chain(values_to_find(step)) {
            let possible = possible_values(self.scenario, &[], step, &argument);
            let key = (index, argument.clone(), value.to_string());
            if self.expected.insert(key, value.clone()).is_some() {
                continue;
            }
            let is_fact = |text: &str| {
                let name = argument.rsplit('.').next().unwrap_or(&argument);
                !must_be_found(step, &argument) && !is_assigned(text, name, &value)
            };
            let prompt = &self.scenario.task.prompt;
            self.check(index, step, &argument, &value, &possible, (LeakPlace::Prompt, None, prompt), is_fact(prompt));
            // An agent reads the actions of a tool in the list of tools.
            if possible.is_discriminator {
                continue;
            }
            for text in tools.iter().filter(|text| text.concerns(&argument)) {
                let place = (LeakPlace::Tools, Some(text.location.as_str()), text.text.as_str());
                self.check(index, step, &argument, &value, &possible, place, false);
            }
        }
    }

    fn check_error(&mut self, index: usize, step: &Step, call: &ToolCall, format: &str, text: &str) {
        for (argument, value) in missing_values(step, call) {
            let possible = possible_values(self.scenario, &[], step, &argument);
            self.check(index, step, &argument, &value, &possible, (LeakPlace::Error, Some(format), text), false);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a match has that many parts")]
    fn check(
        &mut self,
        index: usize,
        step: &Step,
        argument: &str,
        value: &Value,
        possible: &PossibleValues,
        (place, location, text): (LeakPlace, Option<&str>, &str),
        is_fact: bool,
    ) {
        let count = occurrences(text, value);
        if count == 0 {
            return;
        }
        let rivals = possible.standing_at_least(text, value, count);
        let kind = match rivals {
            _ if is_fact => LeakKind::Task,
            0 => LeakKind::Leak,
            _ => LeakKind::Chance,
        };
        let chance = possible.count.map_or(0.0, |count| ((rivals + 1) as f64 / count as f64).min(1.0));
        let location = location.map(str::to_owned);
        let key = (index, argument.to_owned(), value.to_string(), place, location.clone(), kind);
        let found = self.matches.entry(key).or_insert_with(|| LeakMatch {
            kind,
            step: index + 1,
            tool: step.intended.tool.clone(),
            argument: argument.to_owned(),
            value: value.clone(),
            place,
            location,
            possible_values: possible.count,
            chance,
        });
        found.chance = found.chance.min(chance);
    }
}

/// Returns true if a text tells an agent that made this call a value that it had not sent: it singles out a value of the
/// step, as a leak does, among more than two that are possible.
pub(crate) fn tells_answer(scenario: &Scenario, tools: &[ToolSpec], step: &Step, call: &ToolCall, text: &str) -> bool {
    missing_values(step, call).iter().any(|(argument, value)| {
        let count = occurrences(text, value);
        count > 0 && {
            let possible = possible_values(scenario, tools, step, argument);
            possible.count.is_none_or(|count| count > 2) && possible.standing_at_least(text, value, count) == 0
        }
    })
}

/// Returns the values that an argument of a step can have. `tools` are those of a server; a scenario knows more about its own.
fn possible_values(scenario: &Scenario, tools: &[ToolSpec], step: &Step, argument: &str) -> PossibleValues {
    let name_of =
        |discriminator: &str| step.intended.object().and_then(|arguments| arguments.get(discriminator)?.as_str());
    let Some(tool) = scenario.tools.iter().find(|tool| tool.name == step.intended.tool) else {
        let tool = tools.iter().find(|tool| tool.name == step.intended.tool);
        let action = tool.and_then(|tool| match tool.discriminator.as_deref().and_then(name_of) {
            Some(name) => tool.action(name),
            None => tool.actions.first(),
        });
        let schema = action.map(|action| &action.input_schema);
        return schema.map_or_else(PossibleValues::unlimited, |schema| PossibleValues::of_schema(schema, argument));
    };
    if tool.discriminator.as_deref() == Some(argument) {
        return PossibleValues::actions(tool.actions.iter().map(|action| action.name.as_str()));
    }
    let action = tool.discriminator.as_deref().and_then(name_of);
    let action = tool.actions.iter().find(|known| action.is_none_or(|name| known.name == name));
    let Some(action) = action else { return PossibleValues::unlimited() };
    let allowed = action.rules.iter().find_map(|rule| match rule {
        Rule::Allow { argument: name, options, .. } if name == argument => Some(options.as_slice()),
        _ => None,
    });
    allowed.map_or_else(|| PossibleValues::of_schema(&action.input, argument), PossibleValues::options)
}

/// Returns the scalars of the intended call, with their paths, that `call` lacks or has wrong, unless they stand in another
/// argument of it or in a part of a text.
fn missing_values(step: &Step, call: &ToolCall) -> Vec<(String, Value)> {
    let sent = scalars(&call.arguments);
    let was_sent = |value: &Value| sent.iter().any(|(_, sent)| occurrences(&plain(sent), value) > 0);
    let is_right = |path: &str, value: &Value| sent.iter().any(|(other, sent)| other == path && *sent == value);
    let intended = scalars(&step.intended.arguments).into_iter();
    let missing = intended.filter(|(path, value)| !is_right(path, value) && !was_sent(value));
    missing.map(|(path, value)| (path, value.clone())).collect()
}

/// Returns the scalars of the intended call that must be read from a record.
fn values_to_find(step: &Step) -> impl Iterator<Item = (String, Value)> {
    let intended = scalars(&step.intended.arguments).into_iter();
    intended.filter(|(path, _)| must_be_found(step, path)).map(|(path, value)| (path, value.clone()))
}

fn must_be_found(step: &Step, path: &str) -> bool {
    step.find.keys().any(|argument| {
        path.strip_prefix(argument.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Returns a scalar as it stands in texts.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use healbench_scenarios::{Syntax, load_str};
    use serde_json::json;

    use super::*;

    const SCENARIO: &str = r#"
id: lab/told
title: Told
task: {prompt: "Pay the invoice.", max_calls: 4}
tools:
  invoices:
    description: Invoices.
    actions:
      update:
        description: Update an invoice.
        input:
          properties:
            id: {type: string}
            status: {type: string, enum: [draft, sent, paid, void]}
            final: {type: boolean}
            days: {type: integer, minimum: 1, maximum: 500}
        handler: {update: bills, by: id}
world:
  bills:
    rows: [{id: INV-7, status: sent}]
expect:
  - row: {in: bills, where: {id: INV-7, status: paid}}
script:
  - call: {tool: invoices, action: update, arguments: {id: INV-7, status: paid, final: true, days: 12}}
"#;

    #[test]
    fn a_text_tells_a_value_that_was_not_sent() {
        let scenario = load_str("told.yaml", SCENARIO, Syntax::Yaml).unwrap_or_else(|error| panic!("{error:?}"));
        let intended = json!({"action": "update", "id": "INV-7", "status": "paid", "final": true, "days": 12});
        let call = |arguments: Value| ToolCall::new("invoices", arguments);
        let step = Step { intended: call(intended.clone()), draft: call(json!({})), ..Step::default() };
        let with = |name: &str, value: Value| {
            let mut arguments = intended.clone();
            arguments[name] = value;
            arguments
        };
        for (sent, text, expected) in [
            (with("status", json!("payed")), "set it to paid", true),
            (with("status", json!("payed")), "one of draft, sent, paid, void", false),
            (with("status", json!("payed")), "one of draft, sent, paid, void: did you mean paid?", true),
            (with("status", json!("payed")), "it is unpaid", false),
            // Half of all texts tell a boolean.
            (with("final", json!(false)), "final must be true", false),
            (with("days", json!(0)), "the customer has 12 days", true),
            (with("days", json!(0)), "112, 12.5 and 2012-12-01", false),
            (with("days", json!(0)), "from 1 to 500, such as 12", false),
            (with("id", json!("7")), "Bill not found. Known: INV-7", true),
            // The agent sent the value, if under another name.
            (with("status", json!("INV-7")), "INV-7 is no status", false),
            (json!({"action": "update", "number": "INV-7"}), "INV-7 is unknown", false),
            (intended.clone(), "INV-7 is paid, final: true, 12 days", false),
        ] {
            assert_eq!(tells_answer(&scenario, &[], &step, &call(sent.clone()), text), expected, "{sent} {text}");
        }
    }
}
