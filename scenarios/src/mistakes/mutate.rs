use std::collections::{BTreeMap, BTreeSet};

use healbench_core::{Draws, Object, Step, ValuePath};
use serde_json::Value;

use super::{ids, set};

/// A single change of the arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Edit {
    /// Removes an argument, or what a path leads to.
    Remove(String),
    /// Sets the value of an argument, or of what a path leads to. An existing argument keeps its position.
    Set(String, Value),
    /// Adds an argument, whose name is no path.
    Add(String, Value),
    /// Removes all arguments but this one.
    Clear(Option<String>),
    /// Calls another tool.
    Tool(String),
    /// Makes the call twice.
    Twice,
    Rename {
        from: String,
        to: String,
    },
    /// Replaces an identifier with one that does not exist in the table: its digits or letters are redrawn.
    UnknownId {
        argument: String,
        table: String,
    },
}

impl Edit {
    /// Returns the arguments that the edit changes.
    fn touches(&self) -> impl Iterator<Item = &str> {
        let (first, second) = match self {
            Edit::Remove(name) | Edit::Set(name, _) | Edit::Add(name, _) | Edit::UnknownId { argument: name, .. } => {
                (name.as_str(), None)
            }
            Edit::Rename { from, to } => (from.as_str(), Some(to.as_str())),
            Edit::Clear(_) => ("", None),
            // No argument has these names.
            Edit::Tool(_) => (" tool", None),
            Edit::Twice => (" twice", None),
        };
        std::iter::once(first).chain(second)
    }
}

/// One possible form of a mistake: the edits of the arguments that are applied together.
pub(crate) type Mutation = Vec<Edit>;

/// The mutations that a mistake can make, by field. First a field is drawn, then one of its mutations, so that a field
/// with many wrong values is not drawn more often.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MutationPlan {
    /// The mutations of each field; none of the lists is empty.
    pub(crate) fields: Vec<Vec<Mutation>>,
}

impl MutationPlan {
    /// Returns the plan of a mistake that changes one field, in one of several ways.
    pub(super) fn of_field(mutations: Vec<Mutation>) -> MutationPlan {
        MutationPlan { fields: vec![mutations] }
    }

    /// Returns the plan of a mistake that can be made in one way only.
    pub(super) fn of_mutation(mutation: Mutation) -> MutationPlan {
        MutationPlan::of_field(vec![mutation])
    }
}

/// Returns true if two arguments or paths are equal, or one leads into the other. The empty name stands for all of them.
fn overlap(one: &str, other: &str) -> bool {
    let leads_into = |outer: &str, inner: &str| {
        outer.is_empty()
            || inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    leads_into(one, other) || leads_into(other, one)
}

/// The existing keys, as canonical JSON, by table.
pub(crate) type ExistingKeys = BTreeMap<String, BTreeSet<String>>;

/// Applies one mistake to the draft of `step`, whose arguments include the discriminator. Arguments in `touched`, changed by earlier
/// mistakes, are not changed again. Returns false if no mutation is left.
pub(crate) fn mutate(
    plan: &MutationPlan,
    step: &mut Step,
    touched: &mut BTreeSet<String>,
    existing_keys: &ExistingKeys,
    draws: &mut Draws,
) -> bool {
    let free = |mutation: &Mutation| {
        !mutation.iter().flat_map(Edit::touches).any(|name| touched.iter().any(|touched| overlap(touched, name)))
    };
    let fields: Vec<Vec<&Mutation>> = plan
        .fields
        .iter()
        .map(|mutations| mutations.iter().filter(|mutation| free(mutation)).collect::<Vec<_>>())
        .filter(|mutations| !mutations.is_empty())
        .collect();
    let Some(mutation) = draws.pick(&fields).and_then(|mutations| draws.pick(mutations)) else { return false };
    for edit in *mutation {
        touched.extend(edit.touches().map(str::to_owned));
        match edit {
            Edit::Tool(name) => step.draft.tool.clone_from(name),
            Edit::Twice => step.twice = true,
            edit => {
                if let Value::Object(arguments) = &mut step.draft.arguments {
                    apply(edit, arguments, existing_keys, draws);
                }
            }
        }
    }
    true
}

fn apply(edit: &Edit, arguments: &mut Object, existing_keys: &ExistingKeys, draws: &mut Draws) {
    match edit {
        Edit::Remove(name) => {
            if arguments.shift_remove(name).is_none() {
                _ = ValuePath::parse(name).ok().and_then(|path| path.remove(arguments));
            }
        }
        Edit::Set(name, value) => set(arguments, name, value.clone()),
        Edit::Add(name, value) => _ = arguments.insert(name.clone(), value.clone()),
        Edit::Clear(kept) => arguments.retain(|name, _| Some(name) == kept.as_ref()),
        // The caller changes what is not an argument.
        Edit::Tool(_) | Edit::Twice => {}
        Edit::Rename { from, to } => {
            let renamed = |(name, value)| if name == *from { (to.clone(), value) } else { (name, value) };
            *arguments = std::mem::take(arguments).into_iter().map(renamed).collect();
        }
        Edit::UnknownId { argument, table } => {
            let none = BTreeSet::new();
            let keys = existing_keys.get(table).unwrap_or(&none);
            if let Some(right) = arguments.get_mut(argument) {
                *right = ids::unknown_key_like(right, keys, draws);
            }
        }
    }
}
