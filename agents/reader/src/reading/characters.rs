//! Statements about the characters of a text: `only letters and digits`, `6 digits`, `no spaces`, `must start with a letter`.

use super::bounds::number_at;
use super::clauses::is_negated;
use super::forms::{Literal, literal_at};
use super::lists::{sentence, skip_words};
use super::statement_reader::{PhraseContext, StatementReader};
use super::tokens::{Token, TokenKind};
use super::{ExpectedFormat, Fault, Relation, Statement};

/// Kinds of characters, as they stand within the brackets of a pattern.
const KINDS: [(&str, &str); 33] = [
    ("letter", "A-Za-z"),
    ("lowercase", "a-z"),
    ("lower-case", "a-z"),
    ("small", "a-z"),
    ("uppercase", "A-Z"),
    ("upper-case", "A-Z"),
    ("capital", "A-Z"),
    ("digit", "0-9"),
    ("number", "0-9"),
    ("numeral", "0-9"),
    ("alphanumeric", "A-Za-z0-9"),
    ("alphanumerical", "A-Za-z0-9"),
    ("alphabetic", "A-Za-z"),
    ("hyphen", "\\-"),
    ("dash", "\\-"),
    ("underscore", "_"),
    ("dot", "."),
    ("period", "."),
    ("space", " "),
    ("whitespace", "\\s"),
    ("blank", " "),
    ("slash", "/"),
    ("colon", ":"),
    ("comma", ","),
    ("plus", "+"),
    ("apostrophe", "'"),
    ("tilde", "\\~"),
    ("caret", "\\^"),
    ("asterisk", "*"),
    ("backslash", "\\\\"),
    ("semicolon", ";"),
    ("_", "_"),
    ("hexadecimal", "0-9A-Fa-f"),
];
/// Words that may stand between kinds of characters.
const FILLERS: [&str; 17] = [
    "contain",
    "contains",
    "use",
    "of",
    "be",
    "the",
    "and",
    "or",
    "ascii",
    "latin",
    "characters",
    "character",
    "signs",
    "english",
    "single",
    "are",
    "only",
];
/// Words before the number of characters.
const BEFORE_COUNT: [&str; 8] = ["a", "an", "exactly", "be", "of", "have", "contain", "precisely"];
/// Words for things that are counted without a kind.
const COUNTED: [&str; 8] =
    ["character", "characters", "chars", "items", "elements", "entries", "letters/digits", "symbols"];

/// The kinds of characters of a list, within the brackets of a pattern.
#[derive(Default)]
struct Classes {
    text: String,
    /// The case of the letters that follow.
    case: Option<&'static str>,
}

impl Classes {
    fn push(&mut self, class: &str) {
        if !self.text.contains(class) {
            self.text.push_str(class);
        }
    }

    fn add(&mut self, token: &Token<'_>) -> bool {
        match kind_of(token) {
            Some("A-Za-z") => {
                let class = self.case.take().unwrap_or("A-Za-z");
                self.push(class);
            }
            Some(class @ ("a-z" | "A-Z")) => {
                if let Some(before) = self.case.replace(class) {
                    self.push(before);
                }
            }
            Some(class) => self.push(class),
            None if is_range(token.text) => self.push(token.text),
            None => return false,
        }
        true
    }

    fn finish(mut self) -> String {
        if let Some(case) = self.case.take() {
            self.push(case);
        }
        self.text
    }
}

/// Returns the class of a kind of characters, in the singular or the plural.
fn kind_of(token: &Token<'_>) -> Option<&'static str> {
    if token.kind != TokenKind::Word {
        return None;
    }
    let is_named = |name: &str| {
        let end = token
            .text
            .get(..name.len())
            .filter(|start| start.eq_ignore_ascii_case(name))
            .map(|_| &token.text[name.len()..]);
        end.is_some_and(|end| ["", "s", "es"].iter().any(|plural| end.eq_ignore_ascii_case(plural)))
    };
    KINDS.iter().find(|(name, _)| is_named(name)).map(|(_, class)| *class)
}

/// Returns true for ranges of characters: `a-z0-9`.
fn is_range(word: &str) -> bool {
    let bytes = word.as_bytes();
    let is_part = |part: &[u8]| matches!(part, [from, b'-', to] if from < to && from.is_ascii_alphanumeric() && from.is_ascii_digit() == to.is_ascii_digit());
    let ranges = bytes.strip_suffix(b"_").unwrap_or(bytes);
    bytes.len() >= 3 && ranges.chunks(3).all(is_part)
}

fn is_filler(token: &Token<'_>) -> bool {
    token.is_symbol(",()&") || FILLERS.iter().any(|word| token.is_word(word))
}

/// Returns true for a token that stands alone in brackets.
fn in_brackets(tokens: &[Token<'_>], at: usize) -> bool {
    at > 0 && tokens[at - 1].is_symbol("(") && tokens.get(at + 1).is_some_and(|next| next.is_symbol(")"))
}

/// Returns the class of a symbol that stands for itself in a list: `a-z, 0-9, -`.
fn symbol_class(tokens: &[Token<'_>], at: usize) -> Option<String> {
    let token = tokens.get(at)?;
    let is_single = token.text.chars().count() == 1 && !token.text.chars().all(char::is_alphanumeric);
    let ends = tokens.get(at + 1).is_none_or(|next| next.kind == TokenKind::End || is_filler(next));
    let class = match token.kind {
        TokenKind::Symbol if is_single && ends && (!token.is_symbol(",()[]{}:;\"'") || in_brackets(tokens, at)) => {
            token.text
        }
        TokenKind::Quoted if is_single => token.text,
        _ => return None,
    };
    Some(if matches!(class, "-" | "]" | "[" | "\\" | "^" | "&" | "~") {
        format!("\\{class}")
    } else {
        class.to_owned()
    })
}

/// Returns true for a word of the name of a symbol that follows in brackets: "question marks (?)".
fn is_named_symbol(tokens: &[Token<'_>], at: usize) -> bool {
    let is_word = |at: usize| tokens.get(at).is_some_and(|token| token.kind == TokenKind::Word);
    let is_shown = |at: usize| {
        tokens.get(at).is_some_and(|token| token.is_symbol("("))
            && symbol_class(tokens, at + 1).is_some()
            && tokens.get(at + 2).is_some_and(|token| token.is_symbol(")"))
    };
    is_word(at) && (is_shown(at + 1) || is_word(at + 1) && is_shown(at + 2))
}

/// Reads the kinds of characters at `at`. Returns their class, empty if there are none, and the index after them.
fn classes_at(tokens: &[Token<'_>], at: usize) -> (String, usize) {
    let mut classes = Classes::default();
    let mut end = at;
    for index in at..tokens.len() {
        if classes.add(&tokens[index]) {
            end = index + 1;
        } else if let Some(class) = symbol_class(tokens, index).filter(|_| index > at) {
            classes.push(&class);
            end = index + 1;
        } else if !is_filler(&tokens[index]) && !is_named_symbol(tokens, index) {
            break;
        }
    }
    (classes.finish(), end)
}

/// Returns true if a list has nothing but kinds of characters.
pub(super) fn are_kinds(items: &[&str]) -> bool {
    let is_kind = |item: &&str| {
        let token = Token { kind: TokenKind::Word, text: item, rest: "" };
        kind_of(&token).is_some() || is_range(item)
    };
    items.iter().all(is_kind)
}

impl StatementReader<'_> {
    /// Reads the kinds of characters that a text may have: `only letters, digits and hyphens`, `letters and digits only`.
    pub(super) fn read_characters(&mut self, context: &PhraseContext<'_>) {
        if self.read_count(context) {
            return;
        }
        let range = sentence(context.tokens, context.at);
        let tokens = &context.tokens[..range.end];
        let start = skip_words(tokens, context.next, &["are", "is", "include"], 3);
        let (after, _) = classes_at(tokens, start);
        let class = if after.is_empty() && tokens[context.at].is_word("only") {
            let before = &tokens[range.start..context.at];
            let is_part =
                |at: usize| kind_of(&before[at]).is_some() || is_range(before[at].text) || is_filler(&before[at]);
            let start = (0..before.len()).rev().take_while(|at| is_part(*at)).last();
            start.map(|start| classes_at(before, start).0).unwrap_or_default()
        } else {
            after
        };
        self.push_class(&class, context);
    }

    /// Reads "must be alphanumeric" and "must be 6 digits".
    pub(super) fn read_expected_characters(&mut self, context: &PhraseContext<'_>) -> bool {
        let range = sentence(context.tokens, context.at);
        let tokens = &context.tokens[..range.end];
        if self.read_count(context) {
            return true;
        }
        let at = skip_words(tokens, context.next, &["in", "all", "only", "strictly"], 2);
        let (class, end) = classes_at(tokens, at);
        let is_end = tokens
            .get(end)
            .is_none_or(|next| next.kind == TokenKind::Symbol || next.is_word("only") || next.is_word("but"));
        // "must be numbers" may be said of a list.
        let is_open =
            tokens.get(at).is_some_and(|token| token.is_word("numbers") || token.is_word("number")) && end == at + 1;
        let class = match class.as_str() {
            "" => return false,
            _ if is_open || !is_end => return false,
            // "must be lowercase" allows what has no case.
            "a-z" if end == at + 1 => "^A-Z".to_owned(),
            "A-Z" if end == at + 1 => "^a-z".to_owned(),
            _ => class,
        };
        self.push_class(&class, context);
        true
    }

    /// Reads a number of characters: `exactly 6 digits`, `a 6-digit number`.
    fn read_count(&mut self, context: &PhraseContext<'_>) -> bool {
        let range = sentence(context.tokens, context.at);
        let tokens = &context.tokens[..range.end];
        let at = skip_words(tokens, context.next, &BEFORE_COUNT, 4);
        let Some(token) = tokens.get(at) else { return false };
        // "six-digit"
        if let Some((number, kind)) = token.text.split_once('-').filter(|_| token.kind == TokenKind::Word) {
            let word = |text| Token { kind: TokenKind::Word, text, rest: "" };
            let (number, kind) = ([word(number)], word(kind));
            return match (number_at(&number, 0), kind_of(&kind)) {
                (Some((count, _)), Some(class)) => self.push_counted(class, count, context),
                _ => false,
            };
        }
        let Some((count, end)) = number_at(tokens, at) else { return false };
        let end = end + usize::from(tokens.get(end).is_some_and(|token| token.is_symbol("-")));
        let (class, after) = classes_at(tokens, end);
        let next = tokens.get(end);
        // "3 and more"
        if next.is_some_and(|next| next.is_word("or") || next.is_word("and") || next.is_symbol(",")) {
            return false;
        }
        let is_end = tokens.get(after).is_none_or(|next| {
            next.kind == TokenKind::Symbol
                || ["long", "only", "like", "such", "as", "code", "string", "id", "identifier", "value", "pin"]
                    .iter()
                    .any(|word| next.is_word(word))
        });
        if !class.is_empty() && after > end && is_end {
            return self.push_counted(&class, count, context);
        }
        if next.is_some_and(|next| COUNTED.iter().any(|word| next.is_word(word)))
            && !tokens.get(end + 1).is_some_and(|next| {
                ["or", "at", "max", "min", "maximum", "minimum", "and"].iter().any(|word| next.is_word(word))
            })
            && let Some(field) = self.field(context)
        {
            self.push(Statement::Bound { field: field.clone(), relation: Relation::AtLeast, limit: count });
            self.push(Statement::Bound { field, relation: Relation::AtMost, limit: count });
            return true;
        }
        false
    }

    fn push_counted(&mut self, class: &str, count: f64, context: &PhraseContext<'_>) -> bool {
        if !(1.0..=1000.0).contains(&count) || count.fract() != 0.0 {
            return false;
        }
        self.push_format(ExpectedFormat::Pattern(format!("^[{class}]{{{count}}}$")), context);
        true
    }

    fn push_class(&mut self, class: &str, context: &PhraseContext<'_>) {
        if !class.is_empty() {
            self.push_format(ExpectedFormat::Pattern(format!("^[{class}]*$")), context);
        }
    }

    /// Reads the kinds of characters that a text may not have: `no spaces`.
    pub(super) fn read_forbidden_characters(&mut self, context: &PhraseContext<'_>) {
        let range = sentence(context.tokens, context.at);
        let tokens = &context.tokens[..range.end];
        let (class, end) = classes_at(tokens, skip_words(tokens, context.next, &["any"], 1));
        let ends = tokens.get(end).is_none_or(|next| {
            next.kind == TokenKind::Symbol
                || ["allowed", "permitted", "in", "are", "please", "at"].iter().any(|word| next.is_word(word))
        });
        if !class.is_empty() && ends {
            self.push_class(&format!("^{class}"), context);
        }
    }

    /// Reads "spaces are not allowed". Returns false if the phrase is about something else.
    pub(super) fn read_refused_characters(&mut self, context: &PhraseContext<'_>) -> bool {
        let range = sentence(context.tokens, context.at);
        let before = &context.tokens[range.start..context.at];
        let is_verb = |token: &&Token<'_>| token.is_word("are") || token.is_word("is");
        let end = before.len() - before.iter().rev().take_while(is_verb).count();
        let Some(last) = end.checked_sub(1).filter(|last| kind_of(&before[*last]).is_some()) else { return false };
        let is_part = |at: usize| kind_of(&before[at]).is_some() || is_filler(&before[at]);
        let start = (0..=last).rev().take_while(|at| is_part(*at)).last().unwrap_or(last);
        let (class, _) = classes_at(&before[..end], start);
        self.push_class(&format!("^{class}"), context);
        true
    }

    /// Reads what a text has to begin or to end with: a literal or a kind of characters.
    pub(super) fn read_affix(&mut self, is_prefix: bool, context: &PhraseContext<'_>) {
        let range = sentence(context.tokens, context.at);
        let is_refused = is_negated(context.tokens, &range, context.at);
        let tokens = &context.tokens[..range.end];
        let at = skip_words(
            tokens,
            context.next,
            &["with", "the", "a", "an", "letters", "prefix", "suffix", "either", "is"],
            3,
        );
        let (class, end) = classes_at(tokens, at);
        let has_kind = tokens.get(at).is_some_and(|token| kind_of(token).is_some());
        let (part, rest) = if has_kind {
            (format!("[{class}]"), tokens.get(end.max(1) - 1).map_or("", |token| token.rest))
        } else {
            match literals_at(tokens.get(at.max(1) - 1).map_or("", |token| token.rest)) {
                Some(found) => found,
                None => return,
            }
        };
        if is_refused {
            // Of a longer text a pattern cannot say that it is absent.
            let class = match part.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')) {
                Some(class) => class.to_owned(),
                None if part.strip_prefix('\\').unwrap_or(&part).chars().count() == 1 => part,
                None => return self.read_fault(Fault::Invalid, context),
            };
            let pattern = if is_prefix { format!("^[^{class}]") } else { format!("[^{class}]$") };
            return self.push_format(ExpectedFormat::Pattern(pattern), context);
        }
        let followed = rest.trim_start().strip_prefix("followed by").and_then(|rest| {
            let follows = tokens.iter().position(|token| token.rest.len() == rest.len())?;
            let (class, _) = classes_at(tokens, follows + 1);
            (!class.is_empty()).then(|| format!("[{class}]+$"))
        });
        let pattern = if is_prefix { format!("^{part}{}", followed.unwrap_or_default()) } else { format!("{part}$") };
        self.push_format(ExpectedFormat::Pattern(pattern), context);
    }
}

/// Returns a pattern of the literals at the start of a text, `http:// or https://`, and the text after them.
fn literals_at(text: &str) -> Option<(String, &str)> {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(Literal { text, is_quoted, rest: after }) = literal_at(rest) {
        let is_marked = text.contains(|c: char| !c.is_ascii_lowercase());
        if parts.len() >= 8 || !(is_quoted || is_marked) {
            break;
        }
        parts.push(regex::escape(text));
        let after = after.trim_start();
        rest = match after
            .strip_prefix("or ")
            .or_else(|| after.strip_prefix(", or "))
            .or_else(|| after.strip_prefix(", "))
        {
            Some(next) => next,
            None => {
                rest = after;
                break;
            }
        };
    }
    let pattern = match parts.as_slice() {
        [] => return None,
        [only] => only.clone(),
        several => format!("(?:{})", several.join("|")),
    };
    Some((pattern, rest))
}
