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

use super::memo::Memo;

thread_local! {
    /// The values that a long text has for what is wanted, by the wanted and the text.
    static READ: RefCell<Memo<Rc<[Option<Value>]>>> = RefCell::default();
}

/// A text that is shorter is read faster than it is looked up.
const MIN_REMEMBERED: usize = 1 << 14;

/// What has been found so far for each `find` of a script.
pub(super) struct Findings<'a> {
    wanted: Vec<Wanted<'a>>,
    /// The columns that any of them asks about, sorted.
    columns: Vec<&'a str>,
}

struct Wanted<'a> {
    step: usize,
    argument: &'a str,
    find: &'a RecordQuery,
    value: Option<Value>,
    /// Whether the text that is being read has given a value: of one text the first matching record counts, of several texts
    /// the last.
    fresh: bool,
}

/// A text that holds more unfinished objects than this is not searched through.
const MOST_PARSES: usize = 64;

impl<'a> Findings<'a> {
    pub(super) fn new(script: &'a Script) -> Findings<'a> {
        let mut wanted = Vec::new();
        let mut columns = Vec::new();
        for (step, finds) in script.steps.iter().map(|step| &step.find).enumerate() {
            for (argument, find) in finds {
                columns.push(find.column.as_str());
                columns.extend(find.matching.keys().map(String::as_str));
                wanted.push(Wanted { step, argument, find, value: None, fresh: false });
            }
        }
        columns.sort_unstable();
        columns.dedup();
        Findings { wanted, columns }
    }

    /// What was found for an argument of a step.
    pub(super) fn get(&self, step: usize, argument: &str) -> Option<&Value> {
        self.wanted.iter().find(|wanted| wanted.step == step && wanted.argument == argument)?.value.as_ref()
    }

    /// Whether something that a step from `step` on needs has not been found.
    pub(super) fn lacks_from(&self, step: usize) -> bool {
        self.wanted.iter().any(|wanted| wanted.step >= step && wanted.value.is_none())
    }

    /// Reads the records of a text, if a step from `step` on could use one.
    pub(super) fn read(&mut self, text: &str, step: usize) {
        if !self.wanted.iter().any(|wanted| wanted.step >= step) {
            return;
        }
        if text.len() < MIN_REMEMBERED {
            return self.read_anew(text, step);
        }
        let question = self.question(step);
        let found = READ.with_borrow_mut(|memo| {
            memo.get(&question, text, || {
                self.read_anew(text, step);
                self.wanted.iter().map(|wanted| wanted.value.clone().filter(|_| wanted.fresh)).collect()
            })
        });
        for (wanted, found) in self.wanted.iter_mut().zip(found.iter()) {
            if let Some(found) = found {
                wanted.value = Some(found.clone());
            }
        }
    }

    /// All that reading a text at this step depends on besides the text.
    fn question(&self, step: usize) -> Vec<u8> {
        let wanted: Vec<(bool, &RecordQuery)> =
            self.wanted.iter().map(|wanted| (wanted.step >= step, wanted.find)).collect();
        serde_json::to_vec(&wanted).unwrap_or_default()
    }

    fn read_anew(&mut self, text: &str, step: usize) {
        for wanted in &mut self.wanted {
            wanted.fresh = false;
        }
        if !self.wanted.iter().any(|wanted| wanted.step >= step && may_hold(text, wanted.find)) {
            return;
        }
        let mut at = 0;
        for _ in 0..MOST_PARSES {
            let Some(start) = text[at..].find(['{', '[']) else { return };
            at += start;
            let mut json = serde_json::Deserializer::from_str(&text[at..]);
            // Records before a cut or a mistake have been seen, so the error itself does not matter.
            let read = Rows { findings: self }.deserialize(&mut json).is_ok();
            if read && json.end().is_ok() {
                return;
            }
            at += if read { consumed(&text[at..]) } else { 1 };
        }
    }

    fn row(&mut self, cells: &[Option<Value>]) {
        let columns = &self.columns;
        let cell = |name: &str| cells[columns.binary_search(&name).ok()?].as_ref();
        for wanted in self.wanted.iter_mut().filter(|wanted| !wanted.fresh) {
            let find = wanted.find;
            let matches = |(name, value): (&String, &Value)| cell(name).is_some_and(|cell| same_json(cell, value));
            if let Some(value) = cell(&find.column)
                && find.matching.iter().all(matches)
            {
                wanted.value = Some(value.clone());
                wanted.fresh = true;
            }
        }
    }
}

/// The length of the JSON value at the start of `text`.
fn consumed(text: &str) -> usize {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let _ = values.next();
    values.byte_offset().max(1)
}

/// Whether the text can hold a record that matches: a search for plain text is far cheaper than parsing.
fn may_hold(text: &str, find: &RecordQuery) -> bool {
    // JSON may write other characters in several ways.
    let plain = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" _-.:@#,+".contains(&byte));
    let holds = |word: &str| !plain(word) || text.contains(word);
    let values = find.matching.values().filter_map(Value::as_str);
    holds(&find.column) && values.into_iter().all(holds)
}

/// Any JSON value; objects in it are records.
struct Rows<'f, 'a> {
    findings: &'f mut Findings<'a>,
}

impl<'de> DeserializeSeed<'de> for Rows<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Rows<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut cells: Vec<Option<Value>> = vec![None; self.findings.columns.len()];
        let mut any = false;
        while let Some(column) = map.next_key_seed(Column(&self.findings.columns))? {
            match column {
                Some(column) => {
                    let value: Value = map.next_value()?;
                    if value.is_object() || value.is_array() {
                        // Records inside of a cell are records too. A `Value` never fails to be read.
                        let _ = Rows { findings: self.findings }.deserialize(&value);
                    }
                    cells[column] = Some(value);
                    any = true;
                }
                None => map.next_value_seed(Rows { findings: self.findings })?,
            }
        }
        if any {
            self.findings.row(&cells);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Rows { findings: self.findings })?.is_some() {}
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
struct Column<'c>(&'c [&'c str]);

impl<'de> DeserializeSeed<'de> for Column<'_> {
    type Value = Option<usize>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Column<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Option<usize>, E> {
        Ok(self.0.binary_search(&key).ok())
    }
}
