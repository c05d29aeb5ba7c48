//! Declared arguments with values that the schema rejects.

use healbench_engine::definition::Rule;
use serde_json::{Value, json};

use super::near::{in_words, lookalikes};
use super::{Change, Edit, Fixed, Inapplicable, Plan, Target};

/// Gathers what `candidates` proposes for each declared argument of the call and keeps what the schema rejects.
fn wrong_values(
    target: &Target<'_>,
    fixed: &Fixed,
    needs: &str,
    applies: impl Fn(&Value, &Value) -> bool,
    candidates: impl Fn(&Value, &Value) -> Vec<Value>,
) -> Result<Plan, Inapplicable> {
    if let Some(field) = &fixed.field {
        let Some(value) = target.arguments.get(field) else {
            return Err(Inapplicable::field(format!("the call has no argument `{field}`")));
        };
        if !applies(target.schema(field), value) {
            return Err(Inapplicable::field(format!("`{field}` is not {needs}")));
        }
    }
    let mut fields: Vec<Vec<Change>> = Vec::new();
    for (name, schema) in target.properties() {
        let Some(right) = target.arguments.get(name) else { continue };
        if fixed.field.as_ref().is_some_and(|field| field != name) || !applies(schema, right) {
            continue;
        }
        let proposed = match &fixed.value {
            Some(value) => vec![value.clone()],
            None => candidates(schema, right),
        };
        let wrong = proposed.into_iter().filter(|value| value != right && target.rejects(name, value));
        let changes: Vec<Change> = wrong.map(|value| vec![Edit::Set(name.to_owned(), value)]).collect();
        if !changes.is_empty() {
            fields.push(changes);
        }
    }
    if !fields.is_empty() {
        return Ok(Plan { fields });
    }
    Err(match (&fixed.value, &fixed.field) {
        (Some(value), _) => Inapplicable::value(format!("{value} is valid here, so sending it is no mistake")),
        (None, Some(field)) => Inapplicable::field(format!("the schema accepts any value for `{field}`")),
        (None, None) => Inapplicable::kind(format!("no argument of the call is {needs}")),
    })
}

pub(super) fn wrong_type(target: &Target<'_>, fixed: &Fixed) -> Result<Plan, Inapplicable> {
    let typed = |_: &Value, right: &Value| !right.is_null();
    wrong_values(target, fixed, "of a type that could be wrong", typed, |_, right| other_types(right))
}

fn other_types(right: &Value) -> Vec<Value> {
    match right {
        Value::Number(number) => {
            let digits = number.to_string();
            let mut texts = vec![format!("about {digits}"), format!("{digits} units")];
            if let Some(n) = number.as_u64() {
                texts.push(in_words(n));
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
            let texts: Vec<String> = items.iter().map(plain).collect();
            vec![json!(texts.join(", ")), json!(texts.join(" and "))]
        }
        Value::Object(_) => vec![json!(right.to_string()), json!([right])],
        Value::Null => Vec::new(),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(super) fn wrong_enum(target: &Target<'_>, fixed: &Fixed) -> Result<Plan, Inapplicable> {
    if let Some(plan) = against_a_rule(target, fixed) {
        return plan;
    }
    let listed = |schema: &Value, _: &Value| schema["enum"].is_array() || schema["items"]["enum"].is_array();
    wrong_values(target, fixed, "restricted to listed values (`enum`)", listed, |schema, right| {
        let Some(options) = schema["enum"].as_array() else {
            let Some((first, rest)) = right.as_array().and_then(|items| items.split_first()) else { return Vec::new() };
            let wrong = outside(&schema["items"]["enum"], first);
            return wrong
                .into_iter()
                .map(|value| std::iter::once(value).chain(rest.iter().cloned()).collect())
                .collect();
        };
        outside(&Value::from(options.clone()), right)
    })
}

/// The same where the schema leaves an argument open and a rule names its options; `None` where that is not so.
fn against_a_rule(target: &Target<'_>, fixed: &Fixed) -> Option<Result<Plan, Inapplicable>> {
    let ruled = target.action.rules.iter().find_map(|rule| match rule {
        Rule::Allow { argument, options, .. } => {
            let open = target.schema(argument)["enum"].is_null();
            let meant = fixed.field.as_ref().is_none_or(|field| field == argument);
            (open && meant).then_some((argument, options))
        }
        _ => None,
    });
    let (argument, options) = ruled?;
    let right = target.arguments.get(argument)?;
    let proposed = match &fixed.value {
        Some(value) if options.contains(value) => {
            return Some(Err(Inapplicable::value(format!("{value} is valid here, so sending it is no mistake"))));
        }
        Some(value) => vec![value.clone()],
        None => outside(&Value::from(options.clone()), right),
    };
    // What the schema rejects would fail before the rule is asked.
    let wrong = proposed.into_iter().filter(|value| !target.rejects(argument, value));
    let changes: Vec<Change> = wrong.map(|value| vec![Edit::Set(argument.clone(), value)]).collect();
    (!changes.is_empty()).then_some(Ok(Plan { fields: vec![changes] }))
}

/// Plausible values that are none of the options.
fn outside(options: &Value, right: &Value) -> Vec<Value> {
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
        // Every other spelling is an option too.
        return [json!("other"), json!("default")].into_iter().filter(|value| !is_option(value)).collect();
    }
    wrong
}

const BOUNDS: [&str; 8] =
    ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"];

pub(super) fn out_of_range(target: &Target<'_>, fixed: &Fixed) -> Result<Plan, Inapplicable> {
    let bounded = |schema: &Value, _: &Value| BOUNDS.iter().any(|bound| !schema[bound].is_null());
    wrong_values(target, fixed, "bounded (`minimum`, `maxLength`, …)", bounded, past_the_bound)
}

/// The longest text or list that a mistake makes.
const LONGEST: usize = 4_096;

fn past_the_bound(schema: &Value, right: &Value) -> Vec<Value> {
    let whole = |bound: &str| schema[bound].as_i64().or_else(|| schema[bound].as_f64().map(|n| n as i64));
    let size = |bound: &str| schema[bound].as_u64().and_then(|n| usize::try_from(n).ok());
    let mut out = Vec::new();
    match right {
        Value::Number(number) => {
            for low in [whole("minimum"), whole("exclusiveMinimum")].into_iter().flatten() {
                let steps = [1, 5, 100];
                out.extend(steps.iter().map(|step| json!(low.saturating_sub(*step))));
                out.push(json!(number.as_i64().unwrap_or(1).saturating_neg()));
            }
            for high in [whole("maximum"), whole("exclusiveMaximum")].into_iter().flatten() {
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
            if let Some(longest) = size("maxLength").filter(|longest| *longest < LONGEST) {
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
            if let Some(most) = size("maxItems").filter(|most| *most < LONGEST) {
                out.push(items.iter().cycle().take(most + 1).cloned().collect());
            }
        }
        _ => {}
    }
    out
}

pub(super) fn bad_format(target: &Target<'_>, fixed: &Fixed) -> Result<Plan, Inapplicable> {
    let formed = |schema: &Value, right: &Value| {
        right.is_string() && (schema["format"].is_string() || schema["pattern"].is_string())
    };
    wrong_values(target, fixed, "a text with a `format` or a `pattern`", formed, |schema, right| {
        let right = right.as_str().unwrap_or_default();
        misformed(schema["format"].as_str().unwrap_or_default(), right).into_iter().map(Value::from).collect()
    })
}

fn misformed(format: &str, right: &str) -> Vec<String> {
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
