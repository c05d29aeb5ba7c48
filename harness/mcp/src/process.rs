//! Processes in a session of their own, which end with us: all processes of the session, whatever group they are in.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use healbench_protocol::{keep_variable, secrets};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use process_wrap::std::{ChildWrapper, CommandWrap, ProcessSession};
use tempfile::TempDir;

use crate::error::{McpError, escaped};

/// A program with its arguments and its surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCommand {
    /// The program, which is looked up in PATH if it has no `/`.
    pub program: String,
    /// The arguments.
    pub args: Vec<String>,
    /// The variables that the program is given.
    pub environment: Variables,
    /// The working directory; that of this process if `None`.
    pub dir: Option<PathBuf>,
}

/// The environment variables of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Variables {
    /// All of this process.
    Inherited,
    /// PATH, an empty HOME and TMPDIR, LANG, and these, as far as this process has them.
    Only(Vec<String>),
    /// The same, with the folders `home` and `tmp` of an existing folder, which is left as it is.
    Within {
        /// The folder.
        folder: PathBuf,
        /// The names of other variables.
        names: Vec<String>,
    },
}

impl ServerCommand {
    /// Returns the command with only the necessary variables and those named. `None` if the command is empty.
    pub fn new(command: &[String], variables: &[String]) -> Option<ServerCommand> {
        let (program, args) = command.split_first()?;
        let environment = Variables::Only(variables.to_vec());
        Some(ServerCommand { program: program.clone(), args: args.to_vec(), environment, dir: None })
    }
}

/// The bytes of the standard error that are kept.
const STDERR_BYTES: usize = 64 << 10;
/// The characters of the standard error that a message has.
const LAST_WORDS: usize = 2000;
/// The time that a process has to end once its input is closed, and then once it was asked to end.
const GRACE: Duration = Duration::from_millis(500);
/// The time in which processes are killed until none is left.
const KILL_TIME: Duration = Duration::from_secs(10);

/// A running program, whose session ends when this value is dropped.
pub struct Process {
    name: String,
    child: Box<dyn ChildWrapper>,
    /// Texts for the standard input, written by a thread of their own, since a program need not read; `None` if it is
    /// closed.
    input: Option<Sender<Vec<u8>>>,
    stderr: Arc<Stderr>,
    ended: Option<ExitStatus>,
    /// HOME and TMPDIR; deleted after the processes have ended.
    _folders: Option<TempDir>,
}

/// The end of a program's standard error.
#[derive(Default)]
struct Stderr {
    kept: Mutex<VecDeque<u8>>,
    /// True if everything was read.
    is_complete: AtomicBool,
}

/// The standard streams of a program.
pub(crate) enum Streams {
    /// Both are piped: its output is returned, and its input is written by [`Process::send`].
    Piped,
    /// There is no input, and the output is thrown away.
    Closed,
    /// Input and output are piped and left to the caller; the standard error is ours.
    Left,
    /// There is no input, and the output is piped.
    Output,
}

impl Process {
    /// Starts a program, and returns its standard output if it is piped.
    pub(crate) fn start(
        command: &ServerCommand,
        streams: &Streams,
    ) -> Result<(Process, Option<ChildStdout>), McpError> {
        let (mut process, stdin, stdout) = Process::spawn(command, streams)?;
        process.input = stdin.map(write_from_queue);
        Ok((process, stdout))
    }

    /// Starts a program whose standard error is ours, and returns its standard input and output.
    ///
    /// # Errors
    /// [`McpError::Start`].
    pub fn with_streams(command: &ServerCommand) -> Result<(Process, ChildStdin, ChildStdout), McpError> {
        match Process::spawn(command, &Streams::Left)? {
            (process, Some(stdin), Some(stdout)) => Ok((process, stdin, stdout)),
            // A piped stream is there once; nothing has taken it.
            _ => {
                let source = Arc::new(io::ErrorKind::BrokenPipe.into());
                Err(McpError::Start { program: escaped(&command.program), source })
            }
        }
    }

    /// Starts a program, and returns its standard output. Its input is written by [`Process::send`], or closed.
    ///
    /// # Errors
    /// [`McpError::Start`].
    pub fn with_output(command: &ServerCommand, has_input: bool) -> Result<(Process, Option<ChildStdout>), McpError> {
        Process::start(command, if has_input { &Streams::Piped } else { &Streams::Output })
    }

    fn spawn(
        command: &ServerCommand,
        streams: &Streams,
    ) -> Result<(Process, Option<ChildStdin>, Option<ChildStdout>), McpError> {
        let name = command.program.clone();
        let failed = |source: io::Error| McpError::Start { program: escaped(&name), source: Arc::new(source) };
        let folders = match command.environment {
            Variables::Inherited | Variables::Within { .. } => None,
            Variables::Only(_) => Some(TempDir::with_prefix("healbench-").map_err(failed)?),
        };
        let variables = variables(&command.environment, folders.as_ref().map(TempDir::path)).map_err(failed)?;
        let mut wrapped = CommandWrap::with_new(&command.program, |started| {
            started.args(&command.args);
            let piped = |is_piped: bool| if is_piped { Stdio::piped() } else { Stdio::null() };
            started.stdin(piped(matches!(streams, Streams::Piped | Streams::Left)));
            started.stdout(piped(!matches!(streams, Streams::Closed)));
            started.stderr(match streams {
                Streams::Piped | Streams::Closed | Streams::Output => Stdio::piped(),
                Streams::Left => Stdio::inherit(),
            });
            if let Some(variables) = &variables {
                started.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
            }
            if let Some(dir) = &command.dir {
                started.current_dir(dir);
            }
        });
        wrapped.wrap(ProcessSession);
        // Its session is ended as a whole, so the wrapper that waits for its group is of no use.
        let mut child = wrapped.spawn().map_err(failed)?.into_inner();
        let stderr = Arc::new(Stderr::default());
        if let Some(mut source) = child.stderr().take() {
            let kept = Arc::clone(&stderr);
            thread::spawn(move || keep_last(&mut source, &kept));
        }
        let (stdin, stdout) = (child.stdin().take(), child.stdout().take());
        Ok((Process { name, child, input: None, stderr, ended: None, _folders: folders }, stdin, stdout))
    }

    /// Queues bytes for the standard input.
    pub fn send(&self, bytes: Vec<u8>) {
        if let Some(input) = &self.input {
            // The thread ends when the program closes its input, which the output tells.
            let _ = input.send(bytes);
        }
    }

    /// Closes the standard input after everything that was queued.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Returns the exit status if the program has ended by then.
    pub fn wait_until(&mut self, deadline: Instant) -> Option<ExitStatus> {
        loop {
            if self.ended.is_none() {
                self.ended = self.child.try_wait().ok().flatten();
            }
            if self.ended.is_some() || Instant::now() >= deadline {
                return self.ended;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the end of the standard error for a message, in one line and without secrets; empty if there is none.
    pub(crate) fn last_words(&self) -> String {
        let text = secrets().mask_cut(self.stderr_text().trim_end());
        let start = text.char_indices().rev().nth(LAST_WORDS - 1).map_or(0, |(at, _)| at);
        escaped(&text[start..])
    }

    /// Returns the last 64 KiB of the standard error, which may hold secrets.
    pub fn stderr_text(&self) -> String {
        // What an ended program wrote may still be on its way; a process that it left may hold the stream for ever.
        let deadline = Instant::now() + GRACE / 2;
        while self.ended.is_some() && !self.stderr.is_complete.load(Ordering::Acquire) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(2));
        }
        let kept: Vec<u8> = self.stderr.kept.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        String::from_utf8_lossy(&kept).into_owned()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Ends all processes of the session: the input is closed, then they are asked to end, then killed.
    pub fn end(&mut self) {
        self.close_input();
        let session = self.child.id();
        self.wait_until(Instant::now() + GRACE);
        end_processes(&mut || {
            self.wait_until(Instant::now());
            processes_of(session, self.ended.is_none())
        });
    }
}

/// Asks processes to end, then kills them. `left` returns those that are left.
pub(crate) fn end_processes(left: &mut dyn FnMut() -> Vec<Pid>) {
    // A killed process may have started another one a moment before, which a later look finds.
    for (signal, most) in [(Signal::SIGTERM, GRACE), (Signal::SIGKILL, KILL_TIME)] {
        let deadline = Instant::now() + most;
        loop {
            let left = left();
            if left.is_empty() {
                return;
            }
            // The first process of a session last: it ends the others if this process is killed meanwhile.
            for process in left.into_iter().rev() {
                // It may have ended meanwhile.
                let _ = kill(process, signal);
            }
            if Instant::now() >= deadline {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// The end of a program that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramEnd {
    /// The exit status, or the signal that ended it; `None` if it did not end in time, and was ended.
    pub status: Option<ExitStatus>,
    /// The end of its standard error, escaped.
    pub last_words: String,
}

/// Runs a program without input until it ends, at most for `timeout`. Processes that it leaves are ended.
///
/// # Errors
/// [`McpError::Start`].
pub fn run_program(command: &ServerCommand, timeout: Duration) -> Result<ProgramEnd, McpError> {
    let (mut process, _) = Process::start(command, &Streams::Closed)?;
    let status = process.wait_until(Instant::now() + timeout);
    process.end();
    Ok(ProgramEnd { status, last_words: process.last_words() })
}

/// Returns the variables of a program; `None` if it inherits them.
fn variables(environment: &Variables, folder: Option<&Path>) -> io::Result<Option<Vec<(OsString, OsString)>>> {
    let (names, folder, is_new) = match (environment, folder) {
        (Variables::Only(names), Some(folder)) => (names, folder, true),
        (Variables::Within { folder, names }, _) => (names, folder.as_path(), false),
        (Variables::Inherited | Variables::Only(_), _) => return Ok(None),
    };
    let mut all: Vec<(OsString, OsString)> = Vec::new();
    for (name, subfolder) in [("HOME", "home"), ("TMPDIR", "tmp")] {
        let path = folder.join(subfolder);
        if is_new {
            std::fs::create_dir(&path)?;
        }
        all.push((name.into(), path.into()));
    }
    let inherited = ["PATH", "LANG"].into_iter().chain(names.iter().map(String::as_str));
    for name in inherited {
        if let Some(value) = std::env::var_os(name) {
            if names.iter().any(|handed_on| handed_on == name) {
                keep_variable(name, &value.to_string_lossy());
            }
            all.retain(|(known, _)| known.as_os_str() != name);
            all.push((name.into(), value));
        }
    }
    Ok(Some(all))
}

/// Writes queued texts until the program closes its input or the queue is dropped.
fn write_from_queue(mut stdin: ChildStdin) -> Sender<Vec<u8>> {
    let (sender, receiver) = mpsc::channel::<Vec<u8>>();
    thread::spawn(move || {
        for bytes in receiver {
            if stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_err() {
                return;
            }
        }
    });
    sender
}

/// Keeps the last bytes of a stream.
fn keep_last(source: &mut impl Read, stderr: &Stderr) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = source.read(&mut buffer) {
        let mut kept = stderr.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&buffer[..length]);
        let surplus = kept.len().saturating_sub(STDERR_BYTES);
        kept.drain(..surplus);
    }
    stderr.is_complete.store(true, Ordering::Release);
}

/// Returns the processes of a session that have not ended. `leader` says whether its first process still runs.
#[cfg(target_os = "linux")]
pub(crate) fn processes_of(session: u32, leader: bool) -> Vec<Pid> {
    let _ = leader;
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let process = |entry: io::Result<std::fs::DirEntry>| {
        let number: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        // The name in parentheses may have blanks: state, parent, group and session follow it.
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let is_alive = !matches!(*fields.first()?, "Z" | "X");
        (is_alive && fields.get(3)?.parse() == Ok(session)).then_some(Pid::from_raw(number))
    };
    entries.filter_map(process).collect()
}

/// Returns the process group of the first process, the only processes that other systems tell.
#[cfg(not(target_os = "linux"))]
pub(crate) fn processes_of(session: u32, leader: bool) -> Vec<Pid> {
    match (leader, i32::try_from(session)) {
        (true, Ok(number)) => vec![Pid::from_raw(-number)],
        _ => Vec::new(),
    }
}
