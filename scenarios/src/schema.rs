//! The JSON Schema of the scenario file, generated from the raw types.

mod rules;

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::file::ScenarioFile;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<ScenarioFile>();
    let mut schema = schema.to_value();
    tidy(&mut schema);
    schema["title"] = Value::from("healbench scenario");
    schema
});

pub(crate) fn schema() -> &'static Value {
    &SCHEMA
}

/// Returns the JSON Schema (draft 2020-12) of the scenario file, for editors: with the rules that the loader checks itself. The
/// text is pretty-printed with a final line break and always the same. It is committed as `scenario.schema.json`.
pub fn schema_json() -> String {
    let mut schema = SCHEMA.clone();
    for (definition, rule) in rules::rules() {
        let place = if definition.is_empty() { &mut schema } else { &mut schema["$defs"][definition] };
        match place.get_mut("allOf").and_then(Value::as_array_mut) {
            Some(all) => all.push(rule),
            None => place["allOf"] = vec![rule].into(),
        }
    }
    format!("{schema:#}\n")
}

/// Simplifies a schema. schemars allows `null` for every optional key, which makes error messages misleading ("expected
/// a text or null"), so `null` is removed except where it has a meaning. `format: uint32` is redundant with `minimum`.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let wanted = map.shift_remove("nullable").is_some();
            if !wanted && let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    map["type"] = only.clone();
                }
            }
            if let Some(Value::Array(branches)) = map.get("anyOf")
                && let [one, null] = branches.as_slice()
                && null["type"] == "null"
                && let Value::Object(one) = one.clone()
            {
                map.shift_remove("anyOf");
                map.extend(one);
            }
            if map.get("format").is_some_and(|format| matches!(format.as_str(), Some("uint32" | "uint64" | "int64"))) {
                map.shift_remove("format");
            }
            if map.get("default").is_some_and(Value::is_null) {
                map.shift_remove("default");
            }
            if let Some(Value::String(text)) = map.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            for value in map.values_mut() {
                tidy(value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}
