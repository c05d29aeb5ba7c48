//! Access to parts of JSON text. Recorded values are never parsed and formatted again, so numbers are preserved
//! exactly.

use serde::de::IgnoredAny;

/// Returns the members of an object: names without quotes, still escaped, and the text of the values.
pub(super) fn fields(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut cursor = Cursor(text);
    let mut found = Vec::new();
    cursor.take('{')?;
    if cursor.take('}').is_none() {
        loop {
            let name = cursor.value()?.strip_prefix('"')?.strip_suffix('"')?;
            cursor.take(':')?;
            found.push((name, cursor.value()?));
            if cursor.take(',').is_none() {
                break;
            }
        }
        cursor.take('}')?;
    }
    cursor.is_empty().then_some(found)
}

/// Returns the text of each item of an array.
pub(super) fn items(text: &str) -> Option<Vec<&str>> {
    let mut cursor = Cursor(text);
    let mut found = Vec::new();
    cursor.take('[')?;
    if cursor.take(']').is_none() {
        loop {
            found.push(cursor.value()?);
            if cursor.take(',').is_none() {
                break;
            }
        }
        cursor.take(']')?;
    }
    cursor.is_empty().then_some(found)
}

struct Cursor<'a>(&'a str);

impl<'a> Cursor<'a> {
    fn skip_space(&mut self) {
        self.0 = self.0.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    fn take(&mut self, c: char) -> Option<()> {
        self.skip_space();
        self.0 = self.0.strip_prefix(c)?;
        Some(())
    }

    fn value(&mut self) -> Option<&'a str> {
        self.skip_space();
        let mut values = serde_json::Deserializer::from_str(self.0).into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        let (value, rest) = self.0.split_at_checked(values.byte_offset())?;
        self.0 = rest;
        Some(value)
    }

    fn is_empty(&mut self) -> bool {
        self.skip_space();
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_text_itself() {
        let text = r#"{"a":[1.10, "]}"] , "b\"": {"c":null},"d":-1}"#;
        assert_eq!(fields(text), Some(vec![("a", r#"[1.10, "]}"]"#), (r#"b\""#, r#"{"c":null}"#), ("d", "-1")]));
        assert_eq!(items(r#"[1.10, "]}" ,[]]"#), Some(vec!["1.10", r#""]}""#, "[]"]));
        assert_eq!((fields("{}"), items(" [ ] ")), (Some(Vec::new()), Some(Vec::new())));
    }

    #[test]
    fn what_is_no_json_has_no_pieces() {
        for text in ["", "{", "{}x", r#"{"a":1,}"#, r#"{"a" 1}"#, r#"{a:1}"#, r#"{"a":1"#, r#"{"a":"x}"#, "[]"] {
            assert_eq!(fields(text), None, "{text}");
        }
        for text in ["", "[", "[1,]", "[1", "[1]]", "[tru]", "{}"] {
            assert_eq!(items(text), None, "{text}");
        }
    }
}
