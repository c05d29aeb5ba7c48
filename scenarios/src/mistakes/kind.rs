use std::fmt;
use std::str::FromStr;

use super::{InapplicableMistake, MistakeParams, MutationPlan, Target};
use super::{confusions, fields, ids, lists, routing, shapes, stale, values};

/// A kind of mistake, by its place in [`MISTAKES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MistakeKind(usize);

type Plan = fn(&Target<'_>, &MistakeParams) -> Result<MutationPlan, InapplicableMistake>;

/// A kind of mistake with its meaning.
#[derive(Debug)]
pub struct MistakeEntry {
    /// The name used in scenario files.
    pub name: &'static str,
    /// What goes wrong, in a sentence.
    pub says: &'static str,
    /// An example, as written in a scenario file.
    pub example: &'static str,
    pub(super) plan: Plan,
}

const fn entry(name: &'static str, says: &'static str, example: &'static str, plan: Plan) -> MistakeEntry {
    MistakeEntry { name, says, example, plan }
}

/// All kinds of mistakes, in the order used in documents.
pub static MISTAKES: [MistakeEntry; 27] = [
    entry("missing", "A required argument is left out.", "{kind: missing, field: shelf}", fields::missing),
    entry(
        "wrong_type",
        "A value has the wrong type.",
        "{kind: wrong_type, field: \"lines[1].copies\"}",
        values::wrong_type,
    ),
    entry(
        "wrong_enum",
        "A value is not one of the allowed options.",
        "{kind: wrong_enum, field: unit}",
        values::wrong_enum,
    ),
    entry(
        "out_of_range",
        "A number, length or count is out of bounds.",
        "{kind: out_of_range, field: \"lines[0].copies\"}",
        values::out_of_range,
    ),
    entry(
        "bad_format",
        "A text does not fit its format or pattern.",
        "{kind: bad_format, field: due}",
        values::bad_format,
    ),
    entry(
        "hallucinated_field",
        "An argument is not declared.",
        "{kind: hallucinated_field, field: priority}",
        fields::hallucinated,
    ),
    entry(
        "misspelled_field",
        "The name of an argument has a typo.",
        "{kind: misspelled_field, field: shelf}",
        fields::misspelled,
    ),
    entry("misspelled_action", "The name of the action has a typo.", "misspelled_action", routing::misspelled_action),
    entry(
        "missing_discriminator",
        "The argument that selects the action is left out.",
        "missing_discriminator",
        routing::missing_discriminator,
    ),
    entry(
        "unknown_id",
        "An identifier has the right form and does not exist.",
        "{kind: unknown_id, field: supplier}",
        ids::unknown_id,
    ),
    entry("unfiltered_list", "A list is read without filters.", "unfiltered_list", lists::unfiltered),
    entry(
        "stale_contract",
        "The call follows the previous contract, with the tool's previous name.",
        "stale_contract",
        stale::stale_contract,
    ),
    entry("missing_all", "All arguments are missing.", "missing_all", fields::missing_all),
    entry("missing_longest", "The longest argument is missing.", "missing_longest", fields::missing_longest),
    entry(
        "json_text",
        "An object or a list is sent as JSON text.",
        "{kind: json_text, field: lines}",
        shapes::json_text,
    ),
    entry(
        "broken_json",
        "An object or a list is sent as JSON text that breaks off.",
        "{kind: broken_json, field: lines}",
        shapes::broken_json,
    ),
    entry(
        "comma_text",
        "A text with commas stands in the place of a list.",
        "{kind: comma_text, field: labels}",
        shapes::comma_text,
    ),
    entry(
        "single_item",
        "One element stands in the place of a list.",
        "{kind: single_item, field: lines}",
        shapes::single_item,
    ),
    entry(
        "null_value",
        "An argument is null, also one that the right call leaves out.",
        "{kind: null_value, field: note}",
        shapes::null_value,
    ),
    entry(
        "number_text",
        "A number is sent as text, or a text of digits as number.",
        "{kind: number_text, field: \"lines[0].copies\"}",
        shapes::number_text,
    ),
    entry(
        "other_tool",
        "Another tool, or another action, of the list is called: with the same arguments or, where the value is a call such as `{tool: stock, action: count, arguments: {shelf: A}}`, with those.",
        "{kind: other_tool, value: stock.count}",
        routing::other_tool,
    ),
    entry(
        "old_tool_name",
        "The tool is called by a name that it does not have any more: the `value`, or the name in its `previous` contract.",
        "{kind: old_tool_name, value: warehouse}",
        routing::old_tool_name,
    ),
    entry(
        "other_kind_id",
        "An identifier is that of a row of another table.",
        "{kind: other_kind_id, field: supplier}",
        confusions::other_kind_id,
    ),
    entry(
        "previous_value",
        "An argument has the value of an earlier call, such as the cursor of the page before.",
        "{kind: previous_value, field: cursor}",
        confusions::previous_value,
    ),
    entry(
        "other_row_value",
        "An argument has the value of another row.",
        "{kind: other_row_value, field: version}",
        confusions::other_row_value,
    ),
    entry(
        "stale_value",
        "An argument has a value that was right before, such as an old version.",
        "{kind: stale_value, field: version, value: 3}",
        confusions::stale_value,
    ),
    entry("double_submission", "The call is made twice at once.", "double_submission", routing::double_submission),
];

impl MistakeKind {
    /// Returns all kinds, in the order used in documents.
    pub fn all() -> impl Iterator<Item = MistakeKind> {
        (0..MISTAKES.len()).map(MistakeKind)
    }

    /// Returns the name, meaning and example.
    pub fn entry(self) -> &'static MistakeEntry {
        &MISTAKES[self.0]
    }

    /// Returns the name used in scenario files.
    pub fn name(self) -> &'static str {
        self.entry().name
    }
}

impl fmt::Display for MistakeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An unknown kind of mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind of mistake `{0}`")]
pub struct UnknownKind(pub String);

impl FromStr for MistakeKind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<MistakeKind, UnknownKind> {
        MistakeKind::all().find(|kind| kind.name() == text).ok_or_else(|| UnknownKind(text.to_owned()))
    }
}
