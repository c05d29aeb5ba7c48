use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use healbench_mcp::{Address, Endpoint, McpError, ServerCommand};

/// The server that a command talks to.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// The URL of a running server (streamable HTTP), instead of a command.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The environment variable with the bearer token for `--url`.
    #[arg(long, value_name = "NAME", requires = "url")]
    pub(crate) token_env: Option<String>,
    /// Give the server this environment variable, besides PATH, LANG, and an empty HOME and TMPDIR. May be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "url")]
    pub(crate) env: Vec<String>,
    /// The program and its arguments. It runs in an empty folder, `{dir}`; files that are named relative to the working
    /// directory are found
    #[arg(last = true, required_unless_present = "url", conflicts_with = "url", value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

impl ServerArgs {
    /// Returns how the server is reached. A command runs in `folder`, which is `{dir}`.
    pub(crate) fn endpoint(&self, folder: &Path) -> Result<Endpoint, McpError> {
        if let Some(url) = &self.url {
            return Ok(Endpoint::Url(Address::new(url, self.token_env.as_deref())?));
        }
        let path = folder.to_string_lossy();
        let words: Vec<String> = self.words(folder).iter().map(|word| word.replace("{dir}", &path)).collect();
        let command = ServerCommand::new(&words, &self.env).ok_or_else(no_command)?;
        if let Some(unset) = self.env.iter().find(|name| std::env::var_os(name).is_none()) {
            return Err(McpError::Variable { program: words[0].clone(), name: unset.clone() });
        }
        Ok(Endpoint::Command(ServerCommand { dir: Some(folder.into()), ..command }))
    }

    /// Returns the files that the command names, of the fixture or of the working directory.
    pub(crate) fn files(&self, fixture: Option<&Path>) -> Vec<PathBuf> {
        let folders = || fixture.into_iter().chain([Path::new("")]);
        let file = |word: &String| folders().map(|folder| folder.join(word)).find(|path| path.is_file());
        self.command.iter().filter(|word| is_path(word)).filter_map(file).collect()
    }

    /// Returns the words of the command, which runs in `folder`: the path of a file of the working directory becomes absolute,
    /// unless `folder` has such a file too.
    pub(crate) fn words(&self, folder: &Path) -> Vec<String> {
        let here = |word: &String| is_path(word) && Path::new(word).is_file() && !folder.join(word).exists();
        let absolute = |word: &String| std::path::absolute(word).ok()?.into_os_string().into_string().ok();
        self.command.iter().map(|word| absolute(word).filter(|_| here(word)).unwrap_or_else(|| word.clone())).collect()
    }
}

/// Returns true for a word that may be a path: it contains `.` or `/`.
fn is_path(word: &str) -> bool {
    word.contains(['.', '/']) && !word.starts_with('-')
}

/// Clap requires a command or a URL.
fn no_command() -> McpError {
    McpError::Start { program: String::new(), source: Arc::new(io::ErrorKind::NotFound.into()) }
}
