//! Locks, compares and checks the contracts of scenarios' tools.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use healbench_engine::contract::{ContractChange, Lockfile, report_text};
use healbench_engine::definition::Tool;
use healbench_reports::render::pluralize;

use crate::args::{ContractArgs, ContractCommand, ContractSources};
use crate::error::{CliError, ExitStatus};
use crate::load::{scenarios, tools};
use crate::terminal::Terminal;

/// The default of `--lockfile`, and the suffix of lockfile names.
const LOCKFILE: &str = "contracts.lock";
/// The scenario name used for a list of tools.
const TOOLS: &str = "tools";

pub(crate) fn contract(args: &ContractArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    match &args.command {
        ContractCommand::Lock { sources, lockfile } => lock(sources, &lockfile_path(lockfile), terminal),
        ContractCommand::Diff { base, current } => diff(base, current.as_deref(), terminal),
        ContractCommand::Check { sources, lockfile } => check(sources, &lockfile_path(lockfile), terminal),
    }
}

fn lockfile_path(lockfile: &Option<PathBuf>) -> PathBuf {
    lockfile.clone().unwrap_or_else(|| PathBuf::from(LOCKFILE))
}

/// Writes the contracts to the lockfile. Entries of other scenarios are kept.
fn lock(sources: &ContractSources, path: &Path, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let mut lockfile = contracts(sources, terminal)?;
    let locked = contract_counts(&lockfile);
    let mut unchanged = 0;
    if path.exists() {
        for (id, tools) in read(path)?.scenarios {
            if let std::collections::btree_map::Entry::Vacant(entry) = lockfile.scenarios.entry(id) {
                entry.insert(tools);
                unchanged += 1;
            }
        }
    }
    write_lockfile(path, &lockfile.to_text()).map_err(|source| lockfile_error(path, &source))?;
    terminal.result(&format!("{locked} in {}\n", path.display()))?;
    if unchanged > 0 {
        terminal.note(&format!(
            "{} of the lockfile that were not named stay as they are",
            pluralize(unchanged, "scenario")
        ));
    }
    Ok(ExitStatus::Success)
}

/// Compares two states, or the previous with the current contracts of one.
fn diff(base: &Path, current: Option<&Path>, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let (before, now) = match current {
        Some(current) => (read_state(base, terminal)?, read_state(current, terminal)?),
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
    Ok(ExitStatus::Success)
}

/// Returns an error exit status if a contract differs from the lockfile.
fn check(sources: &ContractSources, path: &Path, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let mut locked = read(path)?;
    let current = contracts(sources, terminal)?;
    let all = locked.scenarios.len();
    locked.scenarios.retain(|id, _| current.scenarios.contains_key(id));
    let others = all - locked.scenarios.len();
    if others > 0 {
        // A scenario that was removed would be a breaking change, but it cannot be distinguished from one that was not
        // named.
        terminal.warn(&format!("{} of the lockfile not named, so not checked", pluralize(others as u64, "scenario")));
    }
    let changes = locked.diff(&current);
    terminal.result(&report(&changes, &format!("{} as locked", contract_counts(&current))))?;
    Ok(if changes.is_empty() { ExitStatus::Success } else { ExitStatus::Regression })
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

fn contracts(sources: &ContractSources, terminal: &Terminal) -> Result<Lockfile, CliError> {
    if let Some(path) = &sources.tools {
        return Ok(Lockfile::from_tools([(TOOLS, tools(path, terminal)?.tools.as_slice())]));
    }
    let scenarios = scenarios(&sources.scenarios, terminal)?;
    Ok(Lockfile::from_tools(scenarios.iter().map(|scenario| (scenario.id.as_str(), scenario.tools.as_slice()))))
}

/// Reads a lockfile, or locks the scenarios at a path.
fn read_state(path: &Path, terminal: &Terminal) -> Result<Lockfile, CliError> {
    if path.extension().is_some_and(|ending| ending == "lock") {
        return read(path);
    }
    contracts(&ContractSources { scenarios: vec![path.to_owned()], tools: None }, terminal)
}

fn read(path: &Path) -> Result<Lockfile, CliError> {
    let text = std::fs::read_to_string(path).map_err(|source| lockfile_error(path, &source))?;
    Lockfile::parse(&text).map_err(|source| {
        CliError::new(format_args!("lockfile `{}`: {source}", path.display()))
            .help("remove it, and write it again with `healbench contract lock`")
    })
}

/// Writes the new text to a temporary file and renames it.
fn write_lockfile(path: &Path, text: &str) -> io::Result<()> {
    // A symbolic link is kept; its target is replaced.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut temp_path = path.as_os_str().to_owned();
    temp_path.push(".part");
    let temp_path = PathBuf::from(temp_path);
    let written = std::fs::File::create(&temp_path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| std::fs::rename(&temp_path, path));
    if renamed.is_err() {
        let _ = std::fs::remove_file(&temp_path);
    }
    renamed
}

fn lockfile_error(path: &Path, source: &io::Error) -> CliError {
    let error = CliError::new(format_args!("lockfile `{}`: {source}", path.display()));
    match source.kind() {
        io::ErrorKind::NotFound => error.help("write one with `healbench contract lock`"),
        _ => error,
    }
}
