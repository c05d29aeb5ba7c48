//! Execution of a valid call: the business rules in order, then the declared handler.

use std::cmp::Ordering;

use healbench_core::{Object, ReplyOutcome, json_type, same_json};
use serde_json::Value;

use crate::arguments::{Arguments, PAGING_ARGUMENTS, shown};
use crate::definition::{Action, Code, Effects, Expression, Filter, Handler, Relation, Rule, Tool, ToolFailure, Write};
use crate::page::page_of;
use crate::render::excerpt_text;
use crate::scope::{Scope, compare, contains};
use crate::world::Tables;

/// Checks the rules, runs the handler, and returns its result and whether a row changed.
pub(crate) fn run_action<'w>(
    action: &'w Action,
    tables: &TableUses,
    world: &'w mut Tables,
    arguments: Arguments<'_>,
) -> Result<(ReplyOutcome<'w>, bool), ToolFailure> {
    let meanwhile = &action.effects.meanwhile;
    if !meanwhile.is_empty() {
        let before = world.clone();
        if let Err(failure) = write_all(meanwhile, tables, world, Scope { arguments, row: None }) {
            world.take_back(before);
            world.keep_tokens(arguments.now);
            return Err(failure);
        }
    }
    for rule in &action.rules {
        check(rule, action, tables, world, arguments)?;
    }
    if action.effects.also.is_empty() {
        return handle(action, tables, world, arguments);
    }
    let before = world.clone();
    let (text, changed) = match handle(action, tables, world, arguments)? {
        (ReplyOutcome::Text(text), changed) => (text, changed),
        // A list has no further writes: the loader refuses them.
        (_, changed) => (String::new(), changed),
    };
    // The text of a row is the row itself, except that of a deleted one.
    let row = match &action.handler {
        Handler::Delete { .. } => own_row(action, &before, arguments).cloned(),
        _ => serde_json::from_str(&text).ok(),
    };
    match write_all(&action.effects.also, tables, world, Scope { arguments, row: row.as_ref() }) {
        Ok(also_changed) => Ok((ReplyOutcome::Text(text), changed || also_changed)),
        Err(failure) => {
            world.take_back(before);
            Err(failure)
        }
    }
}

/// Returns the row that the handler reads or changes.
fn own_row<'w>(action: &Action, world: &'w Tables, arguments: Arguments<'_>) -> Option<&'w Object> {
    let (Handler::Get { table, by } | Handler::Update { table, by } | Handler::Delete { table, by }) = &action.handler
    else {
        return None;
    };
    world.find(world.table_index(table)?, arguments.get(by)?)
}

/// Makes the further writes of a call, and returns whether a row changed.
fn write_all(writes: &[Write], tables: &TableUses, world: &mut Tables, scope: Scope<'_>) -> Result<bool, ToolFailure> {
    let mut changed = false;
    for write in writes {
        let table = write.table();
        let Some(at) = world.table_index(table) else { return Err(table_unavailable(table)) };
        let column = world.table_def(at).key.clone();
        let (matching, set) = match write {
            Write::Insert { set, .. } => {
                add_row(world, tables, at, set_columns(Object::new(), set, scope))?;
                changed = true;
                continue;
            }
            Write::Update { matching, set, .. } => (matching, Some(set)),
            Write::Delete { matching, .. } => (matching, None),
        };
        let found: Vec<Object> = world.iter(at).filter(|row| scope.all_hold(matching, row)).cloned().collect();
        for row in found {
            let key = row.get(&column).cloned().unwrap_or_default();
            let mut new = set.map(|set| set_columns(row, set, scope));
            if let Some(new) = &mut new {
                // Rows keep their keys.
                new.insert(column.clone(), key.clone());
            }
            changed |= world.set_row(at, &key, new);
        }
    }
    world.keep_tokens(scope.arguments.now);
    Ok(changed)
}

/// Returns the row with these columns set. Computations read the row as it was.
fn set_columns(row: Object, set: &[(String, Expression)], scope: Scope<'_>) -> Object {
    let mut new = row.clone();
    for (column, expression) in set {
        new.insert(column.clone(), scope.evaluate(expression, column, Some(&row)));
    }
    new
}

fn handle<'w>(
    action: &'w Action,
    tables: &TableUses,
    world: &'w mut Tables,
    arguments: Arguments<'_>,
) -> Result<(ReplyOutcome<'w>, bool), ToolFailure> {
    let effects = &action.effects;
    let row_text = |row: &Object| ReplyOutcome::Text(serde_json::to_string(row).unwrap_or_default());
    match &action.handler {
        Handler::Return(Value::String(text)) => Ok((ReplyOutcome::Text(text.clone()), false)),
        Handler::Return(value) => Ok((ReplyOutcome::Text(value.to_string()), false)),
        Handler::Fail(failure) => Err(Scope { arguments, row: None }.fill(failure)),
        Handler::Wait => {
            world.wait(action.handler.waits(arguments.object).unwrap_or_default());
            Ok((ReplyOutcome::Text("Waited.".to_owned()), false))
        }
        Handler::Insert { table } => Ok((row_text(insert(world, tables, table, effects, arguments)?), true)),
        Handler::Select { table, filters, page } => {
            let rows = select(world, table, filters, arguments)?;
            match page {
                None => Ok((ReplyOutcome::Rows(rows), false)),
                Some(size) => Ok((ReplyOutcome::Text(page_of(&rows, *size, table, filters, arguments)?), false)),
            }
        }
        Handler::Get { table, by } => {
            let (at, key) = locate(world, tables, table, by, arguments)?;
            Ok((row_text(world.find(at, &key).ok_or_else(|| table_unavailable(table))?), false))
        }
        Handler::Update { table, by } => {
            let (at, key) = locate(world, tables, table, by, arguments)?;
            let column = world.table_def(at).key.clone();
            let mut row = world.find(at, &key).cloned().unwrap_or_default();
            // A row keeps its key if `null` is sent for it.
            let old = (!effects.set.is_empty()).then(|| row.clone());
            let is_sent = |(name, value): &(&String, &Value)| {
                *name != by && !(**name == column && value.is_null()) && !effects.except.contains(*name)
            };
            for (name, value) in arguments.iter().filter(is_sent) {
                row.insert(name.clone(), value.clone());
            }
            for (name, expression) in &effects.set {
                let scope = Scope { arguments, row: old.as_ref() };
                row.insert(name.clone(), scope.evaluate(expression, name, old.as_ref()));
            }
            let new_key = row.get(&column).cloned().unwrap_or_else(|| key.clone());
            let is_other = |row: &&Object| world.find(at, &key).is_none_or(|own| !std::ptr::eq(own, *row));
            if let Some(taken) = world.find(at, &new_key).filter(is_other) {
                return Err(conflict(world, at, taken, std::slice::from_ref(&column)));
            }
            world.keep_tokens(arguments.now);
            let changed = world.set_row(at, &key, Some(row));
            Ok((row_text(world.find(at, &new_key).ok_or_else(|| table_unavailable(table))?), changed))
        }
        Handler::Delete { table, by } => {
            let (at, key) = locate(world, tables, table, by, arguments)?;
            let changed = world.set_row(at, &key, None);
            Ok((ReplyOutcome::Text(format!("{{\"deleted\":{key}}}")), changed))
        }
    }
}

fn check(
    rule: &Rule,
    action: &Action,
    tables: &TableUses,
    world: &Tables,
    arguments: Arguments<'_>,
) -> Result<(), ToolFailure> {
    match rule {
        Rule::Required { argument } => match arguments.get(argument).is_some_and(is_truthy) {
            true => Ok(()),
            false => Err(ToolFailure::required(argument)),
        },
        Rule::Deny { unless_role, when, failure } => {
            let exempt = unless_role.is_some() && unless_role.as_deref() == world.role();
            if exempt {
                return Ok(());
            }
            let row = || own_row(action, world, arguments);
            let known = if when.reads_state() { row() } else { None };
            match (Scope { arguments, row: known }).meets(when, world) {
                None => Ok(()),
                Some(found) => {
                    // A failure tells of the row that the action names, or else of the one that the rule counts.
                    let row = if action.handler.row_table().is_some() { row() } else { found };
                    Err(Scope { arguments, row }.fill(failure))
                }
            }
        }
        Rule::Allow { argument, options, otherwise } => {
            let Some(sent) = arguments.get(argument) else { return Ok(()) };
            if options.iter().any(|option| same_json(option, sent)) {
                return Ok(());
            }
            let scope = Scope { arguments, row: own_row(action, world, arguments) };
            let parts: Vec<String> = otherwise.message.split("{sent}").map(|part| scope.fill_text(part)).collect();
            Err(ToolFailure { message: parts.join(&shown(sent)), ..scope.fill(otherwise) })
        }
        Rule::Conflict { table, fields } => check_conflict(table, fields, action, world, arguments),
        Rule::Missing { table, argument } => {
            let (Some(at), Some(sent)) = (world.table_index(table), arguments.get(argument)) else { return Ok(()) };
            let keys = sent.as_array().map_or(std::slice::from_ref(sent), Vec::as_slice);
            // `null` refers to nothing.
            let missing = keys.iter().find(|key| !key.is_null() && world.find(at, key).is_none());
            missing.map_or(Ok(()), |key| Err(not_found(world, tables, at, key)))
        }
    }
}

/// Fails if another row of the table has the same values in these fields.
fn check_conflict(
    table: &str,
    fields: &[String],
    action: &Action,
    world: &Tables,
    arguments: Arguments<'_>,
) -> Result<(), ToolFailure> {
    let Some(at) = world.table_index(table) else { return Ok(()) };
    // A row that is updated does not conflict with itself, and keeps the values that are not sent.
    let own = match &action.handler {
        Handler::Update { table: updated, by } if updated == table => {
            arguments.get(by).and_then(|key| world.find(at, key))
        }
        _ => None,
    };
    let equal = |row: &Object, field: &String| {
        let value = arguments.get(field).or_else(|| own.and_then(|own| own.get(field)));
        match (row.get(field), value) {
            (Some(has), Some(value)) => same_json(has, value),
            (has, value) => has.is_none() && value.is_none(),
        }
    };
    let is_own = |row: &Object| own.is_some_and(|own| std::ptr::eq(own, row));
    let same = |row: &Object| fields.iter().all(|field| equal(row, field)) && !is_own(row);
    match world.iter(at).find(|row| same(row)) {
        Some(row) => Err(conflict(world, at, row, fields)),
        None => Ok(()),
    }
}

/// Returns true if JavaScript takes the value for true, as Fusion's handlers do: `null`, `false`, 0 and an empty string
/// count as absent.
pub(crate) fn is_truthy(sent: &Value) -> bool {
    match sent {
        Value::Null => false,
        Value::Bool(sent) => *sent,
        Value::Number(sent) => sent.as_f64() != Some(0.0),
        Value::String(sent) => !sent.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

fn insert<'w>(
    world: &'w mut Tables,
    tables: &TableUses,
    table: &str,
    effects: &Effects,
    arguments: Arguments<'_>,
) -> Result<&'w Object, ToolFailure> {
    let Some(at) = world.table_index(table) else { return Err(table_unavailable(table)) };
    let mut row = arguments.to_row(&effects.except);
    if !effects.set.is_empty() {
        row = set_columns(row, &effects.set, Scope { arguments, row: None });
        world.keep_tokens(arguments.now);
    }
    add_row(world, tables, at, row)
}

/// Adds a row, with a generated key if it has none.
fn add_row<'w>(
    world: &'w mut Tables,
    tables: &TableUses,
    at: usize,
    mut row: Object,
) -> Result<&'w Object, ToolFailure> {
    let column = world.table_def(at).key.clone();
    if row.get(&column).is_some_and(Value::is_null) {
        row.shift_remove(&column);
    }
    match row.get(&column) {
        Some(key) => {
            if let Some(taken) = world.find(at, key) {
                let mut failure = conflict(world, at, taken, std::slice::from_ref(&column));
                failure.available_actions = tables.list_actions_of(&world.table_def(at).name);
                return Err(failure);
            }
        }
        None => {
            let key = world.next_key(at, tables.text_keys.contains(&world.table_def(at).name));
            row.shift_insert(0, column, key);
        }
    }
    Ok(world.add(at, row))
}

fn select<'w>(
    world: &'w Tables,
    table: &str,
    filters: &[Filter],
    arguments: Arguments<'_>,
) -> Result<Vec<&'w Object>, ToolFailure> {
    let Some(at) = world.table_index(table) else { return Ok(Vec::new()) };
    let active: Vec<(&Filter, &Value)> = filters
        .iter()
        .filter(|filter| !PAGING_ARGUMENTS.contains(&filter.argument.as_str()))
        .filter_map(|filter| Some((filter, arguments.get(&filter.argument)?)))
        .collect();
    let passes = |row: &Object| active.iter().all(|(filter, value)| passes_filter(filter, row, value));
    let mut rows: Vec<&Object> = world.iter(at).filter(|row| passes(row)).collect();
    if let Some(sort) = arguments.get("sort").and_then(Value::as_str) {
        let (column, descending) = sort.strip_prefix('-').map_or((sort, false), |column| (column, true));
        if !world.iter(at).any(|row| row.contains_key(column)) {
            check_column(world, at, column)?;
        }
        rows.sort_by(|a, b| {
            let order = compare(a.get(column).unwrap_or(&Value::Null), b.get(column).unwrap_or(&Value::Null));
            if descending { order.reverse() } else { order }
        });
    }
    let skip = count(arguments, "offset")?.unwrap_or(0);
    let take = count(arguments, "limit")?.unwrap_or(usize::MAX);
    Ok(rows.into_iter().skip(skip).take(take).collect())
}

/// Returns an error that names the columns unless there are no rows, and therefore no known columns.
fn check_column(world: &Tables, at: usize, column: &str) -> Result<(), ToolFailure> {
    let mut columns: Vec<&String> = Vec::new();
    for name in world.iter(at).flat_map(Object::keys) {
        if !columns.contains(&name) {
            columns.push(name);
        }
    }
    if columns.is_empty() {
        return Ok(());
    }
    let columns: Vec<&str> = columns.into_iter().map(String::as_str).collect();
    Err(ToolFailure {
        recovery: Some(format!("Sort by one of: {}. Put `-` in front to reverse the order.", columns.join(", "))),
        recovery_is_generated: true,
        ..ToolFailure::new("INVALID_SORT", format!("There is no column '{}' to sort by.", excerpt_text(column)))
    })
}

/// Returns the value of a paging argument; `None` if it is absent or `null`. Counts beyond the largest number of rows are the same as
/// that number.
fn count(arguments: Arguments<'_>, name: &str) -> Result<Option<usize>, ToolFailure> {
    let Some(sent) = arguments.get(name).filter(|sent| !sent.is_null()) else { return Ok(None) };
    if let Some(count) = sent.as_u64() {
        return Ok(Some(usize::try_from(count).unwrap_or(usize::MAX)));
    }
    match sent.as_f64() {
        // The conversion saturates.
        Some(number) if number >= 0.0 && number.fract() == 0.0 => Ok(Some(number as usize)),
        _ => Err(ToolFailure {
            recovery: Some(format!("Send a whole number from 0 for '{name}', or leave it out.")),
            recovery_is_generated: true,
            ..ToolFailure::new(
                format!("INVALID_{}", name.to_uppercase()),
                format!("'{name}' cannot be {}.", excerpt_text(&sent.to_string())),
            )
        }),
    }
}

fn passes_filter(filter: &Filter, row: &Object, value: &Value) -> bool {
    let Some(cell) = row.get(&filter.column) else { return false };
    match filter.relation {
        Relation::Equal => same_json(cell, value),
        // Values of different types have an order only for sorting.
        Relation::Before => json_type(cell) == json_type(value) && compare(cell, value) == Ordering::Less,
        Relation::After => json_type(cell) == json_type(value) && compare(cell, value) == Ordering::Greater,
        Relation::Contains => contains(cell, value),
    }
}

/// Returns the index of the table and the key that the argument names if such a row exists.
fn locate(
    world: &Tables,
    tables: &TableUses,
    table: &str,
    by: &str,
    arguments: Arguments<'_>,
) -> Result<(usize, Value), ToolFailure> {
    let Some(at) = world.table_index(table) else { return Err(table_unavailable(table)) };
    let key = arguments.get(by).cloned().unwrap_or(Value::Null);
    if world.find(at, &key).is_some() { Ok((at, key)) } else { Err(not_found(world, tables, at, &key)) }
}

fn not_found(world: &Tables, tables: &TableUses, at: usize, key: &Value) -> ToolFailure {
    let def = world.table_def(at);
    let available = tables.list_actions_of(&def.name);
    let entity = capitalize(&def.singular);
    ToolFailure {
        recovery: available.first().map(|list| format!("Call {list} first to get valid {} IDs.", def.singular)),
        recovery_is_generated: true,
        available_actions: available,
        bare: Some(format!("{entity} not found")),
        ..ToolFailure::new(Code::NotFound, format!("{entity} '{}' does not exist.", shown(key)))
    }
}

fn conflict(world: &Tables, at: usize, row: &Object, fields: &[String]) -> ToolFailure {
    let def = world.table_def(at);
    let entity = capitalize(&def.singular);
    let key = row.get(&def.key).map_or_else(String::new, shown);
    ToolFailure {
        recovery: Some(format!("Use the existing {}, or send another {}.", def.singular, fields.join(" and "))),
        recovery_is_generated: true,
        details: vec![("existing_id".to_owned(), Value::from(key.as_str()))],
        bare: Some(format!("{entity} already exists")),
        ..ToolFailure::new(Code::Conflict, format!("{entity} '{key}' already has the same {}.", fields.join(" and ")))
    }
}

fn table_unavailable(table: &str) -> ToolFailure {
    ToolFailure::new(Code::InternalError, format!("Table '{table}' is not available."))
}

/// The uses that tools make of tables.
#[derive(Debug)]
pub(crate) struct TableUses {
    /// `(tool.action, table)` for every action that lists a table's rows, for failures that suggest them.
    list_actions: Vec<(String, String)>,
    /// The tables whose keys actions take as strings.
    text_keys: Vec<String>,
}

impl TableUses {
    pub(crate) fn new(tools: &[Tool]) -> TableUses {
        let actions = || tools.iter().flat_map(|tool| tool.actions.iter().map(move |action| (tool, action)));
        let listed = |(tool, action): (&Tool, &Action)| match &action.handler {
            Handler::Select { table, .. } => Some((qualified_name(tool, action), table.clone())),
            _ => None,
        };
        let takes_text = |(_, action): (&Tool, &Action)| match &action.handler {
            Handler::Get { table, by } | Handler::Update { table, by } | Handler::Delete { table, by } => {
                let schema = action.input.get("properties").and_then(|properties| properties.get(by));
                schema.filter(|schema| schema.get("type") == Some(&Value::from("string"))).map(|_| table.clone())
            }
            _ => None,
        };
        TableUses {
            list_actions: actions().filter_map(listed).collect(),
            text_keys: actions().filter_map(takes_text).collect(),
        }
    }

    fn list_actions_of(&self, table: &str) -> Vec<String> {
        self.list_actions.iter().filter(|(_, listed)| listed == table).map(|(action, _)| action.clone()).collect()
    }
}

fn qualified_name(tool: &Tool, action: &Action) -> String {
    match tool.discriminator {
        Some(_) => format!("{}.{}", tool.name, action.name),
        None => tool.name.clone(),
    }
}

fn capitalize(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
