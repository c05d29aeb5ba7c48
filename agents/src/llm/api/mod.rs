//! The APIs: each file writes requests of the one conversation and reads the answers back.

mod anthropic;
mod calls;
mod gemini;
mod openai;
mod openai_chat;
mod openai_responses;

use healbench_protocol::Object;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Conversation, Model, Reply};

/// An API that models are asked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    /// OpenAI chat completions, and the many servers that are compatible with it.
    OpenaiChat,
    /// OpenAI responses.
    OpenaiResponses,
    /// Anthropic messages.
    Anthropic,
    /// Gemini `generateContent`.
    Gemini,
}

/// A request, without what authorises it.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiRequest {
    /// What follows on the base URL: `/chat/completions`.
    pub path: String,
    /// The body. The seed of the request, if the API has one, is a part of it.
    pub body: Value,
}

/// Puts `extra` into `body`: objects are merged, everything else is replaced.
fn merge(body: &mut Object, extra: &Object) {
    for (key, value) in extra {
        match (body.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(extra)) => merge(inner, extra),
            _ => {
                body.insert(key.clone(), value.clone());
            }
        }
    }
}

/// An answer with status 200 that is none of the API's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the answer cannot be read: {0}")]
pub struct UnreadableResponse(pub String);

impl Api {
    /// All of them, in the order of documents.
    pub const ALL: [Api; 4] = [Api::OpenaiChat, Api::OpenaiResponses, Api::Anthropic, Api::Gemini];

    /// The name in settings and documents.
    pub fn name(self) -> &'static str {
        match self {
            Api::OpenaiChat => "openai-chat",
            Api::OpenaiResponses => "openai-responses",
            Api::Anthropic => "anthropic",
            Api::Gemini => "gemini",
        }
    }

    /// Where the provider has its API.
    pub fn default_base_url(self) -> &'static str {
        match self {
            Api::OpenaiChat | Api::OpenaiResponses => "https://api.openai.com/v1",
            Api::Anthropic => "https://api.anthropic.com/v1",
            Api::Gemini => "https://generativelanguage.googleapis.com/v1beta",
        }
    }

    /// The environment variable that holds the provider's key by custom.
    pub fn default_key_env(self) -> &'static str {
        match self {
            Api::OpenaiChat | Api::OpenaiResponses => "OPENAI_API_KEY",
            Api::Anthropic => "ANTHROPIC_API_KEY",
            Api::Gemini => "GEMINI_API_KEY",
        }
    }

    /// The headers that carry the key, and those that the API demands beside it.
    pub fn headers(self, key: Option<&str>) -> Vec<(&'static str, String)> {
        match self {
            Api::OpenaiChat => openai_chat::headers(key),
            Api::OpenaiResponses => openai_responses::headers(key),
            Api::Anthropic => anthropic::headers(key),
            Api::Gemini => gemini::headers(key),
        }
    }

    /// The request for the next message of a conversation. `extra_body` of the model is in the body already.
    pub fn request(self, model: &Model, conversation: &Conversation, seed: u32) -> ApiRequest {
        let mut api_request = match self {
            Api::OpenaiChat => openai_chat::request(model, conversation, seed),
            Api::OpenaiResponses => openai_responses::request(model, conversation, seed),
            Api::Anthropic => anthropic::request(model, conversation, seed),
            Api::Gemini => gemini::request(model, conversation, seed),
        };
        if let Value::Object(body) = &mut api_request.body {
            merge(body, &model.extra_body);
        }
        api_request
    }

    /// Reads an answer with status 200.
    ///
    /// # Errors
    /// [`UnreadableResponse`] for JSON that is no answer of this API. Whatever a model may say is no error.
    pub fn reply(self, body: &Value) -> Result<Reply, UnreadableResponse> {
        match self {
            Api::OpenaiChat => openai_chat::reply(body),
            Api::OpenaiResponses => openai_responses::reply(body),
            Api::Anthropic => anthropic::reply(body),
            Api::Gemini => gemini::reply(body),
        }
    }

    /// The key of a request's body that has the messages.
    pub(crate) fn messages_key(self) -> &'static str {
        match self {
            Api::OpenaiChat | Api::Anthropic => "messages",
            Api::OpenaiResponses => "input",
            Api::Gemini => "contents",
        }
    }

    /// The messages in a request's body, in their order: what two requests are compared by.
    pub fn messages(self, body: &Value) -> &[Value] {
        body.get(self.messages_key()).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
}
