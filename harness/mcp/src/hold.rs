//! The process between this program and one that it starts.
//!
//! It ends the program on request, or when its own parent is gone, because a killed parent cannot end it. On Linux, the orphaned
//! descendants of the program become its children, in any group or session, so it ends them too. Elsewhere it ends the processes of
//! the program's group, and those whose parents still run.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::parent_id;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout, setsid};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::folder::{ProgramFolder, delete_if_abandoned};

/// The command that calls [`hold`].
pub const HOLD: &str = "hold";

/// Tells this process to end the program: its processes are asked to end, then killed.
pub(crate) const END: Signal = Signal::SIGUSR1;
/// Tells it to kill them.
pub(crate) const KILL: Signal = Signal::SIGUSR2;

/// The time that a program has to end once its input is closed.
pub(crate) const GRACE: Duration = Duration::from_millis(500);
/// The time that its processes have to end once they were asked to.
const ASKED_TIME: Duration = Duration::from_secs(1);
/// The time in which processes are killed until none is left.
const KILL_TIME: Duration = Duration::from_secs(10);
/// The time in which a program ends that was told to.
pub(crate) const END_TIME: Duration = Duration::from_secs(12);
/// The time between two looks at the parent.
const WATCH: Duration = Duration::from_millis(50);
/// The time between two looks at processes that are to end.
const LOOK: Duration = Duration::from_millis(10);

/// The exit code if the parent is gone before the program starts.
const ABANDONED: i32 = 130;
/// The exit code if that of the program is not known.
const UNKNOWN: i32 = 255;

/// Runs a program in a session of its own until none of its processes is left, and returns its exit code. If a signal ended it, the
/// same signal ends this process, which is SIGTERM if the program was told to end.
///
/// The arguments are the id of the process that waits for it, the folder of that process's temporary files, which may be empty,
/// `first` or `all` (whose end is waited for), the program, and its arguments.
///
/// # Errors
/// Those of the start. The program does not run then.
pub fn hold(args: &[OsString]) -> io::Result<i32> {
    let [parent, folder, lifetime, program, args @ ..] = args else { return Err(io::ErrorKind::InvalidInput.into()) };
    let parent: u32 = parent.to_str().and_then(|id| id.parse().ok()).unwrap_or_default();
    let folder = Some(Path::new(folder)).filter(|folder| !folder.as_os_str().is_empty());
    // It fails in the first process of a group, which a process that was started is not.
    let _ = setsid();
    let adopts = adopt_orphans();
    // Only adopted processes are known to end.
    let has_lifetime_of_all = adopts && lifetime.as_os_str() == Lifetime::AllProcesses.name();
    let folder_lock: Option<File> = match folder {
        None => None,
        Some(folder) => match ProgramFolder::share(folder)? {
            None => return Ok(ABANDONED),
            lock => lock,
        },
    };
    let mut signals = Signals::new([END as i32, KILL as i32])?;
    if parent_id() != parent {
        return Ok(ABANDONED);
    }
    let child = Command::new(program).args(args).spawn()?;
    // After the start, so that the program ignores what its caller ignores.
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        signals.add_signal(signal as i32)?;
    }
    // The caller learns from a stream that the program has closed it.
    let nowhere = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nowhere).and_then(|()| dup2_stdout(&nowhere)).and_then(|()| dup2_stderr(&nowhere))?;

    let program = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default());
    let (sender, events) = channel();
    let on_signal = sender.clone();
    thread::spawn(move || signals.forever().all(|signal| on_signal.send(Event::Signal(signal)).is_ok()));
    thread::spawn(move || wait_for_all(program, &sender));
    let (mut status, mut has_ended, mut was_told) = (None, false, false);
    let mut ending = Ending { step: Step::Running, since: Instant::now(), asked: BTreeSet::new() };
    loop {
        match events.recv_timeout(if ending.step < Step::Asked { WATCH } else { LOOK }) {
            Ok(Event::Ended(ended)) => {
                (status, has_ended, was_told) = (ended, true, ending.step >= Step::Asked);
                if !has_lifetime_of_all {
                    ending.reach(Step::Asked);
                }
                // Usually it leaves no process.
                continue;
            }
            Ok(Event::NoneLeft) if adopts => break,
            Ok(Event::Signal(signal)) => ending.reach(if signal == KILL as i32 { Step::Killed } else { Step::Asked }),
            Ok(Event::NoneLeft) | Err(_) => {}
        }
        if parent_id() != parent {
            ending.reach(Step::InputEnded);
        }
        if !ending.go_on() {
            break;
        }
        if ending.step >= Step::Asked {
            let mut left = others();
            if !has_ended {
                left.insert(program);
            } else if left.is_empty() && !adopts {
                break;
            }
            ending.signal(&left);
        }
    }
    drop(folder_lock);
    if let Some(folder) = folder.filter(|_| parent_id() != parent) {
        delete_if_abandoned(folder);
    }
    let signal = match status {
        _ if was_told || !has_ended => Signal::SIGTERM,
        Some(WaitStatus::Exited(_, code)) => return Ok(code),
        Some(WaitStatus::Signaled(_, signal, _)) => signal,
        _ => return Ok(UNKNOWN),
    };
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    let _ = emulate_default_handler(signal as i32);
    Ok(128 + signal as i32)
}

/// How long a program is held.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// Until its first process ends. All others are ended then.
    FirstProcess,
    /// Until all of its processes have ended: a server may go on in another one.
    AllProcesses,
}

impl Lifetime {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Lifetime::FirstProcess => "first",
            Lifetime::AllProcesses => "all",
        }
    }
}

/// A message of a thread of [`hold`].
enum Event {
    /// The program ended; its status may be unknown.
    Ended(Option<WaitStatus>),
    /// This process has no children.
    NoneLeft,
    /// This process got a signal.
    Signal(i32),
}

/// How far the end of a program has come.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Step {
    Running,
    /// Its input has ended, since the caller is gone.
    InputEnded,
    /// Its processes were asked to end.
    Asked,
    /// They are being killed.
    Killed,
}

/// The end of a program.
struct Ending {
    step: Step,
    since: Instant,
    /// The processes that were asked.
    asked: BTreeSet<Pid>,
}

impl Ending {
    /// Goes on to a step, or stays at a later one.
    fn reach(&mut self, step: Step) {
        if self.step < step {
            (self.step, self.since) = (step, Instant::now());
        }
    }

    /// Goes on to the next step when it is time. Returns false if there is none.
    fn go_on(&mut self) -> bool {
        let elapsed = self.since.elapsed();
        match self.step {
            Step::InputEnded if elapsed >= GRACE => self.reach(Step::Asked),
            Step::Asked if elapsed >= ASKED_TIME => self.reach(Step::Killed),
            Step::Killed => return elapsed < KILL_TIME,
            _ => {}
        }
        true
    }

    /// Asks each process once, or kills it.
    fn signal(&mut self, processes: &BTreeSet<Pid>) {
        for process in processes {
            // It may have ended meanwhile.
            if self.step == Step::Killed {
                let _ = kill(*process, Signal::SIGKILL);
            } else if self.asked.insert(*process) {
                let _ = kill(*process, Signal::SIGTERM);
            }
        }
    }
}

/// Makes the processes that the program leaves children of this one. Returns false if they cannot be.
fn adopt_orphans() -> bool {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::prctl::{set_child_subreaper, set_name};
        // Who kills all processes of the name `healbench` does not kill this one, which has work to do then.
        let _ = set_name(c"hb-hold");
        set_child_subreaper(true).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    false
}

/// Waits for the ends of all children.
fn wait_for_all(program: Pid, events: &Sender<Event>) {
    let mut has_ended = false;
    loop {
        let (status, is_none_left) = match wait() {
            Ok(status) if status.pid() == Some(program) => (Some(status), false),
            Ok(_) | Err(Errno::EINTR) => continue,
            // A process was ended by a signal without a name, such as a real-time signal.
            Err(Errno::EINVAL) if kill(program, None) == Err(Errno::ESRCH) => (None, false),
            Err(Errno::EINVAL) => continue,
            // Without its status, if ended children are not kept.
            Err(_) => (None, true),
        };
        if !std::mem::replace(&mut has_ended, true) {
            let _ = events.send(Event::Ended(status));
        }
        if is_none_left {
            let _ = events.send(Event::NoneLeft);
            return;
        }
    }
}

/// Returns the processes that descend from this one, and those of its session, which have not ended.
fn others() -> BTreeSet<Pid> {
    let own = Pid::this();
    let mut found = BTreeSet::from([own]);
    let all = processes();
    loop {
        let known = found.len();
        for process in &all {
            if found.contains(&process.parent) || process.session == own {
                found.insert(process.id);
            }
        }
        if found.len() == known {
            found.remove(&own);
            return found;
        }
    }
}

/// Kills the processes of a session whose first process is gone.
pub(crate) fn kill_session(first: u32) {
    let deadline = Instant::now() + KILL_TIME;
    loop {
        let all = processes();
        let mut left = all.iter().filter(|process| u32::try_from(process.session.as_raw()) == Ok(first)).peekable();
        if left.peek().is_none() || Instant::now() >= deadline {
            return;
        }
        left.for_each(|process| _ = kill(process.id, Signal::SIGKILL));
        thread::sleep(LOOK);
    }
}

/// A process that has not ended.
struct Process {
    id: Pid,
    parent: Pid,
    session: Pid,
}

#[cfg(target_os = "linux")]
fn processes() -> Vec<Process> {
    let process = |entry: std::fs::DirEntry| {
        let id: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name in parentheses may have blanks: state, parent, group and session follow it.
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let number = |at: usize| fields.get(at)?.parse().ok().map(Pid::from_raw);
        let process = Process { id: Pid::from_raw(id), parent: number(1)?, session: number(3)? };
        (!matches!(*fields.first()?, "Z" | "X")).then_some(process)
    };
    std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(process).collect()
}

/// In the place of sessions, which are not told everywhere, groups: this process is the first one of both.
#[cfg(not(target_os = "linux"))]
fn processes() -> Vec<Process> {
    use std::io::Read as _;
    let listed =
        Command::new("ps").args(["-A", "-o", "pid=,ppid=,pgid=,stat="]).stdout(std::process::Stdio::piped()).spawn();
    let Ok(mut ps) = listed else { return Vec::new() };
    let mut text = String::new();
    let _ = ps.stdout.take().map(|mut stdout| stdout.read_to_string(&mut text));
    // The thread that waits for all children may have done so.
    let _ = ps.wait();
    let process = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse().ok().map(Pid::from_raw);
        let process = Process { id: number(0)?, parent: number(1)?, session: number(2)? };
        (!fields.get(3)?.starts_with('Z') && process.id.as_raw() as u32 != ps.id()).then_some(process)
    };
    text.lines().filter_map(process).collect()
}
