//! Calls that a text advises.

use healbench_core::{ActionSpec, Step, ToolCall, ToolSpec};
use serde_json::Value;

use super::ScriptedAgent;
use super::wrong_repair::MeantCall;
use crate::lookup::{action_of, advised_call};
use crate::paths;
use crate::reading::Statement;

impl<'a> ScriptedAgent<'a> {
    /// Adds the filters that the text names and that the intended call has and the draft lacks.
    pub(super) fn narrow_step_call(&mut self) -> bool {
        let Some(step) = self.script_step() else { return false };
        let Some(truncated) = self.truncated.take() else { return false };
        let mut changed = false;
        if self.last_call().is_some_and(|last| **last == truncated.call) {
            for (field, values) in &truncated.filters {
                let intended = match step.find.contains_key(field) {
                    true => self.found_values.get(self.step, field),
                    false => paths::get(&step.intended.arguments, field),
                };
                let listed =
                    |value: &&Value| values.is_empty() || value.as_str().is_none_or(|v| values.iter().any(|o| o == v));
                if let Some(value) = intended.filter(listed)
                    && paths::get(&self.draft.arguments, field) != Some(value)
                    && self.takes_up("narrow", field, self.profile.uptake.narrow)
                {
                    changed |= paths::set(&mut self.draft.arguments, field, value.clone());
                }
            }
        }
        self.truncated = Some(truncated);
        changed
    }

    /// Returns true if the statements advise something that the agent can do and has not done: a repair, a call, or a delay.
    pub(super) fn has_untried_advice(&self, statements: &[Statement]) -> bool {
        let is_delay = |statement: &Statement| matches!(statement, Statement::Delay { .. });
        statements.iter().any(|statement| !self.repairs(statement).is_empty())
            || (!self.waited && statements.iter().any(is_delay))
            || !self.suggestions(statements).is_empty()
    }

    /// Starts the first lookup that the statements advise and that was not made before.
    pub(super) fn follow_suggestion(&mut self, statements: &[Statement]) -> bool {
        let uptake = self.profile.uptake.suggestion;
        let takes_up =
            |(tool, action): &(String, String)| self.takes_up("suggestion", &format!("{tool}.{action}"), uptake);
        let suggestions = self.suggestions(statements);
        let Some((tool, action)) = suggestions.iter().find(|suggestion| takes_up(suggestion)).cloned() else {
            return false;
        };
        let wrong = self.wrong_suggestion(&tool, &action);
        let advised = |action: &str| advised_call(&self.start, &self.found_values, self.step, &tool, action);
        let meant = wrong.as_ref().map(|_| MeantCall::Lookup(advised(&action)));
        let taken = wrong.unwrap_or(action);
        self.lookup = Some(advised(&taken));
        self.meant_call = meant;
        self.followed.push((tool, taken));
        true
    }

    /// Turns a call of another tool than the intended one into a call of the action that the statements suggest, if that is
    /// the intended one.
    pub(super) fn switch_tool(&mut self, statements: &[Statement]) -> bool {
        let Some(step) = self.script_step() else { return false };
        if self.draft.tool == step.intended.tool || self.lookup.is_some() {
            return false;
        }
        let is_known = |name: &str| self.start.tools.iter().any(|known| known.name == name);
        // Whoever was shown an older name needs to be told the newer one.
        let is_renamed = !is_known(&step.intended.tool) && self.is_tool_told;
        let is_meant = |statement: &Statement| match statement {
            Statement::Suggest { tool: Some(tool), action } => self.is_of_step(tool, action),
            Statement::UnknownTool => !is_known(&self.draft.tool) || is_renamed,
            _ => false,
        };
        if !statements.iter().any(is_meant) || !self.takes_up("actions", "tool", self.profile.uptake.actions) {
            return false;
        }
        self.draft = step.intended.clone();
        for argument in step.find.keys() {
            paths::forget(&mut self.draft.arguments, argument);
        }
        self.fill_found_values();
        true
    }

    /// Leaves a lookup that was refused, if the statements suggest the step's own action and the draft has another one.
    pub(super) fn leave_refused_lookup(&mut self, statements: &[Statement]) {
        let Some(lookup) = &self.lookup else { return };
        let is_own = |statement: &Statement| match statement {
            Statement::Suggest { tool, action } => self.is_of_step(tool.as_ref().unwrap_or(&lookup.tool), action),
            _ => false,
        };
        let drafted = action_of(&self.start, &self.draft).unwrap_or_default();
        if !self.is_of_step(&self.draft.tool, drafted) && statements.iter().any(is_own) {
            self.lookup = None;
            self.meant_call = None;
        }
    }

    /// Returns true if the step's intended call is one of this action. A tool without actions has only one call.
    fn is_of_step(&self, tool: &str, action: &str) -> bool {
        let Some(step) = self.script_step() else { return false };
        let intended = action_of(&self.start, &step.intended).unwrap_or_default();
        step.intended.tool == tool && (intended.is_empty() || intended == action)
    }

    /// Returns the tools and actions that the statements advise to call, and that the agent may call and has not called on
    /// advice in this step.
    fn suggestions(&self, statements: &[Statement]) -> Vec<(String, String)> {
        let Some(last) = self.last_call().cloned() else { return Vec::new() };
        let seeks = self.script_step().is_some_and(|step| !step.find.is_empty());
        let own = action_of(&self.start, &last).unwrap_or_default().to_owned();
        let intended = self.script_step().and_then(|step| action_of(&self.start, &step.intended)).unwrap_or_default();
        let suggests = |name: &str| {
            statements.iter().any(|statement| matches!(statement, Statement::Suggest { action, .. } if action == name))
        };
        let spec = self.start.tools.iter().find(|spec| spec.name == last.tool);
        let all =
            spec.is_some_and(|spec| spec.actions.len() > 1 && spec.actions.iter().all(|action| suggests(&action.name)));
        if all || (own != intended && suggests(intended)) {
            // The text lists all valid actions, which suggests none of them in particular.
            return Vec::new();
        }
        let mut suggestions = Vec::new();
        for statement in statements {
            let (tool, action) = match statement {
                Statement::Suggest { tool, action } => (tool.as_ref().unwrap_or(&last.tool), action),
                // A short list without the action that was called, although it is valid, is advice and not a
                // correction.
                Statement::Actions { names } if seeks && names.len() <= 3 && !names.contains(&own) => {
                    match names.first().filter(|_| spec.is_some_and(|spec| spec.action(&own).is_some())) {
                        Some(first) => (&last.tool, first),
                        None => continue,
                    }
                }
                // No tool is named: one that reads what the call is about.
                Statement::Lookup { .. } => match self.reading_action(&last) {
                    Some(action) => (&last.tool, action),
                    None => continue,
                },
                _ => continue,
            };
            let suggestion = (tool.clone(), action.clone());
            let is_own = *tool == last.tool && *action == own;
            if !is_own && !self.followed.contains(&suggestion) && self.may_call(tool, action) {
                suggestions.push(suggestion);
            }
        }
        suggestions
    }

    /// Returns an action that only reads and was not called in this episode, one of the step's tool first. It is not the step's own.
    pub(super) fn uncalled_reading_action(&self) -> Option<(String, String)> {
        let is_called = |(tool, action): &(String, String)| {
            self.calls.iter().any(|call| call.tool == *tool && action_of(&self.start, call) == Some(action))
        };
        self.reading_actions().find(|action| !is_called(action))
    }

    /// Returns the actions that only read, those of the step's tool first, without the step's own.
    pub(super) fn reading_actions(&self) -> impl Iterator<Item = (String, String)> {
        let meant = self.script_step().map(|step| &step.intended);
        let is_own_tool = |tool: &&ToolSpec| meant.is_some_and(|meant| meant.tool == tool.name);
        let (same, other): (Vec<&ToolSpec>, Vec<&ToolSpec>) = self.start.tools.iter().partition(is_own_tool);
        let actions =
            same.into_iter().chain(other).flat_map(|tool| tool.actions.iter().map(move |action| (tool, action)));
        let is_own = move |tool: &ToolSpec, action: &ActionSpec| {
            meant.is_some_and(|meant| meant.tool == tool.name && action_of(&self.start, meant) == Some(&action.name))
        };
        let reading = actions.filter(move |(tool, action)| action.read_only && !is_own(tool, action));
        reading.map(|(tool, action)| (tool.name.clone(), action.name.clone()))
    }

    /// Returns an action of the tool that reads and was not called on advice in this step.
    fn reading_action(&self, last: &ToolCall) -> Option<&'a String> {
        let tools: &'a [ToolSpec] = self.start.tools;
        let spec = tools.iter().find(|spec| spec.name == last.tool)?;
        let is_new = |action: &&ActionSpec| {
            action.read_only
                && !self.followed.iter().any(|(tool, followed)| *tool == last.tool && *followed == action.name)
        };
        spec.actions.iter().find(is_new).map(|action| &action.name)
    }

    /// Returns true if an action may be called on advice: it is read-only, or the task needs it anyway.
    fn may_call(&self, tool: &str, action: &str) -> bool {
        let spec = self.start.tools.iter().find(|spec| spec.name == tool).and_then(|spec| spec.action(action));
        let is_intended =
            |step: &Step| step.intended.tool == tool && action_of(&self.start, &step.intended) == Some(action);
        spec.is_some_and(|spec| spec.read_only) || self.start.script.steps.iter().any(is_intended)
    }
}
