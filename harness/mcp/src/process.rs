//! Programs that end with this one, and all processes that they leave.

use std::collections::VecDeque;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use healbench_text::{keep_variable, secrets};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::error::{McpError, escaped};
use crate::hold::{self, GRACE, Lifetime};
use crate::supervisor::{Holder, LOOK, Supervisor, lock, signal};

/// A program with its arguments and its surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCommand {
    /// The program, which is looked up in PATH if it has no `/`.
    pub program: String,
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
/// The bytes of its beginning that are kept besides.
const FIRST_BYTES: usize = 4 << 10;
/// The characters of the standard error that a message has.
const WORDS: usize = 2000;
/// The number of them that are the first ones, if not all are shown: programs that are used wrongly give the reason before their usage.
const FIRST_WORDS: usize = 600;
/// The time between two looks at the flag that ends the waiting.
pub(crate) const WATCH: Duration = Duration::from_millis(50);

/// A running program, which ends when this value is dropped, and all of its processes with it.
pub struct Process {
    name: String,
    supervisor: Supervisor,
    /// The process that holds the program. It ends as the program did, once no process is left.
    holder: Holder,
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
    /// Its beginning; empty as long as `kept` has everything.
    first: Mutex<Vec<u8>>,
    /// True if everything was read.
    is_complete: AtomicBool,
}

/// The standard streams of a program.
pub(crate) enum Streams {
    /// Both are piped: its output is returned, and its input is written by [`Process::send`].
    Piped,
    /// The same, as long as any of its processes runs.
    Session,
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
        supervisor: &Supervisor,
        command: &ServerCommand,
        streams: &Streams,
    ) -> Result<(Process, Option<ChildStdout>), McpError> {
        let (mut process, stdin, stdout) = Process::spawn(supervisor, command, streams)?;
        process.input = stdin.map(write_from_queue);
        Ok((process, stdout))
    }

    /// Starts a program whose standard error is ours, and returns its standard input and output.
    ///
    /// # Errors
    /// [`McpError::Start`].
    pub fn with_streams(
        supervisor: &Supervisor,
        command: &ServerCommand,
    ) -> Result<(Process, ChildStdin, ChildStdout), McpError> {
        match Process::spawn(supervisor, command, &Streams::Left)? {
            (process, Some(stdin), Some(stdout)) => Ok((process, stdin, stdout)),
            // A piped stream is there once; nothing has taken it.
            _ => Err(not_started(&command.program, io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Starts a program, and returns its standard output. Its input is written by [`Process::send`], or closed.
    ///
    /// # Errors
    /// [`McpError::Start`].
    pub fn with_output(
        supervisor: &Supervisor,
        command: &ServerCommand,
        has_input: bool,
    ) -> Result<(Process, Option<ChildStdout>), McpError> {
        Process::start(supervisor, command, if has_input { &Streams::Piped } else { &Streams::Output })
    }

    fn spawn(
        supervisor: &Supervisor,
        command: &ServerCommand,
        streams: &Streams,
    ) -> Result<(Process, Option<ChildStdin>, Option<ChildStdout>), McpError> {
        let name = command.program.clone();
        let failed = |source: io::Error| not_started(&name, source);
        let folders = match command.environment {
            Variables::Inherited | Variables::Within { .. } => None,
            Variables::Only(_) => Some(supervisor.folder().map_err(failed)?),
        };
        let variables = variables(&command.environment, folders.as_ref().map(TempDir::path)).map_err(failed)?;
        let path = match &variables {
            Some(variables) => variables.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone()),
            None => env::var_os("PATH"),
        };
        check_program(&name, path.as_deref(), command.dir.as_deref()).map_err(failed)?;
        let lifetime = match streams {
            Streams::Session => Lifetime::AllProcesses,
            _ => Lifetime::FirstProcess,
        };
        let holder = supervisor.start(&name, &command.args, lifetime, |started| {
            let piped = |is_piped: bool| if is_piped { Stdio::piped() } else { Stdio::null() };
            started.stdin(piped(matches!(streams, Streams::Piped | Streams::Session | Streams::Left)));
            started.stdout(piped(!matches!(streams, Streams::Closed)));
            started.stderr(match streams {
                Streams::Piped | Streams::Session | Streams::Closed | Streams::Output => Stdio::piped(),
                Streams::Left => Stdio::inherit(),
            });
            if let Some(variables) = variables {
                started.env_clear().envs(variables);
            }
            if let Some(dir) = &command.dir {
                started.current_dir(dir);
            }
        });
        let holder = match holder {
            Err(_) if supervisor.is_stopped() => return Err(McpError::Stopped),
            holder => holder.map_err(failed)?,
        };
        let (stdin, stdout, source) = {
            let mut child = lock(&holder);
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        };
        let stderr = Arc::new(Stderr::default());
        if let Some(mut source) = source {
            let kept = Arc::clone(&stderr);
            thread::spawn(move || keep_last(&mut source, &kept));
        }
        let supervisor = supervisor.clone();
        let process = Process { name, supervisor, holder, input: None, stderr, ended: None, _folders: folders };
        Ok((process, stdin, stdout))
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
                self.ended = lock(&self.holder).try_wait().ok().flatten();
            }
            if self.ended.is_some() || Instant::now() >= deadline {
                return self.ended;
            }
            thread::sleep(LOOK);
        }
    }

    /// Waits like [`Process::wait_until`], unless nobody waits for processes any more.
    fn wait(&mut self, deadline: Instant) -> Option<ExitStatus> {
        loop {
            let status = self.wait_until(deadline.min(Instant::now() + WATCH));
            if status.is_some() || self.supervisor.is_stopped() || Instant::now() >= deadline {
                return status;
            }
        }
    }

    /// Ends all processes, and returns the exit status if the program itself had ended before.
    pub(crate) fn own_end(&mut self) -> Option<ExitStatus> {
        signal(&self.holder, hold::END);
        let status = self.wait_until(Instant::now() + hold::END_TIME);
        status.filter(|status| status.signal() != Some(Signal::SIGTERM as i32))
    }

    /// Fails once nobody waits for processes any more.
    pub(crate) fn check_stop(&self) -> Result<(), McpError> {
        if self.supervisor.is_stopped() { Err(McpError::Stopped) } else { Ok(()) }
    }

    /// Returns the standard error for a message, in one line and without secrets: all of it, or its first and last lines. Empty if there
    /// is none.
    pub(crate) fn last_words(&self) -> String {
        let mask = |text: &str| secrets().mask_cut(text.trim_end());
        let text = mask(&self.stderr_text());
        let first = lock(&self.stderr.first).clone();
        let first = if first.is_empty() { text.clone() } else { mask(&String::from_utf8_lossy(&first)) };
        if first == text && text.chars().count() <= WORDS {
            return escaped(&text);
        }
        let end = first.char_indices().nth(FIRST_WORDS).map_or(first.len(), |(at, _)| at);
        let start = text.char_indices().rev().nth(WORDS - FIRST_WORDS - 1).map_or(0, |(at, _)| at);
        // Whole lines, unless one is too long.
        let first = first[..end].rsplit_once('\n').map_or(&first[..end], |(lines, _)| lines);
        let last = text[start..].split_once('\n').map_or(&text[start..], |(_, lines)| lines);
        format!("{} … {}", escaped(first), escaped(last))
    }

    /// Returns the last 64 KiB of the standard error, which may hold secrets.
    pub fn stderr_text(&self) -> String {
        // What an ended program wrote may still be on its way; a process that it left may hold the stream for ever.
        let deadline = Instant::now() + GRACE / 2;
        while self.ended.is_some() && !self.stderr.is_complete.load(Ordering::Acquire) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(2));
        }
        let kept: Vec<u8> = lock(&self.stderr.kept).iter().copied().collect();
        String::from_utf8_lossy(&kept).into_owned()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Ends the program and all processes that it left: its input is closed, then they are asked to end, then killed.
    pub fn end(&mut self) {
        self.close_input();
        if self.wait(Instant::now() + GRACE).is_none() {
            signal(&self.holder, hold::END);
            self.wait_until(Instant::now() + hold::END_TIME);
        }
        // The program may have killed the process that holds it.
        if self.ended.is_none_or(|status| status.signal() == Some(Signal::SIGKILL as i32)) {
            hold::kill_session(lock(&self.holder).id());
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
        self.supervisor.forget(&self.holder);
    }
}

fn not_started(program: &str, source: io::Error) -> McpError {
    McpError::Start { program: escaped(program), source: Arc::new(source) }
}

/// Checks that a program can be executed: a path, relative to `dir`, or a name without `/` in one of the folders of `path`.
///
/// # Errors
/// The error that its start would give.
pub fn check_program(program: &str, path: Option<&OsStr>, dir: Option<&Path>) -> io::Result<()> {
    let here = dir.unwrap_or(Path::new(""));
    let candidates: Vec<PathBuf> = match program.contains('/') {
        true => vec![here.join(program)],
        // What the system searches without a PATH.
        false => env::split_paths(path.unwrap_or(OsStr::new("/bin:/usr/bin")))
            .map(|folder| here.join(folder).join(program))
            .collect(),
    };
    let found: Vec<_> = candidates.iter().filter_map(|path| path.metadata().ok()).collect();
    let is_executable = |found: &std::fs::Metadata| found.is_file() && found.permissions().mode() & 0o111 != 0;
    match found.iter().any(is_executable) {
        true => Ok(()),
        false if found.is_empty() || program.is_empty() => Err(Errno::ENOENT.into()),
        false => Err(Errno::EACCES.into()),
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
/// [`McpError::Start`], and [`McpError::Stopped`] if nobody waits for processes any more.
pub fn run_program(
    supervisor: &Supervisor,
    command: &ServerCommand,
    timeout: Duration,
) -> Result<ProgramEnd, McpError> {
    let (mut process, _) = Process::start(supervisor, command, &Streams::Closed)?;
    let status = process.wait(Instant::now() + timeout);
    process.check_stop()?;
    // It may have ended, and left a process that has not.
    let status = status.or_else(|| process.own_end());
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
        if let Some(value) = env::var_os(name) {
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
        let mut kept = lock(&stderr.kept);
        kept.extend(&buffer[..length]);
        let surplus = kept.len().saturating_sub(STDERR_BYTES);
        let mut first = lock(&stderr.first);
        if surplus > 0 && first.is_empty() {
            first.extend(kept.iter().take(FIRST_BYTES));
        }
        kept.drain(..surplus);
    }
    stderr.is_complete.store(true, Ordering::Release);
}
