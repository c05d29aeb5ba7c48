//! The environment of a scenario with a server: a process and a folder of its own for every episode.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use healbench_core::{
    CallResult, Capabilities, ContentBlock, Deadline, Environment, EnvironmentError, EnvironmentKind, Object, Reply,
    ReplyOutcome, Session, ToolCall, ToolSpec,
};
use healbench_engine::definition::Tool;
use healbench_mcp::{Address, Endpoint, Limits, McpError, McpSession, ServerCommand, Supervisor, run_program};
use healbench_scenarios::{EPISODE_DIR, Scenario, Server, ServerCheck, ServerEndpoint, load_tools_str};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::listed_tools::difference;

/// The server of a scenario as an environment.
pub(crate) struct ServerEnvironment<'a> {
    /// `None` where no server is started.
    supervisor: Option<Supervisor>,
    server: &'a Server,
    checks: Vec<&'a ServerCheck>,
    /// The tools that agents are shown.
    tools: Vec<ToolSpec>,
    /// The tools that the server has to have.
    expected: Vec<ToolSpec>,
}

impl<'a> ServerEnvironment<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        server: &'a Server,
        supervisor: Option<Supervisor>,
    ) -> ServerEnvironment<'a> {
        ServerEnvironment {
            supervisor,
            server,
            checks: scenario.server_checks().collect(),
            tools: scenario.advertised(),
            expected: scenario.tools.iter().map(Tool::spec).collect(),
        }
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(self.server.timeout_s.into())
    }
}

impl Environment for ServerEnvironment<'_> {
    fn kind(&self) -> EnvironmentKind {
        EnvironmentKind::Mcp
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { deterministic: false, state_is_cheap: false, call_timeout: Some(self.timeout()) }
    }

    fn tools(&self) -> &[ToolSpec] {
        &self.tools
    }

    fn open(&self) -> Result<Box<dyn Session + '_>, EnvironmentError> {
        let supervisor = self.supervisor.as_ref().ok_or_else(|| unavailable("no server is started here"))?;
        let folder = EpisodeFolder::create(supervisor, self.server.fixture.as_deref())?;
        for words in &self.server.setup {
            let command = folder.command(words, &self.server.env)?;
            let end = run_program(supervisor, &command, self.timeout()).map_err(failed)?;
            match end.status {
                Some(status) if status.success() => {}
                Some(status) => {
                    let words = words.join(" ");
                    return Err(unavailable(format!(
                        "the setup command `{words}` failed ({status}): {}",
                        end.last_words
                    )));
                }
                None => return Err(EnvironmentError::Timeout(self.timeout().as_secs())),
            }
        }
        let endpoint = match &self.server.endpoint {
            ServerEndpoint::Command(words) => Endpoint::Command(folder.command(words, &self.server.env)?),
            ServerEndpoint::Url { url, token_env } => {
                Endpoint::Url(Address::new(url, token_env.as_deref()).map_err(failed)?)
            }
        };
        let session = McpSession::start(supervisor, &endpoint, &Limits::default()).map_err(failed)?;
        check_tools(&self.expected, &session)?;
        Ok(Box::new(ServerSession { environment: self, supervisor, session, folder }))
    }
}

/// One episode on a server. The process ends before its folder is deleted.
struct ServerSession<'a> {
    environment: &'a ServerEnvironment<'a>,
    supervisor: &'a Supervisor,
    session: McpSession,
    folder: EpisodeFolder,
}

impl ServerSession<'_> {
    fn answer(&mut self, tool: &str, arguments: &Value, deadline: Deadline) -> Result<CallResult, EnvironmentError> {
        let mut arguments = arguments.clone();
        self.folder.enter(&mut arguments);
        let timeout = left(deadline, self.environment.timeout());
        let answer = self.session.call(tool, &arguments, timeout).map_err(failed)?;
        if let Some(problem) = answer.outcome.problem() {
            let defects = self.session.defects();
            let stray = defects.first_stray_lines.last().map(|line| format!("; it wrote what is no message: {line}"));
            let words = self.session.last_words();
            let words = if words.is_empty() { words } else { format!("; its last words: {words}") };
            return Err(unavailable(format!("a call of `{tool}` {problem}{}{words}", stray.unwrap_or_default())));
        }
        let mut result = answer.outcome.to_call_result();
        self.folder.leave(&mut result);
        Ok(result)
    }
}

impl Session for ServerSession<'_> {
    fn call<'s>(&'s mut self, call: &ToolCall, deadline: Deadline) -> Result<Reply<'s>, EnvironmentError> {
        let result = self.answer(&call.tool, &call.arguments, deadline)?;
        Ok(Reply { outcome: ReplyOutcome::Foreign(result), state_changed: None, struck: false })
    }

    fn check(&mut self, deadline: Deadline) -> Result<Vec<bool>, EnvironmentError> {
        let (environment, supervisor) = (self.environment, self.supervisor);
        let mut holds = |check: &ServerCheck| match check {
            ServerCheck::Result { tool, arguments, contains } => {
                let result = self.answer(tool, &Value::Object(arguments.clone()), deadline)?;
                Ok(!result.is_refusal() && result.shown().iter().any(|text| text.contains(contains.as_str())))
            }
            ServerCheck::Command(words) => {
                let command = self.folder.command(words, &environment.server.env)?;
                let timeout = left(deadline, environment.timeout());
                let end = run_program(supervisor, &command, timeout).map_err(failed)?;
                let ended = end.status.map(|status| status.success());
                ended.ok_or_else(|| {
                    unavailable(format!("the expectation `{}` took over {} s", words.join(" "), timeout.as_secs()))
                })
            }
        };
        environment.checks.iter().map(|check| holds(check)).collect()
    }
}

fn left(deadline: Deadline, most: Duration) -> Duration {
    deadline.0.map_or(most, |deadline| deadline.saturating_duration_since(Instant::now()).min(most))
}

fn unavailable(reason: impl Into<String>) -> EnvironmentError {
    EnvironmentError::Unavailable(reason.into().into())
}

fn failed(error: McpError) -> EnvironmentError {
    match error.help() {
        _ if matches!(error, McpError::Stopped) => EnvironmentError::Stopped,
        Some(help) => unavailable(format!("{error} ({help})")),
        None => unavailable(error.to_string()),
    }
}

/// Compares the tools of a scenario with those that the server has now, since mistakes and validation follow the former.
fn check_tools(expected: &[ToolSpec], session: &McpSession) -> Result<(), EnvironmentError> {
    let definitions: Vec<&Value> = session.tools().iter().map(|tool| &tool.definition).collect();
    let listed = load_tools_str("tools/list", &json!({ "tools": definitions }).to_string());
    let listed: Vec<ToolSpec> =
        listed.map(|list| list.tools.iter().map(Tool::advertised).collect()).unwrap_or_default();
    match expected.iter().find_map(|spec| difference(spec, &listed)) {
        None => Ok(()),
        Some(difference) => Err(unavailable(format!(
            "{difference}; if it is so at each start, write the file again with `healbench new --from-server`"
        ))),
    }
}

/// The folder of an episode. Agents see it as [`EPISODE_DIR`].
struct EpisodeFolder {
    _folder: TempDir,
    /// Its path, and the path behind links in it.
    paths: Vec<String>,
}

impl EpisodeFolder {
    fn create(supervisor: &Supervisor, fixture: Option<&Path>) -> Result<EpisodeFolder, EnvironmentError> {
        let failed = |error: io::Error| unavailable(format!("the folder of the episode cannot be made: {error}"));
        let folder = supervisor.folder().map_err(failed)?;
        if let Some(fixture) = fixture {
            let copied = copy_folder(fixture, folder.path());
            copied.map_err(|error| {
                unavailable(format!("the fixture `{}` cannot be copied: {error}", fixture.display()))
            })?;
        }
        let real = folder.path().canonicalize().map_err(failed)?;
        let mut paths: Vec<PathBuf> = vec![folder.path().to_owned(), real];
        paths.dedup();
        let paths = paths.into_iter().filter_map(|path| path.into_os_string().into_string().ok()).collect();
        Ok(EpisodeFolder { _folder: folder, paths })
    }

    /// Returns a command in which the folder is named, and which runs in it.
    fn command(&self, words: &[String], variables: &[String]) -> Result<ServerCommand, EnvironmentError> {
        let path = self.path();
        let words: Vec<String> = words.iter().map(|word| replace_folder(&word.replace("{dir}", path), path)).collect();
        let command = ServerCommand::new(&words, variables).ok_or_else(|| unavailable("the command is empty"))?;
        Ok(ServerCommand { dir: Some(path.into()), ..command })
    }

    fn path(&self) -> &str {
        self.paths.first().map_or("", String::as_str)
    }

    /// Replaces the path that agents see by that of the folder.
    fn enter(&self, value: &mut Value) {
        match value {
            Value::String(text) if text.contains(EPISODE_DIR) => *text = replace_folder(text, self.path()),
            Value::Array(items) => items.iter_mut().for_each(|item| self.enter(item)),
            Value::Object(map) => map.values_mut().for_each(|item| self.enter(item)),
            _ => {}
        }
    }

    /// Replaces the path of the folder by that which agents see.
    fn leave(&self, result: &mut CallResult) {
        for block in &mut result.content {
            match block {
                ContentBlock::Text(text) => self.hide(text),
                ContentBlock::Other(block) => self.hide_in(block),
            }
        }
        if let Some(structured) = &mut result.structured {
            self.hide_in(structured);
        }
        if let Some(error) = &mut result.protocol_error {
            self.hide(&mut error.message);
            error.data.as_mut().into_iter().for_each(|data| self.hide_in(data));
        }
    }

    fn hide(&self, text: &mut String) {
        // The longer path first: it may contain the other.
        for path in self.paths.iter().rev().filter(|path| !path.is_empty()) {
            if text.contains(path.as_str()) {
                *text = text.replace(path.as_str(), EPISODE_DIR);
            }
        }
    }

    fn hide_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.hide(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in(item)),
            Value::Object(map) => {
                let hidden = std::mem::take(map).into_iter().map(|(mut name, mut value)| {
                    self.hide(&mut name);
                    self.hide_in(&mut value);
                    (name, value)
                });
                *map = hidden.collect::<Object>();
            }
            _ => {}
        }
    }
}

/// Replaces [`EPISODE_DIR`] where it is a whole part of a path: not in `/episodes` or `/my/episode`.
fn replace_folder(text: &str, path: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(EPISODE_DIR) {
        let (before, after) = (&rest[..at], &rest[at + EPISODE_DIR.len()..]);
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let begins = out.chars().chain(before.chars()).next_back().is_none_or(|c| !is_part(c) && c != '/');
        // A full stop after it ends a sentence or a name.
        let ends = after.chars().next().is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | '-'));
        out.push_str(before);
        // `file:///episode` has a slash before it.
        let is_url = before.ends_with("://");
        out.push_str(if (begins || is_url) && ends { path } else { EPISODE_DIR });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Copies the content of a folder. Links are copied as links.
///
/// # Errors
/// The error of the file that cannot be read or written; what was copied before it stays.
pub fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            fs::create_dir(&target)?;
            copy_folder(&source, &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_replaced_where_it_is_a_path() {
        for (text, expected) in [
            ("/episode", "/tmp/x"),
            ("see /episode/a.txt, /episode.", "see /tmp/x/a.txt, /tmp/x."),
            ("\"/episode/a\"", "\"/tmp/x/a\""),
            ("file:///episode/a", "file:///tmp/x/a"),
            ("/episodes /my/episode /episode-2 a/episode", "/episodes /my/episode /episode-2 a/episode"),
        ] {
            assert_eq!(replace_folder(text, "/tmp/x"), expected);
        }
    }
}
