//! Values of the right content in another shape: JSON as text, a text for a list, null, digits as text.

use serde_json::{Value, json};

use super::values::{plain_text, wrong_values};
use super::{Edit, InapplicableMistake, MistakeParams, MutationPlan, Target};

type Planned = Result<MutationPlan, InapplicableMistake>;

fn is_nested(_: &Value, right: &Value) -> bool {
    right.is_array() || right.is_object()
}

pub(super) fn json_text(target: &Target<'_>, params: &MistakeParams) -> Planned {
    wrong_values(target, params, "an object or a list", is_nested, |_, right| vec![json!(right.to_string())])
}

pub(super) fn broken_json(target: &Target<'_>, params: &MistakeParams) -> Planned {
    wrong_values(target, params, "an object or a list", is_nested, |_, right| {
        let text = right.to_string();
        // It breaks off within the last quarter, such as at the end of an answer that was too long.
        [1, 2, text.len() / 4]
            .map(|missing| text.len().saturating_sub(missing.max(1)))
            .into_iter()
            .filter_map(|end| text.get(..end).map(Value::from))
            .collect()
    })
}

pub(super) fn comma_text(target: &Target<'_>, params: &MistakeParams) -> Planned {
    let is_list = |_: &Value, right: &Value| right.as_array().is_some_and(|items| !items.iter().any(Value::is_object));
    wrong_values(target, params, "a list of plain values", is_list, |_, right| {
        let texts: Vec<String> = right.as_array().into_iter().flatten().map(plain_text).collect();
        vec![json!(texts.join(",")), json!(texts.join(", "))]
    })
}

pub(super) fn single_item(target: &Target<'_>, params: &MistakeParams) -> Planned {
    let has_items = |_: &Value, right: &Value| right.as_array().is_some_and(|items| !items.is_empty());
    wrong_values(target, params, "a list with elements", has_items, |_, right| vec![right[0].clone()])
}

pub(super) fn number_text(target: &Target<'_>, params: &MistakeParams) -> Planned {
    let is_number = |_: &Value, right: &Value| right.is_number() || as_number(right).is_some();
    wrong_values(target, params, "a number or a text of digits", is_number, |_, right| {
        vec![as_number(right).unwrap_or_else(|| json!(right.to_string()))]
    })
}

fn as_number(right: &Value) -> Option<Value> {
    // `nan` and `inf` are words.
    let text = right.as_str().filter(|text| text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()))?;
    text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<f64>().map(Value::from)).ok()
}

/// Null is sent for an argument of the call, or for one that the call leaves out.
pub(super) fn null_value(target: &Target<'_>, params: &MistakeParams) -> Planned {
    let left_out = |name: &str| !target.arguments.contains_key(name) && target.rejects(name, &Value::Null);
    let edit = |name: &str| vec![vec![Edit::Set(name.to_owned(), Value::Null)]];
    if let Some(field) = params.field.as_ref().filter(|field| !target.schema(field).is_null() && left_out(field)) {
        return Ok(MutationPlan { fields: vec![edit(field)] });
    }
    let planned = wrong_values(
        target,
        params,
        "a value that could be null",
        |_, right| !right.is_null(),
        |_, _| vec![Value::Null],
    );
    if params.field.is_some() {
        return planned;
    }
    let mut fields = planned.map(|plan| plan.fields).unwrap_or_default();
    fields.extend(target.properties().map(|(name, _)| name).filter(|name| left_out(name)).map(edit));
    match fields.is_empty() {
        true => Err(InapplicableMistake::kind("the schema accepts null everywhere")),
        false => Ok(MutationPlan { fields }),
    }
}
