use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The class of a failure, as stored in rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorClass {
    /// The arguments do not match the action's schema.
    Validation,
    /// The call names no action.
    MissingDiscriminator,
    /// The tool has no such action.
    UnknownAction,
    /// There is no such tool.
    UnknownTool,
    /// A tool error without a code.
    Uncoded,
    /// A server refused the call with `isError`.
    ServerError,
    /// A server refused the call with a JSON-RPC error.
    ProtocolError,
    /// A tool error with this code.
    Other(Arc<str>),
}

/// The classes that healbench assigns, with their names in rows.
static ERROR_CLASSES: [(ErrorClass, &str); 7] = [
    (ErrorClass::Validation, "VALIDATION"),
    (ErrorClass::MissingDiscriminator, "MISSING_DISCRIMINATOR"),
    (ErrorClass::UnknownAction, "UNKNOWN_ACTION"),
    (ErrorClass::UnknownTool, "UNKNOWN_TOOL"),
    (ErrorClass::Uncoded, "ERROR"),
    (ErrorClass::ServerError, "SERVER_ERROR"),
    (ErrorClass::ProtocolError, "PROTOCOL_ERROR"),
];

impl ErrorClass {
    /// Returns the name in rows and documents: that of a known class, or the tool's code.
    pub fn name(&self) -> &str {
        match self {
            ErrorClass::Other(code) => code,
            known => ERROR_CLASSES.iter().find(|(class, _)| class == known).map_or("", |(_, name)| name),
        }
    }

    /// Returns true if the call reached an action.
    pub fn is_routed(&self) -> bool {
        !matches!(self, ErrorClass::MissingDiscriminator | ErrorClass::UnknownAction | ErrorClass::UnknownTool)
    }
}

impl From<&str> for ErrorClass {
    fn from(name: &str) -> ErrorClass {
        let known = ERROR_CLASSES.iter().find(|(_, known)| *known == name);
        known.map_or_else(|| ErrorClass::Other(name.into()), |(class, _)| class.clone())
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Classes are ordered by name.
impl Ord for ErrorClass {
    fn cmp(&self, other: &ErrorClass) -> Ordering {
        self.name().cmp(other.name())
    }
}

impl PartialOrd for ErrorClass {
    fn partial_cmp(&self, other: &ErrorClass) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A map by class can be searched by name.
impl Borrow<str> for ErrorClass {
    fn borrow(&self) -> &str {
        self.name()
    }
}

impl Serialize for ErrorClass {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for ErrorClass {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ErrorClass, D::Error> {
        Ok(Cow::<str>::deserialize(deserializer)?.as_ref().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        let other = ErrorClass::from("NOT_FOUND");
        assert_eq!(other, ErrorClass::Other("NOT_FOUND".into()));
        for class in ERROR_CLASSES.iter().map(|(class, _)| class).chain([&other]) {
            assert_eq!(ErrorClass::from(class.name()), *class);
            let json = serde_json::to_string(class).unwrap();
            assert_eq!(json, format!("\"{class}\""));
            assert_eq!(serde_json::from_str::<ErrorClass>(&json).unwrap(), *class);
        }
    }

    #[test]
    fn classes_sort_by_name() {
        let mut classes = ["VALIDATION", "ERROR", "CONFLICT", "UNKNOWN_TOOL", "NOT_FOUND"].map(ErrorClass::from);
        classes.sort();
        let names = classes.each_ref().map(ErrorClass::name);
        assert_eq!(names, ["CONFLICT", "ERROR", "NOT_FOUND", "UNKNOWN_TOOL", "VALIDATION"]);
    }
}
