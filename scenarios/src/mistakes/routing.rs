//! Calls that do not reach their action.

use serde_json::Value;

use super::near::typos;
use super::{Edit, Fixed, Inapplicable, MistakeKind, Plan, Target, nothing_fixed};

pub(super) fn misspelled_action(target: &Target<'_>, fixed: &Fixed) -> Result<Plan, Inapplicable> {
    let discriminator = discriminator(target)?;
    if fixed.field.is_some() {
        return Err(Inapplicable::field("`misspelled_action` takes no field"));
    }
    let is_action = |name: &str| target.tool.actions.iter().any(|action| action.name == name);
    let wrong = match &fixed.value {
        None => typos(&target.action.name),
        Some(Value::String(name)) if is_action(name) => {
            return Err(Inapplicable::value(format!("`{name}` is an action of `{}`", target.tool.name)));
        }
        Some(Value::String(name)) => vec![name.clone()],
        Some(_) => return Err(Inapplicable::value("the value of `misspelled_action` is the wrong name: a text")),
    };
    let set = |name: String| vec![Edit::Set(discriminator.to_owned(), Value::String(name))];
    let changes: Vec<_> = wrong.into_iter().filter(|name| !is_action(name)).map(set).collect();
    match changes.is_empty() {
        true => Err(Inapplicable::kind("every typo of the action is itself an action")),
        false => Ok(Plan { fields: vec![changes] }),
    }
}

pub(super) fn missing_discriminator(target: &Target<'_>, fixed: &Fixed) -> Result<Plan, Inapplicable> {
    nothing_fixed(MistakeKind::MissingDiscriminator, fixed)?;
    let discriminator = discriminator(target)?;
    Ok(Plan { fields: vec![vec![vec![Edit::Remove(discriminator.to_owned())]]] })
}

fn discriminator<'a>(target: &Target<'a>) -> Result<&'a str, Inapplicable> {
    let reason = || Inapplicable::kind(format!("`{}` has no discriminator", target.tool.name));
    target.tool.discriminator.as_deref().ok_or_else(reason)
}
