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
mod tests {
    use serde_json::json;

    use super::*;

    const KEY: &str = "sk-Ab/9+z=\"q%25%e";

    impl Secrets {
        fn redact_all(&self, text: &str) -> String {
            let mut value = Value::from(text);
            self.redact_json(&mut value, None).unwrap();
            value.as_str().unwrap().to_owned()
        }
    }

    fn secrets() -> Secrets {
        let mut secrets = Secrets::default();
        secrets.add(&format!("Bearer {KEY}"));
        secrets
    }

    #[test]
    fn a_key_is_found_however_it_is_spelled() {
        for text in [
            KEY.to_owned(),
            KEY.to_lowercase(),
            "sk-Ab%2F9%2Bz%3D%22q%2525%25e".to_owned(),
            "sk%2dAb%2f9+z=%22q%2525%25e".to_owned(),
            "%73%6b-Ab/9+z=\"q%25%e".to_owned(),
            r#"sk-Ab\/9+z=\"q%25%e"#.to_owned(),
            r#"\u0073k-Ab\/9+z=\"q%25%e"#.to_owned(),
        ] {
            assert_eq!(secrets().redact(&format!("«{text}» said «{text}»")), "«[key]» said «[key]»", "{text}");
        }
    }

    #[test]
    fn a_key_in_base64_is_found_at_every_alignment() {
        use base64::Engine as _;
        use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
        // With these bytes, both alphabets have characters of their own in the text.
        const KEY: &str = "sk-~~~???>>>Ab/9+z";
        let mut secrets = Secrets::default();
        secrets.add(KEY);
        for before in ["", "a", "ab", "abc", "Bearer "] {
            for after in ["", "x", "xy", "xyz"] {
                let text = format!("{before}{KEY}{after}");
                for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD] {
                    let encoded = engine.encode(&text);
                    let wrapped: String = encoded.chars().flat_map(|c| ['\n', c]).collect();
                    for spelled in [encoded.clone(), encoded.replace('=', "%3D").replace('/', "\\/"), wrapped] {
                        let clean = secrets.redact_all(&spelled);
                        assert!(clean.contains(REDACTED), "{spelled}");
                        // The rest must not decode to any byte of the key.
                        let rest: String = clean.replace(REDACTED, "").split_whitespace().collect();
                        let rest = rest.replace("%3D", "").replace('=', "");
                        let surrounding = engine.encode(before).len() + engine.encode(after).len() + 2;
                        assert!(rest.len() <= surrounding, "{clean} of {spelled}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_key_is_found_between_blanks_and_escapes() {
        let hex: String = KEY.bytes().map(|byte| format!("{byte:02X}")).collect();
        let between = |separator: &str| KEY.chars().map(|c| format!("{c}{separator}")).collect::<String>();
        let escaped = |escape: &dyn Fn(u32) -> String| KEY.chars().map(|c| escape(u32::from(c))).collect::<String>();
        let spelled = [
            " ",
            "\n",
            "\t  ",
            "\u{200b}",
            "\u{a0}",
            "\u{ad}",
            "\u{feff}\u{2060}",
            "\\n",
            "\\u200B",
            "%20",
            "%E2%80%8b",
            "&nbsp;",
            "&#8203;",
            "-",
            " - ",
            "_",
            "\u{1b}[31m",
            "\\u001b[0;1m",
            "\\\\n",
            "\\\\u200b",
        ]
        .map(between);
        let escapes = [
            escaped(&|c| format!("%{c:02x}")),
            escaped(&|c| format!("%{c:02X}")),
            escaped(&|c| format!("\\u{c:04X}")),
            escaped(&|c| format!("\\u{{{c:x}}}")),
            escaped(&|c| format!("\\x{c:02x}")),
            escaped(&|c| format!("&#{c};")),
            escaped(&|c| format!("&#x{c:X};")),
            escaped(&|c| format!("%{c:02x}\n")),
            escaped(&|c| format!("\\\\u{c:04x}")),
            serde_json::to_string(&serde_json::to_string(KEY).unwrap())
                .unwrap()
                .replace("\"\\\"", "")
                .replace("\\\"\"", ""),
        ];
        for text in spelled.into_iter().chain(escapes).chain([hex.clone(), hex.to_lowercase()]) {
            let clean = secrets().redact_all(&format!("«{text}»"));
            let rest = clean.strip_prefix("«[key]").unwrap_or_else(|| panic!("{clean} of {text}"));
            // Only the separator after the last character may be left.
            assert!(rest.len() < 16 && !rest.contains("5e"), "{clean} of {text}");
        }
    }

    #[test]
    fn a_key_with_other_letters_is_found() {
        let secrets = |key: &str| {
            let mut secrets = Secrets::default();
            secrets.add(key);
            secrets
        };
        for text in [
            "passwortü99",
            "PASSWORTÜ99",
            "passwort\\u00fc99",
            "passwort\\u00FC99",
            "passwort&#252;99",
            "p-a-s-s-w-o-r-t-ü-9-9",
        ] {
            assert_eq!(secrets("passwortü99").mask(&format!("login of {text} failed")), "login of [key] failed");
        }
        // A beginning may end within a letter of another word.
        assert_eq!(secrets("passwortü").mask("passwortö"), "[key]");
        let key = "Qw3rTy7uIoPz9XcV";
        for text in
            ["Qw3r' + 'Ty7uIoPz9XcV", "**Qw3r**Ty7uIoPz9XcV", "Qw3rTy7u\\\nIoPz9XcV", "[\"Q\",\"w3rTy7uIoPz9XcV\"]"]
        {
            let clean = secrets(key).mask(text);
            assert!(clean.contains(REDACTED) && !clean.contains("XcV"), "{clean} of {text}");
        }
        assert_eq!(secrets("a/b?c=d&e/f").mask("a%252Fb%253fc%253Dd%2526e%252Ff"), REDACTED);
    }

    #[test]
    fn redacting_takes_time_in_proportion_to_the_text() {
        let key = "sk-proj-".to_owned() + &"a1B2c3D4".repeat(20);
        let mut secrets = Secrets::default();
        secrets.add(&key);
        // Texts of which many positions look like the beginning of the key, with many readings.
        let half = &key[..key.len() / 2 - 1];
        let near = [
            half.repeat(20_000),
            "s   k   ".repeat(200_000),
            format!("s{}", " ".repeat(300)).repeat(5_000),
            "%73%6b".repeat(200_000),
            "\\u0073".repeat(200_000),
        ];
        for text in near {
            let started = std::time::Instant::now();
            secrets.redact_all(&text);
            // About a second for 1 MB without a limit on the work at each position would be hours at 16 MB.
            assert!(started.elapsed().as_secs() < 20, "{:?} for {} bytes", started.elapsed(), text.len());
        }
    }

    #[test]
    fn what_breaks_off_in_a_key_is_cut_as_well() {
        assert_eq!(secrets().redact("wrong: Bearer sk-Ab/"), "wrong: Bearer [key]");
        assert_eq!(secrets().redact("wrong: sk-Ab/9+z…"), "wrong: [key]…");
        assert_eq!(secrets().redact("sk-A is how keys begin"), "sk-A is how keys begin");
    }

    #[test]
    fn a_word_is_no_secret() {
        let mut secrets = Secrets::default();
        secrets.add("ollama");
        assert_eq!(secrets.redact("ollama is busy"), "ollama is busy");
    }

    #[test]
    fn messages_are_short_and_visible() {
        assert_eq!(secrets().redact("\u{1b}[31mred\nline\u{202e}\u{200b}"), r"\u{1b}[31mred\nline\u{202e}\u{200b}");
        let long = secrets().redact(&"ä".repeat(5000));
        assert_eq!(long.chars().count(), 301);
        // A key that spans the limit is replaced before the text is truncated.
        let across = secrets().redact(&format!("{}{KEY}", "x".repeat(296)));
        assert_eq!(across, format!("{}[key…", "x".repeat(296)));
    }

    #[test]
    fn json_is_redacted_in_values_and_names() {
        let mut value = json!({"a": [KEY, {"b": format!("x{KEY}x")}], KEY: 1, "c": "sk-Ab/"});
        secrets().redact_json(&mut value, None).unwrap();
        assert_eq!(value.to_string(), r#"{"a":["[key]",{"b":"x[key]x"}],"[key]":1,"c":"sk-Ab/"}"#);
    }

    #[test]
    fn a_number_that_is_a_secret_is_replaced_as_a_whole() {
        let mut secrets = Secrets::default();
        secrets.add("8675309000");
        let mut value = json!({"id": 8_675_309_000_i64, "other": 86_753_090_001_i64});
        secrets.mask_json(&mut value);
        assert_eq!(value.to_string(), r#"{"id":"[key]","other":86753090001}"#);
    }

    #[test]
    fn the_value_of_a_variable_is_searched_by_what_it_is() {
        let of = |name: &str, value: &str| {
            let mut secrets = Secrets::default();
            secrets.add_variable(name, value);
            secrets
        };
        // A short one only if its name says so, and as a word.
        assert_eq!(of("DB_PASS", "h0rse").mask("h0rse, h0rses, (h0rse)"), "[key], h0rses, ([key])");
        assert_eq!(of("PORT", "8080").mask("port 8080"), "port 8080");
        assert_eq!(of("TOKEN", "abc").mask("abc"), "abc");
        // Lines of a longer one, and the password of an address.
        let pem = "-----BEGIN KEY-----\nMIIEvAIBADANBgkqhkiG\n9w0BAQEFAASCBKYwggSi\n-----END KEY-----";
        assert_eq!(of("PEM", pem).mask("line 2: 9w0BAQEFAASCBKYwggSi"), "line 2: [key]");
        let database = of("DATABASE_URL", "postgres://ann:h0rse-battery@db:5432/shop");
        assert_eq!(database.mask("login of ann with h0rse-battery failed"), "login of ann with [key] failed");
        assert_eq!(database.mask("postgres://ann:h0rse-battery@db:5432/shop is down"), "[key] is down");
        // A folder that exists is no secret.
        let folder = std::env::temp_dir().to_string_lossy().into_owned();
        assert!(of("DATA_KEY_DIR", &folder).is_empty());
    }

    #[test]
    fn the_secrets_of_the_process_grow() {
        keep_secret("a-secret-of-the-process");
        keep_variable("OTHER", "another-secret-of-it");
        keep_secret("a-secret-of-the-process");
        assert_eq!(super::secrets().mask("a-secret-of-the-process another-secret-of-it"), "[key] [key]");
    }

    #[test]
    fn what_is_public_is_no_secret() {
        let mut secrets = secrets();
        secrets.add("Organization");
        secrets.add_word("path");
        let public = ["organization", "path", "other"].map(str::to_owned);
        assert_eq!(secrets.mask("organization: path"), "[key]: [key]");
        secrets.release(public.into());
        secrets.add("organization");
        assert_eq!(secrets.mask(&format!("organization: path of {KEY}")), "organization: path of [key]");
        // What is no name stays secret whoever publishes it.
        keep_secret("published-secret-9");
        keep_public(["published-secret-9"]);
        assert_eq!(super::secrets().mask("published-secret-9"), "[key]");
    }

    #[test]
    fn secrets_do_not_print() {
        assert_eq!(format!("{:?}", secrets()), "[key]");
    }
}
