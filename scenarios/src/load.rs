use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use healbench_files::normal_text;
use healbench_text::nearest_name;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::compile::Stored;
use crate::diagnostic::{MAX_PROBLEMS, in_order};
use crate::load_error::LoadError;
use crate::locate::{self, Document, Syntax, parse, syntax_of};
use crate::scenario::Scenario;
use crate::source::{Source, VariantSource};
use crate::suite::{SuiteFile, find_files};
use crate::variants::{Expanded, variants};
use crate::{Diagnostic, compile, shape};

/// Parses a scenario. `path_label` is the file name used in diagnostics.
///
/// # Errors
/// Returns all problems, sorted by position; at least one. A file with several variants is one.
pub fn load_str(path_label: &str, text: &str, syntax: Syntax) -> Result<Scenario, Vec<Diagnostic>> {
    only(load_text(path_label, text, syntax, syntax.extension(), None)?)
}

/// Like [`load_str`], for all variants of a file, in their order.
///
/// # Errors
/// As [`load_str`].
pub fn load_variants(path_label: &str, text: &str, syntax: Syntax) -> Result<Vec<Scenario>, Vec<Diagnostic>> {
    load_text(path_label, text, syntax, syntax.extension(), None)
}

/// Like [`load_str`], for a scenario that was stored with the text of its server's tools, which are not read from their file.
///
/// # Errors
/// As [`load_str`].
pub fn load_stored(
    path_label: &str,
    text: &str,
    syntax: Syntax,
    tools: Option<&str>,
) -> Result<Scenario, Vec<Diagnostic>> {
    only(load_text(path_label, text, syntax, syntax.extension(), Some(Stored { tools }))?)
}

fn only(mut scenarios: Vec<Scenario>) -> Result<Scenario, Vec<Diagnostic>> {
    match (scenarios.pop(), scenarios.as_slice()) {
        (Some(scenario), []) => Ok(scenario),
        (last, others) => {
            let path = last.map_or_else(String::new, |last| last.source.path);
            let message = format!("this file has {} scenarios", others.len() + 1);
            Err(vec![locate::diagnostic(&path, "", 0..0, message, Some(format!("name one of them: `{path}`")))])
        }
    }
}

fn load_text(
    label: &str,
    text: &str,
    syntax: Syntax,
    extension: &str,
    stored: Option<Stored<'_>>,
) -> Result<Vec<Scenario>, Vec<Diagnostic>> {
    let text = normal_text(text);
    let source = |path: String, text: String, extension: &str| Source {
        sha256: Source::hash(&text, None),
        extension: extension.to_owned(),
        path,
        text,
        variant: None,
    };
    let mut document = parse(label, &text, syntax).map_err(|diagnostic| vec![diagnostic])?;
    let Some(variants) = variants(&document)? else {
        return load_document(&document, stored, source(label.to_owned(), text.to_string(), extension))
            .map(|one| vec![one]);
    };
    let (path, author_text): (Arc<str>, Arc<str>) = (Arc::from(label), Arc::from(&*text));
    let (mut scenarios, mut problems) = (Vec::new(), BTreeMap::<Diagnostic, Vec<String>>::new());
    let count = variants.len();
    for Expanded { name, content, places } in variants {
        // A run stores what stands for itself.
        let written = format!("{content:#}\n");
        (document.value, document.places) = (content, places);
        let variant =
            VariantSource { name: name.clone(), path: Arc::clone(&path), text: Arc::clone(&author_text), syntax };
        let source = source(format!("{label}#{name}"), written, Syntax::Json.extension());
        match load_document(&document, stored, Source { variant: Some(variant), ..source }) {
            Ok(scenario) => scenarios.push(scenario),
            Err(found) => {
                for problem in found {
                    problems.entry(problem).or_default().push(name.clone());
                }
            }
        }
    }
    if problems.is_empty() {
        return Ok(scenarios);
    }
    // What is wrong in all variants is not of one of them.
    let named = |(problem, names): (Diagnostic, Vec<String>)| match names.len() == count {
        true => problem,
        false => problem.of_variants(&names),
    };
    Err(in_order(problems.into_iter().map(named).collect()))
}

fn load_document(
    document: &Document<'_>,
    stored: Option<Stored<'_>>,
    source: Source,
) -> Result<Scenario, Vec<Diagnostic>> {
    let shape_errors = shape::check(document);
    let mut all_diagnostics = shape_errors.diagnostics;
    all_diagnostics.extend(document.duplicate_keys().take(MAX_PROBLEMS));
    let is_shaped = all_diagnostics.is_empty();
    let compile_errors = match compile::compile(document, &shape_errors.unknown_keys, is_shaped, stored, source) {
        Ok(scenario) if is_shaped => return Ok(scenario),
        Ok(_) => Vec::new(),
        Err(more) => more,
    };
    all_diagnostics.extend(compile_errors);
    if all_diagnostics.is_empty() {
        // Whatever makes a file invalid says so. Should it not, the file must not vanish.
        let message = "internal error: the file is not valid, and nothing says why";
        all_diagnostics.push(document.at_value("", message.to_owned(), None));
    }
    Err(in_order(all_diagnostics))
}

/// Loads a scenario file with one scenario.
///
/// # Errors
/// Returns [`LoadError::Unreadable`], [`LoadError::Extension`], or [`LoadError::Invalid`] with all problems of the
/// file.
pub fn load_file(path: &Path) -> Result<Scenario, LoadError> {
    let scenarios = load_path(path)?;
    only(scenarios).map_err(|diagnostics| LoadError::Invalid { diagnostics, sources: BTreeMap::new() })
}

fn load_path(path: &Path) -> Result<Vec<Scenario>, LoadError> {
    let label = path.display().to_string();
    let bytes = healbench_files::read_file(path, healbench_files::MAX_WRITTEN_BYTES)
        .map_err(|source| LoadError::Unreadable { path: label.clone(), source })?;
    load_bytes(&label, &bytes)
}

/// Parses the content of a file.
fn load_bytes(label: &str, bytes: &[u8]) -> Result<Vec<Scenario>, LoadError> {
    let extension = Path::new(label).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let syntax = syntax_of(extension).ok_or_else(|| LoadError::Extension { path: label.to_owned() })?;
    let result = match std::str::from_utf8(bytes) {
        Ok(text) => load_text(label, text, syntax, &extension.to_lowercase(), None),
        Err(error) => Err(vec![not_utf8(label, bytes, error.valid_up_to())]),
    };
    result.map_err(|diagnostics| {
        let text = String::from_utf8_lossy(bytes);
        let sources = BTreeMap::from([(label.to_owned(), normal_text(&text).into_owned())]);
        LoadError::Invalid { diagnostics, sources }
    })
}

pub(crate) fn not_utf8(label: &str, bytes: &[u8], valid: usize) -> Diagnostic {
    let text = String::from_utf8_lossy(&bytes[..valid]);
    let help = "save the file as UTF-8".to_owned();
    let text = normal_text(&text);
    locate::diagnostic(label, &text, text.len()..text.len(), "the file is not UTF-8 from here".to_owned(), Some(help))
}

fn load_suite_file(file: &SuiteFile) -> Result<Vec<Scenario>, LoadError> {
    match file {
        SuiteFile::OnDisk { path, .. } => load_path(path),
        SuiteFile::BuiltIn { label, bytes } => load_bytes(label, bytes),
        SuiteFile::Variant { path, variant } => {
            let wanted = format!("{}#{variant}", path.display());
            let mut all = load_path(path)?;
            let names: Vec<String> = all.iter().map(|scenario| scenario.source.path.clone()).collect();
            all.retain(|scenario| scenario.source.path == wanted);
            let nearest = nearest_name(&wanted, names.iter().map(String::as_str)).map(str::to_owned);
            if all.is_empty() { Err(LoadError::NotFound { path: wanted, nearest }) } else { Ok(all) }
        }
    }
}

/// Loads scenarios. Each path is a file, a folder, which is searched recursively, or the name of a built-in suite or the id of one of its
/// scenarios (unless a file or folder has that name). `FILE#VARIANT` is one variant of a file. Scenarios are in the order of the paths and, within a folder, of the files'
/// paths. A file that is reached twice is loaded once.
///
/// # Errors
/// Returns [`LoadError::NotFound`], [`LoadError::Empty`] or [`LoadError::Unreadable`] for the first path without
/// scenarios, or [`LoadError::Invalid`] with all problems of all files, including ids that occur twice.
pub fn load_suite(paths: &[PathBuf]) -> Result<Vec<Scenario>, LoadError> {
    let mut files: Vec<SuiteFile> = Vec::new();
    let mut seen = BTreeSet::new();
    for path in paths {
        files.extend(find_files(path)?.into_iter().filter(|file| seen.insert(file.label().into_owned())));
    }
    let mut scenarios: Vec<Scenario> = Vec::new();
    let mut paths_loaded = BTreeSet::new();
    let mut all_diagnostics = Vec::new();
    let mut sources = BTreeMap::new();
    let loaded: Vec<_> = files.par_iter().map(load_suite_file).collect();
    for result in loaded {
        match result {
            // One variant may be named beside its file.
            Ok(loaded) => {
                scenarios.extend(loaded.into_iter().filter(|one| paths_loaded.insert(one.source.path.clone())))
            }
            Err(LoadError::Invalid { diagnostics, sources: texts }) => {
                all_diagnostics.extend(diagnostics);
                sources.extend(texts);
            }
            Err(other) => return Err(other),
        }
    }
    report_duplicate_ids(&scenarios, &mut all_diagnostics, &mut sources);
    if all_diagnostics.is_empty() {
        return Ok(scenarios);
    }
    all_diagnostics.sort();
    Err(LoadError::Invalid { diagnostics: all_diagnostics, sources })
}

fn report_duplicate_ids(
    scenarios: &[Scenario],
    all_diagnostics: &mut Vec<Diagnostic>,
    sources: &mut BTreeMap<String, String>,
) {
    let mut first: BTreeMap<&str, &Scenario> = BTreeMap::new();
    for scenario in scenarios {
        let former = scenario.renamed_from.iter().map(|former| ("/renamed_from", &*former.id));
        for (at, id) in std::iter::once(("/id", &*scenario.id)).chain(former) {
            let Some(other) = first.insert(id, scenario) else { continue };
            first.insert(id, other);
            // The text was parsed without errors before.
            let Some(document) = scenario.source.author_document() else { continue };
            let message = format!("the id `{id}` is taken");
            let help = format!("{} has it too; an id is unique in a suite", other.source.path);
            all_diagnostics.push(document.at_value(at, message, Some(help)));
            let (path, text) = scenario.source.written();
            sources.insert(path.to_owned(), text.to_owned());
        }
    }
}
