//! Reads lists of names and values, and skips the filler words between a phrase and its list.

use super::tokens::{Token, TokenKind};

/// The maximum number of items of a list without commas.
const MAX_SPACED_ITEMS: usize = 1000;

/// A list read from tokens.
pub(super) struct List<'t> {
    pub(super) items: Vec<&'t str>,
    /// True if the items are in quotes.
    pub(super) quoted: bool,
    /// True if a colon, an equals sign, a bracket or a table cell's border precedes the first item. Even a single
    /// unquoted item is then a list.
    pub(super) announced: bool,
}

const FILLERS: [&str; 22] = [
    "the",
    "these",
    "those",
    "following",
    "values",
    "value",
    "options",
    "option",
    "are",
    "is",
    "of",
    "be",
    "a",
    "an",
    "allowed",
    "valid",
    "supported",
    "to",
    "one",
    "either",
    "from",
    "s",
];

/// Reads the list at `at`, after fillers (`: the following values`). If the first item is quoted, all must be. An
/// unquoted item is a single word before a separator or the end: `user ID or name` is prose.
pub(super) fn list_at<'t>(tokens: &[Token<'t>], at: usize) -> List<'t> {
    let mut list = List { items: Vec::new(), quoted: false, announced: false };
    let mut at = at;
    let mut fillers = 0;
    while let Some(token) = tokens.get(at)
        && fillers < 8
        && (token.is_symbol(":=*([{|") || (token.kind == TokenKind::Word && is_filler(tokens, at)))
    {
        list.announced |= token.is_symbol(":=([|");
        at += 1;
        fillers += 1;
    }
    // `[full part]`: Go writes lists without commas.
    if at > 0 && tokens[at - 1].is_symbol("[") {
        let inside = &tokens[at..tokens.len().min(at + MAX_SPACED_ITEMS + 1)];
        let is_item = |token: &&Token<'_>| matches!(token.kind, TokenKind::Word | TokenKind::Number);
        let items: Vec<&str> = inside.iter().take_while(is_item).map(|token| token.text).collect();
        if items.len() > 1 && inside.get(items.len()).is_some_and(|token| token.is_symbol("]")) {
            list.items = items;
            return list;
        }
    }
    list.quoted = tokens.get(at).is_some_and(|token| token.kind == TokenKind::Quoted);
    while let Some(token) = tokens.get(at) {
        let item = match token.kind {
            TokenKind::Quoted => list.quoted,
            TokenKind::Word | TokenKind::Number => {
                !list.quoted
                    && (tokens.get(at + 1).is_none_or(ends_item)
                        || has_colon(tokens, at, list.items.len())
                        || is_file_end(token.text))
            }
            _ => false,
        };
        if !item {
            break;
        }
        at += 1 + usize::from(has_colon(tokens, at, list.items.len()));
        list.items.push(token.text);
        let mut separated = false;
        while let Some(token) = tokens.get(at)
            && is_separator(token)
        {
            separated = true;
            at += 1;
        }
        if !separated {
            break;
        }
    }
    list
}

/// Returns true if an item at `at`, with this number of items before it, ends with a colon: "file:, data: or https:".
fn has_colon(tokens: &[Token<'_>], at: usize, items: usize) -> bool {
    tokens.get(at + 1).is_some_and(|next| next.is_symbol(":"))
        && tokens.get(at + 2).map_or(items > 0, |next| is_separator(next) || items > 0 && next.kind == TokenKind::End)
}

/// Returns true for a filler word. Before a separator it is an item of the list: `one of a, the, value`.
fn is_filler(tokens: &[Token<'_>], at: usize) -> bool {
    FILLERS.iter().any(|filler| tokens[at].is_word(filler))
        && !tokens.get(at + 1).is_some_and(|next| next.is_symbol(",|"))
}

fn is_separator(token: &Token<'_>) -> bool {
    token.is_symbol(",|/&") || ["or", "and", "und", "oder", "et", "ou"].iter().any(|word| token.is_word(word))
}

/// Returns true for the end of the names of files of a type: `.csv`, `.tar.gz`.
pub(super) fn is_file_end(item: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    item.strip_prefix('.').is_some_and(|end| end.split('.').count() <= 2 && end.split('.').all(is_part))
}

fn ends_item(token: &Token<'_>) -> bool {
    token.kind == TokenKind::End || is_separator(token) || token.is_symbol(")]}*—")
}

/// Returns the index of the first token that is neither punctuation nor one of `words`. At most `max` tokens are
/// skipped.
pub(super) fn skip_words(tokens: &[Token<'_>], at: usize, words: &[&str], max: usize) -> usize {
    let skipped = tokens.iter().skip(at).take(max);
    at + skipped.take_while(|token| token.is_symbol(":=*(") || words.iter().any(|word| token.is_word(word))).count()
}

/// Returns the tokens of the sentence around `at`, limited to those nearby to keep the time linear.
pub(super) fn sentence(tokens: &[Token<'_>], at: usize) -> std::ops::Range<usize> {
    const MAX_TOKENS: usize = 60;
    let ends = |token: &Token<'_>| token.kind == TokenKind::End;
    let first = at.saturating_sub(MAX_TOKENS);
    let last = (at + MAX_TOKENS).min(tokens.len());
    let start = tokens[first..at].iter().rposition(ends).map_or(first, |end| first + end + 1);
    start..tokens[at..last].iter().position(ends).map_or(last, |length| at + length)
}
