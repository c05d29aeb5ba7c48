use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use healbench_mcp::Supervisor;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use healbench_text::{looks_like_secret, names_secret, secrets_in_url};

use crate::error::{CliError, ExitStatus};
use crate::terminal::Terminal;

/// Refuses a command of `--on-complete` that holds a key, since manifests and job scripts store the command line.
pub(crate) fn check(command: Option<&str>) -> Result<(), CliError> {
    if !command.is_some_and(holds_key) {
        return Ok(());
    }
    Err(CliError::new("the command of `--on-complete` holds what looks like a key, and would be stored with the run")
        .help("name a variable in it, in single quotes so that it is read when the command runs: '... $TOKEN ...'"))
}

/// The authentication schemes that precede a key in a header.
const SCHEMES: [&str; 4] = ["basic", "bearer", "digest", "token"];

fn holds_key(command: &str) -> bool {
    // The shell that started this process may have put the value of a variable into the command.
    let is_value = |(name, value): (String, String)| {
        names_secret(&name) && value.trim().len() >= 8 && command.contains(value.trim())
    };
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    if { variables }.any(is_value) {
        return true;
    }
    let is_key = |value: &str| !value.is_empty() && !value.starts_with(['$', '<', '-', '|', '&', ';']);
    // The name of the value that a word is.
    let mut name = "";
    command
        .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '(' | ')'))
        .filter(|word| !word.is_empty())
        .any(|word| {
            let (own_name, value) = match word.split_once(['=', ':']) {
                Some((own, value)) if !word.contains("://") => (own, value),
                _ => (name, word),
            };
            let is_scheme = SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme));
            let found = (names_secret(own_name) && is_key(value) && !is_scheme)
                || (word.contains("://") && secrets_in_url(word).iter().any(|secret| is_key(secret)))
                || looks_like_secret(word);
            name = match (is_scheme, value.is_empty() || word.starts_with('-')) {
                (true, _) if names_secret(name) => name,
                (false, true) => own_name_of(word),
                _ => "",
            };
            found
        })
}

/// Returns the name that a word gives to the next one: an option, or a header.
fn own_name_of(word: &str) -> &str {
    if word.contains('=') { "" } else { word.trim_end_matches(':') }
}

/// The time between two looks at the command.
const WATCH: Duration = Duration::from_millis(20);
/// The time that it has to end once it was asked to.
const GRACE: Duration = Duration::from_millis(500);

/// Runs the command of `--on-complete` with the run's directory in `HEALBENCH_RUN`. What it prints goes to stderr. A signal ends it.
pub(crate) fn on_complete(
    command: Option<&str>,
    run: &Path,
    supervisor: &Supervisor,
    terminal: &Terminal,
) -> Result<ExitStatus, CliError> {
    let Some(command) = command else { return Ok(ExitStatus::Success) };
    terminal.note(&format!("on complete: {command}"));
    let path = std::path::absolute(run).map_err(|source| CliError::read(run, &source))?;
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("HEALBENCH_RUN", &path).stdin(Stdio::null()).stdout(io::stderr());
    let failed = |reason: String, status: ExitStatus| {
        CliError::new(format_args!("the run is complete, but the command of `--on-complete` failed: {reason}"))
            .help(format!("run it again with HEALBENCH_RUN={}", path.display()))
            .status(status)
    };
    let lost = |source: io::Error| failed(source.to_string(), ExitStatus::Incomplete);
    // A group of its own, so that all of its processes are ended.
    let mut child = shell.process_group(0).spawn().map_err(lost)?;
    loop {
        if supervisor.is_stopped() {
            end(&mut child).map_err(lost)?;
            return Err(failed("interrupted".to_owned(), ExitStatus::Interrupted));
        }
        match child.try_wait().map_err(lost)? {
            Some(status) if status.success() => return Ok(ExitStatus::Success),
            Some(status) => return Err(failed(status.to_string(), ExitStatus::Incomplete)),
            None => thread::sleep(WATCH),
        }
    }
}

/// Asks the processes of a group to end, then kills them.
fn end(first: &mut Child) -> io::Result<()> {
    let group = Pid::from_raw(i32::try_from(first.id()).unwrap_or(i32::MAX));
    let deadline = Instant::now() + GRACE;
    // It may have ended already.
    let _ = killpg(group, Signal::SIGTERM);
    while first.try_wait()?.is_none() && Instant::now() < deadline {
        thread::sleep(WATCH);
    }
    let _ = killpg(group, Signal::SIGKILL);
    first.wait().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_a_key_is_known() {
        for command in [
            "curl -H 'Authorization: Bearer abcdef0123' https://a.example",
            "curl -H \"X-Api-Key: abc\" https://a.example",
            "upload --token abc",
            "upload --api-key=abc",
            "TOKEN=abc upload",
            "curl 'https://a.example/hook?key=abc'",
            "curl https://ann:h0rse@a.example/",
            "upload sk-0123456789abcdef0123",
        ] {
            assert!(holds_key(command), "{command}");
        }
        for command in [
            "curl -H \"Authorization: Bearer $TOKEN\" https://a.example",
            "upload --token \"$TOKEN\" --key-file ~/.keys/upload",
            "upload --token=$(cat token)",
            "TOKEN=$OTHER upload",
            "curl \"https://a.example/hook?key=$KEY\"",
            "healbench report \"$HEALBENCH_RUN\" --output html=run.html && echo done",
            "echo author: me",
        ] {
            assert!(!holds_key(command), "{command}");
        }
    }
}
