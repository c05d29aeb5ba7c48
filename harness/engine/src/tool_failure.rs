//! A failure that a handler, a rule or a fault reports, in the terms of document 001: `error()`, `required()`, `toolError()`.

/// How bad a tool error is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Severity {
    /// An advisory: `isError` is false.
    Warning,
    /// Recoverable.
    #[default]
    Error,
    /// System-level, needs somebody else.
    Critical,
}

impl Severity {
    /// The word that is shown.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
            Severity::Critical => "critical",
        }
    }
}

/// A failure that a handler, a rule or a fault reports.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolFailure {
    /// A canonical code (`NOT_FOUND`, …) or a domain's own; `None` for a plain `error()`.
    pub code: Option<String>,
    /// How bad; `None` is an error whose text does not say so.
    pub severity: Option<Severity>,
    /// What went wrong, in words.
    pub message: String,
    /// What to do about it.
    pub recovery: Option<String>,
    /// Actions to try instead, as `tool.action`.
    pub available_actions: Vec<String>,
    /// Further facts, in order.
    pub details: Vec<(String, String)>,
    /// Seconds to wait before trying again.
    pub retry_after: Option<u32>,
    /// What a raw server says instead of all of this, without `Error: `; `None` is the code's usual line, or the message.
    pub bare: Option<String>,
}

impl ToolFailure {
    /// Fusion's `toolError()`: a code, canonical (a [`Code`]) or the domain's own, and a message. The rest is set on what comes
    /// back.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> ToolFailure {
        ToolFailure { code: Some(code.into()), severity: Some(Severity::Error), ..ToolFailure::error(message) }
    }

    /// Fusion's `error()`: a message and nothing else.
    pub fn error(message: impl Into<String>) -> ToolFailure {
        ToolFailure {
            code: None,
            severity: None,
            message: message.into(),
            recovery: None,
            available_actions: Vec::new(),
            details: Vec::new(),
            retry_after: None,
            bare: None,
        }
    }

    /// Fusion's `required()`: a handler misses a field that the schema did not ask for.
    pub fn required(field: &str) -> ToolFailure {
        ToolFailure {
            code: Some("MISSING_REQUIRED_FIELD".to_owned()),
            recovery: Some(format!("Provide the \"{field}\" parameter and retry.")),
            ..ToolFailure::error(format!("Required field \"{field}\" is missing."))
        }
    }

    /// Whether the response is an error: everything but a warning.
    pub fn is_error(&self) -> bool {
        self.severity != Some(Severity::Warning)
    }
}

/// The canonical codes. A domain may use any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The entity does not exist.
    NotFound,
    /// A business rule is violated.
    ValidationError,
    /// Credentials are missing.
    Unauthorized,
    /// The caller may not.
    Forbidden,
    /// A duplicate, or a state that does not allow it.
    Conflict,
    /// Too many requests.
    RateLimited,
    /// It took too long.
    Timeout,
    /// The server failed.
    InternalError,
    /// It will be removed.
    Deprecated,
    /// Too many calls at once.
    ServerBusy,
}

impl Code {
    /// All of them.
    pub const ALL: [Code; 10] = [
        Code::NotFound,
        Code::ValidationError,
        Code::Unauthorized,
        Code::Forbidden,
        Code::Conflict,
        Code::RateLimited,
        Code::Timeout,
        Code::InternalError,
        Code::Deprecated,
        Code::ServerBusy,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Code::NotFound => "NOT_FOUND",
            Code::ValidationError => "VALIDATION_ERROR",
            Code::Unauthorized => "UNAUTHORIZED",
            Code::Forbidden => "FORBIDDEN",
            Code::Conflict => "CONFLICT",
            Code::RateLimited => "RATE_LIMITED",
            Code::Timeout => "TIMEOUT",
            Code::InternalError => "INTERNAL_ERROR",
            Code::Deprecated => "DEPRECATED",
            Code::ServerBusy => "SERVER_BUSY",
        }
    }

    /// The canonical code that is written so; `None` for a domain's own.
    pub fn from_name(name: &str) -> Option<Code> {
        Code::ALL.into_iter().find(|code| code.name() == name)
    }
}

impl From<Code> for String {
    fn from(code: Code) -> String {
        code.name().to_owned()
    }
}
