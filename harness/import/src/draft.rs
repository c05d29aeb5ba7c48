//! A conversation that is being read, with the ids that tell which result belongs to which call.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::conversation::{Call, CallResult, Conversation, ErrorSource, Event, Turn};
use crate::problem::{Position, ProblemKind};

/// A conversation that is being read.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) conversation: Conversation,
    /// The name of its task, unless the source names one.
    pub(crate) own_task: String,
    /// The place of the conversation in its file.
    pub(crate) position: Option<Position>,
    /// The problems, with a detail each.
    pub(crate) problems: Vec<(ProblemKind, String)>,
    /// The ids of the calls of each event; an empty text where there is none.
    ids: Vec<Vec<String>>,
    /// The calls with an id, in their order.
    calls: HashMap<String, Vec<Place>>,
    /// The event of each turn that a source gives an id.
    turns: HashMap<String, usize>,
    last_time: String,
}

/// The place of a call.
#[derive(Debug, Clone, Copy)]
struct Place {
    event: usize,
    call: usize,
}

impl Draft {
    pub(crate) fn problem(&mut self, kind: ProblemKind, detail: impl Into<String>) {
        self.problems.push((kind, detail.into()));
    }

    /// Adds a text of the user; an empty one is none.
    pub(crate) fn user(&mut self, text: String) {
        if !text.trim().is_empty() {
            self.push(Event::User { text });
        }
    }

    /// Returns the turn with an id. Without one it is the last turn, unless a result or a text of the user ended that.
    pub(crate) fn turn(&mut self, id: Option<&str>) -> &mut Turn {
        let event = self.turn_index(id);
        match &mut self.conversation.events[event] {
            Event::Turn(turn) => turn,
            Event::User { .. } => unreachable!("an event of a turn is a turn"),
        }
    }

    fn turn_index(&mut self, id: Option<&str>) -> usize {
        if let Some(id) = id {
            if let Some(event) = self.turns.get(id) {
                return *event;
            }
            let event = self.push(Event::Turn(Turn::default()));
            self.turns.insert(id.to_owned(), event);
            return event;
        }
        match self.conversation.events.last() {
            Some(Event::Turn(turn)) if turn.calls.iter().all(|call| call.result.is_none()) => self.ids.len() - 1,
            _ => self.push(Event::Turn(Turn::default())),
        }
    }

    fn push(&mut self, event: Event) -> usize {
        self.conversation.events.push(event);
        self.ids.push(Vec::new());
        self.ids.len() - 1
    }

    /// Appends to the text of a turn.
    pub(crate) fn model_text(&mut self, turn: Option<&str>, text: &str) {
        let turn = self.turn(turn);
        if !turn.text.is_empty() && !text.is_empty() {
            turn.text.push('\n');
        }
        turn.text.push_str(text);
    }

    /// Sets the usage of the last turn.
    pub(crate) fn set_last_usage(&mut self, usage: Option<(u64, u64)>) {
        let turn = self.conversation.events.iter_mut().rev().find_map(|event| match event {
            Event::Turn(turn) => Some(turn),
            Event::User { .. } => None,
        });
        if let Some(turn) = turn {
            turn.usage = usage;
        }
    }

    /// Adds a call. An empty id is none.
    pub(crate) fn call(&mut self, turn: Option<&str>, id: &str, tool: &str, arguments: Value) {
        let arguments = self.arguments(tool, arguments);
        self.push_call(turn, id, tool, arguments);
    }

    /// Adds a call of a tool that takes a text.
    pub(crate) fn call_with_text(&mut self, turn: Option<&str>, id: &str, tool: &str, text: String) {
        self.push_call(turn, id, tool, Value::String(text));
    }

    fn push_call(&mut self, turn: Option<&str>, id: &str, tool: &str, arguments: Value) {
        let event = self.turn_index(turn);
        if !id.is_empty() && self.ids[event].iter().any(|known| known == id) {
            self.problem(ProblemKind::DuplicateId, format!("{tool}, id {id}"));
        }
        let Event::Turn(turn) = &mut self.conversation.events[event] else { return };
        turn.calls.push(Call { tool: tool.to_owned(), arguments, result: None, is_shell: false });
        let call = self.ids[event].len();
        self.ids[event].push(id.to_owned());
        if !id.is_empty() {
            self.calls.entry(id.to_owned()).or_default().push(Place { event, call });
        }
    }

    /// Returns arguments as an object, or as the text that was sent.
    fn arguments(&mut self, tool: &str, arguments: Value) -> Value {
        let text = match arguments {
            Value::Object(_) => return arguments,
            Value::Null => return Value::Object(Map::new()),
            Value::String(text) => text,
            other => other.to_string(),
        };
        if text.trim().is_empty() {
            return Value::Object(Map::new());
        }
        match serde_json::from_str(&text) {
            Ok(Value::Object(fields)) => Value::Object(fields),
            Ok(Value::Null) => Value::Object(Map::new()),
            _ => {
                self.problem(ProblemKind::ArgumentsNoJson, tool);
                Value::String(text)
            }
        }
    }

    /// Adds the result of a call. An empty id is none.
    pub(crate) fn result(&mut self, id: &str, blocks: Vec<String>, is_error: bool) {
        let place = if id.is_empty() { self.first_open(|_| true) } else { self.place_of(id) };
        let open = place.and_then(|place| self.call_at(place)).filter(|call| call.result.is_none());
        let Some(call) = open else {
            let kind = if place.is_some() { ProblemKind::DuplicateId } else { ProblemKind::NoCall };
            let detail = if id.is_empty() { String::new() } else { format!("id {id}") };
            self.problem(kind, detail);
            return;
        };
        let error = is_error.then_some(ErrorSource::Flag);
        call.result = Some(CallResult { blocks, text: String::new(), error });
    }

    /// Marks the result of the last call with an id as an error.
    pub(crate) fn flag(&mut self, id: &str) {
        let place = self.calls.get(id).and_then(|places| places.last()).copied();
        if let Some(result) = place.and_then(|place| self.call_at(place)).and_then(|call| call.result.as_mut()) {
            result.error = Some(ErrorSource::Flag);
        }
    }

    /// Returns true if there is a call with this id.
    pub(crate) fn has_call(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    /// Returns the call that the result with an id belongs to: the first open one of the last turn with that id, then that of an earlier
    /// turn, then the first of the last turn that has no id.
    fn place_of(&mut self, id: &str) -> Option<Place> {
        if let Some(place) = self.first_open(|known| known == id) {
            return Some(place);
        }
        let known = self.calls.get(id).cloned().unwrap_or_default();
        let is_open = |place: &&Place| self.call_ref(**place).is_some_and(|call| call.result.is_none());
        let earlier = known.iter().rev().find(is_open).or(known.last());
        earlier.copied().or_else(|| self.first_open(str::is_empty))
    }

    /// Returns the first call of the last turn without a result whose id fits.
    fn first_open(&self, is_fit: impl Fn(&str) -> bool) -> Option<Place> {
        let is_turn = |event: &Event| matches!(event, Event::Turn(turn) if !turn.calls.is_empty());
        let event = self.conversation.events.iter().rposition(is_turn)?;
        let Event::Turn(turn) = &self.conversation.events[event] else { return None };
        let is_open = |(id, call): (&String, &Call)| is_fit(id) && call.result.is_none();
        let call = self.ids[event].iter().zip(&turn.calls).position(is_open)?;
        Some(Place { event, call })
    }

    fn call_ref(&self, place: Place) -> Option<&Call> {
        match self.conversation.events.get(place.event)? {
            Event::Turn(turn) => turn.calls.get(place.call),
            Event::User { .. } => None,
        }
    }

    fn call_at(&mut self, place: Place) -> Option<&mut Call> {
        match self.conversation.events.get_mut(place.event)? {
            Event::Turn(turn) => turn.calls.get_mut(place.call),
            Event::User { .. } => None,
        }
    }

    /// Notes the time of a message, in a form that sorts as text. Only the first step backwards is told.
    pub(crate) fn time(&mut self, time: &str) {
        let is_told = || self.problems.iter().any(|(kind, _)| *kind == ProblemKind::ClockBackwards);
        if *time < *self.last_time && !is_told() {
            let detail = format!("{time} after {}", self.last_time);
            self.problem(ProblemKind::ClockBackwards, detail);
        }
        time.clone_into(&mut self.last_time);
    }

    /// Notes what tells of calls without a result, and of a log that ends in the middle.
    pub(crate) fn finish(&mut self) {
        let mut open = Vec::new();
        for event in &self.conversation.events {
            if let Event::Turn(turn) = event {
                open.extend(turn.calls.iter().filter(|call| call.result.is_none()).map(|call| call.tool.clone()));
            }
        }
        for tool in open {
            self.problem(ProblemKind::NoResult, tool);
        }
        let last = self.conversation.events.last();
        self.conversation.is_cut_off |= matches!(last, Some(Event::Turn(turn)) if !turn.calls.is_empty());
    }
}
