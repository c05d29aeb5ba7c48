use serde::Serialize;

/// A report, comparison or decision as indented JSON, with a line break at its end: every field under its own name, unknown as
/// `null`.
///
/// # Errors
/// None that a report can cause: its keys are text, and JSON has a form for everything in it.
pub fn json(report: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(text)
}
