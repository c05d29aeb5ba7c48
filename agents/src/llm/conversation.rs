//! The conversation format that requests of all APIs are built from and responses are parsed into.

use healbench_core::{Function, NumberTexts, Usage};
use serde_json::Value;

/// The content of a request, independent of the API.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The system text; empty for none.
    pub system: String,
    /// The functions sent in the API's own field; empty when they are described in the system text.
    pub tools: Vec<Function>,
    /// The messages, beginning with the user's task. User and assistant turns alternate.
    pub messages: Vec<Message>,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Text for the model: the task, or in prompt mode the results of its calls.
    User(String),
    /// A message of the model, or a seeded one in the model's place.
    Assistant(AssistantMessage),
    /// The results of all calls in the previous message, in their order.
    Results(Vec<CallResult>),
}

/// A message of the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AssistantMessage {
    /// The text without reasoning; may be empty.
    pub text: String,
    /// The calls made through the API's own mechanism.
    pub calls: Vec<SentCall>,
    /// The message as the API returned it, to be sent back unchanged: it may hold data that only the provider
    /// understands (reasoning items, signatures). `None` for a seeded message.
    pub raw: Option<Value>,
}

/// A call in a message of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct SentCall {
    /// The id that the result refers to. Unique in the conversation.
    pub id: String,
    /// The name of the function, which may not exist.
    pub name: String,
    pub arguments: Arguments,
    /// The texts of their numbers, if the API returned the arguments as text.
    pub numbers: Option<Box<NumberTexts>>,
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// JSON of any type.
    Json(Value),
    /// Text that is not valid JSON.
    Text(String),
}

impl Arguments {
    /// Returns the arguments as JSON; text as a string.
    pub fn to_json(&self) -> Value {
        match self {
            Arguments::Json(value) => value.clone(),
            Arguments::Text(text) => Value::String(text.clone()),
        }
    }
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    pub id: String,
    /// The function that was called.
    pub name: String,
    /// The text of the response.
    pub text: String,
    /// True if the tool reported a failure.
    pub is_error: bool,
}

/// A model's reply to a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub message: AssistantMessage,
    /// The reason why generation stopped.
    pub finish_reason: FinishReason,
    /// The token counts reported by the provider, if any.
    pub usage: Option<Usage>,
    /// The model that answered, by the server's own words.
    pub model: Option<String>,
    /// A note on the answer as the server sent it: a word of [`diagnostics`](healbench_core::diagnostics).
    pub note: Option<&'static str>,
}

/// The reason why a model stopped generating.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// The reply is complete: an end of turn, a stop sequence, or calls.
    End,
    /// The reply reached the limit on output tokens or the context length.
    Length,
    /// The model or its provider refused to answer.
    Refusal,
    /// The provider could not parse a call that its model wrote, and did not return it.
    Unparsed,
}
