//! The conditions that `--condition` can name: those of the registry, and the `[condition.NAME]` tables of
//! healbench.toml.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use healbench_core::{
    AXES, Axis, AxisValueError, AxisValues, CONDITIONS, Condition, ConditionEntry, EnvironmentKind, ErrorFormat, Files,
    Guardrails, axis, fingerprint,
};
use healbench_files::{ConfigError, Document, Table, Value, hint};
use healbench_text::plain_text;

use crate::args::ConditionArgs;
use crate::axis_values::{parse_formats, parse_single_format, read_template, reject_duplicates};
use crate::error::{CliError, ErrorKind};
use crate::lockfiles::read_lockfile;
use crate::nearest_config::nearest_config;

/// The conditions that are compared by default: the lower bound, a server on an SDK whose author writes a message or also
/// a recovery, and all guardrails.
pub(crate) const DEFAULT_CONDITIONS: [&str; 4] = ["bare", "sdk-typescript", "sdk-typescript+recovery", "fusion"];

/// The condition that is varied by default.
pub(crate) const VARIED_CONDITION: [&str; 1] = ["fusion"];

/// The conditions that are compared by default on MCP servers.
pub(crate) const SERVER_CONDITIONS: [&str; 2] = ["as-is", "fusion"];

/// Returns the conditions that `--condition` names, in its order. `file` is the settings file.
pub(crate) fn named_conditions(
    names: &[String],
    file: Option<&Path>,
    environment: EnvironmentKind,
    files: &NamedFiles,
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
            EnvironmentKind::Mcp | EnvironmentKind::Observed => {
                format!("`{}` is a condition of the simulator, not of MCP servers", entry.name)
            }
        };
        return Err(CliError::new(message).kind(ErrorKind::Invalid).help(format!("choose from {}", known.join(", "))));
    }
    let mut known: Vec<(String, AxisValues)> =
        CONDITIONS.iter().map(|entry| (entry.name.to_owned(), entry.values.clone())).collect();
    if let Some(file) = file {
        let text = healbench_files::read_text_file(file, healbench_files::MAX_WRITTEN_BYTES)
            .map_err(|source| CliError::read(file, &source))?;
        known.extend(read_conditions(&Document::parse(&file.display().to_string(), &text)?, file, files)?);
    }
    let condition = |name: &String| match known.iter().find(|(known, _)| known == name) {
        Some((_, values)) => Ok(Condition::named(name, values.clone())),
        None => Err(CliError::new(format_args!("unknown condition `{}`", plain_text(name)))
            .kind(ErrorKind::Invalid)
            .help(hint(name, known.iter().map(|(name, _)| name.as_str())))),
    };
    names.iter().map(condition).collect()
}

/// Other values of an axis, as `--vary` names them.
pub(crate) struct Variation {
    axis: &'static Axis,
    words: Vec<String>,
}

impl fmt::Display for Variation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.axis.key, self.words.join(","))
    }
}

impl Variation {
    /// Parses `AXIS=VALUE,VALUE`.
    fn parse(text: &str) -> Result<Variation, CliError> {
        let invalid = || {
            CliError::new(format_args!("`{}` names no values of an axis", plain_text(text)))
                .kind(ErrorKind::Invalid)
                .help("write an axis with its values, as in `content=diagnosis,expected`")
        };
        let (key, values) = text.split_once('=').ok_or_else(invalid)?;
        let axis = axis(key.trim())?;
        let words: Vec<String> = values.split(',').map(|word| word.trim().to_owned()).collect();
        if words.iter().any(String::is_empty) {
            return Err(invalid());
        }
        reject_duplicates(axis.key, words.iter().cloned())?;
        Ok(Variation { axis, words })
    }

    /// Parses the text, whose files are relative to a folder, and checks its values. The files of the result are relative to the working
    /// directory.
    pub(crate) fn checked(text: &str, folder: &Path) -> Result<Variation, CliError> {
        let Variation { axis, words } = Variation::parse(text)?;
        let words: Vec<String> = words.iter().map(|word| relative_to(folder, word)).collect();
        if let Some(word) = words.iter().find(|word| word.contains([',', ';'])) {
            return Err(CliError::new(format_args!("the path in `{}` has a comma or a semicolon", plain_text(word)))
                .kind(ErrorKind::Invalid)
                .help("name a file at another path"));
        }
        let condition = Condition::new(Guardrails::ALL, ErrorFormat::FusionXml);
        for word in &words {
            NamedFiles::default().set(&condition, axis, word)?;
        }
        Ok(Variation { axis, words })
    }
}

/// The files that values of axes name.
#[derive(Default)]
pub(crate) struct NamedFiles {
    /// The lockfiles, by the SHA-256 of their texts.
    locks: RefCell<BTreeMap<String, PathBuf>>,
}

impl NamedFiles {
    /// Returns the condition with another value of an axis.
    fn set(&self, condition: &Condition, axis: &Axis, word: &str) -> Result<Condition, CliError> {
        let failed: RefCell<Option<CliError>> = RefCell::default();
        let keep = |error: CliError| {
            let message = error.to_string();
            *failed.borrow_mut() = Some(error);
            message
        };
        let template = |file: &str| read_template(file).map_err(keep);
        let lock = |file: &str| {
            let text = read_lockfile(Path::new(file)).map_err(keep)?.to_text();
            let sha256 = fingerprint(text.as_bytes());
            self.locks.borrow_mut().insert(sha256.clone(), PathBuf::from(file));
            Ok(sha256)
        };
        let changed = condition.with(axis, word, &Files { template: &template, lock: &lock });
        changed.map_err(|error| match (failed.take(), error) {
            (Some(error), _) => error,
            (None, AxisValueError::Unknown(error)) => error.into(),
            (None, AxisValueError::File(message)) => CliError::new(message),
        })
    }

    /// Returns the lockfile that contracts of these conditions are compared with, if there is one.
    pub(crate) fn lockfile(&self, conditions: &[Condition]) -> Result<Option<PathBuf>, CliError> {
        let mut named: Vec<&String> = conditions.iter().filter_map(|each| each.values.contract.lock.as_ref()).collect();
        named.sort_unstable();
        named.dedup();
        match named.as_slice() {
            [] => Ok(None),
            [sha256] => Ok(self.locks.borrow().get(*sha256).cloned()),
            _ => Err(CliError::new("the conditions have several lockfiles")
                .kind(ErrorKind::Invalid)
                .help("compare with one lockfile in a run")),
        }
    }
}

/// Parses the values of `--vary`, each of another axis.
fn variations(options: &[String]) -> Result<Vec<Variation>, CliError> {
    let variations = options.iter().map(|option| Variation::parse(option)).collect::<Result<Vec<_>, _>>()?;
    for (index, Variation { axis, .. }) in variations.iter().enumerate() {
        if variations[..index].iter().any(|earlier| earlier.axis.key == axis.key) {
            return Err(CliError::new(format_args!("`--vary` names `{}` twice", axis.key))
                .kind(ErrorKind::Invalid)
                .help("separate its values by commas"));
        }
    }
    Ok(variations)
}

/// Returns each condition with every combination of the values; a condition with a name comes first as it is. Equal conditions are listed
/// once.
///
/// # Errors
/// A value that no condition can have is refused: one without an effect, or one that contradicts the guardrails that an unnamed condition is
/// made of.
pub(crate) fn vary(
    conditions: Vec<Condition>,
    options: &[String],
    files: &NamedFiles,
) -> Result<Vec<Condition>, CliError> {
    let mut all = conditions;
    for variation in variations(options)? {
        let mut used = vec![false; variation.words.len()];
        let mut varied: Vec<Condition> = Vec::new();
        for condition in all {
            let mut others = Vec::new();
            for (word, is_used) in variation.words.iter().zip(&mut used) {
                let other = files.set(&condition, variation.axis, word)?;
                let fits = condition.name.is_some() || other.guardrails() == condition.guardrails();
                let other = if fits { other } else { condition.clone() };
                *is_used |= other != condition || has_value(&condition, variation.axis, word);
                others.push(other);
            }
            let first = condition.name.is_some().then_some(condition);
            for condition in first.into_iter().chain(others) {
                if !varied.contains(&condition) {
                    varied.push(condition);
                }
            }
        }
        if let Some((word, _)) = variation.words.iter().zip(used).find(|(_, is_used)| !is_used) {
            return Err(no_effect(variation.axis, word));
        }
        all = varied;
    }
    Ok(all)
}

/// Returns a condition with these values, one of each axis.
pub(crate) fn with_values(condition: Condition, options: &[String], files: &NamedFiles) -> Result<Condition, CliError> {
    variations(options)?.iter().try_fold(condition, |condition, Variation { axis, words }| {
        let [word] = words.as_slice() else { return Err(CliError::one_only("--vary", &words.join(","))) };
        let changed = files.set(&condition, axis, word)?;
        match changed == condition && !has_value(&condition, axis, word) {
            true => Err(no_effect(axis, word)),
            false => Ok(changed),
        }
    })
}

/// Returns true if a condition has the value already. A lockfile is not named in a value.
fn has_value(condition: &Condition, axis: &Axis, word: &str) -> bool {
    (axis.word)(&condition.values) == word || (condition.values.contract.shown && word.contains("lock:"))
}

fn no_effect(axis: &Axis, word: &str) -> CliError {
    CliError::new(format_args!("`{}={}` has no effect under the conditions that it varies", axis.key, plain_text(word)))
        .kind(ErrorKind::Invalid)
        .help("name other conditions with `--condition`, or other guardrails with `--guardrails`")
}

/// Returns the conditions that a command without a plan names, before they are varied.
pub(crate) fn conditions_of(
    args: &ConditionArgs,
    environment: EnvironmentKind,
    files: &NamedFiles,
) -> Result<Vec<Condition>, CliError> {
    if !args.condition.is_empty() {
        return named_conditions(&args.condition, nearest_config().as_deref(), environment, files);
    }
    let guardrails: Guardrails = args.guardrails.parse()?;
    Ok(Condition::of_parts(&[guardrails], &parse_formats(&args.format)?))
}

/// Returns the labels of conditions, without their guardrails if all have the same.
pub(crate) fn short_labels(conditions: &[Condition]) -> Vec<String> {
    let guardrails = conditions.first().map(Condition::guardrails);
    let is_common = conditions.iter().all(|condition| Some(condition.guardrails()) == guardrails);
    let label = |condition: &Condition| {
        let label = condition.label();
        let prefix = format!("{} ", condition.guardrails());
        match label.strip_prefix(&prefix).filter(|_| is_common && condition.name.is_none()) {
            Some(rest) => rest.to_owned(),
            None => label,
        }
    };
    conditions.iter().map(label).collect()
}

/// Reads the `[condition.NAME]` tables of a settings file. Files in them are relative to its folder.
pub(crate) fn read_conditions(
    document: &Document<'_>,
    file: &Path,
    files: &NamedFiles,
) -> Result<Vec<(String, AxisValues)>, ConfigError> {
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
        Ok((name.to_owned(), read_values(&value.table()?, file.parent().unwrap_or(Path::new("")), files)?))
    };
    tables.entries().map(read).collect()
}

fn read_values(table: &Table<'_>, folder: &Path, files: &NamedFiles) -> Result<AxisValues, ConfigError> {
    // `format` and the guardrails decide them.
    let axes = || AXES.iter().filter(|axis| axis.key != "errors" && axis.key != "truncation");
    let keys: Vec<&str> = ["guardrails", "format"].into_iter().chain(axes().map(|axis| axis.key)).collect();
    table.deny_unknown(&keys)?;
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
    let mut condition = Condition::new(guardrails, format);
    for axis in axes() {
        let Some(value) = table.get(axis.key) else { continue };
        condition = value.parse(|text| files.set(&condition, axis, &relative_to(folder, text)).map_err(help))?;
        if condition.guardrails() != guardrails {
            let help = format!("`guardrails` has to be `{}` with it", condition.guardrails());
            return Err(value.key_error("contradicts its guardrails", help));
        }
    }
    Ok(condition.values)
}

/// Resolves the file in `template:FILE` and in `lock:FILE`, which ends a value.
fn relative_to(folder: &Path, text: &str) -> String {
    let is_file = |at: &usize| *at == 0 || text[..*at].ends_with('+');
    let file = ["template:", "lock:"].iter().find_map(|kind| Some(text.find(kind).filter(is_file)? + kind.len()));
    match file {
        Some(at) => format!("{}{}", &text[..at], folder.join(&text[at..]).display()),
        None => text.to_owned(),
    }
}
