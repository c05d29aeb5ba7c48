//! Values of declared arguments that the schema rejects.

use healbench_engine::definition::Rule;
use serde_json::{Value, json};

use super::similar::{lookalikes, number_words};
use super::{Edit, InapplicableMistake, MistakeParams, Mutation, MutationPlan, Place, Target};
use crate::suggest;

/// Plans the values that `candidates` returns for each declared argument of the call and that the schema rejects; for one that the
/// call leaves out if the mistake names it.
pub(super) fn wrong_values(
    target: &Target<'_>,
    params: &MistakeParams,
    needs: &str,
    applies: impl Fn(&Value, &Value) -> bool,
    candidates: impl Fn(&Value, &Value) -> Vec<Value>,
) -> Result<MutationPlan, InapplicableMistake> {
    let places = target.places(params.field.as_ref());
    // Without an example of the right value only the schema can say what is wrong.
    let is_unknown = |place: &Place<'_>| place.is_left_out && place.right.is_null();
    let is_meant =
        |place: &Place<'_>| applies(place.schema, &place.right) || is_unknown(place) && params.value.is_some();
    if let Some(field) = &params.field {
        match places.first() {
            None => return Err(InapplicableMistake::field(format!("the call has no argument `{field}`"))),
            Some(place) if is_unknown(place) && params.value.is_none() => {
                let help = "give the `value` that is sent".to_owned();
                let reason = format!("the call leaves `{field}` out, and no right value of it is known");
                return Err(InapplicableMistake::field(reason).help(help));
            }
            Some(place) if !is_meant(place) => {
                let others = target.places(None).into_iter().chain(target.all_left_out());
                let help = fitting(others, &applies).map(|names| format!("it can happen to {names}"));
                return Err(InapplicableMistake::field(format!("`{field}` is not {needs}")).help(help));
            }
            Some(_) => {}
        }
    }
    let mut fields: Vec<Vec<Mutation>> = Vec::new();
    for place in places.iter().filter(|place| is_meant(place)) {
        let proposed = match &params.value {
            Some(value) => vec![value.clone()],
            None => candidates(place.schema, &place.right),
        };
        let wrong = proposed.into_iter().filter(|value| *value != *place.right && target.rejects(place.name, value));
        let mutations: Vec<Mutation> = wrong.map(|value| vec![place.edit(value)]).collect();
        if !mutations.is_empty() {
            fields.push(mutations);
        }
    }
    if !fields.is_empty() {
        return Ok(MutationPlan { fields });
    }
    Err(match (&params.value, &params.field) {
        (Some(value), _) => InapplicableMistake::value(format!("{value} is valid here, so sending it is no mistake")),
        (None, Some(field)) => InapplicableMistake::field(format!("the schema accepts any value for `{field}`")),
        (None, None) => {
            let help = fitting(target.all_left_out(), &applies);
            let help = help.map(|names| format!("name one that it leaves out as `field`: {names}"));
            InapplicableMistake::kind(format!("no argument of the call is {needs}")).help(help)
        }
    })
}

/// Lists the places that a kind applies to.
fn fitting<'t>(places: impl Iterator<Item = Place<'t>>, applies: impl Fn(&Value, &Value) -> bool) -> Option<String> {
    let names: Vec<&str> = places.filter(|place| applies(place.schema, &place.right)).map(|place| place.name).collect();
    (!names.is_empty()).then(|| suggest::list(&names))
}

pub(super) fn wrong_type(target: &Target<'_>, params: &MistakeParams) -> Result<MutationPlan, InapplicableMistake> {
    let typed = |_: &Value, right: &Value| !right.is_null();
    wrong_values(target, params, "of a type that could be wrong", typed, |_, right| other_types(right))
}

fn other_types(right: &Value) -> Vec<Value> {
    match right {
        Value::Number(number) => {
            let digits = number.to_string();
            let mut texts = vec![format!("about {digits}"), format!("{digits} units")];
            if let Some(n) = number.as_u64() {
                texts.push(number_words(n));
            }
            texts.into_iter().map(Value::from).collect()
        }
        Value::String(text) => {
            let digits: String = text.chars().filter(char::is_ascii_digit).take(15).collect();
            let number: u64 = digits.parse().unwrap_or(text.chars().count() as u64);
            vec![json!(number), json!([text]), json!({"value": text})]
        }
        Value::Bool(true) => vec![json!("yes"), json!("enabled"), json!(1)],
        Value::Bool(false) => vec![json!("no"), json!("disabled"), json!(0)],
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().map(plain_text).collect();
            vec![json!(texts.join(", ")), json!(texts.join(" and "))]
        }
        Value::Object(_) => vec![json!(right.to_string()), json!([right])],
        Value::Null => Vec::new(),
    }
}

pub(super) fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(super) fn wrong_enum(target: &Target<'_>, params: &MistakeParams) -> Result<MutationPlan, InapplicableMistake> {
    if let Some(plan) = plan_against_rule(target, params) {
        return plan;
    }
    let listed = |schema: &Value, _: &Value| schema["enum"].is_array() || schema["items"]["enum"].is_array();
    wrong_values(target, params, "restricted to listed values (`enum`)", listed, |schema, right| {
        let Some(options) = schema["enum"].as_array() else {
            let Some((first, rest)) = right.as_array().and_then(|items| items.split_first()) else { return Vec::new() };
            let wrong = values_not_in(&schema["items"]["enum"], first);
            return wrong
                .into_iter()
                .map(|value| std::iter::once(value).chain(rest.iter().cloned()).collect())
                .collect();
        };
        values_not_in(&Value::from(options.clone()), right)
    })
}

/// Same as [`wrong_enum`] for an argument without an `enum` whose options are listed in a rule. Returns `None` if there
/// is no such argument.
fn plan_against_rule(target: &Target<'_>, params: &MistakeParams) -> Option<Result<MutationPlan, InapplicableMistake>> {
    let allow_rule = target.action.rules.iter().find_map(|rule| match rule {
        Rule::Allow { argument, options, .. } => {
            let is_open = target.schema(argument)["enum"].is_null();
            let is_selected = params.field.as_ref().is_none_or(|field| field == argument);
            (is_open && is_selected).then_some((argument, options))
        }
        _ => None,
    });
    let (argument, options) = allow_rule?;
    let left_out = || params.field.as_ref().and_then(|_| target.left_out(argument)).and_then(|_| options.first());
    let right = target.arguments.get(argument).or_else(left_out)?;
    let proposed = match &params.value {
        Some(value) if options.contains(value) => {
            return Some(Err(InapplicableMistake::value(format!(
                "{value} is valid here, so sending it is no mistake"
            ))));
        }
        Some(value) => vec![value.clone()],
        None => values_not_in(&Value::from(options.clone()), right),
    };
    // A value that the schema rejects would fail before the rule is checked.
    let wrong = proposed.into_iter().filter(|value| !target.rejects(argument, value));
    let mutations: Vec<Mutation> = wrong.map(|value| vec![Edit::Set(argument.clone(), value)]).collect();
    (!mutations.is_empty()).then_some(Ok(MutationPlan::of_field(mutations)))
}

/// Returns plausible values that are not among the options.
fn values_not_in(options: &Value, right: &Value) -> Vec<Value> {
    let proposed: Vec<Value> = match right {
        Value::String(text) => lookalikes(text).into_iter().map(Value::from).collect(),
        Value::Number(number) => {
            let n = number.as_i64().unwrap_or(0);
            [1, -1, 2, 10, 100].iter().map(|step| json!(n.saturating_add(*step))).collect()
        }
        _ => Vec::new(),
    };
    let is_option = |value: &Value| options.as_array().is_some_and(|options| options.contains(value));
    let wrong: Vec<Value> = proposed.into_iter().filter(|value| !is_option(value)).collect();
    if wrong.is_empty() {
        // All alternative spellings are options too.
        return [json!("other"), json!("default")].into_iter().filter(|value| !is_option(value)).collect();
    }
    wrong
}

const BOUNDS: [&str; 8] =
    ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"];

pub(super) fn out_of_range(target: &Target<'_>, params: &MistakeParams) -> Result<MutationPlan, InapplicableMistake> {
    let bounded = |schema: &Value, _: &Value| BOUNDS.iter().any(|bound| !schema[bound].is_null());
    wrong_values(target, params, "bounded (`minimum`, `maxLength`, …)", bounded, out_of_range_values)
}

/// The largest length bound that a mistake exceeds, so that no very long texts or lists are generated.
const MAX_LENGTH: usize = 4_096;

fn out_of_range_values(schema: &Value, right: &Value) -> Vec<Value> {
    let integer = |bound: &str| schema[bound].as_i64().or_else(|| schema[bound].as_f64().map(|n| n as i64));
    let size = |bound: &str| schema[bound].as_u64().and_then(|n| usize::try_from(n).ok());
    let mut out = Vec::new();
    match right {
        Value::Number(number) => {
            for low in [integer("minimum"), integer("exclusiveMinimum")].into_iter().flatten() {
                let steps = [1, 5, 100];
                out.extend(steps.iter().map(|step| json!(low.saturating_sub(*step))));
                out.push(json!(number.as_i64().unwrap_or(1).saturating_neg()));
            }
            for high in [integer("maximum"), integer("exclusiveMaximum")].into_iter().flatten() {
                out.extend([high.saturating_add(1), high.saturating_mul(2), high.saturating_mul(10)].map(|n| json!(n)));
            }
            if let (Some(low), false) = (schema["exclusiveMinimum"].as_i64(), out.is_empty()) {
                out.push(json!(low));
            }
        }
        Value::String(text) => {
            if let Some(shortest) = size("minLength") {
                out.push(json!(text.chars().take(shortest.saturating_sub(1)).collect::<String>()));
                out.push(json!(""));
            }
            if let Some(longest) = size("maxLength").filter(|longest| *longest < MAX_LENGTH) {
                let filler = format!("{text}, as discussed with everyone involved. ");
                for extra in [1, 20, 200] {
                    out.push(json!(filler.chars().cycle().take(longest + extra).collect::<String>()));
                }
            }
        }
        Value::Array(items) => {
            if let Some(fewest) = size("minItems") {
                out.push(items.iter().take(fewest.saturating_sub(1)).cloned().collect());
            }
            if let Some(most) = size("maxItems").filter(|most| *most < MAX_LENGTH) {
                out.push(items.iter().cycle().take(most + 1).cloned().collect());
            }
        }
        _ => {}
    }
    out
}

pub(super) fn bad_format(target: &Target<'_>, params: &MistakeParams) -> Result<MutationPlan, InapplicableMistake> {
    let has_format = |schema: &Value, right: &Value| {
        right.is_string() && (schema["format"].is_string() || schema["pattern"].is_string())
    };
    wrong_values(target, params, "a text with a `format` or a `pattern`", has_format, |schema, right| {
        let right = right.as_str().unwrap_or_default();
        malformed_texts(schema["format"].as_str().unwrap_or_default(), right).into_iter().map(Value::from).collect()
    })
}

fn malformed_texts(format: &str, right: &str) -> Vec<String> {
    let mut out: Vec<String> = match format {
        "date" => vec!["next Friday".into(), "end of the month".into(), right.replace('-', "/")],
        "date-time" => vec!["tomorrow at 3pm".into(), right.replace('T', " at "), "next Monday, 10:00".into()],
        "time" => vec!["3pm".into(), "noon".into()],
        "email" => vec![right.replace('@', " at "), right.split('@').next().unwrap_or_default().into()],
        "uri" | "uri-reference" => vec![right.replace("://", " "), "the usual page".into()],
        "uuid" => vec![right.replace('-', ""), right.chars().take(8).collect()],
        _ => Vec::new(),
    };
    if let [year, month, day] = right.split('-').collect::<Vec<_>>().as_slice() {
        out.push(format!("{month}/{day}/{year}"));
    }
    out.extend([
        right.to_lowercase(),
        right.to_uppercase(),
        format!("#{right}"),
        right.replace(['-', '_'], " "),
        right.chars().filter(|c| c.is_alphanumeric()).collect(),
    ]);
    let mut unique: Vec<String> = Vec::with_capacity(out.len());
    for text in out {
        if text != right && !unique.contains(&text) {
            unique.push(text);
        }
    }
    unique
}
