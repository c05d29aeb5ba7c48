//! Lists of words, read from `words.tsv`.

use std::sync::LazyLock;

/// Names that are also everyday words. In prose they are mentions only with a sign that the argument is meant.
pub(super) static EVERYDAY: Words = LazyLock::new(|| list("everyday"));

/// Nouns that mark the word beside them as a name.
pub(super) static NAME_NOUNS: Words = LazyLock::new(|| list("name_nouns"));

/// Parts of a name that do not say what it is about.
pub(super) static NAME_ENDS: Words = LazyLock::new(|| list("name_ends"));

/// Words after which a name at the beginning of a sentence is its subject.
pub(super) static SUBJECT_VERBS: Words = LazyLock::new(|| list("subject_verbs"));

/// Words before a name that say that the name is meant.
pub(super) static NAMING_WORDS: Words = LazyLock::new(|| list("naming_words"));

/// Words that may precede the subject of a sentence.
pub(super) static HEADS: Words = LazyLock::new(|| list("heads"));

/// Words at the beginning of a text that reports a failure, in lower case.
pub(super) static BEGINNINGS: Words = LazyLock::new(|| list("beginnings"));

/// Words anywhere in a short text that say that something was not done or is not accepted, in lower case.
pub(super) static COMPLAINTS: Words = LazyLock::new(|| list("complaints"));

/// Verbs that begin an order.
pub(super) static ORDERS: Words = LazyLock::new(|| list("orders"));

/// Units of the length of a text or of a list.
pub(super) static UNITS: Words = LazyLock::new(|| list("units"));

/// Words that make a comparison a demand.
pub(super) static DEMANDS: Words = LazyLock::new(|| list("demands"));

/// Words of errors in a value, of errors that may go away, of those that a rule or a state causes, of things that are not there, and of
/// faults of a server, in lower case. They decide where a text says nothing about the call.
pub(super) static MISTAKEN: Words = LazyLock::new(|| list("mistaken"));
pub(super) static TEMPORARY: Words = LazyLock::new(|| list("temporary"));
pub(super) static PREVENTED: Words = LazyLock::new(|| list("prevented"));
pub(super) static GONE: Words = LazyLock::new(|| list("gone"));
pub(super) static INTERNAL: Words = LazyLock::new(|| list("internal"));

/// Words of texts that no phrase covers: cues for delays and what precedes them, for ranges, codes, limits and their direction, for lengths
/// and dates, for other calls, for what replaces or resembles a value, for lists of values, types, examples and what is missing.
pub(super) static WAITING_WORDS: Words = LazyLock::new(|| list("waiting_words"));
pub(super) static SOON: Words = LazyLock::new(|| list("soon"));
pub(super) static RANGE_JOINTS: Words = LazyLock::new(|| list("range_joints"));
pub(super) static CODES: Words = LazyLock::new(|| list("codes"));
pub(super) static LIMITS: Words = LazyLock::new(|| list("limits"));
pub(super) static HIGHEST: Words = LazyLock::new(|| list("highest"));
pub(super) static LOWEST: Words = LazyLock::new(|| list("lowest"));
pub(super) static CHARACTERS: Words = LazyLock::new(|| list("characters"));
pub(super) static DATE_LIMITS: Words = LazyLock::new(|| list("date_limits"));
pub(super) static CALLED: Words = LazyLock::new(|| list("called"));
pub(super) static NEXT_STEPS: Words = LazyLock::new(|| list("next_steps"));
pub(super) static TOOL_VERBS: Words = LazyLock::new(|| list("tool_verbs"));
pub(super) static REPLACED: Words = LazyLock::new(|| list("replaced"));
pub(super) static HINTING: Words = LazyLock::new(|| list("hinting"));
pub(super) static SUGGESTING: Words = LazyLock::new(|| list("suggesting"));
pub(super) static WORDS_BETWEEN: Words = LazyLock::new(|| list("words_between"));
pub(super) static CURRENT_WORDS: Words = LazyLock::new(|| list("current_words"));
pub(super) static LISTING: Words = LazyLock::new(|| list("listing"));
pub(super) static LIST_JOINTS: Words = LazyLock::new(|| list("list_joints"));
pub(super) static WANTING: Words = LazyLock::new(|| list("wanting"));
pub(super) static EXAMPLE_WORDS: Words = LazyLock::new(|| list("example_words"));
pub(super) static ASKING: Words = LazyLock::new(|| list("asking"));
pub(super) static MONTHS: Words = LazyLock::new(|| list("months"));
pub(super) static MEASURES: Words = LazyLock::new(|| list("measures"));
pub(super) static LENGTHS: Words = LazyLock::new(|| list("lengths"));
pub(super) static KEYS_OF_CALLS: Words = LazyLock::new(|| list("keys_of_calls"));
pub(super) static KEYS_OF_NEEDS: Words = LazyLock::new(|| list("keys_of_needs"));
pub(super) static KEYS_OF_SUGGESTIONS: Words = LazyLock::new(|| list("keys_of_suggestions"));

/// A list, read when it is used for the first time.
pub(super) type Words = LazyLock<WordList>;

/// Words in lower case by their length in bytes, so that few are compared.
pub(super) struct WordList {
    by_length: Vec<Vec<&'static str>>,
}

impl WordList {
    /// Returns true if the text is one of the words, in any case.
    pub(super) fn has(&self, text: &str) -> bool {
        self.by_length.get(text.len()).is_some_and(|words| words.iter().any(|word| word.eq_ignore_ascii_case(text)))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'static str> {
        self.by_length.iter().flatten().copied()
    }
}

fn list(name: &str) -> WordList {
    let lines = include_str!("words.tsv").lines().filter_map(|line| line.split_once('\t'));
    let words = lines.filter(|(list, _)| *list == name).flat_map(|(_, words)| words.split(','));
    let mut by_length: Vec<Vec<&'static str>> = Vec::new();
    for word in words {
        if by_length.len() <= word.len() {
            by_length.resize(word.len() + 1, Vec::new());
        }
        by_length[word.len()].push(word);
    }
    WordList { by_length }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_has_words() {
        for list in [
            &EVERYDAY,
            &NAME_NOUNS,
            &NAME_ENDS,
            &SUBJECT_VERBS,
            &NAMING_WORDS,
            &HEADS,
            &BEGINNINGS,
            &COMPLAINTS,
            &ORDERS,
            &UNITS,
            &DEMANDS,
        ] {
            assert!(list.iter().count() > 3 && list.iter().all(|word| !word.is_empty()));
        }
        assert!(EVERYDAY.has("Name") && !EVERYDAY.has("timezone"));
        let lines = include_str!("words.tsv").lines().filter(|line| !line.starts_with('#'));
        assert!(lines.clone().all(|line| line.split('\t').count() == 2));
    }
}
