use std::collections::{BTreeMap, BTreeSet};

use healbench_protocol::{Draws, Object};
use serde_json::Value;

use super::ids;

/// One thing done to the arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Edit {
    /// The argument is left out.
    Remove(String),
    /// The argument has this value, in its old place if it was there.
    Set(String, Value),
    /// The argument stands under another name.
    Rename { from: String, to: String },
    /// The argument names no row of the table: its right value with other digits or letters, drawn.
    UnknownId { argument: String, table: String },
}

impl Edit {
    /// The arguments that it touches.
    fn touches(&self) -> impl Iterator<Item = &str> {
        let (first, second) = match self {
            Edit::Remove(name) | Edit::Set(name, _) | Edit::UnknownId { argument: name, .. } => (name, None),
            Edit::Rename { from, to } => (from, Some(to)),
        };
        std::iter::once(first).chain(second).map(String::as_str)
    }
}

/// One way in which a mistake shows: edits that belong together.
pub(crate) type Change = Vec<Edit>;

/// What a mistake could do: for each field the changes to draw from. First a field is drawn, then a change, so that a field
/// with many wrong values is not drawn more often.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    /// The fields' changes; none is empty.
    pub(crate) fields: Vec<Vec<Change>>,
}

/// The keys that exist, as canonical texts by table.
pub(crate) type Known = BTreeMap<String, BTreeSet<String>>;

/// Spoils `arguments` (the discriminator among them) by one mistake, and leaves alone what an earlier mistake `touched`.
/// False when nothing is left to spoil.
pub(crate) fn spoil(
    plan: &Plan,
    arguments: &mut Object,
    touched: &mut BTreeSet<String>,
    known: &Known,
    draws: &mut Draws,
) -> bool {
    let free = |change: &Change| !change.iter().flat_map(Edit::touches).any(|name| touched.contains(name));
    let fields: Vec<Vec<&Change>> = plan
        .fields
        .iter()
        .map(|changes| changes.iter().filter(|change| free(change)).collect::<Vec<_>>())
        .filter(|changes| !changes.is_empty())
        .collect();
    let Some(change) = draws.pick(&fields).and_then(|changes| draws.pick(changes)) else { return false };
    for edit in *change {
        touched.extend(edit.touches().map(str::to_owned));
        apply(edit, arguments, known, draws);
    }
    true
}

fn apply(edit: &Edit, arguments: &mut Object, known: &Known, draws: &mut Draws) {
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
            let keys = known.get(table).unwrap_or(&none);
            if let Some(right) = arguments.get_mut(argument) {
                *right = ids::like(right, keys, draws);
            }
        }
    }
}
