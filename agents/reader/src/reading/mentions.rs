//! Finds what a sentence mentions: arguments by their names, by other words for these names, or by the values that were sent.

use serde_json::Value;

use super::tokens::{Token, TokenKind, lex};
use super::vocabulary::Vocabulary;
use super::words::{EVERYDAY, HEADS, NAME_ENDS, NAME_NOUNS, NAMING_WORDS, SUBJECT_VERBS};
use crate::paths;

/// A mention of an argument.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mention {
    /// The index of the first token.
    pub(super) at: usize,
    /// The index after the last token.
    pub(super) end: usize,
    /// The path of the argument.
    pub(super) path: String,
    pub(super) sign: Sign,
}

/// The way in which a mention identifies its argument, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sign {
    /// The value that was sent, which no other argument has.
    Value,
    /// The name, marked as one: in quotes, before a colon, beside a noun such as "field", or in a form that prose does not have.
    Name,
    /// The words of a name: "due date" for `due_date`.
    Words,
    /// A single word that is a name.
    Word,
    /// The thing that a name is about: "order" for `order_id`.
    Thing,
}

/// A scalar that was sent, as tokens.
pub(super) struct SentValue<'v> {
    pub(super) path: String,
    /// The text, and what it stands for if it is a mask.
    text: String,
    whole: String,
    tokens: Vec<OwnedToken>,
    source: &'v Value,
}

type OwnedToken = (TokenKind, String);

/// Sent values longer than this are found by their mask only.
const MAX_VALUE_BYTES: usize = 200;
/// Shorter texts in quotes may stand in a sent value by chance.
const MIN_PART_BYTES: usize = 4;
/// The number of sent values that are searched for.
const MAX_VALUES: usize = 64;

/// Returns the scalars that were sent, each with its path, without those that occur twice.
/// `original` are the arguments without masks.
pub(super) fn sent_values<'v>(sent: &'v Value, original: &Value) -> Vec<SentValue<'v>> {
    let mut values = Vec::new();
    collect(sent, "", &mut values);
    for value in &mut values {
        if let Some(whole) = paths::get(original, &value.path).and_then(Value::as_str) {
            whole.clone_into(&mut value.whole);
        }
    }
    let is_twice = |value: &SentValue<'_>| values.iter().filter(|other| other.text == value.text).count() > 1;
    let twice: Vec<bool> = values.iter().map(is_twice).collect();
    let mut twice = twice.into_iter();
    values.retain(|_| !twice.next().unwrap_or(false));
    values
}

fn collect<'v>(value: &'v Value, path: &str, values: &mut Vec<SentValue<'v>>) {
    let inner = |part: &str| if path.is_empty() { part.to_owned() } else { format!("{path}.{part}") };
    match value {
        Value::Object(object) => object.iter().for_each(|(name, item)| collect(item, &inner(name), values)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| collect(item, &inner(&index.to_string()), values));
        }
        Value::String(_) | Value::Number(_) if values.len() < MAX_VALUES => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if text.is_empty() || text.len() > MAX_VALUE_BYTES || text.contains('\n') {
                return;
            }
            let mut tokens = Vec::new();
            lex(&text, &mut tokens);
            if tokens.is_empty() {
                return;
            }
            let tokens = tokens.iter().map(|token| (token.kind, token.text.to_owned())).collect();
            values.push(SentValue { path: path.to_owned(), whole: text.clone(), text, tokens, source: value });
        }
        _ => {}
    }
}

impl SentValue<'_> {
    /// Returns true if the text that was sent, or what stands for it, is so.
    pub(super) fn has_part(&self, is: impl Fn(&str) -> bool) -> bool {
        is(&self.text) || is(&self.whole)
    }

    /// Returns the number of tokens at `at` that show the value.
    fn length_at(&self, tokens: &[Token<'_>], at: usize) -> Option<usize> {
        let first = &tokens[at];
        if first.kind == TokenKind::Quoted && first.text == self.text {
            return Some(1);
        }
        let shown = tokens.get(at..at + self.tokens.len())?;
        let is_equal = |(token, (kind, text)): (&Token<'_>, &OwnedToken)| token.kind == *kind && token.text == text;
        shown.iter().zip(&self.tokens).all(is_equal).then_some(self.tokens.len())
    }

    /// Returns true if a word of prose could be equal to the value by chance.
    fn is_plain(&self) -> bool {
        self.source.is_number() || self.text.len() < 3 || self.text.bytes().all(|byte| byte.is_ascii_lowercase())
    }
}

/// Finds the arguments that the tokens mention, in their order.
pub(super) fn mentions(
    tokens: &[Token<'_>],
    range: std::ops::Range<usize>,
    vocabulary: &Vocabulary<'_>,
    sent: &[SentValue<'_>],
) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let mention = mention_at(tokens, at, &range, vocabulary, sent, found.last());
        at = mention.as_ref().map_or(at + 1, |mention| mention.end);
        found.extend(mention);
    }
    found
}

fn mention_at(
    tokens: &[Token<'_>],
    at: usize,
    range: &std::ops::Range<usize>,
    vocabulary: &Vocabulary<'_>,
    sent: &[SentValue<'_>],
    last: Option<&Mention>,
) -> Option<Mention> {
    let token = &tokens[at];
    let mention = |end: usize, path: String, sign: Sign| Some(Mention { at, end, path, sign });
    for value in sent {
        if let Some(length) = value.length_at(tokens, at) {
            // "mode quick" and "'quick'" are clear; "quick" alone may be a word, and a number a count.
            let follows_name =
                || last.is_some_and(|last| last.path == value.path && at - last.end <= 1 && last.sign != Sign::Value);
            let is_shown = || {
                at > range.start
                    && ["got", "received", "not", "from", "string", "integer", "sent", "value", "number", "id", "paid"]
                        .iter()
                        .any(|word| tokens[at - 1].is_word(word))
            };
            if token.kind == TokenKind::Quoted || !value.is_plain() || follows_name() || is_shown() {
                return mention(at + length, value.path.clone(), Sign::Value);
            }
        }
    }
    // "file type .bmp": the end of the name of a file.
    if token.kind == TokenKind::Word
        && let Some(end) = token.text.strip_prefix('.').filter(|end| end.len() <= 5)
    {
        let ends = |value: &SentValue<'_>| {
            value.whole.rsplit_once('.').is_some_and(|(_, sent)| sent.eq_ignore_ascii_case(end))
        };
        return only_holder(sent, ends).and_then(|path| mention(at + 1, path, Sign::Value));
    }
    match token.kind {
        TokenKind::Quoted => match vocabulary.field_path(token.text) {
            Some(path) => mention(at + 1, path, Sign::Name),
            None if let Some(path) = nested_name(sent, token.text) => mention(at + 1, path, Sign::Name),
            // A part of what was sent: a column of a query.
            None if token.text.len() >= MIN_PART_BYTES
                && let Some(path) = only_holder(sent, |value| {
                    value.whole.len() > token.text.len() && value.whole.contains(token.text)
                }) =>
            {
                mention(at + 1, path, Sign::Value)
            }
            // What was sent, after what the server put before it: `refs/heads/a b`.
            None => {
                let ends = |value: &SentValue<'_>| {
                    token.text.strip_suffix(value.whole.as_str()).is_some_and(|before| before.ends_with('/'))
                };
                only_holder(sent, ends).and_then(|path| mention(at + 1, path, Sign::Value))
            }
        },
        TokenKind::Word => {
            let is_formed = token.text.contains(['_', '.', '/', '['])
                || token.text.chars().skip(1).any(|c| c.is_ascii_uppercase())
                    && token.text.contains(|c: char| c.is_lowercase());
            if is_formed && let Some(path) = vocabulary.field_path(token.text) {
                return mention(at + 1, path, Sign::Name);
            }
            // `maxResults` for `max_results`
            if (is_formed || token.text.contains('-'))
                && let Some(path) = vocabulary.field_in_other_form(token.text)
            {
                return mention(at + 1, path, Sign::Name);
            }
            if let Some((length, path)) = vocabulary.spoken_field(tokens, at, range.end) {
                return mention(at + length, path, Sign::Words);
            }
            if let Some((length, path)) = vocabulary.spoken_thing(tokens, at, range.end) {
                return mention(at + length, path, Sign::Thing);
            }
            let is_head = is_head(tokens, range.start, at);
            if let Some(path) = nested_name(sent, token.text)
                && (sign_of_word(tokens, at, range, is_head).is_some() || !is_everyday(token.text))
            {
                return mention(at + 1, path, Sign::Words);
            }
            let path = vocabulary.field_path(token.text).or_else(|| {
                // A sentence begins with a capital.
                let begins = is_head && token.text.starts_with(|c: char| c.is_ascii_uppercase());
                begins.then(|| vocabulary.field_path(&token.text.to_lowercase())).flatten()
            });
            if let Some(path) = path {
                // "order 17"
                let is_before_value = at + 1 < range.end
                    && sent.iter().any(|value| value.path == path && value.length_at(tokens, at + 1).is_some());
                let sign = sign_of_word(tokens, at, range, is_head).or(is_before_value.then_some(Sign::Words));
                let everyday = is_everyday(token.text);
                return match sign {
                    Some(sign) => mention(at + 1, path, sign),
                    None if everyday => None,
                    None => mention(at + 1, path, Sign::Word),
                };
            }
            let is_subject = is_head && tokens.get(at + 1).is_some_and(|next| next.kind != TokenKind::End);
            // "Unsupported language: xx"
            let is_subject = is_subject
                || tokens.get(at + 1).is_some_and(|next| next.is_symbol(":"))
                    && at > range.start
                    && ["unsupported", "unknown", "invalid", "bad"].iter().any(|word| tokens[at - 1].is_word(word));
            let stem = is_subject
                .then(|| vocabulary.field_of_noun(token.text).or_else(|| vocabulary.field_about(token.text)))
                .flatten();
            stem.and_then(|path| mention(at + 1, path, Sign::Thing))
        }
        _ => None,
    }
}

/// Returns the path of the only sent value for which `holds` is true.
fn only_holder(sent: &[SentValue<'_>], holds: impl Fn(&SentValue<'_>) -> bool) -> Option<String> {
    let mut holders = sent.iter().filter(|value| holds(value));
    let holder = holders.next()?;
    holders.next().is_none().then(|| holder.path.clone())
}

/// Returns true if only an article or the words before a colon precede the token in its sentence.
fn is_head(tokens: &[Token<'_>], start: usize, at: usize) -> bool {
    let before = &tokens[start..at];
    let begins = before.iter().rposition(|token| token.is_symbol(":(•*✖❌—-\"")).map_or(0, |colon| colon + 1);
    before[begins..].iter().all(|token| token.kind == TokenKind::Symbol || token.is_one_of(&HEADS))
}

fn is_everyday(word: &str) -> bool {
    EVERYDAY.has(word)
}

/// Returns the path of the only sent value in a list or an object that has this name.
fn nested_name(sent: &[SentValue<'_>], name: &str) -> Option<String> {
    let mut found = sent.iter().filter(|value| value.path.rsplit_once('.').is_some_and(|(_, last)| last == name));
    let path = found.next()?.path.clone();
    found.next().is_none().then_some(path)
}

/// Returns true if the word at `at` is a name rather than an everyday word.
pub(super) fn is_meant(tokens: &[Token<'_>], at: usize, range: &std::ops::Range<usize>) -> bool {
    !is_everyday(tokens[at].text) || sign_of_word(tokens, at, range, is_head(tokens, range.start, at)).is_some()
}

fn sign_of_word(tokens: &[Token<'_>], at: usize, range: &std::ops::Range<usize>, is_head: bool) -> Option<Sign> {
    let next = tokens[..range.end].get(at + 1);
    let before = at.checked_sub(1).filter(|before| *before >= range.start).map(|before| &tokens[before]);
    let is_noun = |token: &Token<'_>| token.is_one_of(&NAME_NOUNS);
    if next.is_some_and(|next| next.is_symbol(":=") || is_noun(next)) || before.is_some_and(is_noun) {
        return Some(Sign::Name);
    }
    // "Use kind 'unpaid' instead."
    let is_given = before.is_some_and(|before| ["use", "send", "pass", "set"].iter().any(|verb| before.is_word(verb)))
        && next.is_some_and(|next| next.kind == TokenKind::Quoted);
    if is_given {
        return Some(Sign::Name);
    }
    let is_subject = is_head && next.is_some_and(|next| next.is_one_of(&SUBJECT_VERBS) || next.is_symbol("<>=≥≤"));
    // "the number of days", "the limit for days"
    let is_of = before.is_some_and(|before| before.is_word("of") || before.is_word("for"))
        && at >= range.start + 2
        && ["number", "value", "limit", "format", "length", "count", "range"]
            .iter()
            .any(|word| tokens[at - 2].is_word(word));
    let is_json_path = before.is_some_and(|before| before.is_symbol(".")) && at >= 2 && tokens[at - 2].is_symbol("$");
    if is_json_path {
        return Some(Sign::Name);
    }
    if is_of {
        return Some(Sign::Words);
    }
    let article = |token: &&Token<'_>| ["a", "an", "the", "your", "valid"].iter().any(|word| token.is_word(word));
    let named = tokens[range.start..at].iter().rev().find(|token| !article(token));
    let is_named = named.is_some_and(|token| token.is_one_of(&NAMING_WORDS));
    (is_subject || is_named).then_some(Sign::Words)
}

/// Splits a name into its words: `dueDate` and `due_date` are "due" and "date".
pub(super) fn words_of(name: &str) -> impl Iterator<Item = &str> {
    let parts = name.split(['_', '-', '.', ' ']).filter(|part| !part.is_empty());
    parts.flat_map(|part| {
        let mut rest = part;
        std::iter::from_fn(move || {
            let humps = rest.as_bytes().windows(2);
            let end = humps.into_iter().position(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
            let (word, left) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
            rest = left;
            (!word.is_empty()).then_some(word)
        })
    })
}

/// Returns what a name is about: `order` for `order_id`; empty if it says nothing else.
pub(super) fn stem_of(name: &str) -> &str {
    let Some(last) = words_of(name).last() else { return "" };
    if !NAME_ENDS.has(last) {
        return "";
    }
    name[..name.len() - last.len()].trim_end_matches(['_', '-', '.', ' '])
}

/// Returns true if a word of a text is a word of a name, in the singular or the plural.
pub(super) fn is_same_word(shown: &str, word: &str) -> bool {
    let shown = shown.as_bytes();
    let word = word.as_bytes();
    let same = |a: &[u8], b: &[u8]| a.eq_ignore_ascii_case(b);
    same(shown, word)
        || shown.len() == word.len() + 1 && shown.ends_with(b"s") && same(&shown[..word.len()], word)
        || word.len() == shown.len() + 1 && word.ends_with(b"s") && same(shown, &word[..shown.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_words() {
        assert!(words_of("dueDate").eq(["due", "Date"]));
        assert!(words_of("new_item_ids").eq(["new", "item", "ids"]));
        assert_eq!(
            (stem_of("order_id"), stem_of("orderId"), stem_of("id"), stem_of("status")),
            ("order", "order", "", "")
        );
        assert!(is_same_word("IDs", "id") && is_same_word("item", "items") && !is_same_word("its", "id"));
    }
}
