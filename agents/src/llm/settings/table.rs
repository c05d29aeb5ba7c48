//! A `[model.NAME]` table.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use healbench_protocol::{Object, ToolsMode};

use super::error::{Fault, SettingsError};
use super::keys::{Keys, Text};
use super::names::{hint, is_name, list, shown};
use super::{defaults, url};
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

/// What is in the names of headers that carry secrets.
const SECRET_HEADERS: [&str; 5] = ["auth", "cookie", "key", "secret", "token"];

/// Keys of a request's body that are healbench's own, in all APIs: what a record says of them has to be what was sent.
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

type Read<'r> = &'r dyn Fn(&Path) -> io::Result<String>;

/// Reads a table; `name` is its own. Prices that it does not give are null.
pub(super) fn model(name: &str, keys: &Keys<'_>, file: &Path, read: Read<'_>) -> Result<Model, SettingsError> {
    keys.refuse_secrets()?;
    keys.only(&KEYS)?;
    let api = api(keys)?;
    let base_url = match keys.text("base_url")? {
        Some(text) => url::checked(text.text).map_err(|reason| keys.malformed("base_url", text.at, reason))?,
        None => api.default_base_url().to_owned(),
    };
    let mut model = defaults(api, id(name, keys)?, base_url);
    if let Some(variable) = keys.text("key_env")? {
        model.key_env = if variable.text.is_empty() { None } else { Some(variable_name(keys, "key_env", &variable)?) };
    }
    model.tools = tools(keys)?.unwrap_or(model.tools);
    model.sampling = sampling(keys, model.sampling)?;
    model.limits = limits(keys, model.limits)?;
    model.connections = connections(keys)?.unwrap_or(model.connections);
    model.check_model = keys.flag("check_model")?.unwrap_or(model.check_model);
    if let Some(path) = keys.text("system")? {
        model.system = system(keys, &path, file, read)?;
    }
    model.headers = headers(keys)?;
    model.headers_env = headers_env(keys, &model.headers)?;
    model.price = price(keys)?;
    model.extra_body = extra_body(keys)?;
    Ok(model)
}

fn api(keys: &Keys<'_>) -> Result<Api, SettingsError> {
    let known = || Api::ALL.into_iter().map(Api::name);
    let Some(word) = keys.text("api")? else {
        let hint = format!("it is one of {}", list(&known().collect::<Vec<_>>()));
        return Err(keys.missing("api", hint));
    };
    Api::ALL.into_iter().find(|api| api.name() == word.text).ok_or_else(|| unknown_value(keys, "api", &word, known()))
}

fn tools(keys: &Keys<'_>) -> Result<Option<ToolsMode>, SettingsError> {
    let Some(word) = keys.text("tools")? else { return Ok(None) };
    match word.text {
        "native" => Ok(Some(ToolsMode::Native)),
        "prompt" => Ok(Some(ToolsMode::Prompt)),
        _ => Err(unknown_value(keys, "tools", &word, ["native", "prompt"])),
    }
}

fn unknown_value<'a>(
    keys: &Keys<'_>,
    key: &str,
    word: &Text<'_>,
    known: impl IntoIterator<Item = &'a str>,
) -> SettingsError {
    let fault = Fault::UnknownValue { key: keys.named(key), value: shown(word.text), hint: hint(word.text, known) };
    keys.source.error(word.at, fault)
}

fn id<'s>(name: &'s str, keys: &Keys<'s>) -> Result<&'s str, SettingsError> {
    match keys.text("model")? {
        None => Ok(name),
        Some(text) if is_name(text.text) => Ok(text.text),
        Some(text) => Err(keys.malformed("model", text.at, super::NOT_A_NAME)),
    }
}

fn sampling(keys: &Keys<'_>, default: Sampling) -> Result<Sampling, SettingsError> {
    let is_temperature = |number: f64| number.is_finite() && number >= 0.0;
    let is_top_p = |number: f64| number > 0.0 && number <= 1.0;
    Ok(Sampling {
        temperature: keys.number("temperature", is_temperature, "a finite number of at least 0")?,
        top_p: keys.number("top_p", is_top_p, "a number above 0 and of at most 1")?,
        max_output_tokens: keys.small("max_output_tokens", 1)?,
        seed: keys.flag("seed")?.unwrap_or(default.seed),
    })
}

fn limits(keys: &Keys<'_>, default: Limits) -> Result<Limits, SettingsError> {
    Ok(Limits {
        timeout_s: keys.small("timeout_s", 1)?.unwrap_or(default.timeout_s),
        retries: keys.small("retries", 0)?.unwrap_or(default.retries),
        episode_calls: keys.small("episode_calls", 1)?,
        episode_tokens: keys.whole("episode_tokens", 1..=u64::MAX)?,
    })
}

/// A number is a fixed one; of a table, what is not given follows what is.
fn connections(keys: &Keys<'_>) -> Result<Option<Connections>, SettingsError> {
    if !keys.holds_table("connections") {
        let fixed = keys.small("connections", 1)?;
        return Ok(fixed.map(|number| Connections { start: number, min: number, max: number }));
    }
    let Some(table) = keys.table("connections")? else { return Ok(None) };
    table.only(&["start", "min", "max"])?;
    let given = |key| table.small(key, 1);
    let (start, min, max) = (given("start")?, given("min")?, given("max")?);
    let default = super::CONNECTIONS;
    let least = min.unwrap_or(default.min.min(start.unwrap_or(default.min)).min(max.unwrap_or(default.min)));
    let most = max.unwrap_or(default.max.max(start.unwrap_or(default.max)).max(least));
    let start = start.unwrap_or(default.start.max(least).min(most));
    if least <= start && start <= most {
        return Ok(Some(Connections { start, min: least, max: most }));
    }
    Err(keys.malformed("connections", table.start, "is out of order: it has to be `min` <= `start` <= `max`"))
}

fn system(keys: &Keys<'_>, path: &Text<'_>, file: &Path, read: Read<'_>) -> Result<String, SettingsError> {
    let path_of = file.parent().unwrap_or(Path::new("")).join(path.text);
    match read(&path_of) {
        Ok(text) => Ok(text.trim_end().to_owned()),
        Err(error) => {
            let path_shown = shown(&path_of.display().to_string());
            let fault = Fault::Unreadable { key: "system", path: path_shown, reason: error.to_string() };
            Err(keys.source.error(path.at, fault))
        }
    }
}

fn variable_name(keys: &Keys<'_>, key: &str, variable: &Text<'_>) -> Result<String, SettingsError> {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let fits = variable.text.starts_with(is_first) && variable.text.chars().all(|c| is_first(c) || c.is_ascii_digit());
    if fits {
        return Ok(variable.text.to_owned());
    }
    let reason =
        "has to be the name of an environment variable (letters, digits and `_`); what stands there is not shown";
    Err(keys.malformed(key, variable.at, reason))
}

fn headers(keys: &Keys<'_>) -> Result<BTreeMap<String, String>, SettingsError> {
    let Some(table) = keys.table("headers")? else { return Ok(BTreeMap::new()) };
    let mut headers = BTreeMap::new();
    for (name, value) in table.entries() {
        let lower = name.text.to_ascii_lowercase();
        if SECRET_HEADERS.iter().any(|part| lower.contains(part)) {
            return Err(table.source.error(name.at, Fault::SecretHeader { key: table.named(name.text) }));
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

fn headers_env(keys: &Keys<'_>, plain: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, SettingsError> {
    let Some(table) = keys.table("headers_env")? else { return Ok(BTreeMap::new()) };
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

fn check_header(table: &Keys<'_>, name: &Text<'_>, so_far: &BTreeMap<String, String>) -> Result<(), SettingsError> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.text.is_empty() || !name.text.chars().all(is_token) {
        return Err(table.malformed(name.text, name.at, "is not the name of a header"));
    }
    if so_far.keys().any(|other| other.eq_ignore_ascii_case(name.text)) {
        return Err(table.malformed(name.text, name.at, "is given twice; a header's name is the same in all cases"));
    }
    Ok(())
}

fn price(keys: &Keys<'_>) -> Result<Option<Price>, SettingsError> {
    let Some(table) = keys.table("price")? else { return Ok(None) };
    table.only(&["input", "cache_read", "cache_write", "output"])?;
    let is_price = |number: f64| number.is_finite() && number >= 0.0;
    let given = |key| table.number(key, is_price, "a finite number of at least 0");
    let needed =
        |key| given(key)?.ok_or_else(|| table.missing(key, "it is in US dollars for a million tokens".to_owned()));
    Ok(Some(Price {
        input: needed("input")?,
        cache_read: given("cache_read")?,
        cache_write: given("cache_write")?,
        output: needed("output")?,
    }))
}

fn extra_body(keys: &Keys<'_>) -> Result<Object, SettingsError> {
    let Some(table) = keys.table("extra_body")? else { return Ok(Object::new()) };
    let mut body = Object::new();
    for (key, value) in table.entries() {
        if RESERVED.contains(&key.text) {
            return Err(table.source.error(key.at, Fault::Reserved { key: table.named(key.text) }));
        }
        body.insert(key.text.to_owned(), table.json(key.text, value)?);
    }
    Ok(body)
}
