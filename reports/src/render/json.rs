use crate::summary::Report;

/// The report as indented JSON, with a line break at its end: every field of [`Report`] under its own name, unknown as `null`.
///
/// # Errors
/// None that a [`Report`] can cause: its keys are text, and JSON has a form for everything in it.
pub fn json(report: &Report) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(text)
}
