//! Conversion of a raw file to a validated scenario, with all checks beyond the file's shape. Sections are read
//! independently, so that all problems are reported at once.

mod claims;
mod conditions;
mod expect;
mod expressions;
mod handlers;
mod script;
mod server;
mod tools;
mod world;

pub(crate) use claims::MAX_CLAIMED;
pub(crate) use expect::EXPECTATIONS;
use healbench_core::{FormerScenario, canonical_json};
use healbench_engine::contract::ContractAwareness;
use healbench_engine::definition::{Clock, WorldDef};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Diagnostic;
use crate::diagnostic::MAX_PROBLEMS;
use crate::file::{SelfHealingFile, TaskFile};
use crate::locate::{Document, child};
use crate::scenario::{Scenario, Task};
use crate::schedule::WorldSummaryCache;
use crate::server::Server;
use crate::source::Source;
use crate::suggest;

/// The state of the conversion of one file.
pub(crate) struct Compiler<'a> {
    document: &'a Document<'a>,
    /// The content without unknown keys, which are already reported and would hide other problems in the same mapping.
    content: Value,
    /// True if the file has the shape of a scenario.
    is_shaped: bool,
    /// True for the scenario of a run, which was valid when it was stored.
    is_stored: bool,
    diagnostics: Vec<Diagnostic>,
}

/// What a run stores of a scenario beside its text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored<'a> {
    /// The text of the tools of a server, which are then not read from their file.
    pub(crate) tools: Option<&'a str>,
}

/// Converts a file to a scenario, or the text of a run.
///
/// # Errors
/// Returns all problems beyond the file's shape. The list is empty if only the shape is wrong.
pub(crate) fn compile(
    document: &Document<'_>,
    unknown: &[String],
    is_shaped: bool,
    stored: Option<Stored<'_>>,
    source: Source,
) -> Result<Scenario, Vec<Diagnostic>> {
    let mut content = document.value.clone();
    for pointer in unknown {
        remove(&mut content, pointer);
    }
    let mut compiler = Compiler { document, content, is_shaped, is_stored: stored.is_some(), diagnostics: Vec::new() };
    let scenario = compile_sections(&mut compiler, stored.and_then(|stored| stored.tools), source);
    match scenario {
        Some(scenario) if compiler.diagnostics.is_empty() => Ok(scenario),
        _ => Err(compiler.diagnostics),
    }
}

fn compile_sections(compiler: &mut Compiler<'_>, stored_tools: Option<&str>, mut source: Source) -> Option<Scenario> {
    let given = ["tools", "server"].map(|key| (key, compiler.content.get(key).is_some()));
    let environment = if compiler.content.is_object() { compiler.exactly_one("", &given) } else { None };
    let server = match environment {
        Some("server") => Some(server::compile(compiler, stored_tools)),
        _ => None,
    };
    let (server, server_tools) = match server {
        None => (None, None),
        // Without its tools nothing else can be checked.
        Some(None) => return None,
        Some(Some((server, tools))) => {
            source.sha256 = Source::hash(&source.text, Some(&server.tools_text));
            (Some(server), Some(tools))
        }
    };
    let on_server = server.is_some();
    let task: Option<TaskFile> = compiler.section("/task");
    let (id, renamed_from) = ids(compiler, &source, server.as_ref());
    let cluster = if compiler.content.get("cluster").is_some() { compiler.id("cluster") } else { id.clone() };
    let world = world::compile(compiler);
    let clock: Clock = compiler.section("/clock").unwrap_or_default();
    let tools = match server_tools {
        Some(tools) => tools,
        None => tools::compile(compiler, &world, clock),
    };
    let faults = expect::faults(compiler, &tools, &world);
    let expect = expect::expectations(compiler, &world, &tools, on_server);
    let claims = claims::compile(compiler);
    let declared_world = WorldDef {
        tables: world.valid().map(|plan| plan.def.clone()).collect(),
        role: world.role.clone(),
        ..WorldDef::default()
    };
    let steps = script::compile(compiler, &tools, &declared_world, on_server);
    let steps = match steps {
        Some(steps) if compiler.diagnostics.is_empty() => script::check_combinations(compiler, steps, &declared_world),
        _ => None,
    };
    let text = |compiler: &Compiler<'_>, key: &str| compiler.content[key].as_str().unwrap_or_default().to_owned();
    let task = task?;
    let faults = faults?;
    Some(Scenario {
        id: id?,
        title: text(compiler, "title"),
        description: text(compiler, "description").trim().to_owned(),
        cluster: cluster?,
        renamed_from,
        tags: compiler.section("/tags").unwrap_or_default(),
        task: Task { prompt: task.prompt.trim().to_owned(), max_calls: task.max_calls },
        tools: tools.into_checked()?,
        server,
        expect: expect?,
        claims: claims?,
        awareness: awareness(compiler.section("/self_healing")),
        source,
        role: world.role.clone(),
        canonical_faults: canonical_json(&expect::faults_json(&faults)),
        faults,
        clock,
        is_fixed: world.is_fixed,
        key_tables: world.tables.iter().map(|(name, _)| name.clone()).collect(),
        tables: world.into_checked()?,
        steps: steps?,
        answer: compiler.section("/answer"),
        summary_cache: WorldSummaryCache::default(),
    })
}

/// Returns the id, and the scenario before it got this id.
fn ids(
    compiler: &mut Compiler<'_>,
    source: &Source,
    server: Option<&Server>,
) -> (Option<String>, Option<FormerScenario>) {
    let id = compiler.id("id");
    if compiler.content.get("renamed_from").is_none() {
        return (id, None);
    }
    let former = compiler.id("renamed_from");
    if former.is_some() && former == id {
        compiler.at_value("/renamed_from", "this is the id that the scenario has", None);
    }
    let text = former.as_ref().and_then(|former| source.document()?.before_rename(former));
    let sha256 = text.map(|text| Source::hash(&text, server.map(|server| &*server.tools_text)));
    // Without the text of before, results in baselines are those of another text; the draws stay.
    (id, former.map(|id| FormerScenario { id, sha256: sha256.unwrap_or_default() }))
}

fn awareness(file: Option<SelfHealingFile>) -> ContractAwareness {
    let mut awareness = ContractAwareness::default();
    if let Some(file) = file {
        awareness.include_all_severities = file.include_all_severities;
        awareness.max_deltas_per_error = file.max_deltas_per_error.map_or(awareness.max_deltas_per_error, usize::from);
    }
    awareness
}

impl Compiler<'_> {
    /// Reports a problem with the value behind `pointer`.
    fn at_value(&mut self, pointer: &str, message: impl Into<String>, help: impl Into<Option<String>>) {
        if self.diagnostics.len() < MAX_PROBLEMS {
            self.diagnostics.push(self.document.at_value(pointer, message, help.into()));
        }
    }

    /// Reports a problem with the key of the entry behind `pointer`.
    fn at_key(&mut self, pointer: &str, message: impl Into<String>, help: impl Into<Option<String>>) {
        if self.diagnostics.len() < MAX_PROBLEMS {
            self.diagnostics.push(self.document.at_key(pointer, message, help.into()));
        }
    }

    /// Reports an unknown name and suggests similar ones.
    fn report_unknown<'n>(&mut self, pointer: &str, what: &str, name: &str, known: impl IntoIterator<Item = &'n str>) {
        self.at_value(pointer, format!("unknown {what} `{name}`"), suggest::help(name, known));
    }

    /// Deserializes the section behind `pointer`. Returns `None` if it is missing or has the wrong shape, which is
    /// reported elsewhere.
    fn section<T: DeserializeOwned>(&mut self, pointer: &str) -> Option<T> {
        let value = self.content.pointer(pointer)?;
        match T::deserialize(value) {
            Ok(section) => Some(section),
            Err(error) => {
                // The schema is derived from the raw types. Should they ever differ, the problem must still be
                // reported.
                if self.is_shaped {
                    self.at_value(pointer, error.to_string(), None);
                }
                None
            }
        }
    }

    /// Deserializes a part of the file whose shape the JSON Schema does not describe, and reports what is wrong with it.
    fn part<T: DeserializeOwned>(&mut self, pointer: &str) -> Option<T> {
        let value = self.content.pointer(pointer)?;
        let part = T::deserialize(value);
        if let Err(error) = &part {
            self.at_value(pointer, error.to_string(), None);
        }
        part.ok()
    }

    /// Returns the keys of the mapping behind `pointer`, in the order of the file.
    fn keys(&self, pointer: &str) -> Vec<String> {
        let map = self.content.pointer(pointer).and_then(Value::as_object);
        map.into_iter().flat_map(|map| map.keys().cloned()).collect()
    }

    /// Returns the pointers of the items of the list behind `pointer`.
    fn items(&self, pointer: &str) -> Vec<String> {
        let count = self.content.pointer(pointer).and_then(Value::as_array).map_or(0, Vec::len);
        (0..count).map(|index| child(pointer, index)).collect()
    }

    /// Returns the only given key of several. Reports a problem if there is none or more than one.
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

    /// Returns the id behind a key: words of letters, digits, `-`, `_` and `.`, joined by `/`.
    fn id(&mut self, key: &str) -> Option<String> {
        let id = self.content[key].as_str()?.to_owned();
        let word =
            |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if !id.split('/').all(word) {
            let help = "an id is words of letters, digits, `-`, `_` and `.`, joined by `/`: `billing/new-currency`";
            self.at_value(&child("", key), format!("`{id}` cannot be an id"), help.to_owned());
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

/// Formats a value as JSON for a message, truncated to 60 characters.
fn short_json(value: &Value) -> String {
    let text = json!(value).to_string();
    match text.char_indices().nth(60) {
        Some((byte, _)) => format!("{}…", &text[..byte]),
        None => text,
    }
}
