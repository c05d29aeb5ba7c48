//! The option `--output FORM[=FILE]`, which may be repeated.

use std::fs;
use std::path::{Path, PathBuf};

use crate::args::Output;
use crate::error::CliError;
use crate::output::write_atomically;
use crate::terminal::Terminal;

/// Rejects two reports for standard output, and files that are folders, equal, also read, or files of a run.
pub(super) fn check<'p, R>(outputs: &[Output<R>], inputs: impl Iterator<Item = &'p Path>) -> Result<(), CliError> {
    check_with_folders(outputs, inputs, |_| false)
}

/// Does the same where some forms are written into folders.
pub(super) fn check_with_folders<'p, R>(
    outputs: &[Output<R>],
    inputs: impl Iterator<Item = &'p Path>,
    is_folder: impl Fn(&R) -> bool,
) -> Result<(), CliError> {
    let to_stdout = outputs.iter().filter(|output| output.file.is_none()).count();
    if to_stdout > 1 {
        return Err(CliError::new(format_args!("{to_stdout} reports cannot all go to standard output"))
            .help("name files, as in `--output json=FILE`"));
    }
    let mut used_paths: Vec<PathBuf> = inputs.map(resolve_path).collect();
    for output in outputs {
        let Some(file) = output.file.as_deref() else { continue };
        let path = resolve_path(file);
        // All files in a run directory that is read are reserved.
        let refuse = |why: &str| {
            Err(CliError::new(format_args!("`--output` cannot write `{}`: {why}", file.display()))
                .help("name another file"))
        };
        if used_paths.iter().any(|used| path.starts_with(used) || used.starts_with(&path)) {
            return refuse("it is an input, or the output of another option");
        }
        if is_file_of_run(&path) {
            return refuse("it is a file of a run");
        }
        if file.is_dir() && !is_folder(&output.renderer) {
            return refuse("it is a folder");
        }
        used_paths.push(path);
    }
    Ok(())
}

/// Returns true for a file that the manifest of a run lists, and for the manifest.
pub(super) fn is_file_of_run(path: &Path) -> bool {
    let path = resolve_path(path);
    path.ancestors().skip(1).take(2).any(|folder| {
        let Ok(text) = healbench_files::read_text_file(&folder.join(MANIFEST), healbench_files::MAX_GENERATED_BYTES)
        else {
            return false;
        };
        let Ok(manifest) = serde_json::from_str::<serde_json::Value>(&text) else { return false };
        let name = path.strip_prefix(folder).map(|name| name.to_string_lossy().replace('\\', "/")).unwrap_or_default();
        manifest["format_version"].is_number() && (name == MANIFEST || manifest["files"].get(&name).is_some())
    })
}

/// The name of a run's manifest.
const MANIFEST: &str = "manifest.json";

/// Resolves a path, which need not exist.
fn resolve_path(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let resolved = path.ancestors().find_map(|known| {
        let rest = path.strip_prefix(known).ok()?;
        let known = fs::canonicalize(known).ok()?;
        // Joining nothing would add a separator.
        Some(if rest.as_os_str().is_empty() { known } else { known.join(rest) })
    });
    resolved.unwrap_or(path)
}

/// Writes a report in each of the forms that were asked for, or prints it in the default form. `render` is told whether the
/// text is printed. Nothing is written unless all forms are there.
pub(super) fn write<R: Copy>(
    outputs: &[Output<R>],
    default: R,
    terminal: &Terminal,
    render: impl Fn(R, bool) -> Result<String, CliError>,
) -> Result<(), CliError> {
    if outputs.is_empty() {
        return terminal.result(&render(default, true)?);
    }
    let texts = outputs.iter().map(|output| render(output.renderer, output.file.is_none()));
    let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
    for (output, text) in outputs.iter().zip(texts) {
        match &output.file {
            None => terminal.result(&text)?,
            Some(path) => write_atomically(path, &text)?,
        }
    }
    Ok(())
}
