//! An agent that repeats recorded turns, so that a model's episode can be shown again without the model.

use std::borrow::Cow;
use std::collections::VecDeque;

use healbench_core::{Agent, AgentError, Origin, ToolResponse, Turn};

/// Returns recorded turns in order.
pub struct ReplayAgent {
    turns: VecDeque<(Turn, Origin)>,
    failure: Option<AgentError>,
    preamble: String,
    origin: Origin,
}

impl ReplayAgent {
    /// Creates an agent that returns `turns` and then, if the recorded agent failed, fails with `failure`. `preamble`
    /// is the recorded system text and function definitions.
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

    fn preamble(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.preamble)
    }
}
