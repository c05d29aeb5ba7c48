//! Runs an agent program for an episode. healbench starts it; people do not.

use std::path::Path;

use healbench_mcp::hold as run;

use crate::error::{CliError, ExitStatus};

/// Runs a program, and exits with its exit code.
pub(crate) fn hold(address: &Path, folder: &Path, command: &[String]) -> Result<ExitStatus, CliError> {
    // Whoever ends the session asks all of its processes to end, and may be killed before it kills those that do not: this process has to be left
    // then. A handler, and not an ignored signal, is reset in the program.
    ctrlc::set_handler(|| {})?;
    let (program, args) = command.split_first().ok_or_else(|| CliError::new("there is no command"))?;
    match run(address, folder, program, args) {
        Ok(code) => std::process::exit(code.into()),
        Err(source) => Err(CliError::new(format_args!("`{program}` cannot be started: {source}"))),
    }
}
