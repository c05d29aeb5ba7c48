use serde_json::Value;

#[test]
fn the_committed_schema_is_the_generated_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenario.schema.json");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == healbench_scenarios::schema_json(),
        "scenarios/scenario.schema.json is stale; regenerate it: cargo run --release -- schema > scenarios/scenario.schema.json"
    );
}

#[test]
fn the_schema_is_one_and_every_key_is_documented() {
    let schema: Value = serde_json::from_str(&healbench_scenarios::schema_json()).unwrap();
    assert!(jsonschema::draft202012::meta::is_valid(&schema));
    let mut undocumented = Vec::new();
    let root = "root".to_owned();
    let objects = schema["$defs"].as_object().unwrap().iter().chain([(&root, &schema)]);
    for (name, object) in objects {
        for (key, property) in object["properties"].as_object().into_iter().flatten() {
            if !property["description"].is_string() {
                undocumented.push(format!("{name}.{key}"));
            }
        }
    }
    assert_eq!(undocumented, Vec::<String>::new());
    // With these keywords, error messages would name branches instead of keys.
    let text = schema.to_string();
    assert!(!text.contains("oneOf") && !text.contains("anyOf"));
}

#[test]
fn shipped_scenarios_are_valid_under_it() {
    let schema: Value = serde_json::from_str(&healbench_scenarios::schema_json()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    for scenario in crate::quickstart() {
        let value: Value = serde_saphyr::from_str(&scenario.source.text).unwrap();
        assert!(validator.is_valid(&value), "{}", scenario.id);
    }
}
