//! The agent's loop: send what it believes, read what comes back, mend, look up, wait, or stop.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use healbench_protocol::{Agent, AgentError, Draws, EpisodeStart, Step, ToolCall, ToolResponse, Turn};
use serde_json::Value;

use super::errand::{Cut, action_of, advised, discriminator};
use super::evidence::{Evidence, Vocabulary, extract_after};
use super::memo::Memo;
use super::mend::{Change, Knowledge, explained};
use super::paths;
use super::profile::Profile;
use super::records::Findings;

/// Texts longer than this are read again each time: few answers that are worth understanding are as long.
const MAX_REMEMBERED: usize = 1 << 16;

thread_local! {
    /// What texts say, by the names that the reader knows, the arguments that it sent, and the text.
    static UNDERSTOOD: RefCell<Memo<Rc<[Evidence]>>> = RefCell::default();
}

/// Plays one episode from a script.
///
/// It acts on response texts alone. Its draws are keyed by purpose, step and attempt, so two episodes that differ in the error
/// format draw alike for the same decision.
pub struct ScriptedAgent<'a> {
    profile: Profile,
    start: EpisodeStart<'a>,
    /// Made when the first text has to be understood, beside its bytes; most episodes need none.
    vocabulary: Option<(Vocabulary<'a>, Vec<u8>)>,
    findings: Findings<'a>,
    /// Tokens seen in this episode, by the agent's own estimate. The rows of a run count exactly; this is only what the agent
    /// believes, as one that has no tokenizer does.
    seen_tokens: u64,
    step: usize,
    /// The call of the step as the agent believes it now.
    draft: ToolCall,
    /// A call that is made before the step's own.
    errand: Option<ToolCall>,
    /// Calls and failed attempts on the step.
    attempts: u64,
    failures: u32,
    /// Advice (tool, action) that was followed in this step; following it twice would teach nothing new.
    asked: Vec<(String, String)>,
    cut: Option<Cut>,
    /// Advice that came with the latest success.
    advice: Vec<Evidence>,
    /// The turn that prose was put before.
    pending: Option<Turn>,
    last: Option<Rc<ToolCall>>,
}

impl<'a> ScriptedAgent<'a> {
    /// An agent with this profile at the start of an episode.
    pub fn new(profile: &Profile, start: EpisodeStart<'a>) -> ScriptedAgent<'a> {
        ScriptedAgent {
            profile: *profile,
            start,
            vocabulary: None,
            findings: Findings::new(start.script),
            seen_tokens: estimate(start.prompt),
            step: 0,
            draft: ToolCall { tool: String::new(), arguments: Value::Null },
            errand: None,
            attempts: 0,
            failures: 0,
            asked: Vec::new(),
            cut: None,
            advice: Vec::new(),
            pending: None,
            last: None,
        }
    }
}

impl Agent for ScriptedAgent<'_> {
    fn next_turn(&mut self, seen: &[&ToolResponse]) -> Result<Turn, AgentError> {
        if let Some(turn) = self.pending.take() {
            return Ok(turn);
        }
        let turn = match (seen.last(), self.last.is_some()) {
            (Some(response), true) => self.after(response),
            (None, true) => self.send(0),
            (_, false) => self.begin_step(),
        };
        if matches!(turn, Turn::Calls { .. }) && self.chance(self.profile.chatter, "agent/chatter") {
            self.pending = Some(turn);
            return Ok(Turn::Message { text: "Let me look at this before I go on.".to_owned() });
        }
        Ok(turn)
    }
}

impl<'a> ScriptedAgent<'a> {
    fn script_step(&self) -> Option<&'a Step> {
        self.start.script.steps.get(self.step)
    }

    fn begin_step(&mut self) -> Turn {
        self.attempts = 0;
        self.failures = 0;
        self.errand = None;
        self.asked.clear();
        let Some(step) = self.script_step() else {
            return Turn::Done { answer: "The task is done.".to_owned() };
        };
        self.draft = step.draft.clone();
        for argument in step.find.keys() {
            // A belief that was spoiled is believed until a response says otherwise; any other value has to be read first.
            if paths::get(&step.draft.arguments, argument) == paths::get(&step.intended.arguments, argument) {
                paths::remove(&mut self.draft.arguments, argument);
                if let Some(found) = self.findings.get(self.step, argument) {
                    paths::set(&mut self.draft.arguments, argument, found.clone());
                }
            }
        }
        let honest = |argument: &String| {
            let believed = paths::get(&step.draft.arguments, argument);
            believed == paths::get(&step.intended.arguments, argument)
                && paths::get(&self.draft.arguments, argument).is_none()
        };
        if step.find.keys().any(honest) { self.look_up() } else { self.send(0) }
    }

    /// Sends the errand if there is one, else the step's call.
    fn send(&mut self, waited_s: u32) -> Turn {
        let call = self.errand.as_ref().unwrap_or(&self.draft).clone();
        self.attempts += 1;
        self.last = Some(Rc::new(call.clone()));
        Turn::Calls { calls: vec![call], waited_s, text: String::new() }
    }

    fn after(&mut self, response: &ToolResponse) -> Turn {
        let texts = self.readable(response);
        if response.is_error {
            self.failures += 1;
            if self.failures >= self.profile.patience {
                return give_up("Too many attempts failed.");
            }
            let evidence = self.understand(&texts.join("\n\n"));
            return self.mend(&evidence);
        }
        for text in &texts {
            self.findings.read(text, self.step);
        }
        self.note_advice(&texts);
        if self.errand.take().is_some() {
            return if self.fill() { self.send(0) } else { self.look_up() };
        }
        if self.narrow_own_call() {
            return self.send(0);
        }
        self.step += 1;
        self.begin_step()
    }

    /// What of a response still fits into the context window. After the first text that does not fit, nothing is read any more.
    fn readable<'t>(&mut self, response: &'t ToolResponse) -> Vec<&'t str> {
        let mut texts = Vec::new();
        for text in &response.content {
            let left = self.profile.context_window.saturating_sub(self.seen_tokens);
            let tokens = estimate(text);
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

    fn understand(&mut self, text: &str) -> Rc<[Evidence]> {
        if text.is_empty() || self.profile.uptake.is_nothing() {
            return Rc::new([]);
        }
        let (vocabulary, names) = self.vocabulary.get_or_insert_with(|| {
            let vocabulary = Vocabulary::new(self.start.tools, self.start.script);
            let names = vocabulary.bytes();
            (vocabulary, names)
        });
        let sent = &self.errand.as_ref().unwrap_or(&self.draft).arguments;
        let extract = || extract_after(text, vocabulary, sent).into();
        if text.len() > MAX_REMEMBERED {
            return extract();
        }
        let mut question = Vec::with_capacity(names.len() + 256);
        question.extend_from_slice(names);
        // JSON that is written into memory cannot fail. The names have their length before them: nothing runs together.
        let _ = serde_json::to_writer(&mut question, sent);
        UNDERSTOOD.with_borrow_mut(|memo| memo.get(&question, text, extract))
    }

    /// Reads what a success says besides its records, if that could matter: something is still to be found, or the call was not
    /// the intended one.
    fn note_advice(&mut self, texts: &[&str]) {
        self.advice.clear();
        // A shortcut, not knowledge: narrowing adds what the intent has and the belief lacks, which is nothing when they are equal,
        // and whatever is still to be found is asked for below.
        let unsure = self.errand.is_none() && self.script_step().is_some_and(|step| self.draft != step.intended);
        if !unsure && !self.findings.lacks_from(self.step) {
            return;
        }
        let Some(call) = self.last.clone() else { return };
        for text in texts {
            if !is_records(text) {
                let evidence = self.understand(text);
                self.advice.extend_from_slice(&evidence);
            }
        }
        let of_same = |cut: &Cut| {
            cut.call.tool == call.tool && action_of(&self.start, &cut.call) == action_of(&self.start, &call)
        };
        match Cut::of(&call, &self.advice) {
            Some(cut) => self.cut = Some(cut),
            None if self.cut.as_ref().is_some_and(of_same) => self.cut = None,
            None => {}
        }
    }

    /// Adds to the step's own call the filters that the intent has, the belief lacks, and the text teaches.
    fn narrow_own_call(&mut self) -> bool {
        let Some(step) = self.script_step() else { return false };
        let Some(cut) = self.cut.take() else { return false };
        let mut changed = false;
        if self.last.as_deref() == Some(&cut.call) {
            for (field, values) in &cut.filters {
                let intended = paths::get(&step.intended.arguments, field).filter(|_| !step.find.contains_key(field));
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
        self.cut = Some(cut);
        changed
    }

    /// Puts what has been found into the step's call; false if something is still to be found.
    fn fill(&mut self) -> bool {
        let Some(step) = self.script_step() else { return true };
        let mut complete = true;
        for argument in step.find.keys() {
            match self.findings.get(self.step, argument) {
                Some(found) => _ = paths::set(&mut self.draft.arguments, argument, found.clone()),
                None => complete = false,
            }
        }
        complete
    }

    /// Goes after what the step lacks: by narrowing a cut answer, else by reading on in it, else by following advice, else not at
    /// all.
    fn look_up(&mut self) -> Turn {
        if let Some(cut) = self.cut.take() {
            let mut call = cut.call.clone();
            for (field, value) in cut.unused(&self.start, self.step) {
                if self.takes_up("narrow", &field, self.profile.uptake.narrow) {
                    paths::set(&mut call.arguments, &field, value);
                }
            }
            let mut changed = call != cut.call;
            if !changed && let Some(page) = &cut.page {
                // Whoever has begun to read page by page goes on.
                let begun = paths::get(&cut.call.arguments, &page.field).is_some();
                changed = (begun || self.takes_up("page", &page.field, self.profile.uptake.narrow))
                    && page.turn(&mut call.arguments);
            }
            self.cut = Some(cut);
            if changed {
                self.errand = Some(call);
                return self.send(0);
            }
        }
        let advice = std::mem::take(&mut self.advice);
        if self.follow(&advice) {
            return self.send(0);
        }
        self.failures += 1;
        if self.failures >= self.profile.patience {
            return give_up("What the task needs was not found.");
        }
        if self.chance(self.profile.repeat, "agent/repeat") {
            self.errand = self.last.as_deref().cloned();
            return self.send(0);
        }
        if self.chance(self.profile.guess, "agent/guess") {
            return self.send(0);
        }
        give_up("What the task needs was not found.")
    }

    fn mend(&mut self, evidence: &[Evidence]) -> Turn {
        let fixed = self.fix(evidence);
        let wait = evidence.iter().find_map(|evidence| match evidence {
            Evidence::Delay { seconds } => Some(*seconds),
            _ => None,
        });
        let wait = wait.filter(|_| self.takes_up("delay", "", self.profile.uptake.delay));
        if fixed {
            return self.send(wait.unwrap_or(0));
        }
        let says = |kind: &Evidence| evidence.contains(kind);
        if says(&Evidence::Stop) && self.takes_up("stop", "", self.profile.uptake.stop) {
            return give_up("Somebody else has to act first.");
        }
        if let Some(seconds) = wait {
            return self.send(seconds);
        }
        if self.follow(evidence) {
            return self.send(0);
        }
        if says(&Evidence::Transient) && self.takes_up("transient", "", self.profile.uptake.transient) {
            return self.send(0);
        }
        if self.chance(self.profile.repeat, "agent/repeat") {
            return self.send(0);
        }
        if self.chance(self.profile.guess, "agent/guess") {
            self.change_something();
            return self.send(0);
        }
        give_up("The error does not say what to change.")
    }

    /// Mends the call in hand as far as the evidence explains it; false if nothing was changed.
    fn fix(&mut self, evidence: &[Evidence]) -> bool {
        let mut fixes = 0;
        for piece in evidence {
            let (kind, subject, uptake) = match piece {
                // A suggestion that mends the call lists the actions that there are, in other words.
                Evidence::Suggest { .. } => ("actions", "", self.profile.uptake.actions),
                _ => self.uptake(piece),
            };
            for fix in self.explained(piece) {
                if fixes >= self.profile.fixes_per_turn {
                    return true;
                }
                // One draw per fix: of a contract's many changes a reader may carry over some.
                let name = match &fix[0] {
                    Change::Put(path, _) | Change::Drop(path) if subject.is_empty() => path.clone(),
                    _ => subject.to_owned(),
                };
                if !self.takes_up(kind, &name, uptake) {
                    continue;
                }
                let call = self.errand.as_mut().unwrap_or(&mut self.draft);
                for change in fix {
                    change.apply(&mut call.arguments);
                }
                fixes += 1;
            }
        }
        fixes > 0
    }

    fn explained(&self, piece: &Evidence) -> Vec<Vec<Change>> {
        let none = BTreeMap::new();
        let Some(step) = self.script_step() else { return Vec::new() };
        let call = self.errand.as_ref().unwrap_or(&self.draft);
        let field = discriminator(&self.start, &call.tool).unwrap_or_default();
        if let Some(errand) = &self.errand {
            // All that is known of an errand is what it was made of; a text can still say which part to send otherwise.
            let action = action_of(&self.start, errand).unwrap_or_default();
            let known = advised(&self.start, &self.findings, self.step, &errand.tool, action);
            let knowledge = Knowledge {
                intended: &known.arguments,
                finds: &none,
                findings: &self.findings,
                step: self.step,
                tool: &errand.tool,
                discriminator: field,
            };
            return explained(piece, &errand.arguments, &knowledge);
        }
        let knowledge = Knowledge {
            intended: &step.intended.arguments,
            finds: &step.find,
            findings: &self.findings,
            step: self.step,
            tool: &self.draft.tool,
            discriminator: field,
        };
        explained(piece, &self.draft.arguments, &knowledge)
    }

    /// Sets out on the first errand that the evidence advises and that was not made before.
    fn follow(&mut self, evidence: &[Evidence]) -> bool {
        let Some(last) = self.last.clone() else { return false };
        let seeks = self.script_step().is_some_and(|step| !step.find.is_empty());
        let own = action_of(&self.start, &last).unwrap_or_default().to_owned();
        let intended = self.script_step().and_then(|step| action_of(&self.start, &step.intended)).unwrap_or_default();
        let suggests = |name: &str| {
            evidence.iter().any(|piece| matches!(piece, Evidence::Suggest { action, .. } if action == name))
        };
        let spec = self.start.tools.iter().find(|spec| spec.name == last.tool);
        let all =
            spec.is_some_and(|spec| spec.actions.len() > 1 && spec.actions.iter().all(|action| suggests(&action.name)));
        if all || (own != intended && suggests(intended)) {
            // The names are the actions that there are, to choose from; the others among them are no advice.
            return false;
        }
        for piece in evidence {
            let (tool, action) = match piece {
                Evidence::Suggest { tool, action } => (tool.as_ref().unwrap_or(&last.tool), action),
                // A few actions without the one that was called, which does exist: advice, not a correction.
                Evidence::Actions { names } if seeks && names.len() <= 3 && !names.contains(&own) => {
                    let known = self.start.tools.iter().find(|spec| spec.name == last.tool);
                    match names.first().filter(|_| known.is_some_and(|spec| spec.action(&own).is_some())) {
                        Some(first) => (&last.tool, first),
                        None => continue,
                    }
                }
                _ => continue,
            };
            let asked = (tool.clone(), action.clone());
            if (*tool == last.tool && *action == own) || self.asked.contains(&asked) || !self.may_call(tool, action) {
                continue;
            }
            if self.takes_up("suggestion", &format!("{tool}.{action}"), self.profile.uptake.suggestion) {
                self.errand = Some(advised(&self.start, &self.findings, self.step, tool, action));
                self.asked.push(asked);
                return true;
            }
        }
        false
    }

    /// Whether an action may be called because a text advises it: one that changes nothing, or that the task asks for anyhow.
    fn may_call(&self, tool: &str, action: &str) -> bool {
        let spec = self.start.tools.iter().find(|spec| spec.name == tool).and_then(|spec| spec.action(action));
        let asked_for =
            |step: &Step| step.intended.tool == tool && action_of(&self.start, &step.intended) == Some(action);
        spec.is_some_and(|spec| spec.read_only) || self.start.script.steps.iter().any(asked_for)
    }

    fn uptake<'e>(&self, evidence: &'e Evidence) -> (&'static str, &'e str, f64) {
        let uptake = &self.profile.uptake;
        match evidence {
            Evidence::Missing { field } | Evidence::MissingDiscriminator { field } => {
                ("missing", field, uptake.missing)
            }
            Evidence::WrongType { field, .. } => ("wrong_type", field, uptake.wrong_type),
            Evidence::Options { field, .. } => ("options", field, uptake.options),
            Evidence::Taken { field } => ("taken", field, uptake.options),
            Evidence::Bound { field, .. } => ("bounds", field, uptake.bounds),
            Evidence::Format { field, .. } => ("format", field, uptake.format),
            Evidence::Unrecognised { field } => ("unrecognised", field, uptake.unrecognised),
            Evidence::Actions { .. } => ("actions", "", uptake.actions),
            Evidence::Suggest { action, .. } => ("suggestion", action, uptake.suggestion),
            Evidence::Delay { .. } => ("delay", "", uptake.delay),
            Evidence::Transient => ("transient", "", uptake.transient),
            Evidence::Stop => ("stop", "", uptake.stop),
            Evidence::Narrow { field, .. } | Evidence::Page { field, .. } => ("narrow", field, uptake.narrow),
            Evidence::Contract { .. } => ("contract", "", uptake.contract),
            Evidence::Example { .. } => ("example", "", uptake.example),
        }
    }

    /// Whether a piece of evidence is taken up. Keyed by what it says, not by where in the text it stands.
    fn takes_up(&self, kind: &str, subject: &str, probability: f64) -> bool {
        // Most profiles have certain numbers somewhere; a certain outcome needs no draw.
        if probability <= 0.0 || probability >= 1.0 {
            return probability >= 1.0;
        }
        self.draws(&format!("agent/uptake/{kind}/{subject}")).chance(probability)
    }

    fn chance(&self, probability: f64, purpose: &str) -> bool {
        if probability <= 0.0 || probability >= 1.0 {
            return probability >= 1.0;
        }
        self.draws(purpose).chance(probability)
    }

    fn draws(&self, purpose: &str) -> Draws {
        self.start.draws.draws(purpose, (self.step as u64) << 32 | self.attempts)
    }

    /// Changes something at random: drops a field, writes a value as another type, or takes another action.
    fn change_something(&mut self) {
        let mut draws = self.draws("agent/guess/what");
        let call = self.errand.as_mut().unwrap_or(&mut self.draft);
        let field = discriminator(&self.start, &call.tool);
        let spec = self.start.tools.iter().find(|spec| spec.name == call.tool);
        let Some(object) = call.arguments.as_object_mut() else { return };
        let names: Vec<String> = object.keys().filter(|name| Some(name.as_str()) != field).cloned().collect();
        match (draws.below(3), draws.pick(&names)) {
            (0, Some(name)) => _ = object.shift_remove(name),
            (1, Some(name)) => {
                if let Some(value) = object.get_mut(name) {
                    *value = match &*value {
                        Value::String(text) => text.parse::<i64>().map_or(Value::from(0), Value::from),
                        other => Value::String(other.to_string()),
                    };
                }
            }
            _ => {
                let other = spec.and_then(|spec| draws.pick(&spec.actions));
                if let (Some(field), Some(other)) = (field, other) {
                    object.insert(field.to_owned(), Value::String(other.name.clone()));
                }
            }
        }
    }
}

fn give_up(reason: &str) -> Turn {
    Turn::GiveUp { reason: reason.to_owned() }
}

/// A token for every four bytes, rounded up.
fn estimate(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

/// Whether a block of a success is data rather than words: JSON. A long one is told by its beginning, since parsing it a second
/// time would cost more than all else.
fn is_records(text: &str) -> bool {
    let text = text.trim_start();
    let Some(inner) = text.strip_prefix(['[', '{']) else { return false };
    if text.len() > 4096 {
        return inner.trim_start().starts_with(['{', '"', '[']);
    }
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
