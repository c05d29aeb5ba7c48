//! Request bodies, and the difference between successive ones.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::raw;

/// A request's body as slices of its canonical JSON. In sorted order, the bodies of a conversation are adjacent, the
/// shortest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Body<'a>(BTreeMap<&'a str, MemberValue<'a>>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum MemberValue<'a> {
    Text(&'a str),
    Items(Vec<&'a str>),
}

impl<'a> MemberValue<'a> {
    fn parse(text: &'a str) -> Option<MemberValue<'a>> {
        if text.starts_with('[') { raw::items(text).map(MemberValue::Items) } else { Some(MemberValue::Text(text)) }
    }

    fn text(&self) -> String {
        match self {
            MemberValue::Text(text) => (*text).to_owned(),
            MemberValue::Items(items) => array(items),
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

/// Returns the length of the longest common prefix of two lists.
pub(super) fn common_prefix_len(a: &[&str], b: &[&str]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

impl<'a> Body<'a> {
    /// Splits the canonical JSON of an object into its members.
    pub(super) fn parse(text: &'a str) -> Option<Body<'a>> {
        let members = raw::fields(text)?;
        members
            .into_iter()
            .map(|(name, value)| Some((name, MemberValue::parse(value)?)))
            .collect::<Option<_>>()
            .map(Body)
    }

    /// Returns the body as a JSON value.
    pub(super) fn value(&self) -> Value {
        serde_json::from_str(&self.text()).unwrap_or_default()
    }

    fn text(&self) -> String {
        object(self.0.iter().map(|(name, value)| (*name, value.text())))
    }

    /// Returns the items of the array member `name`, or an empty slice if it is missing or not an array.
    pub(super) fn items(&self, name: &str) -> &[&'a str] {
        match self.0.get(name) {
            Some(MemberValue::Items(items)) => items,
            _ => &[],
        }
    }

    /// Returns the JSON text of a member.
    pub(super) fn member(&self, name: &str) -> Option<String> {
        self.0.get(name).map(MemberValue::text)
    }

    /// Returns the names of the members that differ or are in only one of the bodies.
    pub(super) fn differing_members(&self, other: &Body<'a>) -> Vec<&'a str> {
        let names: BTreeSet<&str> = self.0.keys().chain(other.0.keys()).copied().collect();
        names.into_iter().filter(|name| self.0.get(name) != other.0.get(name)).collect()
    }

    /// Returns two JSON objects that describe this body relative to `previous`: the unchanged members (`true` for a
    /// whole member, a number for that many leading items of an array), and the rest.
    pub(super) fn delta_from(&self, previous: &Body<'_>) -> (String, String) {
        let mut shared = Vec::new();
        let mut rest = Vec::new();
        for (name, value) in &self.0 {
            match (value, previous.0.get(name)) {
                (value, Some(old)) if value == old => shared.push((*name, "true".to_owned())),
                (MemberValue::Items(items), Some(MemberValue::Items(old))) if common_prefix_len(items, old) > 0 => {
                    let count = common_prefix_len(items, old);
                    shared.push((*name, count.to_string()));
                    rest.push((*name, array(&items[count..])));
                }
                (value, _) => rest.push((*name, value.text())),
            }
        }
        (object(shared.into_iter()), object(rest.into_iter()))
    }

    /// Reverses [`Body::delta_from`]. `self` is the previous body.
    pub(super) fn apply_delta(mut self, shared: &'a str, rest: &'a str) -> Option<Body<'a>> {
        let mut next = Body::parse(rest)?;
        for (name, count) in raw::fields(shared)? {
            let old = self.0.remove(name)?;
            if count == "true" {
                next.0.insert(name, old);
                continue;
            }
            let count: usize = count.parse().ok()?;
            match (old, next.0.get_mut(name)?) {
                (MemberValue::Items(mut old), MemberValue::Items(rest)) if count <= old.len() => {
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
        let (shared, rest) = second.delta_from(&first);
        assert_eq!(shared, r#"{"messages":2,"tools":true}"#);
        assert_eq!(rest, r#"{"messages":[3],"model":"n"}"#);
        assert_eq!(first.clone().apply_delta(&shared, &rest), Some(second.clone()));
        assert!(second < Body::parse(r#"{"messages":[{"a":1},2,3,4],"model":"a"}"#).unwrap());
        for (shared, rest) in
            [(r#"{"messages":3}"#, r#"{"messages":[]}"#), (r#"{"x":true}"#, "{}"), ("{}", "{"), ("[]", "{}")]
        {
            assert_eq!(first.clone().apply_delta(shared, rest), None, "{shared} {rest}");
        }
    }
}
