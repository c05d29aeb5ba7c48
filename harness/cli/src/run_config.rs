//! The `[run]` table of healbench.toml: values of options that neither the command line nor the environment sets.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory as _};
use healbench_core::Opening;
use healbench_files::{ConfigError, Document, Table, Value, printable, quote};
use healbench_reader::shipped_profiles;
use healbench_scenarios::is_built_in;
use healbench_text::looks_like_secret;

use crate::args::Arguments;
use crate::axis_values::{parse_formats, parse_guardrails};
use crate::conditions::{NamedFiles, Variation, read_conditions};
use crate::error::CliError;
use crate::nearest_config::nearest_config;
use crate::variables;
use healbench_runner::Budget;

/// A key of `[run]`. It has the name of the option's field.
struct Key {
    name: &'static str,
    kind: Kind,
    /// The default of an option without a value.
    default: &'static str,
}

enum Kind {
    Flag,
    Integer(u64, u64),
    Path,
    Scenarios,
    Budget,
    /// A list of an axis with its values each.
    Vary,
    /// A list of values, each checked by a function.
    List(fn(&str) -> Result<(), CliError>),
}

const fn key(name: &'static str, kind: Kind, default: &'static str) -> Key {
    Key { name, kind, default }
}

const KEYS: [Key; 16] = [
    key("scenarios", Kind::Scenarios, ""),
    key(
        "agent",
        Kind::List(|_| Ok(())),
        "scripted:perfect,scripted:persistent,scripted:yielding, or scripted for claims",
    ),
    key("condition", Kind::List(|_| Ok(())), "bare,sdk-typescript,sdk-typescript+recovery,fusion, or fusion to vary"),
    key(
        "guardrails",
        Kind::List(|text| parse_guardrails(&[text.to_owned()]).map(drop)),
        "none,all, if formats are set",
    ),
    key(
        "format",
        Kind::List(|text| parse_formats(&[text.to_owned()]).map(drop)),
        "fusion-xml,fusion-text, if guardrails are set",
    ),
    key("vary", Kind::Vary, "nothing"),
    key("opening", Kind::List(|text| Ok(text.parse::<Opening>().map(drop)?)), ""),
    key("prices", Kind::Path, "the shipped table"),
    key("trials", Kind::Integer(1, u32::MAX as u64), ""),
    key("seed", Kind::Integer(0, u64::MAX), ""),
    key("jobs", Kind::Integer(1, 1024), "all cores"),
    key("out", Kind::Path, "runs/TIME-SUITE"),
    key("record", Kind::Path, "no recording"),
    key("replay", Kind::Path, "no replay"),
    key("budget", Kind::Budget, "no limit"),
    key("by_scenario", Kind::Flag, ""),
];

/// Options that override each other's value from the file.
const EXCLUSIVE: [(&str, &str); 6] = [
    ("record", "replay"),
    ("replay", "record"),
    ("condition", "guardrails"),
    ("condition", "format"),
    ("guardrails", "condition"),
    ("format", "condition"),
];

/// The arguments of a command with the values of the file.
pub(crate) struct ResolvedArgs {
    pub(crate) matches: ArgMatches,
    /// The positions of the file's values, by key.
    positions: BTreeMap<&'static str, String>,
}

/// Adds the values of healbench.toml to the arguments of `run` and `plan`. `args` are the arguments as they were given.
pub(crate) fn resolve(matches: ArgMatches, args: Vec<OsString>) -> Result<ResolvedArgs, CliError> {
    let mut positions = BTreeMap::new();
    let Some((name @ ("run" | "plan"), given)) = matches.subcommand() else {
        return Ok(ResolvedArgs { matches, positions });
    };
    let Some(file) = given.get_one::<PathBuf>("config").cloned().or_else(nearest_config) else {
        return Ok(ResolvedArgs { matches, positions });
    };
    let text = healbench_files::read_text_file(&file, healbench_files::MAX_WRITTEN_BYTES)
        .map_err(|source| CliError::read(&file, &source))?;
    let file_name = file.display().to_string();
    let document = Document::parse(&file_name, &text)?;
    let options = read_options(&document, &file)?;
    let command = variables::command(&args);
    let has_option = |id: &str| {
        command.find_subcommand(name).is_some_and(|command| command.get_arguments().any(|arg| arg.get_id() == id))
    };
    let is_given =
        |id: &str| matches!(given.value_source(id), Some(ValueSource::CommandLine | ValueSource::EnvVariable));
    let mut defaults = vec![("config", vec![file.clone().into_os_string()])];
    for OptionOfFile { name, line, values } in options {
        let is_displaced = |(own, other): &(&str, &str)| *own == name && is_given(other);
        if has_option(name) && !EXCLUSIVE.iter().any(is_displaced) {
            positions.insert(name, format!("{}:{line}", printable(&file_name)));
            defaults.push((name, values));
        }
    }
    let command = command.mut_subcommand(name, |mut command| {
        for (id, values) in defaults {
            command = command.mut_arg(id, |arg| arg.default_values(values));
        }
        command
    });
    Ok(ResolvedArgs { matches: variables::parse(command, &args), positions })
}

/// An option that the settings file sets.
pub(crate) struct OptionOfFile {
    name: &'static str,
    line: usize,
    /// The values as the command line takes them.
    values: Vec<OsString>,
}

/// Checks a settings file except for its models and agent programs, and returns the options of `[run]`.
pub(crate) fn read_options(document: &Document<'_>, file: &Path) -> Result<Vec<OptionOfFile>, ConfigError> {
    document.root().deny_unknown(&["run", "model", "condition", "agent"])?;
    read_conditions(document, file, &NamedFiles::default())?;
    let Some(table) = document.root().read("run", Value::table)? else { return Ok(Vec::new()) };
    let folder = file.parent().unwrap_or(Path::new(""));
    let option = |(key, value): (&'static Key, Value<'_>)| {
        Ok(OptionOfFile { name: key.name, line: value.line(), values: read_value(&key.kind, &value, folder)? })
    };
    run_values(&table)?.into_iter().map(option).collect()
}

fn run_values<'d>(table: &Table<'d>) -> Result<Vec<(&'static Key, Value<'d>)>, ConfigError> {
    table.deny_unknown(&KEYS.each_ref().map(|key| key.name))?;
    for (key, other) in [("replay", "record"), ("guardrails", "condition"), ("format", "condition")] {
        if let (Some(value), Some(_)) = (table.get(key), table.get(other)) {
            let problem = format_args!("cannot be combined with `run.{other}`");
            return Err(value.key_error(problem, "remove one of them"));
        }
    }
    Ok(KEYS.iter().filter_map(|key| Some((key, table.get(key.name)?))).collect())
}

/// Checks a value, and returns it as the command line takes it. Paths are relative to `folder`.
fn read_value(kind: &Kind, value: &Value<'_>, folder: &Path) -> Result<Vec<OsString>, ConfigError> {
    let help =
        |error: CliError| (error.to_string(), error.help.unwrap_or_else(|| "see `healbench run --help`".to_owned()));
    Ok(match kind {
        Kind::Flag => vec![value.boolean()?.to_string().into()],
        Kind::Integer(least, most) => vec![value.integer(*least..=*most)?.to_string().into()],
        Kind::Path => vec![folder.join(value.text()?).into()],
        Kind::Vary => items(value)?
            .iter()
            .map(|item| {
                let variation = item.parse(|text| Variation::checked(text, folder).map_err(help))?;
                Ok(variation.to_string().into())
            })
            .collect::<Result<_, ConfigError>>()?,
        Kind::Budget => {
            value.parse(|text| text.parse::<Budget>().map_err(|error| help(CliError::new(error))))?;
            vec![value.text()?.into()]
        }
        Kind::Scenarios => items(value)?
            .iter()
            .map(|item| {
                let path = folder.join(item.text()?);
                Ok(if is_built_in(item.text()?) && !path.exists() { item.text()?.into() } else { path.into() })
            })
            .collect::<Result<_, ConfigError>>()?,
        Kind::List(check) => items(value)?
            .iter()
            .map(|item| {
                let text = relative_to(folder, item.text()?);
                if text.contains(',') {
                    return Err(item.error("has a comma", "write each value as an item of its own"));
                }
                item.parse(|_| check(&text).map_err(help))?;
                Ok(text.into())
            })
            .collect::<Result<_, ConfigError>>()?,
    })
}

fn items<'d>(value: &Value<'d>) -> Result<Vec<Value<'d>>, ConfigError> {
    let items = value.list()?;
    if items.is_empty() {
        return Err(value.error("is empty", "leave the key out for its default"));
    }
    Ok(items)
}

/// Resolves the file in `scripted:FILE.toml` and `template:FILE`.
fn relative_to(folder: &Path, text: &str) -> String {
    let file = match text.split_once(':') {
        Some(("scripted", file)) if file.ends_with(".toml") && shipped_profiles().all(|name| name != file) => file,
        Some(("template", file)) => file,
        _ => return text.to_owned(),
    };
    format!("{}{}", &text[..text.len() - file.len()], folder.join(file).display())
}

impl ResolvedArgs {
    /// Formats all options of the command as a `[run]` table, with the source of each value. Options that the table
    /// cannot set are comments.
    pub(crate) fn to_toml(&self) -> String {
        let mut out = String::from("[run]\n");
        let command = Arguments::command();
        let Some((name, matches)) = self.matches.subcommand() else { return out };
        for arg in command.find_subcommand(name).into_iter().flat_map(clap::Command::get_arguments) {
            let id = arg.get_id().as_str();
            if matches!(id, "print_config" | "open") {
                continue;
            }
            let key = KEYS.iter().find(|key| key.name == id);
            let source = match (matches.value_source(id), self.positions.get(id)) {
                (Some(ValueSource::CommandLine), _) => {
                    arg.get_long().map_or("argument".to_owned(), |long| format!("--{long}"))
                }
                (Some(ValueSource::EnvVariable), _) => {
                    arg.get_env().map_or(String::new(), |name| name.to_string_lossy().into_owned())
                }
                (_, Some(position)) => position.clone(),
                (_, None) => "default".to_owned(),
            };
            let values: Vec<_> = matches.get_raw(id).into_iter().flatten().map(|raw| raw.to_string_lossy()).collect();
            let is_secret = values.iter().any(|value| looks_like_secret(value));
            let line = match (key, values.as_slice()) {
                (_, _) if is_secret => format!("# {id} looks like a secret, and is not shown"),
                (Some(key), []) => format!("# {id} = {}", key.default),
                (None, []) => continue,
                (Some(Key { kind: Kind::Flag | Kind::Integer(..), .. }), [value, ..]) => {
                    format!("{id} = {}", value.trim_start_matches('+'))
                }
                (Some(Key { kind: Kind::Path | Kind::Budget, .. }), [value, ..]) => {
                    format!("{id} = {}", quote(value))
                }
                (Some(_), values) => {
                    let quoted: Vec<String> = values.iter().map(|value| quote(value)).collect();
                    format!("{id} = [{}]", quoted.join(", "))
                }
                (None, [value, ..]) => format!("# {id} = {}", quote(value)),
            };
            out.push_str(&format!("{line}  # {source}\n"));
        }
        out
    }
}
