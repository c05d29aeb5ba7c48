//! From the raw file to the validated scenario: everything that a shape cannot say. Each section is read for itself, and
//! every problem is noted before any of them ends the reading.

mod claims;
mod expect;
mod handlers;
mod script;
mod tools;
mod world;

use healbench_engine::definition::WorldDef;
use healbench_protocol::canonical_json;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Diagnostic;
use crate::file::TaskFile;
use crate::locate::{Document, child};
use crate::scenario::{Scenario, Source, Task};
use crate::schedule::FactsMemo;
use crate::suggest;

/// A file being read.
pub(crate) struct Reading<'a> {
    document: &'a Document<'a>,
    /// The content without unknown keys, which are reported already and would hide what else is wrong beside them.
    content: Value,
    /// Whether the file has the shape of a scenario.
    is_shaped: bool,
    found: Vec<Diagnostic>,
}

/// Makes the scenario.
///
/// # Errors
/// All problems beyond the shape; an empty list when the shape alone is in the way.
pub(crate) fn lower(
    document: &Document<'_>,
    unknown: &[String],
    is_shaped: bool,
    source: Source,
) -> Result<Scenario, Vec<Diagnostic>> {
    let mut content = document.value.clone();
    for pointer in unknown {
        remove(&mut content, pointer);
    }
    let mut reading = Reading { document, content, is_shaped, found: Vec::new() };
    let scenario = read(&mut reading, source);
    match scenario {
        Some(scenario) if reading.found.is_empty() => Ok(scenario),
        _ => Err(reading.found),
    }
}

fn read(reading: &mut Reading<'_>, source: Source) -> Option<Scenario> {
    let task: Option<TaskFile> = reading.section("/task");
    let id = reading.id();
    let world = world::read(reading);
    let tools = tools::read(reading, &world);
    let faults = expect::faults(reading, &tools);
    let expect = expect::expectations(reading, &world, &tools);
    let claims = claims::read(reading);
    let written = WorldDef {
        tables: world.known().map(|plan| plan.written.clone()).collect(),
        role: world.role.clone(),
        faults: Vec::new(),
    };
    let steps = script::read(reading, &tools, &written);
    let steps = match steps {
        Some(steps) if reading.found.is_empty() => script::hold_together(reading, steps, &written),
        _ => None,
    };
    let text = |reading: &Reading<'_>, key: &str| reading.content[key].as_str().unwrap_or_default().to_owned();
    let task = task?;
    let faults = faults?;
    Some(Scenario {
        id: id?,
        title: text(reading, "title"),
        description: text(reading, "description").trim().to_owned(),
        tags: reading.section("/tags").unwrap_or_default(),
        task: Task { prompt: task.prompt.trim().to_owned(), max_calls: task.max_calls },
        tools: tools.into_checked()?,
        expect: expect?,
        claims: claims?,
        source,
        role: world.role.clone(),
        canonical_faults: canonical_json(&expect::faults_json(&faults)),
        faults,
        keyed: world.tables.iter().map(|(name, _)| name.clone()).collect(),
        tables: world.into_checked()?,
        steps: steps?,
        facts: FactsMemo::default(),
    })
}

impl Reading<'_> {
    /// Notes a problem with the value behind `pointer`.
    fn at_value(&mut self, pointer: &str, message: impl Into<String>, help: impl Into<Option<String>>) {
        let diagnostic = self.document.at_value(pointer, message, help.into());
        self.found.push(diagnostic);
    }

    /// Notes a problem with the key of the entry behind `pointer`.
    fn at_key(&mut self, pointer: &str, message: impl Into<String>, help: impl Into<Option<String>>) {
        let diagnostic = self.document.at_key(pointer, message, help.into());
        self.found.push(diagnostic);
    }

    /// Notes a name that names nothing, with the nearest that does.
    fn unknown<'n>(&mut self, pointer: &str, what: &str, name: &str, known: impl IntoIterator<Item = &'n str>) {
        self.at_value(pointer, format!("unknown {what} `{name}`"), suggest::hint(name, known));
    }

    /// Reads the section behind `pointer`; `None` when it is not there, or its shape is wrong, which is reported elsewhere.
    fn section<T: DeserializeOwned>(&mut self, pointer: &str) -> Option<T> {
        let value = self.content.pointer(pointer)?;
        match T::deserialize(value) {
            Ok(section) => Some(section),
            Err(error) => {
                // The schema and the raw types are one; should they ever differ, the problem must not vanish.
                if self.is_shaped {
                    self.at_value(pointer, error.to_string(), None);
                }
                None
            }
        }
    }

    /// The keys of the mapping behind `pointer`, in the order of the file.
    fn keys(&self, pointer: &str) -> Vec<String> {
        let map = self.content.pointer(pointer).and_then(Value::as_object);
        map.into_iter().flat_map(|map| map.keys().cloned()).collect()
    }

    /// The pointers of the items of the list behind `pointer`.
    fn items(&self, pointer: &str) -> Vec<String> {
        let count = self.content.pointer(pointer).and_then(Value::as_array).map_or(0, Vec::len);
        (0..count).map(|index| child(pointer, index)).collect()
    }

    /// The one key of several that was given; notes it when there is none, or more than one.
    fn exactly_one<'k>(&mut self, pointer: &str, given: &[(&'k str, bool)]) -> Option<&'k str> {
        let present: Vec<&str> = given.iter().filter(|(_, is_given)| *is_given).map(|(key, _)| *key).collect();
        let names: Vec<&str> = given.iter().map(|(key, _)| *key).collect();
        match present.as_slice() {
            [] => {
                self.at_value(pointer, format!("exactly one of {} is needed", suggest::list(&names)), None);
                None
            }
            [one] => given.iter().map(|(key, _)| *key).find(|key| key == one),
            [_, second, ..] => {
                let message = format!("only one of {} may be given", suggest::list(&present));
                self.at_key(&child(pointer, second), message, None);
                None
            }
        }
    }

    /// The id: words of letters, digits, `-`, `_` and `.`, joined by `/`.
    fn id(&mut self) -> Option<String> {
        let id = self.content["id"].as_str()?.to_owned();
        let word =
            |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if !id.split('/').all(word) {
            let help = "an id is words of letters, digits, `-`, `_` and `.`, joined by `/`: `billing/new-currency`";
            self.at_value("/id", format!("`{id}` cannot be an id"), help.to_owned());
            return None;
        }
        Some(id)
    }
}

fn remove(content: &mut Value, pointer: &str) {
    let Some((parent, token)) = pointer.rsplit_once('/') else { return };
    if let Some(Value::Object(map)) = content.pointer_mut(parent) {
        map.shift_remove(&token.replace("~1", "/").replace("~0", "~"));
    }
}

/// `{"a":1}` for a message, shortened: a message is one line.
fn shown(value: &Value) -> String {
    let text = json!(value).to_string();
    match text.char_indices().nth(60) {
        Some((byte, _)) => format!("{}…", &text[..byte]),
        None => text,
    }
}
