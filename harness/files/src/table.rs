//! Tables and typed values, with their positions.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde_json::{Number, Value as Json};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use crate::names::{hint, printable};
use crate::{ConfigError, Source, join};

/// A table of a file.
#[derive(Debug, Clone)]
pub struct Table<'d> {
    pub(crate) source: Source<'d>,
    /// The path of its key; empty for the whole file.
    pub(crate) path: String,
    pub(crate) offset: usize,
    pub(crate) table: &'d DeTable<'d>,
}

/// A value with its key.
#[derive(Debug, Clone)]
pub struct Value<'d> {
    source: Source<'d>,
    path: String,
    key: &'d str,
    key_offset: usize,
    value: &'d Spanned<DeValue<'d>>,
}

impl<'d> Table<'d> {
    /// Returns the values of all keys, sorted by key.
    pub fn entries(&self) -> impl Iterator<Item = Value<'d>> {
        self.table.iter().map(|(key, value)| Value {
            source: self.source,
            path: join(&self.path, key.get_ref()),
            key: key.get_ref(),
            key_offset: key.span().start,
            value,
        })
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<Value<'d>> {
        self.entries().find(|value| value.key == key)
    }

    /// Returns the value of a key, converted by `read`, or `None` without the key.
    ///
    /// # Errors
    /// Returns the error of `read`.
    pub fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Value<'d>) -> Result<T, ConfigError>,
    ) -> Result<Option<T>, ConfigError> {
        self.get(key).as_ref().map(read).transpose()
    }

    /// Returns the value of a key that must be there; `expected` describes it.
    ///
    /// # Errors
    /// Returns an error without the key.
    pub fn require(&self, key: &str, expected: &str) -> Result<Value<'d>, ConfigError> {
        self.get(key).ok_or_else(|| {
            self.source.error(self.offset, format_args!("`{}` is missing", join(&self.path, key)), expected)
        })
    }

    /// Rejects unknown keys.
    ///
    /// # Errors
    /// Returns an error for the first one in the file, with the key that was probably meant.
    pub fn deny_unknown(&self, known: &[&str]) -> Result<(), ConfigError> {
        let unknown = self.entries().filter(|value| !known.contains(&value.key));
        match unknown.min_by_key(|value| value.key_offset) {
            None => Ok(()),
            Some(value) => {
                let message = format!("unknown key `{}`", value.path);
                Err(value.source.error(value.key_offset, message, hint(value.key, known.iter().copied())))
            }
        }
    }

    /// Creates an error about the table; `problem` follows its path.
    pub fn error(&self, problem: impl Display, help: impl Into<String>) -> ConfigError {
        self.source.error(self.offset, format_args!("`{}` {problem}", self.path), help)
    }
}

impl<'d> Value<'d> {
    pub fn key(&self) -> &'d str {
        self.key
    }

    /// Returns the line of the key, from 1.
    pub fn line(&self) -> usize {
        self.source.line_and_column(self.key_offset).0
    }

    /// Creates an error about the value; `problem` follows the path of its key.
    pub fn error(&self, problem: impl Display, help: impl Into<String>) -> ConfigError {
        self.source.error(self.value.span().start, format_args!("`{}` {problem}", self.path), help)
    }

    /// Creates an error about the key; `problem` follows its path.
    pub fn key_error(&self, problem: impl Display, help: impl Into<String>) -> ConfigError {
        self.source.error(self.key_offset, format_args!("`{}` {problem}", self.path), help)
    }

    /// Creates an error about a value of the wrong type.
    pub fn mistyped(&self, expected: &str) -> ConfigError {
        let found = type_name(self.value.get_ref());
        self.error(format_args!("is {found}, which has the wrong type"), format!("it has to be {expected}"))
    }

    fn out_of_range(&self, expected: impl Display) -> ConfigError {
        let number = match self.value.get_ref() {
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            _ => String::new(),
        };
        self.error(format_args!("is {number}, which is out of range"), format!("it has to be {expected}"))
    }

    /// Returns a string.
    ///
    /// # Errors
    /// Returns an error for another type.
    pub fn text(&self) -> Result<&'d str, ConfigError> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text),
            _ => Err(self.mistyped("a string")),
        }
    }

    /// Returns a string that `parse` accepts. Its error is shown with what it accepts.
    ///
    /// # Errors
    /// Returns an error for another type, and the problem and help that `parse` returns.
    pub fn parse<T>(&self, parse: impl FnOnce(&str) -> Result<T, (String, String)>) -> Result<T, ConfigError> {
        parse(self.text()?).map_err(|(problem, help)| self.error(format_args!("is not valid: {problem}"), help))
    }

    /// Returns the value that a word stands for.
    ///
    /// # Errors
    /// Returns an error for an unknown word, with the word that was probably meant.
    pub fn one_of<'a, T>(&self, known: impl IntoIterator<Item = (&'a str, T)>) -> Result<T, ConfigError> {
        let word = self.text()?;
        let mut names = Vec::new();
        for (name, value) in known {
            if name == word {
                return Ok(value);
            }
            names.push(name);
        }
        Err(self.error(format_args!("is `{}`, which is not known", printable(word)), hint(word, names)))
    }

    /// Returns true or false.
    ///
    /// # Errors
    /// Returns an error for another type.
    pub fn boolean(&self) -> Result<bool, ConfigError> {
        match self.value.get_ref() {
            DeValue::Boolean(flag) => Ok(*flag),
            _ => Err(self.mistyped("true or false")),
        }
    }

    /// Returns a number for which `fits` is true; `expected` describes such numbers.
    ///
    /// # Errors
    /// Returns an error for another type or number.
    pub fn number(&self, fits: impl Fn(f64) -> bool, expected: &str) -> Result<f64, ConfigError> {
        match as_number(self.value.get_ref()) {
            None => Err(self.mistyped("a number")),
            Some(number) if fits(number) => Ok(number),
            Some(_) => Err(self.out_of_range(expected)),
        }
    }

    /// Returns an integer in a range.
    ///
    /// # Errors
    /// Returns an error for another type or number.
    pub fn integer(&self, range: RangeInclusive<u64>) -> Result<u64, ConfigError> {
        let DeValue::Integer(number) = self.value.get_ref() else { return Err(self.mistyped("a whole number")) };
        let number = as_integer(number).and_then(|number| u64::try_from(number).ok());
        number
            .filter(|number| range.contains(number))
            .ok_or_else(|| self.out_of_range(format_args!("a whole number from {} to {}", range.start(), range.end())))
    }

    /// Returns an integer from `least` to `u32::MAX`.
    ///
    /// # Errors
    /// Returns an error for another type or number.
    pub fn integer_from(&self, least: u32) -> Result<u32, ConfigError> {
        let number = self.integer(u64::from(least)..=u64::from(u32::MAX))?;
        Ok(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// Returns a day, as `YYYY-MM-DD`.
    ///
    /// # Errors
    /// Returns an error for another type, and for a time.
    pub fn day(&self) -> Result<String, ConfigError> {
        match self.value.get_ref() {
            DeValue::Datetime(toml::value::Datetime { date: Some(date), time: None, offset: None }) => {
                Ok(date.to_string())
            }
            _ => Err(self.mistyped("a day without quotes, such as 2026-11-22")),
        }
    }

    /// Returns the items of a list.
    ///
    /// # Errors
    /// Returns an error for another type.
    pub fn list(&self) -> Result<Vec<Value<'d>>, ConfigError> {
        match self.value.get_ref() {
            DeValue::Array(items) => Ok(items.iter().map(|value| Value { value, ..self.clone() }).collect()),
            _ => Err(self.mistyped("a list")),
        }
    }

    /// Returns true for a table.
    pub fn is_table(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Table(_))
    }

    /// Returns a table.
    ///
    /// # Errors
    /// Returns an error for another type.
    pub fn table(&self) -> Result<Table<'d>, ConfigError> {
        match self.value.get_ref() {
            DeValue::Table(table) => {
                Ok(Table { source: self.source, path: self.path.clone(), offset: self.value.span().start, table })
            }
            _ => Err(self.mistyped("a table")),
        }
    }

    /// Returns a list of strings.
    ///
    /// # Errors
    /// Returns an error for another type.
    pub fn texts(&self) -> Result<Vec<String>, ConfigError> {
        self.list()?.iter().map(|item| Ok(item.text()?.to_owned())).collect()
    }

    /// Converts the value to JSON.
    ///
    /// # Errors
    /// Returns an error for a number that JSON cannot hold.
    pub fn json(&self) -> Result<Json, ConfigError> {
        Ok(match self.value.get_ref() {
            DeValue::String(text) => Json::String(text.clone().into_owned()),
            DeValue::Boolean(flag) => Json::Bool(*flag),
            DeValue::Datetime(time) => Json::String(time.to_string()),
            DeValue::Integer(number) => {
                let number = as_integer(number).and_then(Number::from_i128);
                Json::Number(number.ok_or_else(|| self.out_of_range("a number that JSON can hold"))?)
            }
            DeValue::Float(_) => {
                let number = as_number(self.value.get_ref()).and_then(Number::from_f64);
                Json::Number(number.ok_or_else(|| self.out_of_range("a finite number"))?)
            }
            DeValue::Array(_) => Json::Array(self.list()?.iter().map(Value::json).collect::<Result<_, _>>()?),
            DeValue::Table(_) => {
                let pair = |value: Value<'_>| Ok((value.key.to_owned(), value.json()?));
                Json::Object(self.table()?.entries().map(pair).collect::<Result<_, ConfigError>>()?)
            }
        })
    }
}

fn as_integer(number: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(number.as_str(), number.radix()).ok()
}

#[expect(clippy::cast_precision_loss, reason = "a setting with more than 53 bits is nobody's intent")]
fn as_number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => as_integer(number).map(|number| number as f64),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or a time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
