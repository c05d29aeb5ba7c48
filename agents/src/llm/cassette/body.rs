//! Bodies of requests, and what one has in common with the one before.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::raw;

/// A request's body in pieces of its canonical text. Sorted bodies of a conversation stand together, the shorter one first.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Body<'a>(BTreeMap<&'a str, Piece<'a>>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Piece<'a> {
    Whole(&'a str),
    Items(Vec<&'a str>),
}

impl<'a> Piece<'a> {
    fn parse(text: &'a str) -> Option<Piece<'a>> {
        if text.starts_with('[') { raw::items(text).map(Piece::Items) } else { Some(Piece::Whole(text)) }
    }

    fn text(&self) -> String {
        match self {
            Piece::Whole(text) => (*text).to_owned(),
            Piece::Items(items) => array(items),
        }
    }
}

fn array(items: &[&str]) -> String {
    format!("[{}]", items.join(","))
}

fn object<'t>(members: impl Iterator<Item = (&'t str, String)>) -> String {
    let members: Vec<String> = members.map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// How many items two lists have in common at their beginning.
pub(super) fn common(a: &[&str], b: &[&str]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

impl<'a> Body<'a> {
    /// Takes canonical JSON of an object apart.
    pub(super) fn parse(text: &'a str) -> Option<Body<'a>> {
        let members = raw::fields(text)?;
        members.into_iter().map(|(name, value)| Some((name, Piece::parse(value)?))).collect::<Option<_>>().map(Body)
    }

    /// The body as JSON.
    pub(super) fn value(&self) -> Value {
        serde_json::from_str(&self.text()).unwrap_or_default()
    }

    fn text(&self) -> String {
        object(self.0.iter().map(|(name, piece)| (*name, piece.text())))
    }

    /// The items of an array at the top; none for anything else.
    pub(super) fn items(&self, name: &str) -> &[&'a str] {
        match self.0.get(name) {
            Some(Piece::Items(items)) => items,
            _ => &[],
        }
    }

    /// The text of a member.
    pub(super) fn member(&self, name: &str) -> Option<String> {
        self.0.get(name).map(Piece::text)
    }

    /// The names of members that two bodies do not share.
    pub(super) fn differing(&self, other: &Body<'a>) -> Vec<&'a str> {
        let names: BTreeSet<&str> = self.0.keys().chain(other.0.keys()).copied().collect();
        names.into_iter().filter(|name| self.0.get(name) != other.0.get(name)).collect()
    }

    /// What is to be written of this body after `before`: what stays the same (`true` for a whole member, a number for so many
    /// first items of an array), and the rest.
    pub(super) fn after(&self, before: &Body<'_>) -> (String, String) {
        let mut same = Vec::new();
        let mut rest = Vec::new();
        for (name, piece) in &self.0 {
            match (piece, before.0.get(name)) {
                (piece, Some(old)) if piece == old => same.push((*name, "true".to_owned())),
                (Piece::Items(items), Some(Piece::Items(old))) if common(items, old) > 0 => {
                    let count = common(items, old);
                    same.push((*name, count.to_string()));
                    rest.push((*name, array(&items[count..])));
                }
                (piece, _) => rest.push((*name, piece.text())),
            }
        }
        (object(same.into_iter()), object(rest.into_iter()))
    }

    /// Undoes [`Body::after`]. `self` is the body before.
    pub(super) fn next(mut self, same: &'a str, rest: &'a str) -> Option<Body<'a>> {
        let mut next = Body::parse(rest)?;
        for (name, count) in raw::fields(same)? {
            let old = self.0.remove(name)?;
            if count == "true" {
                next.0.insert(name, old);
                continue;
            }
            let count: usize = count.parse().ok()?;
            match (old, next.0.get_mut(name)?) {
                (Piece::Items(mut old), Piece::Items(rest)) if count <= old.len() => {
                    old.truncate(count);
                    old.append(rest);
                    *rest = old;
                }
                _ => return None,
            }
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_written_as_what_is_new_in_it() {
        let first = Body::parse(r#"{"gone":1,"messages":[{"a":1},2],"model":"m","tools":[]}"#).unwrap();
        let second = Body::parse(r#"{"messages":[{"a":1},2,3],"model":"n","tools":[]}"#).unwrap();
        let (same, rest) = second.after(&first);
        assert_eq!(same, r#"{"messages":2,"tools":true}"#);
        assert_eq!(rest, r#"{"messages":[3],"model":"n"}"#);
        assert_eq!(first.clone().next(&same, &rest), Some(second.clone()));
        assert!(second < Body::parse(r#"{"messages":[{"a":1},2,3,4],"model":"a"}"#).unwrap());
        for (same, rest) in
            [(r#"{"messages":3}"#, r#"{"messages":[]}"#), (r#"{"x":true}"#, "{}"), ("{}", "{"), ("[]", "{}")]
        {
            assert_eq!(first.clone().next(same, rest), None, "{same} {rest}");
        }
    }
}
