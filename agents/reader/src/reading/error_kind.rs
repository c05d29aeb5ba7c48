//! The kind of an error by what its text says.

use std::sync::LazyLock;

use healbench_core::ErrorKind;
use regex::Regex;

use super::words::{GONE, INTERNAL, MISTAKEN, PREVENTED, TEMPORARY};
use super::{Fault, Statement};

/// The longest beginning of a text that is searched for words of a kind, in bytes.
const MAX_SEARCHED_BYTES: usize = 1000;

/// Returns the kind of an error whose text says nothing about the call, by an HTTP status or by words; `None` if it has none of them.
pub(super) fn kind_by_words(text: &str) -> Option<ErrorKind> {
    static STATUS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\b(?:status(?: code)?|http(?: error)?|error|code)[:= #-]{1,2}([45]\d\d)\b").ok());
    let text = text[..text.floor_char_boundary(MAX_SEARCHED_BYTES)].to_lowercase();
    let status =
        STATUS.as_ref().and_then(|status| status.captures(&text)).and_then(|found| found[1].parse::<u16>().ok());
    let by_status = status.and_then(|status| match status {
        401..=403 | 405 | 409 | 423 | 451 => Some(ErrorKind::State),
        404 | 410 => Some(ErrorKind::Reference),
        408 | 425 | 429 | 502..=504 => Some(ErrorKind::Transient),
        500 | 501 => Some(ErrorKind::Internal),
        _ => None,
    });
    by_status.or_else(|| {
        let kinds = [
            (&MISTAKEN, ErrorKind::Value),
            (&TEMPORARY, ErrorKind::Transient),
            (&PREVENTED, ErrorKind::State),
            (&GONE, ErrorKind::Reference),
            (&INTERNAL, ErrorKind::Internal),
        ];
        let has = |words: &super::words::WordList| words.iter().any(|word| text.contains(word));
        kinds.into_iter().find(|(words, _)| has(words)).map(|(_, kind)| kind)
    })
}

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
