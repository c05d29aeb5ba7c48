//! Lookup of the schema that applies to a path in the arguments.

use std::borrow::Cow;

use healbench_core::Object;
use serde_json::Value;

use crate::failure::KeywordLocation;
use crate::keywords::{KeywordKind, keyword_kind};

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

/// The conditional subschemas that the keyword locations of an issue lead through, each with the depth of the value that it
/// applies to. They tell which branches of unions a value was validated against. A recursive schema can occur at several depths.
#[derive(Debug, Default)]
pub(crate) struct Trail<'s>(Vec<(usize, &'s Value)>);

/// Keywords whose schemas apply to some values only.
const CONDITIONAL: [&str; 6] = ["anyOf", "oneOf", "then", "else", "dependentSchemas", "patternProperties"];

/// Returns true if a location leads through a conditional schema.
pub(super) fn is_conditional(location: &str) -> bool {
    location.split('/').any(|token| CONDITIONAL.contains(&token))
}

impl<'s> Trail<'s> {
    /// Follows the locations through `root`, each as far as it leads. Only conditional schemas are of interest.
    pub(crate) fn new(root: &'s Value, locations: &[KeywordLocation]) -> Trail<'s> {
        let mut schemas = Vec::new();
        for location in locations.iter().filter(|at| is_conditional(&at.pointer)) {
            let (target, rest) = location.pointer.split_at(location.target);
            let (Some(mut at), mut depth) = (root.pointer(target), location.depth) else { continue };
            let mut tokens = pointer_tokens(rest);
            while let Some(keyword) = tokens.next() {
                let inner = match keyword_kind(&keyword) {
                    KeywordKind::Schema => at.get(&*keyword),
                    KeywordKind::SchemaMap => tokens.next().and_then(|name| at.get(&*keyword)?.get(&*name)),
                    KeywordKind::SchemaList => {
                        tokens.next().and_then(|index| at.get(&*keyword)?.get(index.parse::<usize>().ok()?))
                    }
                    KeywordKind::NoSchema => None,
                };
                let Some(inner) = inner else { break };
                depth += usize::from(PARTS_OF_VALUES.contains(&&*keyword));
                schemas.push((depth, inner));
                at = inner;
            }
        }
        Trail(schemas)
    }

    /// Returns true if the schema of a value at this depth was passed.
    pub(crate) fn passes(&self, schema: &Value, depth: usize) -> bool {
        self.0.iter().any(|(at, passed)| *at == depth && std::ptr::eq(*passed, schema))
    }
}

/// Keywords whose schemas describe properties or items of a value.
const PARTS_OF_VALUES: [&str; 8] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "prefixItems",
    "items",
    "unevaluatedItems",
    "contains",
];

/// Returns the subschema for a path in the arguments, with references resolved; `None` if no schema declares the path.
pub(crate) fn schema_at<'s, 'p>(
    root: &'s Value,
    tokens: impl Iterator<Item = Cow<'p, str>>,
    trail: &Trail<'_>,
) -> Option<&'s Value> {
    let mut schema = resolve_refs(root, root);
    for (depth, token) in tokens.enumerate() {
        schema = resolve_refs(root, subschema(root, schema, &token, trail, depth)?);
    }
    Some(schema)
}

/// Follows a chain of local references.
pub(crate) fn resolve_refs<'s>(root: &'s Value, mut schema: &'s Value) -> &'s Value {
    for _ in 0..MAX_STEPS {
        let target = member(schema, "$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
        match target.and_then(|pointer| root.pointer(pointer)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// Descends one level into an object or an array. Searches `allOf` and the branches of unions that `trail` leads through, or all
/// branches if it leads through none, and returns the first subschema that declares the token.
pub(super) fn subschema<'s>(
    root: &'s Value,
    schema: &'s Value,
    token: &str,
    trail: &Trail<'_>,
    depth: usize,
) -> Option<&'s Value> {
    subschema_within(root, schema, token, (trail, depth), &mut Vec::new())
}

/// `visited` are the schemas searched so far.
fn subschema_within<'s>(
    root: &'s Value,
    schema: &'s Value,
    token: &str,
    (trail, depth): (&Trail<'_>, usize),
    visited: &mut Vec<*const Value>,
) -> Option<&'s Value> {
    let found = member(schema, "properties").and_then(|map| member(map, token)).or_else(|| {
        let index: Option<usize> = token.parse().ok();
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let matched = patterns.and_then(|map| map.values().find(|schema| trail.passes(schema, depth + 1)));
        let listed = || index.and_then(|index| schema.get("prefixItems")?.get(index));
        let items = || index.and_then(|_| schema.get("items"));
        let others = || schema.get("additionalProperties").filter(|schema| schema.is_object());
        matched.or_else(listed).or_else(items).or_else(others)
    });
    if found.is_some() {
        return found;
    }
    if visited.len() > MAX_STEPS || visited.contains(&std::ptr::from_ref(schema)) {
        return None;
    }
    visited.push(schema);
    let mut parts = parts(schema, trail, depth);
    parts.find_map(|part| subschema_within(root, resolve_refs(root, part), token, (trail, depth), visited))
}

/// Returns the schemas that apply to the same value, at this depth: all of `allOf`, and of the conditional ones those that `trail`
/// passes, or all branches of a union of which it passes none.
pub(super) fn parts<'s, 't>(
    schema: &'s Value,
    trail: &'t Trail<'_>,
    depth: usize,
) -> impl Iterator<Item = &'s Value> + 't
where
    's: 't,
{
    let list = |keyword: &str| schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
    let single = ["then", "else"].into_iter().filter_map(|keyword| schema.get(keyword));
    let dependent = schema.get("dependentSchemas").and_then(Value::as_object).into_iter().flat_map(Object::values);
    let conditional = single.chain(dependent).filter(move |part| trail.passes(part, depth));
    let union = ["anyOf", "oneOf"].into_iter().flat_map(move |keyword| {
        let has_passed = list(keyword).any(|branch| trail.passes(branch, depth));
        list(keyword).filter(move |branch| !has_passed || trail.passes(branch, depth))
    });
    list("allOf").chain(conditional).chain(union)
}
