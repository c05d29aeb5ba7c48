use std::fmt::Write as _;

use serde::Serialize;

use healbench_text::is_unsafe;

/// Formats a report as indented JSON, ending with a line break. Unknown values are `null`. Invisible and control
/// characters are written as escapes, so that the text is safe in a terminal and parses to the same values.
///
/// # Errors
/// None in practice: all keys are text and all values have a JSON form.
pub fn json(report: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(report)?;
    // Outside of strings, line breaks are the only control characters.
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
            // Writing to a `String` cannot fail.
            let _ = write!(safe, "\\u{unit:04x}");
        }
    }
    safe
}
