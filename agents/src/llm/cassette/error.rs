use std::io;
use std::path::{Path, PathBuf};

use super::VERSION;

/// Why recordings cannot be read or kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// There is no such folder.
    #[error("there is no folder of recordings at `{}`", .0.display())]
    Missing(PathBuf),
    /// The folder has no recordings in it.
    #[error("there are no recordings in `{}`", .0.display())]
    Empty(PathBuf),
    /// A file is not one of ours.
    #[error("`{}` is no file of recordings: its first line is no header of one", .0.display())]
    Foreign(PathBuf),
    /// Another version of healbench wrote a file.
    #[error("`{}` has format {found} of recordings; this program reads {VERSION}", path.display())]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// The format that was found.
        found: u64,
    },
    /// A file has another name than its header asks for.
    #[error("`{}` would have to be named `{expected}`", path.display())]
    Misnamed {
        /// The file.
        path: PathBuf,
        /// The name for what is in it.
        expected: String,
    },
    /// A file is damaged.
    #[error("`{}`{} is damaged: {reason}", path.display(), line.map(|line| format!(", line {line},")).unwrap_or_default())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1, of the unpacked file; null when it cannot be unpacked.
        line: Option<usize>,
        /// What is wrong.
        reason: String,
    },
    /// A model was recorded from another server.
    #[error("`{model}` is recorded in `{}` from {recorded_url}, and would now be asked at {requested_url}", path.display())]
    OtherServer {
        /// The folder.
        path: PathBuf,
        /// The model.
        model: String,
        /// The base URL that it was recorded from.
        recorded_url: String,
        /// The base URL of its settings.
        requested_url: String,
    },
    /// A request that cannot be kept.
    #[error("a request of {model} has a body that is no JSON object")]
    NotAnObject {
        /// The model.
        model: String,
    },
    /// The file system refused.
    #[error("cannot {operation} `{}`: {source}", path.display())]
    Io {
        /// `read`, `write`, `create` or `remove`.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl CassetteError {
    /// The way out, where one can be told.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            CassetteError::Missing(_) | CassetteError::Empty(_) => Some("record with `healbench run --record DIR`"),
            CassetteError::Foreign(_) => Some("keep other files out of the folder, or give them another ending"),
            CassetteError::OtherVersion { .. } => {
                Some("use the version of healbench that recorded it, or record again")
            }
            CassetteError::Misnamed { .. } => Some("rename it; of two files for one model, remove one"),
            CassetteError::Damaged { .. } => Some("take it from version control again, or remove it and record again"),
            CassetteError::OtherServer { .. } => Some(
                "record models of the same name from different servers in different folders; if it is the same server that moved, change servers.json",
            ),
            CassetteError::NotAnObject { .. } | CassetteError::Io { .. } => None,
        }
    }
}

pub(super) fn io_error(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CassetteError + use<> {
    let path = path.to_path_buf();
    move |source| CassetteError::Io { operation, path, source }
}
