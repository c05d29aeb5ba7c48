//! The kinds of mistakes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeKind {
    /// A required field is left out.
    Missing,
    /// A value has another JSON type.
    WrongType,
    /// A value has another JSON type from which the right one follows.
    Coercible,
    /// A value is null.
    Null,
    /// A value is not one of the options.
    WrongEnum,
    /// A value is an option in another case.
    WrongCase,
    /// A value is beyond a bound by one.
    OutOfRange,
    /// A text does not have its format.
    BadFormat,
    /// A text does not match its pattern.
    BadPattern,
    /// The name of a required field is misspelled.
    MisspelledRequired,
    /// The name of an optional field is misspelled.
    MisspelledOptional,
    /// There is another field.
    Undeclared,
    /// A text names something that does not exist.
    NoSuch,
    /// A call of the calls file that is declared to be wrong.
    Declared,
    /// A tool that does not exist, once for each server.
    UnknownTool,
}

/// The facts that a reader needs to repair a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedy {
    Missing,
    Type,
    Options,
    Bound,
    Format,
    Unrecognized,
    /// Any remedy.
    Any,
    /// None is looked for.
    None,
}

/// An entry of [`KINDS`].
#[derive(Debug)]
pub struct KindEntry {
    /// The kind.
    pub kind: ProbeKind,
    /// Its name in outputs.
    pub name: &'static str,
    /// The mistake in the call.
    pub sentence: &'static str,
    pub(crate) remedy: Remedy,
}

/// All kinds, in the order of outputs.
pub const KINDS: [KindEntry; 15] = [
    entry(ProbeKind::Missing, "missing", "a required field is left out", Remedy::Missing),
    entry(
        ProbeKind::WrongType,
        "wrong_type",
        "a text for a number, integer, boolean, list or object; 42 for a text",
        Remedy::Type,
    ),
    entry(ProbeKind::Coercible, "coercible", "`\"1\"` for a number, 1 for a boolean; not scored", Remedy::None),
    entry(ProbeKind::Null, "null", "null", Remedy::Type),
    entry(ProbeKind::WrongEnum, "wrong_enum", "a value that is not one of the options", Remedy::Options),
    entry(ProbeKind::WrongCase, "wrong_case", "an option in another case", Remedy::Options),
    entry(ProbeKind::OutOfRange, "out_of_range", "beyond a bound by one", Remedy::Bound),
    entry(ProbeKind::BadFormat, "bad_format", "a text that does not have its format", Remedy::Format),
    entry(ProbeKind::BadPattern, "bad_pattern", "a text that does not match its pattern", Remedy::Format),
    entry(
        ProbeKind::MisspelledRequired,
        "misspelled_required",
        "the last two letters of a required field's name are swapped",
        Remedy::Unrecognized,
    ),
    entry(
        ProbeKind::MisspelledOptional,
        "misspelled_optional",
        "the last two letters of an optional field's name are swapped",
        Remedy::Unrecognized,
    ),
    entry(ProbeKind::Undeclared, "undeclared", "another field, `hb_extra: true`", Remedy::Unrecognized),
    entry(
        ProbeKind::NoSuch,
        "no_such",
        "`-hb-none` or `_hb_none` in the name or path of a base call that was accepted; scored if it is refused",
        Remedy::Any,
    ),
    entry(ProbeKind::Declared, "declared", "a call of `wrong` in the calls file", Remedy::Any),
    entry(ProbeKind::UnknownTool, "unknown_tool", "a tool that does not exist; not scored", Remedy::None),
];

const fn entry(kind: ProbeKind, name: &'static str, sentence: &'static str, remedy: Remedy) -> KindEntry {
    KindEntry { kind, name, sentence, remedy }
}

impl ProbeKind {
    /// Returns the entry of the kind.
    pub fn entry(self) -> &'static KindEntry {
        &KINDS[self as usize]
    }

    /// Returns true for calls that may fit the schema and are wrong all the same.
    pub(crate) fn is_domain(self) -> bool {
        matches!(self, ProbeKind::NoSuch | ProbeKind::Declared)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_registry_is_in_the_order_of_the_kinds() {
        for (index, entry) in KINDS.iter().enumerate() {
            assert_eq!((entry.kind as usize, json!(entry.kind)), (index, json!(entry.name)));
        }
    }
}
