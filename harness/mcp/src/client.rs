//! A client of a server on standard input and output.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::process::ChildStdout;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use healbench_text::secrets;
use serde_json::{Value, json};

use crate::answer::{CallAnswer, CallOutcome};
use crate::error::{McpError, escaped};
use crate::line::{Line, MAX_LINE, Message, RpcError, read_line, to_line};
use crate::process::{Process, ServerCommand, Streams, WATCH};
use crate::public_names::publish_names;
use crate::supervisor::Supervisor;

/// The revisions of MCP with `initialize` that both sides speak, the newest first.
pub(crate) const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The lines that are no messages after which a server is given up.
const MAX_STRAY_LINES: usize = 1000;
/// The stray lines that are kept.
const KEPT_LINES: usize = 3;
/// The characters of a line in a message.
const SHOWN_CHARACTERS: usize = 200;
/// The pages of a list of tools.
const MAX_PAGES: usize = 1000;
/// The lines that wait to be handled, after which a server has to wait.
const WAITING_LINES: usize = 64;

/// The limits of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The time in which `initialize` and each page of `tools/list` must be answered.
    pub start: Duration,
    /// The bytes of a line.
    pub line: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { start: Duration::from_secs(30), line: MAX_LINE }
    }
}

/// A tool as a server lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// The name; not unique if the server gives two tools one name.
    pub name: String,
    pub definition: Value,
}

impl ToolDefinition {
    /// Returns the schema of the arguments; null if there is none.
    pub fn input_schema(&self) -> &Value {
        &self.definition["inputSchema"]
    }

    /// Returns true if the server says that the tool changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.definition["annotations"]["readOnlyHint"] == json!(true)
    }
}

/// What a server did besides answering, since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Defects {
    /// The number of lines that are no messages.
    pub stray_lines: usize,
    /// The first of them, escaped and cut.
    pub first_stray_lines: Vec<String>,
    /// The number of answers to requests that were not made.
    pub unknown_ids: usize,
    /// The number of second answers to a request.
    pub second_answers: usize,
    /// The number of answers after their time limit.
    pub late_answers: usize,
    /// The number of batches, which revisions since 2025-06-18 do not have.
    pub batches: usize,
    /// True if the server said that its tools changed.
    pub tools_changed: bool,
}

/// A session with a server, which ends when this value is dropped.
pub struct StdioSession {
    process: Process,
    lines: Receiver<Line>,
    limits: Limits,
    next_id: u64,
    /// The requests that were not answered in time.
    cancelled: BTreeSet<u64>,
    /// The second requests of calls of which the first was answered.
    unwanted: BTreeSet<u64>,
    info: Value,
    revision: String,
    tools: Vec<ToolDefinition>,
    defects: Defects,
}

/// The end of a request.
enum Ended {
    Answered(Result<Value, RpcError>),
    TimedOut,
}

impl StdioSession {
    /// Starts a server, and asks for its tools.
    ///
    /// # Errors
    /// [`McpError`] if it cannot be started, ends, or does not answer as MCP says.
    pub fn start(supervisor: &Supervisor, command: &ServerCommand, limits: &Limits) -> Result<StdioSession, McpError> {
        let (process, stdout) = Process::start(supervisor, command, &Streams::Session)?;
        let lines = read_lines(stdout, limits.line);
        let mut session = StdioSession {
            process,
            lines,
            limits: *limits,
            next_id: 1,
            cancelled: BTreeSet::new(),
            unwanted: BTreeSet::new(),
            info: Value::Null,
            revision: String::new(),
            tools: Vec::new(),
            defects: Defects::default(),
        };
        session.initialize()?;
        let name = escaped(session.process.name());
        session.tools = list_tools(&name, |cursor| {
            let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
            session.ask("tools/list", &params)
        })?;
        Ok(session)
    }

    /// Returns `serverInfo`.
    pub fn server_info(&self) -> &Value {
        &self.info
    }

    /// Returns the revision of MCP that the server chose.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// Returns the tools, in the order of the server.
    pub fn tools(&self) -> &[ToolDefinition] {
        &self.tools
    }

    /// Returns what the server did besides answering.
    pub fn defects(&self) -> &Defects {
        &self.defects
    }

    /// Returns the end of what the server wrote to its standard error, escaped; empty if it wrote nothing.
    pub fn last_words(&self) -> String {
        self.process.last_words()
    }

    /// Calls a tool, and masks secrets in the answer. A call that is not answered within `timeout` is cancelled; progress does not
    /// extend the time.
    ///
    /// # Errors
    /// [`McpError`] if the server ended, closed its output, or sends what is not MCP.
    pub fn call(&mut self, tool: &str, arguments: &Value, timeout: Duration) -> Result<CallAnswer, McpError> {
        self.call_unmasked(tool, arguments, timeout, None).map(CallAnswer::masked)
    }

    /// Like [`StdioSession::call`], with the answer as the server sent it. A call that is not answered after the time of `again` is sent a second time.
    pub(crate) fn call_unmasked(
        &mut self,
        tool: &str,
        arguments: &Value,
        timeout: Duration,
        again: Option<Duration>,
    ) -> Result<CallAnswer, McpError> {
        let started = Instant::now();
        let mut asked = Vec::new();
        let params = json!({"name": tool, "arguments": arguments});
        let outcome = match self.request("tools/call", &params, timeout, again, &mut asked)? {
            Ended::Answered(Ok(result)) => CallOutcome::Result(result),
            Ended::Answered(Err(error)) => CallOutcome::Error(error),
            Ended::TimedOut => CallOutcome::TimedOut,
        };
        Ok(CallAnswer { outcome, asked, elapsed: started.elapsed() })
    }

    fn initialize(&mut self) -> Result<(), McpError> {
        let params = json!({
            "protocolVersion": REVISIONS[0],
            "capabilities": {},
            "clientInfo": {"name": "healbench", "version": env!("CARGO_PKG_VERSION")},
        });
        let result = self.ask("initialize", &params)?;
        let unusable = |problem: String| self.unusable("initialize", problem);
        let Some(revision) = result["protocolVersion"].as_str() else {
            return Err(unusable("no `protocolVersion`".to_owned()));
        };
        if !REVISIONS.contains(&revision) {
            let known = REVISIONS.join(", ");
            return Err(unusable(format!("the revision {} of MCP; this client knows {known}", shown(revision))));
        }
        self.revision = revision.to_owned();
        self.info = result["serverInfo"].clone();
        self.process.send(to_line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})));
        Ok(())
    }

    fn unusable(&self, method: &str, problem: String) -> McpError {
        McpError::Unusable { program: escaped(self.process.name()), method: method.to_owned(), problem }
    }

    /// Makes a request that must be answered with a result.
    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, McpError> {
        let time = self.limits.start;
        match self.request(method, params, time, None, &mut Vec::new())? {
            Ended::Answered(Ok(mut result)) => {
                publish_names(&result);
                secrets().mask_json(&mut result);
                Ok(result)
            }
            Ended::Answered(Err(error)) => Err(McpError::Refused {
                program: escaped(self.process.name()),
                method: method.to_owned(),
                code: error.code,
                message: shown(&error.message),
            }),
            Ended::TimedOut => Err(McpError::Silent {
                program: escaped(self.process.name()),
                method: method.to_owned(),
                seconds: time.as_secs(),
                words: self.process.last_words(),
            }),
        }
    }

    /// Makes a request, and after the time of `again` a second time. The answer to the second counts if the first gets none in time: the first one
    /// is what a client would have been told, and a server may refuse a second call while it does the first.
    fn request(
        &mut self,
        method: &str,
        params: &Value,
        timeout: Duration,
        again: Option<Duration>,
        asked: &mut Vec<String>,
    ) -> Result<Ended, McpError> {
        let started = Instant::now();
        let deadline = started + timeout;
        let mut again = again.map(|time| started + time);
        let first = self.send(method, params);
        let mut second = None;
        let mut spare = None;
        loop {
            self.process.check_stop()?;
            if again.take_if(|time| *time <= Instant::now()).is_some() {
                second = Some(self.send(method, params));
            }
            let left = again.unwrap_or(deadline).saturating_duration_since(Instant::now());
            // A flood of messages is no answer either.
            let received = match left.is_zero() {
                true => Err(RecvTimeoutError::Timeout),
                false => self.lines.recv_timeout(left.min(WATCH)),
            };
            let line = match received {
                Ok(Line::Bytes(line)) => line,
                Ok(Line::TooLong) => return Err(self.long_line(method)),
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => continue,
                Err(RecvTimeoutError::Timeout) => {
                    self.give_up(method, [Some(first), second.filter(|_| spare.is_none())]);
                    return Ok(spare.map_or(Ended::TimedOut, Ended::Answered));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.output_ended(method)),
            };
            match Message::parse(&line) {
                Message::Response { id, outcome } if id == json!(first) => {
                    if let Some(second) = second.filter(|_| spare.is_none()) {
                        self.unwanted.insert(second);
                        self.cancel(second, "the same call was answered");
                    }
                    return Ok(Ended::Answered(outcome));
                }
                Message::Response { id, outcome }
                    if second.is_some_and(|second| id == json!(second)) && spare.is_none() =>
                {
                    spare = Some(outcome);
                }
                Message::Response { id: other, .. } => self.count_answer(&other),
                Message::Request { id, method: wanted, .. } => self.refuse_request(&id, &wanted, asked),
                Message::Notification { method, .. } => {
                    self.defects.tools_changed |= method == "notifications/tools/list_changed";
                }
                Message::Batch => self.defects.batches += 1,
                Message::Invalid => self.count_stray(&line)?,
            }
        }
    }

    /// Cancels requests whose time has passed.
    fn give_up(&mut self, method: &str, ids: [Option<u64>; 2]) {
        for id in ids.into_iter().flatten() {
            self.cancelled.insert(id);
            // A request at the start cannot be cancelled, and its session is given up.
            if method == "tools/call" {
                self.cancel(id, "the time limit of the call has passed");
            }
        }
    }

    /// Answers a request of the server, which the client does not offer, and adds its method to those `asked` for unless it is a ping.
    fn refuse_request(&mut self, id: &Value, wanted: &str, asked: &mut Vec<String>) {
        let answer = match wanted {
            "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
            _ => {
                let error = json!({"code": -32601, "message": "the client does not offer this"});
                asked.push(secrets().mask(wanted));
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        };
        self.process.send(to_line(&answer));
    }

    /// Sends a request, and returns its id.
    fn send(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.process.send(to_line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})));
        id
    }

    fn cancel(&mut self, id: u64, reason: &str) {
        let params = json!({"requestId": id, "reason": reason});
        self.process.send(to_line(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})));
    }

    /// Counts an answer that no request waits for.
    fn count_answer(&mut self, id: &Value) {
        match id.as_u64() {
            Some(id) if self.unwanted.remove(&id) => {}
            Some(id) if self.cancelled.remove(&id) => self.defects.late_answers += 1,
            Some(id) if id < self.next_id => self.defects.second_answers += 1,
            _ => self.defects.unknown_ids += 1,
        }
    }

    fn count_stray(&mut self, line: &[u8]) -> Result<(), McpError> {
        let text = String::from_utf8_lossy(line);
        if text.trim().is_empty() {
            return Ok(());
        }
        self.defects.stray_lines += 1;
        if self.defects.first_stray_lines.len() < KEPT_LINES {
            self.defects.first_stray_lines.push(shown(&text));
        }
        if self.defects.stray_lines <= MAX_STRAY_LINES {
            return Ok(());
        }
        Err(McpError::Garbage {
            program: escaped(self.process.name()),
            lines: self.defects.stray_lines,
            first: self.defects.first_stray_lines.first().cloned().unwrap_or_default(),
            words: self.process.last_words(),
        })
    }

    fn long_line(&self, method: &str) -> McpError {
        let limit = self.limits.line;
        McpError::LongLine { program: escaped(self.process.name()), method: method.to_owned(), limit }
    }

    fn output_ended(&mut self, method: &str) -> McpError {
        // A program that ends closes its output a little earlier, and writes its last words around that time.
        let status = self.process.wait_until(Instant::now() + Duration::from_millis(500));
        // It may have left a process, which ends now.
        let status = status.or_else(|| self.process.own_end());
        let (program, method) = (escaped(self.process.name()), method.to_owned());
        let words = self.process.last_words();
        match status {
            Some(status) => McpError::Ended { program, status: status.to_string(), method, words },
            None => McpError::Closed { program, method, words },
        }
    }
}

/// Collects the pages of a list of tools. `page` returns the page at a cursor.
pub(crate) fn list_tools(
    server: &str,
    mut page: impl FnMut(Option<&str>) -> Result<Value, McpError>,
) -> Result<Vec<ToolDefinition>, McpError> {
    let unusable =
        |problem| Err(McpError::Unusable { program: server.to_owned(), method: "tools/list".to_owned(), problem });
    let mut tools = Vec::new();
    let mut cursors = BTreeSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let mut result = page(cursor.as_deref())?;
        let Value::Array(definitions) = result["tools"].take() else {
            return unusable("no list of `tools`".to_owned());
        };
        for definition in definitions {
            let Some(name) = definition["name"].as_str().map(str::to_owned) else {
                return unusable("a tool without a name".to_owned());
            };
            tools.push(ToolDefinition { name, definition });
        }
        match result["nextCursor"].take() {
            Value::Null => return Ok(tools),
            Value::String(next) if cursors.insert(next.clone()) => cursor = Some(next),
            Value::String(next) => {
                return unusable(format!("the cursor {} a second time: its pages never end", shown(&next)));
            }
            _ => return unusable("a cursor that is not a text".to_owned()),
        }
    }
    unusable(format!("over {MAX_PAGES} pages"))
}

/// Reads the lines of a server in a thread of its own, which ends with the stream.
fn read_lines(stdout: Option<ChildStdout>, limit: usize) -> Receiver<Line> {
    let (sender, receiver) = mpsc::sync_channel(WAITING_LINES);
    if let Some(stdout) = stdout {
        thread::spawn(move || {
            let mut source = BufReader::new(stdout);
            while let Ok(Some(line)) = read_line(&mut source, limit) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}

/// Returns a text of a server for a message: without secrets, escaped, and cut.
pub(crate) fn shown(text: &str) -> String {
    let text = secrets().mask_cut(text);
    let mut cut: String = text.chars().take(SHOWN_CHARACTERS).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    escaped(&cut)
}
