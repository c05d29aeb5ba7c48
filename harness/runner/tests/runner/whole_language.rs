//! Properties of random scenarios that use every word of the language: they are loaded, explained, played and replayed alike, whatever the
//! threads, the cache, the shards and the interruptions.

mod generator;
mod script;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use healbench_core::{Draws, Episodes, Shards, ToolCall};
use healbench_engine::definition::OPERATORS;
use healbench_reader::{Profile, ScriptedAgent, shipped_profile};
use healbench_runner::{Answered, ScenarioContext};
use healbench_scenarios::{Syntax, load_stored, load_variants, schema_json};
use serde_json::{Value, json};

use self::generator::Generator;
use super::checkpoints::MixedRun;
use super::memory_server::agent_factory;
use super::*;

/// The files that are generated; `HEALBENCH_GENERATED_SCENARIOS` asks for more.
const FILES: u64 = 110;
const CONDITIONS: [&str; 2] = ["sdk-typescript", "fusion"];
/// The simulated readers; another agent makes calls in a drawn order.
const READERS: [&str; 1] = ["perfect"];

/// The number of times that each word occurs, by its section and the word.
#[derive(Default)]
struct Words(BTreeMap<(String, String), usize>);

impl Words {
    fn note(&mut self, section: &str, word: &str) {
        *self.0.entry((section.to_owned(), word.to_owned())).or_default() += 1;
    }

    /// Notes the keys and options of a value, as its schema names them, and the words of computed columns and conditions.
    fn note_all(&mut self, schema: &Value, root: &Value, value: &Value, section: &str) {
        let definition = schema["$ref"].as_str().or(schema["anyOf"][0]["$ref"].as_str());
        if let Some(name) = definition.and_then(|text| text.strip_prefix("#/$defs/")) {
            return self.note_all(&root["$defs"][name], root, value, name);
        }
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    let known = schema["properties"].get(key);
                    if known.is_some() {
                        self.note(section, key);
                    }
                    match key.as_str() {
                        "when" | "set" | "where" if schema["properties"].get(key).is_some() => {
                            self.note_free(key, value)
                        }
                        _ => {}
                    }
                    let inner = known.unwrap_or(&schema["additionalProperties"]);
                    self.note_all(inner, root, value, &format!("{section}.{key}"));
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.note_all(&schema["items"], root, item, section)),
            Value::String(text) => {
                let kinds = if schema["properties"]["kind"].is_object() {
                    &schema["properties"]["kind"]["enum"]
                } else {
                    &schema["enum"]
                };
                if kinds.as_array().is_some_and(|kinds| kinds.contains(value)) {
                    let section = if schema["properties"]["kind"].is_object() {
                        format!("{section}.kind")
                    } else {
                        section.to_owned()
                    };
                    self.note(&section, text);
                }
            }
            _ => {}
        }
    }

    /// Notes all keys of a part that no schema describes.
    fn note_free(&mut self, section: &str, value: &Value) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    self.note(section, key);
                    self.note_free(section, value);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.note_free(section, item)),
            _ => {}
        }
    }

    /// Returns the words of the schema that have not occurred, but for those of servers.
    fn unused(&self, root: &Value) -> Vec<String> {
        const OF_SERVERS: [&str; 5] = ["server", "result", "command", "ServerFile", "ResultFile"];
        let mut all: Vec<(String, String)> = Vec::new();
        let sections = root["$defs"].as_object().unwrap().iter().map(|(name, schema)| (name.as_str(), schema));
        for (section, schema) in sections.chain([("", root)]).filter(|(name, _)| !OF_SERVERS.contains(name)) {
            let mut note = |section: &str, options: &Value| {
                all.extend(
                    options
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(|one| Some((section.to_owned(), one.as_str()?.to_owned()))),
                );
            };
            note(section, &schema["enum"]);
            for (key, property) in schema["properties"].as_object().into_iter().flatten() {
                note(section, &json!([key]));
                note(&format!("{section}.{key}"), &property["enum"]);
            }
        }
        let computed =
            ["row", "sent", "now", "add", "subtract", "sum", "count", "after", "token", "value", "calls", "seconds"];
        all.extend(computed.map(|word| ("set".to_owned(), word.to_owned())));
        let compared = ["row", "rows", "now", "sent", "in", "where", "count", "calls", "seconds"];
        all.extend(
            compared
                .into_iter()
                .chain(OPERATORS.map(|(name, ..)| name))
                .map(|word| ("when".to_owned(), word.to_owned())),
        );
        let is_of_server = |word: &str| OF_SERVERS.contains(&word);
        all.retain(|word| !self.0.contains_key(word) && !is_of_server(&word.1));
        all.into_iter().map(|(section, word)| format!("{section} {word}")).collect()
    }
}

/// The scenarios of all files that the loader accepts, and the words of these files.
struct Generated {
    scenarios: Vec<Scenario>,
    words: Words,
    refused: Vec<String>,
}

static GENERATED: LazyLock<Generated> = LazyLock::new(|| {
    let asked = std::env::var("HEALBENCH_GENERATED_SCENARIOS").ok().map(|number| number.parse().unwrap());
    let schema: Value = serde_json::from_str(&schema_json()).unwrap();
    let mut generated = Generated { scenarios: Vec::new(), words: Words::default(), refused: Vec::new() };
    for number in 0..asked.unwrap_or(FILES) {
        let file = Generator::new(number).scenario(number);
        match load_variants("generated.json", &file.to_string(), Syntax::Json) {
            Ok(scenarios) => {
                generated.scenarios.extend(scenarios);
                generated.words.note_all(&schema, &schema, &file, "");
            }
            Err(problems) => generated.refused.push(format!("{number}: {}", problems[0].message)),
        }
    }
    generated
});

fn plan_of(scenarios: &[Scenario]) -> Plan {
    let agent = |name: &str| match shipped_profile(name) {
        Ok(profile) => profile.spec(name),
        Err(_) => AgentSpec {
            kind: AgentKind::Scripted,
            name: name.to_owned(),
            opening: None,
            tools: None,
            settings: Value::Null,
        },
    };
    let entry = |name: &str| healbench_core::CONDITIONS.iter().find(|entry| entry.name == name).unwrap();
    let axes = Axes {
        agents: READERS.into_iter().chain(["restless"]).map(agent).collect(),
        conditions: CONDITIONS.map(|name| Condition::of(entry(name))).to_vec(),
        trials: 2,
        seed: Seed(5),
    };
    build_plan(&axes, scenarios)
}

/// Makes calls of the script and waits, in an order that is drawn: several in a turn, drafts, calls that were made before.
struct Restless<'s> {
    script: &'s Script,
    draws: Draws,
    /// True if time passes between the turns. An answer does not come from the cache after that.
    waits: bool,
    turns: u32,
}

impl Agent for Restless<'_> {
    fn next_turn(&mut self, _: &[&ToolResponse]) -> Result<Turn, AgentError> {
        self.turns += 1;
        let answer = || self.script.answer.clone().unwrap_or_default();
        if self.turns > 8 {
            return Ok(if self.draws.chance(0.2) {
                Turn::GiveUp { reason: answer() }
            } else {
                Turn::Done { answer: answer() }
            });
        }
        let mut call = || {
            let step = self.draws.pick(&self.script.steps).unwrap();
            match self.draws.below(8) {
                0 => ToolCall::new("wait", json!({"seconds": 25})),
                1..4 => step.draft.clone(),
                4 => step.intended_calls().last().unwrap().clone(),
                _ => step.intended.clone(),
            }
        };
        let mut calls = vec![call(), call()];
        calls.truncate(1 + self.draws.below(2) as usize);
        Ok(Turn::Calls { calls, waited_s: u32::from(self.waits) * self.draws.below(3) as u32 * 9, text: String::new() })
    }
}

fn with_agents<T>(then: impl FnOnce(&AgentFactory<'_>) -> T) -> T {
    let profiles: Vec<Profile> = READERS.map(|name| shipped_profile(name).unwrap()).into();
    then(&agent_factory(move |index, start, script| match profiles.get(index) {
        Some(profile) => Box::new(ScriptedAgent::new(profile, start, script.unwrap())),
        None => {
            let mut draws = start.draws.draws("restless", 0);
            let waits = draws.chance(0.3);
            Box::new(Restless { script: script.unwrap(), draws, waits, turns: 0 })
        }
    }))
}

#[test]
fn every_word_is_generated() {
    let schema: Value = serde_json::from_str(&schema_json()).unwrap();
    let Generated { scenarios, words, refused } = &*GENERATED;
    assert_eq!(words.unused(&schema), [""; 0], "never in a file that is valid");
    assert!(refused.is_empty() && scenarios.len() as u64 > FILES, "{refused:#?}");
    // The words that a part of a file may have are common enough to occur together.
    let rare: Vec<_> = words.0.iter().filter(|(_, count)| **count < 2).collect();
    assert!(rare.len() < words.0.len() / 20, "{rare:?}");
}

/// The threads, the cache, the shards and an interruption change no row.
#[test]
fn rows_are_equal_however_they_are_computed() {
    let scenarios = &GENERATED.scenarios;
    let plan = plan_of(scenarios);
    with_agents(|make_agent| {
        let one = run_from(&plan, scenarios, 1, 0, make_agent).unwrap();
        assert!(run_from(&plan, scenarios, 8, 0, make_agent).unwrap() == one, "8 threads");
        let alone = run_without_cache(&plan, scenarios, make_agent);
        let id = |episode: u64| &scenarios[plan.cell(episode).unwrap().scenario].id;
        for (cached, alone) in one.calls.iter().zip(&alone.calls) {
            assert_eq!(cached, alone, "{}", id(cached.episode));
        }
        assert!(alone == one, "the cache");

        let mut sharded = Records::default();
        for number in 1..=3 {
            let shards = Shards::new(vec![number], 3).unwrap();
            let pools = [WorkerPool::of_all_agents(&plan, 2)];
            let episodes = Episodes::of(&plan, Some(&shards));
            let job = Job { plan: &plan, scenarios, episodes, pools: &pools, make_agent, make_environment: None };
            let records = run_job(&job).unwrap().0;
            sharded.episodes.extend(records.episodes);
            sharded.calls.extend(records.calls);
        }
        sharded.episodes.sort_by_key(|row| row.episode);
        sharded.calls.sort_by_key(|row| (row.episode, row.call));
        assert!(sharded == one, "shards");

        let pools = vec![WorkerPool::of_all_agents(&plan, 3)];
        let run = MixedRun::new(plan.clone(), scenarios.clone(), pools);
        let (stop, started) = (AtomicBool::new(false), std::sync::atomic::AtomicU64::new(0));
        let stops = agent_factory(|index, start, script| {
            stop.store(started.fetch_add(1, Ordering::SeqCst) > plan.len() / 2, Ordering::SeqCst);
            make_agent(index, start, script)
        });
        let (end, first, _) = run.run(&stop, &stops);
        assert!(end.stopped.is_some() && (first.len() as u64) < plan.len(), "{end:?}");
        let (end, all, finished) = run.run(&AtomicBool::new(false), make_agent);
        assert!(end.stopped.is_none() && (finished as u64) < plan.len(), "{finished}");
        assert!(all.iter().map(|result| &result.episode).eq(&one.episodes), "resumed");
        assert!(all.iter().flat_map(|result| &result.calls).eq(&one.calls), "resumed");

        // What a scenario can do is done.
        let succeeded = one.episodes.iter().filter(|row| row.outcome == Outcome::Success).count() as u64;
        assert!((plan.len() / 10..plan.len() * 9 / 10).contains(&succeeded), "{succeeded} of {}", plan.len());
        let faults: BTreeSet<_> = one.calls.iter().filter_map(|row| row.fault).map(|fault| fault.name()).collect();
        assert_eq!(faults.len(), healbench_core::FAULTS.len(), "{faults:?}");
    });
}

/// A scenario that was stored by a run is the one that was loaded, and what is explained of it is what an agent is shown.
#[test]
fn a_scenario_is_loaded_and_explained_as_it_is_played() {
    let scenarios = &GENERATED.scenarios;
    let plan = plan_of(scenarios);
    let stored: Vec<Scenario> = scenarios
        .iter()
        .map(|scenario| {
            let stored = load_stored("stored.json", &scenario.source.text, Syntax::Json, None).unwrap();
            for trial in 0..4 {
                let schedule = |of: &Scenario| of.schedule(Seed(5), trial, &of.world(Seed(5), 0));
                assert_eq!(schedule(scenario), schedule(&stored), "{}", scenario.id);
            }
            // A finding is about what is played, and never a panic.
            assert_eq!(scenario.findings().problems.len(), stored.findings().problems.len(), "{}", scenario.id);
            stored
        })
        .collect();
    with_agents(|make_agent| {
        let rows = |scenarios: &[Scenario]| run_from(&plan, scenarios, 2, 0, make_agent).unwrap();
        assert!(rows(scenarios) == rows(&stored), "a stored scenario is another one");
    });

    let mut solved = 0;
    for (index, scenario) in scenarios.iter().enumerate() {
        let context = ScenarioContext::new(scenario, &plan, None).unwrap();
        for condition in 0..plan.conditions.len() {
            let explained = context.explain(condition, 2).unwrap();
            let answers: Vec<&Answered> = explained.steps.iter().flat_map(|step| &step.answers).collect();
            let made: Vec<(ToolCall, u32)> = answers.iter().map(|one| (one.call.clone(), one.waited_s)).collect();
            let gives_up = scenario.expects_stop();
            let make_agent = agent_factory(move |_, _, script| {
                let answer = script.unwrap().answer.clone().unwrap_or_default();
                Box::new(Repeats { calls: made.clone().into_iter(), answer, gives_up })
            });
            let job = Job {
                plan: &plan,
                scenarios,
                episodes: (0..plan.len()).into(),
                pools: &[],
                make_agent: &make_agent,
                make_environment: None,
            };
            let episode = (0..plan.len()).find(|episode| {
                let cell = plan.cell(*episode).unwrap();
                (cell.scenario, cell.condition, cell.trial) == (index, condition, 0)
            });
            let (row, calls) = replay(&job, episode.unwrap(), &mut |_| ()).unwrap().unwrap();
            let most = scenario.task.max_calls as usize;
            for (answered, call) in answers.iter().zip(&calls).take(most) {
                assert_eq!(hash(&answered.reply.response), call.response_hash, "{}: {}", scenario.id, call.arguments);
            }
            if answers.len() <= most {
                assert_eq!(
                    explained.unmet.is_empty(),
                    row.outcome == Outcome::Success,
                    "{}: {:?}",
                    scenario.id,
                    explained.unmet
                );
            }
            solved += usize::from(explained.unmet.is_empty());
        }
    }
    assert!(solved > scenarios.len() / 4, "{solved}");
}

/// Makes the calls of an explanation, each after its delay, and ends as the script does.
struct Repeats {
    calls: std::vec::IntoIter<(ToolCall, u32)>,
    answer: String,
    gives_up: bool,
}

impl Agent for Repeats {
    fn next_turn(&mut self, _: &[&ToolResponse]) -> Result<Turn, AgentError> {
        let text = self.answer.clone();
        Ok(match self.calls.next() {
            Some((call, waited_s)) => Turn::Calls { calls: vec![call], waited_s, text: String::new() },
            None if self.gives_up => Turn::GiveUp { reason: text },
            None => Turn::Done { answer: text },
        })
    }
}
