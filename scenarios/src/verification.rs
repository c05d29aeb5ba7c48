//! Rows that have to be read after they were written.

use healbench_core::{Object, ToolCall};
use healbench_engine::definition::{Action, Handler};
use healbench_engine::{GuardedReply, contains_all};
use serde_json::Value;

/// A row that has to be read after it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    pub table: String,
    /// The key column of the table.
    pub key: String,
    pub matching: Object,
}

/// What a call and its reply mean for a row that has to be read.
#[derive(Debug, Clone, PartialEq)]
pub enum Verification {
    /// The row is neither shown nor written.
    None,
    /// The row with this key is shown.
    Read(Value),
    /// The row with this key may have been written; any row if the key is not known.
    Written(Option<Value>),
}

/// The keys of the rows that were read after they were written, in the order of [`Scenario::rows_to_verify`](crate::Scenario::rows_to_verify).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VerifiedRows(pub(crate) Vec<Option<Value>>);

impl VerifiedRows {
    /// Notes what a call means for each row.
    pub fn note(&mut self, verifications: &[Verification]) {
        for (read, verification) in self.0.iter_mut().zip(verifications) {
            match verification {
                Verification::Read(key) => *read = Some(key.clone()),
                Verification::Written(key) if key.is_none() || key == read => *read = None,
                Verification::Written(_) | Verification::None => {}
            }
        }
    }
}

impl Verified {
    /// Returns what a call of an action means for the row. Only an action that reads the table can show it, and not through a fault.
    pub(crate) fn of_call(&self, action: &Action, call: &ToolCall, reply: &GuardedReply) -> Verification {
        let is_own = |table: &String| *table == self.table;
        if reply.state_changed != Some(false) {
            if action.effects.also.iter().any(|write| write.table() == self.table) {
                return Verification::Written(None);
            }
            return match &action.handler {
                Handler::Insert { table } if is_own(table) => match self.is_written(reply) {
                    true => Verification::Written(None),
                    false => Verification::None,
                },
                Handler::Update { table, by } | Handler::Delete { table, by } if is_own(table) => {
                    let sent = call.object().and_then(|sent| sent.get(by)).cloned();
                    let is_update = matches!(action.handler, Handler::Update { .. });
                    Verification::Written(sent.filter(|_| !(is_update && self.is_written(reply))))
                }
                _ => Verification::None,
            };
        }
        let reads =
            matches!(&action.handler, Handler::Select { table, .. } | Handler::Get { table, .. } if is_own(table));
        if !reads || reply.fault.is_some() || reply.response.is_error {
            return Verification::None;
        }
        let shown = self.shown_key(&reply.response.content);
        shown.map_or(Verification::None, Verification::Read)
    }

    /// Returns true unless the reply shows that the row which was written is another one.
    fn is_written(&self, reply: &GuardedReply) -> bool {
        let row = reply.response.content.first().and_then(|text| serde_json::from_str::<Object>(text).ok());
        reply.fault.is_some() || row.is_none_or(|row| contains_all(&row, &self.matching))
    }

    /// Returns the key of the row if one of the blocks is the row, or a list with it.
    fn shown_key(&self, content: &[String]) -> Option<Value> {
        let own = |value: &Value| {
            let row = value.as_object().filter(|row| contains_all(row, &self.matching))?;
            Some(row.get(&self.key).cloned().unwrap_or_default())
        };
        content.iter().filter_map(|block| serde_json::from_str::<Value>(block).ok()).find_map(|value| match value {
            Value::Array(items) => items.iter().find_map(own),
            // A page of a list.
            Value::Object(page) if page.contains_key("next_cursor") => {
                page.get("items").and_then(Value::as_array).into_iter().flatten().find_map(own)
            }
            other => own(&other),
        })
    }
}
