//! Output files of commands.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// Writes a file atomically: readers see either the old or the new content. Existing pipes and devices are written to
/// directly.
///
/// # Errors
/// [`CliError::write`].
pub(crate) fn write_atomically(path: &Path, text: &str) -> Result<(), CliError> {
    write_file(path, text).map_err(|source| CliError::write(path, &source))
}

fn write_file(path: &Path, text: &str) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            return fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes());
        }
        // A symbolic link is kept; its target is replaced.
        Ok(_) => return write_and_rename(&fs::canonicalize(path)?, text),
        Err(_) => {}
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    write_and_rename(path, text)
}

fn write_and_rename(path: &Path, text: &str) -> io::Result<()> {
    // Another process may write the same file, so the temporary name contains the process id.
    let mut temp_path = path.as_os_str().to_owned();
    temp_path.push(format!(".{}.part", std::process::id()));
    let temp_path = PathBuf::from(temp_path);
    let write = || -> io::Result<()> {
        let mut file = fs::File::create(&temp_path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temp_path, path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&temp_path)))
}
