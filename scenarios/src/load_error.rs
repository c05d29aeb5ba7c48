use std::collections::BTreeMap;

use crate::Diagnostic;
use crate::built_in::built_in_suites;

/// The reason why scenarios could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There is no file, folder, built-in suite or built-in scenario with this name.
    #[error("no file, folder, built-in suite or built-in scenario `{path}`")]
    NotFound {
        /// The path as given.
        path: String,
        /// The built-in suite or scenario with the most similar name, if any.
        nearest: Option<String>,
    },
    /// The folder contains no scenario files.
    #[error("no scenario files (*.yaml, *.yml, *.json) in `{path}`")]
    Empty { path: String },
    /// A file or folder cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Unreadable {
        /// The file or folder.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file's extension is not one of a scenario file.
    #[error("`{path}` is not a scenario file (*.yaml, *.yml, *.json)")]
    Extension { path: String },
    /// Files are not valid scenarios.
    #[error("{} in the scenario files", problem_count(diagnostics.len()))]
    Invalid {
        /// All problems of all files, sorted by position.
        diagnostics: Vec<Diagnostic>,
        /// The texts of the files with problems, by path, for [`render_diagnostics`](crate::render_diagnostics).
        sources: BTreeMap<String, String>,
    },
}

fn problem_count(count: usize) -> String {
    if count == 1 { "1 problem".to_owned() } else { format!("{count} problems") }
}

impl LoadError {
    /// Returns advice on how to fix the problem, if there is any.
    pub fn help(&self) -> Option<String> {
        match self {
            LoadError::NotFound { nearest: Some(name), .. } => Some(format!("did you mean the built-in `{name}`?")),
            LoadError::NotFound { nearest: None, .. } => {
                Some(format!("built-in suites: {}", built_in_suites().join(", ")))
            }
            LoadError::Empty { .. } | LoadError::Extension { .. } => {
                Some("a scenario file ends in .yaml, .yml or .json".to_owned())
            }
            LoadError::Unreadable { .. } | LoadError::Invalid { .. } => None,
        }
    }
}
