use std::error::Error;
use std::path::PathBuf;

use healbench_core::{DuplicateName, Plan, PlanOrder};

/// The error of computing a report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The rows cannot be read.
    #[error(transparent)]
    Rows(Box<dyn Error + Send + Sync>),
    /// Names on the plan's axes are not unique.
    #[error(transparent)]
    DuplicateName(#[from] DuplicateName),
    /// A call belongs to no cell of the plan.
    #[error("the plan has no episode {episode}")]
    NotInPlan {
        /// The index of the episode.
        episode: u64,
    },
    /// The plan lists the conversations of a trace, which have no cells to be summarized or compared.
    #[error(
        "the run is a trace: its conversations were not assigned to conditions, so there is nothing to summarize or pair"
    )]
    Trace,
    /// The calls are not those of the episodes.
    #[error(transparent)]
    CallCount(#[from] CallCountError),
    /// Two episodes to be compared have different trial schedules.
    #[error(
        "episodes {episode} and {reference} cannot be compared: {agent} met another schedule under `{guardrails}` than under the reference condition in \
         trial {trial} of `{scenario}`"
    )]
    Schedule {
        agent: String,
        scenario: String,
        trial: u32,
        /// The guardrails of the first episode.
        guardrails: String,
        episode: u64,
        /// The index of the episode in the reference condition.
        reference: u64,
    },
    /// Episodes that an ablation compares have different trial schedules.
    #[error(
        "the effects of guardrails cannot be computed: {agent} met another schedule in episode {episode}, under `{guardrails}`, than \
         under other guardrails in trial {trial} of `{scenario}`"
    )]
    Schedules {
        agent: String,
        scenario: String,
        trial: u32,
        /// The guardrails of the first episode that differs from those before it.
        guardrails: String,
        /// The index of that episode.
        episode: u64,
    },
    /// A row is not the episode that the manifest's plan has at its index, or occurs twice.
    #[error("episode {episode} in the frames is not that of the manifest's plan")]
    ForeignEpisode {
        /// The index of the first such row.
        episode: u64,
    },
    /// A failed call has no record of what followed it.
    #[error(
        "the run does not say what followed its errors (episode {episode} is the first): an older version of healbench wrote it"
    )]
    NoAftermath {
        /// The index of the first such episode.
        episode: u64,
    },
}

impl ReportError {
    /// Refuses a plan that lists its episodes.
    ///
    /// # Errors
    /// [`ReportError::Trace`].
    pub(crate) fn refuse_listed(plan: &Plan) -> Result<(), ReportError> {
        match &plan.order {
            PlanOrder::Product => Ok(()),
            PlanOrder::Listed(_) => Err(ReportError::Trace),
        }
    }
}

/// The error of calls that are not those of the episodes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` holds {found} calls of its episodes, which made {expected}", path.display())]
pub struct CallCountError {
    /// The file of the calls.
    pub path: PathBuf,
    /// The number of calls in the file.
    pub found: u64,
    /// The number of calls that the episodes made.
    pub expected: u64,
}
