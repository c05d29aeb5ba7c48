//! The process between an episode and its agent program, which ends the program if the episode is gone.
//!
//! A killed process ends nothing. So an agent program is started by a process of its own, the first one of its session. It is
//! connected with a socket of the episode, and the end of this connection tells it that nobody else will end the program.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::channel;
use std::thread;

use crate::process::{end_processes, processes_of};

/// The beginning of the name of a folder that is being deleted.
pub const DELETED_PREFIX: &str = "deleted-";

/// The exit code if the program cannot be started.
const NOT_STARTED: u8 = 127;
/// The exit code if the episode is gone.
const ABANDONED: u8 = 130;

/// Deletes a folder. It gets another name first, so that a process that is killed meanwhile leaves a folder that can be known as one to delete.
pub fn delete_folder(folder: &Path) {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let renamed = folder.with_file_name(format!("{DELETED_PREFIX}{name}"));
    let folder = if std::fs::rename(folder, &renamed).is_ok() { &renamed } else { folder };
    // Somebody else may be deleting it too.
    let _ = std::fs::remove_dir_all(folder);
}

/// Runs a program in the session of this process until it ends, and returns its exit code, or 128 and the number of the signal.
/// Then, or if the connection with the socket ends, all other processes of the session are ended. If the connection ends,
/// `folder` is deleted as well.
///
/// # Errors
/// Those of the start. The program does not run then.
pub fn hold(address: &Path, folder: &Path, program: &str, args: &[String]) -> io::Result<u8> {
    let Ok(mut connection) = UnixStream::connect(address) else {
        // The episode ended before it began.
        delete_folder(folder);
        return Ok(ABANDONED);
    };
    let mut child = match Command::new(program).args(args).spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(NOT_STARTED),
        Err(error) => return Err(error),
    };
    let (sender, receiver) = channel::<Option<ExitStatus>>();
    let abandoned = sender.clone();
    thread::spawn(move || {
        let _ = connection.read(&mut [0]);
        let _ = abandoned.send(None);
    });
    thread::spawn(move || {
        let _ = sender.send(child.wait().ok());
    });
    let status = receiver.recv().ok().flatten();
    let own = std::process::id();
    end_processes(&mut || {
        let others = processes_of(own, false).into_iter();
        others.filter(|process| u32::try_from(process.as_raw()) != Ok(own)).collect()
    });
    let Some(status) = status else {
        delete_folder(folder);
        return Ok(ABANDONED);
    };
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}
