//! Errors of the validator with their places in the arguments and in the schema.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;

use super::lookup::is_conditional;
use crate::failure::KeywordLocation;

/// An error of the validator, whose location is relative to a value in the arguments.
pub(super) struct LocatedError<'a> {
    /// The pointer of the value.
    pub(super) base: String,
    /// The pointer of the schema that was checked.
    pub(super) schema_base: String,
    pub(super) error: ValidationError<'a>,
}

impl LocatedError<'_> {
    /// Returns the location in the arguments, as a pointer.
    pub(super) fn pointer(&self) -> String {
        format!("{}{}", self.base, self.error.instance_path().as_str())
    }

    /// Returns true if the keyword applies to some values only, or stands in a part of the schema that is referred to.
    pub(super) fn is_conditional(&self) -> bool {
        !self.schema_base.is_empty() || is_conditional(self.error.schema_path().as_str())
    }

    /// Returns true if the issue says something that stands beside the keyword.
    pub(super) fn needs_location(&self) -> bool {
        use ValidationErrorKind as Kind;
        let says_all = matches!(
            self.error.kind(),
            Kind::Required { .. }
                | Kind::Type { .. }
                | Kind::Enum { .. }
                | Kind::Constant { .. }
                | Kind::MinProperties { .. }
                | Kind::MaxProperties { .. }
                | Kind::UniqueItems
                | Kind::AdditionalProperties { .. }
                | Kind::UnevaluatedProperties { .. }
        );
        !says_all && !self.is_bound()
    }

    /// Returns true for a violated bound of a number, a text or a list.
    fn is_bound(&self) -> bool {
        use ValidationErrorKind as Kind;
        matches!(
            self.error.kind(),
            Kind::Minimum { .. }
                | Kind::Maximum { .. }
                | Kind::ExclusiveMinimum { .. }
                | Kind::ExclusiveMaximum { .. }
                | Kind::MultipleOf { .. }
                | Kind::MinLength { .. }
                | Kind::MaxLength { .. }
                | Kind::MinItems { .. }
                | Kind::MaxItems { .. }
        )
    }

    /// Returns true if nothing is missing or of another type: only a bound, a pattern or a format is violated.
    pub(super) fn is_minor(&self) -> bool {
        use ValidationErrorKind as Kind;
        self.is_bound() || matches!(self.error.kind(), Kind::Pattern { .. } | Kind::Format { .. })
    }

    /// Returns the location of the failed keyword in the schema.
    pub(super) fn keyword_location(&self) -> KeywordLocation {
        KeywordLocation {
            pointer: format!("{}{}", self.schema_base, self.error.schema_path().as_str()).into(),
            target: self.schema_base.len(),
            depth: self.base.matches('/').count(),
        }
    }

    /// Returns the target of the reference whose errors this error stands for.
    pub(super) fn target(&self) -> Option<&str> {
        match self.error.kind() {
            ValidationErrorKind::Custom { message, .. } => Some(message.as_str()).filter(|to| to.starts_with('#')),
            _ => None,
        }
    }
}
