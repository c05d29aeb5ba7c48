//! Access to the keys of a TOML table, with their positions.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use serde_json::{Number, Value};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::error::{SettingsError, SettingsProblem, Source};
use super::names::{hint, looks_like_secret, printable};

pub(super) struct TableReader<'s> {
    pub(super) source: &'s Source<'s>,
    /// The prefix of key names in errors: empty for a model's own keys, `price.` for its prices.
    pub(super) prefix: String,
    pub(super) table: &'s DeTable<'s>,
    /// The byte offset of the table, used for missing keys.
    pub(super) start: usize,
}

/// A text and its byte offset.
pub(super) struct SpannedText<'s> {
    pub(super) text: &'s str,
    pub(super) offset: usize,
}

impl<'s> TableReader<'s> {
    /// Returns the key's name for errors.
    pub(super) fn qualified_name(&self, key: &str) -> String {
        format!("{}{}", self.prefix, printable(key))
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (SpannedText<'s>, &'s Spanned<DeValue<'s>>)> {
        self.table.iter().map(|(key, value)| (SpannedText { text: key.get_ref(), offset: key.span().start }, value))
    }

    fn value(&self, key: &str) -> Option<&'s Spanned<DeValue<'s>>> {
        self.entries().find(|(name, _)| name.text == key).map(|(_, value)| value)
    }

    /// Returns an error for the first unknown key in the file.
    pub(super) fn deny_unknown(&self, known: &[&str]) -> Result<(), SettingsError> {
        let is_unknown = |key: &SpannedText<'_>| !known.contains(&key.text);
        match self.entries().map(|(key, _)| key).filter(is_unknown).min_by_key(|key| key.offset) {
            None => Ok(()),
            Some(key) => {
                let problem = SettingsProblem::UnknownKey {
                    key: self.qualified_name(key.text),
                    hint: hint(key.text, known.iter().copied()),
                };
                Err(self.source.error(key.offset, problem))
            }
        }
    }

    pub(super) fn missing(&self, key: &str, hint: String) -> SettingsError {
        self.source.error(self.start, SettingsProblem::Missing { key: self.qualified_name(key), hint })
    }

    pub(super) fn malformed(&self, key: &str, offset: usize, reason: &'static str) -> SettingsError {
        self.source.error(offset, SettingsProblem::Malformed { key: self.qualified_name(key), reason })
    }

    pub(super) fn mistyped(&self, key: &str, value: &Spanned<DeValue<'_>>, expected: &'static str) -> SettingsError {
        let problem =
            SettingsProblem::Type { key: self.qualified_name(key), found: type_name(value.get_ref()), expected };
        self.source.error(value.span().start, problem)
    }

    fn out_of_range(&self, key: &str, value: &Spanned<DeValue<'_>>, expected: String) -> SettingsError {
        let text = match value.get_ref() {
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            _ => String::new(),
        };
        self.source
            .error(value.span().start, SettingsProblem::Range { key: self.qualified_name(key), value: text, expected })
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<SpannedText<'s>>, SettingsError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::String(text) => Ok(Some(SpannedText { text, offset: value.span().start })),
            _ => Err(self.mistyped(key, value, "a string")),
        }
    }

    pub(super) fn boolean(&self, key: &str) -> Result<Option<bool>, SettingsError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Boolean(flag) => Ok(Some(*flag)),
            _ => Err(self.mistyped(key, value, "true or false")),
        }
    }

    /// Returns a number for which `fits` is true; `expected` describes such numbers.
    pub(super) fn number(
        &self,
        key: &str,
        fits: impl Fn(f64) -> bool,
        expected: &str,
    ) -> Result<Option<f64>, SettingsError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match as_number(value.get_ref()) {
            None => Err(self.mistyped(key, value, "a number")),
            Some(number) if fits(number) => Ok(Some(number)),
            Some(_) => Err(self.out_of_range(key, value, expected.to_owned())),
        }
    }

    /// Returns an integer in a range.
    pub(super) fn integer(&self, key: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, SettingsError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let DeValue::Integer(number) = value.get_ref() else {
            return Err(self.mistyped(key, value, "a whole number"));
        };
        match as_integer(number).and_then(|number| u64::try_from(number).ok()).filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                let expected = format!("a whole number from {} to {}", range.start(), range.end());
                Err(self.out_of_range(key, value, expected))
            }
        }
    }

    /// Returns an integer from `least` to `u32::MAX`.
    pub(super) fn integer_from(&self, key: &str, least: u32) -> Result<Option<u32>, SettingsError> {
        let number = self.integer(key, u64::from(least)..=u64::from(u32::MAX))?;
        Ok(number.and_then(|number| u32::try_from(number).ok()))
    }

    /// Returns true if the key exists and its value is a table.
    pub(super) fn has_table(&self, key: &str) -> bool {
        self.value(key).is_some_and(|value| matches!(value.get_ref(), DeValue::Table(_)))
    }

    pub(super) fn table(&self, key: &str) -> Result<Option<TableReader<'s>>, SettingsError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let DeValue::Table(table) = value.get_ref() else {
            return Err(self.mistyped(key, value, "a table"));
        };
        let prefix = format!("{}{}.", self.prefix, printable(key));
        Ok(Some(TableReader { source: self.source, prefix, table, start: value.span().start }))
    }

    /// Returns an error for the first key or value in the file that looks like a secret.
    pub(super) fn reject_secrets(&self) -> Result<(), SettingsError> {
        let mut found = Vec::new();
        for (key, value) in self.entries() {
            if looks_like_secret(key.text) {
                let holder = self.prefix.trim_end_matches('.');
                let holder = if holder.is_empty() { "model" } else { holder };
                found.push((key.offset, holder.to_owned()));
            } else {
                find_secrets(&self.qualified_name(key.text), value, &mut found);
            }
        }
        match found.into_iter().min() {
            None => Ok(()),
            Some((offset, key)) => Err(self.source.error(offset, SettingsProblem::Secret { key })),
        }
    }

    /// Converts the value of a key to JSON.
    pub(super) fn json(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Value, SettingsError> {
        Ok(match value.get_ref() {
            DeValue::String(text) => Value::String(text.clone().into_owned()),
            DeValue::Boolean(flag) => Value::Bool(*flag),
            DeValue::Datetime(time) => Value::String(time.to_string()),
            DeValue::Integer(number) => {
                let number = as_integer(number).and_then(Number::from_i128);
                let expected = || "a number that JSON can hold".to_owned();
                Value::Number(number.ok_or_else(|| self.out_of_range(key, value, expected()))?)
            }
            DeValue::Float(_) => {
                let number = as_number(value.get_ref()).and_then(Number::from_f64);
                Value::Number(number.ok_or_else(|| self.out_of_range(key, value, "a finite number".to_owned()))?)
            }
            DeValue::Array(items) => {
                Value::Array(items.iter().map(|item| self.json(key, item)).collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => {
                let pair = |(name, value): (&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
                    Ok((name.get_ref().clone().into_owned(), self.json(&format!("{key}.{}", name.get_ref()), value)?))
                };
                Value::Object(table.iter().map(pair).collect::<Result<_, SettingsError>>()?)
            }
        })
    }
}

fn find_secrets(key: &str, value: &Spanned<DeValue<'_>>, found: &mut Vec<(usize, String)>) {
    match value.get_ref() {
        DeValue::String(text) if looks_like_secret(text) => found.push((value.span().start, key.to_owned())),
        DeValue::Array(items) => items.iter().for_each(|item| find_secrets(key, item, found)),
        DeValue::Table(table) => {
            for (name, value) in table {
                match looks_like_secret(name.get_ref()) {
                    true => found.push((name.span().start, key.to_owned())),
                    false => find_secrets(&format!("{key}.{}", printable(name.get_ref())), value, found),
                }
            }
        }
        _ => {}
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
