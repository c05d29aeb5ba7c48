//! Mistakes in the discriminator, which selects the action of a call.

use healbench_core::Object;
use serde_json::Value;

use super::similar::{lookalikes, typos};
use super::{Edit, InapplicableMistake, MistakeParams, MutationPlan, Target, reject_params};

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
    reject_params("missing_discriminator", params)?;
    let discriminator = discriminator(target)?;
    Ok(MutationPlan::of_mutation(vec![Edit::Remove(discriminator.to_owned())]))
}

pub(super) fn double_submission(
    target: &Target<'_>,
    params: &MistakeParams,
) -> Result<MutationPlan, InapplicableMistake> {
    reject_params("double_submission", params)?;
    if target.action.read_only {
        return Err(InapplicableMistake::kind("a call that only reads may be made twice"));
    }
    Ok(MutationPlan::of_mutation(vec![Edit::Twice]))
}

/// Another tool, or another action of this or another tool, is called. The value names it as `tool.action`, or as a tool, and the arguments
/// stay; or it is a call, with `tool`, `action` and `arguments`.
pub(super) fn other_tool(target: &Target<'_>, params: &MistakeParams) -> Result<MutationPlan, InapplicableMistake> {
    if params.field.is_some() {
        return Err(InapplicableMistake::field("`other_tool` takes no field"));
    }
    let own = (target.tool.name.as_str(), target.action.name.as_str());
    let (named, sent) = match &params.value {
        Some(Value::Object(call)) => {
            let (name, sent) = other_call(call).map_err(InapplicableMistake::value)?;
            (Some(Value::String(name)), sent)
        }
        value => (value.clone(), None),
    };
    let mut mutations = Vec::new();
    for (tool, discriminator, actions) in target.tools {
        for action in actions.iter().filter(|action| (tool.as_str(), action.as_str()) != own) {
            let is_named = |value: &Value| {
                let name = value.as_str().unwrap_or_default();
                name == tool || name.strip_prefix(tool).and_then(|rest| rest.strip_prefix('.')) == Some(action)
            };
            if named.as_ref().is_some_and(|value| !is_named(value)) {
                continue;
            }
            let mut edits = vec![Edit::Tool(tool.clone())];
            if let Some(sent) = sent {
                edits.push(Edit::Clear(None));
                edits.extend(sent.iter().map(|(name, value)| Edit::Add(name.clone(), value.clone())));
            }
            let own = target.tool.discriminator.as_ref();
            edits.extend(
                own.filter(|own| sent.is_none() && Some(*own) != discriminator.as_ref())
                    .map(|own| Edit::Remove(own.clone())),
            );
            edits.extend(discriminator.as_ref().map(|field| Edit::Set(field.clone(), action.clone().into())));
            mutations.push(edits);
        }
    }
    match (mutations.is_empty(), &named) {
        (true, Some(value)) => {
            Err(InapplicableMistake::value(format!("{value} is no other tool or action of the list")))
        }
        (true, None) => Err(InapplicableMistake::kind("the list has no other tool or action")),
        (false, _) => Ok(MutationPlan::of_field(mutations)),
    }
}

/// Returns the name `tool.action` or `tool` of a call, and its arguments if it has any.
fn other_call(call: &Object) -> Result<(String, Option<&Object>), String> {
    if let Some(unknown) = call.keys().find(|key| !["tool", "action", "arguments"].contains(&key.as_str())) {
        return Err(format!("a call has `tool`, `action` and `arguments`, and not `{unknown}`"));
    }
    let text =
        |key: &str| call.get(key).map(|value| value.as_str().ok_or(format!("`{key}` has to be a text"))).transpose();
    let tool = text("tool")?.ok_or("a call needs a `tool`")?;
    let name = text("action")?.map_or(tool.to_owned(), |action| format!("{tool}.{action}"));
    let arguments = call.get("arguments").map(|sent| sent.as_object().ok_or("`arguments` has to be an object"));
    Ok((name, arguments.transpose()?))
}

/// The value is the old name; if it is left out, the name in the previous contract, or the tool's name in another spelling.
pub(super) fn old_tool_name(target: &Target<'_>, params: &MistakeParams) -> Result<MutationPlan, InapplicableMistake> {
    if params.field.is_some() {
        return Err(InapplicableMistake::field("`old_tool_name` takes no field"));
    }
    let names = match &params.value {
        None => match target.tool.previous_name() {
            Some(name) => vec![name.to_owned()],
            None => lookalikes(&target.tool.name),
        },
        Some(Value::String(name)) => vec![name.clone()],
        Some(_) => {
            return Err(InapplicableMistake::value("the value of `old_tool_name` has to be a text: the old name"));
        }
    };
    let is_taken = |name: &String| target.tools.iter().any(|(tool, ..)| tool == name);
    let mutations: Vec<_> =
        names.into_iter().filter(|name| !is_taken(name)).map(|name| vec![Edit::Tool(name)]).collect();
    match (mutations.is_empty(), &params.value) {
        (true, Some(name)) => Err(InapplicableMistake::value(format!("{name} is the name of a tool"))),
        (true, None) => Err(InapplicableMistake::kind("every other spelling is the name of a tool")),
        (false, _) => Ok(MutationPlan::of_field(mutations)),
    }
}

fn discriminator<'a>(target: &Target<'a>) -> Result<&'a str, InapplicableMistake> {
    let reason = || InapplicableMistake::kind(format!("`{}` has no discriminator", target.tool.name));
    target.tool.discriminator.as_deref().ok_or_else(reason)
}
