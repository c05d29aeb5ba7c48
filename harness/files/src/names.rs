//! Checks of names: printable names, and suggestions for unknown ones.

use healbench_text::{is_unprintable, nearest_name};

/// The most names listed in an error: a longer list does not help the reader.
const MAX_LISTED: usize = 24;

/// Returns true if a name can be used in file names and shown on terminals.
pub fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.trim() == name && !name.chars().any(is_unprintable)
}

/// Escapes the unprintable characters of user input.
pub fn printable(word: &str) -> String {
    word.chars().flat_map(|c| if is_unprintable(c) { c.escape_unicode().collect() } else { vec![c] }).collect()
}

/// Suggests the known name that was probably meant and lists the known names.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let listed = list(&known);
    match nearest_name(word, known.iter().copied()) {
        Some(name) => format!("did you mean `{}`? Known: {listed}", printable(name)),
        None => format!("known: {listed}"),
    }
}

/// Lists names in backticks, separated by commas.
pub fn list(known: &[&str]) -> String {
    let mut listed: Vec<String> = known.iter().take(MAX_LISTED).map(|name| format!("`{}`", printable(name))).collect();
    if known.len() > MAX_LISTED {
        listed.push(format!("and {} more", known.len() - MAX_LISTED));
    }
    listed.join(", ")
}

/// Formats a text as a TOML string on one line, with its unprintable characters escaped.
pub fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            c if is_unprintable(c) => quoted.push_str(&format!("\\U{:08X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
