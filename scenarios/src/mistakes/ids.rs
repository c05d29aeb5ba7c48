//! Identifiers of the right form that do not exist.

use std::collections::{BTreeMap, BTreeSet};

use healbench_core::{Draws, Object, canonical_json};
use healbench_engine::definition::{Action, Handler, Rule};
use serde_json::{Value, json};

use super::{Edit, InapplicableMistake, MistakeParams, MutationPlan, Target};

pub(super) fn unknown_id(target: &Target<'_>, params: &MistakeParams) -> Result<MutationPlan, InapplicableMistake> {
    if target.on_server {
        return on_server(target, params);
    }
    let identifiers = identifiers(target.action, target.arguments);
    if let Some(field) = &params.field
        && !identifiers.contains_key(field.as_str())
    {
        return Err(InapplicableMistake::field(format!("`{field}` of this call does not name a row of a table")));
    }
    let mut fields = Vec::new();
    for (argument, table) in identifiers {
        if params.field.as_ref().is_some_and(|field| field != argument) {
            continue;
        }
        let edit = match &params.value {
            None => Edit::UnknownId { argument: argument.to_owned(), table: table.to_owned() },
            Some(value) if is_key(target, table, value) => {
                return Err(InapplicableMistake::value(format!("{value} is a key of `{table}`")));
            }
            Some(value) => Edit::Set(argument.to_owned(), value.clone()),
        };
        fields.push(vec![vec![edit]]);
    }
    match fields.is_empty() {
        true => Err(InapplicableMistake::kind("no argument of the call names a row of a table")),
        false => Ok(MutationPlan { fields }),
    }
}

/// Only the author knows what a server does not have.
fn on_server(target: &Target<'_>, params: &MistakeParams) -> Result<MutationPlan, InapplicableMistake> {
    let (Some(field), Some(value)) = (&params.field, &params.value) else {
        return Err(InapplicableMistake::kind(
            "on a server it needs a `field` and a `value` that the server does not have",
        ));
    };
    match target.arguments.get(field) {
        None if !target.schema(field).is_null() => {
            Ok(MutationPlan::of_mutation(vec![Edit::Add(field.clone(), value.clone())]))
        }
        None => Err(InapplicableMistake::field(format!("the call has no argument `{field}`"))),
        Some(right) if right == value => Err(InapplicableMistake::value("this is the right value")),
        Some(_) => Ok(MutationPlan { fields: vec![vec![vec![Edit::Set(field.clone(), value.clone())]]] }),
    }
}

/// Returns the arguments of a call of the action that identify a row, with their tables.
pub(crate) fn identifiers<'a>(action: &'a Action, arguments: &Object) -> BTreeMap<&'a str, &'a str> {
    let of_handler = match &action.handler {
        Handler::Get { table, by } | Handler::Update { table, by } | Handler::Delete { table, by } => {
            Some((by.as_str(), table.as_str()))
        }
        _ => None,
    };
    let of_rules = action.rules.iter().filter_map(|rule| match rule {
        Rule::Missing { table, argument } => Some((argument.as_str(), table.as_str())),
        _ => None,
    });
    of_rules.chain(of_handler).filter(|(argument, _)| arguments.contains_key(*argument)).collect()
}

fn is_key(target: &Target<'_>, table: &str, value: &Value) -> bool {
    let table = target.world.tables.iter().find(|candidate| candidate.name == table);
    table.is_some_and(|table| table.rows.iter().any(|row| row.get(&table.key) == Some(value)))
}

/// The number of drawn candidates before a new key is constructed.
const MAX_TRIES: u32 = 64;

/// Returns a value similar to `right` that is not one of the `known` keys, which are canonical JSON.
pub(super) fn unknown_key_like(right: &Value, known: &BTreeSet<String>, draws: &mut Draws) -> Value {
    let is_new = |value: &Value| value != right && !known.contains(&canonical_json(value));
    for _ in 0..MAX_TRIES {
        let candidate = match right {
            Value::Number(number) => {
                let n = number.as_i64().unwrap_or(1);
                json!(draws.between(1, n.saturating_mul(10).max(1_000)))
            }
            other => Value::String(redraw_characters(&text_of(other), draws)),
        };
        if is_new(&candidate) {
            return candidate;
        }
    }
    // All keys of this form may exist, so construct a longer one.
    let mut text = text_of(right);
    loop {
        text.push('9');
        let candidate = match right {
            Value::Number(_) => text.parse::<u64>().map_or_else(|_| Value::String(text.clone()), Value::from),
            _ => Value::String(text.clone()),
        };
        if is_new(&candidate) {
            return candidate;
        }
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Redraws the digits of a text, or its letters if it has no digits.
fn redraw_characters(text: &str, draws: &mut Draws) -> String {
    let has_digit = text.chars().any(|c| c.is_ascii_digit());
    let mut one_of = |from: u8, n: u64| char::from(from + draws.below(n) as u8);
    let letter = |c: char| match c {
        '0'..='9' => one_of(b'0', 10),
        'a'..='z' if !has_digit => one_of(b'a', 26),
        'A'..='Z' if !has_digit => one_of(b'A', 26),
        other => other,
    };
    text.chars().map(letter).collect()
}
