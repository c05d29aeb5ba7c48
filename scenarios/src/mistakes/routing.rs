//! Mistakes in the discriminator, which selects the action of a call.

use serde_json::Value;

use super::similar::typos;
use super::{Edit, InapplicableMistake, MistakeKind, MistakeParams, MutationPlan, Target, reject_params};

pub(super) fn misspelled_action(
    target: &Target<'_>,
    params: &MistakeParams,
) -> Result<MutationPlan, InapplicableMistake> {
    let discriminator = discriminator(target)?;
    if params.field.is_some() {
        return Err(InapplicableMistake::field("`misspelled_action` takes no field"));
    }
    let is_action = |name: &str| target.tool.actions.iter().any(|action| action.name == name);
    let wrong = match &params.value {
        None => typos(&target.action.name),
        Some(Value::String(name)) if is_action(name) => {
            return Err(InapplicableMistake::value(format!("`{name}` is an action of `{}`", target.tool.name)));
        }
        Some(Value::String(name)) => vec![name.clone()],
        Some(_) => {
            return Err(InapplicableMistake::value(
                "the value of `misspelled_action` has to be a text: the misspelled name",
            ));
        }
    };
    let set = |name: String| vec![Edit::Set(discriminator.to_owned(), Value::String(name))];
    let mutations: Vec<_> = wrong.into_iter().filter(|name| !is_action(name)).map(set).collect();
    match mutations.is_empty() {
        true => Err(InapplicableMistake::kind("every typo of the action is itself an action")),
        false => Ok(MutationPlan::of_field(mutations)),
    }
}

pub(super) fn missing_discriminator(
    target: &Target<'_>,
    params: &MistakeParams,
) -> Result<MutationPlan, InapplicableMistake> {
    reject_params(MistakeKind::MissingDiscriminator, params)?;
    let discriminator = discriminator(target)?;
    Ok(MutationPlan::of_mutation(vec![Edit::Remove(discriminator.to_owned())]))
}

fn discriminator<'a>(target: &Target<'a>) -> Result<&'a str, InapplicableMistake> {
    let reason = || InapplicableMistake::kind(format!("`{}` has no discriminator", target.tool.name));
    target.tool.discriminator.as_deref().ok_or_else(reason)
}
