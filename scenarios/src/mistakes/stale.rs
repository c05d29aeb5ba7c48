//! Calls by a contract that has moved since.

use healbench_protocol::Object;
use serde_json::{Value, json};

use super::{Edit, Fixed, Inapplicable, MistakeKind, Plan, Target, nothing_fixed};

/// How alike the names of an argument before and after a rename are at least (Jaro-Winkler).
const ALIKE: f64 = 0.75;

pub(super) fn stale_contract(target: &Target<'_>, fixed: &Fixed) -> Result<Plan, Inapplicable> {
    nothing_fixed(MistakeKind::StaleContract, fixed)?;
    if target.tool.previous.is_none() {
        return Err(Inapplicable::kind(format!("`{}` has no `previous` contract", target.tool.name)));
    }
    let Some(previous) = target.previous else {
        let reason = format!("the previous contract has no action `{}`", target.action.name);
        return Err(Inapplicable::kind(reason));
    };
    let before = believed(target.arguments, &previous.input);
    let renamed = previous.name != target.action.name;
    let undeclared = before.keys().any(|name| target.schema(name).is_null());
    if !renamed && !undeclared && target.validator.is_valid(&Value::Object(before.clone())) {
        return Err(Inapplicable::kind("a call by the previous contract is still valid, so nothing goes wrong"));
    }
    let mut edits = Vec::new();
    if let (true, Some(discriminator)) = (renamed, &target.tool.discriminator) {
        edits.push(Edit::Set(discriminator.clone(), previous.name.clone().into()));
    }
    let gone = target.arguments.keys().filter(|name| !before.contains_key(*name));
    edits.extend(gone.map(|name| Edit::Remove(name.clone())));
    let set = before.iter().filter(|(name, value)| target.arguments.get(*name) != Some(*value));
    edits.extend(set.map(|(name, value)| Edit::Set(name.clone(), value.clone())));
    Ok(Plan { fields: vec![vec![edits]] })
}

/// The arguments as somebody gives them who knows only the previous schema.
fn believed(arguments: &Object, previous: &Value) -> Object {
    let declared = previous["properties"].as_object();
    let required =
        |name: &str| previous["required"].as_array().is_some_and(|required| required.iter().any(|item| item == name));
    let mut out = Object::new();
    for (name, schema) in declared.into_iter().flatten() {
        let value = match arguments.get(name) {
            Some(value) => Some(as_was(value, schema)),
            None => renamed_from(arguments, declared, name).map(|value| as_was(value, schema)),
        };
        if let Some(value) = value.or_else(|| required(name).then(|| made_up(schema))) {
            out.insert(name.clone(), value);
        }
    }
    out
}

/// The value of an argument that the previous schema had under a similar name.
fn renamed_from<'a>(arguments: &'a Object, declared: Option<&Object>, name: &str) -> Option<&'a Value> {
    let is_new = |argument: &str| declared.is_none_or(|declared| !declared.contains_key(argument));
    let alike = |argument: &str| strsim::jaro_winkler(argument, name);
    let candidates = arguments.iter().filter(|(argument, _)| is_new(argument) && alike(argument) >= ALIKE);
    candidates.max_by(|a, b| alike(a.0).total_cmp(&alike(b.0))).map(|(_, value)| value)
}

/// The value in the type, or among the options, of the previous schema.
fn as_was(value: &Value, schema: &Value) -> Value {
    if let Some(options) = schema["enum"].as_array() {
        if options.contains(value) {
            return value.clone();
        }
        let text = plain(value).to_lowercase();
        let distance = |option: &&Value| strsim::levenshtein(&plain(option).to_lowercase(), &text);
        return options.iter().min_by_key(distance).cloned().unwrap_or_else(|| value.clone());
    }
    match (schema["type"].as_str(), value) {
        (Some("string"), Value::Number(_) | Value::Bool(_)) => json!(plain(value)),
        (Some("string"), Value::Array(items)) => json!(items.iter().map(plain).collect::<Vec<_>>().join(", ")),
        (Some("integer" | "number"), Value::String(text)) => number_in(text).unwrap_or_else(|| made_up(schema)),
        (Some("integer"), Value::Number(number)) if number.is_f64() => {
            json!(number.as_f64().unwrap_or_default().round() as i64)
        }
        (Some("boolean"), Value::String(text)) => json!(!matches!(text.as_str(), "" | "no" | "false" | "none" | "off")),
        (Some("array"), single) if !single.is_array() => json!([single]),
        _ => value.clone(),
    }
}

fn number_in(text: &str) -> Option<Value> {
    let digits: String = text.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
    digits.parse::<i64>().map(Value::from).ok().or_else(|| digits.parse::<f64>().map(Value::from).ok())
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A value for an argument that is required by the previous schema and unknown today.
fn made_up(schema: &Value) -> Value {
    let given = [&schema["default"], &schema["examples"][0], &schema["enum"][0], &schema["const"]];
    if let Some(value) = given.into_iter().find(|value| !value.is_null()) {
        return value.clone();
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => {
            schema["minimum"].as_f64().map_or_else(|| json!(1), |low| json!(low.ceil() as i64))
        }
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("default"),
    }
}
