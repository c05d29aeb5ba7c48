use std::path::PathBuf;

use clap::Args;
use healbench_import::{NamePattern, Router, SOURCES};

/// Imports logs of agents into a run: files, folders, which are searched, or `-` for standard input. Archives (.tar)
/// and compressed files (.gz, .zst) are read directly. Nothing leaves the machine, and credentials are masked.
#[derive(Debug, Args)]
#[command(after_help = format!("Sources: {}.\n\nThe forms are described in docs/traces.md.", source_names()))]
pub(crate) struct ImportArgs {
    /// Files, folders, or `-` for standard input.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The directory to write the run to.
    #[arg(long, short, value_name = "RUN")]
    pub(crate) out: PathBuf,
    /// The source of all files [default: recognized for each file]
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<String>,
    /// The model of conversations that do not name theirs.
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Keep only calls of tools whose names match a pattern, such as `mcp__*`. May be repeated.
    #[arg(long, value_name = "GLOB")]
    pub(crate) tools: Vec<NamePattern>,
    /// Omit calls of tools whose names match. May be repeated.
    #[arg(long, value_name = "GLOB")]
    pub(crate) skip_tools: Vec<NamePattern>,
    /// Treat these tools as shells, like the known ones (`Bash`, `shell`, …): rankings exclude their calls. May be
    /// repeated.
    #[arg(long, value_name = "GLOB")]
    pub(crate) shell: Vec<NamePattern>,
    /// Unwrap a tool that calls other tools: name its arguments that hold the other tool's name and arguments, as in
    /// `execute-tool=server_name/tool_name:params`. May be repeated.
    #[arg(long, value_name = "TOOL=NAMES:ARGUMENTS")]
    pub(crate) router: Vec<Router>,
    /// Mask all values in arguments and texts. Error texts keep their wording.
    #[arg(long)]
    pub(crate) redact: bool,
    /// Stop at the first unreadable part of a log, instead of skipping it.
    #[arg(long)]
    pub(crate) strict: bool,
}

fn source_names() -> String {
    SOURCES.iter().map(|source| source.name).collect::<Vec<_>>().join(", ")
}
