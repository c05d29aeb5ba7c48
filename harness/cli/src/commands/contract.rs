//! Contracts of scenarios' tools: written down, compared, checked.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use healbench_engine::contract::{ContractChange, Lockfile, report_text};
use healbench_engine::definition::Tool;
use healbench_reports::render::pluralize;

use crate::args::{ContractArgs, ContractCommand, ContractSources};
use crate::error::{CliError, ExitStatus};
use crate::load::{scenarios, tools};
use crate::terminal::Terminal;

/// What `--lockfile` is when it is left out, and what the name of a lockfile ends with.
const LOCKFILE: &str = "contracts.lock";
/// The scenario that a list of tools stands for.
const TOOLS: &str = "tools";

pub(crate) fn contract(args: &ContractArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    match &args.command {
        ContractCommand::Lock { sources, lockfile } => lock(sources, &named(lockfile), terminal),
        ContractCommand::Diff { base, current } => diff(base, current.as_deref(), terminal),
        ContractCommand::Check { sources, lockfile } => check(sources, &named(lockfile), terminal),
    }
}

fn named(lockfile: &Option<PathBuf>) -> PathBuf {
    lockfile.clone().unwrap_or_else(|| PathBuf::from(LOCKFILE))
}

/// Writes the contracts down. What the lockfile says of other scenarios stays.
fn lock(sources: &ContractSources, path: &Path, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let mut lockfile = contracts(sources, terminal)?;
    let locked = said(&lockfile);
    let mut kept = 0;
    if path.exists() {
        for (id, tools) in read(path)?.scenarios {
            if let std::collections::btree_map::Entry::Vacant(place) = lockfile.scenarios.entry(id) {
                place.insert(tools);
                kept += 1;
            }
        }
    }
    write(path, &lockfile.to_text()).map_err(|source| CliError::LockfileIo { path: path.to_owned(), source })?;
    terminal.result(&format!("{locked} in {}\n", path.display()))?;
    if kept > 0 {
        terminal.note(&format!("{} of the lockfile that were not named stay as they are", pluralize(kept, "scenario")));
    }
    Ok(ExitStatus::Fine)
}

/// Compares two states, or in one the previous contracts with the current ones.
fn diff(base: &Path, current: Option<&Path>, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let (before, now) = match current {
        Some(current) => (state(base, terminal)?, state(current, terminal)?),
        None => {
            let scenarios = scenarios(&[base.to_owned()], terminal)?;
            let previous = |tool: &Tool| tool.previous.as_deref().unwrap_or(tool).clone();
            let before: Vec<(&str, Vec<Tool>)> = scenarios
                .iter()
                .map(|scenario| (scenario.id.as_str(), scenario.tools.iter().map(previous).collect()))
                .collect();
            let before = Lockfile::from_tools(before.iter().map(|(id, tools)| (*id, tools.as_slice())));
            (
                before,
                Lockfile::from_tools(
                    scenarios.iter().map(|scenario| (scenario.id.as_str(), scenario.tools.as_slice())),
                ),
            )
        }
    };
    terminal.result(&report(&before.diff(&now), "the contracts are the same"))?;
    Ok(ExitStatus::Fine)
}

/// Fails when a contract moved since it was locked.
fn check(sources: &ContractSources, path: &Path, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let mut locked = read(path)?;
    let current = contracts(sources, terminal)?;
    let all = locked.scenarios.len();
    locked.scenarios.retain(|id, _| current.scenarios.contains_key(id));
    let others = all - locked.scenarios.len();
    if others > 0 {
        // One of them may be gone for good, which would be a break.
        terminal
            .important(&format!("{} of the lockfile not named, so not checked", pluralize(others as u64, "scenario")));
    }
    let changes = locked.diff(&current);
    terminal.result(&report(&changes, &format!("{} as locked", said(&current))))?;
    Ok(if changes.is_empty() { ExitStatus::Fine } else { ExitStatus::Regression })
}

fn report(changes: &[ContractChange], unchanged: &str) -> String {
    if changes.is_empty() { format!("{unchanged}\n") } else { report_text(changes) }
}

/// `16 contracts of 15 scenarios`.
fn said(lockfile: &Lockfile) -> String {
    let contracts: usize = lockfile.scenarios.values().map(|tools| tools.len()).sum();
    let scenarios = lockfile.scenarios.len();
    format!("{} of {}", pluralize(contracts as u64, "contract"), pluralize(scenarios as u64, "scenario"))
}

fn contracts(sources: &ContractSources, terminal: &Terminal) -> Result<Lockfile, CliError> {
    if let Some(path) = &sources.tools {
        return Ok(Lockfile::from_tools([(TOOLS, tools(path, terminal)?.as_slice())]));
    }
    let scenarios = scenarios(&sources.scenarios, terminal)?;
    Ok(Lockfile::from_tools(scenarios.iter().map(|scenario| (scenario.id.as_str(), scenario.tools.as_slice()))))
}

/// A lockfile, or the scenarios behind a path.
fn state(path: &Path, terminal: &Terminal) -> Result<Lockfile, CliError> {
    if path.extension().is_some_and(|ending| ending == "lock") {
        return read(path);
    }
    contracts(&ContractSources { scenarios: vec![path.to_owned()], tools: None }, terminal)
}

fn read(path: &Path) -> Result<Lockfile, CliError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| CliError::LockfileIo { path: path.to_owned(), source })?;
    Lockfile::parse(&text).map_err(|source| CliError::Lockfile { path: path.to_owned(), source })
}

/// The new text is whole before it takes the old one's place.
fn write(path: &Path, text: &str) -> io::Result<()> {
    // A link stays one.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = std::fs::File::create(&part).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let placed = written.and_then(|()| std::fs::rename(&part, path));
    if placed.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    placed
}
