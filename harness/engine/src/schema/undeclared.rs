//! Fields that a schema does not declare, at every depth.
//!
//! A field is declared if a schema that applies to its object names it: under `properties` or `patternProperties`, as
//! `required`, and through `$ref`, `allOf`, the matching branches of `anyOf` and `oneOf`, `if` and `dependentSchemas`.
//! `additionalProperties` and `unevaluatedProperties` state what the author thinks of other fields, so an object with
//! one of them has no undeclared fields: the validator decides. A nested object for which nothing is declared at all
//! may have any fields.
//!
//! Each value is visited once, with all schemas that apply to it, and without recursion.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use healbench_core::Undeclared;
use jsonschema::Validator;
use serde_json::{Value, json};

use super::lookup::{member, resolve_refs};
use super::references::References;
use super::{PartValidators, compile_validator};
use crate::failure::{Issue, IssueKind, PathSegment, join_path};

/// The declarations of an input schema.
#[derive(Debug)]
pub(super) struct Declarations {
    /// The schema's nodes; the first is the root.
    nodes: Vec<Node>,
    /// The validators of branches; `None` if there are none.
    validators: Option<PartValidators>,
}

/// The undeclared fields of one object.
#[derive(Debug)]
pub(crate) struct UndeclaredFields<'v> {
    /// The location of the object.
    pub(super) path: Vec<PathSegment<'v>>,
    /// The names, in the order in which they were sent. Never empty.
    pub(super) names: Vec<String>,
}

/// What a subschema declares about a value; other subschemas by their index.
#[derive(Debug, Default)]
struct Node {
    /// The declared names, with the schemas of `properties`.
    names: BTreeMap<String, Option<usize>>,
    patterns: Vec<(Validator, usize)>,
    /// The schema of all other fields.
    others: Option<usize>,
    /// True if the author states whether other fields are allowed, or if a reference cannot be followed.
    is_explicit: bool,
    /// True if `properties` or `patternProperties` have entries.
    declares: bool,
    first_items: Vec<usize>,
    items: Option<usize>,
    /// Schemas that apply to the same value: `$ref` and `allOf`.
    conjuncts: Vec<usize>,
    /// The branches of `anyOf` and `oneOf`.
    choices: Vec<Vec<Branch>>,
    condition: Option<Condition>,
    dependents: Vec<(String, usize)>,
    /// The names that `required` lists.
    required: Vec<String>,
    /// The options of properties, by name.
    options: Vec<(String, Vec<Value>)>,
    /// The types; empty for any.
    types: Vec<String>,
}

#[derive(Debug)]
struct Branch {
    node: usize,
    /// The key of its validator.
    validator: Option<String>,
}

/// `if`, `then` and `else`.
#[derive(Debug)]
struct Condition {
    branch: Branch,
    then: Option<usize>,
    otherwise: Option<usize>,
}

impl Declarations {
    /// Reads the declarations of an object schema as prepared for the validator.
    pub(super) fn new(root: &Value, references: Option<Arc<References>>) -> Declarations {
        Declarations::of_parts(root, references).0
    }

    /// Returns the declarations with the index of each part of the schema that describes a value, by its address.
    pub(super) fn of_parts(
        root: &Value,
        references: Option<Arc<References>>,
    ) -> (Declarations, HashMap<*const Value, usize>) {
        let validators = references.map(PartValidators::WithReferences);
        let keys = validators.map(|validators| (validators.by_address(root), validators));
        let mut reader = Reader { root, nodes: Vec::new(), pending: Vec::new(), known: HashMap::new(), keys };
        reader.node(root);
        let mut at = 0;
        while let Some(schema) = reader.pending.get(at).copied() {
            let node = reader.read(schema);
            reader.nodes.push(node);
            at += 1;
        }
        let validators = reader.keys.map(|(_, validators)| validators);
        (Declarations { nodes: reader.nodes, validators }, reader.known)
    }

    /// Returns the undeclared fields of `arguments`, object by object.
    pub(super) fn undeclared<'v>(&self, arguments: &'v Value) -> Vec<UndeclaredFields<'v>> {
        if let Some(names) = self.of_flat(arguments) {
            let of_root = UndeclaredFields { path: Vec::new(), names };
            return if of_root.names.is_empty() { Vec::new() } else { vec![of_root] };
        }
        self.undeclared_in(vec![0], arguments)
    }

    /// Returns the undeclared fields of a value under parts of the schema.
    pub(super) fn undeclared_in<'v>(&self, parts: Vec<usize>, arguments: &'v Value) -> Vec<UndeclaredFields<'v>> {
        let is_root = parts.contains(&0);
        let mut found = Vec::new();
        // The steps to all values with contents that were reached, each with the index of the step before.
        let mut steps: Vec<(usize, Option<PathSegment<'v>>)> = vec![(0, None)];
        let mut pending: Vec<(usize, &'v Value, Vec<usize>)> = vec![(0, arguments, parts)];
        while let Some((step, value, mut schemas)) = pending.pop() {
            self.expand(&mut schemas, value);
            let mut visit = |segment, value: &'v Value, schemas: Vec<usize>| {
                if !schemas.is_empty() && (value.is_object() || value.is_array()) {
                    steps.push((step, Some(segment)));
                    pending.push((steps.len() - 1, value, schemas));
                }
            };
            match value {
                Value::Object(object) => {
                    let nodes = || schemas.iter().map(|node| &self.nodes[*node]);
                    let is_closed =
                        (step == 0 && is_root || nodes().any(|node| node.declares)) && !nodes().any(|n| n.is_explicit);
                    let mut names = Vec::new();
                    for (name, value) in object {
                        let (mut inner, mut is_declared) = (Vec::new(), !is_closed);
                        for node in nodes() {
                            is_declared |= node.field(name, &mut inner);
                        }
                        match is_declared {
                            true => visit(PathSegment::Name(name), value, inner),
                            false => names.push(name.clone()),
                        }
                    }
                    if !names.is_empty() {
                        found.push(UndeclaredFields { path: path_to(&steps, step), names });
                    }
                }
                Value::Array(items) => {
                    for (index, item) in items.iter().enumerate() {
                        let of_item = |node: &usize| {
                            let node = &self.nodes[*node];
                            node.first_items.get(index).copied().or(node.items)
                        };
                        visit(PathSegment::Index(index), item, schemas.iter().filter_map(of_item).collect());
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// Returns the undeclared fields of arguments without nested values, if only the root declares fields.
    fn of_flat(&self, arguments: &Value) -> Option<Vec<String>> {
        let root = &self.nodes[0];
        let has_parts = !root.conjuncts.is_empty() || !root.choices.is_empty() || !root.dependents.is_empty();
        let is_nested = |value: &Value| value.is_object() || value.is_array();
        let object = arguments.as_object()?;
        if has_parts || root.condition.is_some() || !root.patterns.is_empty() || object.values().any(is_nested) {
            return None;
        }
        let is_undeclared = |name: &&String| !root.is_explicit && !root.names.contains_key(*name);
        Some(object.keys().filter(is_undeclared).cloned().collect())
    }

    /// Adds the schemas that apply to the same value.
    fn expand(&self, schemas: &mut Vec<usize>, value: &Value) {
        let mut at = 0;
        while let Some(node) = schemas.get(at).map(|node| &self.nodes[*node]) {
            let branches = node.choices.iter().flat_map(|branches| self.chosen(branches, value));
            let condition = node.condition.iter().flat_map(|condition| match self.accepts(&condition.branch, value) {
                true => [Some(condition.branch.node), condition.then],
                false => [None, condition.otherwise],
            });
            let is_present = |(name, _): &&(String, usize)| value.get(name).is_some();
            let dependents = node.dependents.iter().filter(is_present).map(|(_, node)| *node);
            let others = node.conjuncts.iter().copied().chain(branches).chain(condition.flatten()).chain(dependents);
            for other in others {
                if !schemas.contains(&other) {
                    schemas.push(other);
                }
            }
            at += 1;
        }
    }

    /// Returns the branches that accept a value. If none does, these are the ones it seems to be meant for: one without
    /// a field that the branch requires, or with another option, is not.
    fn chosen(&self, branches: &[Branch], value: &Value) -> Vec<usize> {
        let may_fit: Vec<&Branch> = branches.iter().filter(|branch| self.may_fit(branch.node, value)).collect();
        let fitting = match may_fit.as_slice() {
            [_] => Vec::new(),
            several => several.iter().copied().filter(|branch| self.accepts(branch, value)).collect(),
        };
        let chosen = [fitting, may_fit].into_iter().find(|branches| !branches.is_empty());
        chosen.unwrap_or_else(|| branches.iter().collect()).iter().map(|branch| branch.node).collect()
    }

    fn may_fit(&self, node: usize, value: &Value) -> bool {
        let mut schemas = vec![node];
        let mut at = 0;
        while let Some(node) = schemas.get(at).map(|node| &self.nodes[*node]) {
            let name = if value.is_object() { "object" } else { "array" };
            let is_type = node.types.is_empty() || node.types.iter().any(|kind| kind == name);
            let is_option = |(name, options): &(String, Vec<Value>)| {
                value.get(name).is_none_or(|sent| options.iter().any(|option| option == sent))
            };
            let has_fields = !value.is_object() || node.required.iter().all(|name| value.get(name).is_some());
            if !is_type || !has_fields || !node.options.iter().all(is_option) {
                return false;
            }
            for conjunct in &node.conjuncts {
                if !schemas.contains(conjunct) {
                    schemas.push(*conjunct);
                }
            }
            at += 1;
        }
        true
    }

    fn accepts(&self, branch: &Branch, value: &Value) -> bool {
        let Some(key) = &branch.validator else { return true };
        self.validators.as_ref().and_then(|all| all.accepts(key, value)).unwrap_or(true)
    }
}

impl Node {
    /// Returns true if the node declares the field, and adds its schemas.
    fn field(&self, name: &str, schemas: &mut Vec<usize>) -> bool {
        let mut add = |schema: usize| {
            if !schemas.contains(&schema) {
                schemas.push(schema);
            }
        };
        let named = self.names.get(name);
        named.copied().flatten().into_iter().for_each(&mut add);
        let mut is_known = named.is_some();
        if !self.patterns.is_empty() {
            let text = json!(name);
            for (_, schema) in self.patterns.iter().filter(|(pattern, _)| pattern.is_valid(&text)) {
                is_known = true;
                add(*schema);
            }
        }
        if !is_known {
            self.others.into_iter().for_each(add);
        }
        is_known
    }
}

/// Returns the segments on the way to a value.
fn path_to<'v>(steps: &[(usize, Option<PathSegment<'v>>)], step: usize) -> Vec<PathSegment<'v>> {
    let before = |(previous, _): &(usize, Option<PathSegment<'v>>)| Some(steps[*previous]);
    let mut path: Vec<PathSegment<'v>> =
        std::iter::successors(Some(steps[step]), before).map_while(|(_, segment)| segment).collect();
    path.reverse();
    path
}

impl UndeclaredFields<'_> {
    pub(super) fn into_issue(self) -> Issue {
        let path = self.path.into_iter().fold(String::new(), |path, segment| join_path(&path, &segment.into_name()));
        Issue::new(path, None, IssueKind::Undeclared { fields: self.names })
    }

    /// Returns true if the fields fail the call.
    pub(crate) fn fail(&self, policy: Undeclared) -> bool {
        match policy {
            Undeclared::Reject => true,
            Undeclared::RejectArguments => self.path.is_empty(),
            Undeclared::Strip | Undeclared::Pass => false,
        }
    }

    /// Returns the number of fields in all of the objects.
    pub(crate) fn count(found: &[UndeclaredFields<'_>]) -> u32 {
        found.iter().map(|fields| fields.names.len() as u32).sum()
    }

    /// Returns `value` without these fields.
    pub(crate) fn strip(found: &[UndeclaredFields<'_>], value: &Value) -> Value {
        let mut value = value.clone();
        for fields in found {
            let object = fields.path.iter().try_fold(&mut value, |value, segment| match segment {
                PathSegment::Name(name) => value.get_mut(name),
                PathSegment::Index(index) => value.get_mut(index),
            });
            if let Some(Value::Object(object)) = object {
                object.retain(|name, _| !fields.names.contains(name));
            }
        }
        value
    }
}

/// Reads the nodes of a schema.
struct Reader<'s> {
    root: &'s Value,
    nodes: Vec<Node>,
    /// The schema of each node, in order.
    pending: Vec<&'s Value>,
    /// The index of each node by the address of its schema.
    known: HashMap<*const Value, usize>,
    /// The validators of all parts, and their keys by address; made for the first branch.
    keys: Option<(HashMap<*const Value, String>, PartValidators)>,
}

impl<'s> Reader<'s> {
    fn node(&mut self, schema: &'s Value) -> usize {
        *self.known.entry(std::ptr::from_ref(schema)).or_insert_with(|| {
            self.pending.push(schema);
            self.pending.len() - 1
        })
    }

    fn branch(&mut self, schema: &'s Value) -> Branch {
        if self.keys.is_none()
            && let Some(validators) = PartValidators::compile(self.root)
        {
            self.keys = Some((validators.by_address(self.root), validators));
        }
        let key = self.keys.as_ref().and_then(|(keys, _)| keys.get(&std::ptr::from_ref(schema)));
        Branch { validator: key.cloned(), node: self.node(schema) }
    }

    fn read(&mut self, schema: &'s Value) -> Node {
        let mut node = Node::default();
        let Some(object) = schema.as_object() else { return node };
        let list = |keyword: &str| object.get(keyword).and_then(Value::as_array).into_iter().flatten();
        let map = |keyword: &str| object.get(keyword).and_then(Value::as_object);
        let texts = |keyword: &str| list(keyword).filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>();
        node.required = texts("required");
        node.types = match object.get("type") {
            Some(Value::String(name)) => vec![name.clone()],
            _ => texts("type"),
        };
        node.names = node.required.iter().map(|name| (name.clone(), None)).collect();
        for (name, property) in map("properties").into_iter().flatten() {
            node.names.insert(name.clone(), Some(self.node(property)));
            let options = match resolve_refs(self.root, property) {
                target if member(target, "const").is_some() => member(target, "const").map(std::slice::from_ref),
                target => member(target, "enum").and_then(Value::as_array).map(Vec::as_slice),
            };
            node.options.extend(options.map(|options| (name.clone(), options.to_vec())));
        }
        for (pattern, property) in map("patternProperties").into_iter().flatten() {
            // A pattern that does not compile was rejected before.
            let validator = compile_validator(&json!({"pattern": pattern})).ok();
            node.patterns.extend(validator.map(|validator| (validator, self.node(property))));
        }
        let declaring = ["properties", "patternProperties"].into_iter().filter_map(map);
        node.declares = declaring.flatten().next().is_some();
        let others = ["additionalProperties", "unevaluatedProperties"].into_iter().find_map(|key| object.get(key));
        node.is_explicit = others.is_some();
        node.others = others.map(|others| self.node(others));
        node.first_items = list("prefixItems").map(|item| self.node(item)).collect();
        let items = ["items", "unevaluatedItems"].into_iter().find_map(|key| object.get(key));
        node.items = items.map(|items| self.node(items));
        node.conjuncts = list("allOf").map(|part| self.node(part)).collect();
        match object.get("$ref").map(|reference| self.target(reference)) {
            Some(Some(target)) => node.conjuncts.push(self.node(target)),
            Some(None) => node.is_explicit = true,
            None => node.is_explicit |= object.contains_key("$dynamicRef"),
        }
        let choices = ["anyOf", "oneOf"].into_iter().filter(|keyword| object.contains_key(*keyword));
        node.choices = choices.map(|keyword| list(keyword).map(|branch| self.branch(branch)).collect()).collect();
        node.condition = object.get("if").map(|branch| Condition {
            branch: self.branch(branch),
            then: object.get("then").map(|schema| self.node(schema)),
            otherwise: object.get("else").map(|schema| self.node(schema)),
        });
        let dependents = map("dependentSchemas").into_iter().flatten();
        node.dependents = dependents.map(|(name, schema)| (name.clone(), self.node(schema))).collect();
        node
    }

    /// Returns the target of a local reference.
    fn target(&self, reference: &Value) -> Option<&'s Value> {
        self.root.pointer(reference.as_str()?.strip_prefix('#')?)
    }
}
