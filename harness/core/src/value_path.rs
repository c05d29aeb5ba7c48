use std::fmt;

use serde_json::Value;

use crate::Object;

/// A path to a value in the arguments of a call or in a row: `role`, `lines[1].quantity`, `filter["a b"]`.
///
/// `lines[].amount` names the amount of every line, and `lines[sku=A-1].quantity` the quantity of the first line whose
/// `sku` is `A-1`. Transcripts write paths in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValuePath {
    text: String,
    first: String,
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Name(String),
    Index(usize),
    Each,
    /// The first element whose member has this text.
    Where(String, String),
}

/// The reason why a text is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a path; write one like `customer`, `lines[1].quantity` or `lines[sku=A-1].quantity`")]
pub struct PathError(String);

/// Returns the target of a local reference, or the schema itself.
fn resolve<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let target = schema["$ref"].as_str().and_then(|reference| root.pointer(reference.strip_prefix('#')?));
    target.unwrap_or(schema)
}

/// Returns the schemas that an object of the schema has to fit: the schema, the targets of its local references, and those of `allOf`.
pub fn schema_parts<'s>(schema: &'s Value, root: &'s Value) -> Vec<&'s Value> {
    let mut parts = vec![schema];
    let mut at = 0;
    while let Some(part) = parts.get(at).copied() {
        let all = part["allOf"].as_array().into_iter().flatten();
        for next in std::iter::once(resolve(part, root)).chain(all) {
            if !parts.iter().any(|known| std::ptr::eq(*known, next)) {
                parts.push(next);
            }
        }
        at += 1;
    }
    parts
}

/// Returns the schema of a property of an object schema; null if it is not declared.
pub fn property<'s>(schema: &'s Value, root: &'s Value, name: &str) -> &'s Value {
    schema_parts(schema, root).into_iter().find_map(|part| part["properties"].get(name)).unwrap_or(&Value::Null)
}

impl ValuePath {
    /// Parses a path.
    ///
    /// # Errors
    /// [`PathError`] if the text has another form.
    pub fn parse(text: &str) -> Result<ValuePath, PathError> {
        let error = || PathError(text.to_owned());
        let (first, mut rest) = name(text).ok_or_else(error)?;
        let mut segments = Vec::new();
        while !rest.is_empty() {
            let (segment, after) = segment(rest).ok_or_else(error)?;
            segments.push(segment);
            rest = after;
        }
        Ok(ValuePath { text: text.to_owned(), first: first.to_owned(), segments })
    }

    /// Returns the path of the member with this name, whatever characters it has.
    pub fn of_name(name: &str) -> ValuePath {
        ValuePath { text: name.to_owned(), first: name.to_owned(), segments: Vec::new() }
    }

    /// Returns the name that the path begins with: that of an argument or a column.
    pub fn first(&self) -> &str {
        &self.first
    }

    /// Returns true if the path is a name and nothing else.
    pub fn is_name(&self) -> bool {
        self.segments.is_empty()
    }

    /// Returns the first value that the path leads to.
    pub fn get<'v>(&self, object: &'v Object) -> Option<&'v Value> {
        match self.segments.as_slice() {
            [] => object.get(&self.first),
            _ => self.values(object).into_iter().next(),
        }
    }

    /// Returns all values that the path leads to: several only if it has a segment `[]`.
    pub fn values<'v>(&self, object: &'v Object) -> Vec<&'v Value> {
        self.elements(object).into_iter().flatten().collect()
    }

    /// Returns one value for each element of the lists that the path names with `[]`, `None` where there is nothing; one value
    /// for a path without `[]`.
    pub fn elements<'v>(&self, object: &'v Object) -> Vec<Option<&'v Value>> {
        let mut found = vec![object.get(&self.first)];
        for segment in &self.segments {
            found = match segment {
                Segment::Each => found.into_iter().flatten().filter_map(Value::as_array).flatten().map(Some).collect(),
                one => found.into_iter().map(|value| one.child(value?)).collect(),
            };
        }
        found
    }

    /// Returns the names and positions on the way to the one value that the path leads to, such as `lines`, `1` and `sku`; `None` where there
    /// is none.
    pub fn parts_in(&self, object: &Object) -> Option<Vec<String>> {
        let mut parts = vec![self.first.clone()];
        let mut value = object.get(&self.first)?;
        for segment in &self.segments {
            parts.push(match segment {
                Segment::Name(name) => name.clone(),
                Segment::Index(index) => index.to_string(),
                Segment::Each => return None,
                Segment::Where(name, text) => {
                    value.as_array()?.iter().position(|item| has_text(item, name, text))?.to_string()
                }
            });
            value = segment.child(value)?;
        }
        Some(parts)
    }

    /// Returns true if the path names every element of a list.
    pub fn has_list(&self) -> bool {
        self.list().is_some()
    }

    /// Returns true if two paths name every element of the same list.
    pub fn shares_list(&self, other: &ValuePath) -> bool {
        self.list() == other.list()
    }

    /// Returns the part of the path up to the last `[]`.
    fn list(&self) -> Option<(&str, &[Segment])> {
        let last = self.segments.iter().rposition(|segment| *segment == Segment::Each)?;
        Some((&self.first, &self.segments[..=last]))
    }

    /// Returns the value that the path leads to.
    pub fn get_mut<'v>(&self, object: &'v mut Object) -> Option<&'v mut Value> {
        let first = object.get_mut(&self.first)?;
        self.segments.iter().try_fold(first, |value, segment| segment.child_mut(value))
    }

    /// Returns the schema of the values that the path leads to in an object schema; null if it is not declared. References are
    /// followed, choices are not.
    pub fn schema<'s>(&self, root: &'s Value) -> &'s Value {
        let first = resolve(property(root, root, &self.first), root);
        self.segments.iter().fold(first, |schema, segment| match segment {
            Segment::Name(name) => resolve(property(schema, root, name), root),
            Segment::Index(index) if !schema["prefixItems"][index].is_null() => {
                resolve(&schema["prefixItems"][index], root)
            }
            Segment::Index(_) | Segment::Each | Segment::Where(..) => resolve(&schema["items"], root),
        })
    }

    /// Returns the first name of the path that an object schema does not declare inside of an argument, with the names that
    /// it declares there. Choices and objects without declared properties may have any.
    pub fn undeclared<'s>(&'s self, root: &'s Value) -> Option<(&'s str, &'s Object)> {
        let resolve = |schema: &'s Value| resolve(schema, root);
        let mut schema = resolve(property(root, root, &self.first));
        for segment in &self.segments {
            let (properties, name) = match segment {
                Segment::Name(name) => (&schema["properties"], Some(name)),
                Segment::Where(name, _) => (&resolve(&schema["items"])["properties"], Some(name)),
                Segment::Index(_) | Segment::Each => (&Value::Null, None),
            };
            let is_choice = ["anyOf", "oneOf", "allOf"].iter().any(|key| !schema[*key].is_null());
            if let (Some(known), Some(name), false) = (properties.as_object(), name, is_choice)
                && !known.contains_key(name)
            {
                return Some((name, known));
            }
            schema = match segment {
                Segment::Name(name) => resolve(&schema["properties"][name]),
                Segment::Index(index) if !schema["prefixItems"][index].is_null() => {
                    resolve(&schema["prefixItems"][index])
                }
                _ => resolve(&schema["items"]),
            };
        }
        None
    }

    /// Sets the member that the path leads to, and adds it where it is left out. Returns false if there is no object around it; elements
    /// of lists are not added.
    pub fn insert(&self, object: &mut Object, value: Value) -> bool {
        let Some((Segment::Name(name), parents)) = self.segments.split_last() else {
            return self.segments.is_empty() && {
                object.insert(self.first.clone(), value);
                true
            };
        };
        let first = object.get_mut(&self.first);
        let parent = first.and_then(|first| parents.iter().try_fold(first, |value, segment| segment.child_mut(value)));
        let parent = parent.and_then(Value::as_object_mut);
        parent.map(|parent| parent.insert(name.clone(), value)).is_some()
    }

    /// Removes the member that the path leads to. Elements of lists are not removed.
    pub fn remove(&self, object: &mut Object) -> Option<Value> {
        let Some((Segment::Name(name), parents)) = self.segments.split_last() else {
            return if self.segments.is_empty() { object.shift_remove(&self.first) } else { None };
        };
        let first = object.get_mut(&self.first)?;
        let parent = parents.iter().try_fold(first, |value, segment| segment.child_mut(value))?;
        parent.as_object_mut()?.shift_remove(name)
    }
}

impl fmt::Display for ValuePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Segment {
    fn child<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match self {
            Segment::Name(name) => value.get(name),
            Segment::Index(index) => value.get(index),
            Segment::Each => value.as_array()?.first(),
            Segment::Where(name, text) => value.as_array()?.iter().find(|item| has_text(item, name, text)),
        }
    }

    fn child_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        match self {
            Segment::Name(name) => value.get_mut(name),
            Segment::Index(index) => value.get_mut(index),
            Segment::Each => value.as_array_mut()?.first_mut(),
            Segment::Where(name, text) => value.as_array_mut()?.iter_mut().find(|item| has_text(item, name, text)),
        }
    }
}

fn has_text(item: &Value, name: &str, text: &str) -> bool {
    item.get(name).is_some_and(|value| match value {
        Value::String(value) => value == text,
        other => serde_json::to_string(other).is_ok_and(|other| other == text),
    })
}

/// Splits off a name, which ends before a dot or a bracket.
fn name(text: &str) -> Option<(&str, &str)> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    (!name.is_empty() && !name.contains(']')).then_some((name, rest))
}

fn segment(text: &str) -> Option<(Segment, &str)> {
    if let Some(rest) = text.strip_prefix('.') {
        let (name, rest) = name(rest)?;
        return Some((Segment::Name(name.to_owned()), rest));
    }
    let inner = text.strip_prefix('[')?;
    if inner.starts_with('"') {
        let mut values = serde_json::Deserializer::from_str(inner).into_iter::<String>();
        let name = values.next()?.ok()?;
        let rest = inner[values.byte_offset()..].strip_prefix(']')?;
        return Some((Segment::Name(name), rest));
    }
    let (inner, rest) = inner.split_once(']')?;
    let segment = match inner.split_once('=') {
        Some((name, text)) if !name.is_empty() => Segment::Where(name.to_owned(), text.to_owned()),
        Some(_) => return None,
        None if inner.is_empty() => Segment::Each,
        None => Segment::Index(inner.parse().ok()?),
    };
    Some((segment, rest))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(path: &str) -> Vec<Value> {
        let object = json!({"id": 7, "lines": [{"sku": "A", "n": 1}, {"sku": "B", "n": 2}], "f": {"a b": true}});
        let path = ValuePath::parse(path).unwrap();
        path.values(object.as_object().unwrap()).into_iter().cloned().collect()
    }

    #[test]
    fn a_path_leads_to_values() {
        assert_eq!(found("id"), [json!(7)]);
        assert_eq!(found("lines[1].n"), [json!(2)]);
        assert_eq!(found("lines[].n"), [json!(1), json!(2)]);
        assert_eq!(found("lines[sku=B].n"), [json!(2)]);
        assert_eq!(found("lines[n=2].sku"), [json!("B")]);
        assert_eq!(found("f[\"a b\"]"), [json!(true)]);
        assert_eq!(found("lines[9].n"), Vec::<Value>::new());
    }

    #[test]
    fn the_way_to_a_value() {
        let object = json!({"id": 7, "lines": [{"sku": "A"}, {"sku": "B"}]});
        let parts = |path: &str| ValuePath::parse(path).unwrap().parts_in(object.as_object().unwrap());
        assert_eq!(parts("id").unwrap(), ["id"]);
        assert_eq!(parts("lines[sku=B].sku").unwrap(), ["lines", "1", "sku"]);
        assert_eq!(parts("lines[0]").unwrap(), ["lines", "0"]);
        for path in ["no", "lines[].sku", "lines[2]", "lines[sku=C]", "id.sku"] {
            assert_eq!(parts(path), None, "{path}");
        }
    }

    #[test]
    fn a_value_is_changed_and_removed_in_its_place() {
        let mut value = json!({"lines": [{"sku": "A", "n": 1}, {"sku": "B", "n": 2}]});
        let object = value.as_object_mut().unwrap();
        *ValuePath::parse("lines[1].n").unwrap().get_mut(object).unwrap() = json!("two");
        assert_eq!(ValuePath::parse("lines[sku=A].n").unwrap().remove(object), Some(json!(1)));
        assert_eq!(value, json!({"lines": [{"sku": "A"}, {"sku": "B", "n": "two"}]}));
    }

    #[test]
    fn a_member_that_is_left_out_is_added() {
        let mut value = json!({"lines": [{"sku": "A"}], "n": 1});
        let object = value.as_object_mut().unwrap();
        for (path, is_added) in [
            ("lines[sku=A].n", true),
            ("note", true),
            ("lines[0]", false),
            ("lines[1].n", false),
            ("no.n", false),
            ("n.n", false),
        ] {
            assert_eq!(ValuePath::parse(path).unwrap().insert(object, json!(7)), is_added, "{path}");
        }
        assert_eq!(value, json!({"lines": [{"sku": "A", "n": 7}], "n": 1, "note": 7}));
    }

    #[test]
    fn other_texts_are_no_paths() {
        for text in ["", ".a", "a.", "a[", "a[x]", "a]", "a[=1]", "a[-1]", "a..b", "a[\"b]"] {
            assert!(ValuePath::parse(text).is_err(), "{text}");
        }
    }
}
