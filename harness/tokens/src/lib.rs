//! Counts of tokens.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use tiktoken_rs::CoreBPE;

/// The vocabulary of all token counts, as named in manifests.
pub const TOKENIZER: &str = "o200k_base";

/// Loaded on first use, because loading takes about 0.1 s.
static VOCABULARY: LazyLock<CoreBPE> =
    LazyLock::new(|| tiktoken_rs::o200k_base().expect("the vocabulary is a part of the program"));

/// Loads the vocabulary, unless it is loaded.
pub fn load_vocabulary() {
    LazyLock::force(&VOCABULARY);
}

/// Counts tokens: exactly, unless a text [`is estimated`](is_estimated). Episodes repeat the same texts, so counts are
/// cached. Each thread has a separate counter.
#[derive(Debug, Default)]
pub struct TokenCounter {
    entries: FxHashMap<Box<str>, u32>,
    /// The size of the cached texts in bytes.
    bytes: usize,
}

/// The size at which the cache is cleared. A larger text is cached alone.
const MAX_BYTES: usize = 32 << 20;

impl TokenCounter {
    /// Creates a counter with an empty cache.
    pub fn new() -> TokenCounter {
        TokenCounter::default()
    }

    /// Returns the number of `o200k_base` tokens of `text`, with special tokens read as ordinary text.
    pub fn count(&mut self, text: &str) -> u32 {
        if let Some(count) = self.entries.get(text) {
            return *count;
        }
        let count = count_tokens(text);
        if self.bytes + text.len() > MAX_BYTES {
            self.entries.clear();
            self.bytes = 0;
        }
        self.bytes += text.len();
        self.entries.insert(text.into(), count);
        count
    }
}

/// The longest unbroken run whose tokens are counted exactly, in bytes. Time and memory for a run grow faster than its
/// length.
const MAX_RUN_BYTES: usize = 100_000;

/// The size of the pieces in which longer runs are counted, in bytes. A cut adds at most a token or two.
const PIECE_BYTES: usize = 4096;

/// Returns true if the number of tokens of a text is an estimate, because it has an unbroken run of over 100,000 bytes:
/// of letters, of symbols, or of white space. The tokens of such a run are counted in pieces.
pub fn is_estimated(text: &str) -> bool {
    long_runs(text).next().is_some()
}

/// Returns the number of `o200k_base` tokens of a text, like [`TokenCounter::count`] but without caching the text.
pub fn count_tokens(text: &str) -> u32 {
    let mut tokens = 0;
    let mut end = 0;
    for run in long_runs(text) {
        tokens += count_words(&text[end..run.start]);
        let mut start = run.start;
        while start < run.end {
            let piece = text.floor_char_boundary(run.end.min(start + PIECE_BYTES));
            tokens += VOCABULARY.count_ordinary(&text[start..piece]);
            start = piece;
        }
        end = run.end;
    }
    tokens += count_words(&text[end..]);
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

/// Longer words are rarely seen again.
const MAX_WORD_BYTES: usize = 48;

/// The number of words at which those of a thread are forgotten, about 4 MB.
const MAX_WORDS: usize = 1 << 16;

thread_local! {
    /// The tokens of words that were counted.
    static WORDS: RefCell<FxHashMap<Box<str>, usize>> = RefCell::default();
}

/// Counts the tokens of a text word by word, since texts consist of the same words.
fn count_words(text: &str) -> usize {
    WORDS.with_borrow_mut(|known| {
        let mut count = |word: &str| {
            if word.len() > MAX_WORD_BYTES {
                return VOCABULARY.count_ordinary(word);
            }
            if let Some(tokens) = known.get(word) {
                return *tokens;
            }
            if known.len() == MAX_WORDS {
                known.clear();
            }
            let tokens = VOCABULARY.count_ordinary(word);
            known.insert(word.into(), tokens);
            tokens
        };
        words(text).map(&mut count).sum()
    })
}

/// Splits a text at places that no token crosses, wherever that can be told from ASCII characters alone. By the pattern of the vocabulary
/// digits are taken in threes, letters end before a symbol that is no apostrophe, only white space stands before a blank, no line break follows
/// a letter, and the last line break of white space ends a match unless a `/` follows.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let (mut start, mut at) = (0, 0);
    // The end of the last line break, if only blanks follow, and the start of the number.
    let (mut line, mut number) = (None, None);
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let (before, byte) = (at.checked_sub(1).map_or(b' ', |before| bytes[before]), bytes[at]);
            let end = match byte {
                b'0'..=b'9' if before.is_ascii_digit() => number.filter(|start| (at - start) % 3 == 0).map(|_| at),
                b'0'..=b'9' if before.is_ascii_graphic() => Some(at),
                _ if before.is_ascii_digit() && byte.is_ascii() => Some(at),
                b' ' | b'\t' if before.is_ascii_graphic() => Some(at),
                _ if before.is_ascii_alphabetic()
                    && byte.is_ascii()
                    && !byte.is_ascii_alphabetic()
                    && byte != b'\'' =>
                {
                    Some(at)
                }
                _ => None,
            };
            let after_line = line.filter(|line| byte.is_ascii_graphic() && (*line < at || byte != b'/'));
            number = match byte {
                b'0'..=b'9' if before.is_ascii_digit() => number,
                b'0'..=b'9' if before.is_ascii() => Some(at),
                _ => None,
            };
            line = match byte {
                b'\r' | b'\n' => Some(at + 1),
                b' ' | b'\t' => line,
                _ => None,
            };
            at += 1;
            if let Some(end) = end.or(after_line).filter(|end| *end > start) {
                return Some(&text[std::mem::replace(&mut start, end)..end]);
            }
        }
        (start < text.len()).then(|| &text[std::mem::replace(&mut start, text.len())..])
    })
}

/// Returns the runs of over [`MAX_RUN_BYTES`] bytes. The vocabulary's pattern splits texts between ASCII letters, ASCII
/// symbols and white space, and numbers after three digits, so only such a run can become one long piece. Any other
/// character may continue letters, as a combining mark does, or symbols.
fn long_runs(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut characters = text.char_indices().peekable();
    let mut next_run = move || {
        let (start, first) = characters.next()?;
        let mut class = class(first);
        let mut continues = |(_, character): &(usize, char)| match (class, self::class(*character)) {
            (CharClass::Digit, _) | (_, CharClass::Digit) => false,
            (CharClass::NonAscii, CharClass::Letter | CharClass::Symbol) => {
                class = self::class(*character);
                true
            }
            (CharClass::Letter | CharClass::Symbol, CharClass::NonAscii) => true,
            (class, next) => class == next,
        };
        while characters.next_if(&mut continues).is_some() {}
        Some(start..characters.peek().map_or(text.len(), |(end, _)| *end))
    };
    let may_have_any = has_long_stretch_without_digits(text.as_bytes());
    std::iter::from_fn(move || if may_have_any { next_run() } else { None }).filter(|run| run.len() > MAX_RUN_BYTES)
}

/// Returns true if over [`MAX_RUN_BYTES`] bytes in a row are no ASCII digits, as in each of the [long runs](long_runs).
/// Reads only a few bytes of most texts.
fn has_long_stretch_without_digits(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(window) = rest.get(..=MAX_RUN_BYTES) {
        match window.iter().rposition(u8::is_ascii_digit) {
            Some(digit) => rest = &rest[digit + 1..],
            None => return true,
        }
    }
    false
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Letter,
    Symbol,
    NonAscii,
    Digit,
    WhiteSpace,
}

fn class(character: char) -> CharClass {
    if character.is_numeric() {
        CharClass::Digit
    } else if character.is_whitespace() {
        CharClass::WhiteSpace
    } else if !character.is_ascii() {
        CharClass::NonAscii
    } else if character.is_alphabetic() {
        CharClass::Letter
    } else {
        CharClass::Symbol
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_are_counted_in_pieces() {
        let long = |character: &str| character.repeat(MAX_RUN_BYTES / character.len() + 1);
        let sentence = "The invoice was not found. ".repeat(8000);
        assert!(!is_estimated(&sentence) && sentence.len() > 2 * MAX_RUN_BYTES);
        for exact in
            ["a".repeat(MAX_RUN_BYTES), "7".repeat(2 * MAX_RUN_BYTES), "a=".repeat(MAX_RUN_BYTES), String::new()]
        {
            assert!(!is_estimated(&exact));
        }
        // A digit ends a run, wherever it is.
        for at in [1, MAX_RUN_BYTES / 2, MAX_RUN_BYTES] {
            let (before, after) = ("a".repeat(at), "a".repeat(MAX_RUN_BYTES));
            assert!(!is_estimated(&format!("{before}7{after}")), "{at}");
            assert!(is_estimated(&format!("{before}7{after}a")), "{at}");
        }
        for character in ["a", "é", "\u{301}", "e\u{301}", "漢", "=", "=—", " ", "\n"] {
            let run = long(character);
            assert!(is_estimated(&run) && is_estimated(&format!("say: {run}.")), "{character:?}");
            // Between a token for 128 characters, the longest run of blanks, and one for a byte.
            let tokens = count_tokens(&run) as usize;
            assert!(tokens >= run.chars().count() / 128 && tokens <= run.len(), "{character:?}: {tokens}");
            // The rest of a text is counted exactly.
            let around = count_tokens(&format!("{sentence}{run}")) as usize;
            assert!(around.abs_diff(tokens + count_tokens(&sentence) as usize) <= 1, "{character:?}");
        }
        // Pieces change little: exact counts are those of the library for the whole run.
        for character in ["a", "é", "=", " "] {
            let run = long(character);
            let exact = VOCABULARY.count_ordinary(&run) as f64;
            let estimate = f64::from(count_tokens(&run));
            assert!((estimate / exact - 1.0).abs() < 0.02, "{character:?}: {estimate} for {exact}");
        }
    }

    /// All texts of up to five of the characters that the vocabulary's pattern tells apart.
    #[test]
    fn no_token_crosses_the_end_of_a_word() {
        const CHARACTERS: [char; 15] =
            ['a', 's', 'B', '1', ' ', '\n', '\r', '\t', '/', '!', '\'', 'é', '²', '\u{a0}', '\u{c}'];
        let mut texts = vec![String::new()];
        for length in 1..=5 {
            texts = texts.iter().flat_map(|text| CHARACTERS.map(|character| format!("{text}{character}"))).collect();
            for text in &texts {
                assert_eq!(words(text).collect::<String>(), *text);
                assert_eq!(count_words(text), VOCABULARY.count_ordinary(text), "{length}: {text:?}");
            }
        }
        let code = "fn main() {\n    let x = 1000;\n\n    // it's 3.5%\r\n\tx //\n  / \n}";
        let expected = [
            "fn", " main", "()", " {\n", "    let", " x", " =", " 100", "0", ";\n\n", "    //", " it's", " 3", ".",
            "5", "%\r\n", "\tx", " //\n", "  /", " \n", "}",
        ];
        assert_eq!(words(code).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn counts_are_those_of_o200k_base() {
        // Values computed by a second implementation: the crate bpe-openai 0.3.2, `o200k_base().count(text)`.
        let mut counter = TokenCounter::new();
        for (text, tokens) in [
            ("", 0),
            ("hello world", 2),
            ("Error: Invoice not found", 5),
            ("⚠️ VALIDATION FAILED — ACTION 'PROJECTS.CREATE'", 13),
            ("<|endoftext|>", 7),
        ] {
            assert_eq!(counter.count(text), tokens, "{text}");
            assert_eq!(counter.count(text), tokens, "{text}, remembered");
        }
    }
}
