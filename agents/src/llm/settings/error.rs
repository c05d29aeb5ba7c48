//! What can be wrong with settings. No error shows a value that may be a secret.

use crate::llm::position::line_and_column;

/// A mistake in a file of settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct SettingsError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: SettingsProblem,
}

/// What is wrong at a place. Keys are named with the tables that they are in, below the model's own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsProblem {
    /// Not TOML.
    #[error("{0}")]
    Syntax(String),
    /// A key that has to be there.
    #[error("`{key}` is missing; {hint}")]
    Missing {
        /// The key.
        key: String,
        /// What it may be.
        hint: String,
    },
    /// A key that there is not.
    #[error("unknown key `{key}`; {hint}")]
    UnknownKey {
        /// The key.
        key: String,
        /// What was probably meant, and what there is.
        hint: String,
    },
    /// A word that is none of those that a key takes.
    #[error("`{key}` is `{value}`, which is not known; {hint}")]
    UnknownValue {
        /// The key.
        key: String,
        /// The word.
        value: String,
        /// What was probably meant, and what there is.
        hint: String,
    },
    /// A value of another type.
    #[error("`{key}` is {found}; it has to be {expected}")]
    Type {
        /// The key.
        key: String,
        /// What stands there.
        found: &'static str,
        /// What has to.
        expected: &'static str,
    },
    /// A number that makes no sense.
    #[error("`{key}` is {value}; it has to be {expected}")]
    Range {
        /// The key.
        key: String,
        /// The number as it stands there.
        value: String,
        /// What has to stand there.
        expected: String,
    },
    /// A text that is not of its key's form. It is not shown: in most of these places a secret could stand by mistake.
    #[error("`{key}` {reason}")]
    Malformed {
        /// The key.
        key: String,
        /// What is wrong with its value.
        reason: &'static str,
    },
    /// What looks like a secret.
    #[error(
        "something in `{key}` looks like a secret, which has no place in a file of settings and is not shown: put it into an \
         environment variable, and the variable's name into `key_env` or `headers_env`"
    )]
    Secret {
        /// The key that holds it.
        key: String,
    },
    /// A header that carries secrets.
    #[error("`{key}` carries a secret: name the environment variable that holds it in `key_env` or `headers_env`")]
    SecretHeader {
        /// The key.
        key: String,
    },
    /// A part of the request that is not the user's to write.
    #[error(
        "`{key}` cannot be set: healbench writes this part of a request, and a run would not be what its records say"
    )]
    Reserved {
        /// The key.
        key: String,
    },
    /// A file that is named and cannot be read.
    #[error("cannot read `{path}`, which `{key}` names: {reason}")]
    Unreadable {
        /// The key.
        key: &'static str,
        /// The file.
        path: String,
        /// What the system says.
        reason: String,
    },
}

/// The text that settings are read from.
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
