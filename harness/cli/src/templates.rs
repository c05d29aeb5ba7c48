//! The processes that compile and render templates. A template can ask for any amount of memory, time or stack, and only a process
//! can be ended without harm to this one.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use healbench_engine::{TemplateHost, TemplateServer};

use crate::error::{CliError, ExitStatus};
use crate::limited;

/// The memory that a process may allocate, in bytes.
const MEMORY: u64 = 256 << 20;
/// The time in which a request is answered.
const TIME: Duration = Duration::from_secs(10);
/// The argument of a process whose memory is limited already.
const IS_LIMITED: &str = "--limited";

/// Processes that render templates: one for each thread that does so at the same time, started when it is needed.
pub(crate) struct TemplateProcesses {
    command: fn() -> Command,
    time: Duration,
    idle: Mutex<Vec<TemplateProcess>>,
}

impl TemplateProcesses {
    /// Creates the processes of this program.
    pub(crate) fn of_this_program() -> TemplateProcesses {
        let command = || {
            let mut command = limited::program();
            command.arg("templates").env_clear();
            command
        };
        TemplateProcesses { command, time: TIME, idle: Mutex::default() }
    }
}

struct TemplateProcess {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<String>,
}

impl TemplateHost for TemplateProcesses {
    fn ask(&self, request: &str) -> Result<String, String> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut process = match idle {
            Some(process) => process,
            None => TemplateProcess::start((self.command)())
                .map_err(|error| format!("its process cannot be started: {error}"))?,
        };
        let answer = process.ask(request, self.time)?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
        Ok(answer)
    }
}

impl TemplateProcess {
    fn start(mut command: Command) -> io::Result<TemplateProcess> {
        // Ctrl-C is for this process, which may have texts to render before it ends.
        command.process_group(0);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (Some(requests), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let (sender, answers) = channel();
        thread::spawn(move || {
            for answer in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(answer).is_err() {
                    return;
                }
            }
        });
        Ok(TemplateProcess { child, requests, answers })
    }

    /// Returns the answer to a request. After an error the process is of no use.
    fn ask(&mut self, request: &str, time: Duration) -> Result<String, String> {
        // A process that has ended does not read; its answers end too.
        let _ = self.requests.write_all(request.as_bytes()).and_then(|()| self.requests.write_all(b"\n"));
        self.answers.recv_timeout(time).map_err(|error| match error {
            RecvTimeoutError::Timeout => format!("it takes more than {} s", time.as_secs()),
            RecvTimeoutError::Disconnected => self.end(),
        })
    }

    /// Returns the reason why the process has ended.
    fn end(&mut self) -> String {
        let mut words = Vec::new();
        if let Some(stderr) = self.child.stderr.take() {
            let _ = stderr.take(1 << 10).read_to_end(&mut words);
        }
        let words = String::from_utf8_lossy(&words);
        if words.contains("memory allocation of") {
            format!("it needs more than {} MiB of memory", MEMORY >> 20)
        } else if words.contains("overflowed its stack") {
            "a value is nested too deeply".to_owned()
        } else {
            "its process has ended".to_owned()
        }
    }
}

impl Drop for TemplateProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Answers the requests of [`TemplateProcesses`] until they end.
pub(crate) fn serve_templates(is_limited: bool) -> Result<ExitStatus, CliError> {
    limited::limit_memory(MEMORY).map_err(limited::process_error)?;
    if !is_limited {
        // The allocator has reserved more than that; in a new program it reserves what it gets.
        let error = limited::program().args(["templates", IS_LIMITED]).exec();
        return Err(limited::process_error(error));
    }
    let (sender, requests) = sync_channel::<String>(1);
    thread::spawn(move || {
        for request in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(request).is_err() {
                return;
            }
        }
        // The other process has ended, and a request may take for ever.
        std::process::exit(0);
    });
    let mut server = TemplateServer::default();
    let mut out = io::stdout().lock();
    for request in requests {
        let answer = server.answer(&request);
        writeln!(out, "{answer}").and_then(|()| out.flush()).map_err(CliError::stdout)?;
    }
    Ok(ExitStatus::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processes(command: fn() -> Command) -> TemplateProcesses {
        TemplateProcesses { command, time: Duration::from_secs(60), idle: Mutex::default() }
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_process_answers_until_it_cannot() {
        let processes = processes(|| shell("while read -r request; do echo \"$$ $request\"; done"));
        let answers = ["a", "b"].map(|request| processes.ask(request).unwrap());
        let process = answers[0].strip_suffix(" a").unwrap();
        assert_eq!(answers[1], format!("{process} b"), "the same process");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert!(processes.ask("c").unwrap().ends_with(" c")));
            }
        });
        assert!(processes.idle.lock().unwrap().len() <= 8);
    }

    #[test]
    fn the_end_of_a_process_is_a_reason_and_the_next_one_answers() {
        for (script, time, reason) in [
            ("exec sleep 1000", 1, "it takes more than 1 s"),
            ("echo memory allocation of 9 bytes failed >&2; kill -ABRT $$", 60, "it needs more than 256 MiB of memory"),
            ("echo thread main has overflowed its stack >&2; kill -ABRT $$", 60, "a value is nested too deeply"),
            ("exit 1", 60, "its process has ended"),
        ] {
            let mut process = TemplateProcess::start(shell(&format!("read -r request; {script}"))).unwrap();
            assert_eq!(process.ask("a", Duration::from_secs(time)), Err(reason.to_owned()), "{script}");
        }
        let processes = processes(|| shell("read -r request; echo $request; read -r request; exit 1"));
        let answers = ["a", "b", "c"].map(|request| processes.ask(request));
        assert_eq!(answers, [Ok("a".to_owned()), Err("its process has ended".to_owned()), Ok("c".to_owned())]);
    }
}
