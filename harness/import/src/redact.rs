//! The masking of all values of an episode, after everything that depends on them was computed.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use healbench_core::{RecordedTurn, ToolResponse, Turn, canonical_json};
use healbench_reader::soft_errors::{refusal, unwrap};
use healbench_store::EpisodeResult;
use regex::{Captures, Regex};
use serde_json::Value;

/// The replacement for the texts of users and agents, for results, and for what a shell printed.
const TEXT: &str = "[text]";
/// The replacement for a quoted text of an error that was not sent.
const QUOTED: &str = "[quoted]";
/// The replacement for a number, an address, a path or an identifier of an error.
const DETAIL: &str = "[detail]";

/// The shortest sent value that is searched in texts, in characters.
const MIN_CHARS: usize = 3;

/// Masks the values in arguments, and in the texts of errors those that were sent, quoted texts, numbers, addresses, paths and words with
/// digits. Names of arguments and tools stay, and the words of programs for a call that the user refused. Other texts are replaced, and so
/// are those of `shells`. Equal values of an episode get equal masks.
pub(crate) fn redact(result: &mut EpisodeResult, shells: &BTreeSet<String>) {
    let mut masks = Masks::default();
    let mut hidden = BTreeSet::new();
    for call in &mut result.calls {
        masks.names.insert(call.tool.to_string());
        let mut arguments = serde_json::from_str(&call.arguments).unwrap_or_default();
        masks.mask(&mut arguments);
        call.arguments = canonical_json(&arguments).into();
        if shells.contains(&*call.tool) {
            hidden.insert(call.response_hash);
        }
    }
    if let Some(recorded) = &mut result.recorded_turns {
        recorded.prompt.iter_mut().for_each(hide);
        for RecordedTurn { turn, .. } in &mut recorded.turns {
            match turn {
                Turn::Calls { calls, text, .. } => {
                    hide(text);
                    calls.iter_mut().for_each(|call| masks.mask(&mut call.arguments));
                }
                Turn::Message { text }
                | Turn::Done { answer: text }
                | Turn::GiveUp { reason: text }
                | Turn::Refused { reason: text }
                | Turn::Answer { text }
                | Turn::Incomplete { text }
                | Turn::TooLong { reason: text } => hide(text),
            }
        }
    }
    let finder = Finder::new(masks);
    let mut hashes = HashMap::new();
    for response in &mut result.responses {
        for text in response.content.iter_mut().chain(&mut response.unguarded_text) {
            if response.is_error && !hidden.contains(&response.response_hash) {
                *text = finder.in_error(text);
            } else if let Some(refusal) = refusal(&unwrap(text).text) {
                refusal.clone_into(text);
            } else {
                hide(text);
            }
        }
        let shown = ToolResponse { content: response.content.clone(), is_error: response.is_error };
        hashes.insert(response.response_hash, shown.hash());
        response.response_hash = shown.hash();
    }
    for call in &mut result.calls {
        if let Some(hash) = hashes.get(&call.response_hash) {
            call.response_hash = *hash;
        }
    }
}

fn hide(text: &mut String) {
    if !text.is_empty() {
        TEXT.clone_into(text);
    }
}

/// The masks of the values of an episode.
#[derive(Default)]
struct Masks {
    /// The mask of each value, by its text.
    values: HashMap<String, String>,
    /// The names of tools and arguments.
    names: BTreeSet<String>,
}

impl Masks {
    fn mask(&mut self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.names.insert(name.clone());
                    self.mask(value);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask(item)),
            Value::Null | Value::Bool(_) => {}
            Value::String(text) => *text = self.of_value(text),
            Value::Number(number) => *value = Value::String(self.of_value(&number.to_string())),
        }
    }

    fn of_value(&mut self, text: &str) -> String {
        let next = self.values.len() + 1;
        self.values.entry(text.to_owned()).or_insert_with(|| format!("[value {next}]")).clone()
    }
}

/// Finds what has to be masked in the texts of errors.
struct Finder {
    masks: Masks,
    /// Finds the sent values in any case, and their masks at the same places; `None` if there are none, or too many.
    sent: Option<(AhoCorasick, Vec<String>)>,
    has_too_many: bool,
}

impl Finder {
    fn new(masks: Masks) -> Finder {
        let long = |value: &String| value.chars().count() >= MIN_CHARS && !masks.names.contains(value);
        let mut sent: Vec<(&String, &String)> = masks.values.iter().filter(|(value, _)| long(value)).collect();
        sent.sort();
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .ascii_case_insensitive(true)
            .build(sent.iter().map(|(value, _)| value.as_str()));
        let found: Vec<String> = sent.into_iter().map(|(_, mask)| mask.clone()).collect();
        let has_too_many = finder.is_err();
        let sent = finder.ok().filter(|_| !found.is_empty()).map(|finder| (finder, found));
        Finder { masks, sent, has_too_many }
    }

    fn in_error(&self, text: &str) -> String {
        match serde_json::from_str::<Value>(text) {
            Ok(mut document @ (Value::Object(_) | Value::Array(_))) => {
                self.in_document(&mut document);
                document.to_string()
            }
            _ => self.in_prose(text),
        }
    }

    fn in_document(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                let masked = std::mem::take(fields).into_iter().map(|(name, mut value)| {
                    self.in_document(&mut value);
                    let name = if self.masks.names.contains(&name) { name } else { self.in_prose(&name) };
                    (name, value)
                });
                *fields = masked.collect();
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.in_document(item)),
            Value::String(text) => *text = self.in_error(text),
            Value::Number(_) => *value = Value::String(DETAIL.to_owned()),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Masks the sent values, and what is between them.
    fn in_prose(&self, text: &str) -> String {
        if self.has_too_many {
            return TEXT.to_owned();
        }
        let Some((finder, masks)) = &self.sent else { return self.between(text) };
        let mut out = String::with_capacity(text.len());
        let mut end = 0;
        for found in finder.find_iter(text) {
            out.push_str(&text[end..found.start()]);
            // A private-use character stands for a mask until the text around it is masked.
            out.push_str(&placeholder(found.pattern().as_usize()));
            end = found.end();
        }
        out.push_str(&text[end..]);
        let mut out = self.between(&out);
        let found: BTreeSet<usize> = finder.find_iter(text).map(|found| found.pattern().as_usize()).collect();
        for at in found {
            out = out.replace(&placeholder(at), &masks[at]);
        }
        out
    }

    /// Masks what was not sent.
    fn between(&self, text: &str) -> String {
        static SPANS: LazyLock<Option<Regex>> = LazyLock::new(|| {
            let quotes = "\"[^\"\n]*\"|`[^`\n]*`|\\B'[^\n]*?'\\B|“[^”]*”|‘[^’]*’|«[^»]*»";
            let details = r"\w+://[^\s<>]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}|[A-Za-z]:\\\S+|\b\w*\d[\w.,:/-]*";
            Regex::new(&format!("{quotes}|{details}")).ok()
        });
        let Some(spans) = &*SPANS else { return TEXT.to_owned() };
        let masked = spans.replace_all(text, |span: &Captures<'_>| {
            let span = &span[0];
            let Some(quote) = span.chars().next().filter(|first| "\"`'“‘«".contains(*first)) else {
                return DETAIL.to_owned();
            };
            let inside = span.trim_start_matches(quote).trim_end_matches(['"', '`', '\'', '”', '’', '»']);
            let is_known = inside.is_empty() || self.masks.names.contains(inside) || is_placeholder(inside);
            if is_known { span.to_owned() } else { format!("{quote}{QUOTED}{quote}") }
        });
        masked.into_owned()
    }
}

/// The characters around the number of a mask, which no text is expected to have.
const MARKS: [char; 2] = ['\u{f8f0}', '\u{f8f1}'];

/// Returns the place of a mask, spelled without digits so that it is taken for no number.
fn placeholder(at: usize) -> String {
    let letters: String = at.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect();
    format!("{}{letters}{}", MARKS[0], MARKS[1])
}

fn is_placeholder(text: &str) -> bool {
    text.starts_with(MARKS[0]) && text.ends_with(MARKS[1]) && text.matches(MARKS[0]).count() == 1
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn error_texts_keep_their_wording_and_names() {
        let mut masks = Masks::default();
        let mut arguments = json!({"file_id": "ID-42", "to": ["ann@example.com"], "count": 17, "word": "value"});
        masks.mask(&mut arguments);
        let text = arguments.to_string();
        assert_eq!(text, r#"{"file_id":"[value 1]","to":["[value 2]"],"count":"[value 3]","word":"[value 4]"}"#);
        let finder = Finder::new(masks);
        let cases = [
            ("File with ID 'ID-42' not found (code 404)", "File with ID '[value 1]' not found (code [detail])"),
            ("`file_id` must not be \"secret\"", "`file_id` must not be \"[quoted]\""),
            ("ANN@example.com isn't a value", "[value 2] isn't a [value 4]"),
            (r#"{"error":"no ann@example.com","retry":3}"#, r#"{"error":"no [value 2]","retry":"[detail]"}"#),
            (r#"{"ann@example.com":"unknown"}"#, r#"{"[value 2]":"unknown"}"#),
            ("User bob@corp.com in /srv/ann/acme-merger not found", "User [detail] in [detail] not found"),
            ("“blue falcon” is 'Ann's diagnosis'", "“[quoted]“ is '[quoted]'"),
            ("see https://corp.example/x?y=1 for A7K9", "see [detail] for [detail]"),
        ];
        for (text, masked) in cases {
            assert_eq!(finder.in_error(text), masked);
        }
    }
}
