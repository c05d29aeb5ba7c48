//! The definition of an engine: tools with their handlers, and the tables and faults of the environment. The caller
//! must have checked that all names exist; the engine checks that the schemas compile.

mod clock;
mod condition;
mod effects;
mod entitlement;

use std::collections::BTreeSet;

pub use clock::{Clock, Progress, WAIT_TOOL};
pub use condition::{Comparison, Condition, OPERATORS, Operand, Operator, RowsCondition};
pub use effects::{Effects, Expression, Write};
pub use entitlement::Entitlement;
use healbench_core::{ActionSpec, Object, ToolSpec};
pub use healbench_core::{Code, FaultKind, Severity, ToolFailure};
use serde_json::{Value, json};

/// A tool as the server defines it. The fields from `tags` on do not affect calls; they are part of the tool's
/// contract.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tool {
    /// The name, unique among the tools of an engine.
    pub name: String,
    /// The description shown to the agent.
    pub description: String,
    /// The argument that selects the action; `None` for a tool with one action and no such argument.
    pub discriminator: Option<String>,
    /// The actions, in the order of declaration; at least one.
    pub actions: Vec<Action>,
    /// Free labels; part of the contract.
    pub tags: Vec<String>,
    /// The middleware that every call passes through, outermost first.
    pub middleware: Vec<String>,
    /// The state-sync policies (cache invalidations on the client), in the order in which they apply.
    pub state_sync: Vec<String>,
    /// The maximum number of concurrent calls; `None` for no limit.
    pub concurrency: Option<u32>,
    /// The resources that the tool's code may access.
    pub entitlements: BTreeSet<Entitlement>,
    /// The previous version of the tool, which the agent was shown; `None` if the contract has not changed.
    pub previous: Option<Box<Tool>>,
}

impl Tool {
    /// Returns the tool as listed for an agent.
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

    /// Returns the name in the previous contract, if it was another one.
    pub fn previous_name(&self) -> Option<&str> {
        self.previous.as_deref().map(|previous| previous.name.as_str()).filter(|name| *name != self.name)
    }

    /// Returns the specification shown to the agent: that of the previous contract if there is one.
    pub fn advertised(&self) -> ToolSpec {
        self.previous.as_deref().unwrap_or(self).spec()
    }
}

/// One action of a [`Tool`].
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// The value of the discriminator.
    pub name: String,
    /// The description shown to the agent.
    pub description: String,
    /// The JSON Schema (draft 2020-12) of the arguments without the discriminator: an object schema.
    pub input: Value,
    /// The effect of a valid call.
    pub handler: Handler,
    /// The writes of the handler beside the arguments.
    pub effects: Effects,
    /// The business rules, checked in order before the handler.
    pub rules: Vec<Rule>,
    /// The presenter of a list; `None` returns the list unchanged.
    pub presenter: Option<Presenter>,
    /// A warning that accompanies each successful result, such as a deprecation.
    pub warning: Option<ToolFailure>,
    /// MCP's `destructiveHint`.
    pub destructive: bool,
    /// MCP's `readOnlyHint`.
    pub read_only: bool,
    /// MCP's `idempotentHint`.
    pub idempotent: bool,
}

/// Creates an unnamed action that takes no arguments and returns `null`.
impl Default for Action {
    fn default() -> Action {
        Action {
            name: String::new(),
            description: String::new(),
            input: json!({"type": "object"}),
            handler: Handler::Return(Value::Null),
            effects: Effects::default(),
            rules: Vec::new(),
            presenter: None,
            warning: None,
            destructive: false,
            read_only: false,
            idempotent: false,
        }
    }
}

/// The effect of a valid call on the environment.
#[derive(Debug, Clone, PartialEq)]
pub enum Handler {
    /// Inserts a row made of the arguments, including undeclared ones, and returns it. A missing key is generated.
    Insert {
        /// The table.
        table: String,
    },
    /// Returns the rows that pass the filters. The arguments `limit`, `offset` and `sort` page and order them (`sort`
    /// is a column, or `-column` for descending order).
    Select {
        /// The table.
        table: String,
        /// The filters; a filter whose argument is absent passes every row.
        filters: Vec<Filter>,
        /// The most rows of one answer, which is then an object with `page`, `items` and `next_cursor`: the value of the argument
        /// `cursor` that shows the next rows, or null. `None` for a list of all rows.
        page: Option<usize>,
    },
    /// Returns the row whose key is the argument's value, or NOT_FOUND.
    Get {
        /// The table.
        table: String,
        /// The argument that holds the key.
        by: String,
    },
    /// Sets the other arguments on the row whose key is the argument's value and returns it, or NOT_FOUND.
    Update {
        /// The table.
        table: String,
        /// The argument that holds the key.
        by: String,
    },
    /// Removes the row whose key is the argument's value, or returns NOT_FOUND.
    Delete {
        /// The table.
        table: String,
        /// The argument that holds the key.
        by: String,
    },
    /// Returns a constant: a string unchanged, any other value as JSON.
    Return(Value),
    /// Returns a tool error.
    Fail(ToolFailure),
    /// Lets the simulated seconds of the argument `seconds` pass.
    Wait,
}

impl Handler {
    /// Returns the table of the row that the handler reads or changes, if it is given the row's key.
    pub fn row_table(&self) -> Option<&str> {
        match self {
            Handler::Get { table, .. } | Handler::Update { table, .. } | Handler::Delete { table, .. } => Some(table),
            _ => None,
        }
    }

    /// Returns the table that the handler reads or changes.
    pub fn table(&self) -> Option<&str> {
        match self {
            Handler::Insert { table } | Handler::Select { table, .. } => Some(table),
            other => other.row_table(),
        }
    }
}

/// A filter of a `select`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// The argument.
    pub argument: String,
    /// The column that is compared with the argument.
    pub column: String,
    /// The comparison.
    pub relation: Relation,
}

/// The comparison of a column with an argument. Numbers are ordered by value, strings by code point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// Equal.
    Equal,
    /// The column is less than the argument.
    Before,
    /// The column is greater than the argument.
    After,
    /// The column, a string, contains the argument, ignoring case.
    Contains,
}

/// A business rule.
#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// Fails with MISSING_REQUIRED_FIELD if the argument is absent or empty: `null`, `false`, 0 or an empty string.
    Required {
        /// The argument.
        argument: String,
    },
    /// Fails, usually with FORBIDDEN, if the environment's role is not `unless_role` and the condition holds.
    Deny {
        /// The exempt role.
        unless_role: Option<String>,
        /// The condition.
        when: Condition,
        /// The failure. Its texts may have the placeholders of [`placeholders`](crate::placeholders).
        failure: ToolFailure,
    },
    /// Fails with a domain-specific error if the argument's value is none of the options. An absent argument passes.
    Allow {
        /// The argument.
        argument: String,
        /// The valid values.
        options: Vec<Value>,
        /// The failure; `{sent}` in its message is replaced by the value.
        otherwise: ToolFailure,
    },
    /// Fails with CONFLICT if another row has the same values as the arguments in all of `fields`. A row that is
    /// updated keeps the values that are not sent.
    Conflict {
        /// The table.
        table: String,
        /// The names of both arguments and columns.
        fields: Vec<String>,
    },
    /// Fails with NOT_FOUND if no row's key is the argument's value, or an item of its list. An absent argument and
    /// null pass.
    Missing {
        /// The table.
        table: String,
        /// The argument.
        argument: String,
    },
}

/// The presentation of a list to an agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Presenter {
    /// The presenter's name, used by the contract.
    pub name: Option<String>,
    /// The maximum number of rows shown when truncation is on (Fusion's `agentLimit`); `None` for no limit.
    pub max: Option<usize>,
    /// The text of the truncation notice, with the placeholders `{shown}`, `{total}`, `{omitted}` and `{filters}`;
    /// `None` for the default text.
    pub truncation_notice: Option<String>,
    /// Rules about the data, shown to the agent as a separate block.
    pub rules: Vec<String>,
    /// Suggested next actions (`tool.action`), shown as a separate block.
    pub suggest_actions: Vec<String>,
    /// The JSON Schema of a row. A list with a row that does not match fails with INTERNAL_ERROR. Truncated rows are
    /// not checked, and rows are shown with all their columns, declared or not. Of an action that does not list, it is
    /// MCP's `outputSchema`: a result that matches is sent as `structuredContent` too, and any other one fails.
    pub egress: Option<Value>,
    /// The maximum size of a response in bytes. Part of the contract only; it is not enforced.
    pub egress_max_bytes: Option<u64>,
    /// The names of the presenters embedded in this one; part of the contract.
    pub embeds: Vec<String>,
}

/// The initial state of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableDef {
    /// The name, usually plural: `invoices`.
    pub name: String,
    /// The name of one row in error texts: `invoice`.
    pub singular: String,
    /// The key column.
    pub key: String,
    /// The prefix of generated keys, such as `INV-`; empty for bare numbers.
    pub key_prefix: String,
    /// The rows, in order, each with a unique key.
    pub rows: Vec<Object>,
}

/// A fault to be injected into calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultDef {
    /// The kind of failure.
    pub kind: FaultKind,
    /// The affected tool.
    pub tool: String,
    /// The affected action; `None` for all actions of the tool.
    pub action: Option<String>,
    /// The first affected matching call, from 1. Only calls that pass validation are counted.
    pub from_call: u32,
    /// The number of affected matching calls. A `rate_limited` fault also ends once the agent has waited `retry_after`
    /// seconds.
    pub calls: u32,
    /// The wait in seconds stated by the failure.
    pub retry_after: Option<u32>,
    /// The column that a `cut` or a `corrupt` damages; drawn if there is none.
    pub column: Option<String>,
    /// The message instead of the usual one of the kind.
    pub message: Option<String>,
    /// The recovery instead of the usual one of the kind.
    pub recovery: Option<String>,
    /// True if these texts say something wrong on purpose.
    pub misleading: bool,
}

/// The initial state of an environment, without its tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorldDef {
    /// The tables; their names are unique.
    pub tables: Vec<TableDef>,
    /// The role in which calls are made.
    pub role: Option<String>,
    /// The faults, in order; a call meets the first one that applies to it.
    pub faults: Vec<FaultDef>,
    /// The way in which simulated time passes.
    pub clock: Clock,
    /// Its number among the initial states that were drawn for a scenario, from 0.
    pub number: u32,
}
