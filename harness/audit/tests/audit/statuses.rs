//! Servers behind a URL that answer calls with an error status of HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use healbench_mcp::Address;

use super::*;

/// Audits a server that answers a call, of a number and with these arguments, with a status and a body; with "200 OK", the body is the text of a success.
fn audited_at_url(answer: fn(usize, &Value) -> (&'static str, &'static str)) -> AuditReport {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    thread::spawn(move || {
        let mut calls = 0;
        listener.incoming().for_each(|stream| respond(stream.unwrap(), &mut calls, answer));
    });
    let supervisor = Supervisor::new("none".into(), Arc::default());
    audit(&options(), &|| {
        let endpoint = Endpoint::Url(Address::new(&url, None).unwrap());
        Ok(Server { session: McpSession::start(&supervisor, &endpoint, &LIMITS)?, folder: TempDir::new().unwrap() })
    })
    .unwrap()
}

fn respond(mut stream: TcpStream, calls: &mut usize, answer: fn(usize, &Value) -> (&'static str, &'static str)) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut length, mut line) = (0, String::new());
    while reader.read_line(&mut line).unwrap_or(0) > 2 {
        if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = number.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let result = |result: Value| {
        ("200 OK", "application/json", json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string())
    };
    let (status, kind, body) = match request["method"].as_str() {
        Some("initialize") => result(
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "h", "version": "0"}}),
        ),
        Some("tools/list") => result(json!({"tools": [
            {"name": "get", "inputSchema": fields(&[("id!", "string"), ("n", "integer")]), "annotations": {"readOnlyHint": true}}
        ]})),
        Some("tools/call") => {
            *calls += 1;
            match answer(*calls, &request["params"]["arguments"]) {
                ("200 OK", text) => result(json!({"content": [{"type": "text", "text": text}]})),
                (status, text) => (status, "text/plain", text.to_owned()),
            }
        }
        Some(_) if request.get("id").is_some() => {
            let error = json!({"code": -32601, "message": "Method not found"});
            ("200 OK", "application/json", json!({"jsonrpc": "2.0", "id": request["id"], "error": error}).to_string())
        }
        Some(_) => ("202 Accepted", "text/plain", String::new()),
        None => ("405 Method Not Allowed", "text/plain", String::new()),
    };
    let length = body.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
    );
}

#[test]
fn a_status_that_begins_during_the_audit_is_not_scored() {
    let rate: fn(usize, &Value) -> (&'static str, &'static str) = |calls, arguments| match arguments["id"].is_string() {
        _ if calls > 4 => ("429 Too Many Requests", "slow down"),
        true => ("200 OK", "item"),
        false => ("400 Bad Request", "id: expected string"),
    };
    let login: fn(usize, &Value) -> (&'static str, &'static str) = |calls, arguments| match arguments["id"].is_string()
    {
        _ if calls > 4 => ("401 Unauthorized", "{\"error\": \"token expired\"}"),
        true => ("200 OK", "item"),
        false => ("400 Bad Request", "id: expected string"),
    };
    for (answer, status) in [(rate, "HTTP 429"), (login, "HTTP 401")] {
        let report = audited_at_url(answer);
        assert!(!findings(&report).iter().any(|(id, ..)| *id == "dies"), "{:?}", report.findings);
        let environment = report.environment.as_ref().unwrap();
        assert!(environment.reason.contains(status) && environment.reached < environment.calls, "{environment:?}");
        assert!(!report.templates.iter().any(|template| template.example.contains(status)), "{:?}", report.templates);
    }
}

#[test]
fn the_text_of_a_refusal_with_a_status_is_scored() {
    let report = audited_at_url(|_, arguments| match arguments["id"].is_string() {
        true => ("200 OK", "item"),
        false => ("422 Unprocessable Entity", "id: expected string"),
    });
    assert_eq!(answer_to(&report, "wrong_type", "id"), (AnswerKind::ProtocolError, Some(100.0)));
    // The body of this status is not read, and nothing helps.
    let report = audited_at_url(|_, arguments| match arguments["id"].is_string() {
        true => ("200 OK", "item"),
        false => ("500 Internal Server Error", "id: expected string"),
    });
    let (answer, points) = answer_to(&report, "wrong_type", "id");
    assert!(answer == AnswerKind::ProtocolError && points.is_some_and(|points| points < 50.0), "{points:?}");
    assert!(!findings(&report).iter().any(|(id, ..)| *id == "dies"), "{:?}", report.findings);
}
