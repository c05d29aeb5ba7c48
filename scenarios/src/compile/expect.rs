use std::collections::BTreeSet;

use healbench_core::{FaultPhase, Object};
use healbench_engine::StateCheck;
use healbench_engine::definition::{Action, FaultDef, FaultKind, Handler};
use healbench_text::nearest_name;
use serde_json::{Value, json};

use super::Compiler;
use super::tools::{NamedTool, Tools};
use super::world::Tables;
use crate::answer::Answer;
use crate::expectation::{CallPattern, Expectation};
use crate::file::{AtMostFile, CalledFile, CountFile, ExpectFile, FaultFile, OneRowFile, RowFile};
use crate::locate::child;
use crate::server::ServerCheck;
use crate::suggest;
use crate::verification::Verified;

pub(super) fn faults(compiler: &mut Compiler<'_>, tools: &Tools, tables: &Tables) -> Option<Vec<FaultDef>> {
    let pointers = compiler.items("/faults");
    let faults: Vec<Option<FaultDef>> =
        pointers.iter().map(|pointer| fault(compiler, pointer, tools, tables)).collect();
    faults.into_iter().collect()
}

fn fault(compiler: &mut Compiler<'_>, pointer: &str, tools: &Tools, tables: &Tables) -> Option<FaultDef> {
    let file: FaultFile = compiler.section(pointer)?;
    // An unknown kind is already reported: it is not in the schema's list.
    let kind = FaultKind::from_name(&file.kind).filter(|kind| kind.phase() != FaultPhase::Text)?;
    let is_told = matches!(kind.phase(), FaultPhase::Before | FaultPhase::After);
    let unused = [
        ("column", file.column.is_some() && !matches!(kind, FaultKind::Cut | FaultKind::Corrupt)),
        ("message", file.message.is_some() && !is_told),
        ("recovery", file.recovery.is_some() && !is_told),
        ("misleading", file.misleading && file.message.is_none() && file.recovery.is_none()),
    ];
    for (key, _) in unused.into_iter().filter(|(_, is_unused)| *is_unused) {
        compiler.at_key(
            &child(pointer, key),
            format!("`{key}` has no meaning here together with `{}`", file.kind),
            None,
        );
    }
    // The name of a tool may contain a dot, so compare whole names instead of splitting the text.
    let whole_tool = tools.get(&file.on).map(|tool| (tool.name.clone(), None));
    let split = || {
        let matches = |tool: &str, action: &str| file.on == format!("{tool}.{action}");
        tools.names().find_map(|tool| {
            let actions = &tools.get(tool)?.actions;
            let action = actions.iter().find(|action| matches(tool, action))?;
            Some((tool.to_owned(), Some(action.clone())))
        })
    };
    let Some((tool, action)) = whole_tool.or_else(split) else {
        let paths = tools.paths();
        compiler.report_unknown(&child(pointer, "on"), "action", &file.on, paths.iter().map(String::as_str));
        return None;
    };
    check_reach(compiler, pointer, &file, kind, tools.get(&tool), action.as_deref(), tables);
    let FaultFile { from_call, calls, retry_after, column, message, recovery, misleading, .. } = file;
    let timing = FaultDef { action, from_call, calls, retry_after, ..FaultDef::new(kind, tool) };
    Some(FaultDef { column, message, recovery, misleading, ..timing })
}

/// Reports a fault that can strike no call of the actions that it is on.
fn check_reach(
    compiler: &mut Compiler<'_>,
    pointer: &str,
    file: &FaultFile,
    kind: FaultKind,
    tool: Option<&NamedTool>,
    action: Option<&str>,
    tables: &Tables,
) {
    // An invalid action is reported elsewhere.
    let Some(tool) =
        tool.and_then(|named| named.tool.as_ref().filter(|tool| tool.actions.len() == named.actions.len()))
    else {
        return;
    };
    let concerned = || tool.actions.iter().filter(|one| action.is_none_or(|name| name == one.name));
    let reads = |action: &Action| matches!(action.handler, Handler::Select { .. } | Handler::Get { .. });
    let writes = |action: &Action| {
        let own = matches!(action.handler, Handler::Insert { .. } | Handler::Update { .. } | Handler::Delete { .. });
        own || !action.effects.also.is_empty()
    };
    let needed = match kind {
        FaultKind::NoOp if !concerned().any(writes) => Some("changes something"),
        FaultKind::Stale if !concerned().any(reads) => Some("reads something"),
        _ => None,
    };
    if let Some(needed) = needed {
        let message = format!("`{}` strikes no call of `{}`: it needs an action that {needed}", file.kind, file.on);
        compiler.at_value(&child(pointer, "on"), message, None);
    }
    let Some(column) = &file.column else { return };
    let mut known = BTreeSet::new();
    for action in concerned() {
        match action.handler.table() {
            Some(table) => known.extend(tables.known_columns(table).into_iter().flatten()),
            // The columns of a constant are not looked into.
            None if matches!(action.handler, Handler::Return(_)) => return,
            None => {}
        }
    }
    if !known.contains(column.as_str()) {
        compiler.report_unknown(&child(pointer, "column"), "column", column, known);
    }
}

/// Reports columns that no row of the table has by its name, if one has nearly that name.
fn expected_columns(compiler: &mut Compiler<'_>, at: &str, table: &str, matching: &Object, tables: &Tables) {
    let Some(known) = tables.known_columns(table).filter(|_| !compiler.is_stored) else { return };
    for column in matching.keys().filter(|column| !known.contains(column.as_str())) {
        if nearest_name(column, known.iter().copied()).is_some() {
            let help = suggest::help(column, known.iter().copied());
            let message = format!("unknown column of `{table}`: `{column}`");
            compiler.at_key(&child(&child(at, "where"), column), message, help);
        }
    }
}

/// Returns the faults in the form included in a schedule's hash.
pub(super) fn faults_json(faults: &[FaultDef]) -> Value {
    let fault = |fault: &FaultDef| {
        let mut json = json!({
            "kind": fault.kind.name(), "tool": fault.tool, "action": fault.action, "from_call": fault.from_call,
            "calls": fault.calls, "retry_after": fault.retry_after,
        });
        // Keys that earlier faults lacked stand only where they say something, so that hashes stay as they are.
        for (key, text) in [("column", &fault.column), ("message", &fault.message), ("recovery", &fault.recovery)] {
            if let Some(text) = text {
                json[key] = text.as_str().into();
            }
        }
        if fault.misleading {
            json["misleading"] = true.into();
        }
        json
    };
    faults.iter().map(fault).collect()
}

/// `on_server` is true if the scenario has a server instead of tables.
pub(super) fn expectations(
    compiler: &mut Compiler<'_>,
    tables: &Tables,
    tools: &Tools,
    on_server: bool,
) -> Option<Vec<Expectation>> {
    let pointers = compiler.items("/expect");
    let read = |pointer: &String| expectation(compiler, pointer, tables, tools, on_server);
    let expectations: Vec<Option<Expectation>> = pointers.iter().map(read).collect();
    expectations.into_iter().collect()
}

fn expectation(
    compiler: &mut Compiler<'_>,
    pointer: &str,
    tables: &Tables,
    tools: &Tools,
    on_server: bool,
) -> Option<Expectation> {
    let file: ExpectFile = compiler.section(pointer)?;
    let section = compiler.content.pointer(pointer).cloned().unwrap_or_default();
    let kind = compiler.exactly_one(pointer, &EXPECTATIONS.map(|key| (key, section.get(key).is_some())))?;
    let at = child(pointer, kind);
    check_environment(compiler, &at, kind, on_server)?;
    if file.within.is_some() && file.answer.is_none() {
        compiler.at_key(&child(pointer, "within"), "`within` belongs to `answer`", None);
    }
    if let Some(value) = file.answer {
        return answer(compiler, &at, &value, file.within.unwrap_or_default());
    }
    if let Some(parts) = file.any_of {
        let read = |index| expectation(compiler, &child(&at, index), tables, tools, on_server);
        let read: Vec<Option<Expectation>> = (0..parts.len()).map(read).collect();
        return any_of(compiler, &at, read.into_iter().collect::<Option<_>>()?);
    }
    if let Some(row) = file.verified {
        let exists = compiler.has_table(&child(&at, "in"), &row.table, tables);
        let key = tables.get(&row.table)?.def.key.clone();
        let row = Verified { table: row.table, key, matching: row.matching };
        return exists.then_some(Expectation::Verified(row));
    }
    if let Some(result) = file.result {
        compiler.resolve_action(&at, &result.tool, None, tools)?;
        let (tool, arguments, contains) = (result.tool, result.arguments, result.contains);
        return Some(Expectation::Server(ServerCheck::Result { tool, arguments, contains }));
    }
    if let Some(command) = file.command {
        return Some(Expectation::Server(ServerCheck::Command(command)));
    }
    if let Some(OneRowFile { table, matching, only }) = file.row {
        let exists = has_rows(compiler, &at, &table, &matching, tables);
        let exclusive_key = if only { Some(tables.get(&table)?.def.key.clone()) } else { None };
        return exists.then_some(Expectation::State(StateCheck::Row { table, matching, exclusive_key }));
    }
    if let Some(RowFile { table, matching }) = file.no_row {
        let exists = has_rows(compiler, &at, &table, &matching, tables);
        return exists.then_some(Expectation::State(StateCheck::NoRow { table, matching }));
    }
    if let Some(CountFile { table, matching, equals }) = file.count {
        let exists = has_rows(compiler, &at, &table, &matching, tables);
        let equals = usize::try_from(equals).ok()?;
        return exists.then_some(Expectation::State(StateCheck::Count { table, matching, equals }));
    }
    if let Some(table) = file.unchanged {
        return compiler.has_table(&at, &table, tables).then_some(Expectation::State(StateCheck::Unchanged { table }));
    }
    calls_or_stop(compiler, &at, file, tools)
}

/// Compiles an expectation on the calls, or else that the agent stops.
fn calls_or_stop(compiler: &mut Compiler<'_>, at: &str, file: ExpectFile, tools: &Tools) -> Option<Expectation> {
    if let Some(called) = file.called {
        return pattern(compiler, at, called, tools).map(Expectation::Called);
    }
    if let Some(called) = file.not_called {
        return pattern(compiler, at, called, tools).map(Expectation::NotCalled);
    }
    if let Some(AtMostFile { calls, tool, action, arguments }) = file.at_most {
        let pattern = pattern(compiler, at, CalledFile { tool, action, arguments }, tools)?;
        return Some(Expectation::AtMost(calls, pattern));
    }
    if let Some(called) = file.in_order {
        let read = |(index, called)| pattern(compiler, &child(at, index), called, tools);
        let patterns: Vec<Option<CallPattern>> = called.into_iter().enumerate().map(read).collect();
        return patterns.into_iter().collect::<Option<_>>().map(Expectation::InOrder);
    }
    match file.stops {
        Some(true) => Some(Expectation::Stops),
        _ => {
            let help = "leave it out: an agent that can do the task is not expected to stop".to_owned();
            compiler.at_value(at, "`stops` can only be true", help);
            None
        }
    }
}

/// Reports an expectation that the environment does not have.
fn check_environment(compiler: &mut Compiler<'_>, at: &str, kind: &str, on_server: bool) -> Option<()> {
    let (environment, others) = match on_server {
        true => ("a server", &OF_THE_SIMULATOR[..]),
        false => ("the simulator", &OF_SERVERS[..]),
    };
    if !others.contains(&kind) {
        return Some(());
    }
    let possible: Vec<&str> = EXPECTATIONS.into_iter().filter(|key| !others.contains(key)).collect();
    let help = format!("a scenario of {environment} can expect {}", suggest::list(&possible));
    compiler.at_key(at, format!("`{kind}` is not of {environment}"), help);
    None
}

fn answer(compiler: &mut Compiler<'_>, at: &str, value: &Value, within: f64) -> Option<Expectation> {
    let answer = Answer::of(value, within);
    if answer.is_none() && compiler.is_shaped {
        let help = "write a number, a text, or a list of them".to_owned();
        compiler.at_value(at, "this answer says nothing", help);
    }
    answer.map(Expectation::Answer)
}

fn any_of(compiler: &mut Compiler<'_>, at: &str, parts: Vec<Expectation>) -> Option<Expectation> {
    if parts.iter().any(|part| matches!(part, Expectation::AnyOf(_))) {
        compiler.at_value(at, "`any_of` inside of `any_of`", "write all parts into one".to_owned());
        return None;
    }
    Some(Expectation::AnyOf(parts))
}

/// Returns true if the table exists, and reports columns that its rows may lack.
fn has_rows(compiler: &mut Compiler<'_>, at: &str, table: &str, matching: &Object, tables: &Tables) -> bool {
    let exists = compiler.has_table(&child(at, "in"), table, tables);
    expected_columns(compiler, at, table, matching, tables);
    exists
}

/// The kinds of expectations.
pub(crate) const EXPECTATIONS: [&str; 14] = [
    "row",
    "no_row",
    "count",
    "unchanged",
    "verified",
    "result",
    "command",
    "called",
    "not_called",
    "at_most",
    "in_order",
    "answer",
    "any_of",
    "stops",
];
/// Those that only the simulator has, and only servers have.
const OF_THE_SIMULATOR: [&str; 5] = ["row", "no_row", "count", "unchanged", "verified"];
const OF_SERVERS: [&str; 2] = ["result", "command"];

fn pattern(compiler: &mut Compiler<'_>, pointer: &str, called: CalledFile, tools: &Tools) -> Option<CallPattern> {
    let reference = compiler.resolve_action(pointer, &called.tool, called.action.as_deref(), tools)?;
    let mut arguments = Object::new();
    let discriminator = reference.tool.tool.as_ref().and_then(|tool| tool.discriminator.clone());
    let action = discriminator.as_ref().and(reference.action);
    if let (Some(discriminator), Some(action)) = (discriminator, &action) {
        arguments.insert(discriminator, action.clone().into());
    }
    arguments.extend(called.arguments);
    Some(CallPattern { tool: called.tool, action, arguments })
}
