use healbench_reports::render::pluralize;

use crate::args::ValidateArgs;
use crate::error::{CliError, ExitStatus};
use crate::load::scenarios;
use crate::terminal::Terminal;

/// Checks scenario files. Problems are returned as one error.
pub(crate) fn validate(args: &ValidateArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let scenarios = scenarios(&args.files, terminal)?;
    let count = pluralize(scenarios.len() as u64, "scenario");
    terminal.result(&format!("{count} without a problem\n"))?;
    Ok(ExitStatus::Success)
}
