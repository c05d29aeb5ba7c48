//! A schema as a list of parts that must all hold, with references resolved.

use healbench_core::{Object, canonical_json};
use serde_json::{Value, json};

use crate::contract::canonical::ANNOTATIONS;

/// A map of keywords to values; all of them must hold.
pub(super) type Conjunct = Object;

/// Marks a part whose `unevaluated…` keyword comes from a nested schema and does not see the other parts.
pub(super) const NESTED_UNEVALUATED: &str = "\u{0}unevaluated";

/// Keywords that depend on each other: parts that differ in them are not merged.
const KEYWORD_GROUPS: [&[&str]; 4] = [
    &["properties", "patternProperties", "additionalProperties"],
    &["prefixItems", "items"],
    &["contains", "minContains", "maxContains"],
    &["if", "then", "else"],
];
/// Keywords that apply schemas to the value itself, except `allOf` and `$ref`.
pub(super) const IN_PLACE_APPLICATORS: [&str; 6] = ["anyOf", "oneOf", "if", "then", "else", "dependentSchemas"];
/// The maximum number of references followed for one schema, which may refer to itself in place. Further references are
/// kept.
const MAX_REFERENCES: u32 = 100;

/// Returns the parts of `schema`, merging those that do not conflict. The first is the schema's own.
pub(super) fn flatten(schema: &Value, root: &Value) -> Vec<Conjunct> {
    flatten_within(schema, root, &mut 0)
}

fn flatten_within(schema: &Value, root: &Value, followed: &mut u32) -> Vec<Conjunct> {
    let Value::Object(map) = schema else {
        let never = Object::from_iter([("type".to_owned(), json!([]))]);
        return vec![if schema == &json!(false) { never } else { Conjunct::new() }];
    };
    let dropped =
        |keyword: &str| ANNOTATIONS.contains(&keyword) || matches!(keyword, "$defs" | "definitions" | "allOf");
    let mut own: Conjunct = map.iter().filter(|(key, _)| !dropped(key)).map(|(k, v)| (k.clone(), v.clone())).collect();
    let mut inner: Vec<&Value> = map.get("allOf").and_then(Value::as_array).into_iter().flatten().collect();
    if let Some(target) = map.get("$ref").and_then(Value::as_str).and_then(|reference| resolve(reference, root))
        && *followed < MAX_REFERENCES
    {
        *followed += 1;
        own.shift_remove("$ref");
        inner.push(target);
    }
    let mut rest = Vec::new();
    for schema in inner {
        for mut conjunct in flatten_within(schema, root, followed) {
            for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
                if conjunct.shift_remove(keyword).is_some() {
                    conjunct.insert(NESTED_UNEVALUATED.to_owned(), Value::Null);
                }
            }
            if !merge(&mut own, &conjunct) {
                rest.push(conjunct);
            }
        }
    }
    // If nothing else can declare a property, it is equivalent to `additionalProperties`.
    let declares = |conjunct: &Conjunct| {
        IN_PLACE_APPLICATORS.iter().chain(&[NESTED_UNEVALUATED]).any(|keyword| conjunct.contains_key(*keyword))
    };
    let alone = rest.is_empty() && !declares(&own);
    if alone && let Some(value) = own.shift_remove("unevaluatedProperties") {
        own.entry("additionalProperties").or_insert(value);
    }
    rest.insert(0, own);
    rest
}

/// Merges `conjunct` into `own` if this does not change the meaning of both. Returns true if merged.
fn merge(own: &mut Conjunct, conjunct: &Conjunct) -> bool {
    let collides = |keyword: &String| {
        keyword != "required" && own.get(keyword).is_some_and(|value| value != &conjunct[keyword.as_str()])
    };
    let apart = |group: &&[&str]| {
        let has = |conjunct: &Conjunct| group.iter().any(|keyword| conjunct.contains_key(*keyword));
        has(own) && has(conjunct) && group.iter().any(|keyword| own.get(*keyword) != conjunct.get(*keyword))
    };
    if conjunct.keys().any(collides) || KEYWORD_GROUPS.iter().any(apart) {
        return false;
    }
    for (keyword, value) in conjunct {
        match (keyword.as_str(), own.get_mut(keyword), value) {
            ("required", Some(Value::Array(names)), Value::Array(more)) => names.extend(more.iter().cloned()),
            _ => {
                own.insert(keyword.clone(), value.clone());
            }
        }
    }
    true
}

/// Resolves a reference within `root`, a schema without annotations.
pub(super) fn resolve<'a>(reference: &str, root: &'a Value) -> Option<&'a Value> {
    match reference.strip_prefix('#')? {
        "" => Some(root),
        // Percent-encoded references are left to the validator.
        pointer if pointer.contains('%') => None,
        pointer => root.pointer(pointer),
    }
}

/// Returns the possible values of `conjuncts` if they are enumerated; other parts may exclude some of them.
pub(super) fn finite_values(conjuncts: &[Conjunct]) -> Option<Vec<Value>> {
    for conjunct in conjuncts {
        if let Some(options) = conjunct.get("enum").and_then(Value::as_array) {
            return Some(options.clone());
        }
        if let Some(value) = conjunct.get("const") {
            return Some(vec![value.clone()]);
        }
    }
    let types = types_of(conjuncts);
    types.difference(TypeSet::NULL.union(TypeSet::BOOLEAN)).is_empty().then(|| {
        let values = [(TypeSet::NULL, Value::Null), (TypeSet::BOOLEAN, json!(true)), (TypeSet::BOOLEAN, json!(false))];
        values.into_iter().filter(|(of, _)| of.difference(types).is_empty()).map(|(_, value)| value).collect()
    })
}

/// A set of JSON types. `number` contains `integer` and fractions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TypeSet(u8);

impl TypeSet {
    pub(super) const NULL: TypeSet = TypeSet(1);
    pub(super) const BOOLEAN: TypeSet = TypeSet(2);
    pub(super) const OBJECT: TypeSet = TypeSet(4);
    pub(super) const ARRAY: TypeSet = TypeSet(8);
    pub(super) const STRING: TypeSet = TypeSet(16);
    pub(super) const INTEGER: TypeSet = TypeSet(32);
    pub(super) const NUMBER: TypeSet = TypeSet(32 + 64);
    pub(super) const ALL: TypeSet = TypeSet(127);

    const NAMES: [(&'static str, TypeSet); 6] = [
        ("null", TypeSet::NULL),
        ("boolean", TypeSet::BOOLEAN),
        ("object", TypeSet::OBJECT),
        ("array", TypeSet::ARRAY),
        ("string", TypeSet::STRING),
        ("number", TypeSet::NUMBER),
    ];

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn union(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 | other.0)
    }

    pub(super) fn difference(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 & !other.0)
    }

    pub(super) fn intersection(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 & other.0)
    }

    /// Returns the types of a `type` keyword.
    pub(super) fn from_keyword(value: &Value) -> TypeSet {
        let one = |name: &Value| match name.as_str() {
            Some("integer") => TypeSet::INTEGER,
            Some(name) => {
                TypeSet::NAMES.iter().find(|(known, _)| *known == name).map_or(TypeSet(0), |(_, types)| *types)
            }
            None => TypeSet(0),
        };
        match value {
            Value::Array(names) => names.iter().map(one).fold(TypeSet(0), TypeSet::union),
            name => one(name),
        }
    }

    /// Returns the types that `keyword` constrains.
    pub(super) fn constrained_by(keyword: &str) -> TypeSet {
        match keyword {
            "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum" | "multipleOf" => TypeSet::NUMBER,
            "minLength" | "maxLength" | "pattern" | "format" | "contentEncoding" | "contentMediaType" => {
                TypeSet::STRING
            }
            "minItems" | "maxItems" | "uniqueItems" | "prefixItems" | "items" | "contains" | "minContains"
            | "maxContains" | "unevaluatedItems" => TypeSet::ARRAY,
            "minProperties"
            | "maxProperties"
            | "required"
            | "properties"
            | "patternProperties"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "propertyNames"
            | "dependentRequired"
            | "dependentSchemas" => TypeSet::OBJECT,
            _ => TypeSet::ALL,
        }
    }

    /// Returns the JSON Schema names of these types.
    pub(super) fn names(self) -> Vec<&'static str> {
        let mut names: Vec<&str> = TypeSet::NAMES
            .iter()
            .filter(|(_, types)| types.difference(self).is_empty())
            .map(|(name, _)| *name)
            .collect();
        if self.intersection(TypeSet::NUMBER) == TypeSet::INTEGER {
            names.push("integer");
        }
        names
    }
}

/// Returns the types that a value can have under all of `conjuncts`.
pub(super) fn types_of(conjuncts: &[Conjunct]) -> TypeSet {
    let named = |conjunct: &Conjunct| conjunct.get("type").map_or(TypeSet::ALL, TypeSet::from_keyword);
    conjuncts.iter().map(named).fold(TypeSet::ALL, TypeSet::intersection)
}

/// Returns true if no value of `types` can be valid under both.
pub(super) fn are_disjoint(one: &Value, other: &Value, types: TypeSet, root: &Value) -> bool {
    let (one, other) = (flatten(one, root), flatten(other, root));
    let common = types_of(&one).intersection(types_of(&other)).intersection(types);
    if common.is_empty() {
        return true;
    }
    if let (Some(left), Some(right)) = (finite_values(&one), finite_values(&other)) {
        return values_disjoint(&left, &right);
    }
    common == TypeSet::OBJECT && distinct(&one, &other, root)
}

/// Returns true if a required property has disjoint values in both.
fn distinct(one: &[Conjunct], other: &[Conjunct], root: &Value) -> bool {
    let values = |conjuncts: &[Conjunct], name: &str| {
        let schema = |conjunct: &Conjunct| conjunct.get("properties")?.get(name).cloned();
        conjuncts.iter().find_map(|conjunct| finite_values(&flatten(&schema(conjunct)?, root)))
    };
    let required = one.iter().chain(other).filter_map(|conjunct| conjunct.get("required")?.as_array()).flatten();
    required.filter_map(Value::as_str).any(|name| match (values(one, name), values(other, name)) {
        (Some(left), Some(right)) => values_disjoint(&left, &right),
        _ => false,
    })
}

fn values_disjoint(left: &[Value], right: &[Value]) -> bool {
    let right: Vec<String> = right.iter().map(canonical_json).collect();
    // `1` and `1.0` are the same number, so numbers are never distinguished by their text.
    let is_comparable = |value: &Value| !value.is_number() && !value.is_array() && !value.is_object();
    left.iter().all(|value| is_comparable(value) && !right.contains(&canonical_json(value)))
}
