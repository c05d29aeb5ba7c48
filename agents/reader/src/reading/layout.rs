//! Brings layouts of known libraries into one that the reader has, a message and its place on one line, and finds names at the beginning of lines.

use std::borrow::Cow;

use super::phrases::{Meaning, PhraseTable};
use super::tokens::{TokenKind, lex};

/// The longest entry of a list of values, in bytes and in words.
const MAX_ENTRY_BYTES: usize = 80;
const MAX_ENTRY_WORDS: usize = 4;

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
    if text.contains(":\n") {
        text = Cow::Owned(with_lists_on_one_line(&text));
    }
    text
}

/// Returns the text with bulleted values behind the words that announce them: `Valid guides are: 'a', 'b'`.
fn with_lists_on_one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        out.push_str(line);
        if line.trim_end().ends_with(':') && announces_values(line) {
            // A line without words may stand before the list.
            let mut rest = lines.clone();
            if rest.peek().is_some_and(|line| line.trim().is_empty()) {
                rest.next();
            }
            let mut entries = Vec::new();
            while let Some(entry) = rest.peek().copied().and_then(list_entry) {
                entries.push(entry);
                rest.next();
            }
            if !entries.is_empty() {
                let quoted: Vec<String> = entries.iter().map(|entry| quoted(entry)).collect();
                out.push(' ');
                out.push_str(&quoted.join(", "));
                lines = rest;
            }
        }
        if lines.peek().is_some() {
            out.push('\n');
        }
    }
    out
}

/// Returns true if the last words of a line announce the valid values of an argument.
fn announces_values(line: &str) -> bool {
    let mut tokens = Vec::new();
    lex(line, &mut tokens);
    let start = tokens.iter().rposition(|token| token.kind == TokenKind::End).map_or(0, |end| end + 1);
    let table = PhraseTable::built_in();
    (start..tokens.len()).any(|at| {
        table.patterns_at(&tokens, at).any(|(meaning, _)| matches!(meaning, Meaning::Options | Meaning::Valid))
    })
}

/// Returns the value in a bulleted or numbered line, without what is said about it: `- draft: not sent yet`.
fn list_entry(line: &str) -> Option<&str> {
    let line = line.trim();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+', '•', '‣', '–']),
        _ => line[digits..].strip_prefix(['.', ')']),
    };
    let entry = rest?.strip_prefix(' ')?.trim_end_matches([',', ';', '.']).trim();
    let about = [": ", " - ", " — ", " – ", " ("].iter().filter_map(|mark| entry.find(mark)).min();
    let entry = entry[..about.unwrap_or(entry.len())].trim();
    let is_short = entry.len() <= MAX_ENTRY_BYTES && entry.split_whitespace().count() <= MAX_ENTRY_WORDS;
    (is_short && !entry.is_empty()).then_some(entry)
}

fn quoted(entry: &str) -> String {
    let marks = ['"', '\'', '`'];
    match entry.chars().next().filter(|first| marks.contains(first)) {
        Some(mark) if entry.len() > 2 && entry.ends_with(mark) => entry.to_owned(),
        _ => format!("\"{}\"", entry.replace('"', "")),
    }
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

/// A name at the beginning of a line.
pub(super) struct LineHeading<'t> {
    pub(super) name: &'t str,
    /// The text after the name and its separator.
    pub(super) rest: &'t str,
    /// True if the name is marked by more than a colon. Then it counts as a field's name even if it is unknown.
    pub(super) emphasized: bool,
}

/// Returns the name at the beginning of a line: `**role**: …`, `role — …`, `role: …`, `"role": …`, or a name alone.
pub(super) fn parse_line_heading(line: &str) -> Option<LineHeading<'_>> {
    // `["query"]` alone is a path.
    if let Some(name) = line.strip_prefix("[\"").and_then(|rest| rest.strip_suffix("\"]")) {
        return Some(LineHeading { name, rest: "", emphasized: true })
            .filter(|heading| !heading.name.contains(['"', ' ']));
    }
    let bold = line.strip_prefix("**").and_then(|rest| rest.split_once("**"));
    let (name, rest, wrapped) = if let Some((name, rest)) = bold {
        (name.trim_end_matches(':').trim_matches('`'), rest, true)
    } else if let Some(quote) = line.chars().next().filter(|c| matches!(c, '`' | '"' | '\'')) {
        let (name, rest) = line[1..].split_once(quote)?;
        (name, rest, false)
    } else {
        let end =
            line.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '[' | ']' | '/' | '$' | '#')));
        let (name, rest) = line.split_at(end.unwrap_or(line.len()));
        (name, rest, false)
    };
    if name.is_empty() || name.contains(char::is_whitespace) {
        return None;
    }
    let after = rest.trim_start();
    let dash = after.starts_with(['—', '–']) || after.starts_with("- ");
    let separated = after.is_empty() || dash || after.starts_with([':', '=', '(']) || after.starts_with("->");
    if !wrapped && !separated {
        return None;
    }
    let rest =
        if after.starts_with('(') { after } else { after.trim_start_matches([':', '=', '—', '–', '-', '>']) };
    Some(LineHeading { name, rest: rest.trim_start(), emphasized: wrapped || dash || after.is_empty() })
}
