//! The two directions of a session.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::process::{ChildStdin, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use healbench_core::{ErrorClass, ToolCall};
use healbench_engine::{CompileError, Engine};
use healbench_mcp::{MAX_LINE, McpError, Message, Process, ServerCommand, Supervisor, to_line};
use healbench_tokens::count_tokens;
use serde_json::{Value, json};

use crate::guard::{self, Change, Changed, Refusal, Rules};
use crate::log::{Counts, Entry, Log, hash};
use crate::record::{Answer, Begun, Effect, Recorder, Recording};
use crate::tools::Tools;

/// The time in which the server may answer the proxy's own question for its tools.
const LIST_TIME: Duration = Duration::from_secs(5);
/// The time between two looks at the server's process.
const WATCH: Duration = Duration::from_millis(20);
/// The time that a server has to end after its client. Clients wait less, and then end the proxy.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time in which the last lines of a server that was stopped are passed on.
const LAST_LINES: Duration = Duration::from_millis(200);
/// The beginning of the ids of the proxy's own requests.
const OWN_ID: &str = "healbench-proxy-";

/// The end of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The exit status of the server; `None` if it could not be ended.
    pub status: Option<ExitStatus>,
    /// True if the client ended first, or the proxy was stopped.
    pub was_ended: bool,
    pub counts: Counts,
    /// The reason why rows are missing, if the session was recorded and one could not be written.
    pub record_error: Option<io::ErrorKind>,
}

/// The files of a session.
#[derive(Default)]
pub struct Files {
    /// What the guardrails did.
    pub log: Option<Box<dyn Write + Send>>,
    /// The rows of the session.
    pub record: Option<Recording>,
}

/// The reason why there is no session.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The server cannot be started.
    #[error(transparent)]
    Server(#[from] McpError),
    /// The error format cannot be used.
    #[error(transparent)]
    Format(#[from] CompileError),
}

/// Starts a server, and stands between it and the client until the server ends, which it has time to do after the client. The flag of
/// `supervisor` ends the session from elsewhere.
///
/// # Errors
/// [`ProxyError`] if the session cannot begin.
pub fn proxy(
    supervisor: &Supervisor,
    command: &ServerCommand,
    rules: Rules,
    files: Files,
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<End, ProxyError> {
    // A format that cannot be used is told before the server starts.
    rules.engine(&[])?;
    let (mut process, stdin, stdout) = Process::with_streams(supervisor, command)?;
    let shared = Arc::new(Shared {
        rules,
        state: Mutex::new(State { log: Log(files.log), ..State::default() }),
        recorder: Mutex::new(files.record.map(Recorder::new)),
        listed: Condvar::new(),
        output: Mutex::new(Box::new(output)),
        server: Mutex::new(Some(stdin)),
        client_ended: AtomicBool::new(false),
        is_over: AtomicBool::new(false),
    });
    // Both threads may wait for ever, for a line of the client or for the client to read one, so they end with this process.
    let from_client = Arc::clone(&shared);
    thread::spawn(move || from_client.read_client(input));
    let (reading, read) = channel::<()>();
    let from_server = Arc::clone(&shared);
    thread::spawn(move || {
        from_server.read_server(BufReader::new(stdout));
        drop(reading);
    });
    let (counts, record_error) = shared.wait_for_end(&mut process, supervisor, &read);
    let status = process.wait_until(Instant::now());
    let was_ended = supervisor.is_stopped() || shared.client_ended.load(Ordering::Acquire);
    Ok(End { status, was_ended, counts, record_error })
}

/// What both directions know.
struct Shared {
    rules: Rules,
    state: Mutex<State>,
    /// `None` if the session is not recorded, and at its end.
    recorder: Mutex<Option<Recorder>>,
    /// The list of tools was read, or an answer to a question for it.
    listed: Condvar,
    output: Mutex<Box<dyn Write + Send>>,
    /// `None` once the client has ended.
    server: Mutex<Option<ChildStdin>>,
    client_ended: AtomicBool,
    /// The server has ended, or nobody reads what it says.
    is_over: AtomicBool,
}

struct State {
    tools: Tools,
    /// The calls that were not answered yet, by their ids as JSON: `1` and `"1"` differ.
    calls: HashMap<String, PendingCall>,
    /// The requests for the list of tools that were not answered yet, and whether each asked for the first page.
    lists: HashMap<String, bool>,
    own_requests: u64,
    /// True while the proxy's own question for the tools is open.
    is_asking: bool,
    counts: Counts,
    log: Log,
}

impl Default for State {
    fn default() -> State {
        State {
            tools: Tools::default(),
            calls: HashMap::new(),
            lists: HashMap::new(),
            own_requests: 0,
            is_asking: false,
            counts: Counts::default(),
            log: Log(None),
        }
    }
}

struct PendingCall {
    call: ToolCall,
    engine: Arc<Engine>,
    has_output_schema: bool,
    /// `None` if the session is not recorded.
    begun: Option<Begun>,
}

/// A part of a stream.
struct Part {
    /// A line with its line break, or a piece of a line that is too long.
    bytes: Vec<u8>,
    is_line: bool,
}

/// Reads the next line, or the next piece of one that is too long; `None` at the end of the stream.
fn read_part(source: &mut impl BufRead, is_within: &mut bool) -> io::Result<Option<Part>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_LINE).unwrap_or(u64::MAX);
    loop {
        match source.by_ref().take(limit).read_until(b'\n', &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(0) if bytes.is_empty() => return Ok(None),
            Ok(_) => break,
        }
    }
    let ends = bytes.last() == Some(&b'\n');
    let was_within = *is_within;
    // A last line may have no line break.
    *is_within = !ends && bytes.len() >= MAX_LINE;
    Ok(Some(Part { bytes, is_line: !was_within && !*is_within }))
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Reads what the client says until it ends.
    fn read_client(&self, mut input: impl BufRead) {
        let mut is_within = false;
        while let Ok(Some(part)) = read_part(&mut input, &mut is_within) {
            if self.is_over.load(Ordering::Acquire) {
                break;
            }
            if !part.is_line {
                self.state().counts.long_lines += u64::from(is_within);
                self.to_server(&part.bytes);
                continue;
            }
            if let Some(answer) = self.client_line(&part.bytes) {
                self.to_client(&answer);
            } else {
                self.to_server(&part.bytes);
            }
        }
        self.client_ended.store(true, Ordering::Release);
        // The end of its input tells the server, which may end at once.
        *lock(&self.server) = None;
    }

    /// Looks at a line of the client, and returns the answer to a call that does not reach the server.
    fn client_line(&self, line: &[u8]) -> Option<Vec<u8>> {
        match Message::parse(line) {
            Message::Request { id, method, params } if method == "tools/list" => {
                let is_first = params.get("cursor").is_none_or(Value::is_null);
                self.state().lists.insert(id.to_string(), is_first);
                None
            }
            Message::Request { id, method, params } if method == "tools/call" => self.call(line, &id, &params),
            Message::Notification { method, params } if method == "notifications/cancelled" => {
                // An answer that comes all the same passes as it is.
                self.state().calls.remove(&params["requestId"].to_string());
                None
            }
            Message::Batch => {
                self.state().counts.batches += 1;
                None
            }
            Message::Invalid if !line.trim_ascii().is_empty() => {
                self.state().counts.invalid_lines += 1;
                None
            }
            _ => None,
        }
    }

    /// Looks at a call, and returns the answer if the guardrails refuse it.
    fn call(&self, line: &[u8], id: &Value, params: &Value) -> Option<Vec<u8>> {
        self.learn_tools();
        let mut state = self.state();
        state.counts.calls += 1;
        let arguments = match params.get("arguments") {
            None | Some(Value::Null) => Some(json!({})),
            Some(arguments) => Some(arguments.clone()).filter(Value::is_object),
        };
        let name = params["name"].as_str().filter(|_| params.get("task").is_none() && !id.is_f64());
        let guard = name.and_then(|name| state.tools.guard(name, &self.rules).ok().flatten());
        let (Some(name), Some(arguments), Some((engine, has_output_schema))) = (name, arguments, guard) else {
            state.counts.unguarded += 1;
            return None;
        };
        let call = ToolCall::new(name, arguments);
        // Compiled and validated without the lock of the other direction.
        drop(state);
        let begun = lock(&self.recorder).as_mut().map(Recorder::begin);
        let refusal = guard::refuse(&engine, &call);
        let Some(Refusal { result, tokens, error_class, named_fields }) = refusal else {
            let pending = PendingCall { call, engine, has_output_schema, begun };
            self.state().calls.insert(id.to_string(), pending);
            return None;
        };
        self.record(begun.as_ref(), &call, || Answer {
            effect: Effect::Refused,
            error_class,
            named_fields: named_fields.as_deref(),
            response_tokens: tokens,
            guardrail_tokens: None,
        });
        let mut state = self.state();
        let answer = to_line(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
        state.counts.refused += 1;
        state.log.write(&Entry::Refused { id, tool: name, call: hash(line), answer: hash(&answer), tokens });
        Some(answer)
    }

    /// Writes the row of a call, if the session is recorded.
    fn record<'a>(&self, begun: Option<&Begun>, call: &ToolCall, answer: impl FnOnce() -> Answer<'a>) {
        let Some(begun) = begun else { return };
        // Tokens are counted without the lock.
        let answer = answer();
        if let Some(recorder) = lock(&self.recorder).as_mut() {
            recorder.end(begun, call, &answer);
        }
    }

    /// Asks the server for its tools if they are not known, and waits for them.
    fn learn_tools(&self) {
        let mut state = self.state();
        if state.tools.is_complete() {
            return;
        }
        // The client may have asked already.
        if state.lists.is_empty() {
            let line = self.ask(&mut state, None);
            drop(state);
            self.to_server(&line);
            state = self.state();
        }
        let wait = |state: &mut State| !state.tools.is_complete() && (state.is_asking || !state.lists.is_empty());
        // Without an answer the call passes unguarded.
        drop(self.listed.wait_timeout_while(state, LIST_TIME, wait));
    }

    /// Returns a request of the proxy's own for a page of the tools.
    fn ask(&self, state: &mut State, cursor: Option<&str>) -> Vec<u8> {
        state.own_requests += 1;
        state.is_asking = true;
        state.counts.asked += 1;
        let id = format!("{OWN_ID}{}", state.own_requests);
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        state.lists.insert(json!(id).to_string(), cursor.is_none());
        let line = to_line(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params}));
        state.log.write(&Entry::Asked { line: hash(&line) });
        line
    }

    /// Reads what the server says until it ends.
    fn read_server(&self, mut stdout: impl BufRead) {
        let mut is_within = false;
        while let Ok(Some(part)) = read_part(&mut stdout, &mut is_within) {
            if !part.is_line {
                self.state().counts.long_lines += u64::from(is_within);
                self.to_client(&part.bytes);
                continue;
            }
            match self.server_line(&part.bytes) {
                Passing::AsItIs => self.to_client(&part.bytes),
                Passing::Instead(line) => self.to_client(&line),
                Passing::Nothing => {}
            }
        }
    }

    fn server_line(&self, line: &[u8]) -> Passing {
        match Message::parse(line) {
            Message::Response { id, outcome } => {
                let key = id.to_string();
                let mut state = self.state();
                if let Some(is_first) = state.lists.remove(&key) {
                    return self.listed(state, &id, is_first, outcome.ok().as_ref());
                }
                let Some(pending) = state.calls.remove(&key) else { return Passing::AsItIs };
                drop(state);
                self.answer(line, &id, &pending, &outcome)
            }
            Message::Notification { method, .. } if method == "notifications/tools/list_changed" => {
                self.state().tools.changed();
                Passing::AsItIs
            }
            Message::Batch => {
                self.state().counts.batches += 1;
                Passing::AsItIs
            }
            Message::Invalid if !line.trim_ascii().is_empty() => {
                self.state().counts.invalid_lines += 1;
                Passing::AsItIs
            }
            _ => Passing::AsItIs,
        }
    }

    /// Reads a page of the list of tools. An answer to the proxy's own question does not pass.
    fn listed(&self, mut state: MutexGuard<'_, State>, id: &Value, is_first: bool, result: Option<&Value>) -> Passing {
        let next = result.and_then(|result| state.tools.read_page(is_first, result));
        let is_own = id.as_str().is_some_and(|id| id.starts_with(OWN_ID));
        if is_own {
            state.is_asking = false;
            if let Some(cursor) = next {
                let line = self.ask(&mut state, Some(&cursor));
                drop(state);
                self.to_server(&line);
                return Passing::Nothing;
            }
        }
        drop(state);
        self.listed.notify_all();
        if is_own { Passing::Nothing } else { Passing::AsItIs }
    }

    fn answer(
        &self,
        line: &[u8],
        id: &Value,
        pending: &PendingCall,
        outcome: &Result<Value, healbench_mcp::RpcError>,
    ) -> Passing {
        let (rules, engine, call) = (&self.rules, &pending.engine, &pending.call);
        let change = match outcome {
            Ok(result) if !is_finished(result) => {
                self.state().counts.unguarded += 1;
                return Passing::AsItIs;
            }
            Ok(result) => guard::result(rules, engine, call, result, pending.has_output_schema),
            Err(error) => match guard::error(rules, engine, call, error.code, &error.message) {
                Some(changed) => Change::Formatted(changed),
                None => {
                    self.state().counts.protocol_errors += 1;
                    self.record(pending.begun.as_ref(), call, || Answer {
                        effect: Effect::ProtocolError,
                        error_class: Some(ErrorClass::ProtocolError),
                        named_fields: None,
                        response_tokens: count_tokens(&error.message),
                        guardrail_tokens: Some(0),
                    });
                    return Passing::AsItIs;
                }
            },
        };
        self.record(pending.begun.as_ref(), call, || recorded(outcome, &change));
        let to_answer = |changed: &Changed| to_line(&json!({"jsonrpc": "2.0", "id": id, "result": changed.result}));
        let mut state = self.state();
        match change {
            Change::None => Passing::AsItIs,
            Change::Uncut => {
                state.counts.uncut += 1;
                Passing::AsItIs
            }
            Change::Formatted(changed) => {
                let answer = to_answer(&changed);
                let Changed { tokens_before, tokens, .. } = changed;
                state.counts.formatted += 1;
                let (from, hashed) = (hash(line), hash(&answer));
                state.log.write(&Entry::Formatted {
                    id,
                    tool: &call.tool,
                    from,
                    answer: hashed,
                    tokens_before,
                    tokens,
                });
                Passing::Instead(answer)
            }
            Change::Cut(changed) => {
                let answer = to_answer(&changed);
                let Changed { tokens_before, tokens, .. } = changed;
                state.counts.cut += 1;
                let (from, hashed) = (hash(line), hash(&answer));
                state.log.write(&Entry::Cut { id, tool: &call.tool, from, answer: hashed, tokens_before, tokens });
                Passing::Instead(answer)
            }
        }
    }

    fn to_server(&self, bytes: &[u8]) {
        if let Some(server) = lock(&self.server).as_mut() {
            // A server that has closed its input may still answer.
            let _ = server.write_all(bytes).and_then(|()| server.flush());
        }
    }

    fn to_client(&self, bytes: &[u8]) {
        let mut output = lock(&self.output);
        if output.write_all(bytes).and_then(|()| output.flush()).is_err() {
            // Nobody reads any more.
            self.is_over.store(true, Ordering::Release);
        }
    }

    /// Waits until the server has ended and its last lines were passed on, ends it if there is no use in waiting, and returns what
    /// [`Shared::finish`] does. `read` is disconnected once its output has ended.
    fn wait_for_end(
        &self,
        process: &mut Process,
        supervisor: &Supervisor,
        read: &Receiver<()>,
    ) -> (Counts, Option<io::ErrorKind>) {
        let mut since: Option<Instant> = None;
        let mut is_useful = || {
            let is_over = self.is_over.load(Ordering::Acquire) || supervisor.is_stopped();
            let client_ended = self.client_ended.load(Ordering::Acquire);
            let has_waited = client_ended && since.get_or_insert_with(Instant::now).elapsed() >= PATIENCE;
            !is_over && !has_waited
        };
        let wait = |time| !matches!(read.recv_timeout(time), Err(RecvTimeoutError::Disconnected));
        while process.wait_until(Instant::now()).is_none() && is_useful() && wait(WATCH) {}
        // This process may be killed before the server has ended, and nobody waits for the last lines.
        let finished = supervisor.is_stopped().then(|| self.finish());
        // The lock may be held by a line that the server does not read.
        if let Ok(mut server) = self.server.try_lock() {
            *server = None;
        }
        process.end();
        // Its output has an end now, and only the client can be slow.
        while is_useful() && wait(WATCH) {}
        if finished.is_none() {
            wait(LAST_LINES);
        }
        finished.unwrap_or_else(|| self.finish())
    }

    /// Ends the client's input, the log and the rows, and returns what was done, and the reason why rows are missing. Log and
    /// rows have nothing after it.
    fn finish(&self) -> (Counts, Option<io::ErrorKind>) {
        self.is_over.store(true, Ordering::Release);
        // The client may not read a line that is being written.
        if let Ok(mut output) = self.output.try_lock() {
            *output = Box::new(io::sink());
        }
        let mut state = self.state();
        let counts = state.counts;
        state.log.write(&Entry::End { counts: &counts });
        state.log = Log(None);
        drop(state);
        (counts, lock(&self.recorder).take().and_then(|recorder| recorder.finish(&counts)))
    }
}

/// What becomes of a line of the server.
enum Passing {
    AsItIs,
    Instead(Vec<u8>),
    Nothing,
}

/// Returns what the rows say of an answer.
fn recorded<'a>(outcome: &Result<Value, healbench_mcp::RpcError>, change: &'a Change) -> Answer<'a> {
    let error_class = match outcome {
        Ok(result) => (result["isError"] == json!(true)).then_some(ErrorClass::ServerError),
        Err(_) => Some(ErrorClass::ProtocolError),
    };
    let (effect, changed) = match change {
        Change::None => (Effect::Passed, None),
        Change::Uncut => (Effect::Uncut, None),
        Change::Formatted(changed) => (Effect::Formatted, Some(changed)),
        Change::Cut(changed) => (Effect::Cut, Some(changed)),
    };
    let as_it_is = || outcome.as_ref().map_or(0, |result| count_tokens(&guard::texts(result)));
    Answer {
        effect,
        error_class,
        named_fields: changed.and_then(|changed| changed.named_fields.as_deref()),
        response_tokens: changed.map_or_else(as_it_is, |changed| changed.tokens),
        guardrail_tokens: Some(
            changed.map_or(0, |changed| i64::from(changed.tokens) - i64::from(changed.tokens_before)),
        ),
    }
}

/// Returns true for a result that answers the call now, and asks for nothing.
fn is_finished(result: &Value) -> bool {
    let kind = result["resultType"].as_str();
    result.is_object() && result.get("task").is_none() && kind.is_none_or(|kind| kind == "complete")
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
