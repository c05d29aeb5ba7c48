//! Brings layouts of known libraries into one that the reader has: a message and its place on one line.

use std::borrow::Cow;

use super::orders;

/// Returns the text with places that follow on a line of their own moved behind their message (`→ at labels`), without what pydantic adds in
/// brackets to its sentences, and without orders that are not the server's.
pub(super) fn unfold<'t>(text: &'t str) -> Cow<'t, str> {
    let mut text = orders::without_orders(text);
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
    if text.contains("[type=") {
        let mut out = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let end = line.rfind(" [type=").filter(|_| line.trim_end().ends_with(']'));
            out.push_str(end.map_or(line, |end| &line[..end]));
            if end.is_some() && line.ends_with('\n') {
                out.push('\n');
            }
        }
        text = Cow::Owned(out);
    }
    // What a database was asked is not what it says.
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

fn is_stack_line(line: &str) -> bool {
    line.starts_with([' ', '\t']) && line.trim_start().starts_with("at ") && line.contains(['(', ':'])
}

fn is_old_path(line: &str) -> bool {
    line.contains(" -> ")
        && line
            .split(" -> ")
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}
