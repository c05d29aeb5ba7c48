//! The call of a tool that should be right.

use healbench_engine::{upgrade_schema, valid_example, validate};
use serde_json::{Value, json};

use crate::places::with_small_numbers;
use crate::report::BaseSource;

/// The tokens of a success above which it should say how to get less.
pub(crate) const OVERSIZE_TOKENS: u32 = 10_000;

/// Returns the arguments of a tool's base call: those of the calls file, the first of the schema's `examples`, or generated
/// ones with the required fields only. `None` if none can be made.
pub(crate) fn arguments(declared: Option<&Value>, schema: &Value) -> Option<(Value, BaseSource)> {
    if let Some(arguments) = declared {
        return Some((arguments.clone(), BaseSource::CallsFile));
    }
    if let Some(example) = schema["examples"].get(0).filter(|example| example.is_object()) {
        return Some((example.clone(), BaseSource::Examples));
    }
    Some((generated(schema)?, BaseSource::Generated))
}

/// Returns arguments that a schema accepts, only the required ones if these are accepted alone.
fn generated(schema: &Value) -> Option<Value> {
    let schema = upgrade_schema(schema);
    let is_valid = |arguments: &Value| validate(&schema, arguments).is_ok_and(|issues| issues.is_empty());
    let nothing = json!({});
    if is_valid(&nothing) {
        return Some(nothing);
    }
    let all = valid_example(&schema)?;
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut necessary = all.clone();
    necessary.as_object_mut()?.retain(|name, _| required.contains(&name.as_str()));
    let arguments = if is_valid(&necessary) { necessary } else { all };
    Some(with_small_numbers(&schema, arguments, is_valid))
}
