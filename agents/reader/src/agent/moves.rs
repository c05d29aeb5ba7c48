//! The turns of an agent with a profile of moves: after an error one move is drawn.

use std::collections::BTreeSet;

use healbench_core::{ActionSpec, ErrorKind, Move, Moves, ToolCall, ToolSpec, Turn};
use serde_json::{Map, Value};

use super::ScriptedAgent;
use crate::lookup::{action_of, advised_call};
use crate::paths;
use crate::reading::Statement;

impl ScriptedAgent<'_> {
    /// Makes the next move after an error.
    pub(super) fn move_on(&mut self, moves: &Moves, statements: &[Statement], kind: ErrorKind) -> Turn {
        // A wrong action is not known to be wrong.
        self.meant_call = None;
        self.unsure |= kind == ErrorKind::Transient;
        let mut made = self.draws("agent/move").pick_move(moves.after(kind, self.last_move));
        if made == Move::Changed && !(self.switch_tool(statements) || self.change(moves, statements)) {
            // Where nothing can change, what the text says to call comes before a repetition.
            if self.follow_suggestion(statements) {
                self.last_move = Some(Move::OtherTool);
                return self.send(0);
            }
            made = Move::Repeated;
        }
        self.last_move = Some(made);
        match made {
            Move::Changed => self.send_repaired(0),
            Move::Repeated => self.send(stated_delay(statements)),
            Move::OtherTool => self.call_another(statements),
            Move::Stopped | Move::CutOff => self.stop("I stop here."),
        }
    }

    /// Changes the current call: by what the text says or, if that is nothing, one argument that differs from what was meant. Returns
    /// false if nothing can change.
    fn change(&mut self, moves: &Moves, statements: &[Statement]) -> bool {
        if self.apply_repairs(statements) {
            return true;
        }
        let known = self.known_arguments();
        let call = self.lookup.as_ref().unwrap_or(&self.draft);
        let empty = Map::new();
        let (sent, meant) = (call.object().unwrap_or(&empty), known.as_object().unwrap_or(&empty));
        let names: BTreeSet<&String> = sent.keys().chain(meant.keys()).collect();
        let differing: Vec<String> =
            names.into_iter().filter(|name| sent.get(*name) != meant.get(*name)).cloned().collect();
        let Some(name) = self.draws("agent/move/field").pick(&differing).cloned() else { return false };
        let is_right = self.chance(moves.right_untold, || "agent/move/right");
        let edit = match meant.get(&name) {
            Some(right) if is_right => Some(right.clone()),
            Some(right) => match self.some_wrong_value(&name, right) {
                Some(wrong) => Some(wrong),
                None => return false,
            },
            None if is_right => None,
            None => return false,
        };
        let call = self.lookup.as_mut().unwrap_or(&mut self.draft);
        match edit {
            Some(value) => _ = paths::set(&mut call.arguments, &name, value),
            None => _ = paths::remove(&mut call.arguments, &name),
        }
        true
    }

    /// Returns the arguments that were meant, as far as the agent knows them.
    fn known_arguments(&self) -> Value {
        if let Some(lookup) = &self.lookup {
            let action = action_of(&self.start, lookup).unwrap_or_default();
            return advised_call(&self.start, &self.found_values, self.step, &lookup.tool, action).arguments;
        }
        let Some(step) = self.script_step() else { return Value::Null };
        let mut known = step.intended.arguments.clone();
        for argument in step.find.keys() {
            match self.found_values.get(self.step, argument) {
                Some(found) => _ = paths::set(&mut known, argument, found.clone()),
                None => {
                    // A value that has to be found stays as it was sent.
                    match paths::get(&self.draft.arguments, argument) {
                        Some(sent) => _ = paths::set(&mut known, argument, sent.clone()),
                        None => paths::forget(&mut known, argument),
                    }
                }
            }
        }
        known
    }

    /// Calls what the text names, else an action that only reads and was not tried, else begins the next step.
    fn call_another(&mut self, statements: &[Statement]) -> Turn {
        if self.follow_suggestion(statements) {
            return self.send(0);
        }
        let Some((tool, action)) = self.untried_reading_action() else {
            self.step += 1;
            return self.begin_step();
        };
        self.lookup = Some(advised_call(&self.start, &self.found_values, self.step, &tool, &action));
        self.followed.push((tool, action));
        self.send(0)
    }

    /// Returns an action that only reads, other than that of the latest call and that of the step.
    fn untried_reading_action(&self) -> Option<(String, String)> {
        let last = self.last_call()?;
        let is_of = |call: &ToolCall, tool: &ToolSpec, action: &ActionSpec| {
            call.tool == tool.name && action_of(&self.start, call) == Some(action.name.as_str())
        };
        let mut untried = Vec::new();
        for tool in self.start.tools {
            for action in tool.actions.iter().filter(|action| action.read_only) {
                let pair = (tool.name.clone(), action.name.clone());
                let is_own = [last, &self.draft].into_iter().any(|call| is_of(call, tool, action));
                if !is_own && !self.followed.contains(&pair) {
                    untried.push(pair);
                }
            }
        }
        self.draws("agent/move/tool").pick(&untried).cloned()
    }
}

fn stated_delay(statements: &[Statement]) -> u32 {
    let delay = |statement: &Statement| match statement {
        Statement::Delay { seconds } => Some(*seconds),
        _ => None,
    };
    statements.iter().find_map(delay).unwrap_or(0)
}
