//! The `healbench` program: arguments in, exit code out. Everything that is computed is computed elsewhere.

mod args;
mod commands;
mod error;
mod load;
mod progress;
mod terminal;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Arguments, Command};
use crate::error::{CliError, ExitStatus};
use crate::terminal::Terminal;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let terminal = Terminal::new(&arguments.global);
    let status = dispatch(&arguments.command, &terminal).unwrap_or_else(|error| {
        terminal.error(&error);
        error.exit_status()
    });
    ExitCode::from(status as u8)
}

fn dispatch(command: &Command, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    match command {
        Command::Run(args) => commands::run::run(args, terminal),
        Command::Plan(args) => commands::plan::plan(args, terminal),
        Command::Validate(args) => commands::validate::validate(args, terminal),
        Command::Show(args) => commands::show::show(args, terminal),
        Command::Report(args) => commands::report::report(args, terminal),
        Command::Schema => commands::schema::schema(terminal),
        Command::Completions { shell } => commands::completions::completions(*shell, terminal),
    }
}
