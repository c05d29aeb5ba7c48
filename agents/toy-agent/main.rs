//! An agent program for tests, which does by turns what no agent program should.
//!
//! usage: toy-agent [--acp] MODE
//!
//! The calls of an episode are in `calls.json` of its home, and without `--acp` the server is in `mcp.json`. MODE is one of
//! [`MODES`], `hangs`, `talks`, `says-much`, or a folder: then each start takes the next mode, and leaves its number there.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio, exit};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const MODES: [&str; 11] = [
    "good",
    "never-calls",
    "other-tools",
    "two-connections",
    "dies",
    "floods",
    "ignores-its-end",
    "leaves-a-server",
    "asks",
    "cancels",
    "prints-its-key",
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mode = match args.last() {
        Some(folder) if Path::new(folder).is_dir() => next_mode(Path::new(folder)).to_owned(),
        Some(mode) => mode.clone(),
        None => exit(2),
    };
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    let read = |name: &str| serde_json::from_str::<Value>(&std::fs::read_to_string(home.join(name)).unwrap()).unwrap();
    let calls = read("calls.json");
    let calls: Vec<Value> = calls.as_array().unwrap().clone();
    if args[0] == "--acp" {
        return Acp { lines: BufReader::new(std::io::stdin()).lines(), mode, calls }.run();
    }
    let config = read("mcp.json");
    act(&mode, &config["mcpServers"]["tools"], &calls, &mut |_, _| {});
    talk(&mode, &mut |text| println!("{text}"));
    println!("The task is done.");
}

/// Returns the next mode of a folder.
fn next_mode(folder: &Path) -> &'static str {
    for number in 0.. {
        let path = folder.join(number.to_string());
        if OpenOptions::new().write(true).create_new(true).open(path).is_ok() {
            return MODES[number % MODES.len()];
        }
    }
    MODES[0]
}

/// Plays an episode. `ask` asks for the permission to use a tool.
fn act(mode: &str, server: &Value, calls: &[Value], ask: &mut dyn FnMut(&str, &str)) {
    if mode == "never-calls" {
        return;
    }
    let mut session = Session::start(server, false);
    match mode {
        "other-tools" => drop(session.call(&json!({"name": "bash", "arguments": {"command": "ls"}}))),
        "floods" => {
            let line = "x".repeat(1023) + "\n";
            for _ in 0..4096 {
                std::io::stderr().write_all(line.as_bytes()).unwrap();
            }
        }
        "prints-its-key" => {
            let key = std::env::var("TOY_KEY").unwrap();
            eprintln!("the key is {key}");
            println!("{}", json!({"key": key}));
            session.call(&json!({"name": key, "arguments": {"key": key, "nested": [{key.as_str(): key}]}}));
        }
        "asks" => {
            ask(&format!("tools_{}", calls[0]["name"].as_str().unwrap()), "other");
            ask("rm -rf", "execute");
        }
        "leaves-a-server" => {
            let mut left = Session::start(server, true);
            left.send_call(&calls[0]);
            ignoring_its_end(true);
            std::mem::forget(left);
        }
        "ignores-its-end" => ignoring_its_end(false),
        _ => {}
    }
    for (number, call) in calls.iter().enumerate() {
        if mode == "two-connections" && number == 1 {
            Session::start(server, false).call(call);
            continue;
        }
        let id = session.call(call);
        match mode {
            "dies" if number == 0 => exit(3),
            "hangs" => sleep(Duration::from_secs(600)),
            "cancels" => session.send(&json!({
                "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id},
            })),
            _ => {}
        }
    }
    if mode == "cancels" {
        // It is queued behind a call, and cancelled before that one is answered, or after.
        let id = session.send_call(&calls[0]);
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    }
}

/// Says more than anybody keeps: 4 MiB, or all the time.
fn talk(mode: &str, say: &mut dyn FnMut(&str)) {
    let (text, started) = ("x".repeat(64 << 10), Instant::now());
    match mode {
        "says-much" => (0..64).for_each(|_| say(&text)),
        "talks" => {
            while started.elapsed() < Duration::from_secs(60) {
                say(&text);
            }
        }
        _ => {}
    }
}

/// Starts a process that ends by force only.
fn ignoring_its_end(in_own_group: bool) {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' TERM HUP INT; while :; do sleep 1; done"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if in_own_group {
        command.process_group(0);
    }
    std::mem::forget(command.spawn().unwrap());
}

/// A session with the tools.
struct Session {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    ids: u64,
}

impl Session {
    fn start(server: &Value, in_own_group: bool) -> Session {
        let args = server["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap().to_owned());
        let mut command = Command::new(server["command"].as_str().unwrap());
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        if in_own_group {
            command.process_group(0);
        }
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()).lines());
        let mut session = Session { _child: child, input, output, ids: 0 };
        let id = session.request("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}}));
        session.wait_for(id);
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let id = session.request("tools/list", &json!({}));
        session.wait_for(id);
        session
    }

    /// Makes a call, waits for its answer, and returns its id.
    fn call(&mut self, call: &Value) -> u64 {
        let id = self.send_call(call);
        self.wait_for(id);
        id
    }

    fn send_call(&mut self, call: &Value) -> u64 {
        self.request("tools/call", call)
    }

    fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.ids += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params}));
        self.ids
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn wait_for(&mut self, id: u64) {
        while let Some(Ok(line)) = self.output.next() {
            if serde_json::from_str::<Value>(&line).unwrap()["id"] == id {
                return;
            }
        }
        // The episode has ended.
        exit(4);
    }
}

/// The Agent Client Protocol on the standard streams.
struct Acp {
    lines: Lines<BufReader<std::io::Stdin>>,
    mode: String,
    calls: Vec<Value>,
}

impl Acp {
    fn run(mut self) {
        let mut server = Value::Null;
        while let Some(message) = self.next() {
            let id = message["id"].clone();
            let result = match message["method"].as_str() {
                Some("initialize") => json!({"protocolVersion": 1}),
                Some("session/new") => {
                    server = message["params"]["mcpServers"][0].clone();
                    json!({"sessionId": "toy"})
                }
                Some("session/prompt") => {
                    self.prompt(&server);
                    json!({"stopReason": "end_turn"})
                }
                // `session/cancel`, and answers.
                _ => continue,
            };
            send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
        }
        if self.mode == "ignores-its-end" {
            loop {
                sleep(Duration::from_secs(1));
            }
        }
    }

    fn next(&mut self) -> Option<Value> {
        serde_json::from_str(&self.lines.next()?.ok()?).ok()
    }

    fn prompt(&mut self, server: &Value) {
        let (mode, calls) = (self.mode.clone(), self.calls.clone());
        act(&mode, server, &calls, &mut |title, kind| {
            let options = json!([{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]);
            let params = json!({"sessionId": "toy", "toolCall": {"title": title, "kind": kind}, "options": options});
            send(&json!({"jsonrpc": "2.0", "id": title, "method": "session/request_permission", "params": params}));
            let Some(_) = self.next() else { exit(5) };
        });
        let mut text = "The task is done.".to_owned();
        if mode == "prints-its-key" {
            text.push_str(&std::env::var("TOY_KEY").unwrap());
        }
        talk(&mode, &mut say);
        say(&text);
    }
}

fn say(text: &str) {
    let update = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
    send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "toy", "update": update}}));
}

fn send(message: &Value) {
    println!("{message}");
}
