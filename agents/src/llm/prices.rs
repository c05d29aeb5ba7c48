//! Token prices: a dated table with its sources.

use healbench_core::{Usage, fingerprint};
use healbench_files::{ConfigError, Document, Table, Value};

use super::settings::read_price;
use super::{Api, Price};

const SHIPPED: &str = include_str!("../../prices.toml");

/// Prices by provider and model.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceTable {
    /// The date of the table, `YYYY-MM-DD`.
    pub date: String,
    /// The prices, in the order of the file.
    pub entries: Vec<PriceEntry>,
    sha256: String,
}

/// The price of a model with its source.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceEntry {
    pub provider: Provider,
    /// The provider's name for the model.
    pub model: String,
    pub price: Price,
    /// Dated snapshots of the model that have a different price.
    pub except: Vec<String>,
    /// The URL of the source.
    pub source: String,
    /// The date on which the source gave this price, `YYYY-MM-DD`.
    pub as_of: String,
    /// The last day on which the price is valid, if the source gives one.
    pub until: Option<String>,
}

/// A provider of paid models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// OpenAI, through either of its APIs.
    Openai,
    Anthropic,
    /// Google, through the Gemini API.
    Gemini,
}

const PROVIDERS: [(&str, Provider); 3] =
    [("openai", Provider::Openai), ("anthropic", Provider::Anthropic), ("gemini", Provider::Gemini)];

const ENTRY_KEYS: [&str; 10] =
    ["provider", "model", "input", "cache_read", "cache_write", "output", "except", "source", "as_of", "until"];

impl PriceTable {
    /// Returns the table included in healbench.
    ///
    /// # Panics
    /// Never: a test parses the table.
    pub fn shipped() -> PriceTable {
        PriceTable::parse("prices.toml", SHIPPED).expect("the shipped prices read")
    }

    /// Parses a table; `name` is the file name used in errors.
    ///
    /// # Errors
    /// Returns the first problem with its position.
    pub fn parse(name: &str, text: &str) -> Result<PriceTable, ConfigError> {
        let document = Document::parse(name, text)?;
        let root = document.root();
        root.deny_unknown(&["date", "price"])?;
        let mut entries: Vec<PriceEntry> = Vec::new();
        for value in root.read("price", Value::list)?.unwrap_or_default() {
            let table = value.table()?;
            let entry = price_entry(&table)?;
            if entries.iter().any(|other| other.provider == entry.provider && other.model == entry.model) {
                let problem = format_args!("has two prices for `{}`", entry.model.escape_debug()).to_string();
                return Err(table.error(problem, "remove one of them"));
            }
            entries.push(entry);
        }
        let date = root.require("date", "it is the day of the table, such as 2026-11-22")?.day()?;
        Ok(PriceTable { date, entries, sha256: fingerprint(text.as_bytes()) })
    }

    /// Returns the price of a model at the provider of `api`, or `None` if it is unknown.
    pub fn price(&self, api: Api, model: &str) -> Option<Price> {
        self.entry(api, model).map(|entry| entry.price)
    }

    /// Returns the entry with the model's exact name or, for a dated snapshot, with its name without the date. No other
    /// suffix is removed: models with similar names may differ in price.
    pub fn entry(&self, api: Api, model: &str) -> Option<&PriceEntry> {
        let provider = api.entry().vendor;
        let named = |name: &str| self.entries.iter().find(|entry| entry.provider == provider && entry.model == name);
        let undated = || {
            let entry = named(without_date(model)?)?;
            (!entry.except.iter().any(|snapshot| snapshot == model)).then_some(entry)
        };
        named(model).or_else(undated)
    }

    /// Returns the SHA-256 hash of the table's text in lowercase hexadecimal.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }
}

impl Price {
    /// Returns the cost of a request in US dollars. If the counts are inconsistent, no input token is charged twice:
    /// cache reads are charged first, then cache writes, then the rest.
    #[expect(clippy::cast_precision_loss, reason = "no request has 2^53 tokens")]
    pub fn usd(&self, usage: &Usage) -> f64 {
        let read = usage.cache_read.unwrap_or(0).min(usage.input);
        let written = usage.cache_write.unwrap_or(0).min(usage.input - read);
        let plain = usage.input - read - written;
        let of = |tokens: u64, price: f64| tokens as f64 * price;
        let input = of(plain, self.input)
            + of(read, self.cache_read.unwrap_or(self.input))
            + of(written, self.cache_write.unwrap_or(self.input));
        (input + of(usage.output, self.output)) / 1_000_000.0
    }
}

/// Returns a snapshot's name without its date, which is a suffix `-YYYY-MM-DD` or `-YYYYMMDD`.
fn without_date(model: &str) -> Option<&str> {
    let split_suffix = |length: usize| model.split_at_checked(model.len().checked_sub(length)?);
    let is_day = |digits: &str| {
        let number = |part: Option<&str>| part.and_then(|part| part.parse::<u32>().ok()).unwrap_or(0);
        digits.len() == 8
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && (2000..2100).contains(&number(digits.get(..4)))
            && (1..=12).contains(&number(digits.get(4..6)))
            && (1..=31).contains(&number(digits.get(6..)))
    };
    let dashed = |date: &str| {
        let parts: Vec<&str> = date.split('-').collect();
        matches!(parts[..], ["", year, month, day]
            if (year.len(), month.len(), day.len()) == (4, 2, 2) && is_day(&parts.concat()))
    };
    let plain = |date: &str| date.strip_prefix('-').is_some_and(is_day);
    let (name, _) = split_suffix(11)
        .filter(|(_, date)| dashed(date))
        .or_else(|| split_suffix(9).filter(|(_, date)| plain(date)))?;
    Some(name)
}

fn price_entry(table: &Table<'_>) -> Result<PriceEntry, ConfigError> {
    table.deny_unknown(&ENTRY_KEYS)?;
    let model = table.require("model", "it is the provider's name for the model")?;
    if model.text()?.trim().is_empty() {
        return Err(model.error("is empty", "it is the provider's name for the model"));
    }
    const SOURCE_HELP: &str = "it is the address of a page, which begins with `https://`";
    let source = table.require("source", SOURCE_HELP)?;
    if !source.text()?.starts_with("https://") {
        return Err(source.error("is not an address", SOURCE_HELP));
    }
    Ok(PriceEntry {
        provider: table.require("provider", "it is `openai`, `anthropic` or `gemini`")?.one_of(PROVIDERS)?,
        model: model.text()?.to_owned(),
        price: read_price(table)?,
        except: table.read("except", Value::texts)?.unwrap_or_default(),
        source: source.text()?.to_owned(),
        as_of: table.require("as_of", "it is the day on which the source gave this price")?.day()?,
        until: table.read("until", Value::day)?,
    })
}
