//! API keys and their redaction in text from servers.

mod spelling;

use std::fmt;
use std::time::Instant;

use healbench_protocol::{Object, is_unsafe};
use serde_json::Value;

use self::spelling::{Spelling, StartBytes};

/// The replacement for a secret.
const REDACTED: &str = "[key]";
/// The longest text from a server in a message, in characters.
const MESSAGE_CHARS: usize = 300;
/// Shorter values are not redacted, because they may be ordinary words: for servers that need no key, users set `none`
/// or `ollama`.
const MIN_SECRET_BYTES: usize = 8;

/// A value that is sent to a server and never shown.
pub(super) struct Secret(String);

impl Secret {
    pub(super) fn new(value: String) -> Secret {
        Secret(value)
    }

    /// Returns the value. Use it only for a header.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// All secrets of an endpoint, in every spelling that is searched for.
#[derive(Default)]
pub(crate) struct Secrets {
    spellings: Vec<Spelling>,
    starts: StartBytes,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl Secrets {
    /// Adds a header's value. In `Bearer VALUE` only `VALUE` is secret.
    pub(crate) fn add(&mut self, value: &str) {
        let secret = match value.split_once(' ') {
            Some((scheme, rest)) if scheme.bytes().all(|b| b.is_ascii_alphabetic()) && !rest.contains(' ') => rest,
            _ => value,
        };
        if secret.len() >= MIN_SECRET_BYTES {
            self.spellings.extend(Spelling::all_of(secret));
            self.starts = StartBytes::of(&self.spellings);
        }
    }

    /// Prepares text from a server for a message: removes secrets, truncates it and escapes control characters.
    pub(crate) fn redact(&self, text: &str) -> String {
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

    /// Replaces secrets in a complete text.
    pub(crate) fn mask(&self, text: &str) -> String {
        // Without a time limit, it cannot be exceeded.
        let clean = self.replace_secrets(text, TextEnd::Complete, None).unwrap_or(Some(REDACTED.to_owned()));
        clean.unwrap_or_else(|| text.to_owned())
    }

    /// Redacts secrets in all strings and object keys of `value`, unless this takes longer than `until`.
    pub(crate) fn redact_json(&self, value: &mut Value, until: Option<Instant>) -> Result<(), TimeLimitExceeded> {
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
                    let mut clean = Object::new();
                    for (name, field) in std::mem::take(fields) {
                        clean.insert(self.replace_secrets(&name, TextEnd::Complete, until)?.unwrap_or(name), field);
                    }
                    *fields = clean;
                }
            }
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
            // A spelling begins and ends with ASCII, so both ends are character boundaries.
            let Some(found) = found.max_by_key(|found| found.end) else {
                at = start + 1;
                continue;
            };
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
pub(crate) struct TimeLimitExceeded;

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
        ];
        for text in spelled.into_iter().chain(escapes).chain([hex.clone(), hex.to_lowercase()]) {
            let clean = secrets().redact_all(&format!("«{text}»"));
            let rest = clean.strip_prefix("«[key]").unwrap_or_else(|| panic!("{clean} of {text}"));
            // Only the separator after the last character may be left.
            assert!(rest.len() < 12 && !rest.contains("5e"), "{clean} of {text}");
        }
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
    fn secrets_do_not_print() {
        assert_eq!(format!("{:?}", secrets()), "[key]");
    }
}
