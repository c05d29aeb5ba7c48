use healbench_reports::{JsonSchemaKind, json_schema};

use crate::args::{SchemaArgs, SchemaOf};
use crate::error::{CliError, ExitStatus};
use crate::terminal::Terminal;

/// Prints a JSON Schema.
pub(crate) fn schema(args: &SchemaArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let text = match args.of {
        SchemaOf::Scenario => healbench_scenarios::schema_json(),
        SchemaOf::Report => json_schema(JsonSchemaKind::Report)?,
        SchemaOf::Comparison => json_schema(JsonSchemaKind::Comparison)?,
        SchemaOf::Matrix => json_schema(JsonSchemaKind::Matrix)?,
    };
    terminal.result(&text)?;
    Ok(ExitStatus::Fine)
}
