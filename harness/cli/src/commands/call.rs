//! Calls against the engine alone, without an agent: what would the server say?

use std::io::{self, BufRead as _};
use std::path::Path;
use std::sync::Arc;

use healbench_engine::definition::{Tool, WorldDef};
use healbench_engine::{Engine, World, WorldBase};
use healbench_protocol::{ErrorFormat, Guardrails, Seed, ToolCall, ToolResponse};
use healbench_reports::render::{plain_text, pluralize};
use healbench_runner::TokenCounter;
use healbench_scenarios::Scenario;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::args::{CallArgs, CallOutput};
use crate::error::{CliError, ExitStatus};
use crate::load::{formats, scenarios, tools};
use crate::terminal::{Results, Terminal};

/// Answers one call that was typed, or each line of standard input.
pub(crate) fn call(args: &CallArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let (tools, world) = match (&args.scenario, &args.tools) {
        (Some(path), _) => {
            let scenario = only_scenario(path, terminal)?;
            let world = scenario.world(Seed(args.seed));
            (scenario.tools, world)
        }
        (None, Some(path)) => (tools(path, terminal)?, WorldDef::default()),
        (None, None) => return Err(CliError::NoTools),
    };
    let formats = formats(&args.format)?;
    let output = args.output.unwrap_or(if formats.len() > 1 { CallOutput::Text } else { CallOutput::Json });
    let mut engines = Engines::new(&tools, world, args.guardrails.parse()?, &formats, output)?;
    let mut results = terminal.results();
    match &args.tool {
        Some(tool) => {
            let arguments = serde_json::from_str(args.arguments.as_deref().unwrap_or("{}"))
                .map_err(|source| CliError::Arguments { source })?;
            results.print(&engines.answer(&ToolCall { tool: tool.clone(), arguments }, None))?;
            results.flush()?;
            Ok(ExitStatus::Fine)
        }
        None => answer_lines(&mut engines, &mut results, terminal),
    }
}

fn only_scenario(path: &Path, terminal: &Terminal) -> Result<Scenario, CliError> {
    let mut found = scenarios(&[path.to_owned()], terminal)?;
    match (found.pop(), found.len()) {
        (Some(scenario), 0) => Ok(scenario),
        (_, others) => Err(CliError::ManyScenarios { path: path.to_owned(), count: others + 1 }),
    }
}

fn answer_lines(engines: &mut Engines, results: &mut Results, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let mut input = io::BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut line = Vec::new();
    let (mut number, mut bad) = (0_u64, 0_u64);
    loop {
        // Whoever waits for an answer before the next call gets it; a file is answered without a pause.
        if !input.buffer().contains(&b'\n') {
            results.flush()?;
        }
        line.clear();
        if input.read_until(b'\n', &mut line).map_err(CliError::Stdin)? == 0 {
            break;
        }
        number += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        // Some editors begin a file with a byte order mark.
        let text = line.strip_prefix(b"\xEF\xBB\xBF").filter(|_| number == 1).unwrap_or(&line);
        let answered = match read_call(text.trim_ascii_end()) {
            Ok(call) => results.print(&engines.answer(&call, Some(number)))?,
            Err(problem) => {
                bad += 1;
                results.print(&engines.refuse(&problem, number))?
            }
        };
        if !answered {
            return Ok(ExitStatus::Fine);
        }
    }
    results.flush()?;
    if bad == 0 {
        return Ok(ExitStatus::Fine);
    }
    terminal.important(&format!("{} of standard input: not a call; see `error` in its place", pluralize(bad, "line")));
    Ok(ExitStatus::Usage)
}

/// One line: `{"tool": …, "arguments": {…}}`, or `name` for `tool` as MCP has it. Other keys are not looked at.
fn read_call(line: &[u8]) -> Result<ToolCall, String> {
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        // The reader counts lines within what it was given, which is one.
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
        Some(arguments) => Ok(ToolCall { tool, arguments }),
        // What MCP and JSON-RPC put beside a call says nothing about it.
        None if object.keys().all(|key| key == "_meta" || key == "id") => {
            Ok(ToolCall { tool, arguments: Value::Object(Map::new()) })
        }
        None => Err("there is no `arguments`".to_owned()),
    }
}

/// Answers calls in some error formats: for each an engine, and a world of its own, since calls change it.
struct Engines {
    formats: Vec<(ErrorFormat, Engine, World)>,
    output: CallOutput,
    counter: TokenCounter,
}

impl Engines {
    fn new(
        tools: &[Tool],
        world: WorldDef,
        guardrails: Guardrails,
        formats: &[ErrorFormat],
        output: CallOutput,
    ) -> Result<Engines, CliError> {
        let base = Arc::new(WorldBase::new(world));
        let format = |format: &ErrorFormat| {
            let engine = Engine::new(tools, guardrails, format)?;
            Ok::<_, CliError>((format.clone(), engine, World::new(Arc::clone(&base))))
        };
        let formats = formats.iter().map(format).collect::<Result<_, _>>()?;
        Ok(Engines { formats, output, counter: TokenCounter::new() })
    }

    /// The answer in each format, as it is printed; `line` is where the call stood in the input.
    fn answer(&mut self, call: &ToolCall, line: Option<u64>) -> String {
        if let (CallOutput::Json, [(_, engine, world)]) = (self.output, self.formats.as_mut_slice()) {
            return json_line(&CallToolResult::of(&engine.call(world, call).response));
        }
        let mut out = String::new();
        if let (CallOutput::Text, Some(line)) = (self.output, line) {
            let arguments = call.arguments.to_string();
            out.push_str(&format!("── {line}: {} {}\n\n", plain_text(&call.tool), plain_text(&arguments)));
        }
        let mut members = Map::new();
        for (format, engine, world) in &mut self.formats {
            let response = engine.call(world, call).response;
            let tokens = self.counter.count(&response.text());
            match self.output {
                CallOutput::Text => out.push_str(&section(format, &response, tokens)),
                CallOutput::Json => {
                    let member = serde_json::json!({"tokens": tokens, "result": CallToolResult::of(&response)});
                    members.insert(format.to_string(), member);
                }
            }
        }
        if self.output == CallOutput::Json { json_line(&members) } else { out }
    }

    /// What stands in the place of an answer to a line that is no call.
    fn refuse(&self, problem: &str, line: u64) -> String {
        match self.output {
            CallOutput::Json => json_line(&serde_json::json!({"error": {"line": line, "message": problem}})),
            CallOutput::Text => format!("── {line}: error: {}\n\n", plain_text(problem)),
        }
    }
}

/// A format's name and cost, and below it what an agent would read.
fn section(format: &ErrorFormat, response: &ToolResponse, tokens: u32) -> String {
    let kind = if response.is_error { " · isError" } else { "" };
    let mut out = format!("{format} · {}{kind}\n", pluralize(u64::from(tokens), "token"));
    for line in response.text().lines() {
        out.push_str("  ");
        out.push_str(&plain_text(line));
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    out.push('\n');
    out
}

/// MCP's result of `tools/call`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallToolResult<'a> {
    content: Vec<Content<'a>>,
    is_error: bool,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

impl<'a> CallToolResult<'a> {
    fn of(response: &'a ToolResponse) -> CallToolResult<'a> {
        let content = |text: &'a String| Content { kind: "text", text };
        CallToolResult { content: response.content.iter().map(content).collect(), is_error: response.is_error }
    }
}

fn json_line(value: &impl Serialize) -> String {
    // Texts, numbers and maps with texts for keys are JSON.
    let mut line = serde_json::to_string(value).unwrap_or_default();
    line.push('\n');
    line
}
