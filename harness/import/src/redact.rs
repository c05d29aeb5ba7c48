//! The masking of all values of an episode, after everything that depends on them was computed.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use healbench_core::{RecordedTurn, ToolResponse, Turn, canonical_json};
use healbench_reader::soft_errors::{refusal, unwrap};
use healbench_store::EpisodeResult;
use healbench_text::template::{self, Names};
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

/// The most templates that are kept.
const MAX_TEMPLATES: usize = 1 << 14;

/// Masks the values of episodes, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Redactor {
    /// The names of the calls so far.
    names: Names,
    /// The masked form of each template. That of the first episode is also that of the others, so that equal templates stay equal.
    templates: HashMap<String, String>,
}

impl Redactor {
    /// Masks the values in arguments, and in the texts of errors those that were sent, quoted texts, numbers, addresses, paths and words
    /// with digits. Names of arguments and tools stay, and the words of programs for a call that the user refused. Other texts are
    /// replaced, and so are those of `shells`. Equal values of an episode get equal masks.
    ///
    /// The unwrapped text of an error becomes its template, which is made of the values themselves, so that a redacted run has the same
    /// groups of errors.
    pub(crate) fn redact(&mut self, result: &mut EpisodeResult, shells: &BTreeSet<String>) {
        self.make_templates(result, shells);
        let mut masks = Masks::default();
        for call in &mut result.calls {
            masks.names.insert(call.tool.to_string());
            let mut arguments = serde_json::from_str(&call.arguments).unwrap_or_default();
            masks.mask(&mut arguments);
            call.arguments = canonical_json(&arguments).into();
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
        let Redactor { names, templates } = self;
        let finder = Finder::new(masks, names);
        let answered = result.calls.iter_mut().filter(|call| call.response_hash != 0);
        for (call, response) in answered.zip(&mut result.responses) {
            let is_masked = response.is_error && !shells.contains(&*call.tool);
            for text in &mut response.content {
                if is_masked {
                    *text = finder.in_error(text);
                } else if let Some(refusal) = refusal(&unwrap(text).text) {
                    refusal.clone_into(text);
                } else {
                    hide(text);
                }
            }
            match &mut response.unguarded_text {
                Some(template) if is_masked => *template = masked_template(templates, template, &finder),
                text => text.iter_mut().for_each(hide),
            }
            // Responses with the same masked text may have different templates.
            let content = response.content.iter().chain(&response.unguarded_text).cloned().collect();
            response.response_hash = ToolResponse { content, is_error: response.is_error }.hash();
            call.response_hash = response.response_hash;
        }
    }

    /// Replaces the unwrapped texts of errors by their templates. There is a response for each call with a result.
    fn make_templates(&mut self, result: &mut EpisodeResult, shells: &BTreeSet<String>) {
        for call in result.calls.iter().filter(|call| !shells.contains(&*call.tool)) {
            self.names.add(&call.tool, &serde_json::from_str(&call.arguments).unwrap_or_default());
        }
        let answered = result.calls.iter().filter(|call| call.response_hash != 0);
        for (call, response) in answered.zip(&mut result.responses) {
            let Some(text) = &mut response.unguarded_text else { continue };
            let message = template::message(text);
            let masked = template::mask(&message, &template::sent_values(&call.arguments, &message));
            *text = template::finish(&masked, |word| self.names.has(&call.tool, word));
        }
    }
}

fn masked_template(known: &mut HashMap<String, String>, template: &str, finder: &Finder<'_>) -> String {
    if let Some(masked) = known.get(template) {
        return masked.clone();
    }
    if known.len() == MAX_TEMPLATES {
        known.clear();
    }
    let masked = finder.in_template(template);
    known.insert(template.to_owned(), masked.clone());
    masked
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
            // A number differs from the same digits as a text.
            Value::Number(number) => {
                *value = Value::String(self.of_value(&number.to_string()).replace("value", "number"))
            }
        }
    }

    fn of_value(&mut self, text: &str) -> String {
        let next = self.values.len() + 1;
        self.values.entry(text.to_owned()).or_insert_with(|| format!("[value {next}]")).clone()
    }
}

/// Finds what has to be masked in the texts of errors.
struct Finder<'n> {
    masks: Masks,
    /// The names of other episodes, too.
    names: &'n Names,
    /// Finds the sent values in any case, and their masks at the same places; `None` if there are none, or too many.
    sent: Option<(AhoCorasick, Vec<String>)>,
    has_too_many: bool,
}

impl<'n> Finder<'n> {
    fn new(masks: Masks, names: &'n Names) -> Finder<'n> {
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
        Finder { masks, names, sent, has_too_many }
    }

    fn is_name(&self, word: &str) -> bool {
        // The key of a mapping may be an address.
        let is_plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        is_plain && (self.masks.names.contains(word) || self.names.has_of_any_tool(word))
    }

    /// Masks what is left of values in a template: sent values in other letters, and words with digits.
    fn in_template(&self, template: &str) -> String {
        static SHOWN: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r"\[(?:value \d+|quoted|detail|text)\]").ok());
        let Some(shown) = &*SHOWN else { return TEXT.to_owned() };
        shown.replace_all(&self.in_prose(template), template::MASK.to_string()).into_owned()
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
                    let name = if self.is_name(&name) { name } else { self.in_prose(&name) };
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
                let is_name = self.is_name(span.trim_end_matches(['.', ',', ':', '/', '-']));
                return if is_name { span.to_owned() } else { DETAIL.to_owned() };
            };
            let inside = span.trim_start_matches(quote).trim_end_matches(['"', '`', '\'', '”', '’', '»']);
            let is_known = inside.is_empty() || self.is_name(inside) || is_placeholder(inside);
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
        assert_eq!(text, r#"{"file_id":"[value 1]","to":["[value 2]"],"count":"[number 3]","word":"[value 4]"}"#);
        let mut names = Names::default();
        names.add("other", &json!({"body": {"line2": ""}}));
        let finder = Finder::new(masks, &names);
        let cases = [
            ("File with ID 'ID-42' not found (code 404)", "File with ID '[value 1]' not found (code [detail])"),
            ("`file_id` must not be \"secret\"", "`file_id` must not be \"[quoted]\""),
            ("ANN@example.com isn't a value", "[value 2] isn't a [value 4]"),
            (r#"{"error":"no ann@example.com","retry":3}"#, r#"{"error":"no [value 2]","retry":"[detail]"}"#),
            (r#"{"ann@example.com":"unknown"}"#, r#"{"[value 2]":"unknown"}"#),
            ("User bob@corp.com in /srv/ann/acme-merger not found", "User [detail] in [detail] not found"),
            ("'body' and line2: not set, line3 is", "'body' and line2: not set, [detail] is"),
            ("“blue falcon” is 'Ann's diagnosis'", "“[quoted]“ is '[quoted]'"),
            ("see https://corp.example/x?y=1 for A7K9", "see [detail] for [detail]"),
        ];
        for (text, masked) in cases {
            assert_eq!(finder.in_error(text), masked);
        }
    }
}
