//! The two directions of a session.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use healbench_core::ToolCall;
use healbench_engine::{CompileError, Engine};
use healbench_mcp::{McpError, Message, Process, ServerCommand, Supervisor, to_line};
use serde_json::{Value, json};

use crate::guard::{self, Refusal, Rules};
use crate::log::{Counts, Entry, Log, hash};
use crate::record::{Answer, Begun, Effect, Recorder, Recording};
use crate::tools::Tools;

mod answer;
mod list;
mod stream;

use list::Questions;
use stream::Stream;

/// The time between two looks at the server's process.
const WATCH: Duration = Duration::from_millis(20);
/// The time that a server has to end after its client. Clients wait less, and then end the proxy.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time in which the last lines of a server that was stopped are passed on.
const LAST_LINES: Duration = Duration::from_millis(200);

/// The end of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The exit status of the server; `None` if it could not be ended.
    pub status: Option<ExitStatus>,
    /// True if the client ended first, or the proxy was stopped.
    pub was_ended: bool,
    pub counts: Counts,
    /// The reason why entries of the log are missing, if there is a log and one could not be written.
    pub log_error: Option<io::ErrorKind>,
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
        state: Mutex::new(State { log: Log::new(files.log), ..State::default() }),
        records_texts: files.record.as_ref().is_some_and(|record| record.with_texts),
        recorder: Mutex::new(files.record.map(Recorder::new)),
        listed: Condvar::new(),
        output: Stream::new(output),
        server: Stream::new(stdin),
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
    let end = shared.wait_for_end(&mut process, supervisor, &read);
    let status = process.wait_until(Instant::now());
    let was_ended = supervisor.is_stopped() || shared.client_ended.load(Ordering::Acquire);
    Ok(End { status, was_ended, ..end })
}

/// What both directions know.
struct Shared {
    rules: Rules,
    state: Mutex<State>,
    /// `None` if the session is not recorded, and at its end.
    recorder: Mutex<Option<Recorder>>,
    records_texts: bool,
    /// The list of tools was read, or an answer to a question for it.
    listed: Condvar,
    output: Stream,
    /// Closed once the client has ended.
    server: Stream,
    client_ended: AtomicBool,
    /// The server has ended, or the proxy was stopped.
    is_over: AtomicBool,
}

#[derive(Default)]
struct State {
    tools: Tools,
    /// The calls that were not answered yet, by their ids as JSON: `1` and `"1"` differ.
    calls: HashMap<String, PendingCall>,
    questions: Questions,
    counts: Counts,
    log: Log,
}

struct PendingCall {
    call: ToolCall,
    engine: Arc<Engine>,
    has_output_schema: bool,
    /// `None` if the session is not recorded.
    begun: Option<Begun>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire) || self.output.is_broken()
    }

    fn count_long_line(&self) {
        self.state().counts.long_lines += 1;
    }

    /// Reads what the client says until it ends.
    fn read_client(&self, input: impl BufRead) {
        let pass = |line: &[u8]| {
            match self.client_line(line) {
                Some(answer) => self.output.write(&answer),
                None => self.server.write(line),
            }
            !self.is_over()
        };
        self.server.read_from(input, || self.count_long_line(), pass);
        self.client_ended.store(true, Ordering::Release);
        // The end of its input tells the server, which may end at once.
        self.server.close();
    }

    /// Looks at a line of the client, and returns the answer to a call that does not reach the server.
    fn client_line(&self, line: &[u8]) -> Option<Vec<u8>> {
        match Message::parse(line) {
            Message::Request { id, method, params } if method == "tools/list" => {
                self.state().questions.pass(&id, &params);
                None
            }
            Message::Request { id, method, params } if method == "tools/call" => self.call(line, &id, &params),
            Message::Notification { method, params } if method == "notifications/cancelled" => {
                // An answer that comes all the same passes as it is.
                let id = params["requestId"].to_string();
                let mut state = self.state();
                state.calls.remove(&id);
                state.questions.cancel(&id);
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
            text: self.records_texts.then(|| guard::texts(&result)),
            guardrail_tokens: None,
        });
        let mut state = self.state();
        let answer = to_line(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
        state.counts.refused += 1;
        state.log.write(&Entry::Refused { id, tool: name, call: hash(line), answer: hash(&answer), tokens });
        Some(answer)
    }

    /// Reads what the server says until it ends.
    fn read_server(self: &Arc<Shared>, stdout: impl BufRead) {
        let pass = |line: &[u8]| {
            match self.server_line(line) {
                Passing::AsItIs => self.output.write(line),
                Passing::Instead(line) => self.output.write(&line),
                Passing::Nothing => {}
            }
            true
        };
        if !self.output.read_from(stdout, || self.count_long_line(), pass) {
            // Nothing may look like the rest of its last line.
            self.output.close();
        }
    }

    fn server_line(self: &Arc<Shared>, line: &[u8]) -> Passing {
        match Message::parse(line) {
            Message::Response { id, outcome } => {
                let key = id.to_string();
                let mut state = self.state();
                if let Some(question) = state.questions.answered(&key) {
                    return self.listed(state, question, &outcome);
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

    /// Waits until the server has ended and its last lines were passed on, ends it if there is no use in waiting, and returns what
    /// [`Shared::finish`] does. `read` is disconnected once its output has ended.
    fn wait_for_end(&self, process: &mut Process, supervisor: &Supervisor, read: &Receiver<()>) -> End {
        let mut since: Option<Instant> = None;
        let mut is_useful = || {
            let is_over = self.is_over() || supervisor.is_stopped();
            let client_ended = self.client_ended.load(Ordering::Acquire);
            let has_waited = client_ended && since.get_or_insert_with(Instant::now).elapsed() >= PATIENCE;
            !is_over && !has_waited
        };
        let wait = |time| !matches!(read.recv_timeout(time), Err(RecvTimeoutError::Disconnected));
        while process.wait_until(Instant::now()).is_none() && is_useful() && wait(WATCH) {}
        // This process may be killed before the server has ended, and nobody waits for the last lines.
        let finished = supervisor.is_stopped().then(|| self.finish());
        self.server.close_if_idle();
        process.end();
        // Its output has an end now, and only the client can be slow.
        while is_useful() && wait(WATCH) {}
        if finished.is_none() {
            wait(LAST_LINES);
        }
        finished.unwrap_or_else(|| self.finish())
    }

    /// Ends the client's input, the log and the rows, and returns what was done, and why entries or rows are missing. Log and rows
    /// have nothing after it. How the server ended is not known yet.
    fn finish(&self) -> End {
        self.is_over.store(true, Ordering::Release);
        self.output.close_if_idle();
        let mut state = self.state();
        let counts = state.counts;
        let log_error = std::mem::take(&mut state.log).finish(&counts);
        drop(state);
        let record_error = lock(&self.recorder).take().and_then(|recorder| recorder.finish(&counts));
        End { status: None, was_ended: false, counts, log_error, record_error }
    }
}

/// What becomes of a line of the server.
enum Passing {
    AsItIs,
    Instead(Vec<u8>),
    Nothing,
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
