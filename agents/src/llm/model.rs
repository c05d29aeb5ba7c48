//! The settings that determine a model's replies, without the API key.

use std::collections::BTreeMap;

use healbench_core::{AgentKind, AgentSpec, Object, Opening, ToolsMode};
use serde::{Deserialize, Serialize};

use super::Api;

/// A model with its settings, as saved in the run manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    pub api: Api,
    /// The provider's name for the model.
    pub model: String,
    /// The base URL of the API without a trailing slash: `https://api.openai.com/v1`.
    pub base_url: String,
    /// The environment variable that holds the key; null if the server needs none.
    pub key_env: Option<String>,
    /// The way tools are described to the model.
    pub tools: ToolsMode,
    pub sampling: Sampling,
    /// Keys merged into every request's body, overriding those that healbench sets. Nested objects are merged.
    pub extra_body: Object,
    /// Headers of every request by name. The values are not secret; secrets belong in `headers_env`.
    pub headers: BTreeMap<String, String>,
    /// The environment variables that hold the values of secret headers, by header name.
    pub headers_env: BTreeMap<String, String>,
    pub system: String,
    /// The limits on requests and episodes.
    pub limits: Limits,
    /// The limits on concurrent requests.
    pub connections: Connections,
    /// The prices, if known.
    pub price: Option<Price>,
    /// True to check before the first request that the server has the model.
    pub check_model: bool,
    /// True if equal requests are declared to have equal answers, which no other setting implies. Trials with the same
    /// schedule then count once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deterministic: bool,
}

/// Sampling parameters. Null leaves the choice to the provider.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    pub temperature: Option<f64>,
    /// The probability mass for nucleus sampling.
    pub top_p: Option<f64>,
    /// The longest reply in tokens. Anthropic requires a value.
    pub max_output_tokens: Option<u32>,
    /// True to send a seed, derived only from the run's seed, the scenario and the trial. Ignored for APIs without
    /// seeds.
    pub seed: bool,
}

/// Limits of requests and episodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Seconds for one attempt at a request, up to the last byte of the response.
    pub timeout_s: u32,
    /// The number of retries after server and network failures.
    pub retries: u32,
    /// The number of calls in an episode, including those of the opening, after which the model is not asked again;
    /// null for the task's limit.
    #[serde(default)]
    pub episode_calls: Option<u32>,
    /// The number of tokens in an episode, by the provider's counts, after which no further request is made; null for
    /// no limit.
    pub episode_tokens: Option<u64>,
    /// The number of tokens of the requests within any minute, input and output, of the whole run; null for no limit. Shards have
    /// equal shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u64>,
}

impl Limits {
    /// Returns the limits of a process that runs `part` of `whole` shards, which run at the same time.
    #[must_use]
    pub fn share(self, part: u32, whole: u32) -> Limits {
        // Rounded down, so that the shares do not add up to more, but never to nothing.
        let share = |limit: u64| u128::from(limit) * u128::from(part) / u128::from(whole.max(1));
        let share = |limit: u64| u64::try_from(share(limit)).unwrap_or(limit).max(1);
        Limits { tokens_per_minute: self.tokens_per_minute.map(share), ..self }
    }
}

/// Limits on the number of concurrent requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    pub start: u32,
    /// The smallest limit, however often the server is overloaded.
    pub min: u32,
    pub max: u32,
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Input that is neither read from nor written to a cache.
    pub input: f64,
    /// Input read from a cache; null for the price of `input`.
    pub cache_read: Option<f64>,
    /// Input written to a cache; null for the price of `input`.
    pub cache_write: Option<f64>,
    pub output: f64,
}

impl Model {
    /// Returns the plan's entry for this model under the name the user chose.
    pub fn spec(&self, name: &str, opening: Opening, kind: AgentKind) -> AgentSpec {
        AgentSpec {
            kind,
            name: name.to_owned(),
            opening: Some(opening),
            tools: Some(self.tools),
            settings: serde_json::to_value(self).unwrap_or_default(),
        }
    }

    /// Returns true if the API accepts calls in the conversation that the model did not make. Anthropic's does not
    /// while thinking is enabled: every assistant message must then begin with a signed thinking block.
    pub fn supports_seeded_opening(&self) -> bool {
        let thinks = self.extra_body.get("thinking").and_then(|thinking| thinking.get("type"));
        let thinks = thinks.is_some_and(|kind| kind != "disabled");
        !(self.api.entry().signs_thoughts && self.tools == ToolsMode::Native && thinks)
    }

    /// Returns the model of a plan's entry, or `None` for another kind of agent or incompatible settings of another
    /// version.
    pub fn from_spec(spec: &AgentSpec) -> Option<Model> {
        match spec.kind {
            AgentKind::Llm | AgentKind::Replay => serde_json::from_value(spec.settings.clone()).ok(),
            AgentKind::Scripted | AgentKind::Program | AgentKind::Trace => None,
        }
    }
}
