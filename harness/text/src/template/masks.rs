//! The masks of words, quoted texts, numbers, ids, URLs and paths.

use super::{MARKS, MASK};

/// Returns true if the text has the value with no letter, digit or underscore next to it.
pub(super) fn has_word(text: &str, value: &str) -> bool {
    text.match_indices(value).any(|(at, _)| is_whole(text, at, value.len()))
}

fn is_whole(text: &str, at: usize, length: usize) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    !text[..at].ends_with(is_part) && !text[at + length..].starts_with(is_part)
}

/// Replaces values that stand as whole words by the mask; at one position the first of them.
pub(super) fn replace_words(text: &str, values: &[String]) -> String {
    if values.is_empty() {
        return text.to_owned();
    }
    let mut replaced = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let found =
            values.iter().find(|value| text[at..].starts_with(value.as_str()) && is_whole(text, at, value.len()));
        match found {
            Some(value) => {
                replaced.push(MASK);
                at += value.len();
            }
            None => {
                replaced.push(next);
                at += next.len_utf8();
            }
        }
    }
    replaced
}

/// Masks quoted texts, numbers, ids, URLs and paths, and marks those that may be names.
pub(super) fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        if let Some(length) = url_length(rest).filter(|_| !masked.ends_with(char::is_alphanumeric)) {
            masked.push(MASK);
            at += length;
        } else if let Some(quoted) = quoted(&text[..at], rest) {
            match is_identifier(quoted.content) {
                true => masked.extend([MARKS[0].to_string().as_str(), quoted.whole, MARKS[1].to_string().as_str()]),
                false => masked.push(MASK),
            }
            at += quoted.whole.len();
        } else if is_separator(next) {
            masked.push(next);
            at += next.len_utf8();
        } else {
            let word = &rest[..word_length(rest)];
            // The end of an element is no path.
            match masked.ends_with('<') && word.starts_with('/') {
                true => masked.push_str(word),
                false => mask_word(word, &mut masked),
            }
            at += word.len();
        }
    }
    masked
}

/// Returns the length of a URL at the beginning of a text, without punctuation after it.
fn url_length(text: &str) -> Option<usize> {
    let scheme =
        text.find("://").filter(|end| *end > 0 && text[..*end].chars().all(|c| c.is_ascii_alphanumeric() || c == '+'));
    if scheme.is_none() && !text.starts_with("www.") {
        return None;
    }
    let end = text.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | ')' | ']' | '}'));
    let url = &text[..end.unwrap_or(text.len())];
    Some(url.trim_end_matches(['.', ',', ';', ':', '!', '?']).len()).filter(|length| *length > 0)
}

/// A quoted text at the beginning of another.
struct Quoted<'t> {
    /// With its quotes.
    whole: &'t str,
    content: &'t str,
}

/// The largest size of a quoted text in bytes.
const MAX_QUOTED: usize = 400;

fn quoted<'t>(before: &str, text: &'t str) -> Option<Quoted<'t>> {
    let open = text.chars().next()?;
    let close = match open {
        '"' | '\'' | '`' => open,
        '“' => '”',
        '‘' => '’',
        '«' => '»',
        _ => return None,
    };
    // An apostrophe within a word, or at its end, is no quote.
    let is_apostrophe = |c: char| c == '\'' || c == '’';
    if is_apostrophe(open) && before.ends_with(char::is_alphanumeric) {
        return None;
    }
    let inside = &text[open.len_utf8()..];
    let inside = &inside[..inside.floor_char_boundary(MAX_QUOTED)];
    let line = inside.split('\n').next().unwrap_or_default();
    let mut is_escaped = false;
    for (at, c) in line.char_indices() {
        let after = &inside[at + c.len_utf8()..];
        if c == close && !is_escaped && !(is_apostrophe(c) && after.starts_with(char::is_alphanumeric)) {
            let end = open.len_utf8() + at + c.len_utf8();
            return Some(Quoted { whole: &text[..end], content: &line[..at] });
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    None
}

/// Returns true for what could name an argument, with a path to it: `title`, `items[0].name`, `/items/0/name`.
fn is_identifier(text: &str) -> bool {
    const MAX_CHARS: usize = 64;
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '[' | ']' | '$' | '@' | MASK);
    text.len() <= MAX_CHARS && text.contains(char::is_alphabetic) && text.chars().all(is_part)
}

fn is_separator(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ',' | ';' | '=' | '|' | '"' | '`' | '“' | '”' | '«' | '»'
        )
}

/// Returns the length of the word at the beginning of a text; an apostrophe ends it unless a letter follows.
fn word_length(text: &str) -> usize {
    let ends = |(at, c): &(usize, char)| {
        let is_end = *c == '\'' && !text[at + 1..].starts_with(char::is_alphanumeric);
        *at > 0 && (is_separator(*c) || is_end)
    };
    text.char_indices().find(ends).map_or(text.len(), |(at, _)| at)
}

fn mask_word(word: &str, masked: &mut String) {
    let core = word.trim_start_matches(['*', '!', '?', ':']);
    masked.push_str(&word[..word.len() - core.len()]);
    let shown = core.trim_end_matches(['.', ':', '!', '?', '*']);
    mask_core(shown, masked);
    masked.push_str(&core[shown.len()..]);
}

fn mask_core(word: &str, masked: &mut String) {
    let may_be_name = |masked: &mut String| {
        masked.push(MARKS[0]);
        masked.push_str(word);
        masked.push(MARKS[1]);
    };
    if is_number(word) || is_address(word) {
        masked.push(MASK);
    } else if is_path(word) || word.contains(MASK) && word.contains(['/', '\\']) {
        may_be_name(masked);
    } else if word.contains(':') {
        for (index, part) in word.split(':').enumerate() {
            masked.push_str(if index > 0 { ":" } else { "" });
            mask_core(part, masked);
        }
    } else if is_id(word) {
        may_be_name(masked);
    } else {
        masked.push_str(word);
    }
}

/// Returns true for what begins with a digit, such as a time or an amount with its unit.
fn is_number(word: &str) -> bool {
    word.trim_start_matches(['-', '+', '#', '$', '€', '£', '~', '.']).starts_with(|c: char| c.is_ascii_digit())
}

/// Returns true for an address of electronic mail.
fn is_address(word: &str) -> bool {
    word.split_once('@').is_some_and(|(name, host)| {
        name.ends_with(|c: char| c.is_alphanumeric() || c == MASK)
            && host.starts_with(|c: char| c.is_alphanumeric() || c == MASK)
    })
}

fn is_path(word: &str) -> bool {
    let is_drive = word.len() > 2 && word.as_bytes()[1] == b':' && matches!(word.as_bytes()[2], b'\\' | b'/');
    let is_rooted = ["/", "./", "../", "~/", "\\\\"].iter().any(|root| word.starts_with(root));
    word.contains(char::is_alphanumeric) && (is_drive || is_rooted || word.matches(['/', '\\']).count() > 1)
}

/// Returns true for a word of letters and digits that looks made for one thing: `user_15`, `INV-001`, `3f2504e0`. Short words such as
/// `utf8` are none.
fn is_id(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let length = word.chars().count();
    if digits == 0 || !word.contains(char::is_alphabetic) {
        return false;
    }
    let mut segments = word.split(|c: char| !c.is_alphanumeric());
    let has_number = segments.any(|segment| !segment.is_empty() && segment.chars().all(|c| c.is_ascii_digit()));
    let is_hexadecimal = length >= 6 && word.chars().all(|c| c.is_ascii_hexdigit());
    has_number || is_hexadecimal || digits * 2 >= length || length >= 8 && digits >= 2
}

/// Keeps the marked words that are names, with what quotes them, and masks the others and the indices in paths.
pub(super) fn resolve(masked: &str, is_name: impl Fn(&str) -> bool) -> String {
    let mut resolved = String::with_capacity(masked.len());
    let mut rest = masked;
    while let Some((before, marked)) = rest.split_once(MARKS[0]) {
        resolved.push_str(before);
        let (word, after) = marked.split_once(MARKS[1]).unwrap_or((marked, ""));
        resolved.push_str(&resolve_word(word, &is_name));
        rest = after;
    }
    resolved.push_str(rest);
    resolved
}

fn resolve_word(word: &str, is_name: &impl Fn(&str) -> bool) -> String {
    let is_quote = |c: char| matches!(c, '"' | '\'' | '`' | '“' | '”' | '‘' | '’' | '«' | '»');
    let is_index = |segment: &str| segment.chars().all(|c| c.is_ascii_digit() || c == MASK);
    let content = word.trim_matches(is_quote);
    let is_split = |c: char| matches!(c, '.' | '/' | '[' | ']');
    if is_name(content) {
        return word.to_owned();
    }
    let is_known = |segment: &str| is_index(segment) || is_name(segment);
    if !content.split(is_split).all(is_known) || content.split(is_split).all(is_index) {
        return MASK.to_string();
    }
    let mut resolved = String::with_capacity(word.len());
    for part in word.split_inclusive(|c| is_split(c) || is_quote(c)) {
        let segment = part.trim_end_matches(|c| is_split(c) || is_quote(c));
        match !segment.is_empty() && is_index(segment) {
            true => resolved.push(MASK),
            false => resolved.push_str(segment),
        }
        resolved.push_str(&part[segment.len()..]);
    }
    resolved
}

/// Leaves one of several masks with nothing but punctuation between them, and one of several spaces.
pub(super) fn collapse(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    // Punctuation after a mask, which stays if something else follows.
    let mut pending = String::new();
    for c in text.chars() {
        let c = if c.is_whitespace() && c != '\n' { ' ' } else { c };
        let follows_mask = collapsed.ends_with(MASK);
        match c {
            MASK if follows_mask => pending.clear(),
            ' ' if pending.ends_with(' ') || pending.is_empty() && collapsed.ends_with([' ', '\n']) => {}
            ' ' | ',' | ':' | ';' | '/' | '-' | '.' | '&' | '|' if follows_mask => pending.push(c),
            c => {
                collapsed.push_str(&pending);
                pending.clear();
                collapsed.push(c);
            }
        }
    }
    collapsed.push_str(&pending);
    collapsed
}
