use healbench_core::ValuePath;

use super::{Comparison, Operand};

/// The writes of a handler beside the arguments. All writes of a call are made together or not at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effects {
    /// The columns of the row that are set after the arguments. References to the row mean the row as it was before.
    pub set: Vec<(String, Expression)>,
    /// The arguments that are not stored.
    pub except: Vec<String>,
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
}
