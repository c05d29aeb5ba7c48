//! Fields of a schema, and the places of their values in a call.

use healbench_core::Object;
use healbench_engine::{accepts, valid_example};
use serde_json::{Value, json};

/// The depth of parts of schemas in which fields are looked for.
const MAX_PARTS: usize = 4;

/// The fields of an object: its own, and those of the parts of its schema that hold for it.
#[derive(Default)]
pub(crate) struct Fields<'s> {
    pub(crate) all: Vec<(&'s String, &'s Value)>,
    pub(crate) required: Vec<&'s str>,
}

impl<'s> Fields<'s> {
    /// Returns the fields of a value with this schema. Of alternatives, those of the first that accepts the value hold.
    pub(crate) fn of(schema: &'s Value, root: &'s Value, value: &Value) -> Fields<'s> {
        let mut fields = Fields::default();
        fields.add(schema, root, value, MAX_PARTS);
        fields
    }

    fn add(&mut self, schema: &'s Value, root: &'s Value, value: &Value, depth: usize) {
        let schema = resolve(schema, root);
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            if !self.all.iter().any(|(known, _)| *known == name) {
                self.all.push((name, property));
            }
        }
        self.required.extend(schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str));
        let Some(depth) = depth.checked_sub(1) else { return };
        let parts = |key: &str| schema[key].as_array().into_iter().flatten();
        parts("allOf").for_each(|part| self.add(part, root, value, depth));
        for key in ["anyOf", "oneOf"] {
            let holds = |part: &&Value| accepts(&with_definitions(resolve(part, root), root), value) == Ok(true);
            if let Some(part) = parts(key).find(holds) {
                self.add(part, root, value, depth);
            }
        }
    }
}

/// Returns a valid value of a field that is not null. Its numbers are small.
pub(crate) fn example(schema: &Value, root: &Value) -> Option<Value> {
    let of = |schema: &Value| {
        let value = valid_example(&with_definitions(schema, root)).filter(|value| !value.is_null())?;
        let whole = with_definitions(&json!({"properties": {"x": schema}}), root);
        let small = with_small_numbers(&whole, json!({"x": value}), |value| accepts(&whole, value) == Ok(true));
        small.get("x").cloned()
    };
    let mut parts = ["anyOf", "oneOf"].iter().flat_map(|key| schema[key].as_array().into_iter().flatten());
    of(schema).or_else(|| parts.find_map(of))
}

/// Returns a generated value with each number as small as may be: a server may allocate as much as it is asked for. A default, an option
/// and an example stay as they are.
pub(crate) fn with_small_numbers(schema: &Value, value: Value, is_valid: impl Fn(&Value) -> bool) -> Value {
    let mut value = value;
    let mut paths = Vec::new();
    numbers(&value, &mut Vec::new(), &mut paths);
    for path in paths {
        let place = schema_at(schema, &path);
        let parts = ["anyOf", "oneOf", "allOf"].iter().flat_map(|key| place[key].as_array().into_iter().flatten());
        let parts: Vec<&Value> = std::iter::once(place).chain(parts).collect();
        if parts
            .iter()
            .any(|part| ["default", "enum", "const", "examples", "example"].iter().any(|key| part.get(key).is_some()))
        {
            continue;
        }
        let keys = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"];
        let bounds = keys.iter().flat_map(|key| parts.iter().map(|part| &part[*key])).filter_map(Value::as_i64);
        let near = |bound: i64| [bound, bound.saturating_add(1), bound.saturating_sub(1)];
        let step = parts.iter().find_map(|part| part["multipleOf"].as_i64()).filter(|step| *step > 0).unwrap_or(1);
        let multiple = |number: i64| number.saturating_add(number.wrapping_neg().rem_euclid(step));
        let tried = std::iter::once(1).chain(bounds.flat_map(near)).flat_map(|number| [number, multiple(number)]);
        for small in tried {
            let mut changed = value.clone();
            if set(&mut changed, &path, json!(small)) && is_valid(&changed) {
                value = changed;
                break;
            }
        }
    }
    value
}

/// Collects the places of numbers.
fn numbers(value: &Value, path: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    let parts: Vec<(String, &Value)> = match value {
        Value::Number(_) if !path.is_empty() => return out.push(path.clone()),
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
        Value::Object(map) => map.iter().map(|(name, part)| (name.clone(), part)).collect(),
        _ => return,
    };
    for (name, part) in parts {
        path.push(name);
        numbers(part, path, out);
        path.pop();
    }
}

/// Returns the schema of a place; null if it is not found.
pub(crate) fn schema_at<'s>(schema: &'s Value, path: &[String]) -> &'s Value {
    path.iter().fold(resolve(schema, schema), |place, name| {
        let place = match place["properties"].get(name) {
            Some(property) => property,
            None => &place["items"],
        };
        resolve(place, schema)
    })
}

/// Returns a value as a text shows it.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns true if a text has a name as a word.
pub(crate) fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.split(|c| !is_part(c)).any(|word| word.eq_ignore_ascii_case(name))
}

/// Collects the values of a call that hold no others.
pub(crate) fn leaves<'v>(value: &'v Value, out: &mut Vec<&'v Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| leaves(item, out)),
        Value::Object(map) => map.values().for_each(|item| leaves(item, out)),
        _ => out.push(value),
    }
}

/// Returns the JSON types that a schema allows; none if it does not say.
pub(crate) fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => ["anyOf", "oneOf"]
            .iter()
            .flat_map(|key| schema[key].as_array().into_iter().flatten())
            .flat_map(types)
            .collect(),
    }
}

/// Returns the values that a schema allows; none if it does not list them.
pub(crate) fn options(schema: &Value) -> Vec<&Value> {
    let own = schema["enum"].as_array().into_iter().flatten();
    let of_parts = ["anyOf", "oneOf"].iter().flat_map(|key| schema[key].as_array().into_iter().flatten());
    own.chain(schema.get("const")).chain(of_parts.flat_map(options)).filter(|value| !value.is_null()).collect()
}

/// Follows local references. A cycle ends after a few steps.
pub(crate) fn resolve<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let mut schema = schema;
    for _ in 0..8 {
        let target = schema["$ref"].as_str().and_then(|reference| root.pointer(reference.strip_prefix('#')?));
        match target {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// Returns a schema of a field with the definitions that it may refer to.
fn with_definitions(schema: &Value, root: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(map) = &mut schema {
        for key in ["$defs", "definitions"] {
            if let Some(definitions) = root.get(key) {
                map.entry(key).or_insert_with(|| definitions.clone());
            }
        }
    }
    schema
}

/// Returns the value at a path.
pub(crate) fn get<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        value => value.get(key),
    })
}

fn get_mut<'v>(value: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, key| match value {
        Value::Array(items) => items.get_mut(key.parse::<usize>().ok()?),
        value => value.get_mut(key),
    })
}

/// Sets the value at a path whose parent exists.
pub(crate) fn set(arguments: &mut Value, path: &[String], value: Value) -> bool {
    let Some((last, parents)) = path.split_last() else { return false };
    match get_mut(arguments, parents) {
        Some(Value::Object(map)) => {
            map.insert(last.clone(), value);
            true
        }
        Some(Value::Array(items)) => match last.parse::<usize>().ok().and_then(|at| items.get_mut(at)) {
            Some(item) => {
                *item = value;
                true
            }
            None => false,
        },
        _ => false,
    }
}

pub(crate) fn remove(arguments: &mut Value, path: &[String]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    let map: &mut Object = get_mut(arguments, parents)?.as_object_mut()?;
    map.shift_remove(last)
}

/// Returns the one argument in which a call differs from the base; empty if there are several or none.
pub(crate) fn differing_field(base: &Value, arguments: &Value) -> String {
    let side = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let (base, arguments) = (side(base), side(arguments));
    let mut names: Vec<&String> = base.keys().chain(arguments.keys()).collect();
    names.sort();
    names.dedup();
    names.retain(|name| base.get(*name) != arguments.get(*name));
    match names.as_slice() {
        [name] => (*name).clone(),
        _ => String::new(),
    }
}
