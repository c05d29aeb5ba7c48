use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{CliError, ExitStatus};
use crate::terminal::Terminal;

/// Runs the command of `--on-complete` with the run's directory in `HEALBENCH_RUN`. What it prints goes to stderr.
pub(crate) fn on_complete(command: Option<&str>, run: &Path, terminal: &Terminal) -> Result<(), CliError> {
    let Some(command) = command else { return Ok(()) };
    terminal.note(&format!("on complete: {command}"));
    let path = std::path::absolute(run).map_err(|source| CliError::read(run, &source))?;
    let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut child = Command::new(shell);
    child.arg(flag).arg(command).env("HEALBENCH_RUN", &path).stdin(Stdio::null()).stdout(std::io::stderr());
    let failed = |reason: String| {
        CliError::new(format_args!("the run is complete, but the command of `--on-complete` failed: {reason}"))
            .help(format!("run it again with HEALBENCH_RUN={}", path.display()))
            .status(ExitStatus::Incomplete)
    };
    let status = child.status().map_err(|source| failed(source.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed(status.to_string())) }
}
