//! Lookups: calls that are not in the script and find values that a step needs.

use std::borrow::Cow;

use healbench_core::{Object, Step, ToolCall};
use serde_json::Value;

use super::ScriptedStart;
use super::paths;
use super::reading::Statement;
use super::records::FoundValues;

/// The latest truncated response, and the filters and paging that its text suggests.
pub(super) struct TruncatedResult {
    pub(super) call: ToolCall,
    /// Each filter with its valid values; empty if the text does not list them.
    pub(super) filters: Vec<(String, Vec<String>)>,
    /// The way to request the next rows, if the text names one.
    pub(super) page: Option<NextPage>,
}

/// The field that selects the next rows, and the amount to add to it.
pub(super) struct NextPage {
    pub(super) field: String,
    step: u64,
}

impl NextPage {
    /// Changes the arguments to those of the next page; an absent field counts as zero. Returns false if the field is
    /// not a whole number.
    pub(super) fn advance(&self, arguments: &mut Value) -> bool {
        let current = paths::get(arguments, &self.field).map_or(Some(0), Value::as_u64);
        current.is_some_and(|current| paths::set(arguments, &self.field, current.saturating_add(self.step).into()))
    }
}

impl TruncatedResult {
    /// Returns the truncation that `statements` describe, if any.
    pub(super) fn from_statements(call: &ToolCall, statements: &[Statement]) -> Option<TruncatedResult> {
        let filters: Vec<_> = statements
            .iter()
            .filter_map(|statement| match statement {
                Statement::Narrow { field, values } => Some((field.clone(), values.clone())),
                _ => None,
            })
            .collect();
        let page = statements.iter().find_map(|statement| match statement {
            Statement::Page { field, step } => Some(NextPage { field: field.clone(), step: *step }),
            _ => None,
        });
        (!filters.is_empty() || page.is_some()).then(|| TruncatedResult { call: call.clone(), filters, page })
    }

    /// The filters that this call does not use yet and whose values the agent knows, with those values.
    pub(super) fn unused_filters(
        &self,
        start: &ScriptedStart<'_>,
        found_values: &FoundValues<'_>,
        step: usize,
    ) -> Vec<(String, Value)> {
        let mut unused_filters = Vec::new();
        for (field, values) in &self.filters {
            let known = intended_argument(start, found_values, &self.call, field)
                .or_else(|| search_argument(start, found_values, step, field).map(Cow::Borrowed));
            let is_listed = |value: &Cow<'_, Value>| {
                let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                values.is_empty() || values.contains(&shown)
            };
            if let Some(value) = known.filter(is_listed)
                && paths::get(&self.call.arguments, field) != Some(&*value)
            {
                unused_filters.push((field.clone(), value.into_owned()));
            }
        }
        unused_filters
    }
}

/// The action of a call: the value of its tool's discriminator, or the single action of a tool without one.
pub(super) fn action_of<'c>(start: &ScriptedStart<'c>, call: &'c ToolCall) -> Option<&'c str> {
    let spec = start.tools.iter().find(|spec| spec.name == call.tool);
    match (spec, discriminator(start, &call.tool)) {
        (Some(spec), None) => spec.actions.first().map(|action| action.name.as_str()),
        (_, field) => call.arguments.get(field.unwrap_or("action")).and_then(Value::as_str),
    }
}

/// The discriminator of a tool. A tool that was not told of is taken to have the usual one.
pub(super) fn discriminator<'a>(start: &ScriptedStart<'a>, tool: &str) -> Option<&'a str> {
    match start.tools.iter().find(|spec| spec.name == tool) {
        Some(spec) => spec.discriminator.as_deref(),
        None => Some("action"),
    }
}

/// Returns an argument's value in an intended call of the same action. A value that has to be looked up is known once it was found.
fn intended_argument<'v>(
    start: &ScriptedStart<'v>,
    found_values: &'v FoundValues<'_>,
    call: &ToolCall,
    field: &str,
) -> Option<Cow<'v, Value>> {
    let action = action_of(start, call);
    let is_same = |step: &Step| step.intended.tool == call.tool && action_of(start, &step.intended) == action;
    let steps = start.script.steps.iter().enumerate().filter(|(_, step)| is_same(step));
    steps.into_iter().find_map(|(index, step)| known_argument(found_values, index, step, field))
}

/// Returns an argument's value in the intended call of a step, if the agent knows all of it.
pub(super) fn known_argument<'v>(
    found_values: &'v FoundValues<'_>,
    index: usize,
    step: &'v Step,
    field: &str,
) -> Option<Cow<'v, Value>> {
    if step.find.contains_key(field) {
        return found_values.get(index, field).map(Cow::Borrowed);
    }
    let mut value = Cow::Borrowed(step.intended.arguments.get(field)?);
    for path in step.find.keys() {
        if let Some(inner) = path.strip_prefix(field).and_then(|rest| rest.strip_prefix('.')) {
            paths::set(value.to_mut(), inner, found_values.get(index, path)?.clone());
        }
    }
    Some(value)
}

/// Returns a field's value as stated by the task for a record that a step has to find: one that was not found yet, if there is one.
fn search_argument<'a>(
    start: &ScriptedStart<'a>,
    found_values: &FoundValues<'_>,
    step: usize,
    field: &str,
) -> Option<&'a Value> {
    let finds = &start.script.steps.get(step)?.find;
    let is_open = |argument: &String| found_values.get(step, argument).is_none();
    let open = finds.iter().filter(|(argument, _)| is_open(argument)).find_map(|(_, find)| find.matching.get(field));
    open.or_else(|| finds.values().find_map(|find| find.matching.get(field)))
}

/// Returns the call of an action that a text suggests, with all declared arguments that the agent knows.
///
/// An argument comes from the description of the record to find, or from an intended call of the same action. Intended
/// calls of other actions are used only for required arguments: the status that an update sets is not the status to
/// filter a list by.
pub(super) fn advised_call(
    start: &ScriptedStart<'_>,
    found_values: &FoundValues<'_>,
    step: usize,
    tool: &str,
    action: &str,
) -> ToolCall {
    let mut arguments = Object::new();
    if let Some(field) = discriminator(start, tool) {
        arguments.insert(field.to_owned(), Value::String(action.to_owned()));
    }
    let mut call = ToolCall::new(tool, Value::Object(arguments));
    let spec = start.tools.iter().find(|spec| spec.name == tool).and_then(|spec| spec.action(action));
    let Some(properties) = spec.and_then(|spec| spec.input_schema.get("properties")).and_then(Value::as_object) else {
        return call;
    };
    let required = spec.and_then(|spec| spec.input_schema.get("required")).and_then(Value::as_array);
    for field in properties.keys() {
        let mut known = search_argument(start, found_values, step, field)
            .map(Cow::Borrowed)
            .or_else(|| intended_argument(start, found_values, &call, field))
            .map(Cow::into_owned);
        if known.is_none() && required.is_some_and(|required| required.iter().any(|name| name == field)) {
            known = argument_of_any_step(start, found_values, step, field);
        }
        if let Some(known) = known {
            paths::set(&mut call.arguments, field, known);
        }
    }
    call
}

/// Returns an argument of this name from any step, beginning with the current one.
fn argument_of_any_step(
    start: &ScriptedStart<'_>,
    found_values: &FoundValues<'_>,
    step: usize,
    field: &str,
) -> Option<Value> {
    let steps = std::iter::once(step).chain(0..start.script.steps.len());
    steps.into_iter().find_map(|index| {
        known_argument(found_values, index, start.script.steps.get(index)?, field).map(Cow::into_owned)
    })
}
