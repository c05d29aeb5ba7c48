use std::io;
use std::sync::Arc;

/// The reason why a server gives no more answers.
#[derive(Debug, Clone, thiserror::Error)]
pub enum McpError {
    /// The program cannot be started.
    #[error("`{program}` cannot be started: {source}")]
    Start { program: String, source: Arc<io::Error> },
    /// The program is to get a variable that there is not.
    #[error("`{program}` is to get the environment variable `{}`, which is not set", escaped(name))]
    Variable { program: String, name: String },
    #[error("`{program}` ended ({status}) before it answered `{method}`{}", last(words))]
    Ended {
        program: String,
        /// Its exit status, or the signal that ended it.
        status: String,
        /// The method of the request.
        method: String,
        /// The end of its standard error.
        words: String,
    },
    /// The program closed its standard output and goes on running.
    #[error("`{program}` closed its standard output before it answered `{method}`, and goes on running{}", last(words))]
    Closed {
        program: String,
        /// The method of the request.
        method: String,
        /// The end of its standard error.
        words: String,
    },
    /// A request at the start was not answered in time. A call that is not answered in time is an answer.
    #[error("`{program}` did not answer `{method}` within {seconds} s{}", last(words))]
    Silent {
        program: String,
        /// The method of the request.
        method: String,
        /// The time that it had.
        seconds: u64,
        /// The end of its standard error.
        words: String,
    },
    /// The program writes lines that are not JSON-RPC.
    #[error(
        "`{program}` does not speak MCP: {lines} lines of its standard output are no messages; the first is {first}{}",
        last(words)
    )]
    Garbage {
        program: String,
        /// The number of such lines.
        lines: usize,
        /// The first of them.
        first: String,
        /// The end of its standard error.
        words: String,
    },
    /// A line is longer than the limit.
    #[error("`{program}` sent a line of over {limit} bytes while `{method}` was to be answered")]
    LongLine {
        program: String,
        /// The method of the request.
        method: String,
        limit: usize,
    },
    /// A request at the start was refused.
    #[error("`{program}` refused `{method}`: {message} ({code})")]
    Refused {
        program: String,
        /// The method of the request.
        method: String,
        /// The code of the error.
        code: i64,
        message: String,
    },
    /// An answer at the start cannot be used.
    #[error("`{program}` answered `{method}` with {problem}")]
    Unusable {
        program: String,
        /// The method of the request.
        method: String,
        problem: String,
    },
    /// A URL cannot be used.
    #[error("`{url}` {problem}")]
    Address {
        /// The URL, without secrets.
        url: String,
        problem: String,
    },
    /// A server behind a URL gives no usable answer.
    #[error("`{url}` did not answer `{method}`: {problem}")]
    Http {
        /// The URL, without secrets.
        url: String,
        /// The method of the request.
        method: String,
        problem: String,
    },
    /// Nobody waits for the server any more.
    #[error("interrupted")]
    Stopped,
}

impl McpError {
    /// Returns a way out, where there is one besides repairing the server.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            McpError::Variable { .. } => Some("set it, to an empty value if need be, or do not name it with `--env`"),
            McpError::Start { .. } => Some("give the command as you would type it, after `--`; only PATH is searched"),
            McpError::Ended { words, .. } | McpError::Silent { words, .. } | McpError::Closed { words, .. }
                if !words.is_empty() =>
            {
                Some(
                    "the server gets PATH, an empty HOME, LANG and TMPDIR only: it does not find settings in your HOME; name files in \
                     its command, and the variables that it needs",
                )
            }
            McpError::Ended { .. } | McpError::Silent { .. } | McpError::Closed { .. } => {
                Some("the server gets PATH, an empty HOME, LANG and TMPDIR only; name the variables that it needs")
            }
            McpError::Garbage { .. } => Some("a server on standard input and output writes its logs to standard error"),
            McpError::Address { .. } => {
                Some("give the URL of the server's MCP endpoint, and the name of a variable with its token")
            }
            McpError::Http { problem, .. } if problem.contains("401") => {
                Some("name the environment variable that holds the token")
            }
            McpError::Http { .. } => {
                Some("give the URL of the server's MCP endpoint, such as http://127.0.0.1:8000/mcp")
            }
            McpError::LongLine { .. } | McpError::Refused { .. } | McpError::Unusable { .. } | McpError::Stopped => {
                None
            }
        }
    }
}

fn last(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("; its last words: {words}") }
}

/// Escapes the control characters of a text for a message of one line.
pub(crate) fn escaped(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}
