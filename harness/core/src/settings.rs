//! The settings of models and agent programs as plain data: how two differ, and what a difference means.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{AgentKind, AgentSpec};

/// The settings that say where requests go and how they are made, and nothing of what is asked. Runs that differ only in these are
/// runs of the same agent. The names are those of settings files.
const OF_REQUESTS: [&str; 10] = [
    "base_url",
    "key_env",
    "headers_env",
    "timeout_s",
    "retries",
    "tokens_per_minute",
    "connections",
    "check_model",
    // Of an agent program.
    "model_url",
    "env",
];

/// The settings that the episodes of a run have in common, since they are compared. All others may change between its episodes.
const OF_ALL_EPISODES: [&str; 12] = [
    "api",
    "model",
    "tools",
    "temperature",
    "top_p",
    "system",
    "deterministic",
    // Of an agent program.
    "acp",
    "command",
    "home",
    "version",
    "sums_usage",
];

/// The sampling parameters of requests, as servers name them, at any depth of `extra_body`.
const SAMPLING: [&str; 20] = [
    "temperature",
    "topp",
    "topk",
    "topa",
    "minp",
    "typicalp",
    "mirostat",
    "presencepenalty",
    "frequencypenalty",
    "repetitionpenalty",
    "repeatpenalty",
    "dosample",
    "drymultiplier",
    "mirostateta",
    "mirostattau",
    "tfsz",
    "topnsigma",
    "xtcprobability",
    "xtcthreshold",
    "dynatemprange",
];

/// The objects of a model's settings whose keys are settings of their own.
const GROUPS: [&str; 2] = ["sampling", "limits"];
/// The setting whose keys belong to the server.
const EXTRA_BODY: &str = "extra_body";
/// A hash of the setting `system`.
const HASH_OF_SYSTEM: &str = "system_sha256";

/// A setting with two values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangedSetting {
    /// The name as in a settings file, with the keys inside of it: `base_url`, `extra_body.reasoning.effort`.
    pub setting: String,
    /// The value before; null if it was not set.
    pub from: Value,
    /// The value after; null if it is not set.
    pub to: Value,
}

impl ChangedSetting {
    /// Returns true if all episodes of a run have the same value, since they are compared.
    pub fn is_of_all_episodes(&self) -> bool {
        let mut names = self.setting.split('.');
        match names.next() {
            Some(EXTRA_BODY) => names.any(|name| {
                let plain = name.replace(['_', '-'], "").to_lowercase();
                SAMPLING.contains(&plain.as_str())
            }),
            first => first.is_some_and(|name| OF_ALL_EPISODES.contains(&name)),
        }
    }
}

/// Returns the settings that differ, in the order of their names.
pub fn changed_settings(from: &Value, to: &Value) -> Vec<ChangedSetting> {
    let mut changes = Vec::new();
    add_changes("", from, to, &mut changes);
    changes.sort_by(|a, b| a.setting.cmp(&b.setting));
    changes
}

fn add_changes(name: &str, from: &Value, to: &Value, changes: &mut Vec<ChangedSetting>) {
    if from == to || name == HASH_OF_SYSTEM {
        return;
    }
    let empty = Map::new();
    let object = |value: &'_ Value| value.as_object().cloned().or_else(|| value.is_null().then(|| empty.clone()));
    let (Some(before), Some(after)) = (object(from), object(to)) else {
        changes.push(ChangedSetting { setting: name.to_owned(), from: from.clone(), to: to.clone() });
        return;
    };
    let added = after.keys().filter(|key| !before.contains_key(*key));
    for key in before.keys().chain(added) {
        let inner = match name {
            "" => key.clone(),
            group if GROUPS.contains(&group) => key.clone(),
            outer => format!("{outer}.{key}"),
        };
        let value = |of: &Map<String, Value>| of.get(key).cloned().unwrap_or_default();
        add_changes(&inner, &value(&before), &value(&after), changes);
    }
}

/// The logs or runs that a simulated reader was fitted to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fitted {
    /// The logs or runs, with their version and licence.
    pub source: String,
    /// The titles of the agents whose moves these are.
    pub agents: Vec<String>,
    /// Tasks with a first error of a chain.
    pub tasks: u64,
    /// First errors of chains.
    pub moves: u64,
    /// The day of the newest of the runs or imports.
    pub date: String,
    /// The verdict on moves in held-out tasks.
    pub verdict: String,
}

/// The setting of a simulated reader that holds [`Fitted`].
pub const FITTED: &str = "fitted";

impl AgentSpec {
    /// Returns what a simulated reader was fitted to; `None` for other agents and for one that was not fitted.
    pub fn fitted(&self) -> Option<Fitted> {
        let is_reader = self.kind == AgentKind::Scripted;
        let fitted = self.settings.get(FITTED).filter(|_| is_reader)?;
        Fitted::deserialize(fitted).ok()
    }

    /// Returns the settings that decide what the agent does: all but those of how its requests are made, and of where its numbers
    /// come from.
    pub fn identity(&self) -> Value {
        let mut settings = self.settings.clone();
        if let (AgentKind::Scripted, Some(object)) = (self.kind, settings.as_object_mut()) {
            object.remove(FITTED);
        }
        if self.kind != AgentKind::Scripted {
            let groups = GROUPS.iter().map(|group| format!("/{group}"));
            for pointer in std::iter::once(String::new()).chain(groups) {
                if let Some(Value::Object(group)) = settings.pointer_mut(&pointer) {
                    group.retain(|name, _| !OF_REQUESTS.contains(&name.as_str()));
                }
            }
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(kind: AgentKind, settings: Value) -> AgentSpec {
        AgentSpec { kind, name: "a".to_owned(), opening: None, tools: None, settings }
    }

    #[test]
    fn what_a_reader_was_fitted_to_is_not_its_identity() {
        let fitted = json!({"source": "logs", "agents": ["m"], "tasks": 15, "moves": 20, "date": "2026-01-02", "verdict": "none"});
        let reader = spec(AgentKind::Scripted, json!({"repeat": 0.5, "fitted": fitted}));
        assert_eq!(reader.identity(), json!({"repeat": 0.5}));
        assert_eq!(reader.fitted().map(|fitted| (fitted.tasks, fitted.agents)), Some((15, vec!["m".to_owned()])));
        assert_eq!(spec(AgentKind::Scripted, json!({"repeat": 0.5})).fitted(), None);
        assert_eq!(spec(AgentKind::Llm, reader.settings.clone()).fitted(), None);
    }

    #[test]
    fn changes_have_the_names_of_settings_files() {
        let from = json!({
            "base_url": "http://a/v1",
            "sampling": {"temperature": 0.5, "max_output_tokens": 500},
            "limits": {"retries": 1},
            "system": "Be brief.",
            "system_sha256": "1",
            "extra_body": {"reasoning": {"effort": "low"}},
            "price": null,
        });
        let to = json!({
            "base_url": "http://b/v1",
            "sampling": {"temperature": 0, "max_output_tokens": 500},
            "limits": {"retries": 1, "tokens_per_minute": 9},
            "system": "Be kind.",
            "system_sha256": "2",
            "extra_body": {"reasoning": {"effort": "high"}, "generationConfig": {"topK": 3}},
            "price": {"input": 1.0},
        });
        let changes = changed_settings(&from, &to);
        let names: Vec<(&str, bool)> =
            changes.iter().map(|change| (change.setting.as_str(), change.is_of_all_episodes())).collect();
        let expected = [
            ("base_url", false),
            ("extra_body.generationConfig.topK", true),
            ("extra_body.reasoning.effort", false),
            ("price.input", false),
            ("system", true),
            ("temperature", true),
            ("tokens_per_minute", false),
        ];
        assert_eq!(names, expected);
        assert_eq!((&changes[5].from, &changes[5].to), (&json!(0.5), &json!(0)));
        assert!(changed_settings(&from, &from).is_empty());
    }

    #[test]
    fn an_agent_is_the_same_at_another_address() {
        let model = |url: &str, timeout: u32, effort: &str| {
            let limits = json!({"timeout_s": timeout, "episode_calls": 3});
            spec(AgentKind::Llm, json!({"base_url": url, "limits": limits, "extra_body": {"effort": effort}}))
        };
        let one = model("http://a/v1", 5, "low").identity();
        assert_eq!(one, model("http://b/v1", 60, "low").identity());
        assert_ne!(one, model("http://a/v1", 5, "high").identity());
        assert_eq!(one["limits"], json!({"episode_calls": 3}));
        let program = |url: &str| spec(AgentKind::Program, json!({"acp": ["x"], "model_url": url, "timeout_s": 1}));
        assert_eq!(program("http://a").identity(), program("http://b").identity());
        let reader = spec(AgentKind::Scripted, json!({"retries": 2}));
        assert_eq!(reader.identity(), reader.settings, "a profile has names of its own");
    }
}
