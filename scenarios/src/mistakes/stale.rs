//! Calls that follow a contract that has changed.

use healbench_core::Object;
use healbench_text::compared_part;
use serde_json::{Value, json};

use super::{Edit, InapplicableMistake, MistakeParams, MutationPlan, Target, reject_params};

/// The smallest Jaro-Winkler similarity of an argument's names before and after a rename.
const MIN_SIMILARITY: f64 = 0.75;

pub(super) fn stale_contract(target: &Target<'_>, params: &MistakeParams) -> Result<MutationPlan, InapplicableMistake> {
    reject_params("stale_contract", params)?;
    if target.tool.previous.is_none() {
        let help = match target.on_server {
            true => {
                "name an earlier list of the server in `tools_file_before`, in which the tool is another one; \
                 `old_tool_name` is for a tool that had another name"
            }
            false => "say in `previous` of the tool what was different",
        };
        let reason = format!("`{}` has no `previous` contract", target.tool.name);
        return Err(InapplicableMistake::kind(reason).help(help.to_owned()));
    }
    let Some(previous) = target.previous else {
        let reason = format!("the previous contract has no action `{}`", target.action.name);
        return Err(InapplicableMistake::kind(reason));
    };
    let previous_arguments = arguments_for_previous(target.arguments, &previous.input);
    let old_tool = target.tool.previous_name();
    let renamed = previous.name != target.action.name;
    let undeclared = previous_arguments.keys().any(|name| target.schema(name).is_null());
    let is_known = old_tool.is_none() && !renamed;
    if is_known && !undeclared && target.validator.is_valid(&Value::Object(previous_arguments.clone())) {
        return Err(InapplicableMistake::kind(
            "the current contract accepts the call of the previous one, so sending it is no mistake",
        ));
    }
    let mut edits: Vec<Edit> = old_tool.map(|name| Edit::Tool(name.to_owned())).into_iter().collect();
    if let (true, Some(discriminator)) = (renamed, &target.tool.discriminator) {
        edits.push(Edit::Set(discriminator.clone(), previous.name.clone().into()));
    }
    let removed = target.arguments.keys().filter(|name| !previous_arguments.contains_key(*name));
    edits.extend(removed.map(|name| Edit::Remove(name.clone())));
    let set = previous_arguments.iter().filter(|(name, value)| target.arguments.get(*name) != Some(*value));
    edits.extend(set.map(|(name, value)| Edit::Set(name.clone(), value.clone())));
    Ok(MutationPlan::of_mutation(edits))
}

/// Returns the arguments that an agent would send if it knew only the previous schema.
fn arguments_for_previous(arguments: &Object, previous: &Value) -> Object {
    let declared = previous["properties"].as_object();
    let required =
        |name: &str| previous["required"].as_array().is_some_and(|required| required.iter().any(|item| item == name));
    let mut out = Object::new();
    for (name, schema) in declared.into_iter().flatten() {
        let value = match arguments.get(name) {
            Some(value) => Some(coerce_to_schema(value, schema)),
            None => renamed_from(arguments, declared, name).map(|value| coerce_to_schema(value, schema)),
        };
        if let Some(value) = value.or_else(|| required(name).then(|| placeholder_value(schema))) {
            out.insert(name.clone(), value);
        }
    }
    out
}

/// Returns the value of the argument that probably had the given name in the previous schema.
fn renamed_from<'a>(arguments: &'a Object, declared: Option<&Object>, name: &str) -> Option<&'a Value> {
    let is_new = |argument: &str| declared.is_none_or(|declared| !declared.contains_key(argument));
    let similarity = |argument: &str| strsim::jaro_winkler(compared_part(argument), compared_part(name));
    let candidates =
        arguments.iter().filter(|(argument, _)| is_new(argument) && similarity(argument) >= MIN_SIMILARITY);
    candidates.max_by(|a, b| similarity(a.0).total_cmp(&similarity(b.0))).map(|(_, value)| value)
}

/// Converts a value to the type of the previous schema, or to the most similar of its options.
fn coerce_to_schema(value: &Value, schema: &Value) -> Value {
    if let Some(options) = schema["enum"].as_array() {
        if options.contains(value) {
            return value.clone();
        }
        let text = plain_text(value).to_lowercase();
        let distance = |option: &&Value| {
            strsim::levenshtein(compared_part(&plain_text(option).to_lowercase()), compared_part(&text))
        };
        return options.iter().min_by_key(distance).cloned().unwrap_or_else(|| value.clone());
    }
    match (schema["type"].as_str(), value) {
        (Some("string"), Value::Number(_) | Value::Bool(_)) => json!(plain_text(value)),
        (Some("string"), Value::Array(items)) => json!(items.iter().map(plain_text).collect::<Vec<_>>().join(", ")),
        (Some("integer" | "number"), Value::String(text)) => {
            parse_number(text).unwrap_or_else(|| placeholder_value(schema))
        }
        (Some("integer"), Value::Number(number)) if number.is_f64() => {
            json!(number.as_f64().unwrap_or_default().round() as i64)
        }
        (Some("boolean"), Value::String(text)) => json!(!matches!(text.as_str(), "" | "no" | "false" | "none" | "off")),
        (Some("array"), single) if !single.is_array() => json!([single]),
        _ => value.clone(),
    }
}

fn parse_number(text: &str) -> Option<Value> {
    let digits: String = text.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
    digits.parse::<i64>().map(Value::from).ok().or_else(|| digits.parse::<f64>().map(Value::from).ok())
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a value for an argument that only the previous schema requires.
fn placeholder_value(schema: &Value) -> Value {
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
