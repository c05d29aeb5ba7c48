//! The folder of an episode: the program's home from its template, its working directory, and the sockets.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use healbench_mcp::Supervisor;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::settings::{MCP_ARGS, MCP_COMMAND, MCP_CONFIG, MODEL_URL, PROMPT, Program};

/// The path of the home.
const HOME: &str = "{home}";

/// The bytes of a socket's path; the system takes no more.
pub(super) const MAX_SOCKET_PATH: usize = 107;

/// The folder of an episode, which is deleted when this value is dropped.
pub(super) struct EpisodeFolder {
    folder: TempDir,
}

/// The server that a program starts.
pub(super) struct McpServer {
    pub(super) command: String,
    pub(super) args: Vec<String>,
}

impl EpisodeFolder {
    pub(super) fn create(supervisor: &Supervisor) -> io::Result<EpisodeFolder> {
        let folder = supervisor.folder()?;
        for subfolder in ["home", "tmp", "work"] {
            fs::create_dir(folder.path().join(subfolder))?;
        }
        Ok(EpisodeFolder { folder })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    /// Returns the working directory of the program.
    pub(super) fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    /// Returns the path of the socket that sessions are passed on to.
    pub(super) fn tools_socket(&self) -> PathBuf {
        self.path().join("s")
    }

    /// Writes the home, and returns the arguments of the program.
    pub(super) fn fill(&self, program: &Program, server: &McpServer, prompt: &str) -> io::Result<Vec<String>> {
        let home = self.home();
        let filler =
            Filler { server, model_url: program.model_url.as_deref().unwrap_or_default(), prompt, home: &home };
        for (name, text) in &program.home {
            let path = home.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(path, filler.fill(text, Syntax::of(name)))?;
        }
        Ok(program.protocol.words().iter().map(|word| filler.fill(word, Syntax::Argument)).collect())
    }
}

/// The syntax of a text with placeholders.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Syntax {
    /// An argument: texts are inserted as they are.
    Argument,
    /// JSON or YAML: texts stand between quotes of the template.
    Json,
    /// TOML, in the same way.
    Toml,
    /// Anything else: texts are inserted as they are.
    Plain,
}

impl Syntax {
    fn of(name: &str) -> Syntax {
        match Path::new(name).extension().and_then(|extension| extension.to_str()) {
            Some("json" | "jsonc" | "json5" | "yaml" | "yml") => Syntax::Json,
            Some("toml") => Syntax::Toml,
            _ => Syntax::Plain,
        }
    }
}

struct Filler<'a> {
    server: &'a McpServer,
    model_url: &'a str,
    prompt: &'a str,
    home: &'a Path,
}

impl Filler<'_> {
    /// Replaces the placeholders in one pass, so that a value with a placeholder stays as it is.
    fn fill(&self, text: &str, syntax: Syntax) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let known = [MCP_CONFIG, MCP_COMMAND, MCP_ARGS, MODEL_URL, PROMPT, HOME];
            match known.into_iter().find(|placeholder| rest.starts_with(placeholder)) {
                Some(placeholder) => {
                    out.push_str(&self.value(placeholder, syntax));
                    rest = &rest[placeholder.len()..];
                }
                None => {
                    out.push('{');
                    rest = &rest[1..];
                }
            }
        }
        out.push_str(rest);
        out
    }

    fn value(&self, placeholder: &str, syntax: Syntax) -> String {
        let McpServer { command, args } = self.server;
        // A text of JSON is one of TOML and of YAML too.
        let (quoted, list) = (json!(command).to_string(), json!(args).to_string());
        let text = match placeholder {
            MCP_CONFIG if syntax == Syntax::Toml => return format!("{{ command = {quoted}, args = {list} }}"),
            MCP_CONFIG => return json!({"command": command, "args": args}).to_string(),
            MCP_COMMAND => return quoted,
            MCP_ARGS => return list,
            MODEL_URL => self.model_url.to_owned(),
            PROMPT => self.prompt.to_owned(),
            _ => self.home.display().to_string(),
        };
        match syntax {
            Syntax::Argument | Syntax::Plain => text,
            Syntax::Json | Syntax::Toml => {
                let quoted = Value::String(text).to_string();
                quoted[1..quoted.len() - 1].to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_in_the_syntax_of_the_file() {
        let server = McpServer { command: "/bin/heal \"x\"".to_owned(), args: vec!["serve".to_owned()] };
        let filler =
            Filler { server: &server, model_url: "http://m", prompt: "Say \"{home}\"\n", home: Path::new("/h") };
        let fill = |text: &str, name: &str| filler.fill(text, Syntax::of(name));
        assert_eq!(fill("{mcp_config}", "a.json"), r#"{"command":"/bin/heal \"x\"","args":["serve"]}"#);
        assert_eq!(fill("t = {mcp_config}", "a.toml"), r#"t = { command = "/bin/heal \"x\"", args = ["serve"] }"#);
        assert_eq!(
            fill("cmd: {mcp_command}\nargs: {mcp_args}", "a.yaml"),
            "cmd: \"/bin/heal \\\"x\\\"\"\nargs: [\"serve\"]"
        );
        assert_eq!(
            fill(r#"{"p": "{prompt}", "m": "{model_url}"}"#, "a.json"),
            r#"{"p": "Say \"{home}\"\n", "m": "http://m"}"#
        );
        assert_eq!(fill("{prompt}{home}{other}{", "AGENTS.md"), "Say \"{home}\"\n/h{other}{");
    }
}
