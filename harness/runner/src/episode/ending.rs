//! The ends of conversations.

use healbench_core::{AgentError, EndedBy, Outcome};

/// The way in which the conversation ended.
pub(super) enum Ending {
    Done,
    GaveUp,
    /// The model or its provider refused to answer.
    Refused,
    /// The calls of a model fulfilled all expectations; later turns cannot matter.
    GoalReached,
    /// A model answered with text.
    AnsweredInWords {
        /// True if the text is not empty.
        has_text: bool,
    },
    CallLimit,
    TurnLimit,
    /// A model's turn was incomplete.
    Incomplete,
    /// The conversation was too long for the model.
    TooLong,
    Failed(AgentError),
}

impl Ending {
    pub(super) fn ended_by(&self) -> EndedBy {
        match self {
            Ending::Done => EndedBy::Done,
            Ending::GaveUp => EndedBy::GaveUp,
            Ending::Refused => EndedBy::Refused,
            Ending::GoalReached => EndedBy::GoalReached,
            Ending::AnsweredInWords { .. } => EndedBy::Answer,
            Ending::CallLimit => EndedBy::CallLimit,
            Ending::TurnLimit => EndedBy::TurnLimit,
            Ending::Incomplete => EndedBy::Incomplete,
            Ending::TooLong => EndedBy::TooLong,
            Ending::Failed(AgentError::Environment(_)) => EndedBy::EnvironmentError,
            Ending::Failed(_) => EndedBy::AgentError,
        }
    }

    /// Returns the outcome of an episode whose expectations hold, or do not.
    pub(super) fn outcome(&self, is_met: bool) -> Outcome {
        match self {
            Ending::Failed(AgentError::Config(_)) => Outcome::Config,
            Ending::Failed(_) => Outcome::Infra,
            // One definition for every agent and every ending. Where stopping is right, that it stopped is an expectation.
            _ if is_met => Outcome::Success,
            Ending::CallLimit | Ending::TurnLimit | Ending::Incomplete | Ending::TooLong => Outcome::Limit,
            Ending::Done | Ending::AnsweredInWords { .. } | Ending::GoalReached => Outcome::TaskFail,
            Ending::GaveUp => Outcome::GaveUp,
            Ending::Refused => Outcome::Refused,
        }
    }

    /// Returns true if the agent might have gone on.
    pub(super) fn is_cut_off(&self) -> bool {
        match self {
            Ending::Done | Ending::GaveUp | Ending::Refused | Ending::AnsweredInWords { .. } => false,
            Ending::GoalReached
            | Ending::CallLimit
            | Ending::TurnLimit
            | Ending::Incomplete
            | Ending::TooLong
            | Ending::Failed(_) => true,
        }
    }
}
