//! The kinds of errors, as far as a text tells them.

use super::{Fault, Statement};

macro_rules! error_kinds {
    ($($(#[$doc:meta])* $kind:ident, $id:literal, $about:literal;)*) => {
        /// The kind of an error, as its text tells it. Of several that apply it is the first.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorKind { $($(#[$doc])* $kind),* }

        /// The kinds in their order, each with its name in rows and documents, and what it means.
        pub const ERROR_KINDS: &[(ErrorKind, &str, &str)] = &[$((ErrorKind::$kind, $id, $about)),*];
    };
}

error_kinds! {
    /// A required argument is missing.
    Missing, "missing", "a required argument is missing";
    /// An argument is not known.
    UnknownField, "unknown_field", "an argument is not known";
    /// A value has the wrong type, or is no valid JSON.
    Shape, "shape", "a value has the wrong type, or is not valid JSON";
    /// A value is not among the options, out of bounds, or in another format.
    Value, "value", "a value is not among the options, out of bounds, or in the wrong format";
    /// A search has no result.
    NothingFound, "nothing_found", "a search has no result";
    /// A thing that a value names does not exist.
    Reference, "reference", "a thing that an argument names does not exist";
    /// The same call may succeed later.
    Transient, "transient", "the same call may succeed later";
    /// A rule, a conflict or a permission.
    State, "state", "a rule, a conflict or a missing permission prevents the call";
    /// A fault of the server.
    Internal, "internal", "the server failed by itself";
    /// The text does not say.
    Unclear, "unclear", "the reader cannot tell";
}

impl ErrorKind {
    /// Returns the name in rows and documents.
    pub fn id(self) -> &'static str {
        ERROR_KINDS.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, id, _)| id)
    }

    /// Returns the first kind that what a text says belongs to.
    pub(super) fn of(statements: &[Statement], faults: &[(Option<String>, Fault)]) -> ErrorKind {
        let stated = statements.iter().filter_map(|statement| match statement {
            Statement::Missing { .. } | Statement::MissingDiscriminator { .. } => Some(ErrorKind::Missing),
            Statement::Unrecognized { .. } | Statement::Rename { .. } | Statement::Contract { .. } => {
                Some(ErrorKind::UnknownField)
            }
            Statement::WrongType { .. } => Some(ErrorKind::Shape),
            Statement::Options { .. }
            | Statement::Bound { .. }
            | Statement::Format { .. }
            | Statement::Compared { .. }
            | Statement::Actions { .. } => Some(ErrorKind::Value),
            Statement::SearchDifferently { .. } => Some(ErrorKind::NothingFound),
            Statement::Delay { .. } | Statement::Transient => Some(ErrorKind::Transient),
            Statement::Conflict { .. } | Statement::Stop => Some(ErrorKind::State),
            _ => None,
        });
        let faulty = faults.iter().map(|(_, fault)| match fault {
            Fault::Invalid => ErrorKind::Value,
            Fault::NotFound => ErrorKind::Reference,
            Fault::NothingFound => ErrorKind::NothingFound,
            Fault::State => ErrorKind::State,
            Fault::Internal => ErrorKind::Internal,
        });
        let value = |statement: &Statement| matches!(statement, Statement::Value { .. });
        let values = statements.iter().any(value).then_some(ErrorKind::Value);
        // A value that is no longer the current one is a conflict.
        let values = values.filter(|_| !faults.iter().any(|(_, fault)| *fault != Fault::Invalid));
        stated.chain(faulty).chain(values).min().unwrap_or(ErrorKind::Unclear)
    }
}
