//! Evaluation of conditions and expressions, and of the placeholders of failures.

use std::cmp::Ordering;

use healbench_core::{Object, ValuePath, json_type, same_json};
use serde_json::{Number, Value};

use crate::arguments::{Arguments, shown};
use crate::definition::{Comparison, Condition, Expression, Operand, Operator, Progress, RowsCondition, ToolFailure};
use crate::world::Tables;

/// The values that a condition or an expression can refer to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) arguments: Arguments<'a>,
    pub(crate) row: Option<&'a Object>,
}

impl<'a> Scope<'a> {
    fn operand<'o>(self, operand: &'o Operand) -> Option<&'o Value>
    where
        'a: 'o,
    {
        match operand {
            Operand::Constant(value) => Some(value),
            Operand::Sent(path) => self.sent(path),
            Operand::Row(path) => path.get(self.row?),
            Operand::Now(progress) => Some(self.arguments.now.of(*progress)),
        }
    }

    fn sent(self, path: &ValuePath) -> Option<&'a Value> {
        self.arguments.get(path.first())?;
        path.get(self.arguments.object)
    }

    /// Returns the first row that the first of the conditions on rows counts, if the condition holds.
    pub(crate) fn meets(self, condition: &Condition, tables: &'a Tables) -> Option<Option<&'a Object>> {
        if !condition.sent.iter().all(|(path, comparison)| self.holds(comparison, self.sent(path))) {
            return None;
        }
        if !condition.row.is_empty() && !self.row.is_some_and(|row| self.all_hold(&condition.row, row)) {
            return None;
        }
        let now = |(progress, comparison): &(Progress, Comparison)| {
            self.holds(comparison, Some(self.arguments.now.of(*progress)))
        };
        if !condition.now.iter().all(now) {
            return None;
        }
        let mut first = None;
        for (index, rows) in condition.rows.iter().enumerate() {
            let mut matching = self.matching(rows, tables);
            let found = matching.next();
            let count = matching.count() + usize::from(found.is_some());
            if !self.holds(&rows.count, Some(&count.into())) {
                return None;
            }
            first = if index == 0 { found } else { first };
        }
        Some(first)
    }

    fn matching<'c>(
        self,
        rows: &'c RowsCondition,
        tables: &'a Tables,
    ) -> impl Iterator<Item = &'a Object> + use<'a, 'c> {
        let table = tables.table_index(&rows.table).into_iter().flat_map(|at| tables.iter(at));
        table.filter(move |row| self.all_hold(&rows.matching, row))
    }

    pub(crate) fn all_hold(self, comparisons: &[(ValuePath, Comparison)], row: &Object) -> bool {
        comparisons.iter().all(|(path, comparison)| self.holds(comparison, path.get(row)))
    }

    fn holds(self, comparison: &Comparison, value: Option<&Value>) -> bool {
        comparison.0.iter().all(|(operator, operand)| {
            let Some(operand) = self.operand(operand) else { return false };
            match (operator, value) {
                (Operator::Present, value) => {
                    value.is_some_and(|value| !value.is_null()) == (operand != &Value::Bool(false))
                }
                (_, None) => false,
                (operator, Some(value)) => relates(*operator, value, operand),
            }
        })
    }

    /// Returns the value of a column of `current`, the row before it is written.
    pub(crate) fn evaluate(self, expression: &Expression, column: &str, current: Option<&Object>) -> Value {
        let now = || current.and_then(|row| row.get(column));
        match expression {
            Expression::Operand(operand) => self.operand(operand).cloned().unwrap_or_default(),
            Expression::Add(operand) => sum([now(), self.operand(operand)].into_iter().map(|value| product([value]))),
            Expression::Subtract(operand) => {
                let minus = Value::from(-1);
                let terms = [product([now()]), product([self.operand(operand), Some(&minus)])];
                sum(terms.into_iter())
            }
            Expression::Sum(paths) => {
                let factors: Vec<Vec<Option<&Value>>> = paths.iter().map(|path| self.sent_values(path)).collect();
                let list = paths.iter().zip(&factors).find(|(path, _)| path.has_list());
                let elements = list.map_or(1, |(_, values)| values.len());
                // What is no element of the list counts for each of them.
                let value = |(path, values): (&ValuePath, &Vec<Option<&'a Value>>), at| {
                    values.get(if path.has_list() { at } else { 0 }).copied().flatten()
                };
                let element = |at| product(paths.iter().zip(&factors).map(|one| value(one, at)));
                sum((0..elements).map(element))
            }
            Expression::After(progress, operand) => {
                let terms = [Some(self.arguments.now.of(*progress)), self.operand(operand)];
                sum(terms.into_iter().map(|value| product([value])))
            }
            Expression::Token(prefix) => self.arguments.now.token(prefix).into(),
            Expression::Count(path) => self.sent_values(path).into_iter().flatten().count().into(),
        }
    }

    fn sent_values(self, path: &ValuePath) -> Vec<Option<&'a Value>> {
        match self.arguments.get(path.first()) {
            Some(_) => path.elements(self.arguments.object),
            None => Vec::new(),
        }
    }

    /// Returns the failure with the values of its placeholders.
    pub(crate) fn fill(self, failure: &ToolFailure) -> ToolFailure {
        let text = |text: &String| self.fill_text(text);
        let detail = |(name, value): &(String, Value)| {
            let value = match value {
                Value::String(text) => self.fill_detail(text),
                other => other.clone(),
            };
            (name.clone(), value)
        };
        ToolFailure {
            message: text(&failure.message),
            recovery: failure.recovery.as_ref().map(text),
            bare: failure.bare.as_ref().map(text),
            details: failure.details.iter().map(detail).collect(),
            ..failure.clone()
        }
    }

    /// Fills a detail, which has the value itself if it is one placeholder and nothing else.
    fn fill_detail(self, text: &str) -> Value {
        match next_placeholder(text) {
            Some(("", operand, "")) => match self.operand(&operand) {
                Some(value @ (Value::Number(_) | Value::Bool(_))) => value.clone(),
                _ => self.fill_text(text).into(),
            },
            _ => self.fill_text(text).into(),
        }
    }

    /// Fills the placeholders in one pass, so that a value that looks like a placeholder is not replaced.
    pub(crate) fn fill_text(self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, operand, after)) = next_placeholder(rest) {
            out.push_str(before);
            out.push_str(&self.operand(&operand).map_or_else(|| "null".to_owned(), shown));
            rest = after;
        }
        out + rest
    }
}

/// Returns the text before the first placeholder, what it stands for, and the text after it.
fn next_placeholder(text: &str) -> Option<(&str, Operand, &str)> {
    text.match_indices('{').find_map(|(at, _)| {
        let (inner, after) = text[at + 1..].split_once('}')?;
        let operand = match inner.split_once('.')? {
            ("row", path) => Operand::Row(ValuePath::parse(path).ok()?),
            ("sent", path) => Operand::Sent(ValuePath::parse(path).ok()?),
            ("now", measure) => Operand::Now(Progress::named(measure)?),
            _ => return None,
        };
        Some((&text[..at], operand, after))
    })
}

/// Returns what the placeholders of a text stand for: `{row.COLUMN}`, `{sent.ARGUMENT}`, `{now.calls}` and `{now.seconds}`.
pub fn placeholders(text: &str) -> Vec<Operand> {
    let next = |rest: &mut &str| {
        let (_, operand, after) = next_placeholder(rest)?;
        *rest = after;
        Some(operand)
    };
    let mut rest = text;
    std::iter::from_fn(|| next(&mut rest)).collect()
}

fn relates(operator: Operator, value: &Value, operand: &Value) -> bool {
    let items = || operand.as_array().map_or(&[][..], Vec::as_slice);
    let is_in = || items().iter().any(|item| same_json(item, value));
    let has_type = |other: &Value| json_type(value) == json_type(other);
    // Numbers that are equal may be written in different ways, such as 1 and 1.0, which only sorting tells apart.
    let order = || match same_json(value, operand) {
        true => Some(Ordering::Equal),
        false => has_type(operand).then(|| compare(value, operand)),
    };
    match operator {
        Operator::Equals => same_json(value, operand),
        Operator::Not => has_type(operand) && !same_json(value, operand),
        Operator::Less => order() == Some(Ordering::Less),
        Operator::AtMost => order().is_some_and(Ordering::is_le),
        Operator::Greater => order() == Some(Ordering::Greater),
        Operator::AtLeast => order().is_some_and(Ordering::is_ge),
        Operator::In => is_in(),
        Operator::NotIn => !is_in() && (items().iter().any(has_type) || *operand == Value::Array(Vec::new())),
        Operator::Contains => contains(value, operand),
        Operator::NotContains => {
            (value.is_array() || value.is_string() && operand.is_string()) && !contains(value, operand)
        }
        Operator::Present => !value.is_null(),
    }
}

/// A total order, as sorting requires: numbers by value, strings by code point, values of different types by type.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    };
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let value = |number: &serde_json::Number| number.as_f64().unwrap_or(f64::NAN);
            // Integers beyond 2^53 may map to the same float; comparing their texts keeps the order total.
            value(a).total_cmp(&value(b)).then_with(|| a.to_string().cmp(&b.to_string()))
        }
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Returns true if a text contains another, ignoring case, or a list a value.
pub(crate) fn contains(value: &Value, other: &Value) -> bool {
    match (value, other) {
        (Value::String(value), Value::String(other)) => value.to_lowercase().contains(&other.to_lowercase()),
        (Value::Array(items), other) => items.iter().any(|item| same_json(item, other)),
        _ => false,
    }
}

/// A number that stays exact as long as all of its parts are integers.
#[derive(Clone, Copy)]
enum Exact {
    Integer(i128),
    Float(f64),
}

impl Exact {
    fn float(self) -> f64 {
        match self {
            Exact::Integer(integer) => integer as f64,
            Exact::Float(float) => float,
        }
    }

    fn combine(self, other: Exact, integers: fn(i128, i128) -> Option<i128>, floats: fn(f64, f64) -> f64) -> Exact {
        match (self, other) {
            (Exact::Integer(a), Exact::Integer(b)) if let Some(result) = integers(a, b) => Exact::Integer(result),
            (a, b) => Exact::Float(floats(a.float(), b.float())),
        }
    }
}

fn product<'v>(factors: impl IntoIterator<Item = Option<&'v Value>>) -> Exact {
    let exact = |value: Option<&Value>| match value {
        Some(Value::Number(number)) => number.as_i64().map_or_else(
            || Exact::Float(number.as_f64().unwrap_or_default()),
            |integer| Exact::Integer(integer.into()),
        ),
        _ => Exact::Integer(0),
    };
    factors.into_iter().map(exact).fold(Exact::Integer(1), |a, b| a.combine(b, i128::checked_mul, |a, b| a * b))
}

fn sum(terms: impl Iterator<Item = Exact>) -> Value {
    let total = terms.fold(Exact::Integer(0), |a, b| a.combine(b, i128::checked_add, |a, b| a + b));
    match total {
        Exact::Integer(integer) if let Ok(integer) = i64::try_from(integer) => integer.into(),
        other => Number::from_f64(rounded(other.float())).map_or(Value::Null, Value::Number),
    }
}

/// Rounds to the 15 digits that a decimal number keeps in binary: 3.2 + 1.1 is 4.3.
fn rounded(number: f64) -> f64 {
    format!("{number:.14e}").parse().unwrap_or(number)
}
