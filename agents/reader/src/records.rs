//! Searches responses for the records that contain needed values.
//!
//! All values that a script needs are known from the start, so each text is searched once for all of them and not kept.
//! A text that cannot contain a matching record is not parsed.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use healbench_core::{Object, RecordQuery, Script, ToolCall, same_json};
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::ScriptedStart;
use super::lookup::discriminator;
use super::text_cache::TextCache;

thread_local! {
    /// The values found in long texts. The key consists of the queries and the text.
    static RECORD_CACHE: RefCell<TextCache<Rc<[Option<Value>]>>> = RefCell::default();
}

/// Shorter texts are not cached, because reading them is faster than a cache lookup.
const MIN_CACHED_TEXT_BYTES: usize = 1 << 14;

/// The values found so far for each `find` of a script.
pub(super) struct FoundValues<'a> {
    fields: Vec<SearchField<'a>>,
    /// The columns used by any of the queries, sorted.
    columns: Vec<&'a str>,
}

struct SearchField<'a> {
    step: usize,
    argument: &'a str,
    query: &'a RecordQuery,
    value: Option<Value>,
    /// True if the current text contained a value. Within a text, the first matching record counts; a later text
    /// replaces the value.
    found_in_text: bool,
}

/// The maximum number of attempts to parse JSON in one text.
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

    /// Returns the value found for an argument of a step.
    pub(super) fn get(&self, step: usize, argument: &str) -> Option<&Value> {
        self.fields.iter().find(|field| field.step == step && field.argument == argument)?.value.as_ref()
    }

    /// Returns true if a value that `step` or a later step needs has not been found.
    pub(super) fn is_incomplete_from(&self, step: usize) -> bool {
        self.fields.iter().any(|field| field.step >= step && field.value.is_none())
    }

    /// Searches the records of a text if `step` or a later step needs a value.
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

    /// Returns everything besides the text that the result depends on.
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
            // Records before a truncation or a syntax error have been read, so the error can be ignored.
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

/// Returns the length of the JSON value at the start of `text`.
fn value_length(text: &str) -> usize {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let _ = values.next();
    values.byte_offset().max(1)
}

/// Returns false if the text cannot contain a matching record. Searching for plain text is far cheaper than parsing.
fn may_contain_record(text: &str, query: &RecordQuery) -> bool {
    // Other characters may be escaped in JSON.
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
                        // Records nested in a cell are records too. Deserializing from a `Value` cannot fail here.
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

/// Reads a key as the index of its column; `None` if no query uses the column.
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

/// Returns true if a record in the text has the values of all arguments of the call, so that the call has taken effect. An argument counts
/// under its own name or, if the record has no such column, under any. A call with one argument may only name the record.
pub(super) fn shows_call(text: &str, call: &ToolCall, start: &ScriptedStart<'_>) -> bool {
    let discriminator = discriminator(start, &call.tool);
    let Some(sent) = call.object() else { return false };
    let Some(at) = text.find(['{', '[']) else { return false };
    let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
    let Some(Ok(shown)) = values.next() else { return false };
    let records = match &shown {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let has = |record: &Object, name: &String, sent: &Value| match record.get(name) {
        Some(cell) => same_json(cell, sent),
        None => record.values().any(|cell| same_json(cell, sent)),
    };
    let sent: Vec<_> = sent.iter().filter(|(name, _)| discriminator != Some(name.as_str())).collect();
    let shows = |record: &Object| sent.iter().all(|(name, value)| has(record, name, value));
    sent.len() > 1 && records.iter().filter_map(Value::as_object).any(shows)
}

/// Returns the prose of a text of a success: what follows its records, all if it has none. Clients join the blocks of a response, so both may
/// stand in one text. It is searched from the end, because parsing long records again is expensive.
pub(super) fn prose_of(text: &str) -> &str {
    let Some(inner) = text.trim_start().strip_prefix(['[', '{']) else { return text };
    if inner.trim_start().starts_with(['{', '"', '[']) {
        let is_record_line = |line: &str| line.trim_start().starts_with(['{', '}', '[', ']', '"']);
        let mut end = text.len();
        for line in text.rsplit('\n') {
            if is_record_line(line) {
                return text.get(end..).unwrap_or_default();
            }
            end = end.saturating_sub(line.len() + 1);
        }
    }
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => "",
        Err(_) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::prose_of;

    #[test]
    fn prose_follows_the_records_of_a_text() {
        let records = format!("[\n{}]", "{\"id\":\"a\"},\n".repeat(1000));
        let advice = "\n\nShowing 1000 of 3000.\nUse filters:\n  \u{2022} town";
        for records in ["[]", "[{\"id\":1}]", "{\n  \"id\": 1\n}", &records] {
            assert_eq!(prose_of(records), "", "{records}");
        }
        for records in ["[{\"id\":1}]", "{\n  \"id\": 1\n}", &records] {
            assert_eq!(prose_of(&format!("{records}{advice}")), advice, "{records}");
        }
        // A client cuts a text anywhere.
        let cut = &records[..records.len() - 10];
        assert_eq!(prose_of(&format!("{cut}\n...10 bytes truncated...")), "\n...10 bytes truncated...");
        for text in ["", "Done.", "[omitted 1 text items ...]", "Wall time: 0 seconds\n[{\"id\":1}]"] {
            assert_eq!(prose_of(text), text);
        }
    }
}
