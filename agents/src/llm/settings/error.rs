//! Errors in settings. No error shows a value that may be a secret.

use crate::llm::position::line_and_column;

/// An error in a settings file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct SettingsError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The problem.
    pub problem: SettingsProblem,
}

/// A problem at a position. Keys include the names of the tables below the model's own table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsProblem {
    /// The text is not valid TOML.
    #[error("{0}")]
    Syntax(String),
    /// A required key is missing.
    #[error("`{key}` is missing; {hint}")]
    Missing {
        /// The key.
        key: String,
        /// The accepted values.
        hint: String,
    },
    /// The key does not exist.
    #[error("unknown key `{key}`; {hint}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The key that was probably meant, and the known ones.
        hint: String,
    },
    /// The value is not one of the key's accepted words.
    #[error("`{key}` is `{value}`, which is not known; {hint}")]
    UnknownValue {
        /// The key.
        key: String,
        /// The given word.
        value: String,
        /// The word that was probably meant, and the known ones.
        hint: String,
    },
    /// The value has the wrong type.
    #[error("`{key}` is {found}; it has to be {expected}")]
    Type {
        /// The key.
        key: String,
        /// The given type.
        found: &'static str,
        /// The expected type.
        expected: &'static str,
    },
    /// The number is out of range.
    #[error("`{key}` is {value}; it has to be {expected}")]
    Range {
        /// The key.
        key: String,
        /// The given number.
        value: String,
        /// The accepted range.
        expected: String,
    },
    /// The text has the wrong form. It is not shown, because it could be a secret in the wrong place.
    #[error("`{key}` {reason}")]
    Malformed {
        /// The key.
        key: String,
        /// The problem with the value.
        reason: &'static str,
    },
    /// A key or value looks like a secret.
    #[error(
        "something in `{key}` looks like a secret, which has no place in a file of settings and is not shown: put it into an \
         environment variable, and the variable's name into `key_env` or `headers_env`"
    )]
    Secret {
        /// The key that contains it.
        key: String,
    },
    /// The header carries a secret, which must not be in the file.
    #[error("`{key}` carries a secret: name the environment variable that holds it in `key_env` or `headers_env`")]
    SecretHeader {
        /// The key.
        key: String,
    },
    /// healbench sets this part of the request itself.
    #[error(
        "`{key}` cannot be set: healbench writes this part of a request, and a run would not be what its records say"
    )]
    Reserved {
        /// The key.
        key: String,
    },
    /// The file that the key names cannot be read.
    #[error("cannot read `{path}`, which `{key}` names: {reason}")]
    Unreadable {
        /// The key.
        key: &'static str,
        /// The file.
        path: String,
        /// The error of the operating system.
        reason: String,
    },
}

/// The text of a settings file and its name, for errors with positions.
pub(super) struct Source<'t> {
    pub(super) file: String,
    pub(super) text: &'t str,
}

impl Source<'_> {
    pub(super) fn error(&self, offset: usize, problem: SettingsProblem) -> SettingsError {
        let (line, column) = line_and_column(self.text, offset);
        SettingsError { file: self.file.clone(), line, column, problem }
    }
}
