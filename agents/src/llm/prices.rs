//! Token prices: a dated table with its sources.

use healbench_protocol::{Usage, fingerprint};
use serde::Deserialize;
use toml::Spanned;
use toml::value::Datetime;

use super::position::line_and_column;
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
    /// The provider.
    pub provider: Provider,
    /// The provider's name for the model.
    pub model: String,
    /// The price.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// OpenAI, through either of its APIs.
    Openai,
    /// Anthropic.
    Anthropic,
    /// Google, through the Gemini API.
    Gemini,
}

/// An error in a price table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct PriceError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The problem.
    pub message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    date: Spanned<Datetime>,
    #[serde(default, rename = "price")]
    prices: Vec<RawEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    provider: Provider,
    model: Spanned<String>,
    input: Spanned<f64>,
    cache_read: Option<Spanned<f64>>,
    cache_write: Option<Spanned<f64>>,
    output: Spanned<f64>,
    #[serde(default)]
    except: Vec<String>,
    source: Spanned<String>,
    as_of: Spanned<Datetime>,
    until: Option<Spanned<Datetime>>,
}

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
    pub fn parse(name: &str, text: &str) -> Result<PriceTable, PriceError> {
        let table = TableText { name, text };
        let raw: RawTable = toml::from_str(text).map_err(|error| {
            table.error(error.span().map_or(0, |span| span.start), error.message().replace('\n', " "))
        })?;
        let mut entries: Vec<PriceEntry> = Vec::with_capacity(raw.prices.len());
        for raw in raw.prices {
            let at = raw.model.span().start;
            let entry = table.entry(raw)?;
            if entries.iter().any(|other| other.provider == entry.provider && other.model == entry.model) {
                return Err(table.error(at, format!("`{}` has two prices", entry.model.escape_debug())));
            }
            entries.push(entry);
        }
        Ok(PriceTable { date: table.day("date", &raw.date)?, entries, sha256: fingerprint(text.as_bytes()) })
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

/// A table's text and file name, for errors with positions.
struct TableText<'t> {
    name: &'t str,
    text: &'t str,
}

impl TableText<'_> {
    fn error(&self, offset: usize, message: String) -> PriceError {
        let (line, column) = line_and_column(self.text, offset);
        PriceError { file: self.name.to_owned(), line, column, message }
    }

    fn entry(&self, raw: RawEntry) -> Result<PriceEntry, PriceError> {
        let optional = |key, number: &Option<Spanned<f64>>| number.as_ref().map(|n| self.dollars(key, n)).transpose();
        let price = Price {
            input: self.dollars("input", &raw.input)?,
            cache_read: optional("cache_read", &raw.cache_read)?,
            cache_write: optional("cache_write", &raw.cache_write)?,
            output: self.dollars("output", &raw.output)?,
        };
        if !raw.source.get_ref().starts_with("https://") {
            let message = "`source` has to be the address of a page, which begins with `https://`";
            return Err(self.error(raw.source.span().start, message.to_owned()));
        }
        if raw.model.get_ref().trim().is_empty() {
            return Err(self.error(raw.model.span().start, "`model` is empty".to_owned()));
        }
        Ok(PriceEntry {
            provider: raw.provider,
            as_of: self.day("as_of", &raw.as_of)?,
            until: raw.until.as_ref().map(|day| self.day("until", day)).transpose()?,
            model: raw.model.into_inner(),
            price,
            except: raw.except,
            source: raw.source.into_inner(),
        })
    }

    fn dollars(&self, key: &str, number: &Spanned<f64>) -> Result<f64, PriceError> {
        let value = *number.get_ref();
        if value.is_finite() && value >= 0.0 {
            return Ok(value);
        }
        let message = format!("`{key}` is {value}; it has to be a finite number of at least 0");
        Err(self.error(number.span().start, message))
    }

    fn day(&self, key: &str, day: &Spanned<Datetime>) -> Result<String, PriceError> {
        match day.get_ref() {
            Datetime { date: Some(date), time: None, offset: None } => Ok(date.to_string()),
            _ => Err(self.error(day.span().start, format!("`{key}` has to be a day, such as 2026-11-22"))),
        }
    }
}
