//! A running `healbench view` and its responses.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::*;

/// A running `healbench view`.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) port: u16,
}

/// A response of the server.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// Returns the HTML of a page without style and script, which mention content that is not on the page.
pub(crate) fn visible_html(body: &str) -> String {
    let between = |from: &str, to: &str| {
        let rest = &body[body.find(from)?..];
        Some(rest[..rest.find(to)?].to_owned())
    };
    match (between("<title>", "</title>"), between("<header", "</header>"), between("<main", "</main>")) {
        (Some(title), Some(header), Some(main)) => format!("{title}\n{header}\n{main}"),
        _ => body.to_owned(),
    }
}

impl Server {
    pub(crate) fn start(sandbox: &Sandbox, args: &[&str]) -> Server {
        let mut command = sandbox.command(&[&["view"], args].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("http://127.0.0.1:").and_then(|rest| rest.strip_suffix('/'));
        Server { port: port.unwrap_or_else(|| panic!("{line:?}")).parse().unwrap(), child }
    }

    /// Sends a request with this head, in which `PORT` stands for the port.
    pub(crate) fn send(&self, head: &str) -> Reply {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = head.replace("PORT", &self.port.to_string());
        stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
        let mut text = Vec::new();
        stream.read_to_end(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_ascii_lowercase(), value.trim().to_owned())
        };
        Reply { status, headers: lines.map(header).collect(), body: visible_html(body) }
    }

    pub(crate) fn get(&self, address: &str) -> Reply {
        self.send(&format!("GET {address} HTTP/1.1\r\nHost: 127.0.0.1:PORT"))
    }

    /// Requests an address and asserts that it exists.
    pub(crate) fn ok(&self, address: &str) -> String {
        let reply = self.get(address);
        assert_eq!(reply.status, 200, "{address}: {}", reply.body);
        reply.body
    }

    /// Requests an address and asserts that it does not exist.
    pub(crate) fn missing(&self, address: &str) -> String {
        let reply = self.get(address);
        assert_eq!(reply.status, 404, "{address}: {}", reply.body);
        assert!(reply.body.contains("All runs"), "{address}: {}", reply.body);
        reply.body
    }

    pub(crate) fn json(&self, address: &str) -> Value {
        serde_json::from_str(&self.ok(address)).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Creates a folder with two runs of one scenario, the second with one more agent.
pub(crate) fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("scenario.yaml", include_str!("../../../../scenarios/suites/quickstart/wrong-enum.yaml"));
    for (name, agents) in [("first", "scripted:typical"), ("second", "scripted:typical,scripted:blind")] {
        let out = format!("runs/{name}");
        sandbox.ok(&[
            &["run", "scenario.yaml", "--trials=2", "--format=fusion-xml", "--agent", agents],
            &["--out", &*out][..],
        ]
        .concat());
    }
    sandbox
}
