//! The one conversation that all APIs are written from and read into.

use healbench_protocol::Usage;
use serde_json::Value;

/// Everything that a request says, whatever the API.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The system text; empty for none.
    pub system: String,
    /// The functions that are offered by the API's own field; empty when they are described in the system text.
    pub tools: Vec<Function>,
    /// What was said, beginning with the user's task. A user's and an assistant's turn follow on each other.
    pub messages: Vec<Message>,
}

/// A function as an API is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments: an object with `type`, `properties` and `required`.
    pub parameters: Value,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Words to the model: the task, or in prompt mode the answers to its calls.
    User(String),
    /// What the model said, or what stands there as if it had.
    Assistant(AssistantMessage),
    /// The answers to all calls of the message before, in their order.
    Results(Vec<CallResult>),
}

/// A message of the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AssistantMessage {
    /// Its words, without reasoning; may be empty.
    pub text: String,
    /// Its calls by the API's own means.
    pub calls: Vec<SentCall>,
    /// The message as the API gave it, to be sent back as it is: it may hold what only the provider understands (reasoning items,
    /// signatures). Null for a message that stands there as the model's own and is not.
    pub raw: Option<Value>,
}

/// A call in a message of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct SentCall {
    /// What the answer refers to. Unique in the conversation.
    pub id: String,
    /// The function; it need not exist.
    pub name: String,
    /// Its arguments.
    pub arguments: Arguments,
}

/// Arguments of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// JSON of any type.
    Json(Value),
    /// Text where JSON should be.
    Text(String),
}

/// What came back for a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    /// The call's id.
    pub id: String,
    /// The function that was called.
    pub name: String,
    /// The text of the response.
    pub text: String,
    /// Whether the tool said that it failed.
    pub is_error: bool,
}

/// A model's answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The message.
    pub message: AssistantMessage,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// What the provider counted; null when it did not.
    pub usage: Option<Usage>,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// It was complete: an end of turn, a stop word, or calls.
    End,
    /// It ran into a limit on its length, or on the context's.
    Length,
    /// The model or its provider refused to answer.
    Refusal,
    /// The provider could not read a call that its model wrote, and kept it to itself.
    Unparsed,
}
