//! Conversion of a `[model.NAME]` table to a model.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use healbench_core::{Object, ToolsMode};
use healbench_files::{ConfigError, Table, Value, is_name, list, printable};

use super::{base_url, defaults};
use crate::llm::{Api, Connections, Limits, Model, Price, Sampling};

const KEYS: [&str; 22] = [
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
    "tokens_per_minute",
    "connections",
    "system",
    "check_model",
    "deterministic",
    "headers",
    "headers_env",
    "price",
    "extra_body",
];

/// Parts of the names of headers with secret values.
const SECRET_HEADERS: [&str; 5] = ["auth", "cookie", "key", "secret", "token"];

/// The keys of request bodies that only healbench may set, for all APIs: records must agree with the requests.
const RESERVED: [&str; 11] = [
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
    "n",
];

/// Help for secrets in the wrong place.
const SECRET_HELP: &str = "name the environment variable that holds it in `key_env` or `headers_env`";

const PRICE: &str = "a finite number of at least 0";

type FileReader<'r> = &'r dyn Fn(&Path) -> io::Result<String>;

/// Converts a table; `name` is the table's name. The price is null if the table does not give one.
pub(super) fn model(name: &str, table: &Table<'_>, file: &Path, read: FileReader<'_>) -> Result<Model, ConfigError> {
    table.deny_unknown(&KEYS)?;
    let apis: Vec<&str> = Api::all().map(Api::name).collect();
    let api = table.require("api", &format!("it is one of {}", list(&apis)))?;
    let api = api.one_of(Api::all().map(|api| (api.name(), api)))?;
    let base_url = match table.get("base_url") {
        Some(value) => base_url::normalize(value.text()?).map_err(|(problem, help)| value.error(problem, help))?,
        None => api.default_base_url().to_owned(),
    };
    let mut model = defaults(api, table.read("model", model_id)?.unwrap_or(name), base_url);
    if let Some(variable) = table.get("key_env") {
        model.key_env = if variable.text()?.is_empty() { None } else { Some(variable_name(&variable)?) };
    }
    let modes = [("native", ToolsMode::Native), ("prompt", ToolsMode::Prompt)];
    model.tools = table.read("tools", |value| value.one_of(modes))?.unwrap_or(model.tools);
    model.sampling = sampling(table, model.sampling)?;
    model.limits = limits(table, model.limits)?;
    model.connections = table.read("connections", connections)?.unwrap_or(model.connections);
    model.check_model = table.read("check_model", Value::boolean)?.unwrap_or(model.check_model);
    model.deterministic = table.read("deterministic", Value::boolean)?.unwrap_or_default();
    if let Some(path) = table.get("system") {
        model.system = system(&path, file, read)?;
    }
    model.headers = table.read("headers", headers)?.unwrap_or_default();
    model.headers_env = table.read("headers_env", |value| headers_env(value, &model.headers))?.unwrap_or_default();
    model.price = table.read("price", price)?;
    model.extra_body = table.read("extra_body", extra_body)?.unwrap_or_default();
    Ok(model)
}

fn model_id<'d>(value: &Value<'d>) -> Result<&'d str, ConfigError> {
    match value.text()? {
        text if is_name(text) => Ok(text),
        _ => Err(value.error(super::NOT_A_NAME, super::NAME_HELP)),
    }
}

fn sampling(table: &Table<'_>, default: Sampling) -> Result<Sampling, ConfigError> {
    let temperature = |value: &Value<'_>| value.number(is_amount, "a finite number of at least 0");
    let top_p =
        |value: &Value<'_>| value.number(|number| number > 0.0 && number <= 1.0, "a number above 0 and of at most 1");
    Ok(Sampling {
        temperature: table.read("temperature", temperature)?,
        top_p: table.read("top_p", top_p)?,
        max_output_tokens: table.read("max_output_tokens", |value| value.integer_from(1))?,
        seed: table.read("seed", Value::boolean)?.unwrap_or(default.seed),
    })
}

fn limits(table: &Table<'_>, default: Limits) -> Result<Limits, ConfigError> {
    let from = |key, least| table.read(key, |value| value.integer_from(least));
    Ok(Limits {
        timeout_s: from("timeout_s", 1)?.unwrap_or(default.timeout_s),
        retries: from("retries", 0)?.unwrap_or(default.retries),
        episode_calls: from("episode_calls", 1)?,
        episode_tokens: table.read("episode_tokens", |value| value.integer(1..=u64::MAX))?,
        tokens_per_minute: table.read("tokens_per_minute", |value| value.integer(1..=u64::MAX))?,
    })
}

/// Returns the limits on connections. A single number sets all of them. In a table, missing limits are adjusted to the
/// given ones.
fn connections(value: &Value<'_>) -> Result<Connections, ConfigError> {
    if !value.is_table() {
        let number = value.integer_from(1)?;
        return Ok(Connections { start: number, min: number, max: number });
    }
    let table = value.table()?;
    table.deny_unknown(&["start", "min", "max"])?;
    let optional = |key| table.read(key, |value| value.integer_from(1));
    let (start, min, max) = (optional("start")?, optional("min")?, optional("max")?);
    let default = super::CONNECTIONS;
    let least = min.unwrap_or(default.min.min(start.unwrap_or(default.min)).min(max.unwrap_or(default.min)));
    let most = max.unwrap_or(default.max.max(start.unwrap_or(default.max)).max(least));
    let start = start.unwrap_or(default.start.max(least).min(most));
    if least <= start && start <= most {
        return Ok(Connections { start, min: least, max: most });
    }
    Err(value.error("is out of order", "it has to be `min` <= `start` <= `max`"))
}

fn system(path: &Value<'_>, file: &Path, read: FileReader<'_>) -> Result<String, ConfigError> {
    let full_path = file.parent().unwrap_or(Path::new("")).join(path.text()?);
    read(&full_path).map(|text| text.trim_end().to_owned()).map_err(|error| {
        let printable_path = printable(&full_path.display().to_string());
        path.error(
            format_args!("names `{printable_path}`, which cannot be read: {error}"),
            "the path is relative to the folder of this file",
        )
    })
}

fn variable_name(variable: &Value<'_>) -> Result<String, ConfigError> {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let text = variable.text()?;
    if text.starts_with(is_first) && text.chars().all(|c| is_first(c) || c.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    Err(variable.error(
        "is not a valid name of an environment variable; the value is hidden",
        "such a name has letters, digits and `_`",
    ))
}

fn headers(value: &Value<'_>) -> Result<BTreeMap<String, String>, ConfigError> {
    let mut headers = BTreeMap::new();
    for header in value.table()?.entries() {
        let lower = header.key().to_ascii_lowercase();
        if SECRET_HEADERS.iter().any(|part| lower.contains(part)) {
            return Err(header.key_error("carries a secret", SECRET_HELP));
        }
        check_header(&header, &headers)?;
        let text = header.text()?;
        if !text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
            let help = "headers are made of visible ASCII characters and blanks";
            return Err(header.error("contains characters that are not allowed in a header", help));
        }
        headers.insert(header.key().to_owned(), text.to_owned());
    }
    Ok(headers)
}

fn headers_env(value: &Value<'_>, plain: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, ConfigError> {
    let mut headers = BTreeMap::new();
    for header in value.table()?.entries() {
        check_header(&header, &headers)?;
        check_header(&header, plain)?;
        headers.insert(header.key().to_owned(), variable_name(&header)?);
    }
    Ok(headers)
}

fn check_header(header: &Value<'_>, existing: &BTreeMap<String, String>) -> Result<(), ConfigError> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if header.key().is_empty() || !header.key().chars().all(is_token) {
        return Err(header.key_error("is not the name of a header", "a name has letters, digits and `-`"));
    }
    if existing.keys().any(|other| other.eq_ignore_ascii_case(header.key())) {
        return Err(header.key_error("is given twice", "a header's name is the same in all cases"));
    }
    Ok(())
}

/// Returns true for numbers that can be a price or a temperature.
pub(in crate::llm) fn is_amount(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

fn price(value: &Value<'_>) -> Result<Price, ConfigError> {
    let table = value.table()?;
    table.deny_unknown(&["input", "cache_read", "cache_write", "output"])?;
    read_price(&table)
}

/// Reads the prices in a table with other keys.
pub(in crate::llm) fn read_price(table: &Table<'_>) -> Result<Price, ConfigError> {
    let dollars = |value: &Value<'_>| value.number(is_amount, PRICE);
    let required = |key| dollars(&table.require(key, "it is in US dollars for a million tokens")?);
    Ok(Price {
        input: required("input")?,
        cache_read: table.read("cache_read", dollars)?,
        cache_write: table.read("cache_write", dollars)?,
        output: required("output")?,
    })
}

fn extra_body(value: &Value<'_>) -> Result<Object, ConfigError> {
    let mut body = Object::new();
    for entry in value.table()?.entries() {
        if RESERVED.contains(&entry.key()) {
            return Err(entry.key_error(
                "cannot be set",
                "healbench writes this part of a request, and a run would not be what its records say",
            ));
        }
        body.insert(entry.key().to_owned(), entry.json()?);
    }
    Ok(body)
}
