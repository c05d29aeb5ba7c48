//! Tagged unions: the branches are told apart by a property with distinct options in each of them.

use std::borrow::Cow;

use healbench_core::{Object, same_json};
use serde_json::Value;

use super::expected::dotted_path;
use super::json_type;
use super::lookup::{MAX_STEPS, Trail, member, resolve_refs, subschema};
use crate::failure::{Expected, Issue, IssueKind, PathSegment, join_path};

/// A property with distinct options in every branch that is an object.
pub(super) struct Tag<'s> {
    pub(super) name: &'s str,
    /// False if the branches have a default for it.
    is_required: bool,
    /// One list of options for each branch.
    pub(super) options: Vec<Vec<Cow<'s, Value>>>,
}

impl<'s> Tag<'s> {
    /// Returns the tag of the `listed` branches in the schema `parent`: the property that OpenAPI's `discriminator` names,
    /// or else one with distinct options that has to be sent or has a default.
    pub(super) fn find(root: &'s Value, parent: Option<&'s Value>, listed: &[&'s Value]) -> Option<Tag<'s>> {
        let named = parent.and_then(|parent| Tag::named(root, parent, listed));
        named.or_else(|| {
            let schemas: Vec<&Value> = listed.iter().map(|schema| resolve_refs(root, schema)).collect();
            tag_of(root, &schemas)
        })
    }

    /// Returns the tag that OpenAPI's `discriminator` names. A branch that has no options for it has the names that the
    /// mapping gives it, or else the last segment of its reference.
    pub(super) fn named(root: &'s Value, parent: &'s Value, listed: &[&'s Value]) -> Option<Tag<'s>> {
        let discriminator = member(parent, "discriminator")?;
        let name = member(discriminator, "propertyName")?.as_str()?;
        let mapping = member(discriminator, "mapping").and_then(Value::as_object);
        let options = listed.iter().filter(|schema| !is_null(resolve_refs(root, schema))).map(|schema| {
            if let Some(options) = options_of(root, resolve_refs(root, schema), name) {
                return Some(options.into_iter().map(Cow::Borrowed).collect());
            }
            let reference = member(schema, "$ref")?.as_str()?;
            let simple = reference.rsplit('/').next().unwrap_or(reference);
            let mapped = mapping.into_iter().flatten().filter(|(_, target)| *target == reference || *target == simple);
            let mut names: Vec<Cow<'s, Value>> =
                mapped.map(|(name, _)| Cow::Owned(Value::from(name.as_str()))).collect();
            if names.is_empty() {
                names.push(Cow::Owned(Value::from(simple)));
            }
            Some(names)
        });
        Some(Tag { name, is_required: true, options: options.collect::<Option<_>>()? })
    }

    fn all_options(&self) -> Vec<Value> {
        self.options.iter().flatten().map(|option| option.clone().into_owned()).collect()
    }

    /// Returns the index of the branch with this tag, not counting `null`.
    pub(super) fn branch(&self, sent: &Value) -> Option<usize> {
        self.options.iter().position(|options| options.iter().any(|option| same_json(option, sent)))
    }

    /// Returns the issue of a tag that is missing or unknown.
    pub(super) fn issue(&self, object: &Object, pointer: &str) -> Option<Issue> {
        let options = self.all_options();
        let sent = object.get(self.name);
        let kind = match sent {
            None if self.is_required => IssueKind::Missing { expected: Expected::Options(options) },
            None => return None,
            Some(sent) if options.iter().any(|option| same_json(option, sent)) => return None,
            Some(sent) if options.iter().any(|option| json_type(option) == json_type(sent)) => {
                IssueKind::NotAnOption { options }
            }
            Some(_) => IssueKind::WrongType { expected: Expected::Options(options) },
        };
        Some(Issue::new(join_path(&dotted_path(pointer), self.name), sent.cloned(), kind))
    }
}

/// A tagged union on the way to a value.
pub(crate) struct TaggedUnion<'s> {
    /// The number of path segments that lead to the union.
    pub(crate) depth: usize,
    pub(crate) tag: &'s str,
    pub(crate) options: Vec<Value>,
    /// The sent tag, if there is a branch for it.
    pub(crate) selected: Option<&'s Value>,
}

impl TaggedUnion<'_> {
    /// Returns true if an issue at `path` says that the tag is missing or unknown.
    pub(crate) fn is_issue(&self, path: &[PathSegment<'_>]) -> bool {
        self.selected.is_none()
            && self.depth + 1 == path.len()
            && path.last().is_some_and(|last| *last == PathSegment::Name(self.tag))
    }
}

/// Returns the tagged unions on the way to a value, and the schema of the value if the tags that were sent lead to one.
pub(crate) fn tagged_unions<'s>(
    root: &'s Value,
    arguments: &'s Value,
    segments: &[PathSegment<'_>],
) -> (Vec<TaggedUnion<'s>>, Option<&'s Value>) {
    let (mut schema, mut value) = (root, Some(arguments));
    let mut unions = Vec::new();
    for depth in 0..=segments.len() {
        schema = resolve_refs(root, schema);
        for _ in 0..MAX_STEPS {
            let Some((tag, branches)) = union_of(root, schema) else { break };
            schema = match tag {
                None => branches[0],
                Some(tag) => {
                    let sent = value.and_then(|value| value.get(tag.name));
                    let branch = sent.and_then(|sent| tag.branch(sent));
                    let selected = sent.filter(|_| branch.is_some());
                    unions.push(TaggedUnion { depth, tag: tag.name, options: tag.all_options(), selected });
                    match branch.and_then(|branch| branches.get(branch)) {
                        Some(branch) => branch,
                        None => return (unions, None),
                    }
                }
            };
        }
        let Some(segment) = segments.get(depth) else { break };
        let name = segment.into_name();
        match subschema(root, schema, &name, &Trail::default(), 0) {
            Some(found) => schema = found,
            None => return (unions, None),
        }
        value = value.and_then(|value| segment.resolve(value));
    }
    (unions, Some(schema))
}

/// Returns the tag and the branches besides `null` of a union. A union with one such branch needs no tag.
fn union_of<'s>(root: &'s Value, schema: &'s Value) -> Option<(Option<Tag<'s>>, Vec<&'s Value>)> {
    ["oneOf", "anyOf"].into_iter().find_map(|keyword| {
        let listed: Vec<&Value> = member(schema, keyword)?.as_array()?.iter().collect();
        let tag = Tag::find(root, Some(schema), &listed);
        let resolved = listed.iter().map(|schema| resolve_refs(root, schema));
        let branches: Vec<&Value> = resolved.filter(|schema| !is_null(schema)).collect();
        (tag.is_some() || branches.len() == 1).then_some((tag, branches))
    })
}

fn tag_of<'s>(root: &'s Value, schemas: &[&'s Value]) -> Option<Tag<'s>> {
    let objects: Vec<&Value> = schemas.iter().copied().filter(|schema| !is_null(schema)).collect();
    let (first, rest) = objects.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let names = member(first, "properties").and_then(Value::as_object).into_iter().flat_map(Object::keys);
    names.map(String::as_str).find_map(|name| {
        let branches = || std::iter::once(first).chain(rest);
        let is_required = branches().all(|schema| is_required(schema, name));
        let is_tag = |schema: &&Value| is_required || is_required_or_default(root, schema, name);
        let options = branches().map(|schema| {
            let options = Some(*schema).filter(is_tag).and_then(|schema| options_of(root, schema, name))?;
            Some(options.into_iter().map(Cow::Borrowed).collect())
        });
        let options: Vec<Vec<Cow<'s, Value>>> = options.collect::<Option<_>>()?;
        let all: Vec<&Value> = options.iter().flatten().map(AsRef::as_ref).collect();
        let is_distinct = (1..all.len()).all(|at| !all[..at].contains(&all[at]));
        is_distinct.then_some(Tag { name, is_required, options })
    })
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = member(schema, "required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|required| required == name))
}

fn is_required_or_default(root: &Value, schema: &Value, name: &str) -> bool {
    let default = || property(root, schema, name).and_then(|property| member(property, "default"));
    is_required(schema, name) || default().is_some()
}

fn property<'s>(root: &'s Value, schema: &'s Value, name: &str) -> Option<&'s Value> {
    Some(resolve_refs(root, member(schema, "properties").and_then(|map| member(map, name))?))
}

/// Returns the only values that a property may have, if it has any.
fn options_of<'s>(root: &'s Value, schema: &'s Value, name: &str) -> Option<Vec<&'s Value>> {
    let property = property(root, schema, name)?;
    match (member(property, "const"), member(property, "enum").and_then(Value::as_array)) {
        (Some(only), _) => Some(vec![only]),
        (None, Some(options)) => Some(options.iter().collect()),
        (None, None) => None,
    }
}

pub(super) fn is_null(schema: &Value) -> bool {
    let null = |value: &Value| value == "null";
    member(schema, "type").is_some_and(null) || member(schema, "const").is_some_and(Value::is_null)
}
