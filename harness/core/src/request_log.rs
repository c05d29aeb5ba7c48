use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Usage;

/// The place of a request to a model within a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestId {
    /// The episode's index in the plan.
    pub episode: u64,
    /// The number of requests that the episode made before, not counting repeated attempts.
    pub turn: u32,
}

/// A request that is about to be sent.
#[derive(Debug, Clone, Copy)]
pub struct NewRequest<'a> {
    /// Its place.
    pub id: RequestId,
    /// A hash of its content.
    pub key: &'a str,
    /// Its body.
    pub body: &'a Value,
    /// The largest number of tokens of the answer; `None` if the request does not limit them.
    pub max_output: Option<u64>,
}

/// The answer to a request, as the agent received it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedAnswer {
    /// The body. `None` if it is kept elsewhere, such as in a recording.
    pub body: Option<Value>,
    /// The provider's token counts; `None` if it reported none.
    pub usage: Option<Usage>,
    /// The latency in milliseconds.
    pub latency_ms: u64,
}

/// The reason why a request cannot be sent, or its answer not be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestLogError {
    /// The run is being stopped, or its budget is spent.
    #[error("the run is being stopped")]
    Stopped,
    /// A file cannot be read or written.
    #[error("{0}")]
    Failed(String),
}

/// The log of a run's requests to models, which survives a killed process: an answer that was paid for is not asked for
/// again, and a request without an answer counts against the budget.
pub trait RequestLog: Send + Sync {
    /// Returns the answer that an earlier process received to the same request. Kept answers that do not belong to this
    /// conversation are dropped.
    ///
    /// # Errors
    /// [`RequestLogError::Failed`].
    fn kept_answer(&self, id: RequestId, key: &str) -> Result<Option<ReceivedAnswer>, RequestLogError>;

    /// Reserves the cost of a request before it is sent. Waits while other requests may use up the budget.
    ///
    /// # Errors
    /// [`RequestLogError`].
    fn reserve(&self, request: &NewRequest<'_>) -> Result<(), RequestLogError>;

    /// Replaces the reservation of a request by its result: the answer, or `None` if there is none. `lost_answers` is the
    /// number of attempts that may have been paid for, although no usable answer arrived.
    ///
    /// # Errors
    /// [`RequestLogError::Failed`].
    fn settle(&self, id: RequestId, answer: Option<&ReceivedAnswer>, lost_answers: u32) -> Result<(), RequestLogError>;
}
