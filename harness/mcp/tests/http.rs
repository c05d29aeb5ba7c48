//! Sessions with servers behind a URL, which are as bad as those on standard input and output.

#![allow(clippy::unwrap_used, reason = "a test that meets a surprise shall panic")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use healbench_mcp::{Address, CallOutcome, Endpoint, HttpSession, Limits, McpError, McpSession, Supervisor};
use serde_json::{Value, json};

const LIMITS: Limits = Limits { start: Duration::from_secs(20), line: 1 << 16 };
const LONG: Duration = Duration::from_secs(20);
/// How long the answer to a slow call takes.
const SLOW: Duration = Duration::from_secs(120);

/// An answer of HTTP: status, headers, body.
struct Answer(&'static str, &'static str, String);

fn result(request: &Value, result: Value) -> Answer {
    let body = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    Answer("200 OK", "content-type: application/json\r\n", body.to_string())
}

fn error(request: &Value, code: i64, message: &str) -> Answer {
    let body = json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}});
    Answer("200 OK", "content-type: application/json\r\n", body.to_string())
}

/// Answers requests until the test ends; returns the URL.
fn serve(answer: impl Fn(&str, &Value) -> Answer + Send + Sync + Clone + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = answer.clone();
            thread::spawn(move || respond(stream.unwrap(), &answer));
        }
    });
    url
}

fn respond(mut stream: TcpStream, answer: &impl Fn(&str, &Value) -> Answer) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) <= 2 {
            break;
        }
        if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = number.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let Answer(status, headers, body) = match head.split(' ').next() {
        Some("POST") if message.get("id").is_none() => Answer("202 Accepted", "", String::new()),
        Some("POST") => answer(&head, &message),
        _ => Answer("405 Method Not Allowed", "", String::new()),
    };
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
}

fn tools() -> Value {
    json!([{"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}])
}

/// A server of a revision that begins with `initialize`.
fn older(request: &Value) -> Answer {
    match request["method"].as_str().unwrap() {
        "initialize" => result(
            request,
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "old", "version": "1"}}),
        ),
        "tools/list" => result(request, json!({"tools": tools()})),
        "tools/call" => call(request),
        _ => error(request, -32601, "Method not found"),
    }
}

/// A server of the stateless revision.
fn newer(request: &Value) -> Answer {
    match request["method"].as_str().unwrap() {
        "server/discover" => result(
            request,
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "new", "version": "1"}}, "ttlMs": 0, "cacheScope": "private"}),
        ),
        "tools/list" => {
            result(request, json!({"resultType": "complete", "tools": tools(), "ttlMs": 0, "cacheScope": "private"}))
        }
        "tools/call" => call(request),
        _ => error(request, -32601, "Method not found"),
    }
}

/// A server that knows `server/discover`, and lists revisions there that begin with `initialize`.
fn between(request: &Value, listed: &Value) -> Answer {
    match request["method"].as_str().unwrap() {
        "server/discover" => result(
            request,
            json!({"resultType": "complete", "supportedVersions": listed, "capabilities": {"tools": {}},
                "ttlMs": 0, "cacheScope": "public"}),
        ),
        "initialize" => {
            let wanted = &request["params"]["protocolVersion"];
            let info = json!({"name": "between", "version": "1"});
            match listed.as_array().unwrap().contains(wanted) {
                true => result(
                    request,
                    json!({"protocolVersion": wanted, "capabilities": {"tools": {}}, "serverInfo": info}),
                ),
                false => error(request, -32602, "Unsupported protocol version"),
            }
        }
        _ => older(request),
    }
}

fn call(request: &Value) -> Answer {
    let text = request["params"]["arguments"]["text"].as_str().unwrap_or_default();
    match text {
        "slow" => {
            thread::sleep(SLOW);
            result(request, json!({"content": []}))
        }
        "bad" => result(request, json!({"content": [{"type": "text", "text": "text is bad"}], "isError": true})),
        "unknown" => error(request, -32602, "Unknown tool: echo"),
        "page" => Answer("200 OK", "content-type: text/html\r\n", "<h1>Sign in</h1>".to_owned()),
        text => result(request, json!({"content": [{"type": "text", "text": text}]})),
    }
}

fn connect(url: &str) -> Result<HttpSession, McpError> {
    HttpSession::connect(&Arc::default(), &Address::new(url, None).unwrap(), &LIMITS)
}

fn refusal(url: &str) -> String {
    let error = connect(url).err().unwrap();
    error.to_string().replace(url, "URL")
}

fn say(session: &mut HttpSession, text: &str) -> Value {
    match session.call("echo", &json!({"text": text}), LONG).unwrap().outcome {
        CallOutcome::Result(result) => result,
        other => panic!("{other:?}"),
    }
}

#[test]
fn both_handshakes_lead_to_the_same_session() {
    let old = serve(|_, request| older(request));
    let new = serve(|_, request| newer(request));
    for (url, name, revision) in [(old, "old", "2025-06-18"), (new, "new", "2026-07-28")] {
        let mut session = connect(&url).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((session.revision(), &session.server_info()["name"]), (revision, &json!(name)));
        let names: Vec<&str> = session.tools().iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["echo"]);
        assert_eq!(session.tools()[0].input_schema()["properties"]["text"]["type"], "string");
        assert_eq!(say(&mut session, "hello")["content"][0]["text"], "hello");
        let refused = say(&mut session, "bad");
        assert_eq!((&refused["isError"], &refused["content"][0]["text"]), (&json!(true), &json!("text is bad")));
        let unknown = session.call("echo", &json!({"text": "unknown"}), LONG).unwrap().outcome;
        assert!(matches!(&unknown, CallOutcome::Error(error) if error.code == -32602), "{unknown:?}");
    }
}

#[test]
fn a_server_that_lists_older_revisions_is_initialized_with_the_newest_of_them() {
    for (listed, revision) in [
        (json!(["2024-11-05", "2025-03-26", "1999-01-01"]), "2025-03-26"),
        (json!(["2025-11-25", "2025-06-18"]), "2025-11-25"),
    ] {
        let url = serve(move |_, request| between(request, &listed));
        let mut session = connect(&url).unwrap_or_else(|error| panic!("{revision}: {error}"));
        assert_eq!((session.revision(), &session.server_info()["name"]), (revision, &json!("between")));
        assert_eq!(say(&mut session, "hello")["content"][0]["text"], "hello");
    }
    let unknown = serve(|_, request| between(request, &json!(["1999-01-01"])));
    assert!(refusal(&unknown).contains("1999-01-01"), "{}", refusal(&unknown));
}

#[test]
fn a_call_that_takes_too_long_ends_in_time_and_the_next_one_is_answered() {
    let mut session = connect(&serve(|_, request| older(request))).unwrap();
    let started = Instant::now();
    let slow = session.call("echo", &json!({"text": "slow"}), Duration::from_millis(300)).unwrap();
    assert_eq!(slow.outcome, CallOutcome::TimedOut);
    assert!(started.elapsed() < SLOW, "{:?}", started.elapsed());
    assert_eq!(say(&mut session, "next")["content"][0]["text"], "next");
}

#[test]
fn a_call_without_an_answer_is_sent_again_after_half_of_its_time() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let url = serve(move |_, request| match request["method"].as_str() {
        Some("tools/call") if counted.fetch_add(1, Ordering::Relaxed) == 0 => {
            thread::sleep(SLOW);
            result(request, json!({}))
        }
        _ => older(request),
    });
    let endpoint = Endpoint::Url(Address::new(&url, None).unwrap());
    let supervisor = Supervisor::new("none".into(), Arc::default());
    let mut session = McpSession::start(&supervisor, &endpoint, &LIMITS).unwrap();
    let (time, again) = (Duration::from_secs(6), Some(Duration::from_secs(3)));
    let answer = session.call_unmasked("echo", &json!({"text": "hello"}), time, again).unwrap();
    assert_eq!(answer.outcome, CallOutcome::Result(json!({"content": [{"type": "text", "text": "hello"}]})));
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[test]
fn a_token_is_sent_and_its_lack_is_named() {
    let url = serve(|head, request| match head.to_ascii_lowercase().contains("authorization: bearer ") {
        true => older(request),
        false => Answer("401 Unauthorized", "www-authenticate: Bearer\r\n", String::new()),
    });
    assert_eq!(refusal(&url), "`URL` did not answer `initialize`: the server wants a token (401)");
    assert_eq!(connect(&url).err().unwrap().help(), Some("name the environment variable that holds the token"));
    // PATH is set everywhere, and is as good a token as any.
    let mut session =
        HttpSession::connect(&Arc::default(), &Address::new(&url, Some("PATH")).unwrap(), &LIMITS).unwrap();
    assert_eq!(say(&mut session, "hello")["content"][0]["text"], "hello");
}

#[test]
fn servers_that_do_not_speak_mcp_are_refused_with_the_reason() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = refusal(&format!("http://{closed}/mcp"));
    assert!(refused.to_lowercase().contains("connection refused"), "{refused}");

    let elsewhere =
        serve(|_, _| Answer("307 Temporary Redirect", "location: http://example.com/mcp\r\n", String::new()));
    let redirected = refusal(&elsewhere);
    assert!(redirected.contains("307"), "{redirected}");

    let page = serve(|_, _| Answer("200 OK", "content-type: text/html\r\n", "<h1>Hello</h1>".to_owned()));
    assert!(refusal(&page).contains("text/html"), "{}", refusal(&page));

    let missing = serve(|_, _| Answer("404 Not Found", "content-type: text/plain\r\n", "no \u{1b}[31mpage".to_owned()));
    let message = refusal(&missing);
    assert!(message.contains("404") && !message.contains('\u{1b}'), "{message}");

    let huge = serve(|_, request| match request["method"].as_str() {
        Some("tools/list") => result(request, json!({"tools": [{"name": "x".repeat(1 << 17), "inputSchema": {}}]})),
        _ => older(request),
    });
    assert!(refusal(&huge).contains("65536"), "{}", refusal(&huge));

    let cursor = serve(|_, request| match request["method"].as_str() {
        Some("tools/list") => result(request, json!({"tools": [], "nextCursor": "again"})),
        _ => older(request),
    });
    assert_eq!(
        refusal(&cursor),
        "`URL` answered `tools/list` with the cursor again a second time: its pages never end"
    );
}

#[test]
fn an_answer_that_is_not_mcp_ends_the_session() {
    let mut session = connect(&serve(|_, request| older(request))).unwrap();
    let error = session.call("echo", &json!({"text": "page"}), LONG).err().unwrap().to_string();
    assert!(error.contains("text/html"), "{error}");
}

/// Tokens come from variables; PATH is set everywhere.
#[test]
fn a_token_that_a_server_echoes_is_masked() {
    let token = std::env::var("PATH").unwrap();
    for status in ["200 OK", "400 Bad Request", "403 Forbidden", "410 Gone", "418 I'm a teapot", "999 Wrong"] {
        let url = serve(move |head, request| {
            let echoed = head.lines().find(|line| line.to_ascii_lowercase().starts_with("authorization:")).unwrap();
            match request["method"].as_str().unwrap() {
                "tools/call" if status == "200 OK" => {
                    result(request, json!({"content": [{"type": "text", "text": echoed}], "isError": true}))
                }
                "tools/call" => {
                    Answer(status, "content-type: application/json\r\n", json!({"error": echoed}).to_string())
                }
                _ => older(request),
            }
        });
        let mut session =
            HttpSession::connect(&Arc::default(), &Address::new(&url, Some("PATH")).unwrap(), &LIMITS).unwrap();
        let said = match session.call("echo", &json!({}), LONG) {
            Ok(answer) => format!("{answer:?}"),
            Err(error) => error.to_string(),
        };
        assert!(!said.contains(&token), "{status}: {said}");
        assert!(status == "999 Wrong" || said.contains("[key]"), "{status}: {said}");
    }
}

#[test]
fn an_address_keeps_secrets_out_of_messages() {
    let message = |url: &str, name| Address::new(url, name).err().map(|error| error.to_string()).unwrap_or_default();
    assert_eq!(message("127.0.0.1:80", None), "`127.0.0.1:80` is no URL: relative URL without a base");
    assert!(message("ftp://example.com/", None).ends_with("is not a URL of http or https"));
    let with_password = message("https://ann:secret@example.com/mcp?key=hidden", None);
    assert_eq!(with_password, "`https://example.com/mcp` holds a name or a password");
    let unset = message("https://example.com/mcp", Some("HEALBENCH_TEST_NO_SUCH_TOKEN"));
    assert!(unset.contains("HEALBENCH_TEST_NO_SUCH_TOKEN"), "{unset}");
    // PATH is set everywhere.
    let plain = message("http://example.com/mcp?key=hidden", Some("PATH"));
    assert_eq!(plain, "`http://example.com/mcp` would get the token unencrypted; use https");
    assert_eq!(message("http://127.0.0.1:80/mcp", Some("PATH")), "");
    let address = Address::new("https://example.com/mcp?key=hidden", None).map(|address| address.name());
    assert_eq!(address.ok().as_deref(), Some("https://example.com/mcp"));
}

/// The text of an answer to a call with an error status, and that of the next call.
fn met_with(status: &'static str, headers: &'static str, body: &'static str) -> (CallOutcome, bool) {
    let url = serve(move |_, request| match request["params"]["arguments"]["text"].as_str() {
        Some("bad") => Answer(status, headers, body.to_owned()),
        _ => older(request),
    });
    let mut session = connect(&url).unwrap();
    let outcome = session.call("echo", &json!({"text": "bad"}), LONG).unwrap().outcome;
    (outcome, say(&mut session, "next")["content"][0]["text"] == "next")
}

#[test]
fn an_error_status_is_an_answer() {
    for (status, headers, body, code, message) in [
        ("429 Too Many Requests", "", "slow down", 429, "HTTP 429 Too Many Requests"),
        ("401 Unauthorized", "", "no", 401, "HTTP 401 Unauthorized: no"),
        ("401 Unauthorized", "www-authenticate: Bearer\r\n", "", 401, "HTTP 401 Unauthorized"),
        ("403 Forbidden", "", "not yours", 403, "HTTP 403 Forbidden: not yours"),
        (
            "400 Bad Request",
            "content-type: text/plain\r\n",
            "text: too long",
            400,
            "HTTP 400 Bad Request: text: too long",
        ),
        (
            "422 Unprocessable Entity",
            "content-type: application/json\r\n",
            "{\"error\": \"text\"}",
            422,
            "HTTP 422 Unprocessable Entity: {\"error\": \"text\"}",
        ),
        ("503 Service Unavailable", "", "later", 503, "HTTP 503 Service Unavailable"),
    ] {
        match met_with(status, headers, body) {
            (CallOutcome::Error(error), true) => assert_eq!((error.code, error.message.as_str()), (code, message)),
            other => panic!("{status}: {other:?}"),
        }
    }
}
