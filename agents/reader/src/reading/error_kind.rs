//! The kind of an error by what its text says.

use healbench_core::ErrorKind;

use super::{Fault, Statement};

/// Returns the first kind that what a text says belongs to.
pub(super) fn kind_of(statements: &[Statement], faults: &[(Option<String>, Fault)]) -> ErrorKind {
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
