use healbench_core::Object;
use schemars::JsonSchema;
use serde::Deserialize;

/// An MCP server that executes the calls, instead of the simulator. In the texts of a scenario, `{dir}` is a folder of its own
/// for every episode; in commands, `{here}` is the folder of this file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerFile {
    /// The program and its arguments, which speaks MCP on its standard input and output.
    #[schemars(length(min = 1))]
    pub command: Option<Vec<String>>,
    /// The URL of a server that runs already, instead of a command. Its state is not reset between episodes, except by `setup`.
    #[schemars(length(min = 1))]
    pub url: Option<String>,
    /// The name of the environment variable with the bearer token for `url`.
    #[schemars(length(min = 1))]
    pub token_env: Option<String>,
    /// The JSON file with the server's tools, relative to this file: its answer to `tools/list`.
    #[schemars(length(min = 1))]
    pub tools_file: String,
    /// The JSON file with the tools that the server had before, relative to this file. Agents are shown these, as far as they still exist, and
    /// the mistake `stale_contract` follows them.
    #[schemars(length(min = 1))]
    pub tools_file_before: Option<String>,
    /// The tools that an agent is shown; all if left out.
    #[schemars(length(min = 1))]
    pub tools: Option<Vec<String>>,
    /// The folder whose content is copied to `{dir}`, relative to this file. `{dir}` is empty if left out.
    #[schemars(length(min = 1))]
    pub fixture: Option<String>,
    /// The commands that run in `{dir}` before the server starts, each a program and its arguments.
    #[serde(default)]
    pub setup: Vec<Vec<String>>,
    /// The names of environment variables that the server is given, besides PATH, HOME, LANG and TMPDIR.
    #[serde(default)]
    pub env: Vec<String>,
    /// The number of seconds in which a call must be answered.
    #[serde(default = "thirty")]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout_s: u32,
}

fn thirty() -> u32 {
    30
}

/// A call of the server at the end of an episode, whose response must contain a text.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResultFile {
    /// The tool.
    pub tool: String,
    /// The arguments.
    #[serde(default)]
    pub arguments: Object,
    /// The text; the call must not fail either.
    #[schemars(length(min = 1))]
    pub contains: String,
}
