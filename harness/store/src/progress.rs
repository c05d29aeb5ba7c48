use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::directory::io_error;
use crate::{RunDir, RunDirError};
use healbench_core::Outcome;

/// `progress.json`: the progress of a run. The file exists while the run is in progress; after a kill, its contents are
/// outdated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The number of finished episodes.
    pub done: u64,
    /// The number of planned episodes.
    pub total: u64,
    /// Episodes per second since the run was started or resumed; null until one is finished.
    pub per_second: Option<f64>,
    /// The estimated remaining seconds at that rate; null if unknown.
    pub eta_s: Option<f64>,
    /// The cost of models so far in US dollars; null if a price or usage is unknown, or if no model is paid.
    pub usd: Option<f64>,
    /// The known part of the cost, if `usd` is null because some of it is unknown.
    pub usd_at_least: Option<f64>,
    /// The number of episodes by outcome, without successes; only outcomes that occurred.
    pub failures: BTreeMap<Outcome, u64>,
    /// The servers of models that requests wait for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<ServerWait>,
    /// The time of writing, in seconds since 1970.
    pub updated_unix_s: u64,
}

/// A wait before a request is sent again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerWait {
    /// The agent whose server is waited for.
    pub agent: String,
    /// The remaining seconds.
    pub seconds: u64,
    /// The failure of the request.
    pub reason: String,
}

impl RunDir {
    fn progress_file(&self) -> PathBuf {
        self.path().join("progress.json")
    }

    /// Returns the last written progress; `None` if there is none.
    pub fn progress(&self) -> Option<Progress> {
        serde_json::from_slice(
            &healbench_files::read_file(&self.progress_file(), healbench_files::MAX_WRITTEN_BYTES).ok()?,
        )
        .ok()
    }

    /// Writes the progress atomically.
    ///
    /// # Errors
    /// [`RunDirError::Io`].
    pub fn write_progress(&self, progress: &Progress) -> Result<(), RunDirError> {
        let file = self.progress_file();
        let partial = self.path().join("progress.json.part");
        // Not flushed to disk: after a crash of the machine, the progress is useless anyway.
        let write = || -> io::Result<()> {
            healbench_files::create_own_file(&partial)?.write_all(&serde_json::to_vec(progress)?)?;
            fs::rename(&partial, &file)
        };
        write().map_err(io_error("write", &file))
    }

    /// Removes the progress when the run ends. A missing file is not an error.
    ///
    /// # Errors
    /// [`RunDirError::Io`].
    pub fn remove_progress(&self) -> Result<(), RunDirError> {
        let file = self.progress_file();
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", &file)(error)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_round_trips_and_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::at(folder.path());
        assert_eq!(run.progress(), None);
        let progress = Progress {
            done: 3,
            total: 10,
            per_second: Some(0.5),
            eta_s: Some(14.0),
            usd: None,
            usd_at_least: Some(0.25),
            failures: BTreeMap::from([(Outcome::GaveUp, 1), (Outcome::TaskFail, 1)]),
            waits: vec![ServerWait { agent: "model:a".to_owned(), seconds: 9, reason: "HTTP 429".to_owned() }],
            updated_unix_s: 1_700_000_000,
        };
        run.write_progress(&progress).unwrap();
        assert_eq!(run.progress(), Some(progress));
        let text = fs::read_to_string(folder.path().join("progress.json")).unwrap();
        assert!(text.contains(r#""usd":null"#) && text.contains(r#"{"task_fail":1,"gave_up":1}"#), "{text}");
        run.remove_progress().unwrap();
        run.remove_progress().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::write(folder.path().join("progress.json"), "{\"done\": 3").unwrap();
        assert_eq!(run.progress(), None);
    }

    #[test]
    fn is_locked_does_not_take_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::at(folder.path());
        assert!(!run.is_locked());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a look leaves nothing behind");
        let lock = run.lock().unwrap();
        assert!(run.is_locked());
        drop(lock);
        assert!(!run.is_locked());
        drop(run.lock().unwrap());
    }
}
