//! The option `--output FORM[=FILE]`, which may be repeated.

use std::fs;
use std::path::{Path, PathBuf};

use crate::args::Output;
use crate::error::CliError;
use crate::output::write_atomically;
use crate::terminal::Terminal;

/// Rejects two reports for standard output, and output paths that are equal or that are also read.
pub(super) fn check<'p, R>(outputs: &[Output<R>], inputs: impl Iterator<Item = &'p Path>) -> Result<(), CliError> {
    let to_stdout = outputs.iter().filter(|output| output.file.is_none()).count();
    if to_stdout > 1 {
        return Err(CliError::new(format_args!("{to_stdout} reports cannot all go to standard output"))
            .help("name files, as in `--output junit=results.xml`"));
    }
    let mut used_paths: Vec<PathBuf> = inputs.map(resolve_path).collect();
    for file in outputs.iter().filter_map(|output| output.file.as_deref()) {
        // All files in a run directory that is read are reserved.
        if used_paths.iter().any(|used| resolve_path(file).starts_with(used)) {
            return Err(CliError::new(format_args!(
                "`--output` cannot write `{}`: it is an input, or the output of another option",
                file.display()
            )));
        }
        used_paths.push(resolve_path(file));
    }
    Ok(())
}

/// Resolves a path, which need not exist.
fn resolve_path(path: &Path) -> PathBuf {
    let in_parent = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(fs::canonicalize(folder).ok()?.join(path.file_name()?))
    };
    fs::canonicalize(path).ok().or_else(in_parent).unwrap_or_else(|| path.to_owned())
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
