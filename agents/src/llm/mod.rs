//! Agents whose turns come from a language model, through its provider's API or from a recording.
//!
//! The agent works on one [`Conversation`]; `api` has one file for each API that converts it to requests and from
//! responses. No other module depends on an API's format.

mod agent;
mod api;
pub mod cassette;
mod conversation;
mod diagnostics;
mod endpoint;
mod lenient_json;
mod limiter;
mod model;
mod preflight;
mod prices;
mod prompt_tools;
mod settings;
mod token_rate;
mod wire_names;

pub use agent::{LlmAgent, LlmAgentFactory, ModelBackend, preamble_of};
pub use api::{Api, ApiRequest, UnreadableResponse};
pub use conversation::{Arguments, AssistantMessage, CallResult, Conversation, FinishReason, Message, Reply, SentCall};
pub use endpoint::{Endpoint, EndpointError, EndpointResponse, HOST_VARIABLE, Network, SetupError, Wait};
pub use healbench_core::Function;
pub use limiter::{ConcurrencyLimiter, EpisodePermit};
pub use model::{Connections, Limits, Model, Price, Sampling};
pub use preflight::{Preflight, PreflightError};
pub use prices::{PriceEntry, PriceTable, Provider};
pub use settings::{ModelRef, ModelRefError, ModelTable, parse_model_tables, resolve_model};
