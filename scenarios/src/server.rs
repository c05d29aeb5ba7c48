use std::fmt;
use std::path::PathBuf;

use healbench_core::Object;
use serde_json::Value;

/// The path that agents see instead of an episode's folder, which has another path in every episode. The texts of scenario
/// files have `{dir}`.
pub const EPISODE_DIR: &str = "/episode";

/// The MCP server of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// How it is reached.
    pub endpoint: ServerEndpoint,
    /// The folder whose content is copied to the folder of an episode, if it is not empty.
    pub fixture: Option<PathBuf>,
    /// The commands that run before the server starts.
    pub setup: Vec<Vec<String>>,
    /// The names of environment variables that the server is given.
    pub env: Vec<String>,
    /// The number of seconds in which a call must be answered.
    pub timeout_s: u32,
    /// The text of the file with the server's tools; if there is one with the tools before, a JSON object with the texts of both.
    pub tools_text: String,
}

/// How the server of a scenario is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEndpoint {
    /// The program and its arguments. `{dir}` is the folder of the episode, as in the other commands of a server.
    Command(Vec<String>),
    Url {
        url: String,
        /// The name of the environment variable with the bearer token.
        token_env: Option<String>,
    },
}

impl Server {
    /// Returns the name of the program, without its folder; of the one that `env` starts, if that is the program. Of a URL
    /// it is the host and the path.
    pub fn name(&self) -> &str {
        let command = match &self.endpoint {
            ServerEndpoint::Command(command) => command,
            ServerEndpoint::Url { url, .. } => {
                let address = url.split_once("://").map_or(url.as_str(), |(_, address)| address);
                return address.split(['?', '#']).next().unwrap_or_default();
            }
        };
        let name = |word: &String| word.len() - word.rsplit('/').next().unwrap_or_default().len();
        let is_program = |(index, word): &(usize, &String)| match index {
            0 => &word[name(word)..] != "env",
            _ => !word.contains('='),
        };
        let program = command.iter().enumerate().find(is_program).map(|(_, word)| word);
        program.or(command.first()).map_or("", |word| &word[name(word)..])
    }
}

/// A condition on the state of a server.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerCheck {
    /// A call succeeds, and its response contains a text.
    Result { tool: String, arguments: Object, contains: String },
    /// A command exits with status 0.
    Command(Vec<String>),
}

impl fmt::Display for ServerCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerCheck::Result { tool, contains, .. } => {
                write!(f, "{tool} returns {}", Value::from(contains.as_str()))
            }
            ServerCheck::Command(command) => write!(f, "{} exits with status 0", command.join(" ")),
        }
    }
}

/// Replaces a placeholder in all texts of a value.
pub(crate) fn replace(value: &mut Value, placeholder: &str, by: &str) {
    match value {
        Value::String(text) if text.contains(placeholder) => *text = text.replace(placeholder, by),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, placeholder, by)),
        Value::Object(map) => map.values_mut().for_each(|item| replace(item, placeholder, by)),
        _ => {}
    }
}
