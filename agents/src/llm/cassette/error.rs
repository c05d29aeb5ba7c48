use std::io;
use std::path::{Path, PathBuf};

use super::VERSION;

/// An error in reading or writing recordings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// The folder does not exist.
    #[error("there is no folder of recordings at `{}`", .0.display())]
    Missing(PathBuf),
    /// The folder contains no recordings.
    #[error("there are no recordings in `{}`", .0.display())]
    Empty(PathBuf),
    /// The file is not a recording file.
    #[error("`{}` is no file of recordings: its first line is no header of one", .0.display())]
    Foreign(PathBuf),
    /// The file was written by an incompatible version of healbench.
    #[error("`{}` has format {found} of recordings; this program reads {VERSION}", path.display())]
    OtherVersion {
        path: PathBuf,
        /// The format version of the file.
        found: u64,
    },
    /// The file name does not match the header.
    #[error("`{}` would have to be named `{expected}`", path.display())]
    Misnamed {
        path: PathBuf,
        /// The file name that matches the header.
        expected: String,
    },
    /// A file is damaged.
    #[error("`{}`, line {line}, is damaged: {reason}", path.display())]
    Damaged {
        path: PathBuf,
        /// The line of the decompressed file, from 1. Every line after the first one is a recording.
        line: usize,
        reason: String,
    },
    /// Another process records into the folder.
    #[error("another process records into `{}`", .0.display())]
    Busy(PathBuf),
    /// The model was recorded from another server.
    #[error("`{model}` is recorded in `{}` from {recorded_url}, and would now be asked at {requested_url}", path.display())]
    OtherServer {
        path: PathBuf,
        model: String,
        /// The base URL of the recordings.
        recorded_url: String,
        /// The base URL in the current settings.
        requested_url: String,
    },
    /// An operation of the file system failed.
    #[error("cannot {operation} `{}`: {source}", path.display())]
    Io {
        /// `read`, `write`, `create` or `remove`.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl CassetteError {
    /// Returns advice on how to fix the problem, if there is any.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            CassetteError::Missing(_) | CassetteError::Empty(_) => Some("record with `healbench run --record DIR`"),
            CassetteError::Foreign(_) => Some("keep other files out of the folder, or give them another ending"),
            CassetteError::OtherVersion { .. } => {
                Some("use the version of healbench that recorded it, or record again")
            }
            CassetteError::Misnamed { .. } => Some("rename it; of two files for one model, remove one"),
            CassetteError::Damaged { .. } => {
                Some("take it from version control again, or remove that line and record it again")
            }
            CassetteError::Busy(_) => Some("wait until it ends, or record into another folder"),
            CassetteError::OtherServer { .. } => Some(
                "record models of the same name from different servers in different folders; if it is the same server that moved, change servers.json",
            ),
            CassetteError::Io { .. } => None,
        }
    }
}

pub(super) fn io_error(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CassetteError + use<> {
    let path = path.to_path_buf();
    move |source| CassetteError::Io { operation, path, source }
}
