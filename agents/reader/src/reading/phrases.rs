//! The phrases that the statement reader recognizes, read from `phrases.tsv`.
//!
//! They are common in error messages of schema validators, web frameworks and tool servers. None is specific to one
//! error format.

use std::sync::LazyLock;

use super::tokens::{Token, TokenKind};

/// The meaning of a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A field is missing.
    Missing,
    /// A field is missing, if its name follows immediately: `add the "action" field`.
    MissingNamed,
    /// A type follows, or a list of quoted options.
    Expected,
    /// A list of valid values follows.
    Options,
    /// A format's name follows (`valid email`), or a plural and its values (`valid statuses: a, b`).
    Valid,
    AtLeast,
    Above,
    AtMost,
    Below,
    Between,
    MultipleOf,
    /// A number has to be above zero.
    Positive,
    /// A number must not be below zero.
    NotNegative,
    /// A number is expected.
    Number,
    /// A whole number is expected.
    Integer,
    /// A value and its layout follow: `parsing time "x" as "2006-01-02"`.
    Layout,
    /// A format's name follows.
    Invalid,
    /// A format's name precedes or follows.
    Format,
    /// The phrase itself is a format.
    FormatName,
    Regex,
    Unrecognized,
    /// Names of fields whose values are in use follow.
    ConflictNamed,
    /// The value of a field is in use.
    Conflict,
    Actions,
    Call,
    /// A number of seconds follows.
    Delay,
    Transient,
    Stop,
    Truncated,
    /// A paging field and the amount to add to it follow.
    Page,
    /// Another field follows, whose value has to be lower.
    After,
    /// Another field follows, whose value has to be higher.
    Before,
    /// The new name of a field follows.
    Renamed,
    /// An example of a value follows.
    Example,
    /// A value that is not accepted.
    AtFault,
    /// A thing that does not exist.
    NotFound,
    /// A search that found nothing.
    NothingFound,
    /// A thing in a state that does not allow the call.
    State,
    /// A fault of the server.
    Internal,
    /// Something has to be read before.
    Lookup,
    /// A search should be made differently.
    SearchDifferently,
    /// No meaning; prevents a shorter phrase within it from being recognized.
    Ignored,
}

impl Meaning {
    /// Returns the pattern of a kind in `phrases.tsv`.
    fn from_kind(kind: &str) -> Option<Meaning> {
        Some(match kind {
            "missing" => Meaning::Missing,
            "missing_named" => Meaning::MissingNamed,
            "expected" => Meaning::Expected,
            "options" => Meaning::Options,
            "valid" => Meaning::Valid,
            "at_least" => Meaning::AtLeast,
            "above" => Meaning::Above,
            "at_most" => Meaning::AtMost,
            "below" => Meaning::Below,
            "between" => Meaning::Between,
            "multiple_of" => Meaning::MultipleOf,
            "invalid" => Meaning::Invalid,
            "format" => Meaning::Format,
            "format_name" => Meaning::FormatName,
            "regex" => Meaning::Regex,
            "unrecognized" => Meaning::Unrecognized,
            "conflict_named" => Meaning::ConflictNamed,
            "conflict" => Meaning::Conflict,
            "actions" => Meaning::Actions,
            "call" => Meaning::Call,
            "delay" => Meaning::Delay,
            "transient" => Meaning::Transient,
            "stop" => Meaning::Stop,
            "truncated" => Meaning::Truncated,
            "page" => Meaning::Page,
            "after" => Meaning::After,
            "before" => Meaning::Before,
            "positive" => Meaning::Positive,
            "not_negative" => Meaning::NotNegative,
            "number" => Meaning::Number,
            "integer" => Meaning::Integer,
            "layout" => Meaning::Layout,
            "renamed" => Meaning::Renamed,
            "example" => Meaning::Example,
            "at_fault" => Meaning::AtFault,
            "not_found" => Meaning::NotFound,
            "nothing_found" => Meaning::NothingFound,
            "state" => Meaning::State,
            "internal" => Meaning::Internal,
            "lookup" => Meaning::Lookup,
            "search_differently" => Meaning::SearchDifferently,
            "ignored" => Meaning::Ignored,
            _ => return None,
        })
    }
}

/// A line of `phrases.tsv`: kind, phrase, and an example in which the phrase is needed.
type PhraseLine = (Meaning, &'static str, &'static str);

/// Returns the well-formed lines of `phrases.tsv`; a test asserts that all lines are.
fn phrase_lines() -> impl Iterator<Item = PhraseLine> {
    include_str!("phrases.tsv").lines().filter_map(parse_line)
}

fn parse_line(line: &'static str) -> Option<PhraseLine> {
    let mut columns = line.split('\t');
    Some((Meaning::from_kind(columns.next()?)?, columns.next()?, columns.next()?))
}

/// Phrases by the first letter and the length of their first word. Within a row the longest phrases come first.
pub(super) struct PhraseTable {
    rows: Vec<Vec<Phrase>>,
}

/// The number of rows per first letter; longer words share the last one.
const LENGTH_CLASSES: usize = 16;

struct Phrase {
    words: Vec<&'static str>,
    pattern: Meaning,
}

impl PhraseTable {
    /// Returns the table of all lines of `phrases.tsv`.
    pub(super) fn built_in() -> &'static PhraseTable {
        static TABLE: LazyLock<PhraseTable> = LazyLock::new(|| PhraseTable::new(phrase_lines()));
        &TABLE
    }

    fn new(lines: impl Iterator<Item = PhraseLine>) -> PhraseTable {
        let mut rows: Vec<Vec<Phrase>> = (0..27 * LENGTH_CLASSES).map(|_| Vec::new()).collect();
        for (pattern, phrase, _) in lines {
            let words: Vec<&'static str> = phrase.split(' ').collect();
            rows[row_index(words[0])].push(Phrase { words, pattern });
        }
        for row in &mut rows {
            // The sort is stable: patterns of the same phrase keep the order of the file.
            row.sort_by_key(|phrase| std::cmp::Reverse(phrase.words.len()));
        }
        PhraseTable { rows }
    }

    /// Returns the patterns of the longest phrase that starts at token `at`, and its number of tokens. One phrase may have several
    /// patterns (`use 'a'`, `use billing.list`); all are returned.
    pub(super) fn patterns_at<'t>(
        &'t self,
        tokens: &'t [Token<'t>],
        at: usize,
    ) -> impl Iterator<Item = (Meaning, usize)> + 't {
        let first = tokens[at];
        let listed: &[Phrase] = match first.kind {
            TokenKind::Word | TokenKind::Symbol => &self.rows[row_index(first.text)],
            _ => &[],
        };
        let mut longest = None;
        listed.iter().filter_map(move |phrase| {
            let length = phrase.words.len();
            if longest.is_some_and(|longest| length < longest) || at + length > tokens.len() {
                return None;
            }
            let mut pairs = tokens[at..at + length].iter().zip(&phrase.words);
            let is_match = pairs
                .all(|(token, word)| matches!(token.kind, TokenKind::Word | TokenKind::Symbol) && token.says(word));
            if is_match {
                longest = Some(length);
            }
            is_match.then_some((phrase.pattern, length))
        })
    }

    /// Returns true if `tokens` are exactly one phrase of `pattern`.
    pub(super) fn is_phrase(&self, tokens: &[Token<'_>], pattern: Meaning) -> bool {
        !tokens.is_empty() && self.patterns_at(tokens, 0).any(|found| found == (pattern, tokens.len()))
    }
}

fn row_index(word: &str) -> usize {
    let letter = match word.bytes().next() {
        Some(first) if first.is_ascii_alphabetic() => usize::from(first.to_ascii_lowercase() - b'a'),
        _ => 26,
    };
    letter * LENGTH_CLASSES + word.len().min(LENGTH_CLASSES - 1)
}

#[cfg(test)]
mod tests;
