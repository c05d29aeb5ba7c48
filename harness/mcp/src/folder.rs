//! The folder with the temporary files of a program, which is deleted even if the program is killed.
//!
//! The program, and each process that holds one of its programs, has a shared lock on a file in the folder. So a folder whose
//! lock nobody has is abandoned: the last of these processes deletes it, or the next program of the same user.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::unistd::geteuid;

/// The beginning of the folder's name. It is short, since the paths of sockets are.
const PREFIX: &str = "hb-";
/// The number of random characters after it.
const RANDOM: usize = 6;
/// The name of the file with the lock.
const LOCK: &str = "lock";
/// The attempts to delete the own folder, and the time between two.
const ATTEMPTS: usize = 10;
const PAUSE: Duration = Duration::from_millis(10);

/// The folder of this program, which is deleted with this value.
pub(crate) struct ProgramFolder {
    path: PathBuf,
    _lock: File,
}

impl ProgramFolder {
    pub(crate) fn create(temporary: &Path) -> io::Result<ProgramFolder> {
        let mode = fs::Permissions::from_mode(0o700);
        loop {
            let mut new = tempfile::Builder::new();
            let new = new.prefix(PREFIX).rand_bytes(RANDOM).permissions(mode.clone()).tempdir_in(temporary)?;
            let lock = match File::create_new(new.path().join(LOCK)) {
                // Another program took it for abandoned, since it had no lock yet.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                lock => lock?,
            };
            if has_lock(&lock)? {
                return Ok(ProgramFolder { path: new.keep(), _lock: lock });
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Locks the folder of another process, which is starting this one; `None` if that process is gone.
    pub(crate) fn share(path: &Path) -> io::Result<Option<File>> {
        match File::options().write(true).open(path.join(LOCK)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            lock => {
                let lock = lock?;
                Ok(has_lock(&lock)?.then_some(lock))
            }
        }
    }
}

impl Drop for ProgramFolder {
    fn drop(&mut self) {
        // Other threads may be deleting parts of it.
        for _ in 0..ATTEMPTS {
            delete_program_folder(&self.path);
            if !self.path.exists() {
                return;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// Takes the shared lock. Returns false if the file is being deleted.
fn has_lock(lock: &File) -> io::Result<bool> {
    match lock.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Ok(false),
        // A file system without locks: no folder on it can be known to be abandoned.
        Err(TryLockError::Error(_)) => Ok(true),
        Ok(()) => Ok(lock.metadata()?.nlink() > 0),
    }
}

/// Deletes the folders of programs that were killed.
pub(crate) fn delete_abandoned(temporary: &Path) {
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        delete_if_abandoned(&entry.path());
    }
}

/// Deletes the folder of a program if nobody has its lock.
pub(crate) fn delete_if_abandoned(folder: &Path) {
    let name = folder.file_name().and_then(OsStr::to_str);
    let random = name.and_then(|name| name.strip_prefix(PREFIX));
    // Where everybody can write, another user could replace a folder of theirs by a link at any moment.
    let is_own = |found: fs::Metadata| found.is_dir() && found.uid() == geteuid().as_raw();
    if random.is_none_or(|random| random.len() != RANDOM) || !folder.symlink_metadata().is_ok_and(is_own) {
        return;
    }
    match File::options().write(true).open(folder.join(LOCK)) {
        Ok(lock) if lock.try_lock().is_ok() => delete_program_folder(folder),
        // The program was killed before it made the lock; otherwise the folder is not empty.
        Err(error) if error.kind() == io::ErrorKind::NotFound => drop(fs::remove_dir(folder)),
        _ => {}
    }
}

/// Deletes the lock last, so that the rest is known to be abandoned if this program is killed meanwhile.
fn delete_program_folder(folder: &Path) {
    let others = || fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| entry.file_name() != LOCK);
    for entry in others() {
        delete(&entry.path());
    }
    if others().next().is_none() {
        let _ = fs::remove_file(folder.join(LOCK));
        let _ = fs::remove_dir(folder);
    }
}

/// Deletes a folder or a file, also if a program has taken the permission to write from its folders.
fn delete(path: &Path) {
    if fs::remove_dir_all(path).is_ok() || fs::remove_file(path).is_ok() {
        return;
    }
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(0o700));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(
            entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()),
        );
    }
    let _ = fs::remove_dir_all(path);
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn abandoned_folders_are_deleted_and_no_other() {
        let temporary = TempDir::new().unwrap();
        let folder = |name: &str, has_lock: bool| {
            let folder = temporary.path().join(name);
            fs::create_dir_all(folder.join("1/home")).unwrap();
            has_lock.then(|| File::create(folder.join(LOCK)).unwrap())
        };
        let own = ProgramFolder::create(temporary.path()).unwrap();
        fs::create_dir(own.path().join("1")).unwrap();
        let held = folder("hb-held00", true).unwrap();
        held.lock_shared().unwrap();
        folder("hb-killed", true);
        folder("hb-other0", false);
        folder("hb-long-name", true);
        folder("other", true);
        // Killed before there was a lock.
        fs::create_dir(temporary.path().join("hb-begun0")).unwrap();
        // A folder that programs may not write, which does not bind root.
        let read_only = temporary.path().join("hb-killed/1/home");
        fs::write(read_only.join("file"), "").unwrap();
        fs::set_permissions(&read_only, fs::Permissions::from_mode(0o500)).unwrap();
        delete_abandoned(temporary.path());
        let own_name = own.path().file_name().unwrap().to_str().unwrap().to_owned();
        let mut expected = vec!["hb-held00", "hb-long-name", "hb-other0", "other", &own_name];
        expected.sort_unstable();
        assert_eq!(names(temporary.path()), expected);
        assert_eq!(names(own.path()), ["1", LOCK]);
        drop((own, held));
        delete_abandoned(temporary.path());
        assert_eq!(names(temporary.path()), ["hb-long-name", "hb-other0", "other"]);
    }

    #[test]
    fn a_folder_that_is_being_deleted_cannot_be_locked() {
        let temporary = TempDir::new().unwrap();
        let folder = ProgramFolder::create(temporary.path()).unwrap();
        assert!(ProgramFolder::share(folder.path()).unwrap().is_some());
        let path = folder.path().to_owned();
        drop(folder);
        assert!(ProgramFolder::share(&path).unwrap().is_none());
        fs::create_dir(&path).unwrap();
        let deleting = File::create(path.join(LOCK)).unwrap();
        deleting.lock().unwrap();
        assert!(ProgramFolder::share(&path).unwrap().is_none());
    }
}
