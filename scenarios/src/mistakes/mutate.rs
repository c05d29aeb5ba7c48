use std::collections::{BTreeMap, BTreeSet};

use healbench_core::{Draws, Object};
use serde_json::Value;

use super::ids;

/// A single change of the arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Edit {
    Remove(String),
    /// Sets the value of an argument. An existing argument keeps its position.
    Set(String, Value),
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
            Edit::Remove(name) | Edit::Set(name, _) | Edit::UnknownId { argument: name, .. } => (name, None),
            Edit::Rename { from, to } => (from, Some(to)),
        };
        std::iter::once(first).chain(second).map(String::as_str)
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

/// The existing keys, as canonical JSON, by table.
pub(crate) type ExistingKeys = BTreeMap<String, BTreeSet<String>>;

/// Applies one mistake to `arguments`, which include the discriminator. Arguments in `touched`, changed by earlier
/// mistakes, are not changed again. Returns false if no mutation is left.
pub(crate) fn mutate(
    plan: &MutationPlan,
    arguments: &mut Object,
    touched: &mut BTreeSet<String>,
    existing_keys: &ExistingKeys,
    draws: &mut Draws,
) -> bool {
    let free = |mutation: &Mutation| !mutation.iter().flat_map(Edit::touches).any(|name| touched.contains(name));
    let fields: Vec<Vec<&Mutation>> = plan
        .fields
        .iter()
        .map(|mutations| mutations.iter().filter(|mutation| free(mutation)).collect::<Vec<_>>())
        .filter(|mutations| !mutations.is_empty())
        .collect();
    let Some(mutation) = draws.pick(&fields).and_then(|mutations| draws.pick(mutations)) else { return false };
    for edit in *mutation {
        touched.extend(edit.touches().map(str::to_owned));
        apply(edit, arguments, existing_keys, draws);
    }
    true
}

fn apply(edit: &Edit, arguments: &mut Object, existing_keys: &ExistingKeys, draws: &mut Draws) {
    match edit {
        Edit::Remove(name) => {
            arguments.shift_remove(name);
        }
        Edit::Set(name, value) => {
            arguments.insert(name.clone(), value.clone());
        }
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
