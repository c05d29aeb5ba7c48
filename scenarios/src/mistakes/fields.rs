//! Missing, invented and misspelled arguments.

use healbench_core::ValuePath;
use serde_json::{Value, json};

use super::similar::typos;
use super::{Edit, InapplicableMistake, MistakeParams, MutationPlan, Target, reject_params};

pub(super) fn missing(target: &Target<'_>, params: &MistakeParams) -> Result<MutationPlan, InapplicableMistake> {
    if params.value.is_some() {
        return Err(InapplicableMistake::value("`missing` takes no value"));
    }
    if let Some(field) = &params.field {
        if let Some(planned) = missing_inside(target, field) {
            return planned;
        }
        if !target.arguments.contains_key(field) {
            return Err(InapplicableMistake::field(format!("the call has no argument `{field}`")));
        }
        if !target.is_required(field) {
            return Err(InapplicableMistake::field(format!(
                "`{field}` is not required, so leaving it out is no mistake"
            )));
        }
    }
    let names = target.arguments.keys().filter(|name| target.is_required(name));
    let fields: Vec<_> = names
        .filter(|name| params.field.as_ref().is_none_or(|field| field == *name))
        .map(|name| vec![vec![Edit::Remove(name.clone())]])
        .collect();
    match fields.is_empty() {
        true => Err(InapplicableMistake::kind("the call has no required argument")),
        false => Ok(MutationPlan { fields }),
    }
}

/// Plans that a member inside of an argument is left out; `None` if the field is no path into one.
fn missing_inside(target: &Target<'_>, field: &str) -> Option<Result<MutationPlan, InapplicableMistake>> {
    let path = ValuePath::parse(field).ok().filter(|path| !path.is_name() && !target.arguments.contains_key(field))?;
    let mut arguments = target.arguments.clone();
    let is_removed = path.remove(&mut arguments).is_some();
    Some(match is_removed && !target.validator.is_valid(&Value::Object(arguments)) {
        true => Ok(MutationPlan::of_mutation(vec![Edit::Remove(field.to_owned())])),
        false if is_removed => {
            Err(InapplicableMistake::field(format!("`{field}` is not required, so leaving it out is no mistake")))
        }
        false => Err(InapplicableMistake::field(format!("the call has no value `{field}`"))),
    })
}

pub(super) fn missing_all(target: &Target<'_>, params: &MistakeParams) -> Result<MutationPlan, InapplicableMistake> {
    reject_params("missing_all", params)?;
    match target.arguments.keys().any(|name| target.is_required(name)) {
        true => Ok(MutationPlan::of_mutation(vec![Edit::Clear(target.tool.discriminator.clone())])),
        false => Err(InapplicableMistake::kind("the call has no required argument")),
    }
}

pub(super) fn missing_longest(
    target: &Target<'_>,
    params: &MistakeParams,
) -> Result<MutationPlan, InapplicableMistake> {
    reject_params("missing_longest", params)?;
    let required = target.arguments.iter().filter(|(name, _)| target.is_required(name));
    let longest = required.max_by_key(|(_, value)| value.to_string().len());
    let (name, _) = longest.ok_or_else(|| InapplicableMistake::kind("the call has no required argument"))?;
    Ok(MutationPlan::of_mutation(vec![Edit::Remove(name.clone())]))
}

/// Returns arguments that agents may invent because other systems have them.
fn plausible_fields() -> [(&'static str, Value); 12] {
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

pub(super) fn hallucinated(target: &Target<'_>, params: &MistakeParams) -> Result<MutationPlan, InapplicableMistake> {
    let is_free = |name: &str| target.schema(name).is_null() && target.tool.discriminator.as_deref() != Some(name);
    let pool: Vec<(String, Value)> = match &params.field {
        Some(field) if !is_free(field) => {
            return Err(InapplicableMistake::field(format!("`{field}` is declared, so sending it is no mistake")));
        }
        Some(field) => {
            let known = plausible_fields().into_iter().find(|(name, _)| name == field).map(|(_, value)| value);
            vec![(field.clone(), known.unwrap_or_else(|| json!("as discussed")))]
        }
        None => plausible_fields().into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    };
    let free = pool.into_iter().filter(|(name, _)| is_free(name));
    let fields: Vec<_> =
        free.map(|(name, value)| vec![vec![Edit::Add(name, params.value.clone().unwrap_or(value))]]).collect();
    match fields.is_empty() {
        true => Err(InapplicableMistake::kind("every name that would be made up is declared; name a `field`")),
        false => Ok(MutationPlan { fields }),
    }
}

pub(super) fn misspelled(target: &Target<'_>, params: &MistakeParams) -> Result<MutationPlan, InapplicableMistake> {
    if let Some(field) = &params.field
        && !target.arguments.contains_key(field)
    {
        return Err(InapplicableMistake::field(format!("the call has no argument `{field}`")));
    }
    let is_free = |name: &str| {
        target.schema(name).is_null()
            && !target.arguments.contains_key(name)
            && target.tool.discriminator.as_deref() != Some(name)
    };
    let named = match &params.value {
        None => None,
        Some(Value::String(name)) if is_free(name) => Some(name),
        Some(Value::String(name)) => {
            return Err(InapplicableMistake::value(format!("`{name}` is declared, so it is no misspelling")));
        }
        Some(_) => {
            return Err(InapplicableMistake::value(
                "the value of `misspelled_field` has to be a text: the misspelled name",
            ));
        }
    };
    let mut fields = Vec::new();
    for name in target.arguments.keys().filter(|name| params.field.as_ref().is_none_or(|field| field == *name)) {
        let wrong = named.map_or_else(|| typos(name), |wrong| vec![wrong.clone()]);
        let rename = |to: String| vec![Edit::Rename { from: name.clone(), to }];
        let mutations: Vec<_> = wrong.into_iter().filter(|wrong| is_free(wrong)).map(rename).collect();
        if !mutations.is_empty() {
            fields.push(mutations);
        }
    }
    match fields.is_empty() {
        true => Err(InapplicableMistake::kind("the call has no argument to misspell")),
        false => Ok(MutationPlan { fields }),
    }
}
