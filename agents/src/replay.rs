//! An agent that takes the turns that were taken before: how an episode of a model is shown again without it.

use std::collections::VecDeque;

use healbench_protocol::{Agent, AgentError, Origin, ToolResponse, Turn};

/// Takes recorded turns in their order.
pub struct ReplayAgent {
    turns: VecDeque<(Turn, Origin)>,
    failure: Option<AgentError>,
    preamble: String,
    origin: Origin,
}

impl ReplayAgent {
    /// The agent that takes these turns, and then fails as the recorded one did, if it did. `preamble` is what its model was told.
    pub fn new(turns: Vec<(Turn, Origin)>, failure: Option<AgentError>, preamble: String) -> ReplayAgent {
        ReplayAgent { turns: turns.into(), failure, preamble, origin: Origin::Script }
    }
}

impl Agent for ReplayAgent {
    fn next_turn(&mut self, _: &[&ToolResponse]) -> Result<Turn, AgentError> {
        match self.turns.pop_front() {
            Some((turn, origin)) => {
                self.origin = origin;
                Ok(turn)
            }
            None => Err(self
                .failure
                .take()
                .unwrap_or_else(|| AgentError::RecordingMissing("the transcript ends here".to_owned()))),
        }
    }

    fn origin(&self) -> Origin {
        self.origin
    }

    fn preamble(&self) -> &str {
        &self.preamble
    }
}
