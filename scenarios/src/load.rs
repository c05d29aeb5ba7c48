use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use healbench_protocol::fingerprint;

use crate::locate::{self, Syntax, parse};
use crate::scenario::{Scenario, Source};
use crate::{Diagnostic, lower, shape, suite};

/// Why no scenarios came of some paths.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There is no such file, folder or built-in suite.
    #[error("no file, folder or built-in suite `{path}`")]
    NotFound {
        /// The path as it was given.
        path: String,
        /// The built-in suite that may have been meant.
        nearest: Option<String>,
    },
    /// A folder without a scenario in it.
    #[error("no scenario files (*.yaml, *.yml, *.json) in `{path}`")]
    Empty {
        /// The folder.
        path: String,
    },
    /// A file or folder could not be read.
    #[error("cannot read `{path}`: {source}")]
    Unreadable {
        /// The file or folder.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file with an ending that is not a scenario's.
    #[error("`{path}` is not a scenario file (*.yaml, *.yml, *.json)")]
    Ending {
        /// The file.
        path: String,
    },
    /// Files that are not scenarios.
    #[error("{} in the scenario files", problems(diagnostics.len()))]
    Invalid {
        /// Every problem of every file, sorted by place.
        diagnostics: Vec<Diagnostic>,
        /// The texts of the files with problems, by path, for [`render_diagnostics`](crate::render_diagnostics).
        sources: BTreeMap<String, String>,
    },
}

fn problems(count: usize) -> String {
    if count == 1 { "1 problem".to_owned() } else { format!("{count} problems") }
}

impl LoadError {
    /// What to do about it, where there is something to say.
    pub fn hint(&self) -> Option<String> {
        match self {
            LoadError::NotFound { nearest: Some(name), .. } => {
                Some(format!("did you mean the built-in suite `{name}`?"))
            }
            LoadError::NotFound { nearest: None, .. } => {
                Some(format!("built-in suites: {}", suite::built_in_suites().join(", ")))
            }
            LoadError::Empty { .. } | LoadError::Ending { .. } => {
                Some("a scenario file ends in .yaml, .yml or .json".to_owned())
            }
            LoadError::Unreadable { .. } | LoadError::Invalid { .. } => None,
        }
    }
}

/// Reads one scenario from a text. `path_label` stands for the file in diagnostics.
///
/// # Errors
/// Every problem of the text, sorted by place; at least one.
pub fn load_str(path_label: &str, text: &str, syntax: Syntax) -> Result<Scenario, Vec<Diagnostic>> {
    let extension = match syntax {
        Syntax::Yaml => "yaml",
        Syntax::Json => "json",
    };
    load_text(path_label, text, syntax, extension)
}

fn load_text(label: &str, text: &str, syntax: Syntax, extension: &str) -> Result<Scenario, Vec<Diagnostic>> {
    let source = Source {
        path: label.to_owned(),
        text: text.to_owned(),
        extension: extension.to_owned(),
        sha256: fingerprint(text.as_bytes()),
    };
    let document = parse(label, without_bom(text), syntax).map_err(|diagnostic| vec![diagnostic])?;
    let misshapen = shape::check(&document);
    let mut found = misshapen.diagnostics;
    found.extend(document.duplicate_keys());
    let is_shaped = found.is_empty();
    let scenario = match lower::lower(&document, &misshapen.unknown, is_shaped, source) {
        Ok(scenario) if is_shaped => return Ok(scenario),
        Ok(_) => Vec::new(),
        Err(more) => more,
    };
    found.extend(scenario);
    found.sort();
    found.dedup();
    Err(found)
}

/// A byte order mark is no part of the text. Sources are shown without it too, or columns would be off by one.
pub(crate) fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Reads one scenario file.
///
/// # Errors
/// [`LoadError::Unreadable`], [`LoadError::Ending`], or [`LoadError::Invalid`] with every problem of the file.
pub fn load_file(path: &Path) -> Result<Scenario, LoadError> {
    let label = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|source| LoadError::Unreadable { path: label.clone(), source })?;
    load_bytes(&label, &bytes)
}

/// Reads a file's content.
pub(crate) fn load_bytes(label: &str, bytes: &[u8]) -> Result<Scenario, LoadError> {
    let extension = Path::new(label).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let syntax = syntax_of(extension).ok_or_else(|| LoadError::Ending { path: label.to_owned() })?;
    let result = match std::str::from_utf8(bytes) {
        Ok(text) => load_text(label, text, syntax, &extension.to_lowercase()),
        Err(error) => Err(vec![not_utf8(label, bytes, error.valid_up_to())]),
    };
    result.map_err(|diagnostics| {
        let text = String::from_utf8_lossy(bytes);
        let sources = BTreeMap::from([(label.to_owned(), without_bom(&text).to_owned())]);
        LoadError::Invalid { diagnostics, sources }
    })
}

pub(crate) fn not_utf8(label: &str, bytes: &[u8], valid: usize) -> Diagnostic {
    let text = String::from_utf8_lossy(&bytes[..valid]);
    let help = "save the file as UTF-8".to_owned();
    let text = without_bom(&text);
    locate::diagnostic(label, text, text.len()..text.len(), "the file is not UTF-8 from here".to_owned(), Some(help))
}

/// How a file with this ending is written.
pub(crate) fn syntax_of(extension: &str) -> Option<Syntax> {
    match extension.to_lowercase().as_str() {
        "yaml" | "yml" => Some(Syntax::Yaml),
        "json" => Some(Syntax::Json),
        _ => None,
    }
}

/// Reads scenarios: each path is a file, a folder that is searched through and through, or the name of a built-in suite
/// (which a file or folder of that name hides). The order is that of the paths, and within a folder that of the files' paths;
/// a file that is reached twice is read once.
///
/// # Errors
/// [`LoadError::NotFound`], [`LoadError::Empty`] or [`LoadError::Unreadable`] for the first path that yields nothing; else
/// [`LoadError::Invalid`] with every problem of every file, an id that two files share among them.
pub fn load_suite(paths: &[PathBuf]) -> Result<Vec<Scenario>, LoadError> {
    let mut files: Vec<suite::File> = Vec::new();
    let mut seen = BTreeSet::new();
    for path in paths {
        files.extend(suite::files(path)?.into_iter().filter(|file| seen.insert(file.label().to_owned())));
    }
    let mut scenarios: Vec<Scenario> = Vec::new();
    let mut found = Vec::new();
    let mut sources = BTreeMap::new();
    for file in &files {
        match file.load() {
            Ok(scenario) => scenarios.push(scenario),
            Err(LoadError::Invalid { diagnostics, sources: texts }) => {
                found.extend(diagnostics);
                sources.extend(texts);
            }
            Err(other) => return Err(other),
        }
    }
    shared_ids(&scenarios, &mut found, &mut sources);
    if found.is_empty() {
        return Ok(scenarios);
    }
    found.sort();
    Err(LoadError::Invalid { diagnostics: found, sources })
}

fn shared_ids(scenarios: &[Scenario], found: &mut Vec<Diagnostic>, sources: &mut BTreeMap<String, String>) {
    let mut first: BTreeMap<&str, &Scenario> = BTreeMap::new();
    for scenario in scenarios {
        let Some(other) = first.insert(&scenario.id, scenario) else { continue };
        first.insert(&scenario.id, other);
        let text = without_bom(&scenario.source.text);
        let syntax = syntax_of(&scenario.source.extension).unwrap_or(Syntax::Yaml);
        // It was parsed a moment ago.
        let Ok(document) = parse(&scenario.source.path, text, syntax) else { continue };
        let message = format!("the id `{}` is taken", scenario.id);
        let help = format!("{} has it too; an id is unique in a suite", other.source.path);
        found.push(document.at_value("/id", message, Some(help)));
        sources.insert(scenario.source.path.clone(), text.to_owned());
    }
}
