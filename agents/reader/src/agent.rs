//! The turns of a scripted agent: it sends a draft call (the intended call of the script's step with the scheduled
//! mistakes), reads the response, and then repairs the call, looks up a value, waits or stops.

mod finding;
mod guess;
mod moves;
mod suggestions;
mod uptake;
mod wrong_repair;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use healbench_core::{
    Agent, AgentError, EpisodeStart, ErrorKind, Move, RecordQuery, Script, Step, ToolCall, ToolResponse, Turn,
    default_preamble,
};
use serde_json::Value;

use self::wrong_repair::MeantCall;
use super::ScriptedStart;
use super::lookup::{TruncatedResult, action_of, advised_call, discriminator};
use super::paths;
use super::profile::Profile;
use super::reading::{Reading, Statement, Vocabulary};
use super::records::{FoundValues, prose_of, shows_call};
use super::repair::{ArgumentEdit, RepairContext, repairs};
use super::text_cache::CachedReader;

/// An agent that follows the script of a scenario and repairs failed calls by what their responses say.
///
/// Its draws are keyed by purpose, step and attempt, so equal decisions get equal draws in all error formats.
pub struct ScriptedAgent<'a> {
    profile: Profile,
    start: ScriptedStart<'a>,
    /// Created for the first text that has to be read.
    reader: Option<CachedReader<'a>>,
    found_values: FoundValues<'a>,
    /// The agent's estimate of the tokens seen in this episode. The rows of a run have exact counts.
    seen_tokens: u64,
    step: usize,
    /// The draft of the step's call.
    draft: ToolCall,
    /// A call that is made before the step's own call.
    lookup: Option<ToolCall>,
    /// True if a lookup was made in this step that nobody advised.
    looks_up: bool,
    /// The number of calls and of failed attempts in this step.
    attempts: u64,
    failures: u32,
    /// The advice (tool, action) that was followed in this step. None is followed twice.
    followed: Vec<(String, String)>,
    /// True if a delay was waited for in this step.
    waited: bool,
    /// The call that the statements meant, if the last call took a wrong action instead.
    meant_call: Option<MeantCall>,
    truncated: Option<TruncatedResult>,
    /// The advice of the latest success.
    advice: Vec<Statement>,
    /// The turn that follows a turn of prose.
    pending_turn: Option<Turn>,
    /// The calls that were made, in their order.
    calls: Vec<Rc<ToolCall>>,
    /// Those of them that were not refused.
    answered: Vec<Rc<ToolCall>>,
    /// True if the step's call may have taken effect although it failed: after a passing failure.
    unsure: bool,
    /// True if the step's own call was sent.
    sent_draft: bool,
    /// The move after the latest error of the step.
    last_move: Option<Move>,
    /// True if the latest error names the tool that is meant.
    is_tool_told: bool,
}

impl<'a> ScriptedAgent<'a> {
    /// Creates an agent with this profile for an episode.
    pub fn new(profile: &Profile, start: EpisodeStart<'a>, script: &'a Script) -> ScriptedAgent<'a> {
        let prompt = start.prompt;
        let start = ScriptedStart { tools: start.tools, script, draws: start.draws };
        ScriptedAgent {
            profile: *profile,
            start,
            reader: None,
            found_values: FoundValues::new(start.script),
            seen_tokens: estimate_tokens(prompt),
            step: 0,
            draft: ToolCall::new("", Value::Null),
            lookup: None,
            looks_up: false,
            attempts: 0,
            failures: 0,
            followed: Vec::new(),
            waited: false,
            meant_call: None,
            truncated: None,
            advice: Vec::new(),
            pending_turn: None,
            calls: Vec::new(),
            answered: Vec::new(),
            unsure: false,
            sent_draft: false,
            last_move: None,
            is_tool_told: false,
        }
    }
}

impl Agent for ScriptedAgent<'_> {
    fn next_turn(&mut self, seen: &[&ToolResponse]) -> Result<Turn, AgentError> {
        if let Some(turn) = self.pending_turn.take() {
            return Ok(turn);
        }
        // Of a call that was made twice, the one that succeeded counts.
        let twice = seen.iter().rev().find(|response| !response.is_error).or(seen.last());
        let turn = match (twice, !self.calls.is_empty()) {
            (Some(response), true) => self.handle_response(response),
            (None, true) => self.send(0),
            (_, false) => self.begin_step(),
        };
        if matches!(turn, Turn::Calls { .. }) && self.chance(self.profile.chatter, || "agent/chatter") {
            self.pending_turn = Some(turn);
            return Ok(Turn::Message { text: "Let me look at this before I go on.".to_owned() });
        }
        Ok(turn)
    }

    fn is_decided_by_draws(&self) -> bool {
        true
    }

    fn preamble(&self) -> Cow<'_, str> {
        default_preamble(self.start.tools).into()
    }

    fn context_window(&self) -> Option<u64> {
        Some(self.profile.context_window)
    }
}

impl<'a> ScriptedAgent<'a> {
    fn last_call(&self) -> Option<&Rc<ToolCall>> {
        self.calls.last()
    }

    fn script_step(&self) -> Option<&'a Step> {
        self.start.script.steps.get(self.step)
    }

    fn begin_step(&mut self) -> Turn {
        self.attempts = 0;
        self.failures = 0;
        self.lookup = None;
        self.looks_up = false;
        self.followed.clear();
        self.waited = false;
        self.meant_call = None;
        self.unsure = false;
        self.sent_draft = false;
        self.last_move = None;
        let Some(step) = self.script_step() else {
            let answer = self.start.script.answer.as_deref().unwrap_or("The task is done.");
            return Turn::Done { answer: answer.to_owned() };
        };
        self.draft = step.draft.clone();
        let is_as_meant = |argument: &String| is_drafted_as_meant(step, argument);
        for argument in step.find.keys() {
            // A mistaken value is sent until a response says otherwise. Any other value that must be found has to be
            // read from a response first.
            if is_as_meant(argument) {
                paths::forget(&mut self.draft.arguments, argument);
                if let Some(found) = self.found_values.get(self.step, argument) {
                    paths::set(&mut self.draft.arguments, argument, found.clone());
                }
            }
        }
        let must_look_up = |argument: &String| match is_as_meant(argument) {
            true => paths::get(&self.draft.arguments, argument).is_none_or(Value::is_null),
            false => self.found_values.get(self.step, argument).is_none() && self.sends_in_another_form(argument),
        };
        if step.find.keys().any(must_look_up) { self.look_up() } else { self.send(0) }
    }

    /// Sends the lookup, or the step's call if there is none.
    fn send(&mut self, waited_s: u32) -> Turn {
        let call = self.lookup.as_ref().unwrap_or(&self.draft).clone();
        self.attempts += 1;
        let is_twice = !self.sent_draft && self.lookup.is_none() && self.script_step().is_some_and(|step| step.twice);
        self.sent_draft |= self.lookup.is_none();
        let calls = vec![call; 1 + usize::from(is_twice)];
        self.calls.extend(calls.iter().cloned().map(Rc::new));
        Turn::Calls { calls, waited_s, text: String::new() }
    }

    fn handle_response(&mut self, response: &ToolResponse) -> Turn {
        let texts = self.texts_in_window(response);
        if response.is_error {
            let text = texts.join("\n\n");
            let reading = self.read_error(&text);
            let statements = reading.as_ref().map_or(&[][..], |reading| &reading.statements);
            let is_made = |step: &Step| self.lookup.is_none() && self.draft == step.intended;
            if self.script_step().is_some_and(|step| step.fails.is_some() && is_made(step)) {
                let passes = |one: &Statement| matches!(one, Statement::Transient | Statement::Delay { .. });
                // What may succeed later is not the failure that the step is to find.
                if !statements.iter().any(passes) {
                    return self.next_step();
                }
            }
            self.failures += 1;
            if self.failures >= self.profile.patience {
                return self.stop("Too many attempts failed.");
            }
            self.is_tool_told = self.script_step().is_some_and(|step| names_word(&text, &step.intended.tool));
            self.leave_refused_lookup(statements);
            if let Some(moves) = self.profile.moves {
                let kind = reading.as_ref().and_then(|reading| reading.kind).unwrap_or(ErrorKind::Unclear);
                return self.move_on(&moves, statements, kind);
            }
            self.unsure |= statements.contains(&Statement::Transient);
            return self.handle_error(statements);
        }
        self.answered.extend(self.calls.last().cloned());
        let open = self.open_values();
        for text in &texts {
            self.found_values.read(text, self.step);
        }
        self.note_advice(&texts);
        if let Some(lookup) = self.lookup.take() {
            // What was repeated was the look-up, and not the call that failed before it.
            self.last_move = self.last_move.map(|_| Move::OtherTool);
            if self.unsure && texts.iter().any(|text| shows_call(text, &self.draft, &self.start)) {
                return self.next_step();
            }
            if self.fill_found_values() {
                self.meant_call = None;
                return self.send(0);
            }
            // The same look-up for the next value.
            let action = action_of(&self.start, &lookup).unwrap_or_default();
            let next = || advised_call(&self.start, &self.found_values, self.step, &lookup.tool, action);
            if self.open_values() < open
                && let Some(next) = Some(next()).filter(|next| *next != lookup)
            {
                self.lookup = Some(next);
                return self.send(0);
            }
            return self.correct_action().unwrap_or_else(|| self.look_up());
        }
        if self.narrow_step_call() {
            return self.send(0);
        }
        self.next_step()
    }

    fn next_step(&mut self) -> Turn {
        self.step += 1;
        self.begin_step()
    }

    /// Gives up, or goes on if the task can be done without the step.
    fn stop(&mut self, reason: &str) -> Turn {
        match self.script_step() {
            Some(step) if step.optional => self.next_step(),
            _ => Turn::GiveUp { reason: reason.to_owned() },
        }
    }

    /// Returns the part of a response that fits into the context window. Nothing is read after the first text that does not fit.
    fn texts_in_window<'t>(&mut self, response: &'t ToolResponse) -> Vec<&'t str> {
        let mut texts = Vec::new();
        for text in &response.content {
            let left = self.profile.context_window.saturating_sub(self.seen_tokens);
            let tokens = estimate_tokens(text);
            self.seen_tokens = self.seen_tokens.saturating_add(tokens);
            if tokens <= left {
                texts.push(text.as_str());
            } else {
                let mut end = usize::try_from(left.saturating_mul(4)).map_or(text.len(), |end| end.min(text.len()));
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                texts.push(&text[..end]);
            }
        }
        texts
    }

    /// Returns the reader of texts and the arguments of the latest call; `None` if the agent takes nothing up.
    fn reader(&mut self) -> Option<(&CachedReader<'a>, &Value)> {
        if self.profile.uptake.is_zero() {
            return None;
        }
        let ScriptedStart { tools, script, .. } = self.start;
        let reader = self.reader.get_or_insert_with(|| CachedReader::new(Vocabulary::new(tools, script)));
        Some((reader, &self.lookup.as_ref().unwrap_or(&self.draft).arguments))
    }

    /// Reads the text of an error.
    fn read_error(&mut self, text: &str) -> Option<Rc<Reading>> {
        self.reader().map(|(reader, sent)| reader.error(text, sent))
    }

    /// Reads the prose of a success.
    fn read_success(&mut self, text: &str) -> Option<Rc<[Statement]>> {
        if text.is_empty() {
            return None;
        }
        self.reader().map(|(reader, sent)| reader.success(text, sent))
    }

    /// Reads the statements of a success if a value is still to be found or the call was not the intended one.
    fn note_advice(&mut self, texts: &[&str]) {
        self.advice.clear();
        // An optimization without an effect on results: `narrow_step_call` adds only filters that the intended call has
        // and the draft lacks, so it adds nothing if they are equal.
        let is_unintended = self.lookup.is_none() && self.script_step().is_some_and(|step| self.draft != step.intended);
        if !is_unintended && !self.found_values.is_incomplete_from(self.step) {
            return;
        }
        let Some(call) = self.last_call().cloned() else { return };
        for text in texts {
            let statements = self.read_success(prose_of(text));
            self.advice.extend_from_slice(statements.as_deref().unwrap_or_default());
        }
        let is_same_action = |truncated: &TruncatedResult| {
            truncated.call.tool == call.tool && action_of(&self.start, &truncated.call) == action_of(&self.start, &call)
        };
        match TruncatedResult::from_statements(&call, &self.advice) {
            Some(truncated) => self.truncated = Some(truncated),
            None if self.truncated.as_ref().is_some_and(is_same_action) => self.truncated = None,
            None => {}
        }
    }

    fn handle_error(&mut self, statements: &[Statement]) -> Turn {
        if let Some(turn) = self.correct_action() {
            return turn;
        }
        if self.switch_tool(statements) {
            return self.send(0);
        }
        let fixed = self.apply_repairs(statements);
        let wait = statements.iter().find_map(|statement| match statement {
            Statement::Delay { seconds } => Some(*seconds),
            _ => None,
        });
        let wait = wait.filter(|_| self.takes_up("delay", "", self.profile.uptake.delay));
        if fixed {
            return self.send_repaired(wait.unwrap_or(0));
        }
        // What a text says can be done comes first. It is waited for a refusal only once.
        let is_refused = statements.contains(&Statement::Stop);
        let may_wait = !(is_refused && self.waited);
        if let Some(seconds) = wait.filter(|_| may_wait) {
            self.waited = true;
            return self.send(seconds);
        }
        if self.follow_suggestion(statements) || self.look_up_named_value(statements) {
            return self.send(0);
        }
        if is_refused && !self.has_untried_advice(statements) && self.takes_up("stop", "", self.profile.uptake.stop) {
            return self.stop("Somebody else has to act first.");
        }
        if statements.contains(&Statement::Transient) && self.takes_up("transient", "", self.profile.uptake.transient) {
            return self.send(0);
        }
        if self.chance(self.profile.repeat, || "agent/repeat") {
            return self.send(0);
        }
        if self.chance(self.profile.guess, || "agent/guess") {
            self.change_at_random();
            return self.send(0);
        }
        self.stop("I found nothing that I can act on.")
    }

    /// Repairs the current call as far as the statements explain the failure. Returns false if nothing changed.
    fn apply_repairs(&mut self, statements: &[Statement]) -> bool {
        let mut fixes = 0;
        for statement in statements {
            let (kind, subject, uptake) = match statement {
                // A suggestion that repairs the call is equivalent to a list of the valid actions.
                Statement::Suggest { .. } => ("actions", "", self.profile.uptake.actions),
                _ => self.uptake(statement),
            };
            for fix in self.repairs(statement) {
                if fixes >= self.profile.fixes_per_turn {
                    return true;
                }
                // One draw per fix: an agent may follow only some of the changes of a contract.
                let name = match &fix[0] {
                    ArgumentEdit::Set(path, _) | ArgumentEdit::Remove(path) if subject.is_empty() => path.clone(),
                    _ => subject.to_owned(),
                };
                if !self.takes_up(kind, &name, uptake) {
                    continue;
                }
                self.apply_fix(fix);
                fixes += 1;
            }
        }
        fixes > 0
    }

    fn repairs(&self, statement: &Statement) -> Vec<Vec<ArgumentEdit>> {
        let Some(step) = self.script_step() else { return Vec::new() };
        if let Some(lookup) = &self.lookup {
            // The known values of a lookup are the arguments it was built from; a text can still say which of them is
            // wrong.
            let action = action_of(&self.start, lookup).unwrap_or_default();
            let known = advised_call(&self.start, &self.found_values, self.step, &lookup.tool, action);
            return self.repairs_of(lookup, statement, &known.arguments, &BTreeMap::new());
        }
        self.repairs_of(&self.draft, statement, &step.intended.arguments, &step.find)
    }

    /// Returns the repairs of a call whose right arguments are `known` but for those to find.
    fn repairs_of(
        &self,
        call: &ToolCall,
        statement: &Statement,
        known: &Value,
        queries: &BTreeMap<String, RecordQuery>,
    ) -> Vec<Vec<ArgumentEdit>> {
        let context = RepairContext {
            intended: known,
            queries,
            found_values: &self.found_values,
            step: self.step,
            tool: &call.tool,
            discriminator: discriminator(&self.start, &call.tool).unwrap_or_default(),
        };
        repairs(statement, &call.arguments, &context)
    }
}

/// Returns true if the step's first attempt has the right value of an argument.
fn is_drafted_as_meant(step: &Step, argument: &str) -> bool {
    paths::get(&step.draft.arguments, argument) == paths::get(&step.intended.arguments, argument)
}

/// Returns true if a name stands in the text as a word.
fn names_word(text: &str, name: &str) -> bool {
    let is_inside = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    text.match_indices(name)
        .any(|(at, _)| !is_inside(text[..at].chars().next_back()) && !is_inside(text[at + name.len()..].chars().next()))
}

/// Estimates one token for every four bytes, rounded up.
fn estimate_tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}
