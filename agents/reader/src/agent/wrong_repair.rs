//! Wrong repairs: a wrong value in a field that a text names, and a wrong action where a text is about actions.
//!
//! A wrong repair is drawn from the same values and actions whatever the text says. These decisions use random draws of their own: the probability of a wrong repair affects no other draw.

use healbench_core::{ToolCall, Turn};
use serde_json::Value;

use super::ScriptedAgent;
use crate::lookup::{action_of, discriminator};
use crate::paths;
use crate::repair::ArgumentEdit;
use crate::wrong_values::{Sources, replaced, scalars, wrong_values};

/// The call that the statements suggested, kept while the agent takes a wrong action instead.
pub(super) enum MeantCall {
    /// The step's own call with this action in the discriminator.
    Draft {
        field: String,
        action: Value,
    },
    Lookup(ToolCall),
}

impl ScriptedAgent<'_> {
    fn current_call(&self) -> &ToolCall {
        self.lookup.as_ref().unwrap_or(&self.draft)
    }

    /// Applies a fix to the current call, perhaps with a wrong value or action. A renamed field keeps its value.
    pub(super) fn apply_fix(&mut self, mut fix: Vec<ArgumentEdit>) {
        if let [ArgumentEdit::Set(path, value)] = fix.as_mut_slice() {
            let call = self.current_call();
            if discriminator(&self.start, &call.tool) == Some(path) {
                if let Some(wrong) = value.as_str().and_then(|right| self.wrong_action(right)) {
                    let action = std::mem::replace(value, wrong.into());
                    self.meant_call = Some(match self.lookup.clone() {
                        None => MeantCall::Draft { field: path.clone(), action },
                        Some(mut lookup) => {
                            paths::set(&mut lookup.arguments, path, action);
                            MeantCall::Lookup(lookup)
                        }
                    });
                }
            } else if let Some(wrong) = self.wrong_value(path, value) {
                *value = wrong;
            }
        }
        let call = self.lookup.as_mut().unwrap_or(&mut self.draft);
        fix.into_iter().for_each(|edit| edit.apply(&mut call.arguments));
    }

    /// Draws whether a wrong value is written instead of `right`, and which one. In an object or a list, one value
    /// is replaced. The right value is written if nothing resembles it.
    fn wrong_value(&self, path: &str, right: &Value) -> Option<Value> {
        if !self.chance(self.profile.wrong_value, || format!("agent/wrong_value/{path}")) {
            return None;
        }
        self.some_wrong_value(path, right)
    }

    /// Returns a wrong value instead of `right`: another action in the discriminator, else a value that resembles the right
    /// one. `None` if there is neither.
    pub(super) fn some_wrong_value(&self, path: &str, right: &Value) -> Option<Value> {
        let call = self.current_call();
        if discriminator(&self.start, &call.tool) == Some(path) {
            return self.other_action(&call.tool, right.as_str()?, action_of(&self.start, call)).map(Value::from);
        }
        let mut draws = self.draws(&format!("agent/wrong_value/which/{path}"));
        let spec = self.start.tools.iter().find(|spec| spec.name == call.tool);
        let action = action_of(&self.start, call).and_then(|action| spec?.action(action));
        let sources = Sources {
            schema: action.map(|action| &action.input_schema),
            elsewhere: &|field| self.values_elsewhere(field),
        };
        let mut parts = Vec::new();
        scalars(right, String::new(), &mut parts);
        let first = draws.below(parts.len() as u64) as usize;
        parts.rotate_left(first);
        parts.into_iter().find_map(|(inner, part)| {
            let field = if inner.is_empty() { path.to_owned() } else { format!("{path}.{inner}") };
            let wrong = wrong_values(&field, part, paths::get(&call.arguments, &field), &sources);
            Some(replaced(right, &inner, draws.pick(&wrong)?.clone()))
        })
    }

    /// Returns the values of a field in the calls of all steps, as far as the agent knows them.
    fn values_elsewhere(&self, field: &str) -> Vec<Value> {
        let steps = self.start.script.steps.iter().enumerate();
        let values = steps.filter_map(|(index, step)| match step.find.contains_key(field) {
            true => self.found_values.get(index, field),
            false => paths::get(&step.intended.arguments, field),
        });
        values.cloned().collect()
    }

    /// Draws whether a wrong action is taken in the current call instead of `right`, and which one.
    fn wrong_action(&self, right: &str) -> Option<String> {
        let call = self.current_call();
        self.wrong_action_of(&call.tool, right, action_of(&self.start, call))
    }

    /// Draws whether a wrong action is called instead of the suggested one, and which one.
    pub(super) fn wrong_suggestion(&self, tool: &str, action: &str) -> Option<String> {
        let last = self.last_call().filter(|call| call.tool == tool);
        self.wrong_action_of(tool, action, last.and_then(|call| action_of(&self.start, call)))
    }

    /// Draws whether another action is taken, and which one.
    fn wrong_action_of(&self, tool: &str, right: &str, sent: Option<&str>) -> Option<String> {
        let is_wrong = self.chance(self.profile.wrong_action, || format!("agent/wrong_action/{right}"));
        is_wrong.then(|| self.other_action(tool, right, sent)).flatten()
    }

    /// Returns one of the tool's actions other than `right`, `sent`, and those that were followed.
    fn other_action(&self, tool: &str, right: &str, sent: Option<&str>) -> Option<String> {
        let is_other = |name: &&str| {
            *name != right && Some(*name) != sent && !self.followed.iter().any(|(at, done)| at == tool && done == name)
        };
        let spec = self.start.tools.iter().find(|spec| spec.name == tool);
        let known = spec.into_iter().flat_map(|spec| &spec.actions).map(|action| action.name.as_str());
        let others: Vec<&str> = known.filter(is_other).collect();
        let mut draws = self.draws(&format!("agent/wrong_action/which/{right}"));
        draws.pick(&others).map(|name| (*name).to_owned())
    }

    /// Takes the suggested action after a wrong one, with the probability `uptake.actions`. Returns `None` if no wrong one was taken.
    pub(super) fn correct_action(&mut self) -> Option<Turn> {
        let meant = self.meant_call.take()?;
        if !self.chance(self.profile.uptake.actions, || "agent/correct_action") {
            return None;
        }
        match meant {
            MeantCall::Lookup(call) => self.lookup = Some(call),
            MeantCall::Draft { field, action } => _ = paths::set(&mut self.draft.arguments, &field, action),
        }
        Some(self.send(0))
    }
}
