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
    /// A truth value is expected.
    Boolean,
    /// A value and its layout follow: `parsing time "x" as "2006-01-02"`.
    Layout,
    /// A format's name follows.
    Invalid,
    /// A format's name precedes or follows.
    Format,
    /// The phrase itself is a format.
    FormatName,
    Regex,
    /// Kinds of characters follow, and no other is accepted.
    Characters,
    /// Kinds of characters follow that are not accepted.
    Without,
    /// The beginning of a text follows.
    Prefix,
    /// The end of a text follows.
    Suffix,
    /// The folders follow that a path has to be in.
    Folder,
    Unrecognized,
    /// Only one of the fields that are named may be sent.
    Exclusive,
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
    /// A field and its default value follow.
    Default,
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

/// The kinds of phrases: each with its name in `phrases.tsv`, its meaning, and what a text says with it.
pub(super) const MEANINGS: &[(&str, Meaning, &str)] = &[
    ("missing", Meaning::Missing, "a field is missing"),
    (
        "missing_named",
        Meaning::MissingNamed,
        "a field is missing, if its name follows immediately: `add the 'action' field`",
    ),
    ("expected", Meaning::Expected, "a type follows, or a list of quoted options"),
    ("options", Meaning::Options, "a list of valid values follows"),
    (
        "valid",
        Meaning::Valid,
        "a format's name follows (`valid email`), or a plural and its values (`valid statuses: a, b`)",
    ),
    ("at_least", Meaning::AtLeast, "a number, a length or a count must not be lower"),
    ("above", Meaning::Above, "a number must be higher"),
    ("at_most", Meaning::AtMost, "a number, a length or a count must not be higher"),
    ("below", Meaning::Below, "a number must be lower"),
    ("between", Meaning::Between, "two limits follow"),
    ("multiple_of", Meaning::MultipleOf, "a number must be a multiple"),
    ("invalid", Meaning::Invalid, "a format's name follows"),
    ("format", Meaning::Format, "a format's name precedes or follows"),
    ("format_name", Meaning::FormatName, "the phrase itself is a format"),
    ("regex", Meaning::Regex, "a pattern follows"),
    ("characters", Meaning::Characters, "the only kinds of characters follow: `letters, digits and hyphens`"),
    ("without", Meaning::Without, "kinds of characters follow that are not accepted: `no spaces`"),
    ("prefix", Meaning::Prefix, "what a text has to begin with follows"),
    ("suffix", Meaning::Suffix, "what a text has to end with follows"),
    ("folder", Meaning::Folder, "the folders follow that a path has to be in: `outside /srv/data`"),
    (
        "exclusive",
        Meaning::Exclusive,
        "only one of the fields that are named may be sent: `a and b are mutually exclusive`",
    ),
    ("unrecognized", Meaning::Unrecognized, "a field is not known, or must be left out"),
    ("conflict_named", Meaning::ConflictNamed, "names of fields whose values are in use follow"),
    ("conflict", Meaning::Conflict, "the value of a field is in use"),
    ("actions", Meaning::Actions, "a list of actions follows"),
    ("call", Meaning::Call, "a call is advised"),
    ("delay", Meaning::Delay, "a number of seconds follows"),
    ("transient", Meaning::Transient, "the failure is temporary"),
    ("stop", Meaning::Stop, "a retry cannot succeed"),
    ("truncated", Meaning::Truncated, "the response is not complete"),
    ("page", Meaning::Page, "a paging field and the amount to add to it follow"),
    ("after", Meaning::After, "another field follows, whose value has to be lower"),
    ("before", Meaning::Before, "another field follows, whose value has to be higher"),
    ("positive", Meaning::Positive, "a number has to be above zero"),
    ("not_negative", Meaning::NotNegative, "a number must not be below zero"),
    ("number", Meaning::Number, "a number is expected"),
    ("integer", Meaning::Integer, "a whole number is expected"),
    ("boolean", Meaning::Boolean, "a truth value is expected"),
    ("layout", Meaning::Layout, "a value and its layout follow: `parsing time 'x' as '2006-01-02'`"),
    ("renamed", Meaning::Renamed, "the new name of a field follows"),
    ("example", Meaning::Example, "an example of a value follows"),
    ("default", Meaning::Default, "a field and the value follow that it has by default"),
    ("at_fault", Meaning::AtFault, "a value that is not accepted"),
    ("not_found", Meaning::NotFound, "a thing that does not exist"),
    ("nothing_found", Meaning::NothingFound, "a search that found nothing"),
    ("state", Meaning::State, "a thing in a state that does not allow the call"),
    ("internal", Meaning::Internal, "a fault of the server"),
    ("lookup", Meaning::Lookup, "something has to be read before"),
    ("search_differently", Meaning::SearchDifferently, "a search should be made differently"),
    ("ignored", Meaning::Ignored, "no meaning; prevents a shorter phrase within it from being recognized"),
];

impl Meaning {
    /// Returns the meaning of a kind in `phrases.tsv`.
    fn from_kind(kind: &str) -> Option<Meaning> {
        MEANINGS.iter().find(|(name, ..)| *name == kind).map(|(_, meaning, _)| *meaning)
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
