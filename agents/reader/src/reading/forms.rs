//! Forms of values that a text shows: `owner/repo`, `ORD-<number>`, `/data/me/a.txt`.

use super::Vocabulary;
use super::patterns::{is_format, json_type};

/// A word of a text, with all that stands in it, or a quotation.
pub(super) struct Literal<'t> {
    pub(super) text: &'t str,
    pub(super) is_quoted: bool,
    /// The text after it.
    pub(super) rest: &'t str,
}

/// Returns the literal at the start of a text. A full stop or a bracket at its end belongs to the sentence.
pub(super) fn literal_at(text: &str) -> Option<Literal<'_>> {
    let text = text.trim_start_matches([' ', ':', '(', '*']);
    let quote = text.chars().next()?;
    if matches!(quote, '"' | '\'' | '`' | '“' | '‘') {
        let close = match quote {
            '“' => '”',
            '‘' => '’',
            same => same,
        };
        let inner = &text[quote.len_utf8()..];
        let end = inner.find(close).filter(|end| *end > 0 && !inner[..*end].contains('\n'))?;
        return Some(Literal { text: &inner[..end], is_quoted: true, rest: &inner[end + close.len_utf8()..] });
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let word = text[..end].trim_end_matches([',', ';', '.', ')', '!', '?', '"', '\'', '`', '*']);
    (!word.is_empty()).then(|| Literal { text: word, is_quoted: false, rest: &text[word.len()..] })
}

/// Returns true for words of a sentence, which show the form of no value: "drop the anchor".
pub(super) fn is_phrase(text: &str) -> bool {
    text.split(' ').filter(|word| word.chars().all(char::is_alphabetic)).count() > 2
}

/// Returns true if a literal shows the form of a value: it has parts as identifiers and paths have them.
pub(super) fn is_form(literal: &Literal<'_>, vocabulary: &Vocabulary<'_>) -> bool {
    let text = literal.text;
    let has = |mark: fn(char) -> bool| text.contains(mark);
    let has_parts = text.trim_matches(['/', '-', '_', ':', '.', '#']).contains(['/', '-', '_', ':', '.', '#', '@']);
    let is_path = has_parts && text.contains('/') || text.starts_with(['/', '~']) && text.len() > 2;
    let has_placeholder = text.contains(['<', '{', '#']) && has(char::is_alphanumeric);
    let is_code = has_parts && (has(|c| c.is_ascii_digit()) || has(|c| c.is_ascii_uppercase()));
    (is_path || has_placeholder || is_code)
        && text.len() <= 100
        && !["and/or", "either/or", "n/a", "N/A"].contains(&text)
        && json_type(text).is_none()
        && !is_format(text)
        && vocabulary.field_path(text).is_none()
        && vocabulary.resolve_action(text).is_none()
}

/// Returns the pattern of a form with placeholders, `ORD-<number>`; `None` if it has none.
pub(super) fn pattern_of(form: &str) -> Option<String> {
    let mut pattern = String::from("^");
    let mut rest = form;
    let mut holes = 0;
    while let Some(open) = rest.find(['<', '{']) {
        let close = if rest[open..].starts_with('<') { '>' } else { '}' };
        let length = rest[open..].find(close)?;
        pattern.push_str(&regex::escape(&rest[..open]));
        let name = rest[open + 1..open + length].to_ascii_lowercase();
        let is_number = ["number", "digits", "digit", "int", "integer", "n", "num"].contains(&name.as_str());
        pattern.push_str(if is_number { "[0-9]+" } else { ".+" });
        rest = &rest[open + length + 1..];
        holes += 1;
    }
    pattern.push_str(&regex::escape(rest));
    pattern.push('$');
    (holes > 0).then_some(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_end_before_the_end_of_a_sentence() {
        let texts = |text| literal_at(text).map(|literal| (literal.text, literal.is_quoted));
        assert_eq!(texts(" owner/repo, e.g. a/b"), Some(("owner/repo", false)));
        assert_eq!(texts(": 'ORD-'."), Some(("ORD-", true)));
        assert_eq!(texts("http:// or https://"), Some(("http://", false)));
        assert_eq!(texts(" ."), None);
        assert_eq!(texts("'"), None);
    }

    #[test]
    fn forms_have_parts() {
        let is = |text| is_form(&Literal { text, is_quoted: false, rest: "" }, &Vocabulary::default());
        let forms = ["owner/repo", "ORD-123", "ORD-<number>", "/data/me/q1.xlsx", "2026-01-31", "a@b.C"];
        assert!(forms.into_iter().all(is));
        assert!(!["and/or", "read-only", "date", "5", "is", "Invalid", "string", "e.g"].into_iter().any(is));
        assert_eq!(pattern_of("ORD-<number>").as_deref(), Some("^ORD\\-[0-9]+$"));
        assert_eq!(pattern_of("{owner}/{repo}").as_deref(), Some("^.+/.+$"));
        assert_eq!(pattern_of("owner/repo"), None);
    }
}
