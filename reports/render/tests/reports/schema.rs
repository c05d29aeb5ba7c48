use healbench_analysis::{JsonSchemaKind, json_schema};
use serde_json::Value;

#[test]
fn the_committed_schema_is_the_generated_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../report.schema.json");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == json_schema(JsonSchemaKind::Report).unwrap(),
        "reports/report.schema.json is stale; regenerate it: cargo run --release -- schema report > reports/report.schema.json"
    );
}

/// Every object requires its fields, allows no others, and every field has a description.
#[test]
fn every_field_is_required_and_documented() {
    for printed in [JsonSchemaKind::Report, JsonSchemaKind::Comparison, JsonSchemaKind::Matrix, JsonSchemaKind::Errors]
    {
        let schema: Value = serde_json::from_str(&json_schema(printed).unwrap()).unwrap();
        let mut seen = 0;
        check(&schema, &mut seen);
        assert!(seen > 20, "{printed:?}");
    }
}

fn check(schema: &Value, seen: &mut usize) {
    if let Some(properties) = schema["properties"].as_object() {
        let required = schema["required"].as_array().unwrap();
        assert_eq!(schema["additionalProperties"], false, "{schema:#}");
        for (name, field) in properties {
            assert!(required.contains(&Value::from(name.as_str())), "{name} may be missing");
            // The variants of an enum are described as a whole.
            let described = field["description"].is_string() || schema["description"].is_string();
            assert!(described, "{name} is not documented");
            *seen += 1;
        }
    }
    match schema {
        Value::Object(map) => map.values().for_each(|value| check(value, seen)),
        Value::Array(items) => items.iter().for_each(|value| check(value, seen)),
        _ => {}
    }
}
