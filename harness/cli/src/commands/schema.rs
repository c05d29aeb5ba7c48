use crate::error::{CliError, ExitStatus};
use crate::terminal::Terminal;

/// Prints the JSON Schema of scenario files.
pub(crate) fn schema(terminal: &Terminal) -> Result<ExitStatus, CliError> {
    terminal.result(&healbench_scenarios::schema_json())?;
    Ok(ExitStatus::Fine)
}
