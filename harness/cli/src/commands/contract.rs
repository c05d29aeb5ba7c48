//! Locks, compares and checks the contracts of scenarios' tools.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use healbench_core::Undeclared;
use healbench_engine::contract::{ContractChange, Lockfile, Severity, ToolNames, report_text};
use healbench_engine::definition::Tool;
use healbench_scenarios::Scenario;
use healbench_text::{plain_text, pluralize};
use serde_json::Value;

use crate::args::{ContractArgs, ContractCommand, ContractSources};
use crate::error::{CliError, ExitStatus};
use crate::load::{scenarios, tools};
use crate::lockfiles::{TOOLS, lockfile_error, read_lockfile, write_lockfile};
use crate::terminal::Terminal;

/// The default of `--lockfile`, and the suffix of lockfile names.
const LOCKFILE: &str = "contracts.lock";

/// The contracts of one side of a comparison.
struct State {
    lockfile: Lockfile,
    /// The names of the tools whose contracts cannot be read.
    rejected: BTreeSet<String>,
    /// The names that tools have by now, as far as they are stated.
    names: ToolNames,
}

impl State {
    fn new(lockfile: Lockfile) -> State {
        State { lockfile, rejected: BTreeSet::new(), names: ToolNames::new() }
    }
}

pub(crate) fn contract(args: &ContractArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    match &args.command {
        ContractCommand::Lock { sources, lockfile } => lock(sources, &lockfile_path(lockfile), terminal),
        ContractCommand::Diff { base, current, undeclared } => diff(base, current.as_deref(), *undeclared, terminal),
        ContractCommand::Check { sources, lockfile, undeclared, fail_on } => {
            check(sources, &lockfile_path(lockfile), *undeclared, fail_on.severity(), terminal)
        }
    }
}

fn lockfile_path(lockfile: &Option<PathBuf>) -> PathBuf {
    lockfile.clone().unwrap_or_else(|| PathBuf::from(LOCKFILE))
}

/// Writes the contracts to the lockfile. Entries of other scenarios are kept.
fn lock(sources: &ContractSources, path: &Path, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let mut lockfile = contracts(sources, terminal)?.lockfile;
    let locked = contract_counts(&lockfile);
    let mut unchanged = 0;
    if path.exists() {
        for (id, tools) in read_lockfile(path)?.scenarios {
            if let std::collections::btree_map::Entry::Vacant(entry) = lockfile.scenarios.entry(id) {
                entry.insert(tools);
                unchanged += 1;
            }
        }
    }
    write_lockfile(path, &lockfile.to_text()).map_err(|source| lockfile_error(path, &source))?;
    terminal.result(&format!("{locked} in {}\n", path.display()))?;
    if unchanged > 0 {
        terminal
            .note(&format!("{} of the lockfile that were not named are unchanged", pluralize(unchanged, "scenario")));
    }
    Ok(ExitStatus::Success)
}

/// Compares two states, or the previous with the current contracts of one.
fn diff(
    base: &Path,
    current: Option<&Path>,
    undeclared: Undeclared,
    terminal: &Terminal,
) -> Result<ExitStatus, CliError> {
    let (before, now) = match current {
        Some(current) => {
            let sides = [("BASE", base), ("CURRENT", current)];
            let [before, now] = sides.map(|(side, path)| {
                read_state(path, terminal).map_err(|error| error.within(format_args!("{side} `{}`", path.display())))
            });
            match (before, now) {
                (Ok(before), Ok(now)) => (before, now),
                (Err(first), Err(second)) => {
                    terminal.error(&first);
                    return Err(second);
                }
                (Err(error), Ok(_)) | (Ok(_), Err(error)) => return Err(error),
            }
        }
        None => previous_and_current(base, terminal)?,
    };
    let changes = changes(before, &now, undeclared, terminal);
    terminal.result(&report(&changes, "the contracts are the same"))?;
    Ok(ExitStatus::Success)
}

fn previous_and_current(path: &Path, terminal: &Terminal) -> Result<(State, State), CliError> {
    if !matches!(file_kind(path), FileKind::Scenarios) {
        return Err(CliError::new(format_args!("`{}` has no previous contracts", path.display()))
            .help("name a second state to compare it with"));
    }
    let scenarios = scenarios(&[path.to_owned()], terminal)?;
    let previous = |tool: &Tool| tool.previous.as_deref().unwrap_or(tool).clone();
    let tools: Vec<Vec<Tool>> =
        scenarios.iter().map(|scenario| scenario.tools.iter().map(previous).collect()).collect();
    let ids = scenarios.iter().map(|scenario| scenario.id.as_str());
    let before = Lockfile::from_tools(ids.zip(tools.iter().map(Vec::as_slice)));
    let names = scenarios.iter().flat_map(|scenario| {
        let name =
            move |tool: &Tool| Some(((scenario.id.clone(), tool.previous_name()?.to_owned()), tool.name.clone()));
        scenario.tools.iter().filter_map(name)
    });
    Ok((State { names: names.collect(), ..State::new(before) }, state_of(&scenarios)))
}

/// Returns an error exit status if a contract differs from the lockfile by at least `fail_on`, or cannot be read.
fn check(
    sources: &ContractSources,
    path: &Path,
    undeclared: Undeclared,
    fail_on: Severity,
    terminal: &Terminal,
) -> Result<ExitStatus, CliError> {
    let mut lockfile = read_lockfile(path)?;
    let current = contracts(sources, terminal)?;
    let all = lockfile.scenarios.len();
    lockfile.scenarios.retain(|id, _| current.lockfile.scenarios.contains_key(id));
    let others = all - lockfile.scenarios.len();
    if others > 0 {
        // A scenario that was removed would be a breaking change, but it cannot be distinguished from one that was not
        // named.
        terminal.warn(&format!("{} of the lockfile not named, so not checked", pluralize(others as u64, "scenario")));
    }
    let is_unreadable = current.rejected.iter().any(|tool| lockfile.get(TOOLS, tool).is_some());
    let changes = changes(State::new(lockfile), &current, undeclared, terminal);
    terminal.result(&report(&changes, &format!("{} as locked", contract_counts(&current.lockfile))))?;
    Ok(if changes.iter().any(|change| change.severity() >= fail_on) {
        ExitStatus::Regression
    } else if is_unreadable {
        ExitStatus::Usage
    } else {
        ExitStatus::Success
    })
}

/// Compares two states, except for the tools that cannot be read in one of them, which are named in a warning.
fn changes(mut before: State, now: &State, undeclared: Undeclared, terminal: &Terminal) -> Vec<ContractChange> {
    before.rejected.extend(now.rejected.iter().cloned());
    let mut current = now.lockfile.clone();
    for lockfile in [&mut before.lockfile, &mut current] {
        if let Some(tools) = lockfile.scenarios.get_mut(TOOLS) {
            tools.retain(|tool, _| !before.rejected.contains(tool));
        }
    }
    let changes = before.lockfile.diff_renamed(&current, undeclared, &before.names);
    for tool in &before.rejected {
        terminal.warn(&format!("the contract of `{}` cannot be read, so it is not compared", plain_text(tool)));
    }
    changes
}

fn report(changes: &[ContractChange], unchanged: &str) -> String {
    if changes.is_empty() { format!("{unchanged}\n") } else { report_text(changes) }
}

/// `16 contracts of 15 scenarios`.
fn contract_counts(lockfile: &Lockfile) -> String {
    let contracts: usize = lockfile.scenarios.values().map(|tools| tools.len()).sum();
    let scenarios = lockfile.scenarios.len();
    format!("{} of {}", pluralize(contracts as u64, "contract"), pluralize(scenarios as u64, "scenario"))
}

fn contracts(sources: &ContractSources, terminal: &Terminal) -> Result<State, CliError> {
    match &sources.tools {
        Some(path) => state_of_tools(path, terminal),
        None => Ok(state_of(&scenarios(&sources.scenarios, terminal)?)),
    }
}

fn state_of(scenarios: &[Scenario]) -> State {
    let tools = scenarios.iter().map(|scenario| (scenario.id.as_str(), scenario.tools.as_slice()));
    State::new(Lockfile::from_tools(tools))
}

fn state_of_tools(path: &Path, terminal: &Terminal) -> Result<State, CliError> {
    let list = tools(path, terminal)?;
    let lockfile = Lockfile::from_tools([(TOOLS, list.tools.as_slice())]);
    Ok(State { rejected: list.rejected, ..State::new(lockfile) })
}

/// The kind of a file or folder with contracts.
enum FileKind {
    Lockfile,
    Tools,
    Scenarios,
}

fn file_kind(path: &Path) -> FileKind {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_lowercase();
    if extension == "lock" {
        return FileKind::Lockfile;
    }
    if !path.is_file() || matches!(extension.as_str(), "yaml" | "yml") {
        return FileKind::Scenarios;
    }
    let value: Option<Value> = healbench_files::read_file(path, healbench_files::MAX_LIST_BYTES)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok());
    let has = |key: &str| value.as_ref().is_some_and(|value| value.get(key).is_some());
    match extension.as_str() {
        _ if has("version") && has("scenarios") => FileKind::Lockfile,
        "json" if ["task", "expect", "script"].into_iter().any(has) => FileKind::Scenarios,
        _ => FileKind::Tools,
    }
}

/// Reads a lockfile or a list of tools, or locks the scenarios at a path.
fn read_state(path: &Path, terminal: &Terminal) -> Result<State, CliError> {
    match file_kind(path) {
        FileKind::Lockfile => Ok(State::new(read_lockfile(path)?)),
        FileKind::Tools => state_of_tools(path, terminal),
        FileKind::Scenarios => Ok(state_of(&scenarios(&[path.to_owned()], terminal)?)),
    }
}
