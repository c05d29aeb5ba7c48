//! The judgement of results: their texts without wrappings, and the texts of errors that were sent as successes.

use std::sync::LazyLock;

use regex::{Regex, RegexSet, RegexSetBuilder};
use serde_json::{Map, Value};

pub use crate::failure_fields::is_nothing;
use crate::failure_fields::{
    REASONS, SUCCESSES, has_any, has_error, is_about_a_link, is_about_a_record, is_about_the_call, is_error,
    is_failed_status, is_failure, lists_statuses, says_no,
};
use crate::reading::denies_existence;

/// The most wrappings around a text.
const MAX_LEVELS: usize = 4;
/// The bytes of a text in which a wording is searched. All of them stand at the beginning.
const JUDGED_BYTES: usize = 300;
/// Wordings of errors: a name, a pattern for the beginning of a text, and an example, separated by tabs.
const WORDINGS: &str = include_str!("wordings.tsv");

/// The beginnings of what programs write in place of a result when the user refuses a call, in lower case.
const REFUSALS: [&str; 9] = [
    "the user doesn't want to proceed with this tool use",
    "the user doesn't want to take this action right now",
    "the user rejected permission to use this specific tool call",
    "[request interrupted by user",
    "rejected by user",
    "exec command rejected by user",
    "patch rejected by user",
    "user rejected mcp tool call",
    "user cancelled mcp tool call",
];

/// Other fields that may stand beside a message, and are no data.
const BESIDE_MESSAGES: [&str; 10] = [
    "code",
    "status",
    "statusCode",
    "status_code",
    "title",
    "type",
    "documentation_url",
    "path",
    "timestamp",
    "request_id",
];

/// A name with nothing behind it: `Error: none`.
static NOTHING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:[\w-]* )*(?:errors?|failures?|warnings?|denied count):\s*(?:none|null|nil|n/a|0)\s*[.!]?\s*$")
        .expect("the pattern is tested")
});

static PATTERNS: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = WORDINGS.lines().filter_map(|line| line.split('\t').nth(1));
    RegexSetBuilder::new(patterns).case_insensitive(true).build().expect("the wordings are tested")
});

/// The lines that Codex writes before the output of a tool, with the exit status of a shell.
static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    let line = r"(?:Chunk ID|Wall time|Original token count|Total output lines): [^\n]*\n";
    let exit = r"(?:Exit code:|Process exited with code) (-?\d+)\n";
    Regex::new(&format!(r"^(?:{line}|{exit}|Process running with [^\n]*\n)+Output:(?:\n|$)"))
        .expect("the pattern is tested")
});

/// A text without its wrappings.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unwrapped {
    pub text: String,
    /// True if a wrapping flags an error.
    pub is_flagged: bool,
    /// True if the text is that of an error.
    pub is_error_text: bool,
}

/// Unwraps the text blocks of a result.
pub fn unwrap_blocks(blocks: &[String]) -> Unwrapped {
    let mut whole = Unwrapped::default();
    for block in blocks {
        let part = unwrap(block);
        // A block may be only a head, and the judgement is that of the text behind it.
        if whole.text.is_empty() {
            whole.is_error_text = part.is_error_text;
        } else {
            whole.text.push('\n');
        }
        whole.text.push_str(&part.text);
        whole.is_flagged |= part.is_flagged;
    }
    whole
}

/// Unwraps nested JSON, and Python's text of a result.
pub fn unwrap(text: &str) -> Unwrapped {
    let mut inner: Option<String> = None;
    let (mut is_flagged, mut is_success) = (false, false);
    for level in 0..=MAX_LEVELS {
        let current = inner.as_deref().unwrap_or(text);
        let step = if level < MAX_LEVELS { peel(current) } else { None };
        match step {
            Some(Layer::Wrapping { text, is_error }) => {
                is_flagged |= is_error == Some(true);
                is_success |= is_error == Some(false);
                inner = Some(text);
            }
            Some(Layer::Json(value)) => {
                is_flagged |= value.get("isError") == Some(&Value::Bool(true));
                let is_error_text = !is_success && is_error_json(&value);
                return Unwrapped { text: current.to_owned(), is_flagged, is_error_text };
            }
            Some(Layer::Errors(text)) => return Unwrapped { text, is_flagged, is_error_text: true },
            None => break,
        }
    }
    let text = inner.unwrap_or_else(|| text.to_owned());
    let is_error_text = !is_success && is_error_wording(&text);
    Unwrapped { text, is_flagged, is_error_text }
}

/// A layer of a text.
enum Layer {
    /// A wrapping around another text. Only an exit status says that a call succeeded; other flags may say so of errors too.
    Wrapping { text: String, is_error: Option<bool> },
    /// A list of errors without its head.
    Errors(String),
    /// JSON that wraps nothing.
    Json(Value),
}

fn peel(text: &str) -> Option<Layer> {
    let trimmed = text.trim_start();
    match trimmed.as_bytes().first()? {
        b'{' | b'[' if !trimmed.starts_with("[TextContent(") => {
            let value: Value = serde_json::from_str(trimmed).ok()?;
            Some(match json_wrapping(&value) {
                Some((text, is_error)) => Layer::Wrapping { text, is_error },
                None => Layer::Json(value),
            })
        }
        b'"' => {
            let text: String = serde_json::from_str(trimmed).ok()?;
            Some(Layer::Wrapping { text, is_error: None })
        }
        _ => python_result(trimmed).or_else(|| codex_output(trimmed)).or_else(|| inspect_errors(trimmed)),
    }
}

/// Returns the errors in what Inspect finds wrong with arguments, one a line.
fn inspect_errors(text: &str) -> Option<Layer> {
    let (head, errors) = text.split_once(" parsing tool input arguments:\n- ")?;
    let is_head = head.starts_with("Found ") && head.contains(" validation error") && !head.contains('\n');
    is_head.then(|| Layer::Errors(errors.replace("\n- ", "\n")))
}

/// Returns the text behind the head that Codex writes, and what the exit status in it says.
fn codex_output(text: &str) -> Option<Layer> {
    let head = HEAD.captures(text).filter(|head| head[0].contains("Wall time: "))?;
    let is_error = head.get(1).map(|code| code.as_str() != "0");
    Some(Layer::Wrapping { text: text[head[0].len()..].to_owned(), is_error })
}

/// Returns the text in a wrapping of JSON, and its flag.
fn json_wrapping(value: &Value) -> Option<(String, Option<bool>)> {
    match value {
        Value::Array(blocks) => Some((text_of_blocks(blocks)?, None)),
        Value::Object(fields) => {
            let is_true = |name: &str| fields.get(name) == Some(&Value::Bool(true));
            let is_error = (is_true("isError") || is_true("error")).then_some(true);
            if let Some(text) = typed_text(value) {
                return Some((text.to_owned(), is_error));
            }
            if let Some(code) = value.pointer("/metadata/exit_code") {
                let is_error = code.is_number().then(|| !is_nothing(code));
                return Some((fields.get("output")?.as_str()?.to_owned(), is_error));
            }
            Some((text_of_blocks(fields.get("content")?.as_array()?)?, is_error))
        }
        _ => None,
    }
}

/// Returns the texts of blocks that are all texts.
fn text_of_blocks(blocks: &[Value]) -> Option<String> {
    let texts: Option<Vec<&str>> = blocks.iter().map(typed_text).collect();
    texts.filter(|texts| !texts.is_empty()).map(|texts| texts.join("\n"))
}

/// Returns the text of a block that says that it is one. Other JSON may have a `text` too, and is no wrapping.
fn typed_text(block: &Value) -> Option<&str> {
    if block.get("type")?.as_str()? == "text" { block.get("text")?.as_str() } else { None }
}

/// Returns the texts in Python's text of a result of MCP, and its flag.
fn python_result(text: &str) -> Option<Layer> {
    const STARTS: [&str; 4] = ["CallToolResult(", "meta=", "content=[", "[TextContent("];
    if !STARTS.iter().any(|start| text.starts_with(start)) {
        return None;
    }
    let mut texts = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("TextContent(") {
        let (before, literal) = after.split_once("text=")?;
        if before.contains(')') {
            return None;
        }
        let (decoded, length) = python_literal(literal)?;
        texts.push(decoded);
        rest = &literal[length..];
    }
    let is_error = rest.contains("isError=True").then_some(true);
    (!texts.is_empty()).then(|| Layer::Wrapping { text: texts.join("\n"), is_error })
}

/// Decodes a literal of Python, and returns its length. One that the text cuts off ends there.
fn python_literal(text: &str) -> Option<(String, usize)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let mut decoded = String::new();
    let mut at = 1;
    while let Some(c) = text[at..].chars().next() {
        at += c.len_utf8();
        match c {
            '\\' => {
                let (c, length) = python_escape(&text[at..]);
                decoded.extend(c);
                at += length;
            }
            c if c == quote => return Some((decoded, at)),
            c => decoded.push(c),
        }
    }
    Some((decoded, at))
}

/// Decodes an escape without its backslash, and returns its length.
fn python_escape(text: &str) -> (Option<char>, usize) {
    let Some(c) = text.chars().next() else { return (None, 0) };
    let digits = match c {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        'n' => return (Some('\n'), 1),
        'r' => return (Some('\r'), 1),
        't' => return (Some('\t'), 1),
        c => return (Some(c), c.len_utf8()),
    };
    let code = text.get(1..=digits).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match code {
        Some(code) => (Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)), 1 + digits),
        None => (Some(c), 1),
    }
}

/// Returns true if a JSON value says that it is an error.
fn is_error_json(value: &Value) -> bool {
    let Value::Object(fields) = value else { return all_failed(value) };
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let is_true = |name: &&str| fields.get(*name) == Some(&Value::Bool(true));
    has_error(fields)
        || ["isError", "is_error"].iter().any(is_true)
        || has_failed(fields)
        || text("object") == "error"
        || text("type") == "error" && is_about_the_call(fields)
        || text("result") == "error" && has_any(fields, &REASONS)
        || is_error_status(fields)
        || is_only_a_message(fields)
        || fields.get("results").is_some_and(all_failed)
}

/// Returns true for a list of results of which none succeeded. That of runs or links without a reason is data.
fn all_failed(value: &Value) -> bool {
    let has_failed =
        |result: &Value| result.as_object().is_some_and(|fields| has_failed(fields) && !is_about_a_record(fields));
    value.as_array().is_some_and(|results| !results.is_empty() && results.iter().all(has_failed))
}

fn has_failed(fields: &Map<String, Value>) -> bool {
    SUCCESSES.iter().any(|name| fields.get(*name).is_some_and(says_no))
}

/// Returns true for an object with nothing but errors, or with nothing but the wording of one.
fn is_only_a_message(fields: &Map<String, Value>) -> bool {
    let has_errors = fields.get("errors").is_some_and(|errors| !errors.is_number() && is_error(errors));
    let text = |name: &&str| fields.get(*name)?.as_str();
    (has_errors || ["message", "detail"].iter().filter_map(text).any(is_error_wording))
        && fields
            .iter()
            .all(|(name, value)| is_nothing(value) || REASONS.iter().chain(&BESIDE_MESSAGES).any(|known| known == name))
}

fn is_error_status(fields: &Map<String, Value>) -> bool {
    match fields.get("status") {
        Some(Value::String(status)) => {
            status.eq_ignore_ascii_case("error") || is_failure(status) && is_about_the_call(fields)
        }
        _ => ["status", "statusCode", "status_code"].iter().any(|name| {
            fields.get(*name).and_then(Value::as_u64).is_some_and(is_failed_status) && !is_about_a_link(fields)
        }),
    }
}

/// Returns the beginning, in lower case, of a text that says that the user refused the call. It tells nothing about the tool.
pub fn refusal(text: &str) -> Option<&'static str> {
    let text = text.trim_start();
    let head = text[..text.floor_char_boundary(JUDGED_BYTES)].to_lowercase();
    let head = head.strip_prefix("error: ").or_else(|| head.strip_prefix("err: ")).unwrap_or(&head);
    REFUSALS.into_iter().find(|beginning| head.starts_with(beginning))
}

/// Returns true if a text begins like an error.
fn is_error_wording(text: &str) -> bool {
    let text = text.trim_start();
    let beginning = &text[..text.floor_char_boundary(JUDGED_BYTES)];
    !NOTHING.is_match(beginning) && PATTERNS.is_match(beginning) && !lists_statuses(beginning)
        || denies_existence(&beginning.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wording_has_an_example_of_its_own() {
        for (n, line) in WORDINGS.lines().enumerate() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [name, _, example] = fields[..] else { panic!("{line}") };
            assert!(PATTERNS.matches(example).matched(n), "{name}");
            assert!(unwrap(&format!("\n{example}, and more")).is_error_text, "{name}");
        }
        assert_eq!(PATTERNS.len(), WORDINGS.lines().count());
    }
}
