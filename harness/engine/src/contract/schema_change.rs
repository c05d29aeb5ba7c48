//! What a change of an input schema means for calls that were valid before.

use serde_json::Value;

use super::Severity;

/// How bad the change from `previous` to `current` is; `None` when they say the same.
///
/// BREAKING when a call that was valid may be rejected now, SAFE when the one change is that less is required, RISKY otherwise.
pub(super) fn severity_of_change(previous: &Value, current: &Value) -> Option<Severity> {
    if previous == current {
        return None;
    }
    Some(if rejects_more(previous, current, 0) {
        Severity::Breaking
    } else if without_required(previous) == without_required(current) {
        Severity::Safe
    } else {
        Severity::Risky
    })
}

/// Schemas nest as deep as their authors like; past this a change counts as breaking, which errs on the side of telling.
const MAX_DEPTH: usize = 64;

fn rejects_more(previous: &Value, current: &Value, depth: usize) -> bool {
    if previous == current {
        return false;
    }
    if depth > MAX_DEPTH {
        return true;
    }
    let (Some(before), Some(now)) = (previous.as_object(), current.as_object()) else { return true };
    // What cannot be compared by its parts is taken at its worst.
    let opaque = [
        "$ref",
        "$defs",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "const",
        "format",
        "patternProperties",
    ];
    if opaque.iter().any(|keyword| now.contains_key(*keyword) && before.get(*keyword) != now.get(*keyword)) {
        return true;
    }
    if types(current).is_some_and(|now| types(previous).is_none_or(|before| before.iter().any(|t| !admits(&now, t)))) {
        return true;
    }
    let required_now = list(current, "required");
    if required_now.iter().any(|name| !list(previous, "required").contains(name)) {
        return true;
    }
    if let Some(options) = now.get("enum").and_then(Value::as_array) {
        let narrowed = |before: &Vec<Value>| before.iter().any(|option| !options.contains(option));
        if before.get("enum").and_then(Value::as_array).is_none_or(narrowed) {
            return true;
        }
    }
    if tightened(previous, current) {
        return true;
    }
    let empty = serde_json::Map::new();
    let properties = |schema: &Value| schema.get("properties").and_then(Value::as_object).cloned();
    let before = properties(previous).unwrap_or_else(|| empty.clone());
    let now = properties(current).unwrap_or(empty);
    let changed = |(name, schema): (&String, &Value)| match now.get(name) {
        // Removed or renamed: under strict validation the old name is rejected.
        None => true,
        Some(current) => rejects_more(schema, current, depth + 1),
    };
    if before.iter().any(changed) {
        return true;
    }
    match (previous.get("items"), current.get("items")) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(before), Some(now)) => rejects_more(before, now, depth + 1),
    }
}

fn tightened(previous: &Value, current: &Value) -> bool {
    let number = |schema: &Value, keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    let lower = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
    let upper = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
    let raised = |keyword: &&str| match (number(previous, keyword), number(current, keyword)) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(before), Some(now)) => now > before,
    };
    let lowered = |keyword: &&str| match (number(previous, keyword), number(current, keyword)) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(before), Some(now)) => now < before,
    };
    let replaced = |keyword: &&str| current.get(*keyword).is_some() && previous.get(*keyword) != current.get(*keyword);
    lower.iter().any(raised)
        || upper.iter().any(lowered)
        || ["pattern", "multipleOf"].iter().any(replaced)
        || current.get("uniqueItems") == Some(&Value::Bool(true))
            && previous.get("uniqueItems") != Some(&Value::Bool(true))
        || current.get("additionalProperties") == Some(&Value::Bool(false))
            && previous.get("additionalProperties") != Some(&Value::Bool(false))
}

fn types(schema: &Value) -> Option<Vec<String>> {
    match schema.get("type")? {
        Value::String(name) => Some(vec![name.clone()]),
        Value::Array(names) => Some(names.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
        _ => None,
    }
}

fn admits(types: &[String], wanted: &str) -> bool {
    types.iter().any(|name| name == wanted || (name == "number" && wanted == "integer"))
}

fn list(schema: &Value, keyword: &str) -> Vec<String> {
    let names = schema.get(keyword).and_then(Value::as_array);
    names.map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect()).unwrap_or_default()
}

fn without_required(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        map.remove("required");
    }
    schema
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(previous: Value, current: Value) -> Option<Severity> {
        let object = |properties: Value| json!({"type": "object", "properties": {"a": properties}, "required": []});
        severity_of_change(&object(previous), &object(current))
    }

    #[test]
    fn a_call_that_may_be_rejected_now_is_breaking() {
        let breaking = [
            (json!({"type": "number"}), json!({"type": "string"})),
            (json!({"type": "number"}), json!({"type": "integer"})),
            (json!({"enum": ["a", "b"]}), json!({"enum": ["a"]})),
            (json!({"type": "string"}), json!({"enum": ["a"]})),
            (json!({"type": "integer", "minimum": 1}), json!({"type": "integer", "minimum": 2})),
            (json!({"type": "integer"}), json!({"type": "integer", "maximum": 2})),
            (json!({"type": "string"}), json!({"type": "string", "pattern": "^a"})),
            (json!({"type": "string"}), json!({"type": "string", "format": "email"})),
            (
                json!({"type": "array", "items": {"type": "number"}}),
                json!({"type": "array", "items": {"type": "string"}}),
            ),
        ];
        for (previous, current) in breaking {
            assert_eq!(change(previous.clone(), current.clone()), Some(Severity::Breaking), "{previous} -> {current}");
        }
        let field = |names: Value| json!({"properties": {"a": {}}, "required": names});
        assert_eq!(severity_of_change(&field(json!([])), &field(json!(["a"]))), Some(Severity::Breaking));
        assert_eq!(
            severity_of_change(&json!({"properties": {"a": {}}}), &json!({"properties": {"b": {}}})),
            Some(Severity::Breaking)
        );
    }

    #[test]
    fn a_wider_schema_is_risky_and_less_required_is_safe() {
        assert_eq!(change(json!({"enum": ["a"]}), json!({"enum": ["a", "b"]})), Some(Severity::Risky));
        assert_eq!(change(json!({"type": "integer"}), json!({"type": "number"})), Some(Severity::Risky));
        assert_eq!(change(json!({"minimum": 2}), json!({"minimum": 1})), Some(Severity::Risky));
        assert_eq!(
            severity_of_change(&json!({"properties": {}}), &json!({"properties": {"a": {}}})),
            Some(Severity::Risky)
        );
        let field = |names: Value| json!({"properties": {"a": {}}, "required": names});
        assert_eq!(severity_of_change(&field(json!(["a"])), &field(json!([]))), Some(Severity::Safe));
        assert_eq!(change(json!({"type": "string"}), json!({"type": "string"})), None);
    }
}
