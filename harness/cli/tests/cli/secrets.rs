//! Variables that servers are given, in everything that the program writes.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use super::servers::test_server;
use super::*;

const CANARY: &str = "canary-0123456789-token";

/// Returns the program with the canary in a variable.
fn command(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.command(args);
    command.env("TEST_TOKEN", CANARY);
    command
}

/// Returns true if bytes hold the canary, as it is or in hexadecimal, in any case.
fn holds_canary(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    let hex: String = CANARY.bytes().map(|byte| format!("{byte:02x}")).collect();
    text.contains(CANARY) || text.contains(&hex)
}

/// Runs commands that start a server, and returns what they printed. `server` are the arguments that name it.
fn play(sandbox: &Sandbox, server: &[&str]) -> Vec<(String, String)> {
    let mut printed = Vec::new();
    let mut start = |args: &[&str]| {
        let result = CommandResult::new(command(sandbox, args).output().unwrap());
        printed.push((args.join(" "), format!("{}{}", result.out, result.err)));
    };
    start(&[&["new", "--from-server", "--out", "mine"], server].concat());
    start(
        &[
            &["audit", "--write-calls", "calls.yaml", "--output", "json=audit.json,markdown=audit.md,junit=audit.xml"],
            server,
        ]
        .concat(),
    );
    start(&[&["audit"], server].concat());
    let first = std::fs::read_to_string(sandbox.path("mine/first.yaml")).unwrap();
    for (name, text) in [("dies", "die"), ("errors", "error"), ("hangs", "hang"), ("works", "hello")] {
        let mine = first.replace("/first", &format!("/{name}")).replace("example", text);
        assert!(mine.contains(text), "{mine}");
        let file = format!("mine/{name}.yaml");
        sandbox.write(&file, &mine.replace("  tools_file", "  timeout_s: 1\n  tools_file"));
        let run = format!("run-{name}");
        start(&["run", &file, "--agent", "scripted:typical", "--trials", "1", "--out", &run]);
        start(&["show", &run, "0", "--full"]);
        start(&["show", &run, "1", "--full"]);
        for output in ["--output=json", "--output=csv", "--output=markdown"] {
            start(&["report", &run, output]);
        }
        start(&["report", &run, "--output", &format!("html={name}.html")]);
    }
    printed
}

#[test]
fn a_variable_of_a_server_is_in_no_file_and_no_output() {
    let sandbox = Sandbox::new();
    let program = test_server().display().to_string();
    let printed = play(&sandbox, &["--env", "TEST_TOKEN", "--", &program, "leaks"]);
    for (args, text) in &printed {
        assert!(!holds_canary(text.as_bytes()), "{args}: {text}");
    }
    let masked = |part: &str| printed.iter().any(|(args, text)| args.contains(part) && text.contains("[key]"));
    // Its words are there: in messages about lost episodes, in transcripts and in audits.
    for part in ["run mine/dies.yaml", "run mine/hangs.yaml", "show run-works 0", "show run-errors 0", "audit"] {
        assert!(masked(part), "{part}");
    }
    for (path, bytes) in sandbox.files() {
        assert!(!holds_canary(&bytes), "{}", path.display());
    }
    for name in ["run-works/calls.parquet", "run-works/transcripts.jsonl.zst", "run-works/responses.parquet"] {
        let mode = std::fs::metadata(sandbox.path(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_scenario_with_a_key_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.json", r#"{"tools": [{"name": "f", "inputSchema": {"type": "object"}}]}"#);
    for server in [
        "url: \"https://a.example/mcp?key=abc\"",
        "url: \"https://a.example/mcp?tavilyApiKey=abc\"",
        "url: \"https://ann:abc@a.example/mcp\"",
        "command: [server, --token, sk-0123456789abcdef0123]",
    ] {
        let text = format!(
            "id: a/b\ntitle: t\ntask: {{prompt: p, max_calls: 3}}\nserver:\n  {server}\n  tools_file: tools.json\n\
             expect: [{{called: {{tool: f}}}}]\nscript: [{{call: {{tool: f}}}}]\n"
        );
        sandbox.write("a.yaml", &text);
        let result = sandbox.start(&["validate", "a.yaml"]);
        assert_eq!(result.code, Some(2), "{server}: {}", result.out);
        assert!(result.err.contains("no password, key or token"), "{}", result.err);
    }
    let result = sandbox.start(&["new", "--from-server", "--url", "https://a.example/mcp?key=abc", "--out", "mine"]);
    assert_eq!(result.code, Some(2), "{}", result.err);
    assert!(result.err.contains("password, key or token") && !result.err.contains("abc"), "{}", result.err);
    let args = [
        "run",
        "quickstart",
        "--trials",
        "1",
        "--on-complete",
        "curl -H 'Authorization: Bearer abc' https://a.example",
    ];
    let result = sandbox.start(&args);
    assert_eq!(result.code, Some(2), "{}", result.err);
    assert!(result.err.contains("looks like a key") && !result.err.contains("abc"), "{}", result.err);
}

#[test]
fn no_proxy_stands_before_a_server_of_this_machine() {
    let sandbox = Sandbox::new();
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    for host in ["127.0.0.1", "localhost", "127.1.2.3", "[::1]"] {
        let url = format!("http://{host}:9/mcp");
        let mut command = command(&sandbox, &["audit", "--url", &url, "--token-env", "TEST_TOKEN"]);
        for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"] {
            command.env(name, &address);
        }
        let result = CommandResult::new(command.output().unwrap());
        assert_eq!(result.code, Some(4), "{}", result.err);
        assert_eq!(proxy.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "{url}");
    }
}
