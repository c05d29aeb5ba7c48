//! Tables with generated rows.

use healbench_core::{Draws, Object};
use healbench_engine::definition::TableDef;
use serde_json::{Value, json};

/// A table of a scenario before its rows are generated.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TablePlan {
    /// The table with the rows listed in the file.
    pub(crate) def: TableDef,
    /// The number of generated rows.
    pub(crate) count: u32,
    /// The generators of the columns, in order.
    pub(crate) columns: Vec<(String, ColumnGenerator)>,
}

/// The source of a column's values in generated rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ColumnGenerator {
    /// A drawn element of the list.
    Pick(Vec<Value>),
    /// A drawn integer, both bounds included.
    Range(i64, i64),
    /// A text with the row's number.
    Sequence(Sequence),
    /// A text of one drawn word from each list.
    Phrase(Vec<Vec<String>>),
    /// The same value in every row.
    Constant(Value),
    /// The row's number, from 1.
    Number,
}

/// A text that contains the row's number: `INV-{n:04}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sequence {
    prefix: String,
    width: usize,
    suffix: String,
}

impl Sequence {
    /// Parses a text with exactly one `{n}` or `{n:0W}`, where `W` is the least number of digits.
    pub(crate) fn parse(text: &str) -> Option<Sequence> {
        let (prefix, rest) = text.split_once("{n")?;
        let (spec, suffix) = rest.split_once('}')?;
        let width = match spec {
            "" => 0,
            spec => spec.strip_prefix(":0")?.parse().ok().filter(|width| *width <= 20)?,
        };
        (!suffix.contains("{n")).then(|| Sequence { prefix: prefix.to_owned(), width, suffix: suffix.to_owned() })
    }

    /// Creates a sequence of `prefix` followed by the row's number.
    pub(crate) fn with_prefix(prefix: &str) -> Sequence {
        Sequence { prefix: prefix.to_owned(), width: 0, suffix: String::new() }
    }

    fn text(&self, n: u32) -> String {
        format!("{}{n:0width$}{}", self.prefix, self.suffix, width = self.width)
    }
}

impl TablePlan {
    /// Returns true if a generated row has this key. Keys are numbered, so the rows need not be generated.
    pub(crate) fn generates_key(&self, key: &Value) -> bool {
        let column = self.columns.iter().find(|(name, _)| *name == self.def.key);
        match column {
            Some((_, ColumnGenerator::Sequence(sequence))) => key.as_str().is_some_and(|text| {
                let middle = text.strip_prefix(&sequence.prefix).and_then(|rest| rest.strip_suffix(&sequence.suffix));
                let n = middle.and_then(|digits| digits.parse().ok());
                n.is_some_and(|n: u32| (1..=self.count).contains(&n) && sequence.text(n) == text)
            }),
            Some((_, ColumnGenerator::Number)) => {
                key.as_u64().is_some_and(|n| (1..=u64::from(self.count)).contains(&n))
            }
            _ => false,
        }
    }

    /// Returns true if the rows, or their order, are drawn.
    pub(crate) fn is_drawn(&self) -> bool {
        let draws = |column: &ColumnGenerator| match column {
            ColumnGenerator::Pick(values) => values.len() > 1,
            ColumnGenerator::Range(low, high) => low < high,
            ColumnGenerator::Phrase(lists) => lists.iter().any(|words| words.len() > 1),
            ColumnGenerator::Sequence(_) | ColumnGenerator::Constant(_) | ColumnGenerator::Number => false,
        };
        self.count > 0 && (!self.def.rows.is_empty() || self.columns.iter().any(|(_, column)| draws(column)))
    }

    /// Returns the table with all of its rows: the generated ones in order, and the listed ones at drawn positions
    /// among them.
    pub(crate) fn build(&self, draws: &mut Draws) -> TableDef {
        let mut rows = Vec::with_capacity(self.count as usize + self.def.rows.len());
        for n in 1..=self.count {
            let cell = |(name, column): &(String, ColumnGenerator)| (name.clone(), value(column, n, draws));
            rows.push(self.columns.iter().map(cell).collect::<Object>());
        }
        // Draw the positions: listed rows at one end would decide what an agent sees in a truncated list.
        for row in &self.def.rows {
            let at = if self.count == 0 { rows.len() } else { draws.below(rows.len() as u64 + 1) as usize };
            rows.insert(at, row.clone());
        }
        TableDef { rows, ..self.def.clone() }
    }
}

fn value(column: &ColumnGenerator, n: u32, draws: &mut Draws) -> Value {
    match column {
        ColumnGenerator::Pick(values) => draws.pick(values).cloned().unwrap_or(Value::Null),
        ColumnGenerator::Range(low, high) => json!(draws.between(*low, *high)),
        ColumnGenerator::Sequence(sequence) => Value::String(sequence.text(n)),
        ColumnGenerator::Phrase(lists) => {
            let words: Vec<&str> = lists.iter().filter_map(|list| draws.pick(list)).map(String::as_str).collect();
            Value::String(words.join(" "))
        }
        ColumnGenerator::Constant(value) => value.clone(),
        ColumnGenerator::Number => json!(n),
    }
}
