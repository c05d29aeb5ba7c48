//! A scenario as an MCP server, on standard input and output or over HTTP.

mod cases;
mod http;
mod limits;

use std::io::{self, BufReader, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use healbench_core::{EnvironmentError, EnvironmentKind, Plan, SERVER_NAME, Seed, tool_definitions};
use healbench_mcp::{
    Incoming, IncomingCall, Line, MAX_LINE, Supervisor, ToolServer, attach as relay, call_outcome, read_line,
};
use healbench_runner::{Axes, EnvironmentFactory, ScenarioContext, build_plan, server_environments};
use healbench_scenarios::Scenario;
use healbench_text::{plain_text, pluralize};

use self::cases::Case;
use self::limits::{Limits, Place};
use super::call::load_single_scenario;
use crate::args::ServeArgs;
use crate::conditions::{NamedFiles, conditions_of, with_values};
use crate::error::{CliError, ExitStatus};
use crate::load::reject_values_of_the_simulator;
use crate::lockfiles::add_lockfile;
use crate::signals::{on_signal, status_of, supervise};
use crate::terminal::Terminal;

/// The time between two looks at the flag that an interrupt sets.
const WATCH: Duration = Duration::from_millis(100);
/// The lines that wait to be handled, after which the client has to wait.
const WAITING_LINES: usize = 64;

/// Serves a scenario until the client closes the input, or passes a session on to an episode.
pub(crate) fn serve(args: &ServeArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    match (&args.attach, &args.cases, &args.scenario) {
        (Some(address), _, _) => attach(address),
        (_, Some(file), _) => serve_case(file, args.case.as_deref().unwrap_or_default()),
        (_, _, Some(path)) => serve_scenario(path, args, terminal),
        (None, None, None) => Err(CliError::new("no scenario is given")),
    }
}

fn attach(address: &Path) -> Result<ExitStatus, CliError> {
    // Whatever it waits for, there is nothing to save.
    on_signal(|| std::process::exit(ExitStatus::Interrupted as i32))?;
    relay(address, io::stdin(), io::stdout()).map_err(|source| {
        CliError::new(format_args!("cannot pass a session on to `{}`: {source}", address.display()))
            .help("the episode has ended, or was started on another machine")
            .status(ExitStatus::Incomplete)
    })?;
    Ok(ExitStatus::Success)
}

/// Serves the tool of a case, with the same answer to every call.
fn serve_case(file: &Path, name: &str) -> Result<ExitStatus, CliError> {
    let case = Case::read(file, name)?;
    let server = ToolServer::new(SERVER_NAME, vec![case.tool.clone()]);
    let supervisor = supervise()?;
    answer_messages(read_lines(Limits::default()), &server, &supervisor, &mut |call, _| Ok(case.answer(call)))?;
    Ok(status_of(&supervisor, ExitStatus::Success))
}

fn serve_scenario(path: &Path, args: &ServeArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let supervisor = supervise()?;
    let mut scenario = load_single_scenario(path, terminal)?;
    let plan = plan(&mut scenario, args)?;
    let environments = server_environments(supervisor.clone());
    let make_environment: Option<&EnvironmentFactory<'_>> = scenario.server.as_ref().map(|_| &environments as _);
    let context = ScenarioContext::new(&scenario, &plan, make_environment)?;
    let mut session = context.open(0, args.trial).map_err(no_reply)?;
    print_task(&scenario, &context, args.trial, terminal);
    let server = ToolServer::new(SERVER_NAME, tool_definitions(context.tools()));
    let limits = Limits::new(&scenario.tools);
    let messages = match args.http {
        Some(port) => {
            let (address, messages) = http::listen(port, limits)?;
            terminal.result(&format!("{address}\n"))?;
            terminal.note("only this machine can call it; Ctrl-C ends it");
            messages
        }
        None => read_lines(limits),
    };
    let calls = answer_messages(messages, &server, &supervisor, &mut |incoming, is_too_many| {
        let reply = match is_too_many {
            true => session.refuse_as_busy(&incoming.call),
            false => session.call(&incoming.call),
        };
        let reply = reply.map_err(no_reply)?;
        Ok(incoming.answer(call_outcome(reply.call_result())))
    })?;
    let unmet = session.unmet().map_err(no_reply)?;
    let most = u64::from(scenario.task.max_calls);
    let beyond = if calls > most { format!(", {} more than the task allows", calls - most) } else { String::new() };
    let calls = format!("{}{beyond}", pluralize(calls, "call"));
    match unmet.as_slice() {
        [] => terminal.note(&format!("{calls}; the task is done")),
        unmet => terminal.note(&format!("{calls}; the task is not done: {}", plain_text(&unmet.join("; ")))),
    }
    drop(session);
    Ok(status_of(&supervisor, ExitStatus::Success))
}

/// Returns the plan of the only condition.
fn plan(scenario: &mut Scenario, args: &ServeArgs) -> Result<Plan, CliError> {
    let kind = if scenario.server.is_some() { EnvironmentKind::Mcp } else { EnvironmentKind::Simulator };
    let files = NamedFiles::default();
    let mut conditions = conditions_of(&args.conditions, kind, &files)?;
    let (Some(condition), true) = (conditions.pop(), conditions.is_empty()) else {
        return Err(CliError::new("a server has one condition, and several are given")
            .help("start one server for each condition"));
    };
    let conditions = vec![with_values(condition, &args.conditions.vary, &files)?];
    if conditions.iter().any(|condition| !condition.values.client.is_raw()) {
        return Err(CliError::new("a server has no client: the program that connects to it shows the responses")
            .help("choose a condition without a client"));
    }
    if let Some(lockfile) = &files.lockfile(&conditions)? {
        add_lockfile(&mut scenario.awareness, lockfile, &scenario.id)?;
    }
    if kind == EnvironmentKind::Mcp {
        reject_values_of_the_simulator(&conditions)?;
    }
    let axes = Axes { agents: Vec::new(), conditions, trials: 1, seed: Seed(args.conditions.seed) };
    Ok(build_plan(&axes, std::slice::from_ref(scenario)))
}

/// Prints the task, and the calls with which a reader in its place would begin.
fn print_task(scenario: &Scenario, context: &ScenarioContext<'_>, trial: u32, terminal: &Terminal) {
    terminal.note(&format!("{}: {}", plain_text(&scenario.id), plain_text(&scenario.task.prompt)));
    for call in context.opening_calls(trial) {
        terminal.note(&format!("scheduled in trial {trial}: {}", plain_text(&call.wire_text())));
    }
}

/// A message of a client, and how to answer it.
struct Message {
    line: Line,
    /// The place that a call takes among those of a tool with a limit.
    place: Option<Place>,
    reply: Box<dyn FnOnce(Option<Vec<u8>>) -> io::Result<()> + Send>,
}

/// Answers a call; true means that the call exceeds the limit.
type AnswerCall<'a> = &'a mut dyn FnMut(&IncomingCall, bool) -> Result<Vec<u8>, CliError>;

/// Answers messages until there are no more, and returns the number of calls.
fn answer_messages(
    messages: Receiver<Message>,
    server: &ToolServer,
    supervisor: &Supervisor,
    answer_call: AnswerCall<'_>,
) -> Result<u64, CliError> {
    let mut calls = 0;
    while !supervisor.is_stopped() {
        let Message { line, place, reply } = match messages.recv_timeout(WATCH) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let incoming = match line {
            Line::Bytes(line) => server.receive(&line),
            Line::TooLong => server.receive_too_long(),
        };
        let answer = match incoming {
            Incoming::Answer(line) => Some(line),
            Incoming::Call(incoming) => {
                calls += 1;
                Some(answer_call(&incoming, place.as_ref().is_some_and(|place| place.is_too_many))?)
            }
            // Calls are answered one after the other, so it was answered already.
            Incoming::Cancelled(_) | Incoming::Nothing => None,
        };
        drop(place);
        match reply(answer) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(CliError::stdout(error)),
            // The client has ended.
            Err(_) => break,
            Ok(()) => {}
        }
    }
    Ok(calls)
}

/// Reads the lines of standard input in a thread of its own, which ends with this process. Answers go to standard output.
fn read_lines(limits: Limits) -> Receiver<Message> {
    let (sender, receiver) = mpsc::sync_channel(WAITING_LINES);
    thread::spawn(move || {
        let mut input = BufReader::new(io::stdin());
        while let Ok(Some(line)) = read_line(&mut input, MAX_LINE) {
            let place = limits.arrive(&line);
            if sender.send(Message { line, place, reply: Box::new(write_line) }).is_err() {
                return;
            }
        }
    });
    receiver
}

fn write_line(answer: Option<Vec<u8>>) -> io::Result<()> {
    let Some(line) = answer else { return Ok(()) };
    let mut output = io::stdout().lock();
    output.write_all(&line).and_then(|()| output.flush())
}

fn no_reply(error: EnvironmentError) -> CliError {
    let status = match error {
        EnvironmentError::Stopped => ExitStatus::Interrupted,
        _ => ExitStatus::Incomplete,
    };
    CliError::new(error).status(status)
}
