//! Answers calls by the engine alone, without an agent.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use healbench_core::{
    Condition, EnvironmentKind, NumberTexts, SERVER_NAME, Script, Seed, ToolCall, ToolSpec, tool_definitions,
};
use healbench_engine::contract::ContractAwareness;
use healbench_engine::definition::{Tool, WorldDef};
use healbench_engine::{ClientProfile, CompileError, Engine, GuardedReply, ToolSchemas, World, WorldBase};
use healbench_mcp::{Line, MAX_LINE, call_outcome, read_line};
use healbench_reader::reading::{Vocabulary, read};
use healbench_runner::{ClientReply, reply_through_client, simulator_engine};
use healbench_scenarios::Scenario;
use healbench_text::{plain_text, pluralize};
use healbench_tokens::{TokenCounter, is_estimated};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::args::{CallArgs, CallOutput};
use crate::commands::outputs;
use crate::conditions::{NamedFiles, conditions_of, short_labels, vary};
use crate::error::{CliError, ExitStatus};
use crate::load::{scenarios, tools};
use crate::lockfiles::{TOOLS, add_lockfile};
use crate::output::write_atomically;
use crate::terminal::{ResultWriter, Terminal};

/// Answers one call from the arguments, or each line of standard input.
pub(crate) fn call(args: &CallArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let files = NamedFiles::default();
    let conditions = conditions_of(&args.conditions, EnvironmentKind::Simulator, &files)?;
    let conditions = vary(conditions, &args.conditions.vary, &files)?;
    let lockfile = files.lockfile(&conditions)?;
    let (tools, world, awareness) = simulated(args, lockfile.as_deref(), terminal)?;
    let is_text = conditions.len() > 1 || args.read;
    let given = args.output.as_ref();
    let output = given.map_or(if is_text { CallOutput::Text } else { CallOutput::Json }, |output| output.renderer);
    let file = given.and_then(|output| output.file.as_deref());
    outputs::check(args.output.as_slice(), args.scenario.iter().chain(&args.tools).map(PathBuf::as_path))?;
    if args.read && output == CallOutput::Json {
        return Err(CliError::new("`--read` adds to texts, not to JSON").help("leave out `--output json`"));
    }
    let schemas = ToolSchemas::compile(&tools)?;
    let engine = |condition: &Condition| simulator_engine(&tools, &schemas, &awareness, condition);
    let specs: Vec<ToolSpec> = tools.iter().map(Tool::advertised).collect();
    let definitions = tool_definitions(&specs);
    let client = |condition: &Condition| ClientProfile::new(condition.values.client, SERVER_NAME, &definitions);
    let readers = args.read.then_some(specs.as_slice());
    let mut engines = Engines::new(world, conditions, output, readers, engine, client)?;
    let mut results = if file.is_none() { terminal.result_writer() } else { ResultWriter::default() };
    let status = match &args.tool {
        Some(tool) => {
            let text = args.arguments.as_deref().unwrap_or("{}");
            let arguments = serde_json::from_str(text).map_err(|source| {
                CliError::new(format_args!("the arguments are not JSON: {source}"))
                    .help("give a JSON object in quotes, as in '{\"action\": \"list\"}'")
            })?;
            let call = ToolCall { numbers: NumberTexts::of(text), ..ToolCall::new(tool, arguments) };
            results.print(&engines.render_reply(&call, None))?;
            results.flush()?;
            ExitStatus::Success
        }
        None => call_each_line(&mut engines, &mut results, terminal)?,
    };
    if let Some(file) = file {
        write_atomically(file, &results.collected)?;
    }
    Ok(status)
}

/// Returns the tools of the scenario or of the file that is named, the initial state, and the contract changes that errors show.
fn simulated(
    args: &CallArgs,
    lockfile: Option<&Path>,
    terminal: &Terminal,
) -> Result<(Vec<Tool>, WorldDef, ContractAwareness), CliError> {
    match (&args.scenario, &args.tools) {
        (Some(path), _) => {
            let mut scenario = load_single_scenario(path, terminal)?;
            if let Some(lockfile) = lockfile {
                add_lockfile(&mut scenario.awareness, lockfile, &scenario.id)?;
            }
            if scenario.server.is_some() {
                return Err(CliError::new(format_args!("`{}` runs on a server, not in the simulator", scenario.id))
                    .help("run it, and look at its calls with `healbench show`"));
            }
            let world = scenario.world(Seed(args.conditions.seed), 0);
            Ok((scenario.tools, world, scenario.awareness))
        }
        (None, Some(path)) => {
            let mut awareness = ContractAwareness::default();
            if let Some(lockfile) = lockfile {
                add_lockfile(&mut awareness, lockfile, TOOLS)?;
            }
            Ok((tools(path, terminal)?.tools, WorldDef::default(), awareness))
        }
        (None, None) => {
            Err(CliError::new("neither a scenario nor tools are given")
                .help("name a file with `--scenario` or `--tools`"))
        }
    }
}

pub(super) fn load_single_scenario(path: &Path, terminal: &Terminal) -> Result<Scenario, CliError> {
    let mut found = scenarios(&[path.to_owned()], terminal)?;
    match (found.pop(), found.len()) {
        (Some(scenario), 0) => Ok(scenario),
        (_, others) => Err(CliError::new(format_args!("`{}` has {} scenarios", path.display(), others + 1))
            .help("name one scenario file")),
    }
}

fn call_each_line(
    engines: &mut Engines<'_>,
    results: &mut ResultWriter,
    terminal: &Terminal,
) -> Result<ExitStatus, CliError> {
    let mut input = io::BufReader::with_capacity(1 << 16, io::stdin().lock());
    let (mut number, mut invalid_lines) = (0_u64, 0_u64);
    loop {
        // A program may wait for a response before its next call, so flush when the input buffer has no complete line.
        if !input.buffer().contains(&b'\n') {
            results.flush()?;
        }
        let line = read_line(&mut input, MAX_LINE)
            .map_err(|source| CliError::new(format_args!("cannot read standard input: {source}")))?;
        number += 1;
        let call = match line {
            None => break,
            Some(Line::TooLong) => Err(format!("the line is longer than {} MiB", MAX_LINE >> 20)),
            Some(Line::Bytes(line)) if line.iter().all(u8::is_ascii_whitespace) => continue,
            Some(Line::Bytes(line)) => {
                // Some editors write a byte order mark at the start of a file.
                let text = line.strip_prefix(b"\xEF\xBB\xBF").filter(|_| number == 1).unwrap_or(&line);
                read_call(text.trim_ascii_end())
            }
        };
        let reader_open = match call {
            Ok(call) => results.print(&engines.render_reply(&call, Some(number)))?,
            Err(problem) => {
                invalid_lines += 1;
                results.print(&engines.render_error(&problem, number))?
            }
        };
        if !reader_open {
            return Ok(ExitStatus::Success);
        }
    }
    results.flush()?;
    if invalid_lines == 0 {
        return Ok(ExitStatus::Success);
    }
    terminal
        .warn(&format!("{} of standard input: not a call; see `error` in its place", pluralize(invalid_lines, "line")));
    Ok(ExitStatus::Usage)
}

/// Parses a line: `{"tool": …, "arguments": {…}}`, or with `name` for `tool` as in MCP. Other keys are ignored.
fn read_call(line: &[u8]) -> Result<ToolCall, String> {
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        // The parser sees a single line, so the line number in its message is dropped.
        let text = error.to_string();
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        format!("not JSON: {what} at column {}", error.column())
    })?;
    let Value::Object(mut object) = value else {
        return Err("a call is an object with `tool` and `arguments`".to_owned());
    };
    let name = object.remove("tool").or_else(|| object.remove("name"));
    let Some(Value::String(tool)) = name else {
        return Err("a call names its tool, as in {\"tool\": \"billing\", \"arguments\": {}}".to_owned());
    };
    match object.remove("arguments") {
        Some(arguments) => {
            let numbers = str::from_utf8(line).ok().and_then(NumberTexts::of);
            let numbers = numbers.and_then(|numbers| numbers.member("arguments"));
            Ok(ToolCall { tool, arguments, numbers })
        }
        // Without `arguments`, only metadata of MCP and JSON-RPC may be next to the name.
        None if object.keys().all(|key| key == "_meta" || key == "id") => {
            Ok(ToolCall::new(tool, Value::Object(Map::new())))
        }
        None => Err("there is no `arguments`".to_owned()),
    }
}

/// One engine per condition.
struct Engines<'t> {
    conditions: Vec<LabelledEngine>,
    /// The tools that readers of the texts know; `None` without `--read`.
    readers: Option<&'t [ToolSpec]>,
    output: CallOutput,
    counter: TokenCounter,
}

/// The engine of a condition, with an environment of its own, because calls change it.
struct LabelledEngine {
    label: String,
    engine: Engine,
    client: Option<ClientProfile>,
    world: World,
}

impl LabelledEngine {
    /// Answers a call. The client's presentation replaces the response's content.
    fn call(&mut self, call: &ToolCall) -> GuardedReply {
        let Some(client) = &self.client else { return self.engine.call(&mut self.world, call) };
        match reply_through_client(client, call, |call| Ok(self.engine.call(&mut self.world, call))) {
            Ok(ClientReply::OfServer { mut answer, shown }) => {
                answer.response.content = shown;
                // The model is shown the content, and nothing beside it.
                answer.structured = None;
                answer
            }
            Ok(ClientReply::OfClient { answer, .. }) => answer,
            Err(error) => unreachable!("the simulator always replies: {error}"),
        }
    }
}

impl<'t> Engines<'t> {
    fn new(
        world: WorldDef,
        conditions: Vec<Condition>,
        output: CallOutput,
        readers: Option<&'t [ToolSpec]>,
        make_engine: impl Fn(&Condition) -> Result<Engine, CompileError>,
        make_client: impl Fn(&Condition) -> Option<ClientProfile>,
    ) -> Result<Engines<'t>, CliError> {
        let base = Arc::new(WorldBase::new(world));
        let engine = |(label, condition): (String, &Condition)| {
            let (engine, client) = (make_engine(condition)?, make_client(condition));
            Ok::<_, CliError>(LabelledEngine { label, engine, client, world: World::new(Arc::clone(&base)) })
        };
        let conditions =
            short_labels(&conditions).into_iter().zip(&conditions).map(engine).collect::<Result<_, _>>()?;
        Ok(Engines { conditions, readers, output, counter: TokenCounter::new() })
    }

    /// Formats the response under each condition; `line` is the line of the call in the input.
    fn render_reply(&mut self, call: &ToolCall, line: Option<u64>) -> String {
        if let (CallOutput::Json, [only]) = (self.output, self.conditions.as_mut_slice()) {
            return json_line(&call_tool_result(only.call(call)));
        }
        let mut out = String::new();
        if let (CallOutput::Text, Some(line)) = (self.output, line) {
            let mut arguments = call.arguments.to_string();
            if let Some((end, _)) = arguments.char_indices().nth(MAX_HEADING_CHARS) {
                arguments.truncate(end);
                arguments.push('…');
            }
            out.push_str(&format!("── {line}: {} {}\n\n", plain_text(&call.tool), plain_text(&arguments)));
        }
        let mut members = Map::new();
        for condition in &mut self.conditions {
            let reply = condition.call(call);
            let label = &condition.label;
            let text = reply.response.text();
            let (tokens, is_estimated) = (self.counter.count(&text), is_estimated(&text));
            match self.output {
                CallOutput::Text => {
                    out.push_str(&section(label, &reply, tokens, is_estimated));
                    if let Some(tools) = self.readers {
                        out.push_str(&what_is_read(&text, tools, call, reply.response.is_error));
                    }
                }
                CallOutput::Json => {
                    let result = call_tool_result(reply);
                    let member =
                        serde_json::json!({"tokens": tokens, "tokens_estimated": is_estimated, "result": result});
                    members.insert(label.clone(), member);
                }
            }
        }
        if self.output == CallOutput::Json { json_line(&members) } else { out }
    }

    /// Formats the error of a line that is not a call.
    fn render_error(&self, problem: &str, line: u64) -> String {
        match self.output {
            CallOutput::Json => json_line(&serde_json::json!({"error": {"line": line, "message": problem}})),
            CallOutput::Text => format!("── {line}: error: {}\n\n", plain_text(problem)),
        }
    }
}

/// The longest words that are shown beside what was read from them, in characters.
const MAX_WORDS_CHARS: usize = 200;

/// The longest arguments that the heading of a call shows whole, in characters.
const MAX_HEADING_CHARS: usize = 2000;

/// Formats a section with the condition's label, its number of tokens, and the text that an agent reads.
fn section(label: &str, reply: &GuardedReply, tokens: u32, is_estimated: bool) -> String {
    let response = &reply.response;
    let kind = if response.is_error { " · isError" } else { "" };
    let about = if is_estimated { "about " } else { "" };
    let mut out = format!("{label} · {about}{}{kind}\n", pluralize(u64::from(tokens), "token"));
    for line in response.text().lines() {
        out.push_str("  ");
        out.push_str(&plain_text(line));
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    if let Some(structured) = &reply.structured {
        out.push_str(&format!("  structuredContent: {}\n", plain_text(&structured.to_string())));
    }
    out.push('\n');
    out
}

/// Formats what simulated readers find in a text, each with the words that it was read from.
fn what_is_read(text: &str, tools: &[ToolSpec], call: &ToolCall, is_error: bool) -> String {
    let script = Script::default();
    let reading = read(text, &Vocabulary::new(tools, &script), &call.arguments, Some(is_error));
    let mut out = String::new();
    for (statement, words) in reading.statements.iter().zip(&reading.words) {
        out.push_str(&format!("  read: {}\n", plain_text(&statement.to_string())));
        if !words.is_empty() {
            let words: String = words.chars().take(MAX_WORDS_CHARS).collect();
            out.push_str(&format!("        from: {}\n", plain_text(&words)));
        }
    }
    if reading.statements.is_empty() {
        out.push_str("  read: the reader found nothing here that it can act on\n");
    }
    if let Some(kind) = reading.kind {
        out.push_str(&format!("  kind: {}\n", kind.name()));
    }
    out.push('\n');
    out
}

/// Returns the MCP result of `tools/call`, with the content that an agent is shown.
fn call_tool_result(reply: GuardedReply) -> Value {
    let shown = GuardedReply { unchanged: None, ..reply };
    // Without a server's own result there is no protocol error.
    call_outcome(shown.call_result()).unwrap_or_default()
}

fn json_line(value: &impl Serialize) -> String {
    // These types always serialize: all map keys are strings.
    let mut line = serde_json::to_string(value).unwrap_or_default();
    line.push('\n');
    line
}
