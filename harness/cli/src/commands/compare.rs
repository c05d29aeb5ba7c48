use healbench_record::RunDir;
use healbench_reports::render::{ComparisonOptions, comparison, json};
use healbench_reports::{Side, compare as compared};

use crate::args::CompareArgs;
use crate::error::{CliError, ExitStatus};
use crate::terminal::Terminal;

/// Explains what differs between two runs, or between the cells of one.
pub(crate) fn compare(args: &CompareArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let (base_name, (base, base_manifest)) = (args.base.to_string_lossy(), RunDir::open(&args.base)?);
    let Some(candidate) = &args.candidate else {
        return Ok(ExitStatus::Fine);
    };
    let (candidate_name, (run, manifest)) = (candidate.to_string_lossy(), RunDir::open(candidate)?);
    let found = compared(
        Side { name: &base_name, run: &base, manifest: &base_manifest },
        Side { name: &candidate_name, run: &run, manifest: &manifest },
    )?;
    if args.json {
        terminal.result(&json(&found)?)?;
        return Ok(ExitStatus::Fine);
    }
    let options = ComparisonOptions { width: terminal.width(), color: terminal.colors_results(), flips: args.flips };
    terminal.result(&comparison(&found, options))?;
    Ok(ExitStatus::Fine)
}
