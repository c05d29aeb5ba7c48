//! Options of an import.

use std::fmt;
use std::str::FromStr;

use glob::Pattern;
use serde_json::{Map, Value};

use crate::error::ImportError;

/// Tools whose results are those of a shell command, in lowercase.
const SHELL_TOOLS: [&str; 8] =
    ["bash", "exec", "exec_command", "execute_bash", "local_shell", "run_shell_command", "shell", "shell_command"];

/// Options of an import.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The source of all files; `None` recognizes each file.
    pub source: Option<String>,
    /// The tools whose calls are kept; all if there are none.
    pub tools: Vec<NamePattern>,
    /// The tools whose calls are left out.
    pub skip_tools: Vec<NamePattern>,
    /// Tools that run shell commands, besides those that are known.
    pub shell: Vec<NamePattern>,
    /// Tools that call tools.
    pub routers: Vec<Router>,
    /// True if damage ends the import.
    pub strict: bool,
}

impl Options {
    /// Returns true if calls of a tool are kept.
    pub(crate) fn keeps(&self, tool: &str) -> bool {
        let is_in = |patterns: &[NamePattern]| patterns.iter().any(|pattern| pattern.matches(tool));
        (self.tools.is_empty() || is_in(&self.tools)) && !is_in(&self.skip_tools)
    }

    /// Returns true if a tool runs shell commands.
    pub(crate) fn is_shell(&self, tool: &str) -> bool {
        SHELL_TOOLS.contains(&tool.to_ascii_lowercase().as_str())
            || self.shell.iter().any(|pattern| pattern.matches(tool))
    }

    /// Unwraps a call of a tool that calls tools. A call without the fields of its router stays as it is.
    pub(crate) fn unwrap_router(&self, tool: &str, arguments: &Value) -> Option<(String, Value)> {
        let router = self.routers.iter().find(|router| router.tool == tool)?;
        router.unwrap(arguments)
    }
}

/// A pattern of names: `mcp__*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern(Pattern);

impl NamePattern {
    fn matches(&self, name: &str) -> bool {
        self.0.matches(name)
    }
}

impl FromStr for NamePattern {
    type Err = ImportError;

    fn from_str(pattern: &str) -> Result<NamePattern, ImportError> {
        let error = |error: glob::PatternError| ImportError::Pattern {
            pattern: pattern.to_owned(),
            problem: format!("{} at character {}", error.msg, error.pos + 1),
        };
        Pattern::new(pattern).map(NamePattern).map_err(error)
    }
}

/// A tool that calls the tool that its arguments name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Router {
    /// The tool: `execute-tool`.
    pub tool: String,
    /// The arguments whose values, joined by `/`, are the name of the tool that is called.
    pub name_fields: Vec<String>,
    /// The argument that holds the arguments of that tool.
    pub arguments_field: String,
}

impl FromStr for Router {
    type Err = ImportError;

    fn from_str(spec: &str) -> Result<Router, ImportError> {
        let error = || ImportError::Router { spec: spec.to_owned() };
        let (tool, rest) = spec.split_once('=').ok_or_else(error)?;
        let (names, arguments_field) = rest.rsplit_once(':').ok_or_else(error)?;
        let name_fields: Vec<String> = names.split('/').map(str::to_owned).collect();
        if tool.is_empty() || arguments_field.is_empty() || name_fields.iter().any(String::is_empty) {
            return Err(error());
        }
        Ok(Router { tool: tool.to_owned(), name_fields, arguments_field: arguments_field.to_owned() })
    }
}

impl fmt::Display for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}:{}", self.tool, self.name_fields.join("/"), self.arguments_field)
    }
}

impl Router {
    fn unwrap(&self, arguments: &Value) -> Option<(String, Value)> {
        let names: Option<Vec<&str>> = self.name_fields.iter().map(|field| arguments.get(field)?.as_str()).collect();
        let inner = match arguments.get(&self.arguments_field) {
            None | Some(Value::Null) => Value::Object(Map::new()),
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(Value::Object(fields)) => Value::Object(fields),
                _ => Value::String(text.clone()),
            },
            Some(Value::Object(fields)) => Value::Object(fields.clone()),
            Some(other) => Value::String(other.to_string()),
        };
        Some((names?.join("/"), inner))
    }
}
