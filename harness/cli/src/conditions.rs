//! The conditions that `--condition` can name: those of the registry, and the `[condition.NAME]` tables of
//! healbench.toml.

use std::path::Path;

use healbench_config::{ConfigError, Document, Table, Value, hint};
use healbench_protocol::{
    CLIENTS, CONDITIONS, CONTENTS, ConditionEntry, ConditionParts, DOMAIN_ERRORS, EnvironmentKind, ErrorFormat,
    Guardrails, NamedEntry, UNDECLARED, Undeclared,
};
use healbench_record::Condition;
use healbench_reports::render::plain_text;

use crate::args::ConditionArgs;
use crate::axis_values::{parse_clients, parse_contents, parse_formats, parse_single_format, reject_duplicates};
use crate::error::{CliError, ErrorKind};
use crate::load::{with_clients, with_contents};
use crate::run_config::nearest_config;

/// The conditions that are compared by default: the lower bound, a server on an SDK whose author writes a message or also
/// a recovery, and all guardrails.
pub(crate) const DEFAULT_CONDITIONS: [&str; 4] = ["bare", "sdk-typescript", "sdk-typescript+recovery", "fusion"];

/// The conditions that are compared by default on MCP servers.
pub(crate) const SERVER_CONDITIONS: [&str; 2] = ["as-is", "fusion"];

/// Returns the conditions that `--condition` names, in its order. `file` is the settings file.
pub(crate) fn named_conditions(
    names: &[String],
    file: Option<&Path>,
    environment: EnvironmentKind,
) -> Result<Vec<Condition>, CliError> {
    reject_duplicates("--condition", names.iter().cloned())?;
    let applies = |entry: &&ConditionEntry| entry.environment.is_none_or(|only| only == environment);
    if let Some(entry) = CONDITIONS.iter().find(|entry| names.iter().any(|name| name == entry.name) && !applies(entry))
    {
        let known: Vec<&str> = CONDITIONS.iter().filter(applies).map(|entry| entry.name).collect();
        let message = match environment {
            EnvironmentKind::Simulator => {
                format!("`{}` is a condition of MCP servers, not of the simulator", entry.name)
            }
            EnvironmentKind::Mcp => format!("`{}` is a condition of the simulator, not of MCP servers", entry.name),
        };
        return Err(CliError::new(message).kind(ErrorKind::Invalid).help(format!("choose from {}", known.join(", "))));
    }
    let mut known: Vec<(String, ConditionParts)> =
        CONDITIONS.iter().map(|entry| (entry.name.to_owned(), entry.parts.clone())).collect();
    if let Some(file) = file {
        let text = healbench_protocol::read_text_file(file, healbench_protocol::MAX_WRITTEN_BYTES)
            .map_err(|source| CliError::read(file, &source))?;
        known.extend(read_conditions(&Document::parse(&file.display().to_string(), &text)?, file)?);
    }
    let condition = |name: &String| match known.iter().find(|(known, _)| known == name) {
        Some((_, parts)) => Ok(Condition::named(name, parts.clone())),
        None => Err(CliError::new(format_args!("unknown condition `{}`", plain_text(name)))
            .kind(ErrorKind::Invalid)
            .help(hint(name, known.iter().map(|(name, _)| name.as_str())))),
    };
    names.iter().map(condition).collect()
}

/// Returns the requested conditions, each with its label: the name of its error format with its level of content, or its own.
pub(crate) fn labelled_conditions(
    args: &ConditionArgs,
    environment: EnvironmentKind,
) -> Result<Vec<(String, Condition)>, CliError> {
    let clients = parse_clients(&args.client)?;
    let shown = |(label, condition): (String, Condition)| {
        let conditions = with_clients(vec![condition], &clients)?.into_iter();
        let labelled = conditions.map(|condition| match condition.client.is_raw() {
            true => (label.clone(), condition),
            false => (format!("{label} {}", condition.client.name()), condition),
        });
        Ok(labelled.collect::<Vec<_>>())
    };
    if !args.condition.is_empty() {
        let named = named_conditions(&args.condition, nearest_config().as_deref(), environment)?;
        let named = named.into_iter().map(|condition| shown((condition.name.clone(), condition)));
        return Ok(named.collect::<Result<Vec<_>, CliError>>()?.concat());
    }
    let guardrails: Guardrails = args.guardrails.parse()?;
    let condition = |format: ErrorFormat| {
        let mut condition = Condition::new(guardrails, format);
        condition.set_undeclared(args.undeclared.under(guardrails));
        condition
    };
    let conditions = parse_formats(&args.format)?.into_iter().map(|format| (format.to_string(), condition(format)));
    let contents = parse_contents(&args.content)?;
    let labelled = |(label, condition): (String, Condition)| {
        let conditions = with_contents(vec![condition], &contents).into_iter();
        conditions.map(move |condition| (format!("{label}{}", condition.content_suffix()), condition))
    };
    Ok(conditions.flat_map(labelled).map(shown).collect::<Result<Vec<_>, CliError>>()?.concat())
}

/// Reads the `[condition.NAME]` tables of a settings file. The files of templates are relative to its folder.
pub(crate) fn read_conditions(
    document: &Document<'_>,
    file: &Path,
) -> Result<Vec<(String, ConditionParts)>, ConfigError> {
    let Some(tables) = document.root().read("condition", Value::table)? else { return Ok(Vec::new()) };
    let read = |value: Value<'_>| {
        let name = value.key();
        if CONDITIONS.iter().any(|entry| entry.name == name) {
            return Err(value.key_error("is the name of a built-in condition", "choose another name"));
        }
        // They are sets of guardrails.
        if ["none", "all"].contains(&name) {
            return Err(
                value.key_error("cannot name a condition", "`none` and `all` are guardrails: choose another name")
            );
        }
        let is_valid = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
        if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(is_valid) {
            let help = "use letters, digits, `.`, `_`, `+` and `-`, and begin with a letter or digit";
            return Err(value.key_error("cannot name a condition", help));
        }
        Ok((name.to_owned(), read_parts(&value.table()?, file.parent().unwrap_or(Path::new("")))?))
    };
    tables.entries().map(read).collect()
}

fn read_parts(table: &Table<'_>, folder: &Path) -> Result<ConditionParts, ConfigError> {
    table.deny_unknown(&["guardrails", "format", "undeclared", "domain_errors", "content", "client"])?;
    let help = |error: CliError| (error.to_string(), error.help.unwrap_or_default());
    let parse = |text: &str| text.parse::<Guardrails>().map_err(|error| help(error.into()));
    let guardrails = table.read("guardrails", |value| value.parse(parse))?.unwrap_or_default();
    let format = table.get("format");
    let format = match (guardrails.healing, format) {
        (false, None) => ErrorFormat::Bare,
        (false, Some(format)) => {
            return Err(format.error("has no effect without `healing`", "add `healing` to `guardrails`, or remove it"));
        }
        (true, None) => return Err(table.error("has no format", "add `format`, which `healing` needs")),
        (true, Some(format)) => format.parse(|text| parse_single_format(&relative_to(folder, text)).map_err(help))?,
    };
    let undeclared = one_of(table, "undeclared", &UNDECLARED)?.unwrap_or(Undeclared::of(guardrails));
    if (undeclared == Undeclared::Reject) != guardrails.strict {
        let help = "undeclared fields are rejected exactly if `guardrails` has `strict`";
        return Err(table.error("contradicts its guardrails", help));
    }
    Ok(ConditionParts {
        undeclared,
        guardrails,
        format,
        domain_errors: one_of(table, "domain_errors", &DOMAIN_ERRORS)?.unwrap_or_default(),
        content: one_of(table, "content", &CONTENTS)?.unwrap_or_default(),
        client: one_of(table, "client", &CLIENTS)?.unwrap_or_default(),
    })
}

fn one_of<T: Copy>(table: &Table<'_>, key: &str, entries: &[NamedEntry<T>]) -> Result<Option<T>, ConfigError> {
    table.read(key, |value| value.one_of(entries.iter().map(|entry| (entry.name, entry.value))))
}

/// Resolves the file in `template:FILE`.
fn relative_to(folder: &Path, text: &str) -> String {
    match text.strip_prefix("template:") {
        Some(file) => format!("template:{}", folder.join(file).display()),
        None => text.to_owned(),
    }
}
