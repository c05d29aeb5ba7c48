//! Arguments that are absent, made up, or under a wrong name.

use serde_json::{Value, json};

use super::near::typos;
use super::{Edit, Fixed, Inapplicable, Plan, Target};

pub(super) fn missing(target: &Target<'_>, fixed: &Fixed) -> Result<Plan, Inapplicable> {
    if fixed.value.is_some() {
        return Err(Inapplicable::value("`missing` takes no value"));
    }
    if let Some(field) = &fixed.field {
        if !target.arguments.contains_key(field) {
            return Err(Inapplicable::field(format!("the call has no argument `{field}`")));
        }
        if !target.is_required(field) {
            return Err(Inapplicable::field(format!("`{field}` is not required, so leaving it out is no mistake")));
        }
    }
    let names = target.arguments.keys().filter(|name| target.is_required(name));
    let fields: Vec<_> = names
        .filter(|name| fixed.field.as_ref().is_none_or(|field| field == *name))
        .map(|name| vec![vec![Edit::Remove(name.clone())]])
        .collect();
    match fields.is_empty() {
        true => Err(Inapplicable::kind("the call has no required argument")),
        false => Ok(Plan { fields }),
    }
}

/// What agents add because other systems have it.
fn made_up() -> [(&'static str, Value); 12] {
    [
        ("customer_email", json!("billing@acme.example")),
        ("priority", json!("high")),
        ("internal_notes", json!("Requested in chat.")),
        ("created_by", json!("assistant")),
        ("notify", json!(true)),
        ("tags", json!(["from-chat"])),
        ("description", json!("Created on request.")),
        ("dry_run", json!(false)),
        ("reference", json!("REQ-1")),
        ("comment", json!("As asked.")),
        ("source", json!("chat")),
        ("metadata", json!({"channel": "chat"})),
    ]
}

pub(super) fn hallucinated(target: &Target<'_>, fixed: &Fixed) -> Result<Plan, Inapplicable> {
    let is_free = |name: &str| target.schema(name).is_null() && target.tool.discriminator.as_deref() != Some(name);
    let pool: Vec<(String, Value)> = match &fixed.field {
        Some(field) if !is_free(field) => {
            return Err(Inapplicable::field(format!("`{field}` is declared, so sending it is no mistake")));
        }
        Some(field) => {
            let known = made_up().into_iter().find(|(name, _)| name == field).map(|(_, value)| value);
            vec![(field.clone(), known.unwrap_or_else(|| json!("as discussed")))]
        }
        None => made_up().into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    };
    let free = pool.into_iter().filter(|(name, _)| is_free(name));
    let fields: Vec<_> =
        free.map(|(name, value)| vec![vec![Edit::Set(name, fixed.value.clone().unwrap_or(value))]]).collect();
    match fields.is_empty() {
        true => Err(Inapplicable::kind("every name that would be made up is declared; name a `field`")),
        false => Ok(Plan { fields }),
    }
}

pub(super) fn misspelled(target: &Target<'_>, fixed: &Fixed) -> Result<Plan, Inapplicable> {
    if let Some(field) = &fixed.field
        && !target.arguments.contains_key(field)
    {
        return Err(Inapplicable::field(format!("the call has no argument `{field}`")));
    }
    let is_free = |name: &str| {
        target.schema(name).is_null()
            && !target.arguments.contains_key(name)
            && target.tool.discriminator.as_deref() != Some(name)
    };
    let named = match &fixed.value {
        None => None,
        Some(Value::String(name)) if is_free(name) => Some(name),
        Some(Value::String(name)) => {
            return Err(Inapplicable::value(format!("`{name}` is declared, so it is no misspelling")));
        }
        Some(_) => return Err(Inapplicable::value("the value of `misspelled_field` is the wrong name: a text")),
    };
    let mut fields = Vec::new();
    for name in target.arguments.keys().filter(|name| fixed.field.as_ref().is_none_or(|field| field == *name)) {
        let wrong = named.map_or_else(|| typos(name), |wrong| vec![wrong.clone()]);
        let rename = |to: String| vec![Edit::Rename { from: name.clone(), to }];
        let changes: Vec<_> = wrong.into_iter().filter(|wrong| is_free(wrong)).map(rename).collect();
        if !changes.is_empty() {
            fields.push(changes);
        }
    }
    match fields.is_empty() {
        true => Err(Inapplicable::kind("the call has no argument to misspell")),
        false => Ok(Plan { fields }),
    }
}
