//! Manual pages, generated from the arguments.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use crate::args::Arguments;
use crate::error::{CliError, ExitStatus};
use crate::output::write_atomically;
use crate::terminal::Terminal;

/// Sections that clap knows nothing of, for the page of the program.
const MORE: &str = r#".SH "EXIT STATUS"
.TP
0
Success: nothing failed, or the gate passed.
.TP
1
A regression, or a contract that changed.
.TP
2
Wrong usage, configuration or data.
.TP
3
Inconclusive: the gate has not enough data to decide.
.TP
4
Incomplete: episodes were lost, a recording, a shard or a baseline is missing or damaged, or the budget is spent.
.TP
130
Interrupted. The message on standard error has the command that resumes.
.SH FILES
.TP
healbench.toml
Values of options under [run], models and conditions. Searched for in the working directory and above it.
.TP
runs/
The default folder of runs.
.SH ENVIRONMENT
.TP
HEALBENCH_*
Options of `run` that neither the command line nor healbench.toml sets; `healbench run --help` names them.
.TP
NO_COLOR
Turns colors off.
.SH EXAMPLES
Run all families of scenarios and print the report:
.PP
.RS
healbench run
.RE
.PP
Score the errors of a real MCP server:
.PP
.RS
healbench audit -- node server.js
.RE
.PP
Save a run as a baseline, and compare a later one with it:
.PP
.RS
healbench bless runs/first
.br
healbench gate baseline.toml runs/second
.RE
"#;

/// Prints the page of the program, or writes the pages of all commands.
pub(crate) fn man(out: Option<&Path>, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let Some(folder) = out else {
        terminal.result(&page(&command, true)?)?;
        return Ok(ExitStatus::Success);
    };
    fs::create_dir_all(folder).map_err(|source| CliError::write(folder, &source))?;
    write_pages(&command, folder, true)?;
    Ok(ExitStatus::Success)
}

fn page(command: &Command, is_program: bool) -> Result<String, CliError> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut text = Vec::new();
    let failed = |source| CliError::write(Path::new(&name), &source);
    // Without a date, so that the same program gives the same page.
    Man::new(command.clone().name(name.clone())).date("").manual("healbench").render(&mut text).map_err(failed)?;
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if is_program {
        text.push_str(MORE);
    }
    Ok(text)
}

/// Writes the page of a command, and those of its subcommands.
fn write_pages(command: &Command, folder: &Path, is_program: bool) -> Result<(), CliError> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    write_atomically(&folder.join(format!("{name}.1")), &page(command, is_program)?)?;
    command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .try_for_each(|command| write_pages(command, folder, false))
}
