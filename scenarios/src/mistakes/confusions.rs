//! Right values in the wrong place: identifiers of another table, values of another row, values of an earlier call.

use healbench_engine::definition::{Handler, TableDef};
use serde_json::Value;

use super::ids::identifiers;
use super::{Edit, InapplicableMistake, MistakeParams, Mutation, MutationPlan, Target};

type Planned = Result<MutationPlan, InapplicableMistake>;

/// Returns the plan that sets each argument to one of the values that `wrong` returns for it.
fn plan<'v>(
    target: &'v Target<'_>,
    params: &'v MistakeParams,
    needs: &str,
    wrong: impl Fn(&'v str, &'v Value) -> Vec<Value>,
) -> Planned {
    let is_left_out = |field: &str| !target.arguments.contains_key(field) && !target.schema(field).is_null();
    let is_meant = |name: &str| params.field.as_ref().is_none_or(|field| field == name);
    let mut fields: Vec<Vec<Mutation>> = Vec::new();
    let sent = target.arguments.iter().filter(|(name, _)| is_meant(name));
    // An argument that the call leaves out has no right value.
    let left_out = params.field.as_ref().filter(|field| is_left_out(field)).map(|field| (field, &Value::Null));
    for (name, right) in sent.chain(left_out) {
        let mut values = wrong(name, right);
        if let Some(given) = &params.value {
            values.retain(|value| value == given);
        }
        values.retain(|value| value != right && !target.rejects(name, value));
        let edit = if target.arguments.contains_key(name) { Edit::Set } else { Edit::Add };
        let mutations: Vec<Mutation> = values.into_iter().map(|value| vec![edit(name.clone(), value)]).collect();
        if !mutations.is_empty() {
            fields.push(mutations);
        }
    }
    if !fields.is_empty() {
        return Ok(MutationPlan { fields });
    }
    Err(match &params.field {
        Some(field) if !target.arguments.contains_key(field) && !is_left_out(field) => {
            InapplicableMistake::field(format!("the call has no argument `{field}`"))
        }
        Some(field) => InapplicableMistake::field(format!("`{field}` is not {needs}")),
        None => InapplicableMistake::kind(format!("no argument of the call is {needs}")),
    })
}

fn column(table: &TableDef, column: &str) -> Vec<Value> {
    table.rows.iter().filter_map(|row| row.get(column).cloned()).collect()
}

pub(super) fn other_kind_id(target: &Target<'_>, params: &MistakeParams) -> Planned {
    let identifiers = identifiers(target.action, target.arguments);
    plan(target, params, "an identifier while another table has rows of its type", |name, _| {
        let Some(own) = identifiers.get(name) else { return Vec::new() };
        let others = target.world.tables.iter().filter(|table| table.name != *own);
        others.flat_map(|table| column(table, &table.key)).collect()
    })
}

/// The row is one of the table that the handler reads or changes, or that the argument's value is found in.
pub(super) fn other_row_value(target: &Target<'_>, params: &MistakeParams) -> Planned {
    let table = match &target.action.handler {
        Handler::Select { table, .. } | Handler::Insert { table } => Some(table.as_str()),
        other => other.row_table(),
    };
    plan(target, params, "a column of the table with other values in its other rows", |name, right| {
        let own = target.world.tables.iter().filter(|known| Some(known.name.as_str()) == table);
        let has_it = |known: &&TableDef| column(known, name).contains(right);
        let all = own.chain(target.world.tables.iter().filter(has_it));
        let mut values: Vec<Value> = Vec::new();
        for value in all.flat_map(|table| column(table, name)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    })
}

pub(super) fn previous_value(target: &Target<'_>, params: &MistakeParams) -> Planned {
    plan(target, params, "an argument with another value in an earlier call of the action", |name, _| {
        let earlier = target.earlier.iter().rev();
        earlier.filter_map(|arguments| arguments.get(name)).take(1).cloned().collect()
    })
}

/// Only the author knows what was right before.
pub(super) fn stale_value(target: &Target<'_>, params: &MistakeParams) -> Planned {
    match &params.value {
        Some(value) if params.field.is_some() => {
            plan(target, params, "an argument for which this was another valid value", |_, _| vec![value.clone()])
        }
        _ => Err(InapplicableMistake::kind("it needs a `field` and the `value` that was right before")),
    }
}
