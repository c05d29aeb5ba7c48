//! The file that a recording process appends to.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};

use healbench_files::private_file;

use super::CassetteError;
use super::error::io_error;
use super::file::{header, read_lines};
use super::record::Record;

const NAME: &str = "journal.jsonl";

/// The new recordings of a folder, uncompressed, in the order of arrival. The file is locked, so only one
/// process records into a folder. Dropping an empty journal removes it.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    path: PathBuf,
    /// The length of the file in bytes.
    length: u64,
}

impl Journal {
    /// Opens or creates a folder's journal, locks it, and returns its recordings, with those left by a killed process.
    pub(super) fn open(dir: &Path) -> Result<(Journal, Vec<Record>), CassetteError> {
        let path = dir.join(NAME);
        let failed = || io_error("create", &path);
        let file = loop {
            let file = private_file().create(true).append(true).open(&path).map_err(failed())?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(CassetteError::Busy(dir.into())),
                Err(TryLockError::Error(error)) => return Err(failed()(error)),
            }
            // Another process may have removed the file before it was locked here.
            if is_file_at(&file, &path).map_err(failed())? {
                break file;
            }
        };
        let (records, length) = read(dir)?;
        let mut journal = Journal { file, path, length };
        // Remove an incomplete last line, left by a process that was killed while writing it.
        journal.file.set_len(length).map_err(io_error("write", &journal.path))?;
        if length == 0 {
            journal.append(&header())?;
        }
        Ok((journal, records))
    }

    /// Appends a line in one write, so that a killed process leaves at most an incomplete last line.
    pub(super) fn append(&mut self, line: &str) -> Result<(), CassetteError> {
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            // Remove a partial line, for example after a full disk. Report the first error, not one from here.
            let _ = self.file.set_len(self.length);
            return Err(io_error("write", &self.path)(error));
        }
        self.length += line.len() as u64;
        Ok(())
    }

    /// Removes the file, whose recordings are stored elsewhere.
    pub(super) fn remove(mut self) -> Result<(), CassetteError> {
        self.file.set_len(0).map_err(io_error("write", &self.path))?;
        self.length = 0;
        Ok(())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // An open file cannot be removed on all platforms; there it stays, without recordings.
        if cfg!(unix) && self.length <= header().len() as u64 {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns the recordings in a folder's journal, and the length of its complete lines in bytes.
pub(super) fn read(dir: &Path) -> Result<(Vec<Record>, u64), CassetteError> {
    let path = dir.join(NAME);
    match healbench_files::open_regular_file(&path) {
        Ok(file) => read_lines(&path, &mut BufReader::new(file)).map(|lines| (lines.records, lines.length)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((Vec::new(), 0)),
        Err(error) => Err(io_error("read", &path)(error)),
    }
}

#[cfg(unix)]
fn is_file_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let opened = file.metadata()?;
    Ok(fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == (opened.dev(), opened.ino())))
}

#[cfg(not(unix))]
fn is_file_at(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}
