use std::collections::BTreeMap;
use std::fs;
use std::io;

use healbench_reports::Baseline;
use healbench_reports::gate::{Candidate, GateError, MayDiffer, Policy, gate};
use healbench_reports::render::gate::{GateOptions, changes as changed_rows};
use healbench_reports::render::{plain_text, pluralize, shell_quote};

use super::gate::{open, policy};
use crate::args::BlessArgs;
use crate::error::{CliError, ExitStatus};
use crate::output::replace;
use crate::terminal::Terminal;

/// Writes the baseline of a run, and says what that changes.
pub(crate) fn bless(args: &BlessArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let policy = policy(args.policy.as_deref())?;
    let (run, manifest) = open(&args.run)?;
    let name = args.run.to_string_lossy().into_owned();
    let baseline = Baseline::of(&run, &manifest, policy.infra_share)
        .map_err(|source| CliError::Bless { run: name.clone(), source })?;
    let before = match fs::read_to_string(&args.out) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(CliError::BaselineFile { path: args.out.clone(), source }),
    };
    let text = baseline.to_text();
    // What cannot be read back would be found out by whoever needs it.
    Baseline::parse(&text).map_err(|source| GateError::Baseline { file: name.clone(), source })?;
    if before.as_deref() == Some(text.as_str()) {
        terminal.note("the baseline is as it was");
        return Ok(ExitStatus::Fine);
    }
    if let Some(before) = before {
        terminal.result(&changes(&args.out.to_string_lossy(), &before, &name, &baseline, &policy, terminal))?;
    }
    replace(&args.out, &text)?;
    let lines: usize = baseline.cells.values().map(BTreeMap::len).sum();
    terminal.note(&format!(
        "baseline: {} · {} · {}",
        shell_quote(&args.out.to_string_lossy()),
        pluralize(baseline.cells.len() as u64, "cell"),
        pluralize(lines as u64, "line")
    ));
    Ok(ExitStatus::Fine)
}

/// What the new baseline says otherwise than the old one, whatever was changed on purpose.
fn changes(file: &str, before: &str, run: &str, after: &Baseline, policy: &Policy, terminal: &Terminal) -> String {
    let before = match Baseline::parse(before) {
        Ok(before) => before,
        Err(error) => return format!("what was there is replaced whole: {}\n", plain_text(&error.to_string())),
    };
    let (base, candidate) = (Candidate { name: file, baseline: &before }, Candidate { name: run, baseline: after });
    let policy = Policy { may_differ: MayDiffer::ALL.to_vec(), ..policy.clone() };
    match gate(base, candidate, &policy, &BTreeMap::new()) {
        Err(unlike) => format!("what was there is replaced whole: {}\n", plain_text(&unlike.to_string())),
        Ok(report) => changed_rows(&report, GateOptions { width: terminal.width(), color: terminal.colors_results() }),
    }
}
