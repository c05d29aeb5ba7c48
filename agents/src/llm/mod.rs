//! Agents behind which a language model answers, over the API of its provider or from a recording.
//!
//! Inside there is one conversation; `api` has a file for each form in which providers want it. Nothing else knows those forms.

mod api;
pub mod cassette;
mod conversation;
mod model;

pub use api::{Api, Unreadable, Wire};
pub use conversation::{Arguments, CallResult, Conversation, Function, Message, Reply, Said, SentCall, Stop};
pub use model::{Connections, Limits, Model, Price, Sampling};
