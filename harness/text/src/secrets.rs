//! Secrets of this process, and their redaction in what servers and programs say.
//!
//! The variables that servers and programs are given by name, and all keys and tokens, are in one list. Whatever reads a text from
//! outside masks it before it is stored, shown or passed on.

mod recognize;
mod spelling;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use serde_json::Value;

use self::recognize::password_of_url;
pub use self::recognize::{looks_like_secret, names_secret, secrets_in_url};
use self::spelling::{Spelling, StartBytes};
use crate::is_unsafe;

/// The replacement for a secret.
const REDACTED: &str = "[key]";
/// The longest text from a server in a message, in characters.
const MESSAGE_CHARS: usize = 300;
/// Shorter values are not redacted, because they may be ordinary words: for servers that need no key, users set `none`
/// or `ollama`.
const MIN_SECRET_BYTES: usize = 8;
/// The shortest value of a variable that is redacted if the variable's name says that it is a secret. It is searched as a word.
const MIN_NAMED_BYTES: usize = 4;
/// Longer words are not taken for names.
const MAX_NAME_BYTES: usize = 40;
static OF_PROCESS: RwLock<Option<Arc<Secrets>>> = RwLock::new(None);

/// Adds a key or a token to the secrets of this process.
pub fn keep_secret(value: &str) {
    keep(|secrets| secrets.add(value));
}

/// Adds the value of a variable that a program is given by its name. The path of something that exists is no secret.
pub fn keep_variable(name: &str, value: &str) {
    keep(|secrets| secrets.add_variable(name, value));
}

/// Takes words that a server publishes, such as the names of its tools and fields, out of the secrets of this process: the variable
/// `MODE=path` does not make a field `path` a secret. Only what is written as a name is taken out.
pub fn keep_public<'w>(words: impl IntoIterator<Item = &'w str>) {
    let is_name = |word: &&str| {
        word.len() <= MAX_NAME_BYTES && word.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_-.".contains(&byte))
    };
    let words: BTreeSet<String> = words.into_iter().filter(is_name).map(str::to_ascii_lowercase).collect();
    let mut all = OF_PROCESS.write().unwrap_or_else(PoisonError::into_inner);
    if words.iter().any(|word| !all.as_ref().is_some_and(|all| all.public.contains(word))) {
        let mut changed = all.as_deref().cloned().unwrap_or_default();
        changed.release(words);
        *all = Some(Arc::new(changed));
    }
}

/// Returns the secrets of this process as they are now.
pub fn secrets() -> Arc<Secrets> {
    OF_PROCESS.read().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
}

/// Changes a copy of the list, so that those who search it never wait.
fn keep(add: impl FnOnce(&mut Secrets)) {
    let mut all = OF_PROCESS.write().unwrap_or_else(PoisonError::into_inner);
    let mut changed = all.as_deref().cloned().unwrap_or_default();
    let known = changed.spellings.len();
    add(&mut changed);
    if changed.spellings.len() > known {
        *all = Some(Arc::new(changed));
    }
}

/// Secrets, in every spelling that is searched for.
#[derive(Default, Clone)]
pub struct Secrets {
    spellings: Vec<Spelling>,
    starts: StartBytes,
    /// Words in lower case that are no secrets.
    public: BTreeSet<String>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl Secrets {
    /// Adds a header's value. In `Bearer VALUE` only `VALUE` is secret. Values of fewer than 8 bytes are words.
    pub fn add(&mut self, value: &str) {
        let value = value.trim();
        let secret = match value.split_once(' ') {
            Some((scheme, rest)) if scheme.bytes().all(|b| b.is_ascii_alphabetic()) && !rest.contains(' ') => rest,
            _ => value,
        };
        if secret.len() >= MIN_SECRET_BYTES && !self.holds(secret) && !self.is_public(secret) {
            self.spellings.extend(Spelling::all_of(secret));
            self.starts = StartBytes::of(&self.spellings);
        }
    }

    /// Adds the value of a variable: the whole, each of its lines, and the password of a URL.
    fn add_variable(&mut self, name: &str, value: &str) {
        let value = value.trim();
        if Path::new(value).is_absolute() && Path::new(value).exists() {
            return;
        }
        self.add(value);
        if value.len() < MIN_SECRET_BYTES && names_secret(name) {
            self.add_word(value);
        }
        if value.contains('\n') {
            value.lines().for_each(|line| self.add(line));
        }
        if let Some(password) = password_of_url(value) {
            self.add(password);
            self.add_word(password);
        }
    }

    /// Adds a short secret, which is searched as a whole word, since it may be a part of any text.
    fn add_word(&mut self, word: &str) {
        let is_short = (MIN_NAMED_BYTES..MIN_SECRET_BYTES).contains(&word.len());
        if is_short && word.is_ascii() && !self.holds(word) && !self.is_public(word) {
            self.spellings.push(Spelling::word(word));
            self.starts = StartBytes::of(&self.spellings);
        }
    }

    /// Removes words, in lower case, and keeps them out.
    fn release(&mut self, words: BTreeSet<String>) {
        let is_released = |spelling: &&Spelling| words.iter().any(|word| spelling.is_in_any_case(word));
        let released: Vec<Spelling> =
            self.spellings.iter().filter(is_released).flat_map(Spelling::with_all_others).collect();
        self.spellings.retain(|spelling| !released.contains(spelling));
        self.starts = StartBytes::of(&self.spellings);
        self.public.extend(words);
    }

    fn is_public(&self, secret: &str) -> bool {
        self.public.contains(&secret.to_ascii_lowercase())
    }

    fn holds(&self, secret: &str) -> bool {
        self.spellings.iter().any(|spelling| spelling.is(secret))
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.spellings.is_empty()
    }

    /// Prepares text from a server for a message: removes secrets, truncates it and escapes control characters.
    pub fn redact(&self, text: &str) -> String {
        let clean = self.replace_secrets(text.trim(), TextEnd::MaybeTruncated, None);
        // Without a time limit, it cannot be exceeded.
        let clean = clean.unwrap_or(Some(REDACTED.to_owned()));
        let text = clean.as_deref().unwrap_or(text.trim());
        let mut out = String::with_capacity(text.len().min(MESSAGE_CHARS));
        for (n, c) in text.chars().enumerate() {
            if n == MESSAGE_CHARS {
                out.push('…');
                break;
            }
            if is_unsafe(c) {
                out.extend(c.escape_default());
            } else {
                out.push(c);
            }
        }
        out
    }

    /// Replaces secrets in a text that may have been cut.
    pub fn mask_cut(&self, text: &str) -> String {
        let clean = self.replace_secrets(text, TextEnd::MaybeTruncated, None).unwrap_or(Some(REDACTED.to_owned()));
        clean.unwrap_or_else(|| text.to_owned())
    }

    /// Replaces secrets in a complete text.
    pub fn mask(&self, text: &str) -> String {
        // Without a time limit, it cannot be exceeded.
        let clean = self.replace_secrets(text, TextEnd::Complete, None).unwrap_or(Some(REDACTED.to_owned()));
        clean.unwrap_or_else(|| text.to_owned())
    }

    /// Replaces secrets in all strings, numbers and names of a value.
    pub fn mask_json(&self, value: &mut Value) {
        // Without a time limit, it cannot be exceeded.
        let _ = self.redact_json(value, None);
    }

    /// Replaces secrets in all strings, numbers and names of a value, unless this takes longer than `until`.
    ///
    /// # Errors
    /// [`TimeLimitExceeded`]; a part of the value is redacted then.
    pub fn redact_json(&self, value: &mut Value, until: Option<Instant>) -> Result<(), TimeLimitExceeded> {
        if self.is_empty() {
            return Ok(());
        }
        match value {
            Value::String(text) => {
                if let Some(clean) = self.replace_secrets(text, TextEnd::Complete, until)? {
                    *text = clean;
                }
            }
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.redact_json(item, until))?,
            Value::Object(fields) => {
                let mut has_secret = false;
                for (name, field) in fields.iter_mut() {
                    self.redact_json(field, until)?;
                    has_secret |= self.replace_secrets(name, TextEnd::Complete, until)?.is_some();
                }
                if has_secret {
                    let mut clean = serde_json::Map::new();
                    for (name, field) in std::mem::take(fields) {
                        clean.insert(self.replace_secrets(&name, TextEnd::Complete, until)?.unwrap_or(name), field);
                    }
                    *fields = clean;
                }
            }
            // A number is a secret only as a whole.
            Value::Number(number) if self.holds(&number.to_string()) => *value = REDACTED.into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        Ok(())
    }

    /// Returns the text with every secret replaced, or `None` if it contains none.
    fn replace_secrets(
        &self,
        text: &str,
        end: TextEnd,
        until: Option<Instant>,
    ) -> Result<Option<String>, TimeLimitExceeded> {
        let bytes = text.as_bytes();
        let mut clean: Option<String> = None;
        let (mut at, mut copied) = (0, 0);
        let mut searched = 0_u32;
        while let Some(start) = self.starts.next(bytes, at) {
            searched += 1;
            if searched.is_multiple_of(SEARCHES_PER_CLOCK) && until.is_some_and(|until| Instant::now() > until) {
                return Err(TimeLimitExceeded);
            }
            let found = self.spellings.iter().filter_map(|spelling| spelling.find_at(bytes, start, copied, end));
            let Some(found) = found.max_by_key(|found| found.end) else {
                at = start + 1;
                continue;
            };
            // What is found may end within a character, if only its beginning is the same.
            let found = text.floor_char_boundary(found.start).max(copied)..text.ceil_char_boundary(found.end);
            let out = clean.get_or_insert_default();
            out.push_str(&text[copied..found.start]);
            out.push_str(REDACTED);
            at = found.end;
            copied = found.end;
        }
        if let Some(clean) = &mut clean {
            clean.push_str(&text[copied..]);
        }
        Ok(clean)
    }
}

/// The number of places that are searched between two looks at the clock.
const SEARCHES_PER_CLOCK: u32 = 256;

/// The error of a search that took too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimitExceeded;

/// The completeness of a text: a truncated one may end inside a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextEnd {
    Complete,
    MaybeTruncated,
}

#[cfg(test)]
mod tests;
