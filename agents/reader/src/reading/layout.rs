//! Brings layouts of known libraries into one that the reader has: a message and its place on one line.

use std::borrow::Cow;

/// Returns the text with places that follow on a line of their own moved behind their message (`→ at labels`), and without queries and
/// places in code.
pub(super) fn unfold<'t>(text: &'t str) -> Cow<'t, str> {
    let mut text = Cow::Borrowed(text);
    if text.contains("\u{2192} at ") {
        let mut out = String::with_capacity(text.len());
        for line in text.lines() {
            match line.trim_start().strip_prefix("\u{2192} at ") {
                Some(place) => out.extend([" at ", place]),
                None => out.extend([if out.is_empty() { "" } else { "\n" }, line]),
            }
        }
        text = Cow::Owned(out);
    }
    // The query that a database was asked says nothing about the call.
    if text.contains("[SQL:") || text.contains("SELECT ") {
        let is_query =
            |line: &&str| !["[SQL:", "SELECT ", "LINE "].iter().any(|start| line.trim_start().starts_with(start));
        text = Cow::Owned(text.lines().filter(is_query).collect::<Vec<_>>().join("\n"));
    }
    // Places in the code of the server.
    if text.lines().any(is_stack_line) {
        text = Cow::Owned(text.lines().filter(|line| !is_stack_line(line)).collect::<Vec<_>>().join("\n"));
    }
    // Pydantic 1: `start -> dateTime` on a line of its own.
    if text.contains(" -> ") && text.lines().any(is_old_path) {
        let lines =
            text.lines().map(|line| if is_old_path(line) { line.replace(" -> ", ".") } else { line.to_owned() });
        text = Cow::Owned(lines.collect::<Vec<_>>().join("\n"));
    }
    text
}

/// Returns a line without what pydantic adds in brackets to its sentences: `[type=missing, input_value={}, input_type=dict]`.
pub(super) fn without_details(line: &str) -> &str {
    let end = line.rfind(" [type=").filter(|_| line.ends_with(']'));
    end.map_or(line, |end| &line[..end])
}

/// Returns true for a line such as `    at async open (node:internal/fs/promises:639:25)`.
fn is_stack_line(line: &str) -> bool {
    let Some(place) = line.trim_start().strip_prefix("at ").filter(|_| line.starts_with([' ', '\t'])) else {
        return false;
    };
    let mut pairs = place.as_bytes().windows(2);
    pairs.any(|pair| pair[0] == b':' && pair[1].is_ascii_digit() || pair[1] == b'(' && pair[0].is_ascii_alphanumeric())
}

fn is_old_path(line: &str) -> bool {
    line.contains(" -> ")
        && line
            .split(" -> ")
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}
