//! Conversion of a `[model.NAME]` table to a model.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use healbench_protocol::{Object, ToolsMode};

use super::error::{SettingsError, SettingsProblem};
use super::names::{hint, is_name, list, printable};
use super::table_reader::{SpannedText, TableReader};
use super::{base_url, defaults};
use crate::llm::{Api, Connections, Limits, Model, Price, Sampling};

const KEYS: [&str; 20] = [
    "api",
    "model",
    "base_url",
    "key_env",
    "tools",
    "temperature",
    "top_p",
    "max_output_tokens",
    "seed",
    "timeout_s",
    "retries",
    "episode_calls",
    "episode_tokens",
    "connections",
    "system",
    "check_model",
    "headers",
    "headers_env",
    "price",
    "extra_body",
];

/// Parts of the names of headers with secret values.
const SECRET_HEADERS: [&str; 5] = ["auth", "cookie", "key", "secret", "token"];

/// The keys of request bodies that only healbench may set, for all APIs: records must agree with the requests.
const RESERVED: [&str; 10] = [
    "model",
    "messages",
    "input",
    "contents",
    "tools",
    "system",
    "instructions",
    "systemInstruction",
    "system_instruction",
    "stream",
];

type FileReader<'r> = &'r dyn Fn(&Path) -> io::Result<String>;

/// Converts a table; `name` is the table's name. The price is null if the table does not give one.
pub(super) fn model(
    name: &str,
    reader: &TableReader<'_>,
    file: &Path,
    read: FileReader<'_>,
) -> Result<Model, SettingsError> {
    reader.reject_secrets()?;
    reader.deny_unknown(&KEYS)?;
    let api = api(reader)?;
    let base_url = match reader.text("base_url")? {
        Some(text) => {
            base_url::normalize(text.text).map_err(|reason| reader.malformed("base_url", text.offset, reason))?
        }
        None => api.default_base_url().to_owned(),
    };
    let mut model = defaults(api, model_id(name, reader)?, base_url);
    if let Some(variable) = reader.text("key_env")? {
        model.key_env =
            if variable.text.is_empty() { None } else { Some(variable_name(reader, "key_env", &variable)?) };
    }
    model.tools = tools(reader)?.unwrap_or(model.tools);
    model.sampling = sampling(reader, model.sampling)?;
    model.limits = limits(reader, model.limits)?;
    model.connections = connections(reader)?.unwrap_or(model.connections);
    model.check_model = reader.boolean("check_model")?.unwrap_or(model.check_model);
    if let Some(path) = reader.text("system")? {
        model.system = system(reader, &path, file, read)?;
    }
    model.headers = headers(reader)?;
    model.headers_env = headers_env(reader, &model.headers)?;
    model.price = price(reader)?;
    model.extra_body = extra_body(reader)?;
    Ok(model)
}

fn api(reader: &TableReader<'_>) -> Result<Api, SettingsError> {
    let known = || Api::all().map(Api::name);
    let Some(word) = reader.text("api")? else {
        let hint = format!("it is one of {}", list(&known().collect::<Vec<_>>()));
        return Err(reader.missing("api", hint));
    };
    Api::all().find(|api| api.name() == word.text).ok_or_else(|| unknown_value(reader, "api", &word, known()))
}

fn tools(reader: &TableReader<'_>) -> Result<Option<ToolsMode>, SettingsError> {
    let Some(word) = reader.text("tools")? else { return Ok(None) };
    match word.text {
        "native" => Ok(Some(ToolsMode::Native)),
        "prompt" => Ok(Some(ToolsMode::Prompt)),
        _ => Err(unknown_value(reader, "tools", &word, ["native", "prompt"])),
    }
}

fn unknown_value<'a>(
    reader: &TableReader<'_>,
    key: &str,
    word: &SpannedText<'_>,
    known: impl IntoIterator<Item = &'a str>,
) -> SettingsError {
    let problem = SettingsProblem::UnknownValue {
        key: reader.qualified_name(key),
        value: printable(word.text),
        hint: hint(word.text, known),
    };
    reader.source.error(word.offset, problem)
}

fn model_id<'s>(name: &'s str, reader: &TableReader<'s>) -> Result<&'s str, SettingsError> {
    match reader.text("model")? {
        None => Ok(name),
        Some(text) if is_name(text.text) => Ok(text.text),
        Some(text) => Err(reader.malformed("model", text.offset, super::NOT_A_NAME)),
    }
}

fn sampling(reader: &TableReader<'_>, default: Sampling) -> Result<Sampling, SettingsError> {
    let is_temperature = |number: f64| number.is_finite() && number >= 0.0;
    let is_top_p = |number: f64| number > 0.0 && number <= 1.0;
    Ok(Sampling {
        temperature: reader.number("temperature", is_temperature, "a finite number of at least 0")?,
        top_p: reader.number("top_p", is_top_p, "a number above 0 and of at most 1")?,
        max_output_tokens: reader.integer_from("max_output_tokens", 1)?,
        seed: reader.boolean("seed")?.unwrap_or(default.seed),
    })
}

fn limits(reader: &TableReader<'_>, default: Limits) -> Result<Limits, SettingsError> {
    Ok(Limits {
        timeout_s: reader.integer_from("timeout_s", 1)?.unwrap_or(default.timeout_s),
        retries: reader.integer_from("retries", 0)?.unwrap_or(default.retries),
        episode_calls: reader.integer_from("episode_calls", 1)?,
        episode_tokens: reader.integer("episode_tokens", 1..=u64::MAX)?,
    })
}

/// Returns the limits on connections. A single number sets all of them. In a table, missing limits are adjusted to the
/// given ones.
fn connections(reader: &TableReader<'_>) -> Result<Option<Connections>, SettingsError> {
    if !reader.has_table("connections") {
        let fixed = reader.integer_from("connections", 1)?;
        return Ok(fixed.map(|number| Connections { start: number, min: number, max: number }));
    }
    let Some(table) = reader.table("connections")? else { return Ok(None) };
    table.deny_unknown(&["start", "min", "max"])?;
    let optional = |key| table.integer_from(key, 1);
    let (start, min, max) = (optional("start")?, optional("min")?, optional("max")?);
    let default = super::CONNECTIONS;
    let least = min.unwrap_or(default.min.min(start.unwrap_or(default.min)).min(max.unwrap_or(default.min)));
    let most = max.unwrap_or(default.max.max(start.unwrap_or(default.max)).max(least));
    let start = start.unwrap_or(default.start.max(least).min(most));
    if least <= start && start <= most {
        return Ok(Some(Connections { start, min: least, max: most }));
    }
    Err(reader.malformed("connections", table.start, "is out of order: it has to be `min` <= `start` <= `max`"))
}

fn system(
    reader: &TableReader<'_>,
    path: &SpannedText<'_>,
    file: &Path,
    read: FileReader<'_>,
) -> Result<String, SettingsError> {
    let full_path = file.parent().unwrap_or(Path::new("")).join(path.text);
    match read(&full_path) {
        Ok(text) => Ok(text.trim_end().to_owned()),
        Err(error) => {
            let printable_path = printable(&full_path.display().to_string());
            let problem =
                SettingsProblem::Unreadable { key: "system", path: printable_path, reason: error.to_string() };
            Err(reader.source.error(path.offset, problem))
        }
    }
}

fn variable_name(reader: &TableReader<'_>, key: &str, variable: &SpannedText<'_>) -> Result<String, SettingsError> {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let fits = variable.text.starts_with(is_first) && variable.text.chars().all(|c| is_first(c) || c.is_ascii_digit());
    if fits {
        return Ok(variable.text.to_owned());
    }
    let reason =
        "has to be the name of an environment variable (letters, digits and `_`); what stands there is not shown";
    Err(reader.malformed(key, variable.offset, reason))
}

fn headers(reader: &TableReader<'_>) -> Result<BTreeMap<String, String>, SettingsError> {
    let Some(table) = reader.table("headers")? else { return Ok(BTreeMap::new()) };
    let mut headers = BTreeMap::new();
    for (name, value) in table.entries() {
        let lower = name.text.to_ascii_lowercase();
        if SECRET_HEADERS.iter().any(|part| lower.contains(part)) {
            return Err(table
                .source
                .error(name.offset, SettingsProblem::SecretHeader { key: table.qualified_name(name.text) }));
        }
        check_header(&table, &name, &headers)?;
        let Some(text) = table.text(name.text)? else { continue };
        if !text.text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
            let reason = "has to be of visible ASCII characters and blanks, which headers are made of";
            return Err(table.malformed(name.text, value.span().start, reason));
        }
        headers.insert(name.text.to_owned(), text.text.to_owned());
    }
    Ok(headers)
}

fn headers_env(
    reader: &TableReader<'_>,
    plain: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, SettingsError> {
    let Some(table) = reader.table("headers_env")? else { return Ok(BTreeMap::new()) };
    let mut headers = BTreeMap::new();
    for (name, _) in table.entries() {
        check_header(&table, &name, &headers)?;
        check_header(&table, &name, plain)?;
        if let Some(variable) = table.text(name.text)? {
            headers.insert(name.text.to_owned(), variable_name(&table, name.text, &variable)?);
        }
    }
    Ok(headers)
}

fn check_header(
    table: &TableReader<'_>,
    name: &SpannedText<'_>,
    existing: &BTreeMap<String, String>,
) -> Result<(), SettingsError> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.text.is_empty() || !name.text.chars().all(is_token) {
        return Err(table.malformed(name.text, name.offset, "is not the name of a header"));
    }
    if existing.keys().any(|other| other.eq_ignore_ascii_case(name.text)) {
        return Err(table.malformed(
            name.text,
            name.offset,
            "is given twice; a header's name is the same in all cases",
        ));
    }
    Ok(())
}

fn price(reader: &TableReader<'_>) -> Result<Option<Price>, SettingsError> {
    let Some(table) = reader.table("price")? else { return Ok(None) };
    table.deny_unknown(&["input", "cache_read", "cache_write", "output"])?;
    let is_price = |number: f64| number.is_finite() && number >= 0.0;
    let optional = |key| table.number(key, is_price, "a finite number of at least 0");
    let required =
        |key| optional(key)?.ok_or_else(|| table.missing(key, "it is in US dollars for a million tokens".to_owned()));
    Ok(Some(Price {
        input: required("input")?,
        cache_read: optional("cache_read")?,
        cache_write: optional("cache_write")?,
        output: required("output")?,
    }))
}

fn extra_body(reader: &TableReader<'_>) -> Result<Object, SettingsError> {
    let Some(table) = reader.table("extra_body")? else { return Ok(Object::new()) };
    let mut body = Object::new();
    for (key, value) in table.entries() {
        if RESERVED.contains(&key.text) {
            return Err(table
                .source
                .error(key.offset, SettingsProblem::Reserved { key: table.qualified_name(key.text) }));
        }
        body.insert(key.text.to_owned(), table.json(key.text, value)?);
    }
    Ok(body)
}
