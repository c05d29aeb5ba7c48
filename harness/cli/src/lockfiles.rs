//! Lockfiles: reading and writing them, and comparing the tools of scenarios with them.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use healbench_core::{Plan, fingerprint};
use healbench_engine::contract::{ContractAwareness, Lockfile};
use healbench_scenarios::Scenario;
use healbench_store::RunDir;

use crate::error::CliError;

/// The name of a list of tools in a lockfile, in the place of a scenario's id.
pub(crate) const TOOLS: &str = "tools";

/// Adds the contracts that a lockfile has under an id, of a scenario or [`TOOLS`].
pub(crate) fn add_lockfile(awareness: &mut ContractAwareness, path: &Path, id: &str) -> Result<(), CliError> {
    let lockfile = read_lockfile(path)?;
    if !lockfile.scenarios.contains_key(id) {
        return Err(no_contracts(path, &format!("`{id}`"), &lockfile));
    }
    add_known_contracts(awareness, &lockfile, id);
    Ok(())
}

/// Adds the contracts of a lockfile to the scenarios, and returns its text.
pub(crate) fn lock_scenarios(path: &Path, scenarios: &mut [Scenario]) -> Result<String, CliError> {
    let lockfile = read_lockfile(path)?;
    if !scenarios.iter().any(|scenario| lockfile.scenarios.contains_key(&scenario.id)) {
        return Err(no_contracts(path, "any of the scenarios", &lockfile));
    }
    add_to_all(scenarios, &lockfile);
    Ok(lockfile.to_text())
}

/// Adds the contracts of the lockfile in a run's directory to its scenarios, if its plan has one, and returns its text.
pub(crate) fn lock_scenarios_of_run(
    run: &RunDir,
    plan: &Plan,
    scenarios: &mut [Scenario],
) -> Result<Option<String>, CliError> {
    let Some(sha256) = plan.conditions.iter().find_map(|condition| condition.values.contract.lock.as_ref()) else {
        return Ok(None);
    };
    let path = run.lockfile_path();
    let text = healbench_files::read_stored_text(&path, healbench_files::MAX_LIST_BYTES)
        .map_err(|source| CliError::read(&path, &source))?;
    if fingerprint(text.as_bytes()) != *sha256 {
        return Err(CliError::new("the lockfile in the run directory is not the one of the run"));
    }
    add_to_all(scenarios, &parse_lockfile(&path, &text)?);
    Ok(Some(text))
}

fn add_to_all(scenarios: &mut [Scenario], lockfile: &Lockfile) {
    for scenario in scenarios {
        add_known_contracts(&mut scenario.awareness, lockfile, &scenario.id);
    }
}

fn add_known_contracts(awareness: &mut ContractAwareness, lockfile: &Lockfile, id: &str) {
    let tools = lockfile.scenarios.get(id).into_iter().flatten();
    awareness.known_contracts.extend(tools.map(|(tool, locked)| (tool.clone(), locked.contract.clone())));
}

fn no_contracts(path: &Path, subject: &str, lockfile: &Lockfile) -> CliError {
    let known: Vec<&str> = lockfile.scenarios.keys().take(3).map(String::as_str).collect();
    CliError::new(format_args!("lockfile `{}` has no contracts of {subject}", path.display()))
        .help(format!("it has contracts of {}; write one with `healbench contract lock`", known.join(", ")))
}

/// Reads a lockfile.
pub(crate) fn read_lockfile(path: &Path) -> Result<Lockfile, CliError> {
    let text = healbench_files::read_text_file(path, healbench_files::MAX_LIST_BYTES)
        .map_err(|source| lockfile_error(path, &source))?;
    parse_lockfile(path, &text)
}

fn parse_lockfile(path: &Path, text: &str) -> Result<Lockfile, CliError> {
    Lockfile::parse(text).map_err(|source| {
        CliError::new(format_args!("lockfile `{}`: {source}", path.display()))
            .help("remove it, and write it again with `healbench contract lock`")
    })
}

/// Writes the new text to a temporary file and renames it.
pub(crate) fn write_lockfile(path: &Path, text: &str) -> io::Result<()> {
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

pub(crate) fn lockfile_error(path: &Path, source: &io::Error) -> CliError {
    let error = CliError::new(format_args!("lockfile `{}`: {source}", path.display()));
    match source.kind() {
        io::ErrorKind::NotFound => error.help("write one with `healbench contract lock`"),
        _ => error,
    }
}
