//! Parses input shapes in TypeScript-like notation: `{ amount: number, status?: "open" | "paid" }`.

use super::Statement;
use super::statement_reader::StatementReader;
use super::tokens::{Token, TokenKind, lex};

impl StatementReader<'_> {
    /// Reads an input shape. `words` (the text before it, or the label around it) may say whether it is the previous or
    /// the current one.
    pub(super) fn read_shape(&mut self, fields: Vec<ShapeField>, words: &str) {
        let mut tokens = Vec::new();
        lex(words, &mut tokens);
        let last =
            |known: &[&str]| tokens.iter().rposition(|t| known.iter().any(|word| t.is_word(word) || t.is_symbol(word)));
        let previous = last(&["previous", "previously", "before", "old", "was", "formerly", "from"]);
        let current = last(&[
            "current",
            "currently",
            "now",
            "new",
            "after",
            "to",
            "→",
            "->",
            "=>",
            "became",
            "is",
            "expected",
            "schema",
        ]);
        self.note_action(&tokens);
        let previous_shape = self.previous_shape.take();
        if previous > current || (previous.is_none() && current.is_none() && previous_shape.is_none()) {
            self.previous_shape = Some(fields);
            return;
        }
        let dropped_field = |field: &&ShapeField| !fields.iter().any(|kept| kept.path == field.path);
        let dropped = previous_shape.iter().flatten().filter(dropped_field).map(|field| field.path.clone()).collect();
        self.push(Statement::Contract { action: self.action.clone(), fields, dropped });
    }

    pub(super) fn note_action(&mut self, tokens: &[Token<'_>]) {
        for token in tokens {
            if let Some(rest) = token.text.strip_prefix("actions.")
                && matches!(token.kind, TokenKind::Word | TokenKind::Quoted)
            {
                self.action = rest.split('.').next().map(str::to_owned);
            }
        }
    }
}

/// One field of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeField {
    pub path: String,
    /// The text after the colon, trimmed.
    pub kind: String,
    /// True if it is marked as optional (`?`).
    pub optional: bool,
}

/// The maximum nesting of a shape.
const MAX_DEPTH: usize = 16;

/// Parses a shape at the start of `text`. Also returns its length in bytes.
pub(super) fn shape_at(text: &str) -> Option<(Vec<ShapeField>, usize)> {
    let mut fields = Vec::new();
    let rest = parse_object(text, "", &mut fields, 0)?;
    if fields.is_empty() {
        return None;
    }
    Some((fields, text.len() - rest.len()))
}

/// Returns the length of the forms at the start of `text`, `{ … } | { … }`, if the words `before` say that an argument fits none of them.
pub(super) fn forms_length(before: &str, text: &str) -> Option<usize> {
    if !before.trim_end().ends_with("none of") {
        return None;
    }
    let mut depth = 0_usize;
    let mut end = 0;
    // The limit keeps the time linear.
    for (at, c) in text.char_indices().take(2000) {
        match c {
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                end = at + 1;
            }
            ' ' | '|' => {}
            _ if depth == 0 => break,
            _ => {}
        }
    }
    Some(end.max(1))
}

fn parse_object<'t>(text: &'t str, prefix: &str, fields: &mut Vec<ShapeField>, depth: usize) -> Option<&'t str> {
    let mut rest = text.strip_prefix('{')?.trim_start();
    if depth > MAX_DEPTH {
        return None;
    }
    while !rest.starts_with('}') {
        // Quoted keys are data (JSON, a Python dict), not a shape.
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '$')))?;
        let name = &rest[..end];
        rest = &rest[end..];
        let optional = rest.starts_with('?');
        rest = rest.trim_start_matches('?').trim_start().strip_prefix(':')?.trim_start();
        if name.is_empty() {
            return None;
        }
        let path = format!("{prefix}{name}");
        let index = fields.len();
        fields.push(ShapeField { path: path.clone(), kind: String::new(), optional });
        let start = rest;
        if rest.starts_with('{') {
            rest = parse_object(rest, &format!("{path}."), fields, depth + 1)?;
        }
        let end = value_end(rest)?;
        rest = &rest[end..];
        fields[index].kind = start[..start.len() - rest.len()].trim().to_owned();
        rest = rest.strip_prefix([',', ';']).unwrap_or(rest).trim_start();
    }
    rest.strip_prefix('}')
}

/// Returns the end of a field's type: a separator or the closing brace outside of brackets and quotes.
fn value_end(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote = None;
    // The limit keeps the time linear if many braces are never closed.
    for (index, c) in text.char_indices().take(2000) {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, '}' | ',' | ';') if depth == 0 => return Some(index),
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_nested_and_optional_fields() {
        let text = "{ amount: number, note?: \"a, b\" | \"c\", to: { city: string }, tags: array<{ x: y }> } tail";
        let (fields, length) = shape_at(text).unwrap();
        assert_eq!(&text[length..], " tail");
        let shown: Vec<_> = fields.iter().map(|f| (f.path.as_str(), f.kind.as_str(), f.optional)).collect();
        assert_eq!(
            shown,
            [
                ("amount", "number", false),
                ("note", "\"a, b\" | \"c\"", true),
                ("to", "{ city: string }", false),
                ("to.city", "string", false),
                ("tags", "array<{ x: y }>", false),
            ]
        );
        assert_eq!(shape_at("{}"), None);
        assert_eq!(shape_at("{ amount"), None);
        assert_eq!(shape_at("{ not a shape }"), None);
    }
}
