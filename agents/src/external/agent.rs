//! An agent whose turns are the calls of a program.

use std::io::BufReader;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ChildStdout, ExitStatus};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use healbench_core::{
    Agent, AgentError, CallResult, EpisodeStart, Origin, ProgramReport, SERVER_NAME, ToolCall, ToolResponse, Turn,
    tool_definitions,
};
use healbench_mcp::{
    Line, MAX_LINE, McpError, Process, ServerCommand, Supervisor, ToolServer, Variables, check_program, read_line,
};
use healbench_text::{keep_variable, secrets};
use serde_json::Value;

use super::acp::{Conversation, Reaction};
use super::home::{EpisodeFolder, MAX_SOCKET_PATH, McpServer};
use super::hub::{Event, Hub, SocketCall};
use super::settings::{Program, Protocol};
use super::text::KeptText;
use super::usage::add_usage;

/// The time between two looks at the process, the time limit and the flag that stops a run.
const WATCH: Duration = Duration::from_millis(20);
/// The time in which an ended program's last lines are read.
const LAST_LINES: Duration = Duration::from_millis(500);
/// The events that wait, after which program and clients have to wait. Each may be a line of [`MAX_LINE`].
const WAITING_EVENTS: usize = 4;

/// Creates the agents of one program.
pub struct ProgramFactory {
    program: Program,
    /// healbench, which programs start as their server.
    server: PathBuf,
    supervisor: Supervisor,
}

/// The reason why a program cannot be an agent.
#[derive(Debug, thiserror::Error)]
pub enum ProgramSetupError {
    /// The program is not in PATH, or not executable.
    #[error("the program `{0}` is not found")]
    NotFound(String),
    /// No folder can be made for an episode.
    #[error("the folder of an episode cannot be made: {0}")]
    Folder(std::io::Error),
    /// The variable is not set.
    #[error("the environment variable {0} is not set")]
    NoVariable(String),
    /// The folder for temporary files has a path that is too long for sockets.
    #[error("the path of an episode's socket has {length} bytes, and may have {MAX_SOCKET_PATH}: `{}`", path.display())]
    LongPath { path: PathBuf, length: usize },
}

impl ProgramSetupError {
    /// Returns the way out.
    pub fn help(&self) -> &'static str {
        match self {
            ProgramSetupError::NotFound(_) => "install it, or give the path of its executable; only PATH is searched",
            ProgramSetupError::Folder(_) => "set TMPDIR to a folder that can be written",
            ProgramSetupError::NoVariable(_) => "export it, or remove its name from `env`",
            ProgramSetupError::LongPath { .. } => "set TMPDIR to a folder with a shorter path, such as /tmp",
        }
    }
}

impl ProgramFactory {
    /// Checks that the program can be started. `server` is healbench's own executable; `variable` reads the environment.
    ///
    /// # Errors
    /// [`ProgramSetupError`].
    pub fn new(
        program: Program,
        server: PathBuf,
        supervisor: Supervisor,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<ProgramFactory, ProgramSetupError> {
        let name = program.protocol.words().first().cloned().unwrap_or_default();
        let path = variable("PATH").unwrap_or_default();
        if check_program(&name, Some(path.as_ref()), None).is_err() {
            return Err(ProgramSetupError::NotFound(name));
        }
        let folder = EpisodeFolder::create(&supervisor).map_err(ProgramSetupError::Folder)?;
        let path = folder.tools_socket();
        let length = path.as_os_str().len();
        if length > MAX_SOCKET_PATH {
            return Err(ProgramSetupError::LongPath { path, length });
        }
        for name in &program.env {
            let value = variable(name).ok_or_else(|| ProgramSetupError::NoVariable(name.clone()))?;
            keep_variable(name, &value);
        }
        Ok(ProgramFactory { program, server, supervisor })
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Creates the agent of one episode. The program starts with its first turn.
    pub fn agent<'a>(self: &Arc<Self>, start: EpisodeStart<'a>) -> ProgramAgent<'a> {
        let report = ProgramReport::default();
        ProgramAgent { factory: Arc::clone(self), start, running: None, asked: None, report, output: Output::default() }
    }
}

/// One episode of a program.
pub struct ProgramAgent<'a> {
    factory: Arc<ProgramFactory>,
    start: EpisodeStart<'a>,
    running: Option<Running>,
    /// The call that is being answered.
    asked: Option<SocketCall>,
    report: ProgramReport,
    output: Output,
}

/// A program that was started. The sockets close before its processes are ended, and its folder is deleted last.
struct Running {
    hub: Hub,
    events: Receiver<Event>,
    conversation: Option<Conversation>,
    process: Process,
    deadline: Instant,
    _folder: EpisodeFolder,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(line) = self.conversation.as_ref().and_then(Conversation::cancel) {
            self.process.send(line);
        }
    }
}

/// The output of a program without a protocol.
#[derive(Default)]
struct Output {
    lines: KeptText,
    /// The last message among its lines, if they are events as JSON.
    message: Option<KeptText>,
}

impl Output {
    fn push(&mut self, line: &[u8], report: &mut ProgramReport, sums_usage: bool) {
        if let Ok(event) = serde_json::from_slice::<Value>(line) {
            if sums_usage {
                add_usage(report, &event["usage"]);
            }
            let text = match event["type"].as_str() {
                Some("item.completed") if event["item"]["type"] == "agent_message" => &event["item"]["text"],
                Some("result") => &event["result"],
                _ => &Value::Null,
            };
            if let Some(text) = text.as_str() {
                let message = self.message.insert(KeptText::default());
                message.push(text, &mut report.dropped_text_bytes);
            }
        }
        if self.message.is_none() {
            self.lines.push(&String::from_utf8_lossy(line), &mut report.dropped_text_bytes);
            self.lines.push("\n", &mut report.dropped_text_bytes);
        }
    }

    /// Returns the text: of events, the last message among them.
    fn take(&mut self, report: &mut ProgramReport) -> String {
        if let Some(message) = &mut self.message {
            return message.take(&mut report.dropped_text_bytes);
        }
        let mut text = self.lines.take(&mut report.dropped_text_bytes);
        if text.ends_with('\n') {
            text.pop();
        }
        text
    }
}

impl Agent for ProgramAgent<'_> {
    fn receive_result(&mut self, result: CallResult) {
        if let Some(asked) = self.asked.take() {
            asked.answer(result);
        }
    }

    fn next_turn(&mut self, _: &[&ToolResponse]) -> Result<Turn, AgentError> {
        if self.running.is_none() {
            self.running = Some(self.launch()?);
        }
        let turn = self.wait()?;
        Ok(self.redacted(turn))
    }

    fn origin(&self) -> Origin {
        Origin::Program
    }

    fn program_report(&self) -> Option<ProgramReport> {
        let mut report = self.report.clone();
        if let Some(running) = &self.running {
            [report.connections, report.refused_connections, report.cancelled_calls] = running.hub.counts();
        }
        Some(report)
    }
}

impl ProgramAgent<'_> {
    fn launch(&self) -> Result<Running, AgentError> {
        let ProgramFactory { program, server, supervisor, .. } = &*self.factory;
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error: std::io::Error| AgentError::Infra(format!("{what}: {error}"))
        };
        let folder = EpisodeFolder::create(supervisor).map_err(failed("the folder of the episode cannot be made"))?;
        let address = folder.tools_socket();
        let server = McpServer {
            command: server.display().to_string(),
            args: vec!["serve".to_owned(), "--attach".to_owned(), address.display().to_string()],
        };
        let words = folder.fill(program, &server, self.start.prompt);
        let mut words = words.map_err(failed("the home of the program cannot be written"))?.into_iter();
        let (sender, events) = sync_channel(WAITING_EVENTS);
        let tools = ToolServer::new(SERVER_NAME, tool_definitions(self.start.tools));
        let hub = Hub::listen(&address, tools, sender.clone()).map_err(failed("the episode has no socket"))?;
        let command = ServerCommand {
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            environment: Variables::Within { folder: folder.path().to_owned(), names: program.env.clone() },
            dir: Some(folder.work()),
        };
        let speaks_acp = matches!(program.protocol, Protocol::Acp(_));
        let (process, stdout) = match Process::with_output(supervisor, &command, speaks_acp) {
            Err(McpError::Stopped) => return Err(AgentError::Stopped),
            started => started.map_err(|error| AgentError::Infra(error.to_string()))?,
        };
        if let Some(stdout) = stdout {
            read_output(stdout, sender);
        }
        let conversation = speaks_acp.then(|| {
            let Program { sums_usage, .. } = program;
            let (conversation, line) =
                Conversation::begin(self.start.prompt, self.start.tools, &folder.work(), &server, *sums_usage);
            process.send(line);
            conversation
        });
        let deadline = Instant::now() + Duration::from_secs(program.timeout_s.into());
        Ok(Running { hub, events, conversation, process, deadline, _folder: folder })
    }

    /// Waits for the next call, or for the end of the program.
    fn wait(&mut self) -> Result<Turn, AgentError> {
        let mut output_ended = false;
        let mut last_lines: Option<Instant> = None;
        loop {
            let Some(running) = &mut self.running else { return Err(AgentError::Stopped) };
            if self.factory.supervisor.is_stopped() {
                return Err(AgentError::Stopped);
            }
            let event = running.events.recv_timeout(WATCH);
            // What a program says is handled in time, or not at all: it may say more than can be read.
            if event.is_ok() && Instant::now() >= running.deadline {
                return Err(self.late());
            }
            match event {
                Ok(Event::Call(asked)) => {
                    if asked.begin() {
                        let call = asked.call.call.clone();
                        self.asked = Some(asked);
                        return Ok(Turn::Calls { calls: vec![call], waited_s: 0, text: String::new() });
                    }
                }
                Ok(Event::Line(line)) => {
                    if let Some(turn) = self.line(line)? {
                        return Ok(turn);
                    }
                    continue;
                }
                Ok(Event::OutputEnded) => output_ended = true,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            let Some(running) = &mut self.running else { return Err(AgentError::Stopped) };
            let now = Instant::now();
            if let Some(status) = running.process.wait_until(now) {
                // Its last lines are read first. A process that it left may hold the stream.
                let end = *last_lines.get_or_insert(now + LAST_LINES);
                if output_ended || now >= end {
                    self.report.exit = Some(status.to_string());
                    return self.ended(status);
                }
            } else if now >= running.deadline {
                return Err(self.late());
            }
        }
    }

    /// Returns the error of a program that exceeds its time limit.
    fn late(&self) -> AgentError {
        self.failed(&format!("it did not end within {} s", self.factory.program.timeout_s))
    }

    /// Reacts to a line of the program.
    fn line(&mut self, line: Line) -> Result<Option<Turn>, AgentError> {
        let Line::Bytes(line) = line else {
            self.report.stray_lines += 1;
            return Ok(None);
        };
        let Some(running) = &mut self.running else { return Ok(None) };
        let Some(conversation) = &mut running.conversation else {
            self.output.push(&line, &mut self.report, self.factory.program.sums_usage);
            return Ok(None);
        };
        match conversation.receive(&line, &mut self.report) {
            Reaction::Send(line) => running.process.send(line),
            Reaction::End(turn) => return Ok(Some(turn)),
            Reaction::Failed(reason) => return Err(self.failed(&reason)),
            Reaction::Unusable(reason) => return Err(AgentError::Config(self.explained(&reason))),
            Reaction::Nothing => {}
        }
        Ok(None)
    }

    /// Returns the last turn of a program that has ended.
    fn ended(&mut self, status: ExitStatus) -> Result<Turn, AgentError> {
        let program = &self.factory.program;
        match status.code() {
            Some(0) if matches!(program.protocol, Protocol::Command(_)) => {
                Ok(Turn::Answer { text: self.output.take(&mut self.report) })
            }
            Some(0) => Err(self.failed("it ended before it answered the task")),
            Some(code) => {
                let reason = format!("it ended with the exit code {code}");
                let conversation = self.running.as_ref().and_then(|running| running.conversation.as_ref());
                match conversation.is_some_and(Conversation::is_setup) {
                    true => Err(AgentError::Config(self.explained(&format!("{reason}, before its session began")))),
                    false => Err(self.failed(&reason)),
                }
            }
            None => Err(self.failed(&format!("it was ended by the signal {}", status.signal().unwrap_or_default()))),
        }
    }

    /// Returns the error of a program, with its last words.
    fn failed(&self, reason: &str) -> AgentError {
        AgentError::Infra(self.explained(reason))
    }

    /// Returns a reason with the name of the program and its last words.
    fn explained(&self, reason: &str) -> String {
        let name = self.factory.program.protocol.words().first().map_or("", String::as_str);
        let secrets = secrets();
        let mut message = format!("`{name}`: {}", secrets.redact(reason));
        let words = self.running.as_ref().map(|running| running.process.stderr_text()).unwrap_or_default();
        // A key may span the place where a text is cut, so it is masked first.
        let words = secrets.mask(words.trim());
        let start = words.char_indices().rev().nth(LAST_WORDS - 1).map_or(0, |(at, _)| at);
        let words = secrets.redact(&words[start..]);
        if !words.is_empty() {
            message.push_str(&format!("; its last words: {words}"));
        }
        message
    }

    /// Masks the values of the handed-on variables, so that they reach no file.
    fn redacted(&self, turn: Turn) -> Turn {
        let secrets = secrets();
        let text = |text: String| secrets.mask(&text);
        match turn {
            Turn::Calls { calls, waited_s, text } => {
                let masked = |mut call: ToolCall| {
                    let before = call.arguments.clone();
                    secrets.mask_json(&mut call.arguments);
                    call.tool = secrets.mask(&call.tool);
                    if call.arguments != before {
                        call.numbers = None;
                    }
                    call
                };
                Turn::Calls { calls: calls.into_iter().map(masked).collect(), waited_s, text }
            }
            Turn::Answer { text: answer } => Turn::Answer { text: text(answer) },
            Turn::Incomplete { text: answer } => Turn::Incomplete { text: text(answer) },
            Turn::TooLong { reason } => Turn::TooLong { reason: text(reason) },
            Turn::Refused { reason } => Turn::Refused { reason: text(reason) },
            other => other,
        }
    }
}

/// The characters of the standard error that a message has.
const LAST_WORDS: usize = 250;

/// Reads the output of a program in a thread of its own, which ends with the stream or with the episode.
fn read_output(stdout: ChildStdout, events: SyncSender<Event>) {
    thread::spawn(move || {
        let mut source = BufReader::new(stdout);
        while let Ok(Some(line)) = read_line(&mut source, MAX_LINE) {
            if events.send(Event::Line(line)).is_err() {
                return;
            }
        }
        let _ = events.send(Event::OutputEnded);
    });
}
