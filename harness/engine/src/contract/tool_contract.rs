//! The contract of a tool as data: created from the tool, stored in a lockfile, compared and digested.

use std::collections::{BTreeMap, BTreeSet};

use healbench_core::{canonical_json, fingerprint};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::canonical::{canonical_schema, declared_fields};
use crate::definition::{Action, Entitlement, Handler, Presenter, Tool};

/// The contract of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolContract {
    /// The part shown to agents.
    pub surface: Surface,
    /// The behavior when called.
    pub behavior: Behavior,
    /// The possible cost of its answers for an agent.
    pub token_economics: TokenEconomics,
    /// The resources that its code may access.
    pub entitlements: BTreeSet<Entitlement>,
}

/// The part of a tool that is shown to agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Surface {
    /// The tool's name.
    pub name: String,
    /// The description.
    pub description: String,
    /// The labels.
    pub tags: BTreeSet<String>,
    /// The argument that selects the action, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discriminator: Option<String>,
    /// The actions, by name.
    pub actions: BTreeMap<String, ActionSurface>,
}

/// The part of an action that is shown to agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionSurface {
    /// The description.
    pub description: String,
    /// The JSON Schema of the arguments, without the discriminator.
    pub input_schema: Value,
    /// MCP's `destructiveHint`.
    pub destructive: bool,
    /// MCP's `readOnlyHint`.
    pub read_only: bool,
    /// MCP's `idempotentHint`.
    pub idempotent: bool,
}

/// The behavior of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Behavior {
    /// The middleware that every call passes through, outermost first.
    pub middleware: Vec<String>,
    /// The state-sync policies (cache invalidations on the client), in the order in which they apply.
    pub state_sync: Vec<String>,
    /// The maximum number of concurrent calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// The presenters, by the action whose lists they present.
    pub presenters: BTreeMap<String, PresenterContract>,
}

/// The presentation of a list. The truncation notice is not included, because it promises nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PresenterContract {
    /// The presenter's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The maximum number of rows shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_limit_max: Option<u64>,
    /// The JSON Schema of a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub egress_schema: Option<Value>,
    /// The maximum size of a response in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub egress_max_bytes: Option<u64>,
    /// Rules about the data, in the order shown to an agent.
    pub system_rules: Vec<String>,
    /// Suggested next actions.
    pub affordances: BTreeSet<String>,
    /// The presenters embedded in this one.
    pub embedded_presenters: BTreeSet<String>,
}

/// The possible cost of a tool's answers for an agent.
///
/// There is no number of tokens: the engine has no tokenizer, and an estimate from the number of characters would look
/// like a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TokenEconomics {
    /// The number of properties that the input schemas declare, at every depth; an agent reads them before its first
    /// call.
    pub schema_field_count: usize,
    /// True if an action lists rows with neither a limit on rows nor on bytes.
    pub unbounded_collection: bool,
    /// The growth of responses: the worst of all actions.
    pub inflation_risk: InflationRisk,
}

/// The growth of a response with the underlying data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum InflationRisk {
    /// No list, or one with limits on both rows and bytes.
    Low,
    /// A list with a limit on only one of rows and bytes.
    Medium,
    /// A list without limits whose caller can request fewer rows: the input schema declares `limit`.
    High,
    /// A list without limits that is always returned completely.
    Critical,
}

impl InflationRisk {
    /// Returns the name used in contracts.
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
    /// Creates the contract of the current version of `tool`; `previous` is not included.
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

    /// Returns the SHA-256, in lower-case hexadecimal, of the [`canonical`](ToolContract::canonical) contract's
    /// canonical JSON.
    ///
    /// Contracts have the same digest exactly if [`diff_contracts`](super::diff_contracts) finds no difference. The
    /// digest does not depend on the order of actions, tags, affordances, embedded presenters and entitlements or, in
    /// schemas, of properties, `required`, `type`, options and branches. It depends on the order of middleware,
    /// state-sync policies, rules and `prefixItems`.
    pub fn digest(&self) -> String {
        // Serializing plain data with string keys cannot fail.
        let value = serde_json::to_value(self.canonical()).unwrap_or_default();
        fingerprint(canonical_json(&value).as_bytes())
    }

    /// Returns the same contract with its schemas in canonical order.
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
    let Handler::Select { page, .. } = &action.handler else { return InflationRisk::Low };
    let presenter = action.presenter.as_ref();
    let rows = page.is_some() || presenter.is_some_and(|presenter| presenter.max.is_some());
    let bytes = presenter.is_some_and(|presenter| presenter.egress_max_bytes.is_some());
    match (rows, bytes) {
        (true, true) => InflationRisk::Low,
        (true, false) | (false, true) => InflationRisk::Medium,
        (false, false) if !action.input["properties"]["limit"].is_null() => InflationRisk::High,
        (false, false) => InflationRisk::Critical,
    }
}
