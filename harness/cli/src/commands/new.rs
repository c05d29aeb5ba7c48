use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use healbench_audit::{Base, BaseState, Options, Server};
use healbench_core::Object;
use healbench_engine::definition::{Action, Handler, Tool};
use healbench_engine::{unknown_keywords, valid_example, validate};
use healbench_mcp::{McpSession, Supervisor, ToolDefinition};
use healbench_reader::shipped_profile_text;
use healbench_scenarios::{Syntax, built_in_suites, examples, load_stored, load_str, shipped_files};
use healbench_text::{is_unprintable, nearest_name, plain_text, pluralize, secrets_in_url, shell_quote};
use serde_json::{Value, json};

use crate::args::NewArgs;
use crate::commands::audit::start_server;
use crate::error::{CliError, ExitStatus};
use crate::load;
use crate::output::write_atomically;
use crate::signals::{status_of, supervise};
use crate::terminal::Terminal;

/// The name of the file with the tools of a server, beside its scenario.
const TOOLS_FILE: &str = "tools.json";
/// The characters of an id taken from a server's name.
const MAX_NAME: usize = 40;
/// The read-only tools that are tried.
const MAX_TRIED: usize = 12;
/// The time for a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(6);
/// The characters of a refusal that are shown.
const MAX_REASON: usize = 300;

/// Writes the tools of a server, and a first scenario for one of them; or a copy of a shipped file or suite.
pub(crate) fn new(args: &NewArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    if let Some(name) = &args.template {
        return copy_shipped(name, terminal);
    }
    if let Some(list) = &args.tools {
        return write_simulated(&args.out, list, terminal);
    }
    if args.server.url.as_deref().is_some_and(|url| !secrets_in_url(url).is_empty()) {
        return Err(CliError::new(
            "the URL holds a password, key or token, which would be stored in the scenario and with every run",
        )
        .help("remove it, and name the variable with a bearer token in `--token-env`"));
    }
    let supervisor = supervise()?;
    // The server ends before it returns.
    write_files(args, &supervisor, terminal)?;
    Ok(status_of(&supervisor, ExitStatus::Success))
}

/// Copies shipped files to the working directory. Files that exist are kept.
fn copy_shipped(name: &str, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let profile = name
        .strip_prefix("scripted:")
        .and_then(|name| Some((format!("{name}.toml").into(), shipped_profile_text(name)?)));
    let files = shipped_files(name).into_iter().map(|(path, text)| (path.to_owned(), text));
    let files: Vec<(PathBuf, &str)> = files.chain(profile).collect();
    if files.is_empty() {
        let suites = built_in_suites();
        let known: Vec<&str> = examples().chain(suites.iter().copied()).collect();
        let near = nearest_name(name, known.iter().copied()).map(|near| format!("did you mean `{near}`? "));
        let help = format!("{}there are {}", near.unwrap_or_default(), known.join(", "));
        return Err(CliError::new(format_args!("healbench has no `{}` to copy", plain_text(name))).help(help));
    }
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
        return Err(CliError::new(format_args!("`{}` exists already", path.display()))
            .help("move it, or work in another folder"));
    }
    for (path, text) in &files {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| CliError::write(folder, &error))?;
        }
        write_atomically(path, text)?;
        terminal.note(&path.display().to_string());
    }
    Ok(ExitStatus::Success)
}

fn write_files(args: &NewArgs, supervisor: &Supervisor, terminal: &Terminal) -> Result<(), CliError> {
    let Server { session, folder } = start_server(supervisor, &args.server, &args.fixture)?;
    let definitions: Vec<&Value> = session.tools().iter().map(|tool| &tool.definition).collect();
    if definitions.is_empty() {
        return Err(
            CliError::new("the server has no tools").help("a server may need arguments or variables to list its tools")
        );
    }
    let tools = format!("{:#}\n", json!({ "tools": definitions }));
    if args.out.extension().is_some_and(|extension| extension == "json") {
        write_atomically(&args.out, &tools)?;
        terminal.note(&format!("{}: {}", pluralize(definitions.len() as u64, "tool"), args.out.display()));
        return Ok(());
    }
    let tools_file = args.out.join(TOOLS_FILE);
    let scenario_file = args.out.join("first.yaml");
    fs::create_dir_all(&args.out).map_err(|error| CliError::write(&args.out, &error))?;
    // A scenario that exists may have been edited; the tools are a copy of the server's.
    let writes_scenario = !scenario_file.exists();
    write_atomically(&tools_file, &tools)?;
    let count = pluralize(definitions.len() as u64, "tool");
    terminal.note(&format!("{count}: {}", tools_file.display()));
    if !writes_scenario {
        terminal.note(&format!("{} exists and is kept", scenario_file.display()));
        return Ok(());
    }
    let tried = tried_calls(args, supervisor, &session);
    let (text, refused) = first_scenario(args, folder.path(), &session, &tools, &tried)?;
    write_atomically(&scenario_file, &text)?;
    terminal.note(&edit_note(&scenario_file));
    if tried.is_empty() {
        terminal.note("its call was not tried: no tool is read-only by its annotations; check its arguments");
    }
    if let Some(reason) = refused {
        terminal.note(&format!("its call is refused, and no other call of a read-only tool was accepted: {reason}"));
    }
    Ok(())
}

/// Calls tools that are read-only by their annotations, changed as their refusals say, and returns the last call of each.
fn tried_calls(args: &NewArgs, supervisor: &Supervisor, session: &McpSession) -> Vec<(String, Base)> {
    let tools: Vec<String> = by_worth(session)
        .into_iter()
        .filter(|tool| tool.is_read_only())
        .take(MAX_TRIED)
        .map(|tool| tool.name.clone())
        .collect();
    if tools.is_empty() {
        return Vec::new();
    }
    let stop = Arc::clone(supervisor.stop());
    let options = Options { tools, base_only: true, call_timeout: CALL_TIMEOUT, stop, ..Options::default() };
    let found = healbench_audit::audit(&options, &|| start_server(supervisor, &args.server, &args.fixture));
    // A server that does not start again has no call that is known to be right.
    let tools = found.map(|report| report.tools).unwrap_or_default();
    tools.into_iter().filter_map(|tool| Some((tool.name, tool.base?))).collect()
}

/// Returns the tools, those first that read and have a required argument.
fn by_worth(session: &McpSession) -> Vec<&ToolDefinition> {
    let mut tools: Vec<_> = session.tools().iter().collect();
    tools.sort_by_key(|tool| (required(tool.input_schema()).is_empty(), !tool.is_read_only()));
    tools
}

/// Returns a scenario with a call of one tool: one that was accepted, or else the first with a required argument that reads, or else writes.
/// With it comes the reason of a refusal, if all that were tried were refused.
fn first_scenario(
    args: &NewArgs,
    folder: &Path,
    session: &McpSession,
    tools: &str,
    tried: &[(String, Base)],
) -> Result<(String, Option<String>), CliError> {
    let name = session.server_info()["name"].as_str().unwrap_or_default();
    let id = &id_of(name, "server");
    let base = |tool: &ToolDefinition| tried.iter().find(|(name, _)| *name == tool.name).map(|(_, base)| base);
    let is_accepted = |base: &Base| matches!(base.state, BaseState::Accepted | BaseState::Volatile);
    let mut candidates = by_worth(session);
    candidates.sort_by_key(|tool| !base(tool).is_some_and(is_accepted));
    let server = server_keys(args, folder);
    for tool in candidates {
        let known = base(tool);
        let accepted = known.filter(|base| is_accepted(base)).map(|base| base.arguments.clone());
        let Some(arguments) = accepted.or_else(|| example(tool.input_schema())) else { continue };
        let text = scenario_text(
            id,
            &format!("server:\n{server}  tools_file: {TOOLS_FILE}\n"),
            "`called`, `result` of a call, or a `command` that exits with status 0",
            &json!({"tool": tool.name, "arguments": arguments}),
            !required(tool.input_schema()).is_empty(),
        );
        if load_stored("first.yaml", &text, Syntax::Yaml, Some(tools)).is_ok() {
            let refused = known.filter(|base| !is_accepted(base)).and_then(|base| base.text.as_deref());
            return Ok((text, refused.map(|text| plain_text(text.trim()).chars().take(MAX_REASON).collect())));
        }
    }
    Err(CliError::new(format_args!("cannot generate a call of a tool of `{}`", plain_text(name)))
        .help(format!("{} is written; write a scenario for it by hand", args.out.join(TOOLS_FILE).display())))
}

/// Writes a scenario with the tools of a file, which the simulator answers.
fn write_simulated(folder: &Path, list: &Path, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    if folder.extension().is_some_and(|extension| extension == "json") {
        return Err(CliError::new(format_args!("`{}` is to be a folder", folder.display()))
            .help("name a folder for `first.yaml` in `--out`"));
    }
    let file = folder.join("first.yaml");
    if file.exists() {
        return Err(CliError::new(format_args!("`{}` exists already", file.display()))
            .help("move it, or name another folder in `--out`"));
    }
    let tools = load::tools(list, terminal)?.tools;
    let mut blocks = String::from(
        "# Edit the handlers: `healbench new --template library-state` copies an example with rows and rules.\ntools:\n",
    );
    for tool in &tools {
        let keys = format!("{:#}", tool_keys(tool)).replace('\n', "\n    ");
        blocks.push_str(&format!("  {}: {keys}\n", json!(tool.name)));
    }
    let id = id_of(&list.file_stem().unwrap_or_default().to_string_lossy(), "tools");
    let mut reason = None;
    let mut actions: Vec<(&Tool, &Action)> =
        tools.iter().flat_map(|tool| tool.actions.iter().map(move |action| (tool, action))).collect();
    actions.sort_by_key(|(_, action)| (required(&action.input).is_empty(), action.read_only));
    for (tool, action) in actions {
        let Some(arguments) = example(&action.input) else { continue };
        let mut call = json!({"tool": tool.name, "arguments": arguments});
        if tool.discriminator.is_some() {
            call["action"] = json!(action.name);
        }
        let held = "`called`, `row` of a table, or an `answer`";
        let text = scenario_text(&id, &blocks, held, &call, !required(&action.input).is_empty());
        let problems = load_str("first.yaml", &text, Syntax::Yaml).err();
        reason = reason.or_else(|| Some(problems.as_ref()?.first()?.message.clone()));
        if problems.is_none() {
            fs::create_dir_all(folder).map_err(|error| CliError::write(folder, &error))?;
            write_atomically(&file, &text)?;
            terminal.note(&edit_note(&file));
            return Ok(ExitStatus::Success);
        }
    }
    let reason = reason.map(|reason| format!(": {}", plain_text(&reason))).unwrap_or_default();
    Err(CliError::new(format_args!("cannot generate a call of a tool of `{}`{reason}", list.display()))
        .help("`healbench new --template library-state` copies a scenario to start from"))
}

/// Returns the keys of a tool in a scenario.
fn tool_keys(tool: &Tool) -> Value {
    let action = |action: &Action| {
        let answer = match &action.handler {
            Handler::Return(answer) => answer.clone(),
            _ => json!("OK"),
        };
        let mut input = action.input.clone();
        for (at, keyword) in unknown_keywords(&input) {
            let schema = at.rsplit_once('/').and_then(|(schema, _)| input.pointer_mut(schema)?.as_object_mut());
            schema.and_then(|schema| schema.shift_remove(&keyword));
        }
        let mut keys = json!({"input": input, "handler": {"return": answer}});
        if !action.description.is_empty() {
            keys["description"] = json!(action.description);
        }
        let hints =
            [("read_only", action.read_only), ("destructive", action.destructive), ("idempotent", action.idempotent)];
        for (hint, _) in hints.iter().filter(|(_, is_set)| *is_set) {
            keys[*hint] = json!(true);
        }
        (action.name.clone(), keys)
    };
    let actions: Object = tool.actions.iter().map(action).collect();
    json!({"description": tool.description, "discriminator": tool.discriminator, "actions": actions})
}

/// Returns a scenario with one call, as a scenario file has it. `environment` has the keys of the server or of the tools, and `held` what
/// may be expected.
fn scenario_text(id: &str, environment: &str, held: &str, call: &Value, has_required: bool) -> String {
    let mistakes = if has_required { "\n    mistakes: [missing]" } else { "" };
    let (name, arguments) = (call["tool"].as_str().unwrap_or_default(), &call["arguments"]);
    let called = match call["action"].as_str() {
        Some(action) => format!("the action {action} of the tool {name}"),
        None => format!("the tool {name}"),
    };
    let text = format!(
        "# A first scenario: edit the task, the call and what is expected of it.\n\
         id: {id}/first\ntitle: A first call of {}\ntask:\n  prompt: {}\n  max_calls: 6\n\
         {environment}\
         # What must hold at the end: {held}.\n\
         expect:\n  - called: {call}\n\
         # The calls of a perfect agent, and the mistakes that a simulated reader makes first.\n\
         script:\n  - call: {call}{mistakes}\n",
        json!(name),
        json!(format!("Call {called} with {arguments}.")),
    );
    // JSON may hold characters that YAML may not.
    let is_refused = |c: char| c != '\n' && (is_unprintable(c) || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}'));
    text.chars().fold(String::new(), |mut text, c| {
        match is_refused(c) {
            true => _ = write!(text, "\\u{:04x}", u32::from(c)),
            false => text.push(c),
        }
        text
    })
}

/// Returns the first part of an id, from a name.
fn id_of(name: &str, default: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let id: String = name.chars().take(MAX_NAME).map(|c| if is_word(c) { c } else { '-' }).collect();
    if id.is_empty() { default.to_owned() } else { id }
}

fn edit_note(file: &Path) -> String {
    let shown = shell_quote(&file.display().to_string());
    format!("scenario: {shown}\nedit it, then: healbench run {shown} --agent scripted:typical --trials 3")
}

/// Returns the keys of a scenario that say how the server is reached.
fn server_keys(args: &NewArgs, folder: &Path) -> String {
    let server = &args.server;
    let mut keys = match &server.url {
        Some(url) => format!("  url: {}\n", json!(url)),
        None => format!("  command: {}\n", json!(server.words(folder))),
    };
    if let Some(fixture) = &args.fixture.fixture {
        keys.push_str(&format!("  fixture: {}\n", json!(relative(&args.out, fixture))));
    }
    if let Some(name) = &server.token_env {
        keys.push_str(&format!("  token_env: {}\n", json!(name)));
    }
    if !server.env.is_empty() {
        keys.push_str(&format!("  env: {}\n", json!(server.env)));
    }
    keys
}

/// Returns the path from one folder to another, both of which exist.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let (Ok(from), Ok(to)) = (from.canonicalize(), to.canonicalize()) else { return to.to_owned() };
    let common = from.components().zip(to.components()).take_while(|(one, other)| one == other).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(to.components().skip(common)).collect()
}

fn required(schema: &Value) -> Vec<&str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns valid arguments, only the required ones if these are valid.
fn example(schema: &Value) -> Option<Value> {
    let schema = healbench_engine::upgrade_schema(schema);
    let all = valid_example(&schema)?;
    let required = required(&schema);
    let mut necessary = all.clone();
    necessary.as_object_mut()?.retain(|name, _| required.contains(&name.as_str()));
    let is_valid = validate(&schema, &necessary).is_ok_and(|issues| issues.is_empty());
    Some(if is_valid { necessary } else { all })
}
