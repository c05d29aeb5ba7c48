//! The processes and temporary folders of this program, all of which end with it.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::folder::{ProgramFolder, delete_abandoned};
use crate::hold::{self, Lifetime};

/// The time in which killed processes end.
const KILL_TIME: Duration = Duration::from_secs(1);
/// The time between two looks at a process.
pub(crate) const LOOK: Duration = Duration::from_millis(5);

/// The owner of processes and temporary folders.
///
/// Every program is started by a process of its own that holds it, which ends the program if this one is killed. The folders are deleted
/// with the last clone of this value.
#[derive(Clone)]
pub struct Supervisor(Arc<Shared>);

impl Drop for Supervisor {
    fn drop(&mut self) {
        // The program does not end while another thread deletes the folders.
        drop(lock(&self.0.folder));
    }
}

/// A [`Supervisor`] if there is still one.
#[derive(Clone)]
pub struct WeakSupervisor(Weak<Shared>);

impl WeakSupervisor {
    /// Kills all processes and deletes all folders. Nothing can be started any more.
    pub fn kill_all(&self) {
        if let Some(shared) = self.0.upgrade() {
            Supervisor(shared).kill_all();
        }
    }
}

struct Shared {
    launcher: PathBuf,
    stop: Arc<AtomicBool>,
    /// Created with the first temporary folder.
    folder: Mutex<Option<ProgramFolder>>,
    /// By the ids of the processes; `None` if none may be started any more.
    holders: Mutex<Option<BTreeMap<u32, Holder>>>,
}

/// A process that holds a program.
pub(crate) type Holder = Arc<Mutex<Child>>;

impl Supervisor {
    /// Creates an owner, and deletes what killed programs have left. `launcher` is the executable whose command [`HOLD`](crate::HOLD) is
    /// [`hold`](fn@crate::hold). Once `stop` is true, nobody waits for a process any more.
    pub fn new(launcher: PathBuf, stop: Arc<AtomicBool>) -> Supervisor {
        delete_abandoned(&std::env::temp_dir());
        let holders = Mutex::new(Some(BTreeMap::new()));
        Supervisor(Arc::new(Shared { launcher, stop, folder: Mutex::default(), holders }))
    }

    /// Returns a reference for who does not need the processes.
    pub fn downgrade(&self) -> WeakSupervisor {
        WeakSupervisor(Arc::downgrade(&self.0))
    }

    /// Returns the flag that ends the waiting for processes.
    pub fn stop(&self) -> &Arc<AtomicBool> {
        &self.0.stop
    }

    /// Returns true if nobody waits for a process any more.
    pub fn is_stopped(&self) -> bool {
        self.0.stop.load(Ordering::Acquire)
    }

    /// Creates a temporary folder that no other user can read.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn folder(&self) -> io::Result<TempDir> {
        let mut folder = lock(&self.0.folder);
        let folder = match &mut *folder {
            Some(folder) => folder,
            none => none.insert(ProgramFolder::create(&std::env::temp_dir())?),
        };
        // Short, since the paths of sockets are.
        tempfile::Builder::new().prefix("").rand_bytes(4).tempdir_in(folder.path())
    }

    /// Kills all processes and deletes all folders. Nothing can be started any more.
    pub fn kill_all(&self) {
        let mut folder = lock(&self.0.folder);
        let holders = lock(&self.0.holders).take().unwrap_or_default();
        for holder in holders.values() {
            signal(holder, hold::KILL);
        }
        let deadline = Instant::now() + KILL_TIME;
        while holders.values().any(is_running) && Instant::now() < deadline {
            thread::sleep(LOOK);
        }
        *folder = None;
    }

    /// Starts the process that holds a program. `set_up` sets what the program gets from it: streams, variables, working directory.
    pub(crate) fn start(
        &self,
        program: &str,
        args: &[String],
        lifetime: Lifetime,
        set_up: impl FnOnce(&mut Command),
    ) -> io::Result<Holder> {
        let folder = lock(&self.0.folder).as_ref().map_or_else(PathBuf::new, |folder| folder.path().to_owned());
        let mut command = Command::new(&self.0.launcher);
        command
            .args([hold::HOLD, &std::process::id().to_string()])
            .arg(folder)
            .args([lifetime.name(), program])
            .args(args);
        set_up(&mut command);
        let mut holders = lock(&self.0.holders);
        let holders = holders.as_mut().ok_or(io::ErrorKind::Interrupted)?;
        let child = command.spawn()?;
        let id = child.id();
        let holder = Arc::new(Mutex::new(child));
        holders.insert(id, Arc::clone(&holder));
        Ok(holder)
    }

    /// Forgets a process that has ended.
    pub(crate) fn forget(&self, holder: &Holder) {
        if let Some(holders) = &mut *lock(&self.0.holders) {
            holders.remove(&lock(holder).id());
        }
    }
}

/// Sends a signal to a process, unless it has ended: another process may have its id then.
pub(crate) fn signal(holder: &Holder, signal: Signal) {
    let mut child = lock(holder);
    if let (Ok(None), Ok(id)) = (child.try_wait(), i32::try_from(child.id())) {
        let _ = kill(Pid::from_raw(id), signal);
    }
}

fn is_running(holder: &Holder) -> bool {
    matches!(lock(holder).try_wait(), Ok(None))
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
