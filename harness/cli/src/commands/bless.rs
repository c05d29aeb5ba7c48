use std::collections::BTreeMap;
use std::io;

use healbench_analysis::Baseline;
use healbench_analysis::gate::{GateError, MayDiffer, NamedBaseline, Policy, gate};
use healbench_frames::Rows;
use healbench_render::gate::{GateOptions, changes as changed_rows};
use healbench_text::{plain_text, pluralize, shell_quote};

use super::gate::{open_complete, read_policy};
use crate::args::BlessArgs;
use crate::error::{CliError, ExitStatus, bless_error};
use crate::output::write_atomically;
use crate::terminal::Terminal;

/// Writes the baseline of a run and prints the differences from the previous baseline.
pub(crate) fn bless(args: &BlessArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let policy = read_policy(args.policy.as_deref())?;
    let (run, manifest) = open_complete(&args.run)?;
    let name = args.run.to_string_lossy().into_owned();
    let baseline =
        Baseline::from_run(&Rows(&run), &manifest, policy.infra_share).map_err(|source| bless_error(&name, &source))?;
    let before = match healbench_files::read_text_file(&args.out, healbench_files::MAX_GENERATED_BYTES) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(CliError::read(&args.out, &source)),
    };
    let text = baseline.to_text();
    // Check that the baseline can be read before writing it.
    Baseline::parse(&text).map_err(|source| GateError::Baseline { file: name.clone(), source })?;
    if before.as_deref() == Some(text.as_str()) {
        terminal.note("the baseline is unchanged");
        return Ok(ExitStatus::Success);
    }
    if let Some(before) = before {
        terminal.result(&baseline_changes(
            &args.out.to_string_lossy(),
            &before,
            &name,
            &baseline,
            &policy,
            terminal,
        ))?;
    }
    write_atomically(&args.out, &text)?;
    let lines: usize = baseline.cells.values().map(BTreeMap::len).sum();
    terminal.note(&format!(
        "baseline: {} · {} · {}",
        shell_quote(&args.out.to_string_lossy()),
        pluralize(baseline.cells.len() as u64, "cell"),
        pluralize(lines as u64, "line")
    ));
    Ok(ExitStatus::Success)
}

/// Describes the differences from the old baseline, allowing every difference that a policy can allow.
fn baseline_changes(
    file: &str,
    before: &str,
    run: &str,
    after: &Baseline,
    policy: &Policy,
    terminal: &Terminal,
) -> String {
    let before = match Baseline::parse(before) {
        Ok(before) => before,
        Err(error) => {
            return format!("the previous baseline is replaced completely: {}\n", plain_text(&error.to_string()));
        }
    };
    let (base, candidate) = (NamedBaseline::summary(file, &before), NamedBaseline::summary(run, after));
    let policy = Policy { may_differ: MayDiffer::ALL.to_vec(), ..policy.clone() };
    match gate(base, candidate, &policy) {
        Err(incompatible) => {
            format!("the previous baseline is replaced completely: {}\n", plain_text(&incompatible.to_string()))
        }
        Ok(report) => changed_rows(&report, GateOptions { width: terminal.width(), color: terminal.colors_results() }),
    }
}
