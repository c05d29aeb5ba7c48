//! Signals at commands that wait for a process, and what is left of killed ones.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::*;
use crate::programs::{processes_left, processes_of};
use crate::servers::test_server;

/// Less than any of the commands would wait.
const LONG: Duration = Duration::from_secs(25);

/// Returns a folder with a scenario on the test server in each of these modes.
fn sandbox(modes: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("t")).unwrap();
    if modes.is_empty() {
        return sandbox;
    }
    let server = test_server().display().to_string();
    sandbox.ok(&["new", "--from-server", "--out", "mine", "--", &server, "ok"]);
    let text = std::fs::read_to_string(sandbox.path("mine/first.yaml")).unwrap();
    for mode in modes {
        let text = text.replace("\"ok\"]", &format!("\"{mode}\"]"));
        sandbox.write(&format!("mine/{mode}.yaml"), &text.replace("tools_file", "timeout_s: 600\n  tools_file"));
    }
    sandbox
}

/// Starts the program with a folder of its own for temporary files.
fn start(sandbox: &Sandbox, args: &[&str]) -> Child {
    let mut command = sandbox.command(args);
    command.env("TMPDIR", sandbox.path("t")).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn send(signal: &str, child: &Child) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// Waits until the program ends, and asserts that nothing is left of it. Its client does not end, nor does it read.
fn assert_interrupted(sandbox: &Sandbox, what: &str, mut child: Child) {
    let started = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(10)),
        }
        assert!(started.elapsed() < LONG, "{what} does not end");
    };
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(status.code(), Some(130), "{what}: {err}");
    assert_eq!(processes_left(sandbox), [""; 0], "{what}");
    assert_eq!(std::fs::read_dir(sandbox.path("t")).unwrap().count(), 0, "{what}");
}

/// Waits until a process of the program has started that has this word in its command line.
fn wait_for_process(sandbox: &Sandbox, word: &str) {
    let started = Instant::now();
    // The command itself, and the process that holds the program, have its words too.
    let is_own = |line: &str| line.split(' ').next().is_some_and(|program| program.ends_with("/healbench"));
    let has_started = |line: &String| line.split(' ').any(|other| other == word) && !is_own(line);
    while !processes_of(sandbox).iter().any(has_started) {
        assert!(started.elapsed() < LONG, "{word} is not started");
        std::thread::sleep(Duration::from_millis(5));
    }
    // It does what its mode says.
    std::thread::sleep(Duration::from_millis(100));
}

#[test]
fn a_signal_ends_every_command_that_waits_for_a_process() {
    let sandbox = sandbox(&["deaf", "hangs", "stays-forked"]);
    let server = test_server().display().to_string();
    let run = ["run", "--agent", "scripted:perfect", "--trials", "4", "--condition", "as-is", "--out"];
    let on = |out: &'static str, scenario: &'static str| [&run[..], &[out, scenario]].concat();
    let simulated = ["run", "quickstart", "--agent", "scripted:perfect", "--trials", "1", "--out", "r4"];
    let commands: [(&str, Vec<&str>); 11] = [
        ("deaf", vec!["audit", "--", &server, "deaf"]),
        ("hangs", vec!["audit", "--call-timeout", "600", "--", &server, "hangs"]),
        ("deaf", vec!["new", "--from-server", "--out", "new", "--", &server, "deaf"]),
        ("deaf", on("r1", "mine/deaf.yaml")),
        ("hangs", on("r2", "mine/hangs.yaml")),
        ("stays-in-a-session", on("r3", "mine/stays-forked.yaml")),
        ("deaf", vec!["serve", "mine/deaf.yaml"]),
        ("stays", vec!["proxy", "--", &server, "stays"]),
        ("9110", vec!["proxy", "--", &server, "stays-daemon", "9110"]),
        ("9111", [&simulated[..], &["--on-complete", "sleep 9111 & wait"]].concat()),
        ("9112", vec!["run", "--resume", "r4", "--on-complete", "sleep 9112"]),
    ];
    for (number, (process, args)) in commands.iter().enumerate() {
        let child = start(&sandbox, args);
        wait_for_process(&sandbox, process);
        send(["-INT", "-TERM", "-HUP"][number % 3], &child);
        assert_interrupted(&sandbox, &format!("{args:?}"), child);
    }
}

#[test]
fn a_signal_ends_every_command_that_waits_for_the_other_side() {
    let sandbox = sandbox(&[]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let audit = start(&sandbox, &["audit", "--url", &url]);
    let connection = listener.accept().unwrap();
    send("-TERM", &audit);
    assert_interrupted(&sandbox, "audit --url", audit);
    drop(connection);

    let address = sandbox.path("s");
    let listener = UnixListener::bind(&address).unwrap();
    let attached = start(&sandbox, &["serve", "--attach", &address.display().to_string()]);
    let connection = listener.accept().unwrap();
    send("-HUP", &attached);
    assert_interrupted(&sandbox, "serve --attach", attached);
    drop(connection);

    // A client that asks and does not read.
    let server = test_server().display().to_string();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/suites/quickstart/missing-field.yaml");
    for args in [&["serve", &scenario.display().to_string()][..], &["proxy", "--", &server, "many"]] {
        let mut child = start(&sandbox, args);
        let mut input = child.stdin.take().unwrap();
        let (asking, asked) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n".repeat(100);
            while input.write_all(&line).is_ok() && asking.send(()).is_ok() {}
        });
        // Until no more can be written.
        while asked.recv_timeout(Duration::from_secs(1)).is_ok() {}
        send("-TERM", &child);
        assert_interrupted(&sandbox, &format!("{args:?}"), child);
    }
}

#[test]
fn a_second_signal_kills_what_is_left() {
    let sandbox = sandbox(&[]);
    let server = test_server().display().to_string();
    for how in ["stays", "stays-forked", "stays-daemon"] {
        let mut child = start(&sandbox, &["audit", "--", &server, how, "9120"]);
        wait_for_process(&sandbox, "9120");
        send("-INT", &child);
        std::thread::sleep(Duration::from_millis(20));
        send("-INT", &child);
        assert_eq!(child.wait().unwrap().code(), Some(130));
        // Already, and not only soon.
        assert_eq!(processes_of(&sandbox), [""; 0], "{how}");
        assert_eq!(std::fs::read_dir(sandbox.path("t")).unwrap().count(), 0, "{how}");
    }
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let sandbox = sandbox(&[]);
    let (healbench, server) = (env!("CARGO_BIN_EXE_healbench"), test_server().display().to_string());
    for (ignored, other) in [("HUP INT", "-TERM"), ("TERM", "-INT")] {
        let script = format!("trap '' {ignored}; exec {healbench} audit --call-timeout 600 -- {server} hangs");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).current_dir(sandbox.dir.path()).env("TMPDIR", sandbox.path("t"));
        let mut child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for_process(&sandbox, "hangs");
        ignored.split(' ').for_each(|signal| send(&format!("-{signal}"), &child));
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(child.try_wait().unwrap(), None, "{ignored}");
        send(other, &child);
        assert_interrupted(&sandbox, ignored, child);
    }
}

#[test]
fn the_next_run_deletes_what_killed_commands_have_left() {
    let sandbox = sandbox(&["stays", "stays-forked"]);
    let server = test_server().display().to_string();
    let run = ["run", "--agent", "scripted:perfect", "--trials", "20", "--out"];
    let commands: [Vec<&str>; 4] = [
        [&run[..], &["a", "mine/stays.yaml"]].concat(),
        [&run[..], &["b", "mine/stays-forked.yaml"]].concat(),
        vec!["audit", "--", &server, "stays-in-a-session"],
        vec!["proxy", "--", &server, "stays-daemon", "9130"],
    ];
    for (number, args) in commands.iter().enumerate() {
        let mut child = start(&sandbox, args);
        std::thread::sleep(Duration::from_millis(150 * number as u64 + 20));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(processes_left(&sandbox), [""; 0], "{args:?}");
    }
    let next = start(&sandbox, &["audit", "--", &server, "exit"]);
    assert_eq!(next.wait_with_output().unwrap().status.code(), Some(4));
    assert_eq!(std::fs::read_dir(sandbox.path("t")).unwrap().count(), 0);
}
