//! Runs a program on behalf of another healbench process; not for use by people.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use healbench_mcp::hold as run;

use crate::error::ExitStatus;

/// Runs a program, and exits as it does. Standard error is the program's.
pub(crate) fn hold(args: &[OsString]) -> ExitCode {
    match run(args) {
        Ok(code) => std::process::exit(code),
        Err(source) => {
            let program = args.get(3).map(|program| program.to_string_lossy()).unwrap_or_default();
            let _ = writeln!(io::stderr(), "`{program}` cannot be started: {source}");
            ExitCode::from(ExitStatus::Usage as u8)
        }
    }
}
