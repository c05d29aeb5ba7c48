//! Values that have to be read from records, and the reading of records.
//!
//! Every value that a script will ever look for is known from the start. So a text is read once, when it arrives, for all of them,
//! and nothing of it is kept; a text that cannot hold a matching record is not parsed.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use healbench_protocol::{RecordQuery, Script, same_json};
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::hint_cache::HintCache;

thread_local! {
    /// The values that a long text has for what is wanted, by the wanted and the text.
    static RECORD_CACHE: RefCell<HintCache<Rc<[Option<Value>]>>> = RefCell::default();
}

/// A text that is shorter is read faster than it is looked up.
const MIN_CACHED_TEXT_BYTES: usize = 1 << 14;

/// What has been found so far for each `find` of a script.
pub(super) struct FoundValues<'a> {
    fields: Vec<SearchField<'a>>,
    /// The columns that any of them asks about, sorted.
    columns: Vec<&'a str>,
}

struct SearchField<'a> {
    step: usize,
    argument: &'a str,
    query: &'a RecordQuery,
    value: Option<Value>,
    /// Whether the text that is being read has given a value: of one text the first matching record counts, of several texts
    /// the last.
    found_in_text: bool,
}

/// A text that holds more unfinished objects than this is not searched through.
const MAX_PARSES: usize = 64;

impl<'a> FoundValues<'a> {
    pub(super) fn new(script: &'a Script) -> FoundValues<'a> {
        let mut fields = Vec::new();
        let mut columns = Vec::new();
        for (step, queries) in script.steps.iter().map(|step| &step.find).enumerate() {
            for (argument, query) in queries {
                columns.push(query.column.as_str());
                columns.extend(query.matching.keys().map(String::as_str));
                fields.push(SearchField { step, argument, query, value: None, found_in_text: false });
            }
        }
        columns.sort_unstable();
        columns.dedup();
        FoundValues { fields, columns }
    }

    /// What was found for an argument of a step.
    pub(super) fn get(&self, step: usize, argument: &str) -> Option<&Value> {
        self.fields.iter().find(|field| field.step == step && field.argument == argument)?.value.as_ref()
    }

    /// Whether something that a step from `step` on needs has not been found.
    pub(super) fn is_incomplete_from(&self, step: usize) -> bool {
        self.fields.iter().any(|field| field.step >= step && field.value.is_none())
    }

    /// Reads the records of a text, if a step from `step` on could use one.
    pub(super) fn read(&mut self, text: &str, step: usize) {
        if !self.fields.iter().any(|field| field.step >= step) {
            return;
        }
        if text.len() < MIN_CACHED_TEXT_BYTES {
            return self.read_uncached(text, step);
        }
        let key = self.cache_key(step);
        let found = RECORD_CACHE.with_borrow_mut(|cache| {
            cache.get_or_insert_with(&key, text, || {
                self.read_uncached(text, step);
                self.fields.iter().map(|field| field.value.clone().filter(|_| field.found_in_text)).collect()
            })
        });
        for (field, found) in self.fields.iter_mut().zip(found.iter()) {
            if let Some(found) = found {
                field.value = Some(found.clone());
            }
        }
    }

    /// All that reading a text at this step depends on besides the text.
    fn cache_key(&self, step: usize) -> Vec<u8> {
        let key: Vec<(bool, &RecordQuery)> =
            self.fields.iter().map(|field| (field.step >= step, field.query)).collect();
        serde_json::to_vec(&key).unwrap_or_default()
    }

    fn read_uncached(&mut self, text: &str, step: usize) {
        for field in &mut self.fields {
            field.found_in_text = false;
        }
        if !self.fields.iter().any(|field| field.step >= step && may_contain_record(text, field.query)) {
            return;
        }
        let mut at = 0;
        for _ in 0..MAX_PARSES {
            let Some(start) = text[at..].find(['{', '[']) else { return };
            at += start;
            let mut json = serde_json::Deserializer::from_str(&text[at..]);
            // Records before a cut or a mistake have been seen, so the error itself does not matter.
            let read = RecordVisitor { found_values: self }.deserialize(&mut json).is_ok();
            if read && json.end().is_ok() {
                return;
            }
            at += if read { value_length(&text[at..]) } else { 1 };
        }
    }

    fn read_record(&mut self, cells: &[Option<Value>]) {
        let columns = &self.columns;
        let cell = |name: &str| cells[columns.binary_search(&name).ok()?].as_ref();
        for field in self.fields.iter_mut().filter(|field| !field.found_in_text) {
            let query = field.query;
            let matches = |(name, value): (&String, &Value)| cell(name).is_some_and(|cell| same_json(cell, value));
            if let Some(value) = cell(&query.column)
                && query.matching.iter().all(matches)
            {
                field.value = Some(value.clone());
                field.found_in_text = true;
            }
        }
    }
}

/// The length of the JSON value at the start of `text`.
fn value_length(text: &str) -> usize {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let _ = values.next();
    values.byte_offset().max(1)
}

/// Whether the text can hold a record that matches: a search for plain text is far cheaper than parsing.
fn may_contain_record(text: &str, query: &RecordQuery) -> bool {
    // JSON may write other characters in several ways.
    let is_unescaped =
        |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" _-.:@#,+".contains(&byte));
    let may_contain = |word: &str| !is_unescaped(word) || text.contains(word);
    let values = query.matching.values().filter_map(Value::as_str);
    may_contain(&query.column) && values.into_iter().all(may_contain)
}

/// Any JSON value; objects in it are records.
struct RecordVisitor<'f, 'a> {
    found_values: &'f mut FoundValues<'a>,
}

impl<'de> DeserializeSeed<'de> for RecordVisitor<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for RecordVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut cells: Vec<Option<Value>> = vec![None; self.found_values.columns.len()];
        let mut any = false;
        while let Some(column) = map.next_key_seed(ColumnVisitor(&self.found_values.columns))? {
            match column {
                Some(column) => {
                    let value: Value = map.next_value()?;
                    if value.is_object() || value.is_array() {
                        // Records inside of a cell are records too. A `Value` never fails to be read.
                        let _ = RecordVisitor { found_values: self.found_values }.deserialize(&value);
                    }
                    cells[column] = Some(value);
                    any = true;
                }
                None => map.next_value_seed(RecordVisitor { found_values: self.found_values })?,
            }
        }
        if any {
            self.found_values.read_record(&cells);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(RecordVisitor { found_values: self.found_values })?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// A key, as the index of a column that somebody asks about.
struct ColumnVisitor<'c>(&'c [&'c str]);

impl<'de> DeserializeSeed<'de> for ColumnVisitor<'_> {
    type Value = Option<usize>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for ColumnVisitor<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Option<usize>, E> {
        Ok(self.0.binary_search(&key).ok())
    }
}

/// Returns true if a block of a success is JSON. Only the beginning of a long block is examined, because parsing it again is expensive.
pub(super) fn is_records(text: &str) -> bool {
    let text = text.trim_start();
    let Some(inner) = text.strip_prefix(['[', '{']) else { return false };
    if text.len() > 4096 {
        return inner.trim_start().starts_with(['{', '"', '[']);
    }
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
