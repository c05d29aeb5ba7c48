//! Reading of runs whose files another process may replace meanwhile.

use healbench_store::{RunDir, RunDirError, RunManifest};

use crate::error::{CliError, ErrorKind};

/// Returns what is read of a run, or that it is being written if `run --resume` has replaced files meanwhile: rows of one file would
/// not be those of another.
pub(super) fn of_one_state<T>(
    run: &RunDir,
    manifest: &RunManifest,
    read: impl FnOnce() -> Result<T, CliError>,
) -> Result<T, CliError> {
    let found = read();
    match run.was_replaced(manifest) {
        true => Err(CliError::from(RunDirError::Locked(run.path().to_owned())).kind(ErrorKind::Replaced)),
        false => found,
    }
}

/// The number of times that a run is read while another process replaces its files.
const READINGS: usize = 5;

/// Executes a command that reads runs, and again if one was of two states. It prints no result before it has read them.
pub(super) fn until_one_state<T>(mut command: impl FnMut() -> Result<T, CliError>) -> Result<T, CliError> {
    let mut done = command();
    for _ in 1..READINGS {
        match done {
            Err(error) if error.kind == ErrorKind::Replaced => done = command(),
            done => return done,
        }
    }
    done
}
