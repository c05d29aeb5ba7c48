//! Splits text into words, quoted text, numbers and symbols.

use super::words::WordList;

/// A token. The text of a quoted token does not include its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind,
    pub(super) text: &'t str,
    /// All of the text after this token, unsplit; used to read regular expressions, which tokens would break up.
    pub(super) rest: &'t str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A word, a dotted name or a path: `billing.list`, `retry-after`, `lines[0].qty`, `2026-01-31`, `/srv/a`, `.csv`.
    Word,
    Quoted,
    /// A number, including any thousands separators.
    Number,
    Symbol,
    /// The end of a sentence.
    End,
}

/// The maximum length of quoted text; otherwise the quotation mark is a symbol. The limit keeps the time linear.
const MAX_QUOTE_BYTES: usize = 256;

impl Token<'_> {
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.says(word)
    }

    /// Returns true for a word of the list.
    pub(super) fn is_one_of(&self, list: &WordList) -> bool {
        self.kind == TokenKind::Word && list.has(self.text)
    }

    /// Returns true if the text is `word` in any case, with either apostrophe.
    #[inline]
    pub(super) fn says(&self, word: &str) -> bool {
        // The typographic apostrophe has two bytes more.
        let is_longer = self.text.len() == word.len() + 2;
        self.text.eq_ignore_ascii_case(word)
            || is_longer && word.contains('\'') && self.text.replace('’', "'").eq_ignore_ascii_case(word)
    }

    pub(super) fn is_symbol(&self, symbols: &str) -> bool {
        self.kind == TokenKind::Symbol && symbols.contains(self.text)
    }

    /// Returns the value of a number token: `3,200` is 3200.
    pub(super) fn number(&self) -> Option<f64> {
        if self.kind != TokenKind::Number {
            return None;
        }
        if self.text.contains([',', '_']) {
            self.text.replace([',', '_'], "").parse().ok()
        } else {
            self.text.parse().ok()
        }
    }
}

/// Appends the tokens of `text` to `out`.
pub(super) fn lex<'t>(text: &'t str, out: &mut Vec<Token<'t>>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut previous = ' ';
    while let Some(next) = text[at..].chars().next() {
        let (kind, inner, end) = match next {
            // "e.g." ends no sentence.
            '.' if out.last().is_some_and(|last| last.is_word("e.g") || last.is_word("i.e")) => {
                at += 1;
                continue;
            }
            // "max. 100"
            '.' if text[at + 1..].trim_start_matches(' ').starts_with(|c: char| c.is_ascii_digit())
                && out.last().is_some_and(|last| last.is_word("max") || last.is_word("min")) =>
            {
                at += 1;
                continue;
            }
            ' ' | '\t' | '\r' => {
                at += 1;
                previous = ' ';
                continue;
            }
            '\n' => (TokenKind::End, at..at + 1, at + 1),
            '"' | '\'' | '`' | '“' | '‘' | '„' | '«' => match lex_quoted(text, at, next, previous) {
                Some((inner, end)) => (TokenKind::Quoted, inner, end),
                None => (TokenKind::Symbol, at..at + next.len_utf8(), at + next.len_utf8()),
            },
            '0'..='9' => lex_number(bytes, at),
            '-' if !previous.is_alphanumeric() && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                lex_number(bytes, at)
            }
            // "question marks (?)"
            '?' | '!' if previous == '(' && bytes.get(at + 1) == Some(&b')') => (TokenKind::Symbol, at..at + 1, at + 1),
            '.' | ';' | '!' | '?' if ends_sentence(bytes, at) => (TokenKind::End, at..at + 1, at + 1),
            '>' | '<' | '=' if matches!(bytes.get(at + 1), Some(b'=')) => (TokenKind::Symbol, at..at + 2, at + 2),
            '-' | '=' if matches!(bytes.get(at + 1), Some(b'>')) => (TokenKind::Symbol, at..at + 2, at + 2),
            '/' | '~' | '.' if begins_path(text, at, previous) => {
                let end = word_end(text, at + 1);
                (TokenKind::Word, at..end, end)
            }
            _ if next.is_alphabetic() || next == '_' => {
                let end = word_end(text, at);
                (TokenKind::Word, at..end, end)
            }
            _ => (TokenKind::Symbol, at..at + next.len_utf8(), at + next.len_utf8()),
        };
        let inner = &text[inner];
        // French quotation marks have spaces inside.
        let inner = if next == '«' { inner.trim() } else { inner };
        out.push(Token { kind, text: inner, rest: &text[end..] });
        previous = text[..end].chars().next_back().unwrap_or(' ');
        at = end;
    }
}

/// Returns true if a full stop ends a sentence: before white space, a closing quote or bracket, and at the end of the
/// text.
fn ends_sentence(bytes: &[u8], at: usize) -> bool {
    bytes
        .get(at + 1)
        .is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b')' | b'*' | b'<' | b'!'))
}

/// Returns true if a path or the end of a file's name stands at `at`: `/srv/a`, `~/a`, `.csv`.
fn begins_path(text: &str, at: usize, previous: char) -> bool {
    let begins_word = previous.is_whitespace() || matches!(previous, '(' | ':' | ',' | '=' | '[' | '|' | '*');
    let next = text[at + 1..].chars().next();
    begins_word
        && next.is_some_and(|next| match text.as_bytes()[at] {
            b'~' => next == '/',
            b'.' => next.is_ascii_alphanumeric(),
            _ => next.is_alphanumeric() || next == '_',
        })
}

type ByteRange = std::ops::Range<usize>;

fn lex_quoted(text: &str, at: usize, open: char, previous: char) -> Option<(ByteRange, usize)> {
    // An apostrophe does not open a quote: `don't`, `users'`.
    if open == '\'' && previous.is_alphanumeric() {
        return None;
    }
    let close = match open {
        '“' => '”',
        '‘' => '’',
        '„' => '“',
        '«' => '»',
        same => same,
    };
    let start = at + open.len_utf8();
    let mut escaped = false;
    for (offset, c) in text[start..].char_indices() {
        if offset > MAX_QUOTE_BYTES || c == '\n' {
            return None;
        }
        if c == close && !escaped {
            let end = start + offset + close.len_utf8();
            let inside_word = close == '\'' && text[end..].chars().next().is_some_and(char::is_alphanumeric);
            if !inside_word {
                return Some((start..start + offset, end));
            }
        }
        escaped = c == '\\' && !escaped;
    }
    None
}

fn lex_number(bytes: &[u8], at: usize) -> (TokenKind, ByteRange, usize) {
    let digit = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let mut end = at + 1;
    while digit(end) {
        end += 1;
    }
    // A separator counts only before exactly three digits, so that `1, 2` and `1,2` stay two numbers.
    while matches!(bytes.get(end), Some(b',' | b'_'))
        && digit(end + 1)
        && digit(end + 2)
        && digit(end + 3)
        && !digit(end + 4)
    {
        end += 4;
    }
    if bytes.get(end) == Some(&b'.') && digit(end + 1) {
        end += 1;
        while digit(end) {
            end += 1;
        }
    }
    // `2026-01-31` and `10:30` are words.
    if matches!(bytes.get(end), Some(b'-' | b':')) && digit(end + 1) {
        let is_alphanumeric = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_alphanumeric);
        // A full stop or a dash at the end belongs to the sentence.
        let joins = |index: usize| matches!(bytes.get(index), Some(b'-' | b':' | b'.')) && is_alphanumeric(index + 1);
        while is_alphanumeric(end) || joins(end) {
            end += 1;
        }
        return (TokenKind::Word, at..end, end);
    }
    (TokenKind::Number, at..end, end)
}

fn word_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let mut end = at;
    while let Some(c) = text[end..].chars().next() {
        let joins = |index: usize| bytes.get(index).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        if c.is_alphanumeric() || c == '_' {
            end += c.len_utf8();
        } else if let Some(rest) = is_negation(text, at, end) {
            end += rest;
        } else if matches!(c, '.' | '-' | '/') && joins(end + 1) {
            end += 1;
        } else if c == '[' && joins(end + 1) {
            let digits = bytes[end + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 || bytes.get(end + 1 + digits) != Some(&b']') {
                break;
            }
            end += digits + 2;
        } else {
            break;
        }
    }
    end
}

/// Returns the length of the end of a contraction with "not" at `end`: `'t` in `don't`.
fn is_negation(text: &str, at: usize, end: usize) -> Option<usize> {
    let apostrophe = text[end..].chars().next().filter(|c| matches!(c, '\'' | '’'))?.len_utf8();
    let mut rest = text[end + apostrophe..].chars();
    let is_end = rest.next() == Some('t') && rest.next().is_none_or(|c| !c.is_alphanumeric());
    (is_end && text[at..end].ends_with('n')).then_some(apostrophe + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds_and_texts(text: &str) -> Vec<(TokenKind, &str)> {
        let mut tokens = Vec::new();
        lex(text, &mut tokens);
        tokens.into_iter().map(|token| (token.kind, token.text)).collect()
    }

    #[test]
    fn names_numbers_and_quotes() {
        use TokenKind::*;
        assert_eq!(
            kinds_and_texts("Call billing.list. lines[0].qty is 'it's', 3,200 on 2026-01-31"),
            [
                (Word, "Call"),
                (Word, "billing.list"),
                (End, "."),
                (Word, "lines[0].qty"),
                (Word, "is"),
                (Quoted, "it's"),
                (Symbol, ","),
                (Number, "3,200"),
                (Word, "on"),
                (Word, "2026-01-31"),
            ]
        );
        assert_eq!(kinds_and_texts("08:00, 14:00."), [(Word, "08:00"), (Symbol, ","), (Word, "14:00"), (End, ".")]);
        assert_eq!(
            kinds_and_texts("not in /srv/a, ~/b (.csv)"),
            [
                (Word, "not"),
                (Word, "in"),
                (Word, "/srv/a"),
                (Symbol, ","),
                (Word, "~/b"),
                (Symbol, "("),
                (Word, ".csv"),
                (Symbol, ")"),
            ]
        );
        assert_eq!(kinds_and_texts("don't >= -273.15"), [(Word, "don't"), (Symbol, ">="), (Number, "-273.15"),]);
    }
}
