//! Values that a step needs and that a response has to show first.

use std::collections::BTreeMap;

use healbench_core::{ToolCall, Turn};
use serde_json::Value;

use super::{ArgumentEdit, ScriptedAgent, is_drafted_as_meant};
use crate::lookup::advised_call;
use crate::paths;
use crate::reading::Statement;

impl ScriptedAgent<'_> {
    /// Returns the number of values that the step needs and that no response has shown.
    pub(super) fn open_values(&self) -> usize {
        let finds = self.script_step().into_iter().flat_map(|step| step.find.keys());
        finds.filter(|argument| self.found_values.get(self.step, argument).is_none()).count()
    }

    /// Inserts found values into the step's call. Returns false if one is still to be found.
    pub(super) fn fill_found_values(&mut self) -> bool {
        let Some(step) = self.script_step() else { return true };
        let mut complete = true;
        for argument in step.find.keys() {
            match self.found_values.get(self.step, argument) {
                // What was looked up before the first attempt is sent with the step's mistake.
                Some(_) if !self.sent_draft && !is_drafted_as_meant(step, argument) => {}
                Some(found) => paths::fill(&mut self.draft.arguments, argument, found.clone()),
                None => complete = false,
            }
        }
        complete
    }

    /// Returns true if the draft has the value of an argument, or of a part of one, where it was not meant, or as a part of a text: under
    /// a misspelled name, say.
    pub(super) fn sends_in_another_form(&self, argument: &str) -> bool {
        let Some(step) = self.script_step() else { return false };
        let Some(meant) = paths::get(&step.intended.arguments, argument) else { return false };
        let drafted = self.draft.arguments.as_object().into_iter().flatten();
        let mut mistaken = drafted.filter(|(name, value)| step.intended.arguments.get(name) != Some(value));
        mistaken.any(|(_, value)| paths::holds(value, meant))
    }

    /// Looks for a missing value: by filtering a truncated response, else by reading its next page, else by following advice.
    pub(super) fn look_up(&mut self) -> Turn {
        if let Some(truncated) = self.truncated.take() {
            let mut call = truncated.call.clone();
            for (field, value) in truncated.unused_filters(&self.start, &self.found_values, self.step) {
                if self.takes_up("narrow", &field, self.profile.uptake.narrow) {
                    paths::set(&mut call.arguments, &field, value);
                }
            }
            let mut changed = call != truncated.call;
            if !changed && let Some(page) = &truncated.page {
                // An agent that has begun to read pages continues.
                let started = paths::get(&truncated.call.arguments, &page.field).is_some();
                changed = (started || self.takes_up("page", &page.field, self.profile.uptake.narrow))
                    && page.advance(&mut call.arguments);
            }
            self.truncated = Some(truncated);
            if changed {
                self.lookup = Some(call);
                return self.send(0);
            }
        }
        let advice = std::mem::take(&mut self.advice);
        if self.follow_suggestion(&advice) {
            return self.send(0);
        }
        // Nothing was refused, or it was looked up already: the list of tools says what reads.
        if (self.failures == 0 || self.looks_up) && self.truncated.is_none() && self.begin_look_up() {
            return self.send(0);
        }
        self.failures += 1;
        if self.failures >= self.profile.patience {
            return self.stop("What the task needs was not found.");
        }
        if self.chance(self.profile.repeat, || "agent/repeat") {
            self.lookup = self.last_call().map(|last| (**last).clone());
            return self.send(0);
        }
        if self.chance(self.profile.guess, || "agent/guess") {
            return self.send(0);
        }
        self.stop("What the task needs was not found.")
    }

    /// Starts a lookup that nobody advised: of an action that reads and was not called, or else of one that was called with other arguments.
    /// Returns false if there is none.
    fn begin_look_up(&mut self) -> bool {
        let call =
            |(tool, action): (String, String)| advised_call(&self.start, &self.found_values, self.step, &tool, &action);
        // With fewer arguments a call has shown what it would show with more.
        let has_all = |call: &ToolCall, read: &ToolCall| {
            let mut sent = read.arguments.as_object().into_iter().flatten();
            call.tool == read.tool && sent.all(|(name, value)| call.arguments.get(name) == Some(value))
        };
        let is_made = |call: &ToolCall| self.calls.iter().any(|made| **made == *call);
        let is_new = |call: &ToolCall| !is_made(call) && !self.answered.iter().any(|read| has_all(call, read));
        let other = || self.reading_actions().map(call).find(is_new);
        let Some(lookup) = self.uncalled_reading_action().map(call).or_else(other) else { return false };
        self.lookup = Some(lookup);
        self.looks_up = true;
        true
    }

    /// Starts a lookup of a value that the step has to find, that was not sent, and that the statements ask for. Returns false if there
    /// is none. A value that was sent and refused is looked up on advice.
    pub(super) fn look_up_named_value(&mut self, statements: &[Statement]) -> bool {
        let Some(step) = self.script_step().filter(|_| self.lookup.is_none()) else { return false };
        let is_open = |argument: &String| {
            self.found_values.get(self.step, argument).is_none()
                && paths::get(&self.draft.arguments, argument).is_none_or(Value::is_null)
        };
        let open: Vec<&String> = step.find.keys().filter(|argument| is_open(argument)).collect();
        let is_named = |statement: &Statement| {
            let edits = self.repairs_of(&self.draft, statement, &step.intended.arguments, &BTreeMap::new());
            let mut paths = edits.iter().flatten().filter_map(|edit| match edit {
                ArgumentEdit::Set(path, _) => Some(path),
                ArgumentEdit::Remove(_) => None,
            });
            let (kind, subject, uptake) = self.uptake(statement);
            paths.any(|path| open.iter().any(|argument| paths::overlap(argument, path)))
                && self.takes_up(kind, subject, uptake)
        };
        !open.is_empty() && statements.iter().any(is_named) && self.begin_look_up()
    }

    /// Sends a repaired call. An argument that was put back without a part that has to be found is completed first.
    pub(super) fn send_repaired(&mut self, waited_s: u32) -> Turn {
        let draft = &self.draft.arguments;
        let is_open = |path: &String| {
            path.contains('.')
                && self.found_values.get(self.step, path).is_none()
                && paths::parent(draft, path).is_some_and(|parent| parent.is_object() || parent.is_array())
                && paths::get(draft, path).is_none_or(Value::is_null)
        };
        let is_incomplete = self.script_step().is_some_and(|step| step.find.keys().any(is_open));
        if self.lookup.is_none() && is_incomplete {
            self.begin_look_up();
        }
        self.send(waited_s)
    }
}
