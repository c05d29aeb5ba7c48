//! The outline of the beginning of a file: the paths of its fields, by which its source is recognized.

use std::collections::HashSet;

/// The deepest level of an outline.
const MAX_DEPTH: usize = 12;
/// The longest value that is part of an outline.
const MAX_VALUE_BYTES: usize = 40;
/// The fields whose values are part of an outline.
const VALUE_FIELDS: [&str; 2] = ["role", "type"];
/// Fields that hold conversations, which are not part of a path.
const CONTAINERS: [&str; 6] = ["conversations[]", "data[]", "results[]", "trace", "traj", "trajectory"];

/// The paths of a text's fields, such as `messages[].role`, and with some of them their values: `messages[].role=tool`. A text may be
/// cut, and may have several values.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    paths: HashSet<String>,
    /// The values at the top, whole or not.
    values: usize,
}

impl Outline {
    pub(crate) fn of(text: &[u8]) -> Outline {
        let mut outline = Outline::default();
        let mut cursor = Cursor { text, at: 0 };
        while let Some(byte) = cursor.peek() {
            outline.values += usize::from(matches!(byte, b'{' | b'['));
            if outline.value(&mut cursor, "", 0).is_none() {
                cursor.skip_line();
            }
        }
        outline
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Returns true if there is an object or an array.
    pub(crate) fn has_value(&self) -> bool {
        self.values > 0
    }

    /// Returns true if there are several values, one after the other.
    pub(crate) fn has_many_values(&self) -> bool {
        self.values > 1
    }

    /// Adds a value, or returns `None` where the text ends or is no JSON.
    fn value(&mut self, cursor: &mut Cursor<'_>, path: &str, depth: usize) -> Option<()> {
        match cursor.peek()? {
            b'{' if depth < MAX_DEPTH => self.object(cursor, path, depth),
            b'[' if depth < MAX_DEPTH => {
                cursor.at += 1;
                let path = format!("{path}[]");
                loop {
                    match cursor.peek()? {
                        b']' => {
                            cursor.at += 1;
                            return Some(());
                        }
                        b',' => cursor.at += 1,
                        _ => self.value(cursor, &path, depth + 1)?,
                    }
                }
            }
            b'"' => cursor.string().map(|_| ()),
            _ => cursor.skip(),
        }
    }

    fn object(&mut self, cursor: &mut Cursor<'_>, path: &str, depth: usize) -> Option<()> {
        cursor.at += 1;
        loop {
            match cursor.peek()? {
                b'}' => {
                    cursor.at += 1;
                    return Some(());
                }
                b',' => cursor.at += 1,
                b'"' => {
                    let name = cursor.string()?;
                    if cursor.peek()? != b':' {
                        return None;
                    }
                    cursor.at += 1;
                    let inner = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                    self.add(&inner);
                    if VALUE_FIELDS.contains(&name) && cursor.peek()? == b'"' {
                        let value = cursor.string()?;
                        if value.len() <= MAX_VALUE_BYTES {
                            self.add(&format!("{inner}={value}"));
                        }
                    } else {
                        self.value(cursor, &inner, depth + 1)?;
                    }
                }
                _ => return None,
            }
        }
    }

    /// Adds a path without what holds conversations.
    fn add(&mut self, path: &str) {
        let mut rest = path;
        loop {
            rest = rest.trim_start_matches("[]").trim_start_matches('.');
            let inner = CONTAINERS.iter().find_map(|container| rest.strip_prefix(container));
            let inner = inner.filter(|inner| inner.starts_with(['.', '[']));
            match inner {
                Some(inner) => rest = inner,
                None => break,
            }
        }
        if !self.paths.contains(rest) {
            self.paths.insert(rest.to_owned());
        }
    }
}

/// A place in a text.
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at)?.is_ascii_whitespace() {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    /// Returns the next string without decoding its escapes.
    fn string(&mut self) -> Option<&'a str> {
        let start = self.at + 1;
        let mut at = start;
        loop {
            match self.text.get(at)? {
                b'\\' => at += 2,
                b'"' => break,
                _ => at += 1,
            }
        }
        self.at = at + 1;
        Some(std::str::from_utf8(&self.text[start..at]).unwrap_or(""))
    }

    /// Goes on after the end of the line, since what is broken in one line says nothing about the next.
    fn skip_line(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        self.at += length;
    }

    /// Skips a number or a name, or a value that is too deep. Returns `None` if there is none.
    fn skip(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        let start = self.at;
        loop {
            match self.text.get(self.at)? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' | b',' if depth == 0 => return (self.at > start).then_some(()),
                b'}' | b']' => depth -= 1,
                byte if depth == 0 && byte.is_ascii_whitespace() => return Some(()),
                _ => {}
            }
            self.at += 1;
        }
    }
}
