//! Tables with the rows that are made up for them.

use healbench_engine::definition::TableDef;
use healbench_protocol::{Draws, Object};
use serde_json::{Value, json};

/// A table of a scenario, before its rows are made up.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TablePlan {
    /// The table with the rows that are written down.
    pub(crate) written: TableDef,
    /// How many rows are made up, and of what; they come first.
    pub(crate) count: u32,
    /// Where the values come from, by column, in order.
    pub(crate) columns: Vec<(String, Column)>,
}

/// Where a column's values come from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Column {
    /// One of them.
    Pick(Vec<Value>),
    /// A whole number, both ends included.
    Range(i64, i64),
    /// The row's number in a text.
    Sequence(Sequence),
    /// One word of each list.
    Phrase(Vec<Vec<String>>),
    /// Always the same.
    Constant(Value),
    /// The row's number itself.
    Number,
}

/// A text with the row's number: `INV-{n:04}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sequence {
    before: String,
    width: usize,
    after: String,
}

impl Sequence {
    /// Reads a text with exactly one `{n}` or `{n:0W}`.
    pub(crate) fn parse(text: &str) -> Option<Sequence> {
        let (before, rest) = text.split_once("{n")?;
        let (spec, after) = rest.split_once('}')?;
        let width = match spec {
            "" => 0,
            spec => spec.strip_prefix(":0")?.parse().ok().filter(|width| *width <= 20)?,
        };
        (!after.contains("{n")).then(|| Sequence { before: before.to_owned(), width, after: after.to_owned() })
    }

    /// A number that follows a prefix.
    pub(crate) fn after_prefix(prefix: &str) -> Sequence {
        Sequence { before: prefix.to_owned(), width: 0, after: String::new() }
    }

    fn text(&self, n: u32) -> String {
        format!("{}{n:0width$}{}", self.before, self.after, width = self.width)
    }
}

impl TablePlan {
    /// Whether a made-up row has this key. Keys are numbered, so this needs no rows.
    pub(crate) fn makes_key(&self, key: &Value) -> bool {
        let column = self.columns.iter().find(|(name, _)| *name == self.written.key);
        match column {
            Some((_, Column::Sequence(sequence))) => key.as_str().is_some_and(|text| {
                let middle = text.strip_prefix(&sequence.before).and_then(|rest| rest.strip_suffix(&sequence.after));
                let n = middle.and_then(|digits| digits.parse().ok());
                n.is_some_and(|n: u32| (1..=self.count).contains(&n) && sequence.text(n) == text)
            }),
            Some((_, Column::Number)) => key.as_u64().is_some_and(|n| (1..=u64::from(self.count)).contains(&n)),
            _ => false,
        }
    }

    /// The table with all of its rows: the generated ones in order, and the written ones at drawn places among them.
    pub(crate) fn fill(&self, draws: &mut Draws) -> TableDef {
        let mut rows = Vec::with_capacity(self.count as usize + self.written.rows.len());
        for n in 1..=self.count {
            let cell = |(name, column): &(String, Column)| (name.clone(), value(column, n, draws));
            rows.push(self.columns.iter().map(cell).collect::<Object>());
        }
        // Among generated rows a written one has no place of its own: at an end, it would decide what a reader of the list sees.
        for row in &self.written.rows {
            let at = if self.count == 0 { rows.len() } else { draws.below(rows.len() as u64 + 1) as usize };
            rows.insert(at, row.clone());
        }
        TableDef { rows, ..self.written.clone() }
    }
}

fn value(column: &Column, n: u32, draws: &mut Draws) -> Value {
    match column {
        Column::Pick(values) => draws.pick(values).cloned().unwrap_or(Value::Null),
        Column::Range(low, high) => json!(draws.between(*low, *high)),
        Column::Sequence(sequence) => Value::String(sequence.text(n)),
        Column::Phrase(lists) => {
            let words: Vec<&str> = lists.iter().filter_map(|list| draws.pick(list)).map(String::as_str).collect();
            Value::String(words.join(" "))
        }
        Column::Constant(value) => value.clone(),
        Column::Number => json!(n),
    }
}
