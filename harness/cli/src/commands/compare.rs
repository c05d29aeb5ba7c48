use healbench_record::RunDir;
use healbench_reports::render::{ComparisonOptions, comparison, json, matrix as shown};
use healbench_reports::{Axis, Side, compare as compared, matrix};

use crate::args::{CompareArgs, CompareAxis};
use crate::error::{CliError, ExitStatus};
use crate::terminal::Terminal;

/// Explains what differs between two runs, or between the cells of one.
pub(crate) fn compare(args: &CompareArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let (base_name, (base, base_manifest)) = (args.base.to_string_lossy(), RunDir::open(&args.base)?);
    let base_side = Side { name: &base_name, run: &base, manifest: &base_manifest };
    let Some(candidate) = &args.candidate else {
        return by(base_side, args, terminal);
    };
    let (candidate_name, (run, manifest)) = (candidate.to_string_lossy(), RunDir::open(candidate)?);
    let found = compared(base_side, Side { name: &candidate_name, run: &run, manifest: &manifest })?;
    if args.json {
        terminal.result(&json(&found)?)?;
        return Ok(ExitStatus::Fine);
    }
    let options = ComparisonOptions { width: terminal.width(), color: terminal.colors_results(), flips: args.flips };
    terminal.result(&comparison(&found, options))?;
    Ok(ExitStatus::Fine)
}

/// Explains what differs between the cells of one run.
fn by(side: Side<'_>, args: &CompareArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let axis = match args.by {
        Some(CompareAxis::Guardrails) => Axis::Guardrails,
        Some(CompareAxis::Agent) => Axis::Agent,
        // The arguments' own rules ask for an axis where there is no candidate.
        Some(CompareAxis::Format) | None => Axis::Format,
    };
    let found = matrix(side, axis, args.reference.as_deref())?;
    let text = if args.json { json(&found)? } else { shown(&found, terminal.width(), terminal.colors_results()) };
    terminal.result(&text)?;
    Ok(ExitStatus::Fine)
}
