//! The `healbench` program: parses arguments, calls a command and returns its exit code. It computes nothing itself.

mod args;
mod axis_help;
mod axis_values;
mod clock;
mod commands;
mod conditions;
mod error;
mod estimate;
mod limited;
mod load;
#[cfg(test)]
mod loaders_tests;
mod lockfiles;
mod models;
mod nearest_config;
mod output;
mod progress;
mod role;
mod run_config;
mod run_name;
mod run_spec;
mod shard_sizes;
mod signals;
mod templates;
mod terminal;
mod variables;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args as _, CommandFactory as _, FromArgMatches as _};
use healbench_text::{secrets, shell_quote};

use crate::args::{Arguments, AxisArgs, Command, PlanArgs, RunArgs};
use crate::error::{CliError, ExitStatus};
use crate::role::{Role, role};
use crate::templates::TemplateProcesses;
use crate::terminal::Terminal;
use crate::variables::SetByVariables;

/// Episodes allocate many small texts; this allocator reduces the time by a quarter.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    hide_decoder_panics();
    write_no_core();
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Its arguments are those of another program.
    if let [command, args @ ..] = args.as_slice()
        && command == healbench_mcp::HOLD
    {
        return commands::hold::hold(args);
    }
    outlive_file_size_limit();
    let line: Vec<OsString> = std::env::args_os().collect();
    let matches = variables::parse(variables::command(&line), &line);
    reject_axes_with_resume(&matches);
    let arguments = parse(&matches);
    let terminal = Terminal::new(&arguments.global);
    healbench_engine::set_template_host(Box::new(TemplateProcesses::of_this_program()));
    let code = match (arguments.command.is_limited(), role()) {
        (true, Role::Unlimited) if cfg!(target_os = "linux") => limited::execute(&terminal),
        (true, Role::Limited { .. }) => {
            limited::enter().map_err(limited::process_error).and_then(|_| execute(matches, &terminal))
        }
        _ => execute(matches, &terminal),
    };
    ExitCode::from(code.unwrap_or_else(|error| {
        terminal.error(&error);
        error.status as u8
    }))
}

/// Keeps the text of a panic on a damaged frame from the user, who gets an error with the file's name.
fn hide_decoder_panics() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !healbench_frames::is_decoding() {
            report(panic);
        }
    }));
}

/// A write beyond the limit of `ulimit -f` fails, and ends the program with an error that names the file. Without a handler it would
/// be killed. What it starts has no handler.
fn outlive_file_size_limit() {
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

/// A core file would hold the keys of models and servers.
fn write_no_core() {
    #[cfg(unix)]
    {
        use nix::sys::resource::{Resource, getrlimit, setrlimit};
        // A process without the right to lower its own limit does not exist.
        let _ = getrlimit(Resource::RLIMIT_CORE).and_then(|(_, hard)| setrlimit(Resource::RLIMIT_CORE, 0, hard));
    }
}

fn parse(matches: &ArgMatches) -> Arguments {
    Arguments::from_arg_matches(matches).unwrap_or_else(|error| error.exit())
}

/// Executes the command with the values of healbench.toml, or prints them.
fn execute(matches: ArgMatches, terminal: &Terminal) -> Result<u8, CliError> {
    let set = SetByVariables::of(&matches);
    execute_resolved(matches, terminal).map_err(|error| set.explain(error))
}

fn execute_resolved(matches: ArgMatches, terminal: &Terminal) -> Result<u8, CliError> {
    let resolved = run_config::resolve(matches, std::env::args_os().collect())?;
    match &parse(&resolved.matches).command {
        Command::Run(RunArgs { axes, .. }) | Command::Plan(PlanArgs { axes, .. }) if axes.print_config => {
            terminal.result(&resolved.to_toml())?;
            Ok(ExitStatus::Success as u8)
        }
        command => dispatch(command, terminal).map(|status| status as u8),
    }
}

/// Returns the command line, for manifests.
fn command_line() -> String {
    let words = std::env::args_os().map(|arg| shell_quote(&arg.to_string_lossy())).collect::<Vec<_>>().join(" ");
    secrets().mask(&words)
}

/// The options of `run` besides [`AxisArgs`] that a run keeps from its start.
const KEPT_BY_RUN: [&str; 4] = ["shard", "out", "record", "replay"];

/// Rejects what the plan decides with `--resume`, since a resumed run has its own. Values from environment variables are ignored.
fn reject_axes_with_resume(matches: &ArgMatches) {
    let Some(run) = matches.subcommand_matches("run").filter(|run| run.value_source("resume").is_some()) else {
        return;
    };
    let axes = AxisArgs::augment_args(clap::Command::new("run"));
    let ids = axes.get_arguments().map(|axis| axis.get_id().as_str()).chain(KEPT_BY_RUN);
    // Corrected settings of models and programs are taken.
    let ids = ids.filter(|id| *id != "config");
    let mut given = ids.filter(|id| run.value_source(id) == Some(ValueSource::CommandLine));
    if let Some(id) = given.next() {
        let option = id.replace('_', "-");
        let message = format!("`--resume` continues with the run's own plan; `{option}` cannot be combined with it");
        Arguments::command().error(ErrorKind::ArgumentConflict, message).exit();
    }
}

fn dispatch(command: &Command, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    commands::hook::check(command.on_complete())?;
    match command {
        Command::Run(args) => commands::run::run(args, terminal),
        Command::Plan(args) => commands::plan::plan(args, terminal),
        Command::Explain(args) => commands::explain::explain(args, terminal),
        Command::New(args) => commands::new::new(args, terminal),
        Command::Audit(args) => commands::audit::audit(args, terminal),
        Command::Proxy(args) => commands::proxy::proxy(args, terminal),
        Command::Import(args) => commands::import::import(args, terminal),
        Command::Serve(args) => commands::serve::serve(args, terminal),
        Command::Validate(args) => commands::validate::validate(args, terminal),
        Command::Call(args) => commands::call::call(args, terminal),
        Command::Contract(args) => commands::contract::contract(args, terminal),
        Command::Show(args) => commands::show::show(args, terminal),
        Command::Merge(args) => commands::merge::merge(args, terminal),
        Command::Status(args) => commands::status::status(args, terminal),
        Command::Slurm(args) => commands::slurm::slurm(args, terminal),
        Command::Cassette(args) => commands::cassette::cassette(args, terminal),
        Command::Report(args) => commands::report::report(args, terminal),
        Command::Page(args) => commands::view::page(args, terminal),
        Command::Read { .. } => commands::read::read(terminal),
        Command::Templates { limited } => templates::serve_templates(*limited),
        Command::View(args) => commands::view::view(args, terminal),
        Command::Errors(args) => commands::errors::errors(args, terminal),
        Command::Calibrate(args) => commands::moves::calibrate(args, terminal),
        Command::Predict(args) => commands::moves::predict(args, terminal),
        Command::Compare(args) => commands::compare::compare(args, terminal),
        Command::Gate(args) => commands::gate::gate(args, terminal),
        Command::Bless(args) => commands::bless::bless(args, terminal),
        Command::Schema(args) => commands::schema::schema(args, terminal),
        Command::Completions { shell } => commands::completions::completions(*shell, terminal),
        Command::Man { out } => commands::man::man(out.as_deref(), terminal),
    }
}
