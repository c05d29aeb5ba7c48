//! The spellings in which a server may repeat a secret, and the search for them.
//!
//! A spelling is a sequence of characters: the secret itself, its hexadecimal digits, or what its bytes become
//! inside a Base64 text. Each character may be escaped, also more than once, and blanks, invisible characters, the colors of a terminal and
//! signs may stand between two.

use std::ops::Range;

use super::{MIN_SECRET_BYTES, TextEnd};
use crate::is_unsafe;

/// The shortest prefix of a spelling that is redacted at the end of a truncated text.
const MIN_TAIL_BYTES: usize = 6;
/// The largest number of blanks and invisible characters between two characters of a spelling.
const MAX_SEPARATORS: usize = 256;
/// The largest number of backslashes that begin one escape: JSON in JSON in JSON.
const MAX_BACKSLASHES: usize = 8;

/// One spelling of a secret. Case is ignored, because hosts and content types are lowercased.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Spelling {
    characters: Vec<u8>,
    /// True if it is found between characters that are no letters and digits only.
    is_word: bool,
    /// True if the character before has bits of the secret, as in Base64, where a byte spans two characters.
    shares_before: bool,
    /// True if the character after has bits of the secret.
    shares_after: bool,
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

impl Spelling {
    /// Returns all spellings of a secret.
    pub(super) fn all_of(secret: &str) -> Vec<Spelling> {
        let unshared =
            |characters: Vec<u8>| Spelling { characters, is_word: false, shares_before: false, shares_after: false };
        let hex = secret.bytes().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect();
        let mut all = vec![unshared(secret.as_bytes().to_vec()), unshared(hex)];
        if !secret.is_ascii() {
            // Other letters are escaped by some, and have another case.
            let escaped = |c: char| if c.is_ascii() { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) };
            let numbered = |c: char| if c.is_ascii() { c.to_string() } else { format!("&#{};", u32::from(c)) };
            let others = [
                secret.chars().map(escaped).collect(),
                secret.chars().map(numbered).collect(),
                secret.to_uppercase(),
                secret.to_lowercase(),
            ];
            all.extend(others.map(|other: String| unshared(other.into_bytes())));
        }
        // The characters depend on the position of the first byte in its group of three.
        all.extend((0..3).map(|position| Spelling::base64(secret.as_bytes(), position)));
        all
    }

    /// Returns the spelling of a short secret, as it is.
    pub(super) fn word(secret: &str) -> Spelling {
        let characters = secret.as_bytes().to_vec();
        Spelling { characters, is_word: true, shares_before: false, shares_after: false }
    }

    /// Returns all spellings of a secret that this is, as it is, and the one as a word.
    pub(super) fn with_all_others(&self) -> Vec<Spelling> {
        let secret = String::from_utf8_lossy(&self.characters);
        Spelling::all_of(&secret).into_iter().chain([Spelling::word(&secret)]).collect()
    }

    /// Returns true if this is a word, in whatever case.
    pub(super) fn is_in_any_case(&self, word: &str) -> bool {
        self.characters.eq_ignore_ascii_case(word.as_bytes())
    }

    /// Returns true if this is the secret itself.
    pub(super) fn is(&self, secret: &str) -> bool {
        self.characters == secret.as_bytes()
    }

    /// Returns the Base64 characters that a secret alone decides, if its first byte is at `position` of three.
    fn base64(secret: &[u8], position: usize) -> Spelling {
        let bit = |at: usize| secret[at / 8 - position] >> (7 - at % 8) & 1;
        let (first_bit, end_bit) = (position * 8, (position + secret.len()) * 8);
        let characters = (first_bit.div_ceil(6)..end_bit / 6)
            .map(|index| BASE64[usize::from((index * 6..index * 6 + 6).fold(0, |value, at| value << 1 | bit(at)))]);
        Spelling {
            characters: characters.collect(),
            is_word: false,
            shares_before: first_bit % 6 != 0,
            shares_after: end_bit % 6 != 0,
        }
    }

    /// Returns the range to redact if this spelling begins at `start`: all of it, at least half of it, or a prefix at
    /// the end of a truncated text. The range begins at `earliest` or later.
    pub(super) fn find_at(&self, text: &[u8], start: usize, earliest: usize, end: TextEnd) -> Option<Range<usize>> {
        let first = *self.characters.first()?;
        if !readings(&text[start..]).into_iter().flatten().any(|(byte, _)| is_same(byte, first)) {
            return None;
        }
        let is_inside = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        if self.is_word && start > 0 && is_inside(text.get(start - 1)) {
            return None;
        }
        let (mut to, matched) = self.match_prefix(text, start);
        if self.is_word && is_inside(text.get(to)) {
            return None;
        }
        let is_whole = matched == self.characters.len();
        let breaks_off = end == TextEnd::MaybeTruncated && to == text.len() && matched >= MIN_TAIL_BYTES;
        if !(is_whole || (matched >= MIN_SECRET_BYTES && matched * 2 >= self.characters.len()) || breaks_off) {
            return None;
        }
        let mut from = start;
        let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
        if self.shares_before && start > earliest && is_base64(&text[start - 1]) {
            from -= 1;
        }
        if self.shares_after && is_whole && text.get(to).is_some_and(is_base64) {
            to += 1;
        }
        Some(from..to)
    }

    /// Returns the end of the longest prefix of the spelling at `start`, and the number of its characters.
    fn match_prefix(&self, text: &[u8], start: usize) -> (usize, usize) {
        // The ends of all readings of the text: a `%` may be itself, or begin an escape.
        let (mut ends, mut next) = (vec![start], Vec::new());
        for (matched, expected) in self.characters.iter().enumerate() {
            for end in &ends {
                let mut at = *end;
                let separators = if matched == 0 { 0 } else { MAX_SEPARATORS };
                for _ in 0..=separators {
                    for (byte, length) in readings(&text[at..]).into_iter().flatten() {
                        if is_same(byte, *expected) && !next.contains(&(at + length)) {
                            next.push(at + length);
                        }
                    }
                    match separator_length(&text[at..], self.is_word) {
                        Some(length) => at += length,
                        None => break,
                    }
                }
            }
            if next.is_empty() {
                return (ends.into_iter().max().unwrap_or(start), matched);
            }
            std::mem::swap(&mut ends, &mut next);
            next.clear();
        }
        (ends.into_iter().max().unwrap_or(start), self.characters.len())
    }
}

/// Compares two characters without regard to case and to the two alphabets of Base64.
fn is_same(a: u8, b: u8) -> bool {
    let folded = |byte: u8| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => other.to_ascii_lowercase(),
    };
    folded(a) == folded(b)
}

/// The bytes at which a spelling may begin.
#[derive(Default, Clone)]
pub(super) struct StartBytes(Vec<bool>);

impl StartBytes {
    pub(super) fn of(spellings: &[Spelling]) -> StartBytes {
        let begins =
            |byte: u8| spellings.iter().filter_map(|s| s.characters.first()).any(|first| is_same(byte, *first));
        StartBytes((0..=u8::MAX).map(|byte| begins(byte) || b"%\\&".contains(&byte)).collect())
    }

    /// Returns the first position from `at` at which a spelling may begin.
    pub(super) fn next(&self, text: &[u8], at: usize) -> Option<usize> {
        let begins = |byte: &u8| self.0.get(usize::from(*byte)) == Some(&true);
        text.get(at..)?.iter().position(begins).map(|offset| at + offset)
    }
}

/// Returns the possible first bytes of a text with their lengths: verbatim, decoded from an escape, and from one that was escaped again.
fn readings(text: &[u8]) -> [Option<(u8, usize)>; 3] {
    if let Some([a, b, ..]) = text.strip_prefix(b"%25") {
        let byte = hex_digits(&[*a, *b]).and_then(|value| u8::try_from(value).ok());
        return [Some((b'%', 1)), escaped(text), byte.map(|byte| (byte, 5))];
    }
    let surplus = surplus_backslashes(text);
    let again = escaped(&text[surplus..]).filter(|_| surplus > 0).map(|(byte, length)| (byte, length + surplus));
    [text.first().map(|byte| (*byte, 1)), escaped(text), again]
}

/// Returns the number of backslashes before the one that begins an escape.
fn surplus_backslashes(text: &[u8]) -> usize {
    text.iter().take(MAX_BACKSLASHES).take_while(|byte| **byte == b'\\').count().saturating_sub(1)
}

fn escaped(text: &[u8]) -> Option<(u8, usize)> {
    match text {
        [b'%', a, b, ..] => hex_digits(&[*a, *b]).and_then(|value| Some((u8::try_from(value).ok()?, 3))),
        [b'\\', c @ (b'/' | b'"' | b'\'' | b'\\'), ..] => Some((*c, 2)),
        [b'\\' | b'&', ..] => character(text).and_then(|(value, length)| Some((u8::try_from(value).ok()?, length))),
        _ => None,
    }
}

/// Decodes an escape of a character as in JSON, JavaScript, Rust, or HTML.
fn character(text: &[u8]) -> Option<(u32, usize)> {
    match text {
        [b'\\', b'u', b'{', rest @ ..] => {
            let length = rest.iter().take(7).position(|byte| *byte == b'}')?;
            Some((hex_digits(&rest[..length])?, length + 4))
        }
        [b'\\', b'u' | b'U', a, b, c, d, ..] => Some((hex_digits(&[*a, *b, *c, *d])?, 6)),
        [b'\\', b'x' | b'X', a, b, ..] => Some((hex_digits(&[*a, *b])?, 4)),
        [b'\\', b'n', ..] => Some((u32::from(b'\n'), 2)),
        [b'\\', b'r', ..] => Some((u32::from(b'\r'), 2)),
        [b'\\', b't', ..] => Some((u32::from(b'\t'), 2)),
        [b'&', rest @ ..] => {
            let length = rest.iter().take(9).position(|byte| *byte == b';')?;
            let value = match &rest[..length] {
                [b'#', b'x' | b'X', digits @ ..] => hex_digits(digits)?,
                [b'#', digits @ ..] => std::str::from_utf8(digits).ok()?.parse().ok()?,
                b"amp" => u32::from(b'&'),
                b"quot" => u32::from(b'"'),
                b"apos" => u32::from(b'\''),
                b"lt" => u32::from(b'<'),
                b"gt" => u32::from(b'>'),
                b"nbsp" => 0xa0,
                _ => return None,
            };
            Some((value, length + 2))
        }
        _ => None,
    }
}

fn hex_digits(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Returns the length of what may stand between two characters of a spelling: a blank or an invisible character, which may be escaped, a
/// sequence that colors a terminal, or, unless the spelling is a word, a sign.
fn separator_length(text: &[u8], is_word: bool) -> Option<usize> {
    let first = text.first()?;
    if !is_word && b"-_.,:;|/*+`'\"[]".contains(first) {
        return Some(1);
    }
    // A line that goes on in the next one.
    if text.starts_with(b"\\\n") {
        return Some(2);
    }
    let surplus = surplus_backslashes(text);
    let (text, before) = (&text[surplus..], surplus);
    let length = blank_length(text)?;
    // The rest of `ESC [ 31 m`.
    let is_escape = text[0] == 0x1b || character(text).is_some_and(|(value, _)| value == 0x1b);
    let color = text[length..].strip_prefix(b"[").filter(|_| is_escape).map_or(0, |rest| {
        let digits = rest.iter().take(16).take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
        if rest.get(digits).is_some_and(u8::is_ascii_alphabetic) { digits + 2 } else { 0 }
    });
    Some(before + length + color)
}

fn blank_length(text: &[u8]) -> Option<usize> {
    let is_separator = |c: char| c.is_whitespace() || is_unsafe(c) || matches!(c, '\u{34f}' | '\u{fe00}'..='\u{fe0f}');
    match text.first()? {
        b'\\' | b'&' => {
            let (value, length) = character(text)?;
            char::from_u32(value).is_some_and(is_separator).then_some(length)
        }
        b'%' => {
            let mut bytes = Vec::with_capacity(4);
            for escape in text.chunks(3).take(4) {
                let [b'%', a, b] = escape else { break };
                let Some(byte) = hex_digits(&[*a, *b]).and_then(|value| u8::try_from(value).ok()) else { break };
                bytes.push(byte);
            }
            first_character(&bytes).filter(|c| is_separator(*c)).map(|c| c.len_utf8() * 3)
        }
        0x21..=0x7e => None,
        _ => first_character(&text[..text.len().min(4)]).filter(|c| is_separator(*c)).map(char::len_utf8),
    }
}

/// Returns the first character of bytes that may break off in the next one.
fn first_character(bytes: &[u8]) -> Option<char> {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?,
    };
    valid.chars().next()
}
