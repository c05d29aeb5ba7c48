//! A server for tests, which does what no server should. Its first argument says what.

#![allow(clippy::unwrap_used, reason = "a test server that meets a surprise shall panic")]
#![allow(clippy::zombie_processes, reason = "a child that is left running is tested")]
#![allow(clippy::print_stderr, reason = "what servers write is tested")]

mod answers;

use std::ffi::OsString;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use healbench_mcp::{Limits, ServerCommand, StdioSession, Supervisor};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, setpgid, setsid};
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

fn main() {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    // As healbench does for what it starts.
    if let [command, args @ ..] = args.as_slice()
        && command == healbench_mcp::HOLD
    {
        std::process::exit(healbench_mcp::hold(args).unwrap_or_else(|error| {
            eprintln!("{error}");
            2
        }));
    }
    let args: Vec<String> = args.into_iter().map(|arg| arg.into_string().unwrap()).collect();
    let mode = args.first().cloned().unwrap_or_default();
    if let Some(how) = mode.strip_prefix("stays") {
        stay(how, args.get(1).map_or("", String::as_str));
    }
    match mode.as_str() {
        "session" => session(&args[1..]),
        "exit" => {
            eprintln!("no configuration found");
            std::process::exit(3);
        }
        "usage" => {
            eprintln!("Error: there is no file notes.toml");
            let lines = args.get(1).map_or(0, |lines| lines.parse().unwrap());
            (0..lines).for_each(|line| eprintln!("  --flag-{line}  is described here"));
            std::process::exit(2);
        }
        "deaf" => std::thread::sleep(Duration::from_secs(60)),
        "garbage" => loop {
            write(b"Listening ...\n");
        },
        "logs" => write(b"Server started\n\n"),
        "child" => {
            // In a group of its own, with the standard output of the server.
            let child = Command::new("sleep").arg("1000").process_group(0).stdin(Stdio::null()).spawn().unwrap();
            eprintln!("child {}", child.id());
        }
        // Sends back every line.
        "echoes" => {
            let mut lines = std::io::BufReader::new(std::io::stdin());
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).unwrap() > 0 {
                write(&line);
                line.clear();
            }
        }
        _ => {}
    }
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let id = &message["id"];
        if !id.is_null() && message.get("method").is_some() {
            answer(&mode, id, message["method"].as_str().unwrap(), &message["params"]);
        }
    }
    if mode == "child" || mode.starts_with("stays") {
        // It does not end with its input.
        std::thread::sleep(Duration::from_secs(60));
    }
}

/// Becomes a server that ends by force only. `seconds` mark what it starts.
fn stay(how: &str, seconds: &str) {
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::default()).unwrap();
    }
    match how {
        "-in-a-group" => setpgid(Pid::from_raw(0), Pid::from_raw(0)).unwrap(),
        "-in-a-session" => _ = setsid().unwrap(),
        // Goes on in another process, while this one ends.
        "-forked" => {
            let mut server = Command::new(std::env::current_exe().unwrap());
            server.args(["stays-in-a-session", seconds]).spawn().unwrap();
            std::process::exit(0);
        }
        // Leaves a process that nobody knows.
        "-daemon" => {
            let script = format!("trap '' TERM INT HUP; (setsid sleep {seconds} &)");
            let mut shell = Command::new("sh");
            let nothing = Stdio::null;
            shell.args(["-c", &script]).stdin(nothing()).stdout(nothing()).stderr(nothing()).status().unwrap();
        }
        "-alone" => kill(Pid::parent(), Signal::SIGKILL).unwrap(),
        _ => {}
    }
}

/// Starts a server, and waits to be killed.
fn session(server: &[String]) {
    let supervisor = Supervisor::new(std::env::current_exe().unwrap(), Arc::default());
    let command = ServerCommand::new(server, &[]).unwrap();
    let _session = StdioSession::start(&supervisor, &command, &Limits::default()).unwrap();
    eprintln!("started");
    std::thread::sleep(Duration::from_secs(60));
}

fn answer(mode: &str, id: &Value, method: &str, params: &Value) {
    match (mode, method) {
        // Everything that it says holds the value of a variable, in one spelling or another.
        ("leaks", "initialize") => {
            write(format!("Started with {}\n", token()).as_bytes());
            let info = json!({"name": format!("test {}", token()), "version": token()});
            let answer = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info});
            result(id, &answer);
        }
        ("leaks", "tools/list") => {
            let mut tool = tool("echo");
            tool["description"] = json!(format!("Repeats a text for {}", token()));
            result(id, &json!({"tools": [tool]}));
        }
        ("revision", "initialize") => result(id, &json!({"protocolVersion": "1999-01-01"})),
        (_, "initialize") => result(
            id,
            &json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "test"}}),
        ),
        ("no-tools", "tools/list") => result(id, &json!({})),
        ("silent", "tools/list") => {}
        ("refuses", "tools/list") => error(id, -32601, "no tools\nhere"),
        ("cursor", "tools/list") => result(id, &json!({"tools": [tool("echo")], "nextCursor": "again"})),
        ("pages", "tools/list") => match params["cursor"].as_str() {
            None => result(id, &json!({"tools": [tool("echo")], "nextCursor": "2"})),
            Some(_) => result(id, &json!({"tools": [tool("other")]})),
        },
        ("many", "tools/list") => {
            let tools: Vec<Value> = (0..5000).map(|number| tool(&format!("echo_{number}"))).collect();
            result(id, &json!({ "tools": tools }));
        }
        ("files", "tools/list") => {
            let properties = json!({"path": {"type": "string"}, "text": {"type": "string"}});
            let schema = json!({"type": "object", "properties": properties, "required": ["path", "text"]});
            let read = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
            let read = json!({"name": "read", "inputSchema": read, "annotations": {"readOnlyHint": true}});
            result(id, &json!({"tools": [{"name": "write", "inputSchema": schema}, read]}));
        }
        ("unmarked", "tools/list") => {
            result(id, &json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}))
        }
        ("proxied", "tools/list") => proxied_list(id, params["cursor"].as_str()),
        ("answers", "tools/list") => result(id, &json!({"tools": document()["tools"]})),
        ("audited", "tools/list") => result(id, &json!({ "tools": audited_tools() })),
        (_, "tools/list") => result(id, &json!({"tools": [tool("echo"), tool("add")]})),
        (_, "tools/call") => call(mode, id, params),
        _ => error(id, -32601, "Method not found"),
    }
}

fn call(mode: &str, id: &Value, params: &Value) {
    let text = params["arguments"]["text"].as_str();
    match mode {
        "dies" => {
            eprintln!("out of memory\x1b[31m");
            std::process::exit(137);
        }
        "hangs" => return,
        "long" => write(&vec![b'x'; 2 << 20]),
        "twice" => echo(id, text),
        "unknown" => result(&json!("77"), &json!({})),
        "invalid" => write(b"{\"jsonrpc\": \"2.0\", \"id\": \n[]\n{\"id\": 1}\n"),
        "utf8" => {
            let line =
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"");
            write(&[line.as_bytes(), b"\xff\"}]}}\n"].concat());
            return;
        }
        "late" if text == Some("late") => std::thread::sleep(Duration::from_millis(600)),
        "again" => return again(id, text),
        "asks" => send(&json!({"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": {}})),
        "changes" => send(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})),
        "progress" => loop {
            send(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}));
        },
        "leaks" => return leak(id, text),
        // An outage of a part of it.
        "outage" if text == Some("wait") && token() == "down" => return,
        "files" => return file(id, params),
        "answers" => return answers::answer(id, &document()["rules"], params),
        "audited" => return audited(id, params),
        "proxied" => return proxied(id, params),
        "text-error" => return result(id, &json!({"content": [], "isError": "true"})),
        "no-content" => return result(id, &json!({})),
        "environment" => {
            let variables: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
            return result(id, &json!({"content": [{"type": "text", "text": variables.join(" ")}]}));
        }
        _ => {}
    }
    match params["name"].as_str() {
        Some("echo") => echo(id, text),
        Some(name) => error(id, -32602, &format!("Unknown tool: {name}")),
        None => error(id, -32602, "Invalid params"),
    }
}

/// Waits for the second of two equal calls. Of `lost` that one alone is answered, of `busy` with an error before the first one.
fn again(id: &Value, text: Option<&str>) {
    static FIRST: Mutex<Option<Value>> = Mutex::new(None);
    let mut waiting = FIRST.lock().unwrap();
    let Some(first) = waiting.take() else {
        *waiting = Some(id.clone());
        return;
    };
    match text {
        Some("lost") => echo(id, text),
        Some("busy") => {
            error(id, -32000, "busy");
            echo(&first, text);
        }
        _ => {
            echo(&first, text);
            echo(id, text);
        }
    }
}

/// Returns what the second argument says.
fn document() -> Value {
    serde_json::from_str(&std::env::args().nth(2).unwrap()).unwrap()
}

fn token() -> String {
    std::env::var("TEST_TOKEN").unwrap_or_default()
}

fn leak(id: &Value, text: Option<&str>) {
    let hex: String = token().bytes().map(|byte| format!("{byte:02x}")).collect();
    eprintln!("connecting with {}", token());
    send(&json!({"jsonrpc": "2.0", "id": "q1", "method": format!("ask/{}", token()), "params": {}}));
    match text {
        Some("die") => std::process::exit(1),
        Some("error") => error(id, -32042, &format!("the token {} is old", token())),
        Some("hang") => {}
        Some(text) => {
            let text = format!("{text} for {} ({hex})", token().to_uppercase());
            let structured = json!({token(): {"token": token()}});
            result(id, &json!({"content": [{"type": "text", "text": text}], "structuredContent": structured}));
        }
        None => {
            let text = format!("Invalid arguments for tool echo: text is required; your key is {}", token());
            result(id, &json!({"content": [{"type": "text", "text": text}], "isError": true}));
        }
    }
}

/// Writes or reads a file. Errors name its whole path.
fn file(id: &Value, params: &Value) {
    let arguments = &params["arguments"];
    let done = match (params["name"].as_str(), arguments["path"].as_str(), arguments["text"].as_str()) {
        (Some("write"), Some(path), Some(text)) => {
            std::fs::write(path, text).map(|()| "written".to_owned()).map_err(|error| format!("{path}: {error}"))
        }
        (Some("read"), Some(path), _) => std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}")),
        (_, None, _) => Err("path is required".to_owned()),
        _ => Err("text is required".to_owned()),
    };
    let is_error = done.is_err();
    let text = done.unwrap_or_else(|error| error);
    result(id, &json!({"content": [{"type": "text", "text": text}], "isError": is_error}));
}

/// A text is required, as on a server with the TypeScript SDK.
fn echo(id: &Value, text: Option<&str>) {
    match text {
        Some(text) => result(id, &json!({"content": [{"type": "text", "text": text}]})),
        None => {
            let text = "MCP error -32602: Input validation error: Invalid arguments for tool echo: text is required";
            result(id, &json!({"content": [{"type": "text", "text": text}], "isError": true}));
        }
    }
}

/// The tools of a server in whose answers something may be changed, in two pages.
fn proxied_list(id: &Value, cursor: Option<&str>) {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}, "limit": {"type": "integer"}}});
    let plain = |name: &str| json!({"name": name, "inputSchema": schema});
    match cursor {
        None => {
            let names = ["echo", "long", "refuse", "invalid", "denied", "task", "image", "relist", "leave", "hang"];
            let tools: Vec<Value> = names.into_iter().map(plain).collect();
            result(id, &json!({"tools": tools, "nextCursor": "2"}));
        }
        Some(_) => {
            let output = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
            let mut tool = plain("structured");
            tool["outputSchema"] = output;
            result(id, &json!({ "tools": [tool] }));
        }
    }
}

fn proxied(id: &Value, params: &Value) {
    let text = params["arguments"]["text"].as_str();
    let words = |count: usize| (0..count).map(|number| format!("word {number}\n")).collect::<String>();
    let block = |text: &str| json!({"type": "text", "text": text});
    match params["name"].as_str().unwrap_or_default() {
        // More bytes than are looked at; of a call as long as it, which passes too.
        "long" if text.is_some() => result(id, &json!({"content": [block(text.unwrap_or_default())], "structuredContent": {}})),
        // Not as a serializer would write it.
        "echo" => write(format!("{{ \"id\":{id},\t\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"\\u00e9\"}}]}} ,\"jsonrpc\":\"2.0\"}}\r\n").as_bytes()),
        "long" => result(id, &json!({"content": [block(&words(20_000)), {"type": "image", "data": "", "mimeType": "image/png"}]})),
        "structured" if text == Some("fail") => result(
            id,
            &json!({"content": [block("no such city")], "isError": true, "structuredContent": {"error": "none"}, "_meta": {"a": 1}}),
        ),
        "structured" => {
            result(id, &json!({"content": [block(&words(20_000))], "structuredContent": {"city": "Oslo"}}));
        }
        "refuse" => result(id, &json!({"content": [block("<no> such & city")], "isError": true})),
        "invalid" => error(id, -32602, "city is required"),
        "denied" => error(id, -32042, "ask the user"),
        "task" => result(id, &json!({"task": {"taskId": "1", "status": "working"}})),
        "relist" => {
            send(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
            result(id, &json!({"content": [block("changed")]}));
        }
        "leave" => {
            Command::new("sleep").arg("1000").process_group(0).stdin(Stdio::null()).spawn().unwrap();
            std::process::exit(7);
        }
        "hang" => {}
        name => error(id, -32602, &format!("Unknown tool: {name}")),
    }
}

/// The tools of a server with every kind of answer to a wrong call.
fn audited_tools() -> Vec<Value> {
    let properties = json!({
        "city": {"type": "string", "enum": ["Oslo", "Rome"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 7},
    });
    let schema = json!({"type": "object", "properties": properties, "required": ["city"]});
    let read_only = |name: &str| json!({"name": name, "inputSchema": schema, "annotations": {"readOnlyHint": true}});
    let mut tools: Vec<Value> =
        ["tells", "accepts", "pretends", "mutters", "breaks\u{1b}[31m|", "tells"].map(read_only).into();
    tools.push(json!({"name": "writes", "inputSchema": schema, "annotations": {"readOnlyHint": false}}));
    tools.push(json!({"name": "unmarked", "inputSchema": schema}));
    tools.push(json!({"name": "broken", "inputSchema": {"type": "nothing"}, "annotations": {"readOnlyHint": true}}));
    let nothing = json!({"type": "object"});
    tools.push(json!({"name": "large", "inputSchema": nothing, "annotations": {"readOnlyHint": true}}));
    tools
}

/// Returns what is wrong with the arguments of an audited tool.
fn problem(arguments: &Value) -> Option<String> {
    let city = &arguments["city"];
    if !matches!(city.as_str(), Some("Oslo" | "Rome")) {
        return Some(format!("Invalid option: expected one of \"Oslo\"|\"Rome\" at city; {city} is \x1b[31m|none"));
    }
    match arguments.get("days") {
        None => None,
        Some(days) => match days.as_i64() {
            None => Some("Invalid input: expected number at days".to_owned()),
            Some(..1) => Some("Too small: expected number to be >=1 at days".to_owned()),
            Some(8..) => Some("Too big: expected number to be <=7 at days".to_owned()),
            Some(_) => None,
        },
    }
}

fn audited(id: &Value, params: &Value) {
    let problem = problem(&params["arguments"]);
    let text = |text: &str, is_error: bool| json!({"content": [{"type": "text", "text": text}], "isError": is_error});
    let secret = token();
    match (params["name"].as_str(), problem) {
        (Some("large"), _) => result(id, &text(&"number ".repeat(12_000), false)),
        (Some("tells" | "writes" | "unmarked"), Some(problem)) => {
            result(id, &text(&format!("MCP error -32602: Invalid arguments for tool tells: {problem} {secret}"), true));
        }
        (Some("pretends"), Some(problem)) => result(id, &text(&format!("Error: {problem}"), false)),
        (Some("mutters"), Some(_)) => error(id, -32602, "Invalid params"),
        (Some("breaks\u{1b}[31m|"), Some(_)) => {
            eprintln!("out of memory");
            std::process::exit(137);
        }
        (Some(name), _) if name.starts_with("hb_") => error(id, -32602, &format!("Unknown tool: {name}")),
        _ => result(id, &text("sunny", false)),
    }
}

fn tool(name: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    json!({"name": name, "description": "Repeats a text.", "inputSchema": schema, "annotations": {"readOnlyHint": true}})
}

fn result(id: &Value, result: &Value) {
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn error(id: &Value, code: i64, message: &str) {
    send(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}));
}

fn send(message: &Value) {
    write(format!("{message}\n").as_bytes());
}

fn write(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    if out.write_all(bytes).and_then(|()| out.flush()).is_err() {
        std::process::exit(1);
    }
}
