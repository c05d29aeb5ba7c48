//! Runs an agent program for an episode. healbench starts it; people do not.

use std::path::Path;

use healbench_mcp::hold as run;

use crate::error::{CliError, ExitStatus};

/// Runs a program, and exits with its exit code.
pub(crate) fn hold(address: &Path, folder: &Path, command: &[String]) -> Result<ExitStatus, CliError> {
    let (program, args) = command.split_first().ok_or_else(|| CliError::new("there is no command"))?;
    match run(address, folder, program, args) {
        Ok(code) => std::process::exit(code.into()),
        Err(source) => Err(CliError::new(format_args!("`{program}` cannot be started: {source}"))),
    }
}
