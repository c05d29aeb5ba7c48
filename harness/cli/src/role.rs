//! The role of this process: a user started it, or another process of this program that limits it.

use std::ffi::OsStr;

/// The environment variable that marks a limited process. Its value says if the parent's standard error is a terminal.
pub(crate) const MARK: &str = "HEALBENCH_LIMITED";
/// The value of [`MARK`] if the parent's standard error is a terminal.
pub(crate) const ON_TERMINAL: &str = "terminal";

/// The limits of the current process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A process that a user started.
    Unlimited,
    /// A process that [`LimitedProcess::start`](crate::limited::LimitedProcess::start) started.
    Limited { errors_on_terminal: bool },
}

/// Returns the role that the environment states.
pub(crate) fn role() -> Role {
    match std::env::var_os(MARK) {
        None => Role::Unlimited,
        Some(value) => Role::Limited { errors_on_terminal: value == OsStr::new(ON_TERMINAL) },
    }
}
