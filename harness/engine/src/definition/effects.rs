use healbench_core::ValuePath;

use super::{Action, Comparison, Handler, Operand, Progress, Rule, ToolFailure};
use crate::scope::placeholders;

/// The writes of a handler beside the arguments. All writes of a call are made together or not at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effects {
    /// The columns of the row that are set after the arguments. References to the row mean the row as it was before.
    pub set: Vec<(String, Expression)>,
    /// The arguments that are not stored.
    pub except: Vec<String>,
    /// Writes before the rules, of what has happened by the time of the call. They stay if a rule refuses the call, and are not among
    /// what the call changes. They refer to no row.
    pub meanwhile: Vec<Write>,
    /// Further writes, in order. References to the row mean the row as the handler left it, or that it deleted.
    pub also: Vec<Write>,
}

/// One of the further writes of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// Adds a row. A missing key is generated.
    Insert {
        /// The table.
        table: String,
        /// The columns.
        set: Vec<(String, Expression)>,
    },
    /// Changes all rows that match.
    Update {
        /// The table.
        table: String,
        /// The comparisons that a row must pass.
        matching: Vec<(ValuePath, Comparison)>,
        /// The columns to set.
        set: Vec<(String, Expression)>,
    },
    /// Removes all rows that match.
    Delete {
        /// The table.
        table: String,
        /// The comparisons that a row must pass.
        matching: Vec<(ValuePath, Comparison)>,
    },
}

impl Write {
    /// Returns the table that is written.
    pub fn table(&self) -> &str {
        match self {
            Write::Insert { table, .. } | Write::Update { table, .. } | Write::Delete { table, .. } => table,
        }
    }
}

impl Write {
    /// Returns the columns that it sets.
    pub fn set(&self) -> &[(String, Expression)] {
        match self {
            Write::Insert { set, .. } | Write::Update { set, .. } => set,
            Write::Delete { .. } => &[],
        }
    }

    /// Returns the comparisons that a row must pass.
    pub(crate) fn matching(&self) -> &[(ValuePath, Comparison)] {
        match self {
            Write::Update { matching, .. } | Write::Delete { matching, .. } => matching,
            Write::Insert { .. } => &[],
        }
    }
}

/// The value of a column that a handler sets. What is no number counts as 0 in computations.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A constant, or a copy of a value.
    Operand(Operand),
    /// The present value of the column and the operand.
    Add(Operand),
    /// The present value of the column without the operand.
    Subtract(Operand),
    /// The sum of the values at a path, or of the products of the values at several, element by element.
    Sum(Vec<ValuePath>),
    /// The number of values at a path.
    Count(ValuePath),
    /// The measure of how far the episode has come, and so much more.
    After(Progress, Operand),
    /// A text that nobody can guess: this prefix, and 12 letters and digits. Each of a table is another one.
    Token(String),
}

impl Action {
    /// Returns true if its answer may depend on how far the episode has come.
    pub(crate) fn reads_progress(&self) -> bool {
        let rules = self.rules.iter().any(|rule| matches!(rule, Rule::Deny { when, .. } if when.reads_progress()));
        let Effects { set, also, meanwhile, .. } = &self.effects;
        let writes = || also.iter().chain(meanwhile);
        let sets = writes().flat_map(Write::set).chain(set);
        let is_read = |expression: &Expression| match expression {
            Expression::After(..) => true,
            Expression::Operand(operand) | Expression::Add(operand) | Expression::Subtract(operand) => {
                matches!(operand, Operand::Now(_))
            }
            Expression::Sum(_) | Expression::Count(_) | Expression::Token(_) => false,
        };
        let of_rules = self.rules.iter().filter_map(|rule| match rule {
            Rule::Deny { failure, .. } | Rule::Allow { otherwise: failure, .. } => Some(failure),
            _ => None,
        });
        let of_handler = match &self.handler {
            Handler::Fail(failure) => Some(failure),
            _ => None,
        };
        rules
            || of_rules.chain(of_handler).any(tells_progress)
            || sets.map(|(_, expression)| expression).any(is_read)
            || writes().flat_map(Write::matching).any(|(_, comparison)| comparison.reads_progress())
    }
}

/// Returns true if a text of the failure tells how far the episode has come.
fn tells_progress(failure: &ToolFailure) -> bool {
    let details = failure.details.iter().filter_map(|(_, value)| value.as_str());
    let texts = [Some(&*failure.message), failure.recovery.as_deref(), failure.bare.as_deref()];
    let mut values = texts.into_iter().flatten().chain(details).flat_map(placeholders);
    values.any(|value| matches!(value, Operand::Now(_)))
}
