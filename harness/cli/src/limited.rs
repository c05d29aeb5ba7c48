//! Processes of this program with limited memory, for work on run directories.
//!
//! A run directory may come from anywhere. A value in it can ask for any amount of recursion, and a few
//! bytes of Parquet can stand for gigabytes; a failed allocation or a full stack ends a process at once. So commands
//! that read runs, and the pages of `healbench view`, are executed by a second process of this program. Linux limits
//! its memory; elsewhere only a time limit ends it. It also ends when its parent does, however that happens.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use signal_hook::consts::SIGTERM;
use signal_hook::low_level::raise;

use crate::error::CliError;
use crate::role::{MARK, ON_TERMINAL};
use crate::signals::LIMIT;
use crate::terminal::Terminal;

/// The memory that a process which reads runs may allocate, in bytes.
const MEMORY: u64 = 4 << 30;

/// Limits the memory of this process, in bytes.
pub(crate) fn limit_memory(most: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::resource::{Resource, setrlimit};
        // The address space is not limited: allocators and threads reserve much more of it than they use.
        setrlimit(Resource::RLIMIT_DATA, most, most)?;
    }
    Ok(())
}

/// Sets the limits of a limited process: its memory, and the life of its parent, which holds the other end of the pipe at
/// its standard input. Returns the first line of the standard input.
pub(crate) fn enter() -> io::Result<String> {
    limit_memory(MEMORY)?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        // Like a signal at the parent: a command may have something to clean up.
        let _ = raise(SIGTERM);
        thread::sleep(2 * LIMIT);
        std::process::exit(1);
    });
    Ok(line)
}

/// Returns this program, without arguments.
pub(crate) fn program() -> Command {
    // The same file, even if another one has its path now.
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new("/proc/self/exe");
        command.arg0(std::env::args_os().next().unwrap_or_else(|| "healbench".into()));
        command
    }
    #[cfg(not(target_os = "linux"))]
    Command::new(std::env::current_exe().unwrap_or_else(|_| "healbench".into()))
}

/// Executes this program's command again in a limited process, and returns its exit code. What it prints on standard error
/// follows at its end.
pub(crate) fn execute(terminal: &Terminal) -> Result<u8, CliError> {
    let mut command = program();
    command.args(std::env::args_os().skip(1));
    let ended =
        LimitedProcess::start(command, "", Stdio::inherit()).and_then(LimitedProcess::wait).map_err(process_error)?;
    if let Some(reason) = ended.failure() {
        return Err(CliError::new(reason).help(FAILURE_HELP));
    }
    terminal.errors_of_process(&ended.stderr);
    Ok(ended.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

/// The error if a limited process cannot be started.
pub(crate) fn process_error(source: io::Error) -> CliError {
    CliError::new(format_args!("cannot start the process that reads the run: {source}"))
}

/// A limited process.
pub(crate) struct LimitedProcess {
    child: Arc<Mutex<Child>>,
    stdout: Option<std::process::ChildStdout>,
    stderr: Option<std::process::ChildStderr>,
    /// The process ends when this is closed.
    stdin: Option<std::process::ChildStdin>,
}

/// The end of a limited process.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// The standard output, if it was captured.
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl LimitedProcess {
    /// Starts this program with the given arguments, and `input` as its first line of standard input.
    pub(crate) fn start(mut command: Command, input: &str, stdout: Stdio) -> io::Result<LimitedProcess> {
        let mark = if io::stderr().is_terminal() { ON_TERMINAL } else { "" };
        command.env(MARK, mark).stdin(Stdio::piped()).stdout(stdout).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let mut stdin = child.stdin.take();
        if let Some(stdin) = &mut stdin {
            // A process that has ended already does not read its input; its status says why.
            let _ = writeln!(stdin, "{input}");
        }
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Ok(LimitedProcess { child: Arc::new(Mutex::new(child)), stdout, stderr, stdin })
    }

    /// Returns a function that ends the process.
    pub(crate) fn killer(&self) -> impl Fn() + Send + 'static {
        let child = Arc::clone(&self.child);
        move || {
            let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
        }
    }

    /// Waits until the process ends.
    pub(crate) fn wait(mut self) -> io::Result<Ended> {
        let stderr = self.stderr.take();
        let errors = thread::spawn(move || read_all(stderr));
        let stdout = read_all(self.stdout.take())?;
        let stderr = errors.join().map_err(|_| io::Error::other("a thread panicked"))??;
        // Both pipes are closed: the process is ending, and the lock is held for a moment only.
        let status = self.child.lock().unwrap_or_else(PoisonError::into_inner).wait()?;
        drop(self.stdin.take());
        Ok(Ended { status, stdout, stderr })
    }
}

fn read_all(pipe: Option<impl io::Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

impl Ended {
    /// Returns the reason why the process did not end by itself, for people, if it did not.
    pub(crate) fn failure(&self) -> Option<String> {
        if self.status.code().is_some() {
            return None;
        }
        let text = String::from_utf8_lossy(&self.stderr);
        Some(if text.contains("memory allocation of") {
            format!("the files of the run need more than {} GiB of memory", MEMORY >> 30)
        } else if text.contains("overflowed its stack") {
            "a value in the files of the run is nested too deeply".to_owned()
        } else {
            format!("the process that reads the run was ended by the system: {}", self.status)
        })
    }
}

/// The advice for a [`Ended::failure`].
pub(crate) const FAILURE_HELP: &str = "a template or a file of the run is damaged or malicious";
