//! The changes of an input schema, field by field.

use std::collections::BTreeSet;

use healbench_core::{Object, Undeclared, canonical_json};
use healbench_text::resemblance;
use serde_json::{Value, json};

use super::Severity;
use super::accepts::type_names;
use super::canonical::{canonical_schema, without_annotations};
use super::inlined::inlined;
use super::readable::{BOUNDS, quote_name, readable_change, readable_schema};
use super::renamed::best_pairs;
use super::schema_change::severity_of_change;
use crate::schema::upgrade_schema;

/// A change of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    /// The path of the field: `amount`, `address.street`, `lines[].amount`.
    pub field: String,
    /// The severity of this change alone.
    pub severity: Severity,
    /// The change: `removed: string`, `minimum: 1 -> 5`.
    pub change: String,
}

/// The changes of the fields of one schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldChanges {
    /// The changes, by descending severity and then by field.
    pub changes: Vec<FieldChange>,
    /// True if the schemas differ in nothing else.
    pub is_complete: bool,
}

/// Returns the changes of the fields between two schemas whose change has the severity `whole`.
pub(super) fn field_changes(
    previous: &Value,
    current: &Value,
    undeclared: Undeclared,
    whole: Severity,
) -> FieldChanges {
    let [previous, current] = [previous, current].map(|schema| inlined(&upgrade_schema(schema)));
    let mut found = Fields {
        definitions: [&previous, &current].map(|schema| members(schema, &DEFINITIONS)),
        undeclared,
        changes: Vec::new(),
    };
    let differs_in_fields = found.objects("", &previous, &current, 0);
    let mut changes = found.changes;
    changes.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.field.cmp(&b.field)));
    // Each change is judged alone, so that all of them may be harmless where the whole is not.
    let worst = changes.iter().map(|change| change.severity).max();
    FieldChanges { is_complete: differs_in_fields && worst == Some(whole), changes }
}

/// Objects nested deeper are compared as a whole.
const MAX_DEPTH: usize = 6;

/// Keywords whose changes are listed one by one, besides [`BOUNDS`]; those of a schema with others are shown as a whole.
const LISTED: [&str; 4] = ["type", "enum", "default", "uniqueItems"];

const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// Keywords about the properties that an object does not declare.
const OTHERS: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];

/// Collects the changes of fields.
struct Fields {
    /// The definitions of the previous and of the current schema, for references that are left.
    definitions: [Object; 2],
    undeclared: Undeclared,
    changes: Vec<FieldChange>,
}

/// A property of an object, and whether it is required.
#[derive(Clone, Copy)]
struct Property<'a> {
    name: &'a str,
    schema: &'a Value,
    is_required: bool,
}

impl Property<'_> {
    fn necessity(&self) -> &'static str {
        if self.is_required { "required" } else { "optional" }
    }
}

/// Returns these keywords of a schema, as far as it has them.
fn members(schema: &Value, keywords: &[&str]) -> Object {
    keywords.iter().filter_map(|keyword| Some(((*keyword).to_owned(), schema.get(keyword)?.clone()))).collect()
}

fn properties(schema: &Value) -> Vec<Property<'_>> {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flat_map(Object::iter);
    properties.map(|(name, schema)| Property { name, schema, is_required: required.contains(&name.as_str()) }).collect()
}

/// Returns the keywords that constrain values, except those named.
fn keywords_besides(schema: &Value, named: &[&str]) -> Value {
    let mut schema = without_annotations(schema);
    if let Value::Object(map) = &mut schema {
        map.retain(|keyword, _| !named.contains(&keyword.as_str()));
    }
    schema
}

impl Fields {
    /// Compares the properties of two objects. Returns true if they differ in nothing else.
    fn objects(&mut self, path: &str, previous: &Value, current: &Value, depth: usize) -> bool {
        let (before, now) = (properties(previous), properties(current));
        let in_other = |others: &[Property<'_>], name: &str| others.iter().any(|other| other.name == name);
        let removed: Vec<Property<'_>> = before.iter().filter(|one| !in_other(&now, one.name)).copied().collect();
        let added: Vec<Property<'_>> = now.iter().filter(|one| !in_other(&before, one.name)).copied().collect();
        let renamed = self.renamed(&removed, &added);
        let others = [previous, current].map(|schema| members(schema, &OTHERS));
        for property in &removed {
            let mut change = format!("removed: {}", readable_schema(property.schema));
            if let Some((_, to)) = renamed.iter().find(|(from, _)| *from == property.name) {
                change.push_str(&format!("; it may now be `{}`", path_of(path, to)));
            }
            self.push(&path_of(path, property.name), &others, (Some(*property), None), change);
        }
        for property in &added {
            let change = format!("added, {}: {}", property.necessity(), readable_schema(property.schema));
            self.push(&path_of(path, property.name), &others, (None, Some(*property)), change);
        }
        for old in &before {
            let Some(new) = now.iter().find(|new| new.name == old.name) else { continue };
            let path = path_of(path, old.name);
            if old.is_required != new.is_required {
                let change = format!("{} -> {}", old.necessity(), new.necessity());
                self.push(&path, &others, (Some(*old), Some(Property { schema: old.schema, ..*new })), change);
            }
            self.values(&path, old.schema, new.schema, depth + 1);
        }
        // A required field may be undeclared.
        let undeclared = |schema: &Value, known: &[Property<'_>]| -> BTreeSet<String> {
            let names = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            names.filter(|name| !in_other(known, name)).map(str::to_owned).collect()
        };
        let named = ["properties", "required", "$defs", "definitions", "$schema"];
        undeclared(previous, &before) == undeclared(current, &now)
            && keywords_besides(previous, &named) == keywords_besides(current, &named)
    }

    /// Compares two schemas of the value at `path`.
    fn values(&mut self, path: &str, old: &Value, new: &Value, depth: usize) {
        if canonical_schema(old) == canonical_schema(new) {
            return;
        }
        if without_annotations(old) == without_annotations(new) {
            self.push_value(path, old, new, "described otherwise".to_owned());
            return;
        }
        let both = |keyword: &str| old[keyword].is_object() && new[keyword].is_object();
        let alike_besides = |named: &[&str]| keywords_besides(old, named) == keywords_besides(new, named);
        if depth < MAX_DEPTH && both("properties") && alike_besides(&["properties", "required"]) {
            let known = self.changes.len();
            if self.objects(path, old, new, depth) && self.changes.len() > known {
                return;
            }
            self.changes.truncate(known);
        }
        if depth < MAX_DEPTH && both("items") && alike_besides(&["items"]) {
            self.values(&format!("{path}[]"), &old["items"], &new["items"], depth + 1);
            return;
        }
        self.keywords(path, old, new);
    }

    /// Lists the changed keywords of two schemas; if some have no short form, shows both schemas.
    fn keywords(&mut self, path: &str, old: &Value, new: &Value) {
        let (before, now) = (without_annotations(old), without_annotations(new));
        let (Some(old_map), Some(new_map)) = (before.as_object(), now.as_object()) else {
            return self.push_whole(path, old, new);
        };
        let all: BTreeSet<&String> = old_map.keys().chain(new_map.keys()).collect();
        let changed: Vec<&str> =
            all.into_iter().filter(|key| old_map.get(*key) != new_map.get(*key)).map(String::as_str).collect();
        let is_listed = |keyword: &&str| LISTED.contains(keyword) || BOUNDS.iter().any(|(bound, _)| bound == keyword);
        if !changed.iter().all(is_listed) {
            return self.push_whole(path, old, new);
        }
        for keyword in changed {
            let values = [old_map.get(keyword), new_map.get(keyword)];
            let with = |value: Option<Value>| {
                let mut map = old_map.clone();
                match value {
                    Some(value) => map.insert(keyword.to_owned(), value),
                    None => map.shift_remove(keyword),
                };
                Value::Object(map)
            };
            if let ("enum", [Some(Value::Array(options)), Some(Value::Array(others))]) = (keyword, values) {
                let kept: Vec<Value> = options.iter().filter(|option| others.contains(option)).cloned().collect();
                let gone: Vec<&Value> = options.iter().filter(|option| !others.contains(option)).collect();
                let came: Vec<Value> = others.iter().filter(|option| !options.contains(option)).cloned().collect();
                if !gone.is_empty() {
                    let change = format!("no longer an option: {}", list(gone.iter().copied()));
                    self.push_value(path, &before, &with(Some(Value::Array(kept))), change);
                }
                if !came.is_empty() {
                    let change = format!("new option: {}", list(&came));
                    let more = options.iter().chain(&came).cloned().collect();
                    self.push_value(path, &before, &with(Some(more)), change);
                }
                continue;
            }
            let [text, other] = values.map(|value| keyword_text(keyword, value));
            let change = format!("{keyword}: {text} -> {other}");
            self.push_value(path, &before, &with(values[1].cloned()), change);
        }
    }

    fn push_whole(&mut self, path: &str, old: &Value, new: &Value) {
        let (before, now) = readable_change(old, new);
        self.push_value(path, old, new, format!("{before} -> {now}"));
    }

    /// Records a change of the value at `path`.
    fn push_value(&mut self, path: &str, old: &Value, new: &Value, change: String) {
        let property = |schema| Some(Property { name: "value", schema, is_required: true });
        self.push(path, &Default::default(), (property(old), property(new)), change);
    }

    /// Records a change with the severity that it would have as the only one of its object, whose treatment of `others` is
    /// kept.
    fn push(
        &mut self,
        path: &str,
        others: &[Object; 2],
        (old, new): (Option<Property<'_>>, Option<Property<'_>>),
        change: String,
    ) {
        let object = |side: usize, property| object_of([&self.definitions[side], &others[side]], property);
        let (before, now) = (object(0, old), object(1, new));
        if let Some(severity) = severity_of_change(&before, &now, self.undeclared) {
            self.changes.push(FieldChange { field: path.to_owned(), severity, change });
        }
    }

    /// Returns the removed fields that have a similar name and the same type among the added ones, each at most once.
    fn renamed<'a>(&self, removed: &[Property<'a>], added: &[Property<'a>]) -> Vec<(&'a str, &'a str)> {
        let [before, now] = &self.definitions;
        let types = |definitions: &Object, property: &Property<'_>| {
            let mut root = Value::Object(definitions.clone());
            root["allOf"] = json!([property.schema]);
            let mut types = type_names(&root);
            types.retain(|name| *name != "null");
            types
        };
        let added: Vec<_> = added.iter().map(|property| (property.name, types(now, property))).collect();
        let mut pairs: Vec<(f64, &str, &str)> = Vec::new();
        for property in removed {
            let own = types(before, property);
            let alike = added.iter().filter(|(_, types)| *types == own);
            pairs.extend(alike.filter_map(|(name, _)| Some((resemblance(property.name, name)?, property.name, *name))));
        }
        best_pairs(pairs)
    }
}

fn path_of(path: &str, name: &str) -> String {
    let name = quote_name(name);
    if path.is_empty() { name } else { format!("{path}.{name}") }
}

/// Returns an object that has only this property, and these other members.
fn object_of(members: [&Object; 2], property: Option<Property<'_>>) -> Value {
    let mut object: Object = members.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect();
    object.insert("type".to_owned(), json!("object"));
    if let Some(property) = property {
        object.insert("properties".to_owned(), json!({property.name: property.schema}));
        if property.is_required {
            object.insert("required".to_owned(), json!([property.name]));
        }
    }
    Value::Object(object)
}

fn keyword_text(keyword: &str, value: Option<&Value>) -> String {
    match (keyword, value) {
        (_, None) => "(absent)".to_owned(),
        ("type", Some(Value::Array(names))) => {
            let (nulls, others): (Vec<_>, Vec<_>) = names.iter().partition(|name| *name == "null");
            let names: Vec<&str> = others.into_iter().chain(nulls).filter_map(Value::as_str).collect();
            names.join(" | ")
        }
        ("type", Some(Value::String(name))) => name.clone(),
        ("pattern" | "format", Some(Value::String(text))) => text.clone(),
        ("enum", Some(Value::Array(options))) => list(options),
        (_, Some(value)) => canonical_json(value),
    }
}

fn list<'v>(values: impl IntoIterator<Item = &'v Value>) -> String {
    values.into_iter().map(canonical_json).collect::<Vec<_>>().join(", ")
}
