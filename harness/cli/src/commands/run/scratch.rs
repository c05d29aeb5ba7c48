//! Runs that are written on a disk of the machine, and moved to their destination at the end.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use healbench_files::private_file;
use healbench_store::{RunDir, RunManifest};

use crate::error::CliError;

/// Files that only the process that writes a run needs.
const TRANSIENT: [&str; 2] = [".lock", "progress.json"];

/// A run in a scratch folder, and its destination.
pub(super) struct Scratch {
    /// The folder of this process, with the run in it.
    folder: tempfile::TempDir,
    /// The path of the run in the scratch folder.
    pub(super) run: PathBuf,
    /// Where the run is moved at the end.
    pub(super) destination: PathBuf,
}

impl Scratch {
    /// Creates a folder for a run with this destination.
    pub(super) fn create(scratch: &Path, destination: &Path) -> Result<Scratch, CliError> {
        let failed = |source| CliError::write(scratch, &source);
        fs::create_dir_all(scratch).map_err(failed)?;
        let folder = tempfile::Builder::new().prefix("healbench-").tempdir_in(scratch).map_err(failed)?;
        let destination = std::path::absolute(destination).map_err(|source| CliError::write(destination, &source))?;
        Ok(Scratch { run: folder.path().join("run"), destination, folder })
    }

    /// Copies a run to be resumed from its destination.
    pub(super) fn copy_from_destination(&self) -> Result<(), CliError> {
        copy_folder(&self.destination, &self.run).map_err(|source| CliError::read(&self.destination, &source))
    }

    /// Copies the run next to its destination, and renames it: other processes see the whole run or none of it. A run that was
    /// resumed replaces its earlier state.
    pub(super) fn publish(self) -> Result<(RunDir, RunManifest), CliError> {
        let destination = self.destination.clone();
        let moved = self.copy_and_rename().map_err(|source| {
            // Nothing that was run is lost.
            let kept = self.folder.keep().join("run");
            CliError::write(&destination, &source).help(format!("the run is in `{}`", kept.display()))
        });
        moved?;
        Ok(RunDir::open_any(&destination)?)
    }

    fn copy_and_rename(&self) -> io::Result<()> {
        if let Some(parent) = self.destination.parent() {
            fs::create_dir_all(parent)?;
        }
        let (part, old) = (self.beside("part"), self.beside("old"));
        copy_folder(&self.run, &part).inspect_err(|_| drop(fs::remove_dir_all(&part)))?;
        if self.destination.exists() {
            fs::rename(&self.destination, &old)?;
            fs::rename(&part, &self.destination).inspect_err(|_| drop(fs::rename(&old, &self.destination)))?;
            fs::remove_dir_all(&old)
        } else {
            fs::rename(&part, &self.destination)
        }
    }

    /// Returns a hidden name beside the destination that no other process uses.
    fn beside(&self, purpose: &str) -> PathBuf {
        let mut name = OsString::from(".");
        name.push(self.destination.file_name().unwrap_or_default());
        name.push(".");
        // Unique on this machine, and random enough for others.
        name.push(self.folder.path().file_name().unwrap_or_default());
        name.push(format!(".{purpose}"));
        self.destination.with_file_name(name)
    }
}

/// Copies a folder with its folders, and syncs its files to disk.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if TRANSIENT.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        match entry.file_type()? {
            kind if kind.is_dir() => copy_folder(&entry.path(), &target)?,
            kind if kind.is_file() => {
                let mut file = private_file().write(true).create(true).truncate(true).open(&target)?;
                io::copy(&mut File::open(entry.path())?, &mut file)?;
                file.sync_all()?;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_move_keeps_both_states() {
        let dir = tempfile::tempdir().unwrap();
        let destination = dir.path().join("runs/one");
        fs::create_dir_all(&destination).unwrap();
        fs::write(destination.join("manifest.json"), "old").unwrap();
        let scratch = Scratch::create(&dir.path().join("scratch"), &destination).unwrap();
        scratch.copy_from_destination().unwrap();
        fs::write(scratch.run.join("manifest.json"), "new").unwrap();
        fs::write(scratch.run.join(".lock"), "").unwrap();
        // A file in the place of the copy.
        fs::write(scratch.beside("part"), "").unwrap();
        let error = scratch.publish().unwrap_err();
        assert_eq!(fs::read_to_string(destination.join("manifest.json")).unwrap(), "old");
        let help = error.help.unwrap();
        let kept = help.split('`').nth(1).unwrap();
        assert_eq!(fs::read_to_string(Path::new(kept).join("manifest.json")).unwrap(), "new");

        let scratch = Scratch::create(&dir.path().join("scratch"), &destination).unwrap();
        scratch.copy_from_destination().unwrap();
        fs::write(scratch.run.join("manifest.json"), "newer").unwrap();
        fs::write(scratch.run.join(".lock"), "").unwrap();
        let folder = scratch.folder.path().to_owned();
        // The text is no manifest, which is noticed only after the move.
        scratch.publish().unwrap_err();
        assert_eq!(fs::read_to_string(destination.join("manifest.json")).unwrap(), "newer");
        assert!(!folder.exists() && !destination.join(".lock").exists());
    }
}
