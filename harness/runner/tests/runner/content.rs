//! The levels of content over all error texts of all suites: each format states what a level holds, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use healbench_core::{CONTENTS, Content, ErrorFormat, Guardrails, Seed, Step, ToolCall};
use healbench_engine::definition::Action;
use healbench_engine::{Engine, Expected, Failure, GuardedReply, IssueKind, Routing, ToolSchemas, World, WorldBase};
use healbench_scenarios::{FAMILIES, Scenario, built_in_suites, load_suite};
use healbench_tokens::count_tokens;
use serde_json::Value;

/// The scenarios whose words can be told from those of formats. The families have schemas as public servers do, with names such as
/// `required`, and ids that are the first which their patterns allow.
fn suites() -> Vec<Scenario> {
    let names = built_in_suites().into_iter().filter(|name| !FAMILIES.contains(name) && *name != "silent");
    names.flat_map(|name| load_suite(&[PathBuf::from(name)]).unwrap()).collect()
}

fn world(scenario: &Scenario) -> World {
    World::new(Arc::new(WorldBase::new(scenario.world(Seed(1), 0))))
}

fn template() -> ErrorFormat {
    let file = "scenarios/templates/teaching.jinja";
    let text = std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)).unwrap();
    ErrorFormat::Template(healbench_core::TemplateSource { file: file.to_owned(), text })
}

fn formats() -> Vec<ErrorFormat> {
    ErrorFormat::named().map(|entry| entry.format.clone()).chain([template()]).collect()
}

fn engine(scenario: &Scenario, format: &ErrorFormat, content: Content) -> Engine {
    let engine = Engine::with_schemas(
        &scenario.tools,
        &ToolSchemas::compile(&scenario.tools).unwrap(),
        Guardrails::ALL,
        format,
        &scenario.awareness,
    )
    .unwrap();
    engine.with_content(content, count_tokens)
}

/// The failed first drafts of a scenario in three trials, each with its step.
fn drafts(scenario: &Scenario) -> Vec<(Step, ToolCall)> {
    let world = scenario.world(Seed(1), 0);
    let mut drafts = BTreeMap::new();
    for trial in 0..2 {
        for step in scenario.schedule(Seed(1), trial, &world).script.steps {
            drafts.entry(step.draft.wire_text()).or_insert_with(|| (step.clone(), step.draft.clone()));
        }
    }
    drafts.into_values().collect()
}

/// Calls `check` with the failure and the replies of some levels to each failed draft, in each format.
fn for_each_failure(
    formats: &[ErrorFormat],
    levels: &[Content],
    mut check: impl FnMut(&Scenario, &Step, &ErrorFormat, &Failure, &BTreeMap<&str, GuardedReply>),
) {
    for scenario in suites() {
        let base = Arc::new(WorldBase::new(scenario.world(Seed(1), 0)));
        let drafts = drafts(&scenario);
        for format in formats {
            let engines: Vec<(&str, Engine)> =
                levels.iter().map(|level| (level.name(), engine(&scenario, format, *level))).collect();
            for (step, call) in &drafts {
                let reply = |engine: &Engine| engine.call(&mut World::new(Arc::clone(&base)), call);
                let replies: BTreeMap<&str, GuardedReply> =
                    engines.iter().map(|(name, engine)| (*name, reply(engine))).collect();
                let first = &replies[levels[0].name()];
                if let Some(failure) = first.failure.as_ref().filter(|_| first.response.is_error) {
                    check(&scenario, step, format, failure, &replies);
                }
            }
        }
    }
}

fn text(replies: &BTreeMap<&str, GuardedReply>, level: &str) -> String {
    replies[level].response.text().into_owned()
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && !"_-".contains(c)).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The words of a schema: keywords, names and values.
fn schema_words(schema: &Value) -> BTreeSet<String> {
    words(&schema.to_string())
}

fn action<'s>(scenario: &'s Scenario, failure: &Failure) -> Option<&'s Action> {
    let Failure::Validation { tool, action, .. } = failure else { return None };
    scenario.tools.iter().find(|known| known.name == *tool)?.actions.iter().find(|known| known.name == *action)
}

/// What the schema requires of the invalid fields: the words that `expected` adds to `diagnosis`.
fn required_words(failure: &Failure) -> BTreeSet<String> {
    let Failure::Validation { issues, .. } = failure else { return BTreeSet::new() };
    let mut required = BTreeSet::new();
    for issue in issues {
        match &issue.kind {
            IssueKind::Missing { expected } | IssueKind::WrongType { expected } => match expected {
                Expected::Types(types) => required.extend(types.iter().cloned()),
                Expected::Options(options) => {
                    required.extend(options.iter().flat_map(|option| words(&option.to_string())))
                }
                Expected::Any => {}
            },
            IssueKind::NotAnOption { options } => {
                required.extend(options.iter().flat_map(|option| words(&option.to_string())));
            }
            IssueKind::OutOfBounds { limit, .. } | IssueKind::NotAMultiple { of: limit } => {
                required.extend(words(&limit.to_string()));
            }
            IssueKind::BadFormat { format } => required.extend(words(format)),
            _ => {}
        }
    }
    required
}

#[test]
fn each_format_states_what_a_level_holds_and_nothing_else() {
    let mut levels = 0;
    let shown = [Content::Diagnosis, Content::Expected, Content::NextStep, Content::Example];
    for_each_failure(&formats(), &shown, |scenario, step, format, failure, replies| {
        let diagnosis = text(replies, "diagnosis");
        let about = format!("{} {format}: {failure:?}\n{diagnosis}", scenario.id);
        // Words that stand there for another reason: of the call, of the format's own syntax, and numbers of a list.
        let call = words(&format!("{} {:?} received validation_error", step.draft.wire_text(), failure.fields()));
        let required = required_words(failure);
        let is_number = |word: &String| word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_digit());
        let leaked: Vec<&String> = required
            .iter()
            .filter(|word| {
                !call.contains(*word) && !is_number(word) && word.len() > 2 && words(&diagnosis).contains(*word)
            })
            .collect();
        assert!(leaked.is_empty(), "{leaked:?} in {about}");
        if let Failure::Validation { issues, .. } = failure {
            for issue in issues {
                let fields = match &issue.kind {
                    IssueKind::Undeclared { fields } => fields.clone(),
                    _ => vec![issue.path.rsplit('.').next().unwrap().to_owned()],
                };
                assert!(fields.iter().all(|field| diagnosis.contains(field.as_str())), "{fields:?} in {about}");
            }
            let expected = words(&text(replies, "expected"));
            let missing: Vec<&String> = required.iter().filter(|word| !expected.contains(*word)).collect();
            assert!(missing.is_empty(), "{missing:?} in {about}\n{}", text(replies, "expected"));
        }
        let (next, example) = (text(replies, "next-step"), text(replies, "example"));
        match failure {
            Failure::Tool(failure) | Failure::Fault(failure) => {
                let recovery = failure.recovery.as_deref().map(words).unwrap_or_default();
                assert!(recovery.is_subset(&words(&next)), "{about}\n{next}");
                let available = failure.available_actions.join(" ");
                assert!(words(&available).is_subset(&words(&next)), "{about}\n{next}");
                assert!(
                    failure.retry_after.is_none_or(|seconds| next.contains(&seconds.to_string())),
                    "{about}\n{next}"
                );
                let is_plain = !failure.message.contains(char::is_control);
                assert!(!is_plain || words(&failure.message).is_subset(&words(&diagnosis)), "{about}");
            }
            Failure::Routing(
                Routing::MissingDiscriminator { available, .. }
                | Routing::UnknownAction { available, .. }
                | Routing::UnknownTool { available, .. },
            ) => {
                assert!(words(&available.join(" ")).is_subset(&words(&next)), "{about}\n{next}");
                assert!(!available.iter().all(|name| words(&diagnosis).contains(name)), "{about}");
            }
            Failure::Validation { .. } => {
                assert!(next.len() > diagnosis.len() && example.len() > next.len(), "{about}\n{next}\n{example}");
                assert_eq!(replies["diagnosis"].names_fields, !failure.fields().is_empty(), "{about}");
            }
        }
        levels += 1;
    });
    assert!(levels > 500, "{levels}");
}

#[test]
fn a_placebo_is_as_long_as_a_next_step_and_has_no_word_of_the_schema() {
    // Function words, and the labels of formats.
    let common = words(
        "a about are be can every had have now and of others some such the them then this was we were you \
         recovery suggestions advice code custom path message 1 2 3",
    );
    let (mut texts, mut exact) = (0, 0);
    let levels = [Content::Placebo, Content::NextStep, Content::Diagnosis];
    for_each_failure(&formats(), &levels, |scenario, _, format, failure, replies| {
        let (placebo, next, diagnosis) =
            (text(replies, "placebo"), text(replies, "next-step"), text(replies, "diagnosis"));
        let [long, short] = [&next, &placebo].map(|text| f64::from(count_tokens(text)));
        assert!((long - short).abs() <= 0.02 * long, "{} {format}: {long} {short}\n{next}\n{placebo}", scenario.id);
        if let Some(action) = action(scenario, failure) {
            let own: BTreeSet<String> = words(&placebo).difference(&words(&diagnosis)).cloned().collect();
            let shared: Vec<&String> = own
                .iter()
                .filter(|word| !common.contains(*word) && schema_words(&action.input).contains(*word))
                .collect();
            assert!(shared.is_empty(), "{} {format}: {shared:?}\n{placebo}", scenario.id);
        }
        texts += 1;
        exact += u32::from(long == short);
    });
    assert!(texts > 500 && exact * 10 > texts * 9, "{exact} of {texts}");
}

#[test]
fn an_example_is_valid_and_holds_no_expected_value_that_the_schema_does_not_list() {
    let mut found = 0;
    for_each_failure(
        &[ErrorFormat::LlmFriendlyJson],
        &[Content::Example],
        |scenario, step, format, failure, replies| {
            let Some(action) = action(scenario, failure) else { return };
            let shown: Value = serde_json::from_str(&text(replies, "example")).unwrap();
            let example = shown["error"]["validExample"].clone();
            assert!(example.is_object(), "{shown}");
            let call = ToolCall { tool: step.draft.tool.clone(), arguments: example.clone(), numbers: None };
            let engine = engine(scenario, format, Content::Native);
            let reply = engine.call(&mut world(scenario), &call);
            assert!(
                !matches!(reply.failure, Some(Failure::Validation { .. } | Failure::Routing(_))),
                "{example} {reply:?}"
            );
            found += 1;
            let (mut intended, mut shown) = (Vec::new(), Vec::new());
            scalars("", &step.intended.arguments, &mut intended);
            scalars("", &example, &mut shown);
            let listed = listed_values(&action.input);
            for (path, value) in &shown {
                let is_expected = intended.iter().any(|(other, expected)| other == path && expected == value);
                let is_choice = value.is_boolean() || value.is_null() || path == "action" || listed.contains(value);
                assert!(!is_expected || is_choice, "{}: {path} is {value} in {example}", scenario.id);
            }
        },
    );
    assert!(found > 30, "{found}");
}

fn scalars(path: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| scalars(&format!("{path}.{name}"), value, found))
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| scalars(&format!("{path}.{index}"), value, found));
        }
        value => found.push((path.trim_start_matches('.').to_owned(), value.clone())),
    }
}

/// The values that a schema lists: options, constants and bounds.
fn listed_values(schema: &Value) -> Vec<Value> {
    match schema {
        Value::Object(members) => {
            let inner = members.values().flat_map(listed_values);
            inner.chain(members.values().filter(|value| !value.is_object()).cloned()).collect()
        }
        Value::Array(items) => items.iter().flat_map(listed_values).chain(items.iter().cloned()).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn texts_do_not_depend_on_the_engine_or_the_order_of_calls() {
    for scenario in suites().iter().take(4) {
        for (_, call) in drafts(scenario) {
            for format in formats() {
                for level in CONTENTS {
                    let answer = || {
                        let engine = engine(scenario, &format, level.value);
                        engine.call(&mut world(scenario), &call).response
                    };
                    assert_eq!(answer(), answer(), "{}", level.name);
                }
            }
        }
    }
}
