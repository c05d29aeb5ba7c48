//! Failures reported by handlers, rules and faults, following document 001: `error()`, `required()`, `toolError()`.

use serde_json::Value;

use crate::DomainErrors;

/// The severity of a tool error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Severity {
    /// An advisory: `isError` is false.
    Warning,
    /// A recoverable error.
    #[default]
    Error,
    /// A system-level error that the caller cannot resolve.
    Critical,
}

impl Severity {
    /// Returns the name shown in error texts.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
            Severity::Critical => "critical",
        }
    }
}

/// A failure reported by a handler, a rule or a fault.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolFailure {
    /// A canonical code (`NOT_FOUND`, …) or a domain-specific one; `None` for a plain `error()`.
    pub code: Option<String>,
    /// The severity; `None` is an error whose text does not state a severity.
    pub severity: Option<Severity>,
    /// The description of the problem.
    pub message: String,
    /// The suggested remedy.
    pub recovery: Option<String>,
    /// True if the engine made the recovery, and no author wrote it.
    pub recovery_is_generated: bool,
    /// Alternative actions, as `tool.action`.
    pub available_actions: Vec<String>,
    /// Further facts as name and scalar value, in order.
    pub details: Vec<(String, Value)>,
    /// The number of seconds to wait before a retry.
    pub retry_after: Option<u32>,
    /// The line that a server without error handling sends instead, without `Error: `; `None` for the code's usual line
    /// or the message.
    pub bare: Option<String>,
    /// True if the text says something wrong on purpose.
    pub misleading: bool,
}

impl ToolFailure {
    /// Creates a failure with a canonical ([`Code`]) or domain-specific code and a message, like Fusion's
    /// `toolError()`. The caller sets any other fields.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> ToolFailure {
        ToolFailure { code: Some(code.into()), severity: Some(Severity::Error), ..ToolFailure::error(message) }
    }

    /// Creates a failure with a message only, like Fusion's `error()`.
    pub fn error(message: impl Into<String>) -> ToolFailure {
        ToolFailure {
            code: None,
            severity: None,
            message: message.into(),
            recovery: None,
            recovery_is_generated: false,
            available_actions: Vec::new(),
            details: Vec::new(),
            retry_after: None,
            bare: None,
            misleading: false,
        }
    }

    /// Creates the failure of a handler that misses a field which the schema does not require, like Fusion's
    /// `required()`.
    pub fn required(field: &str) -> ToolFailure {
        ToolFailure {
            code: Some("MISSING_REQUIRED_FIELD".to_owned()),
            recovery: Some(format!("Provide the \"{field}\" parameter and retry.")),
            recovery_is_generated: true,
            ..ToolFailure::error(format!("Required field \"{field}\" is missing."))
        }
    }

    /// Returns the failure with only those facts that its text may state; `bare` leaves the message.
    #[must_use]
    pub fn limited_to(&self, domain_errors: DomainErrors) -> ToolFailure {
        let recovery = self.recovery.as_ref().filter(|_| !self.recovery_is_generated);
        let message = match (domain_errors, recovery) {
            (DomainErrors::Everything, _) => return self.clone(),
            (DomainErrors::Recovery, Some(recovery)) => format!("{} {recovery}", self.message),
            (DomainErrors::Bare | DomainErrors::Message | DomainErrors::Recovery, _) => self.message.clone(),
        };
        let severity = self.severity.filter(|_| !self.is_error());
        ToolFailure { severity, misleading: self.misleading, ..ToolFailure::error(message) }
    }

    /// Returns true unless the failure is a warning.
    pub fn is_error(&self) -> bool {
        self.severity != Some(Severity::Warning)
    }
}

/// Returns details as texts: a string as it is, any other value as JSON.
pub fn detail_texts(details: &[(String, Value)]) -> impl Iterator<Item = (&str, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    details.iter().map(move |(name, value)| (name.as_str(), text(value)))
}

/// The canonical codes. A domain may use other codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The entity does not exist.
    NotFound,
    /// A business rule is violated.
    ValidationError,
    /// Credentials are missing.
    Unauthorized,
    /// The caller lacks permission.
    Forbidden,
    /// A duplicate, or a conflicting state.
    Conflict,
    /// Too many requests.
    RateLimited,
    /// The operation timed out.
    Timeout,
    /// The server failed.
    InternalError,
    /// The feature is deprecated.
    Deprecated,
    /// The server has reached its limit of concurrent calls.
    ServerBusy,
}

impl Code {
    /// All canonical codes.
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

    /// Returns the code as written in texts.
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

    /// Returns the canonical code with this name; `None` for a domain-specific code.
    pub fn from_name(name: &str) -> Option<Code> {
        Code::ALL.into_iter().find(|code| code.name() == name)
    }
}

impl From<Code> for String {
    fn from(code: Code) -> String {
        code.name().to_owned()
    }
}
