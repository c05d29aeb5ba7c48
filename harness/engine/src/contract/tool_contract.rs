//! What a tool promises, as data: made from the tool, written into a lockfile, compared and digested.

use std::collections::{BTreeMap, BTreeSet};

use healbench_protocol::{canonical_json, fingerprint};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::canonical::{canonical_schema, declared_fields};
use crate::definition::{Action, Entitlement, Handler, Presenter, Tool};

/// The contract of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolContract {
    /// What an agent is shown of the tool.
    pub surface: Surface,
    /// How the tool answers.
    pub behavior: Behavior,
    /// What its answers may cost an agent.
    pub token_economics: TokenEconomics,
    /// What its code may reach.
    pub entitlements: BTreeSet<Entitlement>,
}

/// What an agent is shown of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Surface {
    /// The tool's name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its labels.
    pub tags: BTreeSet<String>,
    /// The argument that selects the action, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discriminator: Option<String>,
    /// The actions, by name.
    pub actions: BTreeMap<String, ActionSurface>,
}

/// What an agent is shown of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionSurface {
    /// What it does.
    pub description: String,
    /// JSON Schema of the arguments, without the discriminator.
    pub input_schema: Value,
    /// MCP's `destructiveHint`.
    pub destructive: bool,
    /// MCP's `readOnlyHint`.
    pub read_only: bool,
    /// MCP's `idempotentHint`.
    pub idempotent: bool,
}

/// How a tool answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Behavior {
    /// What every call passes through, outermost first.
    pub middleware: Vec<String>,
    /// What a call makes stale in a client's cache, in the order in which the policies apply.
    pub state_sync: Vec<String>,
    /// The most calls at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// The presenters, by the action whose lists they present.
    pub presenters: BTreeMap<String, PresenterContract>,
}

/// How a list is presented. The teaching text is no part of it: it says how to narrow a list and promises nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PresenterContract {
    /// What the presenter is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The most rows that are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_limit_max: Option<u64>,
    /// JSON Schema of a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub egress_schema: Option<Value>,
    /// The most bytes of a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub egress_max_bytes: Option<u64>,
    /// Rules about the data, in the order in which an agent reads them.
    pub system_rules: Vec<String>,
    /// Actions that are suggested next.
    pub affordances: BTreeSet<String>,
    /// The presenters inside of this one.
    pub embedded_presenters: BTreeSet<String>,
}

/// What a tool's answers may cost an agent.
///
/// There is no number of tokens: the engine has no tokenizer, and a guess from a count of characters would look like a
/// measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TokenEconomics {
    /// The properties that the input schemas declare, at every depth: what an agent reads before it can call.
    pub schema_field_count: usize,
    /// Whether some action lists rows with a limit on neither rows nor bytes.
    pub unbounded_collection: bool,
    /// How far a response can grow: the worst of the actions'.
    pub inflation_risk: InflationRisk,
}

/// How far a response can grow with the data behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum InflationRisk {
    /// No list, or one with a limit on its rows and on its bytes.
    Low,
    /// A list with a limit on its rows or on its bytes, and none on the other.
    Medium,
    /// A list with neither, whose caller can ask for fewer rows: the input schema declares `limit`.
    High,
    /// A list with neither, and a caller gets all of it.
    Critical,
}

impl InflationRisk {
    /// As it is written in a contract.
    pub fn name(self) -> &'static str {
        match self {
            InflationRisk::Low => "low",
            InflationRisk::Medium => "medium",
            InflationRisk::High => "high",
            InflationRisk::Critical => "critical",
        }
    }
}

impl ToolContract {
    /// The contract of `tool` as it is; what it was (`previous`) has a contract of its own.
    pub fn from_tool(tool: &Tool) -> ToolContract {
        let risk = tool.actions.iter().map(inflation_risk).max().unwrap_or(InflationRisk::Low);
        let presenters = tool.actions.iter().filter_map(|action| {
            let presenter = action.presenter.as_ref()?;
            Some((action.name.clone(), presenter_contract(presenter)))
        });
        ToolContract {
            surface: Surface {
                name: tool.name.clone(),
                description: tool.description.clone(),
                tags: tool.tags.iter().cloned().collect(),
                discriminator: tool.discriminator.clone(),
                actions: tool.actions.iter().map(|action| (action.name.clone(), action_surface(action))).collect(),
            },
            behavior: Behavior {
                middleware: tool.middleware.clone(),
                state_sync: tool.state_sync.clone(),
                concurrency: tool.concurrency,
                presenters: presenters.collect(),
            },
            token_economics: TokenEconomics {
                schema_field_count: tool.actions.iter().map(|action| declared_fields(&action.input)).sum(),
                unbounded_collection: risk >= InflationRisk::High,
                inflation_risk: risk,
            },
            entitlements: tool.entitlements.clone(),
        }
    }

    /// SHA-256, in lower-case hexadecimal, of the [`canonical`](ToolContract::canonical) contract's canonical JSON.
    ///
    /// Contracts that [`diff_contracts`](super::diff_contracts) finds no difference between have the same digest, and no others
    /// have. So it depends on no order that means nothing: of actions, tags, affordances, embedded presenters and entitlements,
    /// and in schemas of properties, `required`, `type`, options and branches. The order of middleware, state-sync policies,
    /// rules and `prefixItems` has a meaning, and counts.
    pub fn digest(&self) -> String {
        // Plain data with texts for keys is JSON.
        let value = serde_json::to_value(self.canonical()).unwrap_or_default();
        fingerprint(canonical_json(&value).as_bytes())
    }

    /// The same contract with its schemas in canonical order.
    pub fn canonical(&self) -> ToolContract {
        let mut contract = self.clone();
        for action in contract.surface.actions.values_mut() {
            action.input_schema = canonical_schema(&action.input_schema);
        }
        for presenter in contract.behavior.presenters.values_mut() {
            presenter.egress_schema = presenter.egress_schema.as_ref().map(canonical_schema);
        }
        contract
    }
}

fn action_surface(action: &Action) -> ActionSurface {
    ActionSurface {
        description: action.description.clone(),
        input_schema: action.input.clone(),
        destructive: action.destructive,
        read_only: action.read_only,
        idempotent: action.idempotent,
    }
}

fn presenter_contract(presenter: &Presenter) -> PresenterContract {
    PresenterContract {
        name: presenter.name.clone(),
        agent_limit_max: presenter.max.and_then(|max| u64::try_from(max).ok()),
        egress_schema: presenter.egress.clone(),
        egress_max_bytes: presenter.egress_max_bytes,
        system_rules: presenter.rules.clone(),
        affordances: presenter.suggest_actions.iter().cloned().collect(),
        embedded_presenters: presenter.embeds.iter().cloned().collect(),
    }
}

fn inflation_risk(action: &Action) -> InflationRisk {
    if !matches!(action.handler, Handler::Select { .. }) {
        return InflationRisk::Low;
    }
    let presenter = action.presenter.as_ref();
    let rows = presenter.is_some_and(|presenter| presenter.max.is_some());
    let bytes = presenter.is_some_and(|presenter| presenter.egress_max_bytes.is_some());
    match (rows, bytes) {
        (true, true) => InflationRisk::Low,
        (true, false) | (false, true) => InflationRisk::Medium,
        (false, false) if !action.input["properties"]["limit"].is_null() => InflationRisk::High,
        (false, false) => InflationRisk::Critical,
    }
}
