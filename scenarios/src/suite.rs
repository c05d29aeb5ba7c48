use std::borrow::Cow;
use std::path::{Path, PathBuf};

use healbench_text::nearest_name;
use include_dir::Dir;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::built_in::{ALL_FAMILIES, FAMILIES, SUITES, built_in_suites};
use crate::load_error::LoadError;
use crate::locate::syntax_of;

/// The generated schema is in the same folder as scenarios but is not one.
const SCHEMA_FILE: &str = "scenario.schema.json";

/// A larger file is no list of tools.
const MAX_LIST_BYTES: u64 = 64 << 20;

/// A scenario file to load.
pub(crate) enum SuiteFile {
    OnDisk {
        path: PathBuf,
        label: String,
    },
    BuiltIn {
        label: String,
        bytes: &'static [u8],
    },
    /// A variant of a file.
    Variant {
        path: PathBuf,
        variant: String,
    },
}

impl SuiteFile {
    /// Returns the path used in diagnostics.
    pub(crate) fn label(&self) -> Cow<'_, str> {
        match self {
            SuiteFile::OnDisk { label, .. } | SuiteFile::BuiltIn { label, .. } => label.into(),
            SuiteFile::Variant { path, variant } => format!("{}#{variant}", path.display()).into(),
        }
    }

    fn on_disk(path: PathBuf) -> SuiteFile {
        SuiteFile::OnDisk { label: path.display().to_string(), path }
    }
}

/// Returns the scenario files of a path, sorted; at least one.
pub(crate) fn find_files(path: &Path) -> Result<Vec<SuiteFile>, LoadError> {
    let label = path.display().to_string();
    if path.is_dir() {
        let mut paths = Vec::new();
        walk(path, &mut paths)?;
        paths.sort();
        return match paths.is_empty() {
            true => Err(LoadError::Empty { path: label }),
            false => Ok(paths.into_iter().map(SuiteFile::on_disk).collect()),
        };
    }
    if path.exists() {
        return Ok(vec![SuiteFile::on_disk(path.to_owned())]);
    }
    if let Some((file, variant)) = label.rsplit_once('#')
        && Path::new(file).is_file()
    {
        return Ok(vec![SuiteFile::Variant { path: file.into(), variant: variant.to_owned() }]);
    }
    let name = label.trim_end_matches('/');
    if built_in_suites().contains(&name) {
        return Ok(built_in(name));
    }
    if name == ALL_FAMILIES {
        return Ok(FAMILIES.into_iter().flat_map(built_in).collect());
    }
    if let Some(file) = built_in_scenario(name) {
        return Ok(vec![file]);
    }
    let ids: Vec<&str> = built_in_ids().map(|(id, _)| id).collect();
    let nearest = nearest_name(name, built_in_suites().into_iter().chain([ALL_FAMILIES]).chain(ids)).map(str::to_owned);
    Err(LoadError::NotFound { path: label, nearest })
}

fn built_in(name: &str) -> Vec<SuiteFile> {
    let mut files: Vec<SuiteFile> = Vec::new();
    let mut dirs: Vec<&Dir<'_>> = SUITES.get_dir(name).into_iter().collect();
    while let Some(dir) = dirs.pop() {
        dirs.extend(dir.dirs());
        for file in dir.files().filter(|file| is_scenario(file.path())) {
            let label = format!("built-in:{}", file.path().display());
            files.push(SuiteFile::BuiltIn { label, bytes: file.contents() });
        }
    }
    files.sort_by(|a, b| a.label().cmp(&b.label()));
    files
}

/// Returns the built-in scenario with an id.
fn built_in_scenario(wanted: &str) -> Option<SuiteFile> {
    built_in_ids().find(|(id, _)| *id == wanted).map(|(_, file)| file)
}

/// Returns the id of each built-in scenario, which is on a line of its own.
fn built_in_ids() -> impl Iterator<Item = (&'static str, SuiteFile)> {
    let files = built_in_suites().into_iter().flat_map(built_in);
    files.filter_map(|file| {
        let SuiteFile::BuiltIn { bytes, .. } = &file else { return None };
        let text: &'static str = std::str::from_utf8(bytes).ok()?;
        let id = text.lines().find_map(|line| line.strip_prefix("id:"))?.trim();
        Some((id, file))
    })
}

fn walk(dir: &Path, paths: &mut Vec<PathBuf>) -> Result<(), LoadError> {
    let unreadable = |source| LoadError::Unreadable { path: dir.display().to_string(), source };
    for entry in std::fs::read_dir(dir).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        // Other programs keep copies and settings under hidden names: `.ipynb_checkpoints`, `.github`.
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = entry.path();
        // The type of the entry itself: links to folders are not followed, so a cycle of links cannot cause an endless
        // search.
        if entry.file_type().map_err(unreadable)?.is_dir() {
            walk(&path, paths)?;
        } else if path.is_file() && is_scenario(&path) && !is_list_of_tools(&path) {
            paths.push(path);
        }
    }
    Ok(())
}

/// Returns true if a file is a list of the tools of a server, which `new --from-server` writes beside a scenario.
fn is_list_of_tools(path: &Path) -> bool {
    /// The tools of a scenario are a map.
    #[derive(Deserialize)]
    struct ToolList {
        #[serde(rename = "tools")]
        _tools: Vec<IgnoredAny>,
    }
    let is_small = || path.metadata().is_ok_and(|metadata| metadata.len() <= MAX_LIST_BYTES);
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    is_json && is_small() && std::fs::read(path).is_ok_and(|bytes| serde_json::from_slice::<ToolList>(&bytes).is_ok())
}

fn is_scenario(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    syntax_of(extension).is_some() && path.file_name().is_some_and(|name| name != SCHEMA_FILE)
}
