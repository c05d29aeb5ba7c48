//! Sessions through the proxy, with a server of our own on the other side.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that meets a surprise shall panic")]

use std::io::{BufRead as _, BufReader, PipeReader, PipeWriter, Write as _, pipe};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use healbench_core::{ErrorFormat, Guardrails};
use healbench_mcp::{ServerCommand, Supervisor, Variables};
use healbench_proxy::{End, Files, ProxyError, Recording, Rules, proxy};
use serde_json::{Value, json};

/// Returns the path of the test server, which is built if need be.
fn test_server() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let folder = tests.ancestors().find(|folder| folder.ends_with("deps")).and_then(Path::parent).unwrap();
    let server = folder.join("mcp-test-server");
    if !server.exists() {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "healbench-mcp", "--bin", "mcp-test-server", "--target-dir"]);
        build.arg(folder.parent().unwrap()).current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(build.status().unwrap().success());
    }
    server
}

fn rules() -> Rules {
    let guardrails: Guardrails = "all".parse().unwrap();
    let format: ErrorFormat = "fusion-xml".parse().unwrap();
    Rules { guardrails, format, max_tokens: 10_000, errors_as_results: false }
}

/// A client with its proxy.
struct Client {
    input: Option<PipeWriter>,
    output: BufReader<PipeReader>,
    proxy: JoinHandle<Result<End, ProxyError>>,
    stop: Arc<AtomicBool>,
    log: Log,
    calls: Log,
    episodes: Log,
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn lines(&self) -> Vec<Value> {
        let bytes = self.0.lock().unwrap().clone();
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }
}

impl Client {
    fn start(mode: &str, rules: Rules) -> Client {
        let words = [test_server().display().to_string(), mode.to_owned()];
        let command = ServerCommand { environment: Variables::Inherited, ..ServerCommand::new(&words, &[]).unwrap() };
        let (to_proxy, input) = pipe().unwrap();
        let (output, from_proxy) = pipe().unwrap();
        let (stop, log) = (Arc::new(AtomicBool::new(false)), Log::default());
        let (calls, episodes) = (Log::default(), Log::default());
        let record = Recording {
            episode: "s".to_owned(),
            calls: Box::new(calls.clone()),
            episodes: Box::new(episodes.clone()),
            with_texts: true,
        };
        let files = Files { log: Some(Box::new(log.clone())), record: Some(record) };
        let supervisor = Supervisor::new(test_server(), Arc::clone(&stop));
        let proxy = std::thread::spawn(move || {
            proxy(&supervisor, &command, rules, files, BufReader::new(to_proxy), from_proxy)
        });
        Client { input: Some(input), output: BufReader::new(output), proxy, stop, log, calls, episodes }
    }

    fn send(&mut self, line: &str) {
        self.input.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    fn read(&mut self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    fn call(&mut self, id: Value, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string());
        let answer = self.read();
        assert_eq!(answer["id"], id);
        answer
    }

    /// Ends the client, and returns the end of the session and the log.
    fn end(mut self) -> (End, Vec<Value>) {
        self.input = None;
        let end = self.proxy.join().unwrap().unwrap();
        (end, self.log.lines())
    }
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn only_answers_to_calls_are_changed() {
    let mut client = Client::start("proxied", rules());
    client.send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"roots":{}}}}"#);
    assert_eq!(client.read()["result"]["serverInfo"]["name"], "test");
    // The answer to the question of the proxy for the tools does not reach the client.
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a"}}}"#);
    assert_eq!(
        client.line(),
        "{ \"id\":1,\t\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\\u00e9\"}]} ,\"jsonrpc\":\"2.0\"}\r\n"
    );
    // Refused before it reaches the server. `1` and `"1"` are two ids.
    let refused = client.call(json!("1"), "echo", json!({"text": 5, "txet": 1}));
    assert!(text(&refused).starts_with("<validation_error") && refused["result"]["isError"] == true, "{refused}");
    let formatted = client.call(json!(2), "refuse", json!({}));
    assert!(text(&formatted).contains("&lt;no> such &amp; city"), "{formatted}");
    // A client would check the structured content of an error, and show its model that instead of the text.
    let failed = client.call(json!(3), "structured", json!({"text": "fail"}));
    assert!(text(&failed).contains("no such city") && failed["result"].get("structuredContent").is_none(), "{failed}");
    assert_eq!(failed["result"]["_meta"], json!({"a": 1}));
    let cut = client.call(json!(4), "long", json!({}));
    let blocks = cut["result"]["content"].as_array().unwrap();
    assert!(blocks.len() == 3 && blocks[1]["text"].as_str().unwrap().contains("limit"), "{}", blocks[1]);
    assert_eq!(blocks[2]["type"], "image");
    let uncut = client.call(json!(5), "structured", json!({}));
    assert!(text(&uncut).contains("word 19999") && uncut["result"]["structuredContent"]["city"] == "Oslo");
    for (tool, code) in [("invalid", -32602), ("denied", -32042), ("unknown", -32602)] {
        assert_eq!(client.call(json!(tool), tool, json!({}))["error"]["code"], code);
    }
    assert!(client.call(json!(6), "task", json!({}))["result"]["task"].is_object());
    let (end, log) = client.end();
    let counts = end.counts;
    assert_eq!((counts.calls, counts.refused, counts.formatted, counts.cut, counts.uncut), (10, 1, 2, 1, 1));
    assert_eq!((counts.protocol_errors, counts.unguarded, counts.asked), (2, 2, 2));
    assert!(end.was_ended);
    let what: Vec<&str> = log.iter().map(|entry| entry["what"].as_str().unwrap()).collect();
    assert_eq!(what, ["asked", "asked", "refused", "formatted", "formatted", "cut", "end"]);
    assert!(log[5]["tokens_before"].as_u64() > Some(10_000) && log[5]["tokens"].as_u64() < Some(10_100), "{}", log[5]);
    assert_eq!(log[6]["counts"]["calls"], 10);
    // Nothing that was said is in the log.
    assert!(!log.iter().any(|entry| entry.to_string().contains("such")), "{log:?}");
}

#[test]
fn errors_of_the_protocol_become_results_only_where_wanted() {
    let mut client = Client::start("proxied", Rules { errors_as_results: true, ..rules() });
    let invalid = client.call(json!(1), "invalid", json!({}));
    assert!(text(&invalid).contains("PROTOCOL_ERROR") && text(&invalid).contains("city is required"), "{invalid}");
    assert_eq!(invalid["result"]["isError"], true);
    assert_eq!(client.call(json!(2), "denied", json!({}))["error"]["code"], -32042);
    client.end();

    // Without guardrails every line passes.
    let nothing = Rules { guardrails: "none".parse().unwrap(), ..rules() };
    let mut client = Client::start("proxied", nothing);
    assert_eq!(text(&client.call(json!(1), "refuse", json!({"other": 1}))), "<no> such & city");
    assert!(text(&client.call(json!(2), "long", json!({}))).contains("word 19999"));
    assert!(client.call(json!(3), "structured", json!({"text": "fail"}))["result"]["structuredContent"].is_object());
    let (end, _) = client.end();
    assert_eq!((end.counts.refused, end.counts.formatted, end.counts.cut), (0, 0, 0));
}

#[test]
fn a_session_is_recorded_as_rows() {
    let mut client = Client::start("proxied", rules());
    let (calls, episodes) = (client.calls.clone(), client.episodes.clone());
    let mut shown = Vec::new();
    for (id, (tool, arguments)) in [
        ("echo", json!({"text": "a"})),
        ("echo", json!({"text": 5})),
        ("echo", json!({"text": 5})),
        ("refuse", json!({})),
        ("long", json!({})),
        ("structured", json!({})),
        ("invalid", json!({})),
        ("task", json!({})),
    ]
    .into_iter()
    .enumerate()
    {
        shown.push(client.call(json!(id), tool, arguments));
    }
    assert!(episodes.lines().is_empty());
    client.end();
    let rows = calls.lines();
    let column = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<Value>>();
    // The answer of a task is none yet.
    assert_eq!(column("call"), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(column("effect"), ["passed", "refused", "refused", "formatted", "cut", "uncut", "protocol_error"]);
    let classes =
        [Value::Null, "VALIDATION".into(), "VALIDATION".into(), "SERVER_ERROR".into(), Value::Null, Value::Null];
    assert_eq!(column("error_class")[..6], classes);
    assert_eq!(column("error_class")[6], "PROTOCOL_ERROR");
    assert_eq!(column("is_error"), [false, true, true, true, false, false, true]);
    assert_eq!(column("repeated"), [false, false, true, false, false, false, false]);
    assert_eq!((&rows[1]["arguments"], &rows[1]["named_fields"]), (&json!(r#"{"text":5}"#), &json!(["text"])));
    let tokens = |answer: &Value| healbench_tokens::count_tokens(text(answer));
    assert_eq!(rows[1]["response_tokens"], tokens(&shown[1]));
    assert_eq!(rows[3]["response_tokens"], tokens(&shown[3]));
    for (row, answer) in rows.iter().zip(&shown).take(4) {
        assert_eq!(row["text"], text(answer), "{row}");
    }
    // What the server would have said to a call that did not reach it is not known.
    assert!(rows[1]["guardrail_tokens"].is_null() && rows[0]["guardrail_tokens"] == 0, "{}", rows[1]);
    assert!(rows[3]["guardrail_tokens"].as_i64() > Some(0) && rows[4]["guardrail_tokens"].as_i64() < Some(0));
    let episodes = episodes.lines();
    let [episode] = &episodes[..] else { panic!("{episodes:?}") };
    let of = |name: &str| episode[name].as_u64().unwrap();
    assert!(episode["success"].is_null() && episode["episode"] == "s" && rows[0]["episode"] == "s", "{episode}");
    assert_eq!([of("calls"), of("answered_calls"), of("failed_calls"), of("repeated_calls")], [8, 7, 4, 1]);
    assert_eq!([of("refused"), of("unguarded")], [2, 1]);
    for name in ["request_tokens", "response_tokens"] {
        assert_eq!(of(name), rows.iter().map(|row| row[name].as_u64().unwrap()).sum::<u64>(), "{name}");
    }
}

/// A file whose disk is full.
struct Full;

impl std::io::Write for Full {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn files_that_cannot_be_written_do_not_end_the_session() {
    let words = [test_server().display().to_string(), "proxied".to_owned()];
    let command = ServerCommand { environment: Variables::Inherited, ..ServerCommand::new(&words, &[]).unwrap() };
    let record =
        Recording { episode: "s".to_owned(), calls: Box::new(Full), episodes: Box::new(Full), with_texts: false };
    let files = Files { log: Some(Box::new(Full)), record: Some(record) };
    let (to_proxy, mut input) = pipe().unwrap();
    let (output, from_proxy) = pipe().unwrap();
    let supervisor = Supervisor::new(test_server(), Arc::default());
    let session =
        std::thread::spawn(move || proxy(&supervisor, &command, rules(), files, BufReader::new(to_proxy), from_proxy));
    let mut answers = BufReader::new(output).lines();
    for id in 1..=2 {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "a"}}});
        writeln!(input, "{call}").unwrap();
        assert!(answers.next().unwrap().unwrap().contains("content"));
    }
    drop(input);
    let (end, full) = (session.join().unwrap().unwrap(), Some(std::io::ErrorKind::StorageFull));
    assert_eq!((end.log_error, end.record_error), (full, full));
}

#[test]
fn the_list_of_the_client_is_read_as_it_passes() {
    let mut client = Client::start("proxied", rules());
    client.send(r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#);
    assert_eq!(client.read()["result"]["tools"][0]["name"], "echo");
    client.send(r#"{"jsonrpc":"2.0","id":"b","method":"tools/list","params":{"cursor":"2"}}"#);
    assert_eq!(client.read()["result"]["tools"][0]["name"], "structured");
    assert!(text(&client.call(json!(1), "echo", json!({"x": 1}))).starts_with("<validation_error"));
    // After a change the tools are asked for again.
    client.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"relist"}}"#);
    assert_eq!(client.read()["method"], "notifications/tools/list_changed");
    assert_eq!(text(&client.read()), "changed");
    assert!(text(&client.call(json!(3), "echo", json!({"x": 1}))).starts_with("<validation_error"));
    let (end, _) = client.end();
    assert_eq!((end.counts.asked, end.counts.refused), (2, 2));
}

#[test]
fn what_is_no_call_passes() {
    let mut client = Client::start("echoes", rules());
    // Batches, calls as tasks, answers to the server, lines that are no messages, and a line above the limit.
    let lines = [
        "[]",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":"q1","result":{"action":"accept"}}"#,
        "Hello",
        "",
    ];
    for line in lines {
        client.send(line);
        assert_eq!(client.line(), format!("{line}\n"));
    }
    let long = format!("{{\"text\": \"{}\"}}", "x".repeat(17 << 20));
    let mut input = client.input.take().unwrap();
    let sent = long.clone();
    let writer = std::thread::spawn(move || {
        input.write_all(format!("{sent}\n").as_bytes()).unwrap();
        input
    });
    assert!(client.line() == format!("{long}\n"));
    client.input = Some(writer.join().unwrap());
    let (end, _) = client.end();
    // In both directions.
    assert_eq!((end.counts.batches, end.counts.invalid_lines, end.counts.long_lines), (2, 2, 2));
    assert_eq!(end.counts.calls, 0);
}

#[test]
fn a_long_line_is_not_interrupted_by_an_answer_of_the_proxy() {
    let mut client = Client::start("proxied", rules());
    for (id, size) in [(1, 17 << 20), (2, 40 << 20)] {
        let text = "x".repeat(size);
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "long", "arguments": {"text": text}}});
        client.send(&call.to_string());
        // The line has begun.
        client.output.fill_buf().unwrap();
        client.send(
            r#"{"jsonrpc":"2.0","id":"no","method":"tools/call","params":{"name":"echo","arguments":{"text":1}}}"#,
        );
        assert!(client.read()["result"]["content"][0]["text"].as_str().is_some_and(|answer| answer == text));
        assert!(is_refusal(&client.read()), "{size}");
    }
    // Two lines to the server, and two to the client.
    assert_eq!(client.end().0.counts.long_lines, 4);
}

fn is_refusal(answer: &Value) -> bool {
    answer["id"] == "no" && text(answer).starts_with("<validation_error")
}

#[test]
fn only_one_call_waits_for_a_list_that_does_not_come() {
    let mut client = Client::start("silent", rules());
    let mut time = || {
        let start = Instant::now();
        assert_eq!(text(&client.call(json!(1), "echo", json!({"text": "a"}))), "a");
        start.elapsed()
    };
    let (first, second, third) = (time(), time(), time());
    assert!(second < first / 4 && third < first / 4, "{first:?}, {second:?}, {third:?}");
    assert_eq!(client.end().0.counts.asked, 1);

    // One that refuses it is asked once.
    let mut client = Client::start("refuses", rules());
    for id in 0..3 {
        assert_eq!(text(&client.call(json!(id), "echo", json!({"text": "a"}))), "a");
    }
    assert_eq!(client.end().0.counts.asked, 1);
}

#[test]
fn an_answer_is_the_proxys_own_by_what_it_asked() {
    // An id of the client, such as another proxy in front of this one has.
    for id in ["healbench-proxy-1", "healbench-proxy-0000000000000001"] {
        let mut client = Client::start("proxied", rules());
        client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}).to_string());
        assert_eq!(client.read()["id"], id);
        assert!(text(&client.call(json!(1), "echo", json!({"x": 1}))).starts_with("<validation_error"));
        client.end();
    }
}

#[test]
fn the_end_of_one_side_is_the_end_of_the_other() {
    // The server ends, and leaves a process with its standard output.
    let mut client = Client::start("proxied", rules());
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"leave"}}"#);
    assert_eq!(client.line(), "");
    let end = client.proxy.join().unwrap().unwrap();
    assert_eq!((end.status.and_then(|status| status.code()), end.was_ended), (Some(7), false));

    // The client ends in the middle of a call.
    let mut client = Client::start("proxied", rules());
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}"#);
    let start = Instant::now();
    assert!(client.end().0.was_ended && start.elapsed() < Duration::from_secs(20));

    // The client ends, and its call is answered all the same.
    let mut client = Client::start("late", rules());
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"late"}}}"#);
    client.input = None;
    assert_eq!(text(&client.read()), "late");
    assert!(client.proxy.join().unwrap().unwrap().was_ended);

    // The client does not read.
    let mut client = Client::start("many", rules());
    for _ in 0..20 {
        client.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    }
    std::thread::sleep(Duration::from_millis(300));
    client.stop.store(true, Ordering::Release);
    assert!(client.proxy.join().unwrap().unwrap().was_ended);

    // A server that does not read, and one that goes on without an input.
    for mode in ["deaf", "child"] {
        let mut client = Client::start(mode, rules());
        let mut input = client.input.take().unwrap();
        let filled = std::thread::spawn(move || {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":\"{}\"}}\n", "x".repeat(1 << 20));
            let _ = input.write_all(line.as_bytes());
        });
        client.stop.store(true, Ordering::Release);
        let start = Instant::now();
        assert!(client.proxy.join().unwrap().unwrap().was_ended && start.elapsed() < Duration::from_secs(20), "{mode}");
        filled.join().unwrap();
    }

    // The log of a stopped session ends before a server that does not want to end.
    let mut client = Client::start("stays", rules());
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    client.line();
    while client.log.lines().is_empty() {
        client.stop.store(true, Ordering::Release);
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(100));
    assert!(!client.proxy.is_finished() && client.log.lines()[0]["what"] == "end");
    client.proxy.join().unwrap().unwrap();
    assert_eq!(client.log.lines().len(), 1);

    let words = ["no-such-program".to_owned()];
    let command = ServerCommand::new(&words, &[]).unwrap();
    let supervisor = Supervisor::new(test_server(), Arc::default());
    let error = proxy(&supervisor, &command, rules(), Files::default(), std::io::empty(), std::io::sink()).unwrap_err();
    assert!(error.to_string().contains("`no-such-program` cannot be started"), "{error}");
}
