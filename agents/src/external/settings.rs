//! The `[agent.NAME]` tables of healbench.toml.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use healbench_core::{AgentKind, AgentSpec, Opening};
use healbench_files::{ConfigError, Document, Table, Value, is_name, normal_text, printable};
use healbench_text::looks_like_secret;
use serde::{Deserialize, Serialize};

/// The server as a JSON object with `command` and `args`, or as an inline table in a TOML file.
pub(super) const MCP_CONFIG: &str = "{mcp_config}";
/// The command of the server, as a text in quotes.
pub(super) const MCP_COMMAND: &str = "{mcp_command}";
/// The arguments of the server, as a list of texts in quotes.
pub(super) const MCP_ARGS: &str = "{mcp_args}";
/// The URL of the model.
pub(super) const MODEL_URL: &str = "{model_url}";
pub(super) const PROMPT: &str = "{prompt}";

const KEYS: [&str; 8] = ["acp", "command", "home", "env", "usage", "timeout_s", "model_url", "version"];

/// The seconds that an episode may take, if the table does not say.
const TIMEOUT_S: u32 = 300;
/// The limits of a home template, which is part of every run.
const MAX_TEMPLATE_FILES: usize = 100;
const MAX_TEMPLATE_BYTES: usize = 1 << 20;

/// The settings of an agent program. They are part of the plan, and have no secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// How the program is started and given the task.
    #[serde(flatten)]
    pub protocol: Protocol,
    /// The text files of the home template, by their paths.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub home: BTreeMap<String, String>,
    /// The names of the environment variables that are handed on.
    #[serde(default)]
    pub env: Vec<String>,
    /// True if every report of tokens is about requests that no other report is about, so that they may be added.
    #[serde(default)]
    pub sums_usage: bool,
    /// The seconds that an episode may take.
    pub timeout_s: u32,
    /// The URL of its model, for the template.
    #[serde(default)]
    pub model_url: Option<String>,
    /// The version of the program, as its user states it.
    #[serde(default)]
    pub version: Option<String>,
}

/// The way in which a program is given the task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// By the Agent Client Protocol on standard input and output of this command.
    Acp(Vec<String>),
    /// In the arguments or the home template of this command. The program's end is the end of the episode.
    Command(Vec<String>),
}

impl Protocol {
    /// Returns the words of the command.
    pub fn words(&self) -> &[String] {
        match self {
            Protocol::Acp(words) | Protocol::Command(words) => words,
        }
    }
}

/// The settings in an `[agent.NAME]` table.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramTable {
    pub program: Program,
    /// The line of the table's name, from 1.
    pub line: usize,
}

impl Program {
    /// Returns the agent of a plan.
    pub fn spec(&self, name: &str) -> AgentSpec {
        AgentSpec {
            kind: AgentKind::Program,
            name: name.to_owned(),
            opening: Some(Opening::Natural),
            tools: None,
            // Plain data always serializes.
            settings: serde_json::to_value(self).unwrap_or_default(),
        }
    }

    /// Returns the settings of an agent of a plan; `None` if it is no program, or of another version.
    pub fn from_spec(spec: &AgentSpec) -> Option<Program> {
        match spec.kind {
            AgentKind::Program => serde_json::from_value(spec.settings.clone()).ok(),
            AgentKind::Scripted | AgentKind::Llm | AgentKind::Replay | AgentKind::Trace => None,
        }
    }
}

/// Parses the `[agent.NAME]` tables of a file, by name, and ignores other tables. Home templates are read.
///
/// # Errors
/// Returns the first error in the file.
pub fn parse_program_tables(file: &Path, text: &str) -> Result<BTreeMap<String, ProgramTable>, ConfigError> {
    let name = file.display().to_string();
    let document = Document::parse(&name, text)?;
    let Some(tables) = document.root().read("agent", |value| value.table())? else { return Ok(BTreeMap::new()) };
    let mut programs = BTreeMap::new();
    for entry in tables.entries() {
        if !is_name(entry.key()) || entry.key().contains([',', ':']) {
            let help =
                "a name is not empty, and has no control characters, no commas and colons, and no blanks around it";
            return Err(entry.key_error("is not a name", help));
        }
        let program = program(&entry.table()?, file)?;
        programs.insert(entry.key().to_owned(), ProgramTable { program, line: entry.line() });
    }
    Ok(programs)
}

fn program(table: &Table<'_>, file: &Path) -> Result<Program, ConfigError> {
    table.deny_unknown(&KEYS)?;
    let protocol = match (table.get("acp"), table.get("command")) {
        (Some(words), None) => Protocol::Acp(command(&words)?),
        (None, Some(words)) => Protocol::Command(command(&words)?),
        (Some(_), Some(second)) => {
            return Err(second.key_error("cannot be combined with `acp`", "remove one of them"));
        }
        (None, None) => {
            let help = "add `acp` for a program that speaks the Agent Client Protocol, or `command` for any other";
            return Err(table.error("has no command", help));
        }
    };
    let usage = table.read("usage", |value| value.one_of([("sum", true)]))?;
    let program = Program {
        home: table.read("home", |value| template(value, file))?.unwrap_or_default(),
        env: table.read("env", variable_names)?.unwrap_or_default(),
        sums_usage: usage.unwrap_or_default(),
        timeout_s: table.read("timeout_s", |value| value.integer_from(1))?.unwrap_or(TIMEOUT_S),
        model_url: table.read("model_url", |value| Ok(value.text()?.to_owned()))?,
        version: table.read("version", |value| Ok(value.text()?.to_owned()))?,
        protocol,
    };
    check_placeholders(table, &program)?;
    Ok(program)
}

fn command(words: &Value<'_>) -> Result<Vec<String>, ConfigError> {
    let help = "write the program and its arguments as a list of texts";
    let texts = words.texts()?;
    match texts.first() {
        Some(first) if !first.is_empty() => Ok(texts),
        _ => Err(words.error("names no program", help)),
    }
}

fn variable_names(value: &Value<'_>) -> Result<Vec<String>, ConfigError> {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_variable =
        |text: &str| text.starts_with(is_first) && text.chars().all(|c| is_first(c) || c.is_ascii_digit());
    let names = value.texts()?;
    if names.iter().all(|name| is_variable(name)) {
        return Ok(names);
    }
    Err(value.error(
        "has an invalid environment variable name (value hidden)",
        "name the variables that the program is given; their values stay in the environment",
    ))
}

/// Refuses a program that could not find the task or the tools.
fn check_placeholders(table: &Table<'_>, program: &Program) -> Result<(), ConfigError> {
    let texts = || program.protocol.words().iter().chain(program.home.values());
    let has = |placeholder: &str| texts().any(|text| text.contains(placeholder));
    if has(MODEL_URL) && program.model_url.is_none() {
        return Err(table.error("has no `model_url`, which the home template or the command names", "add it"));
    }
    if matches!(program.protocol, Protocol::Acp(_)) {
        return Ok(());
    }
    let help = |what: &str| format!("write {what} into a file of `home`, or into `command`");
    if ![MCP_CONFIG, MCP_COMMAND, MCP_ARGS].into_iter().any(has) {
        let problem = "does not tell the program its tools: neither `command` nor a file of `home` has `{mcp_config}`";
        return Err(table.error(problem, help("`{mcp_config}`, or `{mcp_command}` and `{mcp_args}`,")));
    }
    if !has(PROMPT) {
        let problem = "does not tell the program its task: neither `command` nor a file of `home` has `{prompt}`";
        return Err(table.error(problem, help("`{prompt}`")));
    }
    Ok(())
}

/// Reads a home template.
fn template(value: &Value<'_>, file: &Path) -> Result<BTreeMap<String, String>, ConfigError> {
    let folder = file.parent().unwrap_or(Path::new("")).join(value.text()?);
    let mut files = BTreeMap::new();
    read_folder(&folder, "", &mut files).map_err(|error| {
        let shown = printable(&folder.display().to_string());
        value.error(
            format_args!("names `{shown}`, which cannot be used: {error}"),
            "a home template is a folder of small text files; its path is relative to the folder of this file",
        )
    })?;
    let secret = files.iter().find(|(_, text)| text.split([' ', '"', '\'', '\n', '=', ',']).any(looks_like_secret));
    if let Some((name, _)) = secret {
        return Err(value.error(
            format_args!("has something in `{}` that looks like a secret, which is not shown", printable(name)),
            "put it into an environment variable, its name into `env`, and let the program read it from there",
        ));
    }
    Ok(files)
}

fn read_folder(folder: &Path, prefix: &str, files: &mut BTreeMap<String, String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|_| io::Error::other("a name is not text"))?;
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            read_folder(&entry.path(), &format!("{path}/"), files)?;
            continue;
        }
        if !kind.is_file() {
            return Err(io::Error::other(format!("`{}` is no regular file", printable(&path))));
        }
        let left = MAX_TEMPLATE_BYTES.saturating_sub(files.values().map(String::len).sum());
        if entry.metadata()?.len() > left as u64 || files.len() >= MAX_TEMPLATE_FILES {
            return Err(io::Error::other("it has more than 100 files or more than 1 MiB"));
        }
        let text = fs::read_to_string(entry.path())?;
        files.insert(path, normal_text(&text).into_owned());
    }
    Ok(())
}
