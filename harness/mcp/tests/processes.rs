//! Programs that do not want to end, and callers that stop or are killed.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that meets a surprise shall panic")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use healbench_mcp::{
    Address, Endpoint, Limits, McpError, McpSession, ServerCommand, StdioSession, Supervisor, Variables, run_program,
};
use serde_json::{Value, json};

const SERVER: &str = env!("CARGO_BIN_EXE_mcp-test-server");
/// Time enough for anything on a busy machine.
const LONG: Duration = Duration::from_secs(60);
/// The ways in which the test server stays.
const WAYS: [&str; 5] = ["stays", "stays-in-a-group", "stays-in-a-session", "stays-forked", "stays-daemon"];

fn command(words: &[&str]) -> ServerCommand {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    ServerCommand::new(&words, &[]).unwrap()
}

fn supervisor(stop: &Arc<AtomicBool>) -> Supervisor {
    Supervisor::new(SERVER.into(), Arc::clone(stop))
}

/// Returns the command lines with this word.
fn processes(word: &str) -> Vec<String> {
    let line = |entry: fs::DirEntry| {
        let line = fs::read_to_string(entry.path().join("cmdline")).ok()?.replace('\0', " ");
        line.split(' ').any(|other| other == word).then_some(line)
    };
    fs::read_dir("/proc").unwrap().filter_map(|entry| line(entry.unwrap())).collect()
}

/// Waits until no process has this word in its command line.
fn wait_for_none(word: &str) {
    let deadline = Instant::now() + LONG;
    while !processes(word).is_empty() {
        assert!(Instant::now() < deadline, "{:?}", processes(word));
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn servers_that_do_not_want_to_end_end_with_their_session() {
    for (number, way) in WAYS.iter().chain(&["stays-alone"]).enumerate() {
        let mark = format!("811{number}");
        let started =
            StdioSession::start(&supervisor(&Arc::default()), &command(&[SERVER, way, &mark]), &Limits::default());
        let mut session = match started {
            Ok(session) => session,
            Err(error) => panic!("{way}: {error}"),
        };
        assert!(session.call("echo", &json!({"text": "x"}), LONG).is_ok());
        assert!(!processes(&mark).is_empty(), "{way}");
        drop(session);
        assert_eq!(processes(&mark), [""; 0], "{way}");
    }
}

/// Starts a process that starts a server and waits, with a folder of its own for temporary files.
fn start_caller(temporary: &Path, server: &[&str]) -> Child {
    let mut caller = Command::new(SERVER);
    caller.arg("session").arg(SERVER).args(server).env("TMPDIR", temporary);
    caller.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn servers_end_if_their_caller_is_killed_and_folders_are_deleted() {
    let temporary = tempfile::tempdir().unwrap();
    for (number, way) in WAYS.into_iter().enumerate() {
        let mark = format!("812{number}");
        let mut caller = start_caller(temporary.path(), &[way, &mark]);
        let mut line = String::new();
        BufReader::new(caller.stderr.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "started\n", "{way}");
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 1);
        caller.kill().unwrap();
        caller.wait().unwrap();
        wait_for_none(&mark);
    }
    // The process that held the last server deleted the folder.
    let deadline = Instant::now() + LONG;
    while fs::read_dir(temporary.path()).unwrap().count() > 0 {
        assert!(Instant::now() < deadline);
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_caller_may_be_killed_at_any_moment() {
    let temporary = tempfile::tempdir().unwrap();
    for kill in 0..20 {
        let mut caller = start_caller(temporary.path(), &["stays-forked", "8130"]);
        thread::sleep(Duration::from_micros(700 * kill));
        caller.kill().unwrap();
        caller.wait().unwrap();
    }
    wait_for_none("8130");
    // What is left, because there was nobody to delete it, is deleted by the next caller.
    let mut next = start_caller(temporary.path(), &["exit"]);
    next.wait().unwrap();
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
}

#[test]
fn a_caller_that_stops_waits_for_nobody() {
    /// Sets the flag once something is waited for.
    fn stopped<T>(act: impl FnOnce(&Supervisor) -> Result<T, McpError>) -> McpError {
        let stop = Arc::new(AtomicBool::new(false));
        let (setter, started) = (Arc::clone(&stop), Instant::now());
        let later = thread::spawn(move || {
            thread::sleep(Duration::from_millis(200));
            setter.store(true, Ordering::Release);
        });
        let error = act(&supervisor(&stop)).err().unwrap();
        later.join().unwrap();
        assert!(started.elapsed() < LONG, "{error}");
        error
    }
    let limits = Limits { start: 2 * LONG, ..Limits::default() };
    let is_stopped = |error: McpError| assert!(matches!(error, McpError::Stopped), "{error}");
    is_stopped(stopped(|supervisor| StdioSession::start(supervisor, &command(&[SERVER, "deaf"]), &limits)));
    is_stopped(stopped(|supervisor| {
        let mut session = StdioSession::start(supervisor, &command(&[SERVER, "hangs"]), &limits)?;
        session.call("echo", &Value::Null, 2 * LONG)
    }));
    is_stopped(stopped(|supervisor| run_program(supervisor, &command(&["sleep", "8140"]), 2 * LONG)));
    assert_eq!(processes("8140"), [""; 0]);
    // It accepts connections, and does not answer.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let endpoint = Endpoint::Url(Address::new(&url, None).unwrap());
    is_stopped(stopped(|supervisor| McpSession::start(supervisor, &endpoint, &limits)));
}

#[test]
fn all_processes_are_killed_at_once() {
    let supervisor = supervisor(&Arc::default());
    let start = |way: &str| {
        StdioSession::start(&supervisor, &command(&[SERVER, way, "8150"]), &Limits::default())
            .map_err(|error| error.to_string())
    };
    let sessions = WAYS.map(|way| start(way).unwrap());
    let folder = supervisor.folder().unwrap();
    assert!(processes("8150").len() > WAYS.len());
    supervisor.kill_all();
    assert_eq!(processes("8150"), [""; 0]);
    assert!(!folder.path().exists() && !folder.path().parent().unwrap().exists());
    assert!(start("stays").is_err());
    assert_eq!(processes("8150"), [""; 0]);
    drop(sessions);
}

#[test]
fn a_program_ends_as_if_nobody_held_it() {
    let supervisor = supervisor(&Arc::default());
    let run = |script: &str| run_program(&supervisor, &command(&["sh", "-c", script]), LONG).unwrap();
    let status = |script: &str| run(script).status.unwrap().to_string();
    assert_eq!(status("exit 7"), "exit status: 7");
    assert_eq!(status("kill -KILL $$"), "signal: 9 (SIGKILL)");
    assert_eq!(status("kill -TERM $$"), "signal: 15 (SIGTERM)");
    assert_eq!(status("kill -HUP $$"), "signal: 1 (SIGHUP)");
    // It ignores what its caller ignores, but for SIGPIPE (13), which the standard library ignores, and those above 31, which are the C
    // library's; and it blocks nothing.
    let mask = |name: &str| run(&format!("sed -n 's/^{name}:[[:space:]]*//p' /proc/self/status >&2")).last_words;
    let own = fs::read_to_string("/proc/self/status").unwrap();
    let own = own.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let common = |mask: &str| u64::from_str_radix(mask.trim(), 16).unwrap() & ((1 << 31) - 1) & !(1 << 12);
    assert_eq!(common(&mask("SigIgn")), common(own));
    assert_eq!(common(&mask("SigBlk")), 0);
}

#[test]
fn programs_that_cannot_be_started_are_named_with_the_reason() {
    let supervisor = supervisor(&Arc::default());
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("text"), "no program").unwrap();
    let mut here = command(&["./text"]);
    here.dir = Some(folder.path().into());
    let message = |command: &ServerCommand| match StdioSession::start(&supervisor, command, &Limits::default()) {
        Ok(_) => panic!("it starts"),
        Err(error) => error.to_string(),
    };
    assert_eq!(message(&here), "`./text` cannot be started: Permission denied (os error 13)");
    assert_eq!(message(&command(&["no-such"])), "`no-such` cannot be started: No such file or directory (os error 2)");
    let inherited = ServerCommand { environment: Variables::Inherited, ..command(&["/no/such"]) };
    assert_eq!(message(&inherited), "`/no/such` cannot be started: No such file or directory (os error 2)");
    // What only the system knows.
    fs::write(folder.path().join("text"), [0x7f, b'E', b'L', b'F', 0]).unwrap();
    fs::set_permissions(folder.path().join("text"), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let unknown = message(&here);
    assert!(unknown.contains("ended (exit status: 2)") && unknown.contains("Exec format error"), "{unknown}");
}
