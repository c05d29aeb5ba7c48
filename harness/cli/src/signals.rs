//! Signals that end the program: SIGINT, SIGTERM and SIGHUP.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use healbench_mcp::{Supervisor, WeakSupervisor};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::error::{CliError, ExitStatus};

const SIGNALS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// The time that a command has to end after the first signal. Its processes are killed then.
pub(crate) const LIMIT: Duration = Duration::from_millis(1400);

/// Calls `action` for each signal, in a separate thread. A signal that was ignored at the start stays ignored: `nohup` and, for
/// background jobs, shells ignore signals.
pub(crate) fn on_signal(mut action: impl FnMut() + Send + 'static) -> Result<(), CliError> {
    let failed = |source| CliError::new(format_args!("cannot install the signal handler: {source}"));
    let ignored = ignored();
    let handled = SIGNALS.into_iter().filter(|signal| !ignored.contains(signal));
    // If SIGCHLD is ignored, the exit status of processes is lost.
    let mut signals = Signals::new(handled.chain([SIGCHLD])).map_err(failed)?;
    thread::spawn(move || signals.forever().filter(|signal| *signal != SIGCHLD).for_each(|_| action()));
    Ok(())
}

/// Returns the owner of a command's processes. The first signal sets its flag; a second one, or the end of [`LIMIT`], kills the
/// processes and ends the program.
pub(crate) fn supervise() -> Result<Supervisor, CliError> {
    supervise_with(|processes| {
        thread::sleep(LIMIT);
        exit(&processes)
    })
}

/// Returns the owner of a command's processes. The first signal sets its flag and calls `after_first`, in a thread of its own; the second
/// one kills the processes and ends the program.
pub(crate) fn supervise_with(
    after_first: impl FnOnce(WeakSupervisor) + Send + 'static,
) -> Result<Supervisor, CliError> {
    let supervisor = supervisor()?;
    let (stop, processes) = (Arc::clone(supervisor.stop()), supervisor.downgrade());
    let mut after_first = Some(after_first);
    on_signal(move || {
        stop.store(true, Ordering::Release);
        let processes = processes.clone();
        match after_first.take() {
            Some(after_first) => drop(thread::spawn(move || after_first(processes))),
            None => exit(&processes),
        }
    })?;
    Ok(supervisor)
}

/// Returns an owner of processes that no signal stops.
pub(crate) fn supervisor() -> Result<Supervisor, CliError> {
    // The same file, even if another one has its path now.
    let launcher = if cfg!(target_os = "linux") { PathBuf::from("/proc/self/exe") } else { own_program()? };
    Ok(Supervisor::new(launcher, Arc::new(AtomicBool::new(false))))
}

/// Returns the status of a command, whose end a signal may have hastened.
pub(crate) fn status_of(supervisor: &Supervisor, status: ExitStatus) -> ExitStatus {
    if supervisor.is_stopped() { ExitStatus::Interrupted } else { status }
}

/// Kills all processes, and ends the program.
pub(crate) fn exit(processes: &WeakSupervisor) -> ! {
    processes.kill_all();
    std::process::exit(ExitStatus::Interrupted as i32)
}

/// Returns the path of this program, for others to start it.
pub(crate) fn own_program() -> Result<PathBuf, CliError> {
    std::env::current_exe()
        .map_err(|source| CliError::new(format_args!("cannot find healbench's own program: {source}")))
}

/// Returns the signals that are ignored.
#[cfg(target_os = "linux")]
fn ignored() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    SIGNALS.into_iter().filter(|signal| mask & 1 << (signal - 1) != 0).collect()
}

#[cfg(not(target_os = "linux"))]
fn ignored() -> Vec<i32> {
    SIGNALS.into_iter().filter(|signal| is_ignored_by_children(*signal)).collect()
}

/// Returns true if a process that is started ignores a signal, as it does if this one does.
#[cfg(any(test, not(target_os = "linux")))]
fn is_ignored_by_children(signal: i32) -> bool {
    let status = std::process::Command::new("/bin/sh").args(["-c", &format!("kill -{signal} $$; exit 0")]).status();
    status.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_known_to_be_ignored() {
        for signal in SIGNALS {
            assert_eq!(is_ignored_by_children(signal), ignored().contains(&signal), "{signal}");
        }
    }
}
