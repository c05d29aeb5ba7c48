use std::fmt::Write as _;

use serde::Serialize;

use super::plain::is_unsafe;

/// A report, comparison or decision as indented JSON, with a line break at its end: every field under its own name, unknown as
/// `null`. It may be looked at in a terminal, so marks that cannot be seen are written as escapes; whoever reads it gets them back.
///
/// # Errors
/// None that a report can cause: its keys are text, and JSON has a form for everything in it.
pub fn json(report: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(report)?;
    // Outside of strings there are line breaks alone.
    if text.contains(|c| c != '\n' && is_unsafe(c)) {
        text = escape_unsafe(&text);
    }
    text.push('\n');
    Ok(text)
}

fn escape_unsafe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        if c == '\n' || !is_unsafe(c) {
            safe.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a String cannot fail.
            let _ = write!(safe, "\\u{unit:04x}");
        }
    }
    safe
}
