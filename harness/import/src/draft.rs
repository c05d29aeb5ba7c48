//! A conversation that is being read, with the ids that tell which result belongs to which call.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

use crate::conversation::{Call, CallResult, Conversation, ErrorSource, Event, Turn};
use crate::problem::{Position, ProblemKind};

/// A conversation that is being read.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) conversation: Conversation,
    /// The name of its task, unless the source names one.
    pub(crate) own_task: String,
    /// The id that its source gives it.
    pub(crate) id: Option<String>,
    /// The place in its file of what is read.
    pub(crate) position: Option<Position>,
    /// The problems, with a place and a detail each.
    pub(crate) problems: Vec<(ProblemKind, Option<Position>, String)>,
    /// The places of the events, of those with calls that of the first one.
    positions: Vec<Option<Position>>,
    /// The ids of the calls of each event; an empty text where there is none.
    ids: Vec<Vec<String>>,
    /// The calls with an id.
    calls: HashMap<String, SameId>,
    /// The last event with calls.
    last_calls: Option<usize>,
    /// The results that came for `last_calls`, in their order, until another event begins.
    arrived: Vec<Arrived>,
    /// True if results of `last_calls` came before those.
    is_answered: bool,
    /// The event of each turn that a source gives an id.
    turns: HashMap<String, usize>,
    last_time: String,
}

/// The place of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    event: usize,
    call: usize,
}

/// The calls with the same id.
#[derive(Debug)]
struct SameId {
    last: Place,
    /// Those without a result.
    open: BTreeSet<Place>,
}

/// A result of a turn.
#[derive(Debug)]
enum Arrived {
    /// That of the call at this position, by its id.
    Matched(usize),
    /// One whose id tells of no call that is open.
    Stray { id: String, position: Option<Position>, result: CallResult },
}

impl Draft {
    pub(crate) fn problem(&mut self, kind: ProblemKind, detail: impl Into<String>) {
        self.problem_at(kind, self.position, detail);
    }

    fn problem_at(&mut self, kind: ProblemKind, position: Option<Position>, detail: impl Into<String>) {
        self.problems.push((kind, position, detail.into()));
    }

    /// Adds a text of the user; an empty one is none.
    pub(crate) fn user(&mut self, text: String) {
        if !text.trim().is_empty() {
            self.push(Event::User { text });
        }
    }

    /// Does something with the turn with an id. Without one it is the last turn, unless a result or a text of the user ended that.
    pub(crate) fn turn(&mut self, id: Option<&str>, change: impl FnOnce(&mut Turn)) {
        let event = self.turn_index(id);
        if let Some(Event::Turn(turn)) = self.conversation.events.get_mut(event) {
            change(turn);
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
            Some(Event::Turn(_)) if !self.has_result(self.ids.len() - 1) => self.ids.len() - 1,
            _ => self.push(Event::Turn(Turn::default())),
        }
    }

    /// Returns true if a result came for one of the calls of the last event.
    fn has_result(&self, last: usize) -> bool {
        self.last_calls == Some(last) && (!self.arrived.is_empty() || self.is_answered)
    }

    fn push(&mut self, event: Event) -> usize {
        self.settle();
        self.conversation.events.push(event);
        self.ids.push(Vec::new());
        self.positions.push(self.position);
        self.ids.len() - 1
    }

    /// Appends to the text of a turn.
    pub(crate) fn model_text(&mut self, turn: Option<&str>, text: &str) {
        self.turn(turn, |turn| {
            if !turn.text.is_empty() && !text.is_empty() {
                turn.text.push('\n');
            }
            turn.text.push_str(text);
        });
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
        if self.calls.get(id).is_some_and(|same| same.last.event == event) {
            self.problem(ProblemKind::DuplicateId, format!("{tool}, id {id}"));
        }
        let Event::Turn(turn) = &mut self.conversation.events[event] else { return };
        turn.calls.push(Call { tool: tool.to_owned(), arguments, result: None, is_shell: false });
        let call = self.ids[event].len();
        self.ids[event].push(id.to_owned());
        if call == 0 {
            self.positions[event] = self.position;
        }
        if !id.is_empty() {
            let place = Place { event, call };
            let same = self.calls.entry(id.to_owned()).or_insert_with(|| SameId { last: place, open: BTreeSet::new() });
            same.last = place;
            same.open.insert(place);
        }
        if self.last_calls.is_none_or(|last| last < event) {
            self.settle();
            self.last_calls = Some(event);
            self.is_answered = false;
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
    ///
    /// It belongs to the first open call of the last turn with that id, else to an open one of an earlier turn. The others are kept until
    /// the turn is over.
    pub(crate) fn result(&mut self, id: &str, blocks: Vec<String>, is_error: bool) {
        let error = is_error.then_some(ErrorSource::Flag);
        let result = CallResult { blocks, error, ..CallResult::default() };
        let Some(last) = self.last_calls else {
            self.tell_stray(id, self.position);
            return;
        };
        let Some(place) = self.take_open(id, last) else {
            self.arrived.push(Arrived::Stray { id: id.to_owned(), position: self.position, result });
            return;
        };
        if place.event == last {
            self.arrived.push(Arrived::Matched(place.call));
        }
        if let Some(call) = self.call_at(place) {
            call.result = Some(result);
        }
    }

    /// Returns the open call that has an id, and counts it as answered.
    fn take_open(&mut self, id: &str, last: usize) -> Option<Place> {
        let open = &mut self.calls.get_mut(id)?.open;
        let place = *open.range(Place { event: last, call: 0 }..).next().or_else(|| open.last())?;
        open.remove(&place);
        Some(place)
    }

    fn tell_stray(&mut self, id: &str, position: Option<Position>) {
        let kind = if self.calls.contains_key(id) { ProblemKind::DuplicateId } else { ProblemKind::NoCall };
        self.problem_at(kind, position, if id.is_empty() { String::new() } else { format!("id {id}") });
    }

    /// Finds the calls of results whose ids tell nothing. If a turn has as many results as calls, they come in the order of the calls;
    /// otherwise such results are those of the calls that are open, and with too many of them only where no id says otherwise.
    fn settle(&mut self) {
        let arrived = std::mem::take(&mut self.arrived);
        let Some(event) = self.last_calls.filter(|_| !arrived.is_empty()) else { return };
        let was_answered = std::mem::replace(&mut self.is_answered, true);
        let has_stray = arrived.iter().any(|one| matches!(one, Arrived::Stray { .. }));
        let Some(Event::Turn(turn)) = self.conversation.events.get_mut(event).filter(|_| has_stray) else { return };
        let is_in_order = !was_answered && arrived.len() == turn.calls.len();
        let is_too_many = arrived.len() > turn.calls.len();
        let mut strays = Vec::new();
        for one in arrived {
            match one {
                Arrived::Matched(call) if is_in_order => {
                    strays.extend(turn.calls[call].result.take().map(|result| (String::new(), None, result)));
                }
                Arrived::Matched(_) => {}
                Arrived::Stray { id, position, result } => strays.push((id, position, result)),
            }
        }
        let mut told = Vec::new();
        // Calls with an id and those without, each from the first one that may be open.
        let (mut any, mut nameless) = (0, 0);
        for (id, position, result) in strays {
            let is_open = |call: &usize| turn.calls[*call].result.is_none();
            let is_nameless = |call: &usize| self.ids[event][*call].is_empty() && is_open(call);
            let call = if is_too_many && !id.is_empty() {
                nameless = (nameless..turn.calls.len()).find(is_nameless).unwrap_or(turn.calls.len());
                nameless
            } else {
                any = (any..turn.calls.len()).find(is_open).unwrap_or(turn.calls.len());
                any
            };
            match turn.calls.get_mut(call) {
                Some(call) => call.result = Some(result),
                None => told.push((id, position)),
            }
        }
        for (call, id) in self.ids[event].iter().enumerate().filter(|(call, _)| turn.calls[*call].result.is_some()) {
            if let Some(same) = self.calls.get_mut(id) {
                same.open.remove(&Place { event, call });
            }
        }
        told.iter().for_each(|(id, position)| self.tell_stray(id, *position));
    }

    /// Marks the result of the last call with an id as an error.
    pub(crate) fn flag(&mut self, id: &str) {
        self.settle();
        let place = self.calls.get(id).map(|same| same.last);
        if let Some(result) = place.and_then(|place| self.call_at(place)).and_then(|call| call.result.as_mut()) {
            result.error = Some(ErrorSource::Flag);
        }
    }

    /// Returns true if there is a call with this id.
    pub(crate) fn has_call(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    fn call_at(&mut self, place: Place) -> Option<&mut Call> {
        match self.conversation.events.get_mut(place.event)? {
            Event::Turn(turn) => turn.calls.get_mut(place.call),
            Event::User { .. } => None,
        }
    }

    /// Notes the time of a message, in a form that sorts as text. Only the first step backwards is told.
    pub(crate) fn time(&mut self, time: &str) {
        let is_told = || self.problems.iter().any(|(kind, ..)| *kind == ProblemKind::ClockBackwards);
        if *time < *self.last_time && !is_told() {
            let detail = format!("{time} after {}", self.last_time);
            self.problem(ProblemKind::ClockBackwards, detail);
        }
        time.clone_into(&mut self.last_time);
    }

    /// Notes what tells of calls without a result, and of a log that ends in the middle.
    pub(crate) fn finish(&mut self) {
        self.settle();
        let mut open = Vec::new();
        for (event, position) in self.conversation.events.iter().zip(&self.positions) {
            if let Event::Turn(turn) = event {
                let calls = turn.calls.iter().filter(|call| call.result.is_none());
                open.extend(calls.map(|call| (ProblemKind::NoResult, *position, call.tool.clone())));
            }
        }
        self.problems.append(&mut open);
        let last = self.conversation.events.last();
        self.conversation.is_cut_off |= matches!(last, Some(Event::Turn(turn)) if !turn.calls.is_empty());
    }
}
