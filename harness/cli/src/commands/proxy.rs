use std::fs;
use std::io::{self, BufReader, Write};
use std::path::Path;
use std::process;

use healbench_files::private_file;
use healbench_mcp::{ServerCommand, Variables};
use healbench_proxy::{Files, Recording, Rules, proxy as run};
use healbench_text::{keep_variable, names_secret};

use crate::args::ProxyArgs;
use crate::axis_values::parse_single_format;
use crate::clock::since_1970;
use crate::error::{CliError, ExitStatus};
use crate::signals::{status_of, supervise};
use crate::terminal::Terminal;

/// Stands between a client and a server until one of them ends. Standard output belongs to the client, and standard error to the
/// server.
pub(crate) fn proxy(args: &ProxyArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let rules = Rules {
        guardrails: args.guardrails.parse()?,
        format: parse_single_format(&args.format)?,
        max_tokens: args.max_tokens,
        errors_as_results: args.errors_as_results,
    };
    let log = match &args.log {
        Some(path) => Some(append(path)?),
        None => None,
    };
    let record = match &args.record {
        Some(folder) => Some(recording(folder, args.record_texts)?),
        None => None,
    };
    // The server has all variables. What is recorded of its session holds none that is a secret.
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    variables.filter(|(name, _)| names_secret(name)).for_each(|(name, value)| keep_variable(&name, &value));
    let command = ServerCommand::new(&args.command, &[]).ok_or_else(|| CliError::new("there is no command"))?;
    let command = ServerCommand { environment: Variables::Inherited, ..command };
    let supervisor = supervise()?;
    let input = BufReader::new(io::stdin());
    let end = run(&supervisor, &command, rules, Files { log, record }, input, io::stdout())?;
    let files = [(&args.log, end.log_error), (&args.record, end.record_error)];
    let mut unwritten =
        files.into_iter().filter_map(|(path, kind)| Some(CliError::write(path.as_ref()?, &kind?.into())));
    if let Some(first) = unwritten.next() {
        unwritten.for_each(|other| terminal.warn(&other.to_string()));
        return Err(first.status(ExitStatus::Regression));
    }
    match end.status {
        Some(status) if !end.was_ended && !status.success() => {
            Err(CliError::new(format_args!("the server ended ({status})")).status(ExitStatus::Incomplete))
        }
        _ => Ok(status_of(&supervisor, ExitStatus::Success)),
    }
}

fn append(path: &Path) -> Result<Box<dyn Write + Send>, CliError> {
    let file = private_file().create(true).append(true).open(path);
    Ok(Box::new(file.map_err(|source| CliError::write(path, &source))?))
}

/// Opens the files of a session in a folder that several sessions share, at the same time too.
fn recording(folder: &Path, with_texts: bool) -> Result<Recording, CliError> {
    fs::create_dir_all(folder).map_err(|source| CliError::write(folder, &source))?;
    let episode = format!("{}-{}", since_1970().as_millis(), process::id());
    let file = |kind: &str| append(&folder.join(format!("{kind}-{episode}.jsonl")));
    Ok(Recording { calls: file("calls")?, episodes: file("episodes")?, episode, with_texts })
}
