//! Lookup of the schema that applies to a path in the arguments.

use std::borrow::Cow;

use serde_json::Value;

/// The maximum number of references and combinations followed for one value; a schema may refer to itself.
pub(super) const MAX_STEPS: usize = 32;

/// Returns the tokens of a JSON pointer, unescaped.
pub(crate) fn pointer_tokens(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let token = |token| match str::contains(token, '~') {
        true => Cow::Owned(token.replace("~1", "/").replace("~0", "~")),
        false => Cow::Borrowed(token),
    };
    pointer.split('/').skip(1).map(token)
}

/// Like `Value::get`, but faster for small objects: comparing a few names is cheaper than hashing one.
pub(crate) fn member<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let object = value.as_object()?;
    if object.len() > 8 {
        return object.get(name);
    }
    object.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Returns the part of `root` that applies to a path in the arguments if it is a single schema, with references
/// resolved.
pub(crate) fn schema_at<'s, 'p>(root: &'s Value, tokens: impl Iterator<Item = Cow<'p, str>>) -> Option<&'s Value> {
    let mut schema = resolve_refs(root, root);
    for token in tokens {
        schema = resolve_refs(root, subschema(root, schema, &token, &mut Vec::new())?);
    }
    Some(schema)
}

/// Follows a chain of local references.
pub(super) fn resolve_refs<'s>(root: &'s Value, mut schema: &'s Value) -> &'s Value {
    for _ in 0..MAX_STEPS {
        let target = member(schema, "$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
        match target.and_then(|pointer| root.pointer(pointer)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// Descends one level into an object or an array; of combinations, the first branch that declares the token is used.
/// `visited` are the schemas searched so far.
pub(super) fn subschema<'s>(
    root: &'s Value,
    schema: &'s Value,
    token: &str,
    visited: &mut Vec<*const Value>,
) -> Option<&'s Value> {
    let found = member(schema, "properties").and_then(|map| member(map, token)).or_else(|| {
        let index: Option<usize> = token.parse().ok();
        let listed = index.and_then(|index| schema.get("prefixItems")?.get(index));
        let items = || index.and_then(|_| schema.get("items"));
        let others = || schema.get("additionalProperties").filter(|schema| schema.is_object());
        listed.or_else(items).or_else(others)
    });
    if found.is_some() {
        return found;
    }
    if visited.len() > MAX_STEPS || visited.contains(&std::ptr::from_ref(schema)) {
        return None;
    }
    visited.push(schema);
    let branches = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array());
    branches.flatten().find_map(|branch| subschema(root, resolve_refs(root, branch), token, visited))
}
