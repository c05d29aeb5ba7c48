//! All schemas that apply to one location of the arguments, with `$ref` and `allOf` resolved.

use healbench_core::Object;
use serde_json::Value;

use crate::failure::path_segment;

/// The schemas that a value must match.
#[derive(Debug, Clone)]
pub(super) struct SchemaNode<'s> {
    root: &'s Value,
    /// The schemas as written, before references are resolved.
    pub(super) origins: Vec<&'s Value>,
    /// The schemas including the targets of `$ref` and `allOf`.
    pub(super) schemas: Vec<&'s Object>,
    /// True if no value can match.
    pub(super) never: bool,
}

impl<'s> SchemaNode<'s> {
    pub(super) fn root(root: &'s Value) -> SchemaNode<'s> {
        SchemaNode::new(root, [root])
    }

    fn new(root: &'s Value, schemas: impl IntoIterator<Item = &'s Value>) -> SchemaNode<'s> {
        let mut node = SchemaNode { root, origins: Vec::new(), schemas: Vec::new(), never: false };
        for schema in schemas {
            node.origins.push(schema);
            node.add(schema);
        }
        node
    }

    /// Adds schemas that are not origins: selected branches.
    pub(super) fn with_schemas(&self, schemas: &[&'s Value]) -> SchemaNode<'s> {
        let mut node = self.clone();
        for schema in schemas {
            node.add(schema);
        }
        node
    }

    fn add(&mut self, schema: &'s Value) {
        let schema = match schema {
            Value::Bool(allowed) => {
                self.never |= !allowed;
                return;
            }
            Value::Object(schema) => schema,
            _ => return,
        };
        // Stop at a reference that leads back to itself.
        if self.schemas.iter().any(|known| std::ptr::eq(*known, schema)) {
            return;
        }
        self.schemas.push(schema);
        if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|to| resolve_local_ref(self.root, to))
        {
            self.add(target);
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.add(part);
        }
    }

    /// Returns all values of a keyword.
    pub(super) fn keyword_values(&self, keyword: &str) -> impl Iterator<Item = &'s Value> {
        self.schemas.iter().filter_map(move |schema| schema.get(keyword))
    }

    pub(super) fn keyword_value(&self, keyword: &str) -> Option<&'s Value> {
        self.schemas.iter().find_map(|schema| schema.get(keyword))
    }

    pub(super) fn has(&self, keyword: &str) -> bool {
        self.keyword_value(keyword).is_some()
    }

    /// Returns the largest value of a keyword that sets a lower limit.
    pub(super) fn lower_bound(&self, keyword: &str) -> Option<&'s Value> {
        self.keyword_values(keyword).reduce(|a, b| if b.as_f64() > a.as_f64() { b } else { a })
    }

    /// Returns the smallest value of a keyword that sets an upper limit.
    pub(super) fn upper_bound(&self, keyword: &str) -> Option<&'s Value> {
        self.keyword_values(keyword).reduce(|a, b| if b.as_f64() < a.as_f64() { b } else { a })
    }

    /// Returns the allowed types, in the order of the schema; `None` if the schema has no `type`.
    pub(super) fn types(&self) -> Option<Vec<&'s str>> {
        let names = |value: &'s Value| -> Vec<&'s str> {
            match value {
                Value::String(name) => vec![name],
                Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            }
        };
        self.keyword_values("type").map(names).reduce(|allowed, also| {
            let both = |name: &&'s str| match *name {
                "number" if !also.contains(&"number") && also.contains(&"integer") => Some("integer"),
                "integer" if also.contains(&"number") => Some("integer"),
                name => also.contains(&name).then_some(name),
            };
            allowed.iter().filter_map(both).collect()
        })
    }

    /// Returns the values allowed by `const` or `enum`.
    pub(super) fn options(&self) -> Option<Vec<&'s Value>> {
        if let Some(value) = self.keyword_value("const") {
            return Some(vec![value]);
        }
        let lists =
            self.keyword_values("enum").filter_map(Value::as_array).map(|options| options.iter().collect::<Vec<_>>());
        lists.reduce(|allowed, also| allowed.into_iter().filter(|option| also.contains(option)).collect())
    }

    /// Returns the names of the declared properties, in order.
    pub(super) fn property_names(&self) -> Vec<&'s str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.keyword_values("properties").filter_map(Value::as_object).flat_map(|map| map.keys()) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// Returns the names of the required properties, in order.
    pub(super) fn required(&self) -> Vec<&'s str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.keyword_values("required").filter_map(Value::as_array).flatten().filter_map(Value::as_str) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Returns the names of the declared properties, including those declared only by alternatives.
    pub(super) fn all_property_names(&self) -> Vec<&'s str> {
        let mut names = self.property_names();
        for alternative in self.alternatives() {
            let more: Vec<&str> =
                alternative.property_names().into_iter().filter(|name| !names.contains(name)).collect();
            names.extend(more);
        }
        names
    }

    /// Returns a declared property.
    pub(super) fn property(&self, name: &str) -> Option<SchemaNode<'s>> {
        let mut found = self.keyword_values("properties").filter_map(|map| map.get(name)).peekable();
        found.peek()?;
        Some(SchemaNode::new(self.root, found))
    }

    /// Returns the schemas of properties that are not declared.
    pub(super) fn additional_property(&self) -> Option<SchemaNode<'s>> {
        let found: Vec<&Value> =
            self.keyword_values("additionalProperties").chain(self.keyword_values("unevaluatedProperties")).collect();
        (!found.is_empty()).then(|| SchemaNode::new(self.root, found))
    }

    /// Returns an item of a list.
    pub(super) fn item(&self, index: usize) -> Option<SchemaNode<'s>> {
        self.items_of(index, false)
    }

    /// Returns an item of a list that is one of those required by `contains`.
    pub(super) fn contained_item(&self, index: usize) -> Option<SchemaNode<'s>> {
        self.items_of(index, true)
    }

    fn items_of(&self, index: usize, contained: bool) -> Option<SchemaNode<'s>> {
        let at = |schema: &&'s Object| {
            let prefix = schema.get("prefixItems").and_then(|items| items.get(index));
            prefix.or_else(|| schema.get("items"))
        };
        let contains = self.keyword_values("contains").filter(|_| contained);
        let found: Vec<&Value> = self.schemas.iter().filter_map(at).chain(contains).collect();
        (!found.is_empty()).then(|| SchemaNode::new(self.root, found))
    }

    /// Returns the choices of a value, each with its branches.
    pub(super) fn choices(&self) -> Vec<Vec<Vec<&'s Value>>> {
        let mut choices = Vec::new();
        for schema in &self.schemas {
            for keyword in ["anyOf", "oneOf"] {
                if let Some(branches) = schema.get(keyword).and_then(Value::as_array) {
                    choices.push(branches.iter().map(|branch| vec![branch]).collect());
                }
            }
            if schema.contains_key("if") {
                let branches = ["then", "else"].iter().filter_map(|keyword| schema.get(*keyword));
                choices.push(std::iter::once(Vec::new()).chain(branches.map(|branch| vec![branch])).collect());
            }
        }
        choices
    }

    /// Returns the branches of the first `anyOf` or `oneOf`, each combined with the schemas that always apply.
    pub(super) fn alternatives(&self) -> Vec<SchemaNode<'s>> {
        let branches = self.keyword_value("anyOf").or_else(|| self.keyword_value("oneOf")).and_then(Value::as_array);
        branches.into_iter().flatten().map(|branch| self.with_branch(branch)).collect()
    }

    /// Returns this node with one branch instead of its alternatives.
    fn with_branch(&self, branch: &'s Value) -> SchemaNode<'s> {
        let mut node = SchemaNode::new(self.root, [branch]);
        for schema in &self.schemas {
            if !schema.contains_key("anyOf") && !schema.contains_key("oneOf") {
                node.schemas.push(schema);
            }
        }
        node
    }

    /// Returns the only alternative besides `null`, if there is exactly one, and true if `null` is allowed too.
    pub(super) fn without_null(&self) -> (Option<SchemaNode<'s>>, bool) {
        let alternatives = self.alternatives();
        let is_null = |node: &SchemaNode<'_>| {
            node.types() == Some(vec!["null"]) || node.keyword_value("const") == Some(&Value::Null)
        };
        let (null, other): (Vec<_>, Vec<_>) = alternatives.into_iter().partition(is_null);
        match (null.is_empty(), other.len()) {
            (nullable, 1) => (other.into_iter().next(), !nullable),
            _ => (None, false),
        }
    }

    /// Returns the node at a dotted path.
    pub(super) fn at(&self, path: &str) -> Option<SchemaNode<'s>> {
        self.at_within(path, MAX_BRANCHES)
    }

    /// Limits by `branches` how many branches are followed, because two of them may refer to each other.
    fn at_within(&self, path: &str, branches: usize) -> Option<SchemaNode<'s>> {
        if path.is_empty() {
            return Some(self.clone());
        }
        // Most paths are the name of a property of the root.
        if let Some(node) = self.property(path) {
            return Some(node);
        }
        // A name may contain dots, so declared names are tried first, the longest one before the others.
        let mut names: Vec<&str> =
            self.property_names().into_iter().filter(|name| path_after(path, name).is_some()).collect();
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        let declared = names.iter().find_map(|name| self.property(name)?.at_within(path_after(path, name)?, branches));
        let (first, after) = path.split_once('.').unwrap_or((path, ""));
        let item = || first.parse().ok().and_then(|index| self.item(index)?.at_within(after, branches));
        let branch = || {
            let left = branches.checked_sub(1)?;
            let taken = self.choices().into_iter().flatten().flatten();
            taken.into_iter().find_map(|branch| SchemaNode::new(self.root, [branch]).at_within(path, left))
        };
        let additional_property = || self.additional_property()?.at_within(after, branches);
        declared.or_else(item).or_else(branch).or_else(additional_property)
    }
}

/// The maximum number of branches followed for one path.
const MAX_BRANCHES: usize = 4;

/// Returns the rest of a path after a name.
fn path_after<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    match path.strip_prefix(path_segment(name))? {
        "" => Some(""),
        rest => rest.strip_prefix('.'),
    }
}

fn resolve_local_ref<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    root.pointer(reference.strip_prefix('#')?)
}
