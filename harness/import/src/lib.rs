//! Logs of agents as conversations.

mod conversation;

pub use conversation::{Call, CallResult, Conversation, ErrorSource, Event, Tool, Turn};
