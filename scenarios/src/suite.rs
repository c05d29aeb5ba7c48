use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

use crate::load::{LoadError, load_bytes, load_file, syntax_of};
use crate::scenario::Scenario;
use crate::suggest;

static SUITES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/suites");

/// The generated schema lies beside scenarios and is none.
const SCHEMA_FILE: &str = "scenario.schema.json";

/// The names of the suites that are built into the program, sorted.
pub fn built_in_suites() -> Vec<&'static str> {
    let mut names: Vec<&str> = SUITES.dirs().filter_map(|dir| dir.path().to_str()).collect();
    names.sort_unstable();
    names
}

/// A scenario file that is to be read.
pub(crate) enum File {
    OnDisk { path: PathBuf, label: String },
    BuiltIn { label: String, bytes: &'static [u8] },
}

impl File {
    /// The path, for diagnostics.
    pub(crate) fn label(&self) -> &str {
        match self {
            File::OnDisk { label, .. } | File::BuiltIn { label, .. } => label,
        }
    }

    pub(crate) fn load(&self) -> Result<Scenario, LoadError> {
        match self {
            File::OnDisk { path, .. } => load_file(path),
            File::BuiltIn { label, bytes } => load_bytes(label, bytes),
        }
    }

    fn on_disk(path: PathBuf) -> File {
        File::OnDisk { label: path.display().to_string(), path }
    }
}

/// The scenario files that a path stands for, sorted; at least one.
pub(crate) fn files(path: &Path) -> Result<Vec<File>, LoadError> {
    let label = path.display().to_string();
    if path.is_dir() {
        let mut paths = Vec::new();
        walk(path, &mut paths)?;
        paths.sort();
        return match paths.is_empty() {
            true => Err(LoadError::Empty { path: label }),
            false => Ok(paths.into_iter().map(File::on_disk).collect()),
        };
    }
    if path.exists() {
        return Ok(vec![File::on_disk(path.to_owned())]);
    }
    let name = label.trim_end_matches('/');
    if built_in_suites().contains(&name) {
        return Ok(built_in(name));
    }
    let nearest = suggest::nearest(name, built_in_suites()).map(str::to_owned);
    Err(LoadError::NotFound { path: label, nearest })
}

fn built_in(name: &str) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    let mut dirs: Vec<&Dir<'_>> = SUITES.get_dir(name).into_iter().collect();
    while let Some(dir) = dirs.pop() {
        dirs.extend(dir.dirs());
        for file in dir.files().filter(|file| is_scenario(file.path())) {
            let label = format!("built-in:{}", file.path().display());
            files.push(File::BuiltIn { label, bytes: file.contents() });
        }
    }
    files.sort_by(|a, b| a.label().cmp(b.label()));
    files
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) -> Result<(), LoadError> {
    let unreadable = |source| LoadError::Unreadable { path: dir.display().to_string(), source };
    for entry in std::fs::read_dir(dir).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        // The entry's own type: a link to a folder is not followed, so that a loop of links cannot hang the search.
        if entry.file_type().map_err(unreadable)?.is_dir() {
            walk(&path, found)?;
        } else if path.is_file() && is_scenario(&path) {
            found.push(path);
        }
    }
    Ok(())
}

fn is_scenario(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    syntax_of(ending).is_some() && path.file_name().is_some_and(|name| name != SCHEMA_FILE)
}
