//! A schema as a list of parts that must all hold, its references followed.

use healbench_protocol::{Object, canonical_json};
use serde_json::{Value, json};

use crate::contract::canonical::ANNOTATIONS;

/// Keywords and their values; all of them must hold.
pub(super) type Part = Object;

/// Stands in a part for an `unevaluated…` keyword of a schema further in, which does not see the other parts.
pub(super) const FOREIGN: &str = "\u{0}unevaluated";

/// Keywords that mean something only together: parts with different ones of them stay apart.
const TOGETHER: [&[&str]; 4] = [
    &["properties", "patternProperties", "additionalProperties"],
    &["prefixItems", "items"],
    &["contains", "minContains", "maxContains"],
    &["if", "then", "else"],
];
/// What applies schemas to the value itself, beside `allOf` and `$ref`.
pub(super) const IN_PLACE: [&str; 6] = ["anyOf", "oneOf", "if", "then", "else", "dependentSchemas"];
/// References followed for one schema: one that refers to itself in place would have no end. Others stay as they are written.
const MAX_REFERENCES: u32 = 100;

/// The parts of `schema`; parts that do not get in each other's way are one. The first is the schema's own.
pub(super) fn flatten(schema: &Value, root: &Value) -> Vec<Part> {
    flatten_within(schema, root, &mut 0)
}

fn flatten_within(schema: &Value, root: &Value, followed: &mut u32) -> Vec<Part> {
    let Value::Object(map) = schema else {
        let never = Object::from_iter([("type".to_owned(), json!([]))]);
        return vec![if schema == &json!(false) { never } else { Part::new() }];
    };
    let dropped =
        |keyword: &str| ANNOTATIONS.contains(&keyword) || matches!(keyword, "$defs" | "definitions" | "allOf");
    let mut own: Part = map.iter().filter(|(key, _)| !dropped(key)).map(|(k, v)| (k.clone(), v.clone())).collect();
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
        for mut part in flatten_within(schema, root, followed) {
            for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
                if part.shift_remove(keyword).is_some() {
                    part.insert(FOREIGN.to_owned(), Value::Null);
                }
            }
            if !merge(&mut own, &part) {
                rest.push(part);
            }
        }
    }
    // With nothing else that could declare a property, it says what `additionalProperties` says.
    let declares = |part: &Part| IN_PLACE.iter().chain(&[FOREIGN]).any(|keyword| part.contains_key(*keyword));
    let alone = rest.is_empty() && !declares(&own);
    if alone && let Some(value) = own.shift_remove("unevaluatedProperties") {
        own.entry("additionalProperties").or_insert(value);
    }
    rest.insert(0, own);
    rest
}

/// Adds `part` to `own` where that changes nothing about what both of them ask for.
fn merge(own: &mut Part, part: &Part) -> bool {
    let collides = |keyword: &String| {
        keyword != "required" && own.get(keyword).is_some_and(|value| value != &part[keyword.as_str()])
    };
    let apart = |group: &&[&str]| {
        let has = |part: &Part| group.iter().any(|keyword| part.contains_key(*keyword));
        has(own) && has(part) && group.iter().any(|keyword| own.get(*keyword) != part.get(*keyword))
    };
    if part.keys().any(collides) || TOGETHER.iter().any(apart) {
        return false;
    }
    for (keyword, value) in part {
        match (keyword.as_str(), own.get_mut(keyword), value) {
            ("required", Some(Value::Array(names)), Value::Array(more)) => names.extend(more.iter().cloned()),
            _ => {
                own.insert(keyword.clone(), value.clone());
            }
        }
    }
    true
}

/// What a reference inside of `root`, a bare schema, leads to.
pub(super) fn resolve<'a>(reference: &str, root: &'a Value) -> Option<&'a Value> {
    match reference.strip_prefix('#')? {
        "" => Some(root),
        // Percent signs are left to the validator.
        pointer if pointer.contains('%') => None,
        pointer => root.pointer(pointer),
    }
}

/// The values that `parts` can have, when they are few; some of them may still be ruled out by the parts.
pub(super) fn finite_values(parts: &[Part]) -> Option<Vec<Value>> {
    for part in parts {
        if let Some(options) = part.get("enum").and_then(Value::as_array) {
            return Some(options.clone());
        }
        if let Some(value) = part.get("const") {
            return Some(vec![value.clone()]);
        }
    }
    let types = types_of(parts);
    types.without(Types::NULL.and(Types::BOOLEAN)).is_empty().then(|| {
        let values = [(Types::NULL, Value::Null), (Types::BOOLEAN, json!(true)), (Types::BOOLEAN, json!(false))];
        values.into_iter().filter(|(of, _)| of.without(types).is_empty()).map(|(_, value)| value).collect()
    })
}

/// A set of JSON types. Whole numbers are apart from fractions, so that `number` is more than `integer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub(super) const NULL: Types = Types(1);
    pub(super) const BOOLEAN: Types = Types(2);
    pub(super) const OBJECT: Types = Types(4);
    pub(super) const ARRAY: Types = Types(8);
    pub(super) const STRING: Types = Types(16);
    pub(super) const INTEGER: Types = Types(32);
    pub(super) const NUMBER: Types = Types(32 + 64);
    pub(super) const ALL: Types = Types(127);

    const NAMES: [(&'static str, Types); 6] = [
        ("null", Types::NULL),
        ("boolean", Types::BOOLEAN),
        ("object", Types::OBJECT),
        ("array", Types::ARRAY),
        ("string", Types::STRING),
        ("number", Types::NUMBER),
    ];

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn and(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    pub(super) fn without(self, other: Types) -> Types {
        Types(self.0 & !other.0)
    }

    pub(super) fn common(self, other: Types) -> Types {
        Types(self.0 & other.0)
    }

    /// The types behind a `type` keyword.
    pub(super) fn named(value: &Value) -> Types {
        let one = |name: &Value| match name.as_str() {
            Some("integer") => Types::INTEGER,
            Some(name) => Types::NAMES.iter().find(|(known, _)| *known == name).map_or(Types(0), |(_, types)| *types),
            None => Types(0),
        };
        match value {
            Value::Array(names) => names.iter().map(one).fold(Types(0), Types::and),
            name => one(name),
        }
    }

    /// The types whose values `keyword` says anything about.
    pub(super) fn concerned_by(keyword: &str) -> Types {
        match keyword {
            "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum" | "multipleOf" => Types::NUMBER,
            "minLength" | "maxLength" | "pattern" | "format" | "contentEncoding" | "contentMediaType" => Types::STRING,
            "minItems" | "maxItems" | "uniqueItems" | "prefixItems" | "items" | "contains" | "minContains"
            | "maxContains" | "unevaluatedItems" => Types::ARRAY,
            "minProperties"
            | "maxProperties"
            | "required"
            | "properties"
            | "patternProperties"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "propertyNames"
            | "dependentRequired"
            | "dependentSchemas" => Types::OBJECT,
            _ => Types::ALL,
        }
    }

    /// The names of JSON Schema for these types.
    pub(super) fn names(self) -> Vec<&'static str> {
        let mut names: Vec<&str> =
            Types::NAMES.iter().filter(|(_, types)| types.without(self).is_empty()).map(|(name, _)| *name).collect();
        if self.common(Types::NUMBER) == Types::INTEGER {
            names.push("integer");
        }
        names
    }
}

/// The types that a value can have under all of `parts`.
pub(super) fn types_of(parts: &[Part]) -> Types {
    let named = |part: &Part| part.get("type").map_or(Types::ALL, Types::named);
    parts.iter().map(named).fold(Types::ALL, Types::common)
}

/// Whether no value of `types` can be valid under both.
pub(super) fn are_disjoint(one: &Value, other: &Value, types: Types, root: &Value) -> bool {
    let (one, other) = (flatten(one, root), flatten(other, root));
    let common = types_of(&one).common(types_of(&other)).common(types);
    if common.is_empty() {
        return true;
    }
    if let (Some(these), Some(those)) = (finite_values(&one), finite_values(&other)) {
        return share_nothing(&these, &those);
    }
    common == Types::OBJECT && told_apart(&one, &other, root)
}

/// Whether a required property has other values here than there.
fn told_apart(one: &[Part], other: &[Part], root: &Value) -> bool {
    let values = |parts: &[Part], name: &str| {
        let schema = |part: &Part| part.get("properties")?.get(name).cloned();
        parts.iter().find_map(|part| finite_values(&flatten(&schema(part)?, root)))
    };
    let required = one.iter().chain(other).filter_map(|part| part.get("required")?.as_array()).flatten();
    required.filter_map(Value::as_str).any(|name| match (values(one, name), values(other, name)) {
        (Some(these), Some(those)) => share_nothing(&these, &those),
        _ => false,
    })
}

fn share_nothing(these: &[Value], those: &[Value]) -> bool {
    let those: Vec<String> = those.iter().map(canonical_json).collect();
    // `1` and `1.0` are one number: numbers are never told apart by how they are written.
    let told = |value: &Value| !value.is_number() && !value.is_array() && !value.is_object();
    these.iter().all(|value| told(value) && !those.contains(&canonical_json(value)))
}
