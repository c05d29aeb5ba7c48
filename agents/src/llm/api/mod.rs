//! The supported APIs. Each module converts a conversation to requests and parses responses.

mod anthropic;
mod calls;
mod gemini;
mod openai;
mod openai_chat;
mod openai_responses;
pub(super) mod stream;

use healbench_core::Object;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Conversation, Model, Provider, Reply};

/// The signature of calls that Gemini did not make. Gemini 3 rejects calls without a signature.
pub(super) const PLACEHOLDER_SIGNATURE: &str = "skip_thought_signature_validator";

/// An API of language models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    /// OpenAI chat completions, and the many compatible servers.
    OpenaiChat,
    OpenaiResponses,
    Anthropic,
    /// Gemini `generateContent`.
    Gemini,
}

/// A request without credentials.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiRequest {
    /// The path relative to the base URL, such as `/chat/completions`.
    pub path: String,
    /// The body, including the seed if the API has one.
    pub body: Value,
}

impl ApiRequest {
    /// Returns the largest number of tokens that the answer may have; `None` if the request does not limit it.
    pub fn max_output_tokens(&self) -> Option<u64> {
        max_output_tokens(&self.body)
    }
}

/// Returns [`ApiRequest::max_output_tokens`] of a request with this body.
pub(super) fn max_output_tokens(body: &Value) -> Option<u64> {
    ["/max_completion_tokens", "/max_tokens", "/max_output_tokens", "/generationConfig/maxOutputTokens"]
        .iter()
        .find_map(|path| body.pointer(path).and_then(Value::as_u64))
}

/// Merges `extra` into `body`: objects are merged recursively, other values are replaced.
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

/// A response with status 200 that is not a valid reply of the API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the answer cannot be read: {0}")]
pub struct UnreadableResponse(pub String);

/// A provider's API with all its properties.
pub(crate) struct ProviderEntry {
    api: Api,
    /// The name in settings and documents.
    name: &'static str,
    /// The prefix of model references in `--agent`: `openai` in `openai:gpt-5-mini`.
    pub(crate) prefix: &'static str,
    /// The company in the price table.
    pub(crate) vendor: Provider,
    default_base_url: &'static str,
    default_key_env: &'static str,
    /// The key of the messages in the body of a request.
    pub(crate) messages_key: &'static str,
    /// True if `GET /models/NAME` describes one model.
    pub(crate) has_model_resource: bool,
    /// True if every message with native tool calls must begin with signed reasoning while thinking is enabled, so that
    /// a seeded call cannot be inserted.
    pub(crate) signs_thoughts: bool,
    headers: fn(Option<&str>) -> Vec<(&'static str, String)>,
    request: fn(&Model, &Conversation, u32) -> ApiRequest,
    reply: fn(&Value) -> Result<Reply, UnreadableResponse>,
}

const OPENAI_CHAT: ProviderEntry = ProviderEntry {
    api: Api::OpenaiChat,
    name: "openai-chat",
    prefix: "openai",
    vendor: Provider::Openai,
    default_base_url: "https://api.openai.com/v1",
    default_key_env: "OPENAI_API_KEY",
    messages_key: "messages",
    has_model_resource: false,
    signs_thoughts: false,
    headers: openai::headers,
    request: openai_chat::request,
    reply: openai_chat::reply,
};

/// All providers, in the order of [`Api`] and of documents.
pub(crate) const PROVIDERS: [ProviderEntry; 4] = [
    OPENAI_CHAT,
    ProviderEntry {
        api: Api::OpenaiResponses,
        name: "openai-responses",
        prefix: "openai-responses",
        messages_key: "input",
        request: openai_responses::request,
        reply: openai_responses::reply,
        ..OPENAI_CHAT
    },
    ProviderEntry {
        api: Api::Anthropic,
        name: "anthropic",
        prefix: "anthropic",
        vendor: Provider::Anthropic,
        default_base_url: "https://api.anthropic.com/v1",
        default_key_env: "ANTHROPIC_API_KEY",
        messages_key: "messages",
        has_model_resource: true,
        signs_thoughts: true,
        headers: anthropic::headers,
        request: anthropic::request,
        reply: anthropic::reply,
    },
    ProviderEntry {
        api: Api::Gemini,
        name: "gemini",
        prefix: "gemini",
        vendor: Provider::Gemini,
        default_base_url: "https://generativelanguage.googleapis.com/v1beta",
        default_key_env: "GEMINI_API_KEY",
        messages_key: "contents",
        has_model_resource: true,
        signs_thoughts: false,
        headers: gemini::headers,
        request: gemini::request,
        reply: gemini::reply,
    },
];

impl Api {
    /// Returns all APIs, in the order of documents.
    pub fn all() -> impl Iterator<Item = Api> {
        PROVIDERS.iter().map(|entry| entry.api)
    }

    pub(crate) fn entry(self) -> &'static ProviderEntry {
        const ENTRIES: &[ProviderEntry] = &PROVIDERS;
        &ENTRIES[self as usize]
    }

    /// Returns the name in settings and documents.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Returns the base URL of the provider's own API.
    pub fn default_base_url(self) -> &'static str {
        self.entry().default_base_url
    }

    /// Returns the environment variable that customarily holds the provider's key.
    pub fn default_key_env(self) -> &'static str {
        self.entry().default_key_env
    }

    /// Returns the headers that carry the key, and the others that the API requires.
    pub fn headers(self, key: Option<&str>) -> Vec<(&'static str, String)> {
        (self.entry().headers)(key)
    }

    /// Builds the request for the next message of a conversation, with the model's `extra_body` merged in.
    pub fn request(self, model: &Model, conversation: &Conversation, seed: u32) -> ApiRequest {
        let mut api_request = (self.entry().request)(model, conversation, seed);
        if let Value::Object(body) = &mut api_request.body {
            merge(body, &model.extra_body);
        }
        api_request
    }

    /// Parses the body of a response with status 200.
    ///
    /// # Errors
    /// Returns an [`UnreadableResponse`] if the JSON is not a response of this API. Anything a model may generate is
    /// accepted.
    pub fn reply(self, body: &Value) -> Result<Reply, UnreadableResponse> {
        (self.entry().reply)(body)
    }

    /// Returns the messages in the body of a request, in their order.
    pub fn messages(self, body: &Value) -> &[Value] {
        body.get(self.entry().messages_key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_api_is_at_its_index() {
        assert!(Api::all().eq([Api::OpenaiChat, Api::OpenaiResponses, Api::Anthropic, Api::Gemini]));
        for api in Api::all() {
            assert_eq!(api.entry().api, api);
            assert_eq!(serde_json::to_value(api).unwrap(), api.name());
        }
    }
}
