use std::fs::OpenOptions;
use std::io::{self, BufReader, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use healbench_mcp::{ServerCommand, Variables};
use healbench_proxy::{Rules, proxy as run};

use crate::args::ProxyArgs;
use crate::axis_values::parse_single_format;
use crate::error::{CliError, ExitStatus};
use crate::terminal::Terminal;

/// Stands between a client and a server until one of them ends. Standard output belongs to the client, and standard error to the
/// server.
pub(crate) fn proxy(args: &ProxyArgs, _: &Terminal) -> Result<ExitStatus, CliError> {
    let rules = Rules {
        guardrails: args.guardrails.parse()?,
        format: parse_single_format(&args.format)?,
        max_tokens: args.max_tokens,
        errors_as_results: args.errors_as_results,
    };
    let log = match &args.log {
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path);
            Some(Box::new(file.map_err(|source| CliError::write(path, &source))?) as Box<dyn Write + Send>)
        }
        None => None,
    };
    let command = ServerCommand::new(&args.command, &[]).ok_or_else(|| CliError::new("there is no command"))?;
    let command = ServerCommand { environment: Variables::Inherited, ..command };
    let stop = Arc::new(AtomicBool::new(false));
    let on_interrupt = Arc::clone(&stop);
    ctrlc::set_handler(move || on_interrupt.store(true, Ordering::Release))?;
    let end = run(&command, rules, log, BufReader::new(io::stdin()), io::stdout(), &stop)?;
    match end.status {
        Some(status) if !end.was_ended && !status.success() => {
            Err(CliError::new(format_args!("the server ended ({status})")).status(ExitStatus::Incomplete))
        }
        _ => Ok(ExitStatus::Success),
    }
}
