//! A scenario served over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use super::*;

struct Served {
    child: Child,
    host: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    fn start(sandbox: &Sandbox) -> Served {
        sandbox.write("scenario.yaml", include_str!("../../../../scenarios/suites/quickstart/wrong-enum.yaml"));
        let mut command = sandbox.command(&["serve", "scenario.yaml", "--condition", "fusion", "--http", "0"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let host = address.trim().strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap().to_owned();
        assert!(host.starts_with("127.0.0.1:"), "{host}");
        Served { child, host }
    }

    /// Sends a request and returns the status and the body of the answer.
    fn send(&self, method: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let head =
            format!("{method} /mcp HTTP/1.1\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn post(&self, body: &str) -> (u16, String) {
        self.send("POST", &format!("Host: {}\r\nContent-Type: application/json\r\n", self.host), body)
    }
}

#[test]
fn a_scenario_can_be_called_over_http() {
    let sandbox = Sandbox::new();
    let served = Served::start(&sandbox);
    let (status, body) = served.post(r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#);
    let list: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status, 200);
    let tool = list["result"]["tools"][0]["name"].as_str().unwrap();
    // By hand: on several lines, and without an id.
    let call = format!(
        "{{\n \"jsonrpc\": \"2.0\", \"method\": \"tools/call\",\n \"params\": {{\"name\": \"{tool}\", \"arguments\": {{}}}}\n}}"
    );
    let (status, body) = served.post(&call);
    assert!(status == 200 && body.contains("\"isError\":true") && body.contains("\"id\":0"), "{body}");
    assert_eq!(served.post(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#), (202, String::new()));
    let (status, body) = served.post("no json");
    assert!(status == 200 && body.contains("-32600"), "{status} {body}");
}

#[test]
fn other_hosts_sites_and_methods_are_refused() {
    let sandbox = Sandbox::new();
    let served = Served::start(&sandbox);
    let list = r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#;
    assert_eq!(served.send("POST", "Host: evil.example\r\n", list).0, 421);
    let from = |origin: &str| served.send("POST", &format!("Host: {}\r\nOrigin: {origin}\r\n", served.host), list).0;
    assert_eq!(from("http://evil.example"), 403);
    assert_eq!(from(&format!("http://{}", served.host)), 200);
    assert_eq!(served.send("GET", &format!("Host: {}\r\n", served.host), "").0, 405);
}
