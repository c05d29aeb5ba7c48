use std::fmt;

use healbench_core::{Object, ToolCall};
use healbench_engine::{DisplayMatching, StateCheck, contains_all};
use serde_json::Value;

use crate::answer::Answer;
use crate::server::ServerCheck;
use crate::verification::{Verified, VerifiedRows};

/// A condition that must hold when an agent finishes.
#[derive(Debug, Clone, PartialEq)]
pub enum Expectation {
    /// A condition on the final state.
    State(StateCheck),
    /// A condition on the final state of a server.
    Server(ServerCheck),
    /// A matching call succeeded.
    Called(CallPattern),
    /// No matching call succeeded.
    NotCalled(CallPattern),
    /// At most this many matching calls succeeded.
    AtMost(u32, CallPattern),
    /// Matching calls succeeded, one after the other.
    InOrder(Vec<CallPattern>),
    /// A successful call returned a row with these values, after the last call that wrote it, and not by a silent fault.
    Verified(Verified),
    /// The closing text says something.
    Answer(Answer),
    /// At least one of them holds.
    AnyOf(Vec<Expectation>),
    /// The task cannot be done, and the agent says so.
    Stops,
}

/// The calls that an expectation is about.
#[derive(Debug, Clone, PartialEq)]
pub struct CallPattern {
    pub tool: String,
    /// The action's name; `None` for a tool without a discriminator.
    pub action: Option<String>,
    /// Required arguments of the call, including the discriminator.
    pub arguments: Object,
}

impl CallPattern {
    fn matches(&self, call: &ToolCall) -> bool {
        call.tool == self.tool && call.object().is_some_and(|given| contains_all(given, &self.arguments))
    }
}

/// The end of an episode, which expectations are checked against.
#[derive(Debug, Clone, Copy, Default)]
pub struct EpisodeState<'a> {
    /// The results of the [state checks](crate::Scenario::state_checks), or of the
    /// [checks of a server](crate::Scenario::server_checks), in their order.
    pub state: &'a [bool],
    /// True if the agent said that the task cannot be done.
    pub gave_up: bool,
    /// The calls that took effect, in order.
    pub succeeded: &'a [ToolCall],
    /// The rows that were read after they were written; `None` before any call.
    pub verified: Option<&'a VerifiedRows>,
    /// The closing text; `None` before the end.
    pub answer: Option<&'a str>,
}

/// The results that expectations take, each its own, in the order of the file.
pub(crate) struct Results<'a> {
    state: std::slice::Iter<'a, bool>,
    verified: std::slice::Iter<'a, Option<Value>>,
}

impl<'a> Results<'a> {
    pub(crate) fn new(episode: &EpisodeState<'a>) -> Results<'a> {
        let verified = episode.verified.map_or(&[][..], |rows| &rows.0);
        Results { state: episode.state.iter(), verified: verified.iter() }
    }
}

impl Expectation {
    /// Returns the expectation, or those that it is made of.
    pub(crate) fn parts(&self) -> &[Expectation] {
        match self {
            Expectation::AnyOf(parts) => parts,
            one => std::slice::from_ref(one),
        }
    }

    /// Returns true if the expectation holds.
    pub(crate) fn is_met(&self, episode: &EpisodeState<'_>, results: &mut Results<'_>) -> bool {
        let succeeded = |pattern: &CallPattern| episode.succeeded.iter().filter(|call| pattern.matches(call)).count();
        match self {
            Expectation::State(_) | Expectation::Server(_) => results.state.next().copied().unwrap_or(false),
            Expectation::Verified(_) => results.verified.next().is_some_and(Option::is_some),
            Expectation::Called(pattern) => succeeded(pattern) > 0,
            Expectation::NotCalled(pattern) => succeeded(pattern) == 0,
            Expectation::AtMost(most, pattern) => succeeded(pattern) <= *most as usize,
            Expectation::InOrder(patterns) => {
                let mut calls = episode.succeeded.iter();
                patterns.iter().all(|pattern| calls.any(|call| pattern.matches(call)))
            }
            Expectation::Answer(answer) => episode.answer.is_some_and(|text| answer.is_in(text)),
            // All parts take their results.
            Expectation::AnyOf(parts) => parts.iter().filter(|part| part.is_met(episode, results)).count() > 0,
            Expectation::Stops => episode.gave_up,
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expectation::State(check) => check.fmt(f),
            Expectation::Server(check) => check.fmt(f),
            Expectation::Called(pattern) => write!(f, "a successful call of {pattern}"),
            Expectation::NotCalled(pattern) => write!(f, "no successful call of {pattern}"),
            Expectation::AtMost(most, pattern) => write!(f, "at most {most} successful calls of {pattern}"),
            Expectation::InOrder(patterns) => {
                write!(f, "successful calls, in order, of {}", joined(patterns, ", then "))
            }
            Expectation::Verified(Verified { table, matching, .. }) => {
                write!(f, "a row of {table}{} read after it was written", DisplayMatching(matching))
            }
            Expectation::Answer(answer) => answer.fmt(f),
            Expectation::AnyOf(parts) => f.write_str(&joined(parts, ", or ")),
            Expectation::Stops => f.write_str("the agent says that it cannot be done"),
        }
    }
}

fn joined(parts: &[impl fmt::Display], by: &str) -> String {
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(by)
}

impl fmt::Display for CallPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CallPattern { tool, action, arguments } = self;
        f.write_str(tool)?;
        if let Some(action) = action {
            write!(f, ".{action}")?;
        }
        let shown = arguments.iter().filter(|(_, value)| action.as_deref() != value.as_str() || action.is_none());
        write!(f, "{}", DisplayMatching(&shown.map(|(name, value)| (name.clone(), value.clone())).collect()))
    }
}
