use std::fmt;

use healbench_core::{Object, ToolCall};
use healbench_engine::{DisplayMatching, StateCheck, contains_all};

use crate::server::ServerCheck;

/// A condition that must hold when an agent finishes.
#[derive(Debug, Clone, PartialEq)]
pub enum Expectation {
    /// A condition on the final state.
    State(StateCheck),
    /// A condition on the final state of a server.
    Server(ServerCheck),
    /// A matching call succeeded.
    Called {
        tool: String,
        /// The action's name; `None` for a tool without a discriminator.
        action: Option<String>,
        /// Required arguments of the call, including the discriminator.
        arguments: Object,
    },
    /// The task cannot be done, and the agent says so.
    Stops,
}

/// The end of an episode, which expectations are checked against.
#[derive(Debug, Clone, Copy)]
pub struct EpisodeState<'a> {
    /// The results of the [state checks](crate::Scenario::state_checks), or of the
    /// [checks of a server](crate::Scenario::server_checks), in their order.
    pub state: &'a [bool],
    /// True if the agent said that the task cannot be done.
    pub gave_up: bool,
    pub succeeded: &'a [ToolCall],
}

impl Expectation {
    /// Returns the check of the state, if the expectation is one.
    pub(crate) fn state_check(&self) -> Option<&StateCheck> {
        match self {
            Expectation::State(check) => Some(check),
            Expectation::Server(_) | Expectation::Called { .. } | Expectation::Stops => None,
        }
    }

    /// Returns the check of a server's state, if the expectation is one.
    pub(crate) fn server_check(&self) -> Option<&ServerCheck> {
        match self {
            Expectation::Server(check) => Some(check),
            Expectation::State(_) | Expectation::Called { .. } | Expectation::Stops => None,
        }
    }

    /// Returns true if the expectation holds. `state` are the results of this and all later state checks.
    pub(crate) fn is_met(&self, episode: &EpisodeState<'_>, state: &mut std::slice::Iter<'_, bool>) -> bool {
        match self {
            Expectation::State(_) | Expectation::Server(_) => state.next().copied().unwrap_or(false),
            Expectation::Called { tool, arguments, .. } => {
                let matches = |call: &ToolCall| {
                    call.tool == *tool && call.object().is_some_and(|given| contains_all(given, arguments))
                };
                episode.succeeded.iter().any(matches)
            }
            Expectation::Stops => episode.gave_up,
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expectation::State(check) => check.fmt(f),
            Expectation::Server(check) => check.fmt(f),
            Expectation::Called { tool, action, arguments } => {
                write!(f, "a successful call of {tool}")?;
                if let Some(action) = action {
                    write!(f, ".{action}")?;
                }
                let shown =
                    arguments.iter().filter(|(_, value)| action.as_deref() != value.as_str() || action.is_none());
                write!(f, "{}", DisplayMatching(&shown.map(|(name, value)| (name.clone(), value.clone())).collect()))
            }
            Expectation::Stops => f.write_str("the agent says that it cannot be done"),
        }
    }
}
