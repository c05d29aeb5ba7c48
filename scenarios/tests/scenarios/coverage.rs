//! Everything that a scenario can say is said in the scenarios of this repository.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::*;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
/// Scenarios of servers, which have expectations of their own.
const OF_SERVERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/servers/suite");

/// The files in which each word of the language occurs, by its section and the word.
#[derive(Default)]
struct Uses(BTreeMap<(&'static str, String), BTreeSet<String>>);

impl Uses {
    fn note_keys(&mut self, section: &'static str, map: &Value, file: &str) {
        for key in map.as_object().into_iter().flatten().map(|(key, _)| key) {
            self.0.entry((section, key.clone())).or_default().insert(file.to_owned());
        }
    }

    fn note_kind(&mut self, section: &'static str, one: &Value, file: &str) {
        let kind = one.as_str().or(one["kind"].as_str()).unwrap();
        self.0.entry((section, kind.to_owned())).or_default().insert(file.to_owned());
    }

    fn note_expectation(&mut self, one: &Value, file: &str) {
        self.note_keys("ExpectFile", one, file);
        for inner in items(&one["any_of"]) {
            self.note_expectation(inner, file);
        }
    }

    /// Notes all words of a scenario. The variants of a file are of that file.
    fn note(&mut self, scenario: &Value, file: &str) {
        let tools = scenario["tools"].as_object().into_iter().flatten();
        for action in tools.flat_map(|(_, tool)| tool["actions"].as_object().unwrap().values()) {
            self.note_keys("HandlerFile", &action["handler"], file);
            for rule in items(&action["rules"]) {
                self.note_keys("RuleFile", rule, file);
            }
        }
        for fault in items(&scenario["faults"]) {
            self.note_kind("FaultFile", fault, file);
        }
        for expectation in items(&scenario["expect"]) {
            self.note_expectation(expectation, file);
        }
        for step in items(&scenario["script"]) {
            for mistake in items(&step["mistakes"]).chain(items(&step["draw"]["from"])) {
                self.note_kind("MistakeFile", mistake, file);
            }
        }
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Handlers, rules, faults, mistakes and expectations each occur in two files, one of which is an example. The words are those of the
/// schema, which is generated from the types.
#[test]
fn each_word_occurs_in_two_files_and_one_is_an_example() {
    let mut uses = Uses::default();
    for scenario in built_in().into_iter().chain(load_suite(&[EXAMPLES.into()]).unwrap()) {
        let content = serde_saphyr::from_str(&scenario.source.text).unwrap();
        uses.note(&content, scenario.source.written().0);
    }
    for entry in std::fs::read_dir(OF_SERVERS).unwrap() {
        let path = entry.unwrap().path();
        uses.note(&serde_saphyr::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap(), path.to_str().unwrap());
    }
    let schema: Value = serde_json::from_str(&healbench_scenarios::schema_json()).unwrap();
    let mut words = 0;
    for section in ["HandlerFile", "RuleFile", "ExpectFile", "FaultFile", "MistakeFile"] {
        let properties = &schema["$defs"][section]["properties"];
        let options = items(&properties["kind"]["enum"]).map(|kind| kind.as_str().unwrap().to_owned());
        let mut names: Vec<String> = options.collect();
        if names.is_empty() {
            names = properties.as_object().unwrap().keys().cloned().collect();
        }
        for name in names {
            words += 1;
            let files = uses.0.get(&(section, name.clone())).cloned().unwrap_or_default();
            let is_shown = files.iter().any(|file| file.starts_with(EXAMPLES) || file.starts_with(OF_SERVERS));
            assert!(files.len() >= 2 && is_shown, "{section} {name}: {files:?}");
        }
    }
    assert!(words > 60, "{words}");
}
