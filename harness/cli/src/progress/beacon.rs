//! The progress of runs on a disk of another machine, beside their destination.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use healbench_core::Shards;
use healbench_store::Progress;
use serde::{Deserialize, Serialize};

use crate::models::host_name;

const SUFFIX: &str = ".running.json";

/// A hidden file beside the destination of a run. Removed on drop.
pub(crate) struct Beacon {
    path: PathBuf,
    shards: Option<Shards>,
}

/// The contents of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BeaconFile {
    /// The machine, if its name is known.
    host: Option<String>,
    /// The process on it.
    pid: u32,
    /// The shards that are run.
    pub(crate) shards: Option<Shards>,
    /// Their progress.
    pub(crate) progress: Progress,
}

impl Beacon {
    pub(crate) fn new(destination: &Path, shards: Option<Shards>) -> Beacon {
        let mut name = OsString::from(".");
        name.push(destination.file_name().unwrap_or_default());
        name.push(SUFFIX);
        Beacon { path: destination.with_file_name(name), shards }
    }

    pub(super) fn write(&self, progress: &Progress) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let (host, pid) = (host_name(), std::process::id());
        let file = BeaconFile { host, pid, shards: self.shards.clone(), progress: progress.clone() };
        let partial = self.path.with_extension("part");
        fs::write(&partial, serde_json::to_vec(&file)?)?;
        fs::rename(&partial, &self.path)
    }
}

impl Drop for Beacon {
    fn drop(&mut self) {
        // An old file is ignored by its age.
        let _ = fs::remove_file(&self.path);
    }
}

impl BeaconFile {
    /// Returns true if the process is known to have ended: it was on this machine, and is not there any more.
    pub(crate) fn has_ended(&self) -> bool {
        let is_here = self.host.is_some() && self.host == host_name();
        is_here && cfg!(target_os = "linux") && !Path::new("/proc").join(self.pid.to_string()).exists()
    }

    /// Returns the path of the destination and the contents of all files in a folder, sorted by name.
    pub(crate) fn in_folder(folder: &Path) -> io::Result<Vec<(PathBuf, BeaconFile)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(stem) = name.strip_prefix('.').and_then(|name| name.strip_suffix(SUFFIX)) else { continue };
            // A file that is just being removed or was cut off says nothing.
            let text = healbench_files::read_file(&entry.path(), healbench_files::MAX_WRITTEN_BYTES);
            if let Some(file) = text.ok().and_then(|text| serde_json::from_slice(&text).ok()) {
                found.push((folder.join(stem), file));
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }
}
