//! What makes a model answer as it does: everything but its key.

use std::collections::BTreeMap;

use healbench_protocol::{AgentKind, AgentSpec, Object, Opening, ToolsMode};
use serde::{Deserialize, Serialize};

use super::Api;

/// A model with its settings, as a manifest keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The API that it is asked by.
    pub api: Api,
    /// Its name at the provider.
    pub model: String,
    /// Where the API is, without a slash at the end: `https://api.openai.com/v1`.
    pub base_url: String,
    /// The environment variable that holds the key; null for a server that needs none.
    pub key_env: Option<String>,
    /// How it is told of the tools.
    pub tools: ToolsMode,
    /// Sampling.
    pub sampling: Sampling,
    /// Keys that are put into every request's body, over what healbench writes there; objects are merged.
    pub extra_body: Object,
    /// Headers of every request, by name. Their values are not secret; a secret goes into `headers_env`.
    pub headers: BTreeMap<String, String>,
    /// Headers whose values stand in environment variables, by header name.
    pub headers_env: BTreeMap<String, String>,
    /// The system text.
    pub system: String,
    /// Limits of requests and episodes.
    pub limits: Limits,
    /// How many requests are under way at once.
    pub connections: Connections,
    /// Prices; null when they are unknown.
    pub price: Option<Price>,
    /// Whether the server is asked, before anything is spent, if it has the model.
    pub check_model: bool,
}

/// What a request says of sampling. What is null is left to the provider.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// The longest answer in tokens. Anthropic demands one.
    pub max_output_tokens: Option<u32>,
    /// Whether a seed is sent, which depends on run seed, scenario and trial alone. APIs that know none leave it out.
    pub seed: bool,
}

/// Limits of requests and episodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Seconds for one attempt at a request, up to the last byte of the answer.
    pub timeout_s: u32,
    /// Attempts after the first one that failed for the server's or the network's sake.
    pub retries: u32,
    /// Calls of an episode, those of the opening among them, after which the model is not asked again; null for those of the task.
    #[serde(default)]
    pub episode_calls: Option<u32>,
    /// Tokens of an episode, by the provider's usage, after which no further request is made; null for no limit.
    pub episode_tokens: Option<u64>,
}

/// How many requests may be under way at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// At the start.
    pub start: u32,
    /// At least, however often the server says that it is too much.
    pub min: u32,
    /// At most.
    pub max: u32,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Of input that is neither read from nor written to a cache.
    pub input: f64,
    /// Of input read from a cache; null for the price of input.
    pub cache_read: Option<f64>,
    /// Of input written to a cache; null for the price of input.
    pub cache_write: Option<f64>,
    /// Of output, reasoning among it.
    pub output: f64,
}

impl Model {
    /// The plan's entry for this model under the name that it was asked for as.
    pub fn spec(&self, name: &str, opening: Opening, kind: AgentKind) -> AgentSpec {
        AgentSpec {
            kind,
            name: name.to_owned(),
            opening: Some(opening),
            tools: Some(self.tools),
            settings: serde_json::to_value(self).unwrap_or_default(),
        }
    }

    /// Whether its API takes calls in the conversation that it did not make itself. Anthropic's does not while the model thinks: every
    /// such message has to begin with a signed thought.
    pub fn supports_seeded_opening(&self) -> bool {
        let thinks = self.extra_body.get("thinking").and_then(|thinking| thinking.get("type"));
        let thinks = thinks.is_some_and(|kind| kind != "disabled");
        !(self.api == Api::Anthropic && self.tools == ToolsMode::Native && thinks)
    }

    /// The model of a plan's entry; `None` for an entry of another kind, or of another version of healbench.
    pub fn from_spec(spec: &AgentSpec) -> Option<Model> {
        match spec.kind {
            AgentKind::Llm | AgentKind::Replay => serde_json::from_value(spec.settings.clone()).ok(),
            AgentKind::Scripted => None,
        }
    }
}
