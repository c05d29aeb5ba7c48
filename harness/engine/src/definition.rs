//! What an engine is built from: tools with their handlers, and the tables and faults of a world. Plain data, already checked
//! for names that do not exist by whoever made it; the engine checks that the schemas compile.

mod entitlement;

use std::collections::BTreeSet;

pub use entitlement::Entitlement;
use healbench_protocol::{ActionSpec, Object, ToolSpec};
use serde_json::{Value, json};

pub use crate::tool_failure::{Code, Severity, ToolFailure};

/// A tool with everything that the server knows of it. What stands behind `tags` changes nothing about a call: it is what the
/// tool's contract says beside its actions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tool {
    /// The name, unique among the tools of an engine.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The argument that selects the action; `None` for a tool with one action and no such argument.
    pub discriminator: Option<String>,
    /// The actions, in the order of declaration; at least one.
    pub actions: Vec<Action>,
    /// Free labels; a part of the contract.
    pub tags: Vec<String>,
    /// What every call passes through on the server, outermost first.
    pub middleware: Vec<String>,
    /// What a call makes stale in a client's cache, in the order in which the policies apply.
    pub state_sync: Vec<String>,
    /// The most calls at a time; `None` when there is no limit.
    pub concurrency: Option<u32>,
    /// What the tool's code may reach.
    pub entitlements: BTreeSet<Entitlement>,
    /// The tool as the agent was told of it, when the contract has moved since.
    pub previous: Option<Box<Tool>>,
}

impl Tool {
    /// The tool as an agent sees it listed.
    pub fn spec(&self) -> ToolSpec {
        let action = |action: &Action| ActionSpec {
            name: action.name.clone(),
            description: action.description.clone(),
            input_schema: action.input.clone(),
            read_only: action.read_only,
        };
        ToolSpec {
            name: self.name.clone(),
            description: self.description.clone(),
            discriminator: self.discriminator.clone(),
            actions: self.actions.iter().map(action).collect(),
        }
    }

    /// What the agent is shown: the previous contract where there is one.
    pub fn advertised(&self) -> ToolSpec {
        self.previous.as_deref().unwrap_or(self).spec()
    }
}

/// One action of a [`Tool`].
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// The discriminator's value.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema (draft 2020-12) of the arguments without the discriminator: an object schema.
    pub input: Value,
    /// What a valid call does.
    pub handler: Handler,
    /// Business rules, checked in order before the handler.
    pub rules: Vec<Rule>,
    /// How a list is presented; `None` returns it as it is.
    pub presenter: Option<Presenter>,
    /// MCP's `destructiveHint`.
    pub destructive: bool,
    /// MCP's `readOnlyHint`.
    pub read_only: bool,
    /// MCP's `idempotentHint`.
    pub idempotent: bool,
}

/// An action without a name that takes no arguments and answers `null`: something to start from.
impl Default for Action {
    fn default() -> Action {
        Action {
            name: String::new(),
            description: String::new(),
            input: json!({"type": "object"}),
            handler: Handler::Return(Value::Null),
            rules: Vec::new(),
            presenter: None,
            destructive: false,
            read_only: false,
            idempotent: false,
        }
    }
}

/// What a valid call does to the world.
#[derive(Debug, Clone, PartialEq)]
pub enum Handler {
    /// Adds a row made of the arguments, undeclared ones included, and answers with it. A missing key is numbered.
    Insert {
        /// The table.
        table: String,
    },
    /// Answers with the rows that pass the filters; arguments named `limit`, `offset` and `sort` page and order them (`sort` is a
    /// column, `-column` for descending).
    Select {
        /// The table.
        table: String,
        /// The filters; one whose argument is absent passes every row.
        filters: Vec<Filter>,
    },
    /// Answers with the row whose key is the argument's value, or NOT_FOUND.
    Get {
        /// The table.
        table: String,
        /// The argument that holds the key.
        by: String,
    },
    /// Sets the other arguments on the row whose key is the argument's value and answers with it, or NOT_FOUND.
    Update {
        /// The table.
        table: String,
        /// The argument that holds the key.
        by: String,
    },
    /// Removes the row whose key is the argument's value, or NOT_FOUND.
    Delete {
        /// The table.
        table: String,
        /// The argument that holds the key.
        by: String,
    },
    /// Answers with a constant: a text as it is, anything else as JSON.
    Return(Value),
    /// Answers with a tool error.
    Fail(ToolFailure),
}

/// A filter of a `select`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// The argument.
    pub argument: String,
    /// The column it is compared with.
    pub column: String,
    /// How.
    pub relation: Relation,
}

/// How a filter compares a column with its argument. Ordering is by number for numbers and by code point for texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// Equal.
    Equal,
    /// The column is less than the argument.
    Before,
    /// The column is greater than the argument.
    After,
    /// The column, a text, contains the argument; case does not matter.
    Contains,
}

/// A business rule.
#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// FORBIDDEN, unless the world's role is `unless_role`, whenever every argument in `when` is equal (an empty `when` is always
    /// met).
    Deny {
        /// The role that may.
        unless_role: Option<String>,
        /// Arguments and values.
        when: Object,
        /// What the failure says.
        message: String,
        /// What to do about it.
        recovery: Option<String>,
    },
    /// A failure of the domain's own, when the argument's value is none of the options. An absent argument passes.
    Allow {
        /// The argument.
        argument: String,
        /// The values that may be sent.
        options: Vec<Value>,
        /// What the call fails with; `{sent}` in its message stands for the value.
        otherwise: ToolFailure,
    },
    /// CONFLICT when a row has the same values in all of `fields` as the arguments.
    Conflict {
        /// The table.
        table: String,
        /// Arguments, and columns of the same names.
        fields: Vec<String>,
    },
    /// NOT_FOUND when no row's key is the argument's value. An absent argument passes.
    Missing {
        /// The table.
        table: String,
        /// The argument.
        argument: String,
    },
}

/// How a list is presented to an agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Presenter {
    /// What the presenter is called, for the contract.
    pub name: Option<String>,
    /// The most rows that are shown when truncation is on: Fusion's `agentLimit`; `None` is no limit.
    pub max: Option<usize>,
    /// The teaching block's text, with `{shown}`, `{total}`, `{omitted}` and `{filters}`; `None` is the default text.
    pub truncation_notice: Option<String>,
    /// Rules about the data, for the agent, as a block of their own.
    pub rules: Vec<String>,
    /// Actions (`tool.action`) that make sense next, as a block of their own.
    pub suggest_actions: Vec<String>,
    /// JSON Schema of a row. A list with a row that does not fit is an INTERNAL_ERROR; rows that are cut off are not looked at, and
    /// rows are shown with all their columns, declared or not.
    pub egress: Option<Value>,
    /// The most bytes of a response, for the contract alone: nothing is cut by it.
    pub egress_max_bytes: Option<u64>,
    /// The presenters inside of this one, by name, for the contract.
    pub embeds: Vec<String>,
}

/// A table as the world begins with it.
#[derive(Debug, Clone, PartialEq)]
pub struct TableDef {
    /// The name, plural as a rule: `invoices`.
    pub name: String,
    /// What one row is called in error texts: `invoice`.
    pub singular: String,
    /// The key column.
    pub key: String,
    /// What the numbered keys of inserted rows begin with, as in `INV-`; empty for bare numbers.
    pub key_prefix: String,
    /// The rows, in order, each with a unique key.
    pub rows: Vec<Object>,
}

/// A fault that calls will meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultDef {
    /// What goes wrong.
    pub kind: FaultKind,
    /// The tool that it strikes.
    pub tool: String,
    /// The action that it strikes; `None` for all of the tool.
    pub action: Option<String>,
    /// The first matching call that it strikes, from 1. Only calls that pass validation count.
    pub from_call: u32,
    /// How many matching calls it strikes. A `rate_limited` fault also ends once the agent has waited `retry_after` seconds.
    pub calls: u32,
    /// What the failure tells to wait, in seconds.
    pub retry_after: Option<u32>,
}

/// What goes wrong in a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// RATE_LIMITED.
    RateLimited,
    /// TIMEOUT.
    Timeout,
    /// SERVER_BUSY.
    Busy,
    /// INTERNAL_ERROR.
    Internal,
}

/// What a world begins with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorldDef {
    /// The tables; names are unique.
    pub tables: Vec<TableDef>,
    /// The role that calls are made in.
    pub role: Option<String>,
    /// The faults, in order; the first that strikes a call is the one it meets.
    pub faults: Vec<FaultDef>,
}
