//! All schemas that apply to one location of the arguments, with `$ref` and `allOf` resolved.

use healbench_core::Object;
use serde_json::Value;

use crate::failure::{Issue, PathSegment};
use crate::schema::{Trail, json_type, matches_pattern};

/// The schemas that a value must match.
#[derive(Debug, Clone)]
pub(super) struct SchemaNode<'s> {
    pub(super) root: &'s Value,
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

    /// Returns the values allowed by `const` or `enum`, without those of other types than the node's; `None` if none is left.
    pub(super) fn options(&self) -> Option<Vec<&'s Value>> {
        let types = self.types();
        let is_type = |value: &&Value| {
            types.as_ref().is_none_or(|types| {
                types.contains(&json_type(value))
                    || types.contains(&"integer") && value.as_f64().is_some_and(|number| number.fract() == 0.0)
            })
        };
        let options: Vec<&Value> = self.listed_options()?.into_iter().filter(is_type).collect();
        (!options.is_empty()).then_some(options)
    }

    fn listed_options(&self) -> Option<Vec<&'s Value>> {
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

    /// Returns the patterns of names, each with the schema of its properties.
    pub(super) fn pattern_properties(&self) -> Vec<(&'s str, SchemaNode<'s>)> {
        let maps = self.keyword_values("patternProperties").filter_map(Value::as_object).flatten();
        maps.map(|(pattern, schema)| (pattern.as_str(), SchemaNode::new(self.root, [schema]))).collect()
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

    /// Returns the branches of the first union with this keyword.
    pub(super) fn alternatives_of(&self, keyword: &str) -> Vec<SchemaNode<'s>> {
        let branches = self.keyword_value(keyword).and_then(Value::as_array);
        branches.into_iter().flatten().map(|branch| SchemaNode::new(self.root, [branch])).collect()
    }

    /// Returns the names of the required fields if the node says nothing else.
    pub(super) fn only_required(&self) -> Option<Vec<&'s str>> {
        let says_else = self
            .schemas
            .iter()
            .flat_map(|schema| schema.keys())
            .any(|keyword| !matches!(keyword.as_str(), "required" | "type" | "$ref" | "title" | "description"));
        let required = self.required();
        (!says_else && !required.is_empty()).then_some(required)
    }

    /// Returns the schema with the failed keyword of an issue.
    pub(super) fn failed_schema(&self, issue: &Issue, keyword: &str) -> Option<SchemaNode<'s>> {
        let location = &issue.keyword_locations.last()?.pointer;
        let parent = &location[..location.rfind(&format!("/{keyword}"))?];
        Some(SchemaNode::new(self.root, [self.root.pointer(parent)?]))
    }

    /// Returns the schema of a keyword that applies to parts of a value.
    pub(super) fn named_part(&self, keyword: &str) -> Option<SchemaNode<'s>> {
        Some(SchemaNode::new(self.root, [self.keyword_value(keyword)?]))
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

    /// Returns the node of a value. Of unions on the way, those branches apply that `trail` passes; without them, the first
    /// branch that declares the next segment.
    pub(super) fn at(&self, segments: &[PathSegment<'_>], trail: &Trail<'_>) -> Option<SchemaNode<'s>> {
        self.at_within(segments, trail, 0, &mut MAX_BRANCHES.clone())
    }

    /// `depth` is that of the node's value. Limits by `branches_left` how many branches are tried, because two of them may
    /// refer to each other.
    fn at_within(
        &self,
        segments: &[PathSegment<'_>],
        trail: &Trail<'_>,
        depth: usize,
        branches_left: &mut usize,
    ) -> Option<SchemaNode<'s>> {
        let Some((first, rest)) = segments.split_first() else { return Some(self.clone()) };
        let node = self.with_passed(trail, depth);
        if let Some(inner) = node.child(*first) {
            return inner.at_within(rest, trail, depth + 1, branches_left);
        }
        for branch in self.choices().into_iter().flatten().flatten() {
            *branches_left = branches_left.checked_sub(1)?;
            if let Some(found) = SchemaNode::new(self.root, [branch]).at_within(segments, trail, depth, branches_left) {
                return Some(found);
            }
        }
        None
    }

    /// Adds the branches that `trail` passes at the depth of the node's value.
    fn with_passed(&self, trail: &Trail<'_>, depth: usize) -> SchemaNode<'s> {
        let mut node = self.clone();
        // A branch may have branches of its own.
        for _ in 0..MAX_NESTING {
            let known = node.schemas.len();
            let passed: Vec<&Value> = node.conditional().filter(|branch| trail.passes(branch, depth)).collect();
            passed.into_iter().for_each(|branch| node.add(branch));
            if node.schemas.len() == known {
                break;
            }
        }
        node
    }

    /// Returns the schemas that apply to some values only.
    fn conditional(&self) -> impl Iterator<Item = &'s Value> {
        let lists = ["anyOf", "oneOf"].into_iter().flat_map(|keyword| self.keyword_values(keyword));
        let single = ["then", "else"].into_iter().flat_map(|keyword| self.keyword_values(keyword));
        let dependent = self.keyword_values("dependentSchemas").filter_map(Value::as_object).flat_map(Object::values);
        lists.filter_map(Value::as_array).flatten().chain(single).chain(dependent)
    }

    /// Returns the node of a property or an item: of a declared one, one that matches a pattern, or of any other.
    fn child(&self, segment: PathSegment<'_>) -> Option<SchemaNode<'s>> {
        let name = match segment {
            PathSegment::Index(index) => return self.item(index),
            PathSegment::Name(name) => name,
        };
        let mut found: Vec<&Value> = Vec::new();
        for schema in &self.schemas {
            let named = schema.get("properties").and_then(|map| map.get(name));
            let patterns = schema.get("patternProperties").and_then(Value::as_object);
            let is_match = |(pattern, _): &(&String, &Value)| matches_pattern(pattern, name) == Some(true);
            let matched = patterns.into_iter().flatten().filter(is_match).map(|(_, schema)| schema);
            let known = found.len();
            found.extend(named.into_iter().chain(matched));
            if found.len() == known {
                found.extend(schema.get("additionalProperties").filter(|others| others.is_object()));
            }
        }
        (!found.is_empty()).then(|| SchemaNode::new(self.root, found))
    }
}

/// The maximum number of branches tried for one path, and of levels of branches within branches.
const MAX_BRANCHES: usize = 64;
const MAX_NESTING: usize = 4;

fn resolve_local_ref<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    root.pointer(reference.strip_prefix('#')?)
}
