//! Options that environment variables set.

use std::ffi::OsString;

use clap::builder::{Resettable, StyledStr};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory as _};

use crate::args::Arguments;
use crate::error::{CliError, ExitStatus};

/// Returns the grammar of a command line in which some variables are as unset: those that are empty, as CI systems set what they have
/// no value for, and those of options that an option of the command line excludes.
pub(crate) fn command(args: &[OsString]) -> Command {
    let is_empty = |arg: &Arg| arg.get_env().and_then(std::env::var_os).is_some_and(|value| value.is_empty());
    let command = Arguments::command().mut_subcommands(|command| unset(command, is_empty));
    // What is excluded depends on the command line alone.
    let plain = command.clone().mut_subcommands(|command| unset(command, |_| true)).ignore_errors(true);
    let Ok(matches) = plain.try_get_matches_from(args) else { return command };
    let Some((name, given)) = matches.subcommand() else { return command };
    let built = built(&command);
    let Some(grammar) = built.find_subcommand(name) else { return command };
    let is_given = |other: &&Arg| given.value_source(other.get_id().as_str()) == Some(ValueSource::CommandLine);
    let of_line: Vec<&Arg> = grammar.get_arguments().filter(is_given).collect();
    let excludes = |one: &Arg, other: &Arg| {
        grammar.get_arg_conflicts_with(one).iter().any(|conflict| conflict.get_id() == other.get_id())
    };
    let excluded = grammar.get_arguments().filter(|arg| arg.get_env().is_some());
    let excluded = excluded.filter(|arg| of_line.iter().any(|given| excludes(given, arg) || excludes(arg, given)));
    let excluded: Vec<&str> = excluded.map(|arg| arg.get_id().as_str()).collect();
    command.mut_subcommand(name, |command| unset(command, |arg| excluded.contains(&arg.get_id().as_str())))
}

/// Returns a grammar with what clap adds before it parses: groups, and the numbers of values.
fn built(command: &Command) -> Command {
    let mut built = command.clone();
    built.build();
    built
}

fn unset(command: Command, is_unset: impl Fn(&Arg) -> bool) -> Command {
    command.mut_args(|arg| if is_unset(&arg) { arg.env(Resettable::Reset) } else { arg })
}

/// Parses a command line. An error about the value of a variable names it.
pub(crate) fn parse(command: Command, args: &[OsString]) -> ArgMatches {
    command.clone().try_get_matches_from(args).unwrap_or_else(|error| explain(error, &command, args).exit())
}

/// Adds to an error which variable set the value, or that `--json` is `--output json`.
fn explain(error: clap::Error, command: &Command, args: &[OsString]) -> clap::Error {
    name_output(name_variables(error, command, args), command, args)
}

/// Names `--output` where a form is given as an option, if the command has that form.
fn name_output(mut error: clap::Error, command: &Command, args: &[OsString]) -> clap::Error {
    let unknown = error.get(ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::UnknownArgument);
    let Some(ContextValue::String(option)) = unknown else { return error };
    let form = option.trim_start_matches('-').to_owned();
    let lists_form = |help: &StyledStr| help.to_string().split(|c: char| !c.is_alphanumeric()).any(|word| word == form);
    let has_form = subcommand(command, args)
        .and_then(|command| command.get_arguments().find(|arg| arg.get_id() == "output")?.get_help().map(lists_form));
    if has_form == Some(true) {
        let tip = format!("use `--output {form}`, or `--output {form}=FILE`");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Returns the command that a line names.
fn subcommand<'c>(command: &'c Command, args: &[OsString]) -> Option<&'c Command> {
    args.iter().skip(1).find_map(|word| command.find_subcommand(word))
}

fn name_variables(mut error: clap::Error, command: &Command, args: &[OsString]) -> clap::Error {
    let command = &built(command);
    let blamed: Vec<String> = [ContextKind::InvalidArg, ContextKind::PriorArg]
        .into_iter()
        .flat_map(|kind| match error.get(kind) {
            Some(ContextValue::String(arg)) => vec![arg.clone()],
            Some(ContextValue::Strings(args)) => args.clone(),
            _ => Vec::new(),
        })
        .collect();
    let words: Vec<_> = args.iter().map(|word| word.to_string_lossy()).collect();
    let is_on_line = |arg: &Arg| {
        let long = arg.get_long().map(|long| format!("--{long}")).unwrap_or_default();
        let short = arg.get_short().map(|short| format!("-{short}"));
        let has_long =
            |word: &str| word.strip_prefix(&long).is_some_and(|rest| rest.is_empty() || rest.starts_with('='));
        words.iter().any(|word| has_long(word) || short.as_ref().is_some_and(|short| word.starts_with(short)))
    };
    let tips: Vec<StyledStr> = subcommand(command, args)
        .into_iter()
        .flat_map(Command::get_arguments)
        .filter(|arg| blamed.contains(&arg.to_string()) && !is_on_line(arg))
        .filter_map(|arg| Some(sets(&arg.get_env()?.to_string_lossy(), arg.get_long()?).into()))
        .collect();
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

fn sets(variable: &str, option: &str) -> String {
    format!("the environment variable {variable} sets `--{option}`")
}

/// The options of a command that variables set, with their values.
pub(crate) struct SetByVariables(Vec<(String, Vec<String>)>);

impl SetByVariables {
    pub(crate) fn of(matches: &ArgMatches) -> SetByVariables {
        let grammar = Arguments::command();
        let Some((name, given)) = matches.subcommand() else { return SetByVariables(Vec::new()) };
        let args = grammar.find_subcommand(name).into_iter().flat_map(Command::get_arguments);
        let set = args.filter(|arg| given.value_source(arg.get_id().as_str()) == Some(ValueSource::EnvVariable));
        let set = set.filter_map(|arg| {
            let values = given.get_raw(arg.get_id().as_str())?.map(|value| value.to_string_lossy().into_owned());
            Some((sets(&arg.get_env()?.to_string_lossy(), arg.get_long()?), values.collect()))
        });
        SetByVariables(set.collect())
    }

    /// Adds the variables to an error that quotes one of their values, or a part of it.
    pub(crate) fn explain(&self, mut error: CliError) -> CliError {
        if error.status != ExitStatus::Usage {
            return error;
        }
        let message = error.to_string();
        let is_quoted = |text: &str| !text.is_empty() && message.contains(&format!("`{text}`"));
        for (sets, values) in &self.0 {
            if values.iter().any(|value| is_quoted(value) || value.split([':', '=', '+', ',']).any(is_quoted)) {
                let help = error.help.take().map_or(String::new(), |help| format!("{help}; "));
                error.help = Some(format!("{help}{sets}"));
            }
        }
        error
    }
}
