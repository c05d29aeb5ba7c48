use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Arguments;
use crate::error::{CliError, ExitStatus};
use crate::terminal::Terminal;

pub(crate) fn completions(shell: Shell, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "healbench", &mut script);
    terminal.result(&String::from_utf8_lossy(&script))?;
    Ok(ExitStatus::Success)
}
