use healbench_analysis::{JsonSchemaKind, json_schema};

use crate::args::{SchemaArgs, SchemaKind};
use crate::error::{CliError, ExitStatus};
use crate::terminal::Terminal;

pub(crate) fn schema(args: &SchemaArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let text = match args.kind {
        SchemaKind::Scenario => healbench_scenarios::schema_json(),
        SchemaKind::Report => json_schema(JsonSchemaKind::Report)?,
        SchemaKind::Audit => healbench_audit::json_schema(),
        SchemaKind::Comparison => json_schema(JsonSchemaKind::Comparison)?,
        SchemaKind::Errors => json_schema(JsonSchemaKind::Errors)?,
        SchemaKind::Calibration => json_schema(JsonSchemaKind::Calibration)?,
        SchemaKind::Prediction => json_schema(JsonSchemaKind::Prediction)?,
        SchemaKind::Matrix => json_schema(JsonSchemaKind::Matrix)?,
    };
    terminal.result(&text)?;
    Ok(ExitStatus::Success)
}
