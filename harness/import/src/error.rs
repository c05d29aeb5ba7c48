//! Errors of an import.

use std::io;

use crate::problem::Problem;

/// The error of an import.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file or a folder cannot be read.
    #[error("cannot read {file}: {source}")]
    Read {
        file: String,
        #[source]
        source: io::Error,
    },
    /// A file is a log of no source.
    #[error("{file} is a log of no known source: {missing}")]
    Unrecognized {
        file: String,
        /// The part that is missing.
        missing: String,
    },
    /// A file has nothing of a log of the source that was named.
    #[error("{file} is no log of {source_name}, which has `{missing}`: leave --source out, or name another ({known})")]
    NotOfSource { file: String, source_name: &'static str, missing: String, known: String },
    /// A file has no text.
    #[error("{file} is empty: leave it out")]
    Empty { file: String },
    /// There is nothing to read.
    #[error(
        "{path} has no log: files end in .json, .jsonl, .ndjson or .eval, may be compressed (.gz, .zst), and packed (.tar)"
    )]
    NoLog { path: String },
    /// A `.eval` file comes in a stream, where it cannot be read from its end.
    #[error(
        "{file} is a zip file inside of an archive or a pipe, where it cannot be read: unpack it and name the file"
    )]
    ZipInStream { file: String },
    /// A part of a log is lost, and the import is strict.
    #[error("{0}. Without --strict it is counted and left out")]
    Damage(Problem),
    /// A source that does not exist.
    #[error("there is no source `{name}`: the sources are {known}")]
    UnknownSource { name: String, known: String },
    /// A pattern of names of tools that is none.
    #[error(
        "`{pattern}` is no pattern of names: {problem}. `*` stands for any text, `?` for a character, `[ab]` for one of them"
    )]
    Pattern { pattern: String, problem: String },
    /// A router that cannot be read.
    #[error(
        "`{spec}` is no router: write TOOL=NAME_FIELDS:ARGUMENTS_FIELD, such as `execute-tool=server_name/tool_name:params`"
    )]
    Router { spec: String },
}

/// The end of an import before its time.
pub(crate) enum Stop {
    Error(ImportError),
    /// A file cannot be read.
    Io(io::Error),
    /// The receiver wants no more conversations.
    Enough,
}

impl From<ImportError> for Stop {
    fn from(error: ImportError) -> Stop {
        Stop::Error(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Io(error)
    }
}
