//! Credentials in conversations, and the masks that stand for them.

use std::collections::HashMap;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, MatchKind};
use healbench_text::{looks_like_secret, names_secret, secrets_in_url};
use regex::Regex;
use serde_json::{Map, Value};

use crate::conversation::{Conversation, Event};

/// Shorter values are masked only as a whole word.
const MIN_SECRET_BYTES: usize = 8;
/// Shorter values are masked only where they stand under the name of a secret.
const MIN_WORD_BYTES: usize = 4;
/// Longer values are masked only as a whole argument. No key is as long.
const MAX_SECRET_BYTES: usize = 16 * 1024;
/// Shorter words are not recognized by their beginning.
const MIN_PREFIXED_BYTES: usize = 20;
/// The words in names of values that are secrets, whatever they look like.
const STRONG_NAMES: [&str; 7] = ["password", "passwd", "pwd", "passphrase", "secret", "credential", "apikey"];
/// Shorter numbers are not masked, because they may be counts.
const MIN_NUMBER_BYTES: usize = 4;
/// A key in a header.
static AUTHORIZATION: LazyLock<Regex> = LazyLock::new(|| {
    let name = r#"(?i)(?:(?-u:\b)|\\[nrt])authorization["'\\]*\s*[:=]\s*["'\\]*"#;
    Regex::new(&format!(r"{name}(?:basic|bearer|digest|token)\s+([a-z0-9+/=._~-]{{8,}})"))
        .expect("the pattern is tested")
});
/// A token behind the name of its kind.
static BEARER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:(?-u:\b)|\\[nrt])bearer\s+([a-z0-9+/=._~-]{20,})").expect("the pattern is tested")
});
/// The words that the two patterns need, which are found much faster than a pattern is.
static SCHEMES: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let mut builder = AhoCorasickBuilder::new();
    builder.ascii_case_insensitive(true).build(["authorization", "bearer"]).expect("two words make an automaton")
});
/// An ampersand in HTML.
const AMPERSAND: &str = "&amp;";
/// Other characters in HTML that end a value.
const MARKUP: [&str; 6] = ["&quot;", "&apos;", "&#39;", "&lt;", "&gt;", "&nbsp;"];
/// The bytes of the secrets that are searched at once, which bound the size of an automaton.
const BYTES_PER_SEARCH: usize = 1024 * 1024;

/// Masks the credentials of a conversation. Equal values get equal masks, and different values different ones.
pub(crate) fn mask_credentials(conversation: &mut Conversation) {
    let mut found = Found::default();
    each_text(conversation, &mut |text| found.in_text(text));
    each_arguments(conversation, &mut |arguments| found.in_arguments(None, arguments));
    each_name(conversation, &mut |name| found.in_text(name));
    if found.numbers.is_empty() {
        return;
    }
    each_arguments(conversation, &mut |arguments| found.mask_named(None, arguments));
    for secrets in found.groups() {
        let Some(search) = search(secrets) else { continue };
        each_text(conversation, &mut |text| found.mask(&search, text));
        each_arguments(conversation, &mut |arguments| found.mask_arguments(&search, arguments));
        each_name(conversation, &mut |name| found.mask(&search, name));
    }
}

/// Returns a text that belongs to no conversation without its credentials.
pub(crate) fn mask_text(mut text: String) -> String {
    let mut found = Found::default();
    found.in_text(&text);
    for search in found.groups().into_iter().filter_map(search) {
        found.mask(&search, &mut text);
    }
    text
}

/// Visits the names of the task, the model and the tools, and the tags.
fn each_name(conversation: &mut Conversation, visit: &mut impl FnMut(&mut String)) {
    visit(&mut conversation.task);
    conversation.suite.iter_mut().for_each(&mut *visit);
    conversation.model.iter_mut().for_each(&mut *visit);
    conversation.tags.values_mut().for_each(&mut *visit);
    conversation.tools.iter_mut().flatten().for_each(|tool| visit(&mut tool.name));
    for event in &mut conversation.events {
        if let Event::Turn(turn) = event {
            turn.calls.iter_mut().for_each(|call| visit(&mut call.tool));
        }
    }
}

fn each_text(conversation: &mut Conversation, visit: &mut impl FnMut(&mut String)) {
    for event in &mut conversation.events {
        match event {
            Event::User { text } => visit(text),
            Event::Turn(turn) => {
                visit(&mut turn.text);
                for result in turn.calls.iter_mut().filter_map(|call| call.result.as_mut()) {
                    result.blocks.iter_mut().for_each(&mut *visit);
                    visit(&mut result.text);
                }
            }
        }
    }
}

fn each_arguments(conversation: &mut Conversation, visit: &mut impl FnMut(&mut Value)) {
    for event in &mut conversation.events {
        if let Event::Turn(turn) = event {
            turn.calls.iter_mut().for_each(|call| visit(&mut call.arguments));
        }
    }
}

/// The secrets of a conversation, with their numbers.
#[derive(Default)]
struct Found {
    numbers: HashMap<String, usize>,
    /// Those that are masked wherever they stand, in the order in which they were found.
    everywhere: Vec<String>,
}

impl Found {
    fn add(&mut self, secret: &str, is_everywhere: bool) {
        if secret.is_empty() || self.numbers.contains_key(secret) {
            return;
        }
        self.numbers.insert(secret.to_owned(), self.numbers.len() + 1);
        if is_everywhere && (MIN_WORD_BYTES..=MAX_SECRET_BYTES).contains(&secret.len()) {
            self.everywhere.push(secret.to_owned());
        }
    }

    /// Adds a secret in a text, if it is not too long for one.
    fn add_part(&mut self, secret: &str) {
        if secret.len() <= MAX_SECRET_BYTES {
            self.add(secret, true);
        }
    }

    fn in_text(&mut self, text: &str) {
        self.in_words(text);
        if text.contains("PRIVATE KEY-----") {
            self.private_keys(text);
        }
        self.in_urls(text);
        self.authorization(text);
        self.assignments(text);
    }

    /// Finds keys in headers, and tokens behind the name of their kind.
    fn authorization(&mut self, text: &str) {
        if !SCHEMES.is_match(text) {
            return;
        }
        for found in BEARER.captures_iter(text) {
            let token = found[1].trim_end_matches('.');
            if found[0].contains("Bearer") || is_random(token) {
                self.add_part(token);
            }
        }
        for found in AUTHORIZATION.captures_iter(text) {
            self.add_part(found[1].trim_end_matches('.'));
        }
    }

    /// Finds words that begin like the keys of well-known services.
    fn in_words(&mut self, text: &str) {
        let mut at = 0;
        for word in text.split_inclusive(|c| !is_token(c)) {
            let before = &text[..at];
            at += word.len();
            let is_key = |word: &&str| word.len() >= MIN_PREFIXED_BYTES && looks_like_secret(word);
            if let Some(word) = readings(before, word.trim_end_matches(|c| !is_token(c))).find(is_key) {
                self.add_part(word.trim_end_matches('.'));
            }
        }
    }

    fn in_urls(&mut self, text: &str) {
        let is_end = |c: char| c.is_whitespace() || "\"'<>()[]{}`\\|".contains(c);
        let mut rest = text;
        while let Some(at) = rest.find("://") {
            let end = rest[at..].find(is_end).map_or(rest.len(), |length| at + length);
            let scheme = rest[..at].trim_end_matches(|c: char| c.is_ascii_alphanumeric()).len();
            secrets_in_url(&rest[scheme..end]).into_iter().for_each(|secret| self.add_part(secret));
            rest = &rest[end..];
        }
    }

    fn private_keys(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find("-----BEGIN ") {
            let block = &rest[at..];
            let end = block.find("-----END ").unwrap_or(block.len());
            let is_private = block.lines().next().is_some_and(|line| line.contains("PRIVATE KEY"));
            if is_private {
                self.add(&block[..block.floor_char_boundary(end.min(MAX_SECRET_BYTES))], true);
            }
            rest = &block[end..];
        }
    }

    /// Finds values after the name of a password or a token: `DB_PASSWORD=…`, `"client_secret": "…"`.
    fn assignments(&mut self, text: &str) {
        let mut value_end = 0;
        for (at, sign) in text.match_indices(['=', ':']) {
            if at < value_end {
                continue;
            }
            let name = text[..at].trim_end_matches(['"', '\'', ' ', '\\']);
            let word = name.rsplit(|c| !is_token(c)).next().unwrap_or_default();
            let is_name = |name: &&str| (3..64).contains(&name.len()) && (is_strong(name) || is_token_name(name));
            let is_secret_name = |name: &&str| is_name(name) && names_secret(name);
            let Some(name) = readings(&name[..name.len() - word.len()], word).find(is_secret_name) else {
                continue;
            };
            let rest = text[at + 1..].trim_start_matches(['"', '\'', ' ', '\\']);
            let value = assigned_value(rest);
            value_end = text.len() - rest.len() + value.len();
            // A part of a password may look like markup.
            let is_cut = rest[value.len()..].starts_with('&');
            let whole = rest.split(|c: char| c.is_whitespace() || "\"'\\`".contains(c)).next().filter(|_| is_cut);
            for value in std::iter::once(value).chain(whole) {
                if value.len() <= MAX_SECRET_BYTES && is_assigned_secret(name, sign, value) {
                    self.add_part(value);
                    if value.contains(AMPERSAND) {
                        self.add_part(&value.replace(AMPERSAND, "&"));
                    }
                    break;
                }
            }
        }
    }

    fn in_arguments(&mut self, name: Option<&str>, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(name) = name.filter(|name| is_named_secret(name, text)) {
                    // A word like `new_password` also stands for itself in the texts of errors.
                    self.add(text, is_strong(name) && !names_secret(text) || is_random(text));
                    return;
                }
                self.in_text(text);
                if name.is_some_and(|name| name.to_ascii_lowercase().ends_with("authorization")) {
                    self.authorization(&format!("authorization: {text}"));
                }
            }
            Value::Number(number) => {
                let text = number.to_string();
                if name.is_some_and(|name| is_named_number(name, &text)) {
                    self.add(&text, true);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.in_arguments(name, item)),
            Value::Object(fields) => {
                for (name, field) in fields.iter_mut() {
                    self.in_text(name);
                    self.in_arguments(Some(name), field);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Returns the secrets in groups that are searched one after the other, longer ones first.
    fn groups(&self) -> Vec<Vec<&str>> {
        let mut secrets: Vec<&str> = self.everywhere.iter().map(String::as_str).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let mut groups: Vec<Vec<&str>> = Vec::new();
        let (mut bytes, mut has_words) = (BYTES_PER_SEARCH, false);
        for secret in secrets {
            // What is found of a word may hide a secret that begins in it.
            let is_first_word = !has_words && secret.len() < MIN_SECRET_BYTES;
            if is_first_word || bytes + secret.len() > BYTES_PER_SEARCH {
                groups.push(Vec::new());
                bytes = 0;
            }
            has_words |= is_first_word;
            bytes += secret.len();
            groups.last_mut().into_iter().for_each(|group| group.push(secret));
        }
        groups
    }

    fn mask(&self, search: &AhoCorasick, text: &mut String) {
        if !search.is_match(text.as_str()) {
            return;
        }
        let mut masked = String::with_capacity(text.len());
        search.replace_all_with(text, &mut masked, |found, secret, masked| {
            let is_part = are_joined(text[..found.start()].chars().last(), secret.chars().next())
                || are_joined(secret.chars().last(), text[found.end()..].chars().next());
            match secret.len() < MIN_SECRET_BYTES && is_part {
                true => masked.push_str(secret),
                false => masked.push_str(&self.mask_of(secret)),
            }
            true
        });
        *text = masked;
    }

    fn mask_of(&self, secret: &str) -> String {
        self.numbers.get(secret).map_or_else(|| "[key]".to_owned(), |number| format!("[key {number}]"))
    }

    /// Masks the arguments whose names tell that they are secrets.
    fn mask_named(&self, name: Option<&str>, value: &mut Value) {
        match value {
            Value::String(text) if name.is_some_and(|name| is_named_secret(name, text)) => *text = self.mask_of(text),
            Value::Number(number) => {
                let text = number.to_string();
                if name.is_some_and(|name| is_named_number(name, &text)) {
                    *value = Value::String(self.mask_of(&text));
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_named(name, item)),
            Value::Object(fields) => fields.iter_mut().for_each(|(name, field)| self.mask_named(Some(name), field)),
            Value::String(_) | Value::Null | Value::Bool(_) => {}
        }
    }

    fn mask_arguments(&self, search: &AhoCorasick, value: &mut Value) {
        match value {
            Value::String(text) => self.mask(search, text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_arguments(search, item)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|field| self.mask_arguments(search, field));
                if fields.keys().any(|name| search.is_match(name)) {
                    let mut masked = Map::new();
                    for (mut name, field) in std::mem::take(fields) {
                        self.mask(search, &mut name);
                        masked.insert(name, field);
                    }
                    *fields = masked;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Returns an automaton that finds secrets, of those at one place the longest.
fn search(secrets: Vec<&str>) -> Option<AhoCorasick> {
    let mut builder = AhoCorasickBuilder::new();
    // A table of all transitions would be faster, and a hundred times as large.
    builder.kind(Some(AhoCorasickKind::ContiguousNFA)).match_kind(MatchKind::LeftmostLongest);
    builder.build(secrets).ok()
}

/// Returns true if two characters side by side belong to one word. A script without cases may be written without blanks around other words.
fn are_joined(before: Option<char>, after: Option<char>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return false };
    let has_case = |c: char| c.is_lowercase() || c.is_uppercase() || c.is_ascii_digit();
    before.is_alphanumeric() && after.is_alphanumeric() && has_case(before) == has_case(after)
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Returns a word without the letter of an escaped line break or tab, if it may begin with one, and then the word itself: behind a backslash
/// may also stand a part of a path.
fn readings<'t>(before: &str, word: &'t str) -> impl Iterator<Item = &'t str> {
    let is_escaped = before.ends_with('\\') && word.starts_with(['n', 'r', 't']);
    is_escaped.then(|| &word[1..]).into_iter().chain([word])
}

/// Returns the value at the beginning of a text, which a blank, punctuation or the next parameter of a query ends.
fn assigned_value(text: &str) -> &str {
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if c.is_whitespace() || "\"'\\,;<>()[]{}`".contains(c) || MARKUP.iter().any(|mark| rest.starts_with(mark)) {
            break;
        }
        if c != '&' {
            at += c.len_utf8();
            continue;
        }
        let length = if rest.starts_with(AMPERSAND) { AMPERSAND.len() } else { 1 };
        let parameter = rest[length..].trim_start_matches(|c| is_token(c) || matches!(c, '%' | '+'));
        // A parameter may have no value: `?token=x&verbose&page=1`.
        if parameter.starts_with('=') || length == 1 && parameter.starts_with('&') {
            break;
        }
        at += length;
    }
    &text[..at]
}

/// Returns true if a value under this name is a secret. `key` may also name a key of the keyboard, so the value has to look like one.
fn is_named_secret(name: &str, value: &str) -> bool {
    !value.is_empty() && names_secret(name) && !is_folder(name, value) && (is_strong(name) || is_random(value))
}

/// Returns true if a number under this name is a secret.
fn is_named_number(name: &str, number: &str) -> bool {
    number.len() >= MIN_NUMBER_BYTES && is_named_secret(name, number)
}

/// Returns true for the value behind a name of secrets in a text. There it may also be a word that tells what is expected, so that a word
/// is a secret only in the form of a variable, as in `DB_PASSWORD=…`, or if it is no word of letters alone.
fn is_assigned_secret(name: &str, sign: &str, value: &str) -> bool {
    let is_variable = sign == "=" && !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    // Words have letters, and a sign at their end.
    let is_word = value.trim_end_matches(['.', ':', '!', '?']).bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_long = value.len() >= MIN_SECRET_BYTES;
    !is_folder(name, value)
        && (is_random(value)
            || is_long && is_number && (is_strong(name) || is_token_name(name))
            || is_long && is_strong(name) && is_variable && !names_secret(value)
            || value.len() >= MIN_WORD_BYTES && ends_strong(name) && !is_word && !names_secret(value))
}

/// Returns true for the folder in which a shell works: `PWD=/home`.
fn is_folder(name: &str, value: &str) -> bool {
    name.to_ascii_lowercase().ends_with("pwd") && value.starts_with(['/', '~', '.'])
}

fn is_token_name(name: &str) -> bool {
    name.to_ascii_lowercase().contains("token")
}

fn is_strong(name: &str) -> bool {
    let letters = letters(name);
    STRONG_NAMES.iter().any(|strong| letters.contains(strong))
}

/// Returns true for a name of the secret itself, and not of something about it such as the time of its change.
fn ends_strong(name: &str) -> bool {
    let letters = letters(name);
    STRONG_NAMES.iter().any(|strong| letters.ends_with(strong))
}

fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns true for a value that nobody would write as a word: letters and digits, without blanks.
fn is_random(value: &str) -> bool {
    value.len() >= MIN_SECRET_BYTES
        && !value.contains(char::is_whitespace)
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}
