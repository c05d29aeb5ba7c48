use healbench_core::{Object, ValuePath};
use serde_json::Value;

use super::Progress;

/// A condition on a call and the state: all of its parts must hold. An empty condition always holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Condition {
    /// Comparisons of arguments.
    pub sent: Vec<(ValuePath, Comparison)>,
    /// Comparisons of the row that the handler reads or changes. They do not hold if there is none.
    pub row: Vec<(ValuePath, Comparison)>,
    /// Conditions on the rows of tables.
    pub rows: Vec<RowsCondition>,
    /// Comparisons of how far the episode has come.
    pub now: Vec<(Progress, Comparison)>,
}

impl Condition {
    /// Creates the condition that arguments have these values.
    pub fn of_arguments(arguments: Object) -> Condition {
        let equal = |(name, value): (String, Value)| (ValuePath::of_name(&name), Comparison::equal(value));
        Condition { sent: arguments.into_iter().map(equal).collect(), ..Condition::default() }
    }

    /// Returns true if a comparison is one with how far the episode has come.
    pub(crate) fn reads_progress(&self) -> bool {
        let of_rows = self.rows.iter().flat_map(|rows| rows.matching.iter().map(|(_, one)| one).chain([&rows.count]));
        let of_values = self.sent.iter().chain(&self.row).map(|(_, one)| one);
        !self.now.is_empty() || of_rows.chain(of_values).any(Comparison::reads_progress)
    }

    /// Returns true unless the arguments alone decide.
    pub fn reads_state(&self) -> bool {
        let reads_row = |(_, comparison): &(ValuePath, Comparison)| {
            comparison.0.iter().any(|(_, operand)| matches!(operand, Operand::Row(_)))
        };
        !self.row.is_empty() || !self.rows.is_empty() || self.sent.iter().any(reads_row)
    }
}

/// A condition on the rows of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct RowsCondition {
    /// The table.
    pub table: String,
    /// The comparisons that a row must pass to be counted.
    pub matching: Vec<(ValuePath, Comparison)>,
    /// The comparison of the number of such rows.
    pub count: Comparison,
}

/// Comparisons of one value, all of which must hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison(pub Vec<(Operator, Operand)>);

impl Comparison {
    /// Creates the comparison with a constant.
    pub fn equal(value: Value) -> Comparison {
        Comparison(vec![(Operator::Equals, Operand::Constant(value))])
    }

    /// Returns true if it is one with how far the episode has come.
    pub(crate) fn reads_progress(&self) -> bool {
        self.0.iter().any(|(_, operand)| matches!(operand, Operand::Now(_)))
    }

    /// Creates the comparison of a number of rows that holds if there is one.
    pub fn any() -> Comparison {
        Comparison(vec![(Operator::AtLeast, Operand::Constant(1.into()))])
    }

    /// Returns true if a number of rows passes only if there is one.
    pub fn needs_one(&self) -> bool {
        let needs_one = |(operator, operand): &(Operator, Operand)| match (operator, operand) {
            (Operator::Equals | Operator::AtLeast, Operand::Constant(value)) => value.as_f64() > Some(0.0),
            (Operator::Greater, Operand::Constant(value)) => value.as_f64() >= Some(0.0),
            _ => false,
        };
        self.0.iter().any(needs_one)
    }
}

/// The relation of a value to an operand. None holds for an absent value or between values of different types, except
/// `present`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// They are equal.
    Equals,
    /// They differ.
    Not,
    /// The value is less: numbers by value, strings by code point.
    Less,
    /// The value is less or equal.
    AtMost,
    /// The value is greater.
    Greater,
    /// The value is greater or equal.
    AtLeast,
    /// The value is in the list.
    In,
    /// The value is not in the list.
    NotIn,
    /// The text contains the other, ignoring case, or the list contains the value.
    Contains,
    /// The text does not contain the other, ignoring case, or the list does not contain the value.
    NotContains,
    /// There is a value, or none if the operand is false. Null is none.
    Present,
}

/// The operators by their names in scenario files, each with what it means.
pub const OPERATORS: [(&str, Operator, &str); 11] = [
    ("equals", Operator::Equals, "they are equal"),
    ("not", Operator::Not, "they differ"),
    ("less", Operator::Less, "the value is less"),
    ("at_most", Operator::AtMost, "the value is less or equal"),
    ("greater", Operator::Greater, "the value is greater"),
    ("at_least", Operator::AtLeast, "the value is greater or equal"),
    ("in", Operator::In, "the value is in the list"),
    ("not_in", Operator::NotIn, "the value is not in the list"),
    ("contains", Operator::Contains, "the text contains the other, ignoring case, or the list contains it"),
    ("not_contains", Operator::NotContains, "the text or the list does not contain it"),
    ("present", Operator::Present, "there is a value other than null, or none with `false`"),
];

/// The value that another one is compared with, or that is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// A constant.
    Constant(Value),
    /// The value of an argument.
    Sent(ValuePath),
    /// The value of a column of the row that the handler reads or changes.
    Row(ValuePath),
    /// The measure of how far the episode has come.
    Now(Progress),
}
