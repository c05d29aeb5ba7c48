use std::fmt;
use std::str::FromStr;

/// A kind of mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MistakeKind {
    /// A required argument is left out.
    Missing,
    /// A value has the wrong type.
    WrongType,
    /// A value is not one of the allowed options.
    WrongEnum,
    /// A number, length or count is outside its bounds.
    OutOfRange,
    /// A text does not match its format or pattern.
    BadFormat,
    /// An argument is not declared.
    HallucinatedField,
    /// The name of an argument has a typo.
    MisspelledField,
    /// The name of the action has a typo.
    MisspelledAction,
    /// The discriminator is left out.
    MissingDiscriminator,
    /// An identifier has the right form but does not exist.
    UnknownId,
    /// A list call has no filters.
    UnfilteredList,
    /// The call follows the previous contract.
    StaleContract,
}

impl MistakeKind {
    /// All kinds, in the order used in documents.
    pub const ALL: [MistakeKind; 12] = [
        MistakeKind::Missing,
        MistakeKind::WrongType,
        MistakeKind::WrongEnum,
        MistakeKind::OutOfRange,
        MistakeKind::BadFormat,
        MistakeKind::HallucinatedField,
        MistakeKind::MisspelledField,
        MistakeKind::MisspelledAction,
        MistakeKind::MissingDiscriminator,
        MistakeKind::UnknownId,
        MistakeKind::UnfilteredList,
        MistakeKind::StaleContract,
    ];

    /// Returns the name used in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            MistakeKind::Missing => "missing",
            MistakeKind::WrongType => "wrong_type",
            MistakeKind::WrongEnum => "wrong_enum",
            MistakeKind::OutOfRange => "out_of_range",
            MistakeKind::BadFormat => "bad_format",
            MistakeKind::HallucinatedField => "hallucinated_field",
            MistakeKind::MisspelledField => "misspelled_field",
            MistakeKind::MisspelledAction => "misspelled_action",
            MistakeKind::MissingDiscriminator => "missing_discriminator",
            MistakeKind::UnknownId => "unknown_id",
            MistakeKind::UnfilteredList => "unfiltered_list",
            MistakeKind::StaleContract => "stale_contract",
        }
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
        let mut all = MistakeKind::ALL.into_iter();
        all.find(|kind| kind.name() == text).ok_or_else(|| UnknownKind(text.to_owned()))
    }
}
