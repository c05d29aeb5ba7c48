//! Calls that no step intends: looking up what a step lacks.

use healbench_protocol::{EpisodeStart, Object, ToolCall};
use serde_json::Value;

use super::evidence::Evidence;
use super::paths;
use super::records::Findings;

/// The latest answer that was cut, and the filters that its text teaches.
pub(super) struct Cut {
    pub(super) call: ToolCall,
    /// Each filter with its valid values, where the text lists them.
    pub(super) filters: Vec<(String, Vec<String>)>,
    /// How to read on, where the text tells.
    pub(super) page: Option<Page>,
}

/// The field that leads to the rows after a cut, and how much to add to it.
pub(super) struct Page {
    pub(super) field: String,
    step: u64,
}

impl Page {
    /// Makes the arguments those of the next page; an absent field counts as zero. False if they hold no whole number there.
    pub(super) fn turn(&self, arguments: &mut Value) -> bool {
        let now = paths::get(arguments, &self.field).map_or(Some(0), Value::as_u64);
        now.is_some_and(|now| paths::set(arguments, &self.field, now.saturating_add(self.step).into()))
    }
}

impl Cut {
    /// The cut that `evidence` tells of.
    pub(super) fn of(call: &ToolCall, evidence: &[Evidence]) -> Option<Cut> {
        let filters: Vec<_> = evidence
            .iter()
            .filter_map(|evidence| match evidence {
                Evidence::Narrow { field, values } => Some((field.clone(), values.clone())),
                _ => None,
            })
            .collect();
        let page = evidence.iter().find_map(|evidence| match evidence {
            Evidence::Page { field, step } => Some(Page { field: field.clone(), step: *step }),
            _ => None,
        });
        (!filters.is_empty() || page.is_some()).then(|| Cut { call: call.clone(), filters, page })
    }

    /// The filters that this call does not use yet and whose values the agent knows, with those values.
    pub(super) fn unused(&self, start: &EpisodeStart<'_>, step: usize) -> Vec<(String, Value)> {
        let mut unused = Vec::new();
        for (field, values) in &self.filters {
            let known = told(start, &self.call, field).or_else(|| matching(start, step, field));
            let listed = |value: &&Value| {
                let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                values.is_empty() || values.contains(&shown)
            };
            if let Some(value) = known.filter(listed)
                && paths::get(&self.call.arguments, field) != Some(value)
            {
                unused.push((field.clone(), value.clone()));
            }
        }
        unused
    }
}

/// The action of a call: the value of its tool's discriminator, or the single action of a tool without one.
pub(super) fn action_of<'c>(start: &EpisodeStart<'c>, call: &'c ToolCall) -> Option<&'c str> {
    let spec = start.tools.iter().find(|spec| spec.name == call.tool);
    match (spec, discriminator(start, &call.tool)) {
        (Some(spec), None) => spec.actions.first().map(|action| action.name.as_str()),
        (_, field) => call.arguments.get(field.unwrap_or("action")).and_then(Value::as_str),
    }
}

/// The discriminator of a tool. A tool that was not told of is taken to have the usual one.
pub(super) fn discriminator<'a>(start: &EpisodeStart<'a>, tool: &str) -> Option<&'a str> {
    match start.tools.iter().find(|spec| spec.name == tool) {
        Some(spec) => spec.discriminator.as_deref(),
        None => Some("action"),
    }
}

/// What an intent for the same action says about an argument. What has to be found is not said.
fn told<'a>(start: &EpisodeStart<'a>, call: &ToolCall, field: &str) -> Option<&'a Value> {
    let action = action_of(start, call);
    let same = start.script.steps.iter().filter(|step| {
        step.intended.tool == call.tool && action_of(start, &step.intended) == action && !step.find.contains_key(field)
    });
    same.into_iter().find_map(|step| step.intended.arguments.get(field))
}

/// What the task tells about the record that a step has to find.
fn matching<'a>(start: &EpisodeStart<'a>, step: usize, field: &str) -> Option<&'a Value> {
    start.script.steps.get(step)?.find.values().find_map(|find| find.matching.get(field))
}

/// The call of an action that a text advises, with the arguments that the agent knows of the declared ones.
///
/// An argument comes from an intent for the same action, or from what is known of the record that is sought. From another
/// action's intent it is taken only if it is required here: the status that an update will set is not the one to list by.
pub(super) fn advised(
    start: &EpisodeStart<'_>,
    findings: &Findings<'_>,
    step: usize,
    tool: &str,
    action: &str,
) -> ToolCall {
    let mut arguments = Object::new();
    if let Some(field) = discriminator(start, tool) {
        arguments.insert(field.to_owned(), Value::String(action.to_owned()));
    }
    let mut call = ToolCall { tool: tool.to_owned(), arguments: Value::Object(arguments) };
    let spec = start.tools.iter().find(|spec| spec.name == tool).and_then(|spec| spec.action(action));
    let Some(properties) = spec.and_then(|spec| spec.input_schema.get("properties")).and_then(Value::as_object) else {
        return call;
    };
    let required = spec.and_then(|spec| spec.input_schema.get("required")).and_then(Value::as_array);
    for field in properties.keys() {
        let mut known = told(start, &call, field).or_else(|| matching(start, step, field)).cloned();
        if known.is_none() && required.is_some_and(|required| required.iter().any(|name| name == field)) {
            known = anywhere(start, findings, step, field);
        }
        if let Some(known) = known {
            paths::set(&mut call.arguments, field, known);
        }
    }
    call
}

/// An argument of this name in any step, the step in hand first.
fn anywhere(start: &EpisodeStart<'_>, findings: &Findings<'_>, step: usize, field: &str) -> Option<Value> {
    let steps = std::iter::once(step).chain(0..start.script.steps.len());
    steps.into_iter().find_map(|index| {
        let step = start.script.steps.get(index)?;
        if step.find.contains_key(field) {
            findings.get(index, field).cloned()
        } else {
            step.intended.arguments.get(field).cloned()
        }
    })
}
