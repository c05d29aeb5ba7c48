//! The client of the TypeScript SDK 1.x, which opencode and qwen-code are built on.

use healbench_core::{CallResult, ProtocolError};

use super::ListedTool;
use super::schema_texts::{Report, schema_errors};

/// Returns the text of the exception in place of a result: for a protocol error, whose data is lost, and for structured content
/// that the tool's output schema does not accept, also if the result is an error.
pub(super) fn exception(tool: Option<&ListedTool>, result: &CallResult) -> Option<String> {
    if let Some(ProtocolError { code, message, .. }) = &result.protocol_error {
        return Some(format!("MCP error {code}: {message}"));
    }
    let tool = tool?;
    let (schema, validator) = (tool.definition.get("outputSchema")?, tool.output.as_ref()?);
    match &result.structured {
        None if result.is_error => None,
        None => Some(format!(
            "MCP error -32600: Tool {} has an output schema but did not return structured content",
            tool.name
        )),
        Some(structured) if validator.is_valid(structured) => None,
        Some(structured) => {
            let errors: Vec<String> = schema_errors(schema, structured, Report::All)
                .into_iter()
                .map(|error| format!("data{} {}", error.pointer, error.message))
                .collect();
            let errors = errors.join(", ");
            (!errors.is_empty()).then(|| {
                format!("MCP error -32602: Structured content does not match the tool's output schema: {errors}")
            })
        }
    }
}
