//! Tests on hand-made rows, of which the function that the runner uses tells what followed each error.

use std::path::PathBuf;

use healbench_core::{
    AgentKind, AgentSpec, Condition, EndedBy, EpisodeCounts, ErrorFormat, ErrorReading, ErrorSource, Guardrails,
    Outcome, PlannedScenario, ResponseRecord, Seed, Surroundings, follow,
};
use healbench_store::{FORMAT_VERSION, RunStatus};

use super::*;
use crate::run_rows::CallInChain;

/// The rows of a run in memory.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) episodes: Vec<EpisodeRecord>,
    pub(crate) calls: Vec<CallRecord>,
    responses: Vec<ResponseRecord>,
}

impl RunRows for Rows {
    fn for_each_episode(
        &self,
        plan: &Plan,
        add: &mut dyn FnMut(CellRef, &EpisodeRecord) -> Result<(), ReportError>,
    ) -> Result<u64, ReportError> {
        for row in &self.episodes {
            add(plan.cell(row.episode).unwrap(), row)?;
        }
        Ok(self.episodes.len() as u64)
    }

    fn for_each_call_in_chain(&self, _: bool, _: &mut dyn FnMut(CallInChain<'_>)) -> Result<u64, ReportError> {
        unreachable!("error texts need whole rows")
    }

    fn for_each_call(&self, add: &mut dyn FnMut(CallRecord) -> Result<(), ReportError>) -> Result<(), ReportError> {
        self.calls.iter().cloned().try_for_each(add)
    }

    fn for_each_error_response(&self, add: &mut dyn FnMut(&ResponseRecord)) -> Result<(), ReportError> {
        self.responses.iter().for_each(add);
        Ok(())
    }

    fn calls_path(&self) -> PathBuf {
        PathBuf::new()
    }
}

pub(crate) fn manifest(scenarios: usize) -> RunManifest {
    let agent = |name: &str| AgentSpec {
        kind: AgentKind::Scripted,
        name: name.to_owned(),
        opening: None,
        tools: None,
        settings: serde_json::Value::Null,
    };
    let scenario = |index: usize| PlannedScenario {
        id: format!("task-{index}"),
        cluster: format!("task-{index}"),
        path: String::new(),
        sha256: String::new(),
        claims: Vec::new(),
        waits_on_retry: false,
        worlds: 1,
        renamed_from: None,
    };
    let plan = Plan {
        seed: Seed(1),
        order: healbench_core::PlanOrder::Product,
        trials: 1,
        environment: healbench_core::PlannedEnvironment::default(),
        agents: vec![agent("typical"), agent("blind")],
        conditions: vec![Condition::new(Guardrails::NONE, ErrorFormat::Bare)],
        scenarios: (0..scenarios).map(scenario).collect(),
    };
    RunManifest {
        imported: Vec::new(),
        shell_tools: Vec::new(),
        format_version: FORMAT_VERSION,
        healbench: String::new(),
        revision: None,
        command: String::new(),
        started: String::new(),
        finished: None,
        tokenizer: "o200k_base".to_owned(),
        reader: None,
        status: RunStatus::Complete,
        episodes_done: plan.len(),
        shards: None,
        cassettes: None,
        prices: None,
        changes: Vec::new(),
        files: Default::default(),
        replacing: Default::default(),
        plan,
    }
}

/// Returns rows of episodes, each with its calls, one a turn, written as `TOOL ARGUMENTS [! TEXT]`, with `?` for an error that is known by
/// its text alone. A last line `...` is a record that ends before the agent does.
pub(crate) fn rows(episodes: &[&[&str]]) -> Rows {
    let mut rows = Rows { episodes: Vec::new(), calls: Vec::new(), responses: Vec::new() };
    for (episode, lines) in episodes.iter().enumerate() {
        let is_cut_off = lines.last() == Some(&"...");
        let mut calls: Vec<CallRecord> = Vec::new();
        for line in lines.iter().filter(|line| **line != "...") {
            calls.push(call(episode as u64, calls.len() as u32 + 1, line, &mut rows.responses));
        }
        follow(&mut calls, Surroundings { is_cut_off, ..Surroundings::default() });
        rows.episodes.push(episode_row(episode as u64, &calls));
        rows.calls.extend(calls);
    }
    rows
}

fn call(episode: u64, number: u32, line: &str, responses: &mut Vec<ResponseRecord>) -> CallRecord {
    let (sent, text, source) = match (line.split_once(" ! "), line.split_once(" ? ")) {
        (Some((sent, text)), _) => (sent, Some(text), ErrorSource::Flag),
        (None, Some((sent, text))) => (sent, Some(text), ErrorSource::Text),
        (None, None) => (line, None, ErrorSource::Flag),
    };
    let (tool, arguments) = sent.split_once(' ').unwrap();
    // The first text is not stored.
    let hash = text.map_or(1, |text| 2 + text.bytes().map(u64::from).sum::<u64>());
    if let Some(text) = text.filter(|text| *text != "lost") {
        let content = vec![text.to_owned()];
        responses.push(ResponseRecord { response_hash: hash, is_error: true, content, ..ResponseRecord::default() });
    }
    CallRecord {
        episode,
        call: number,
        turn: Some(number),
        tool: tool.into(),
        arguments: arguments.into(),
        is_error: text.is_some(),
        error_source: text.map(|_| source),
        reading: text.filter(|text| !text.contains("unread")).map(|text| ErrorReading {
            kind: if text.contains("required") { ErrorKind::Missing } else { ErrorKind::Unclear },
            names_field: text.contains("required"),
            states_remedy: false,
            names_tool: false,
        }),
        request_tokens: 10,
        response_tokens: text.map_or(0, |text| text.len() as u32),
        response_hash: hash,
        ..CallRecord::default()
    }
}

fn episode_row(episode: u64, calls: &[CallRecord]) -> EpisodeRecord {
    EpisodeRecord {
        tags: Vec::new(),
        episode,
        outcome: Outcome::Success,
        ended_by: EndedBy::Done,
        claimed_done: true,
        scheduled: true,
        schedule_hash: String::new(),
        turns: None,
        calls: calls.len() as u32,
        perfect_calls: 1,
        prompt_tokens: 0,
        prose_tokens: None,
        counts: EpisodeCounts::from_calls(calls),
        billed: None,
        model: None,
    }
}

fn texts_of(rows: &Rows, query: ErrorQuery) -> ErrorTexts {
    error_texts(rows, &manifest(rows.episodes.len()), query, &|_| true).unwrap()
}

fn found(episodes: &[&[&str]]) -> ErrorTexts {
    texts_of(&rows(episodes), ErrorQuery::default())
}

fn share(rate: TaskRate) -> [u64; 2] {
    [rate.rate.numerator, rate.rate.denominator]
}

/// The counts of one episode: calls, chains, without repair, repaired next, within 3.
fn counts(lines: &[&str]) -> ([u64; 3], [u64; 2], [u64; 2]) {
    let totals = found(&[lines]).totals;
    let counts = [totals.calls, totals.chains, totals.unrepaired];
    (counts, share(totals.repaired_next), share(totals.repaired_within_3))
}

#[test]
fn a_chain_is_repaired_by_its_first_attempt_that_succeeds() {
    assert_eq!(counts(&["a 1 ! no", "a 2"]), ([1, 1, 0], [1, 1], [1, 1]));
    assert_eq!(counts(&["a 1 ! no", "a 2 ! no", "a 3 ! no", "a 4"]), ([3, 1, 0], [0, 1], [1, 1]));
    assert_eq!(counts(&["a 1 ! no", "a 2 ! no", "a 3 ! no", "a 4 ! no", "a 5"]), ([4, 1, 0], [0, 1], [0, 1]));
    assert_eq!(counts(&["a 1 ! no", "b 2"]), ([1, 1, 1], [0, 1], [0, 1]));
    assert_eq!(counts(&["a 1 ! no", "b 1 ! no", "a 2", "b 2"]), ([2, 2, 0], [2, 2], [2, 2]));
    assert_eq!(counts(&["a 1"]), ([0, 0, 0], [0, 0], [0, 0]));
}

#[test]
fn an_attempt_after_three_turns_is_not_next() {
    assert_eq!(counts(&["a 1 ! no", "b 1", "b 2", "a 2"]), ([1, 1, 0], [1, 1], [1, 1]));
    assert_eq!(counts(&["a 1 ! no", "b 1", "b 2", "b 3", "a 2"]), ([1, 1, 0], [0, 1], [1, 1]));
}

#[test]
fn what_the_end_of_a_record_cuts_off_is_not_scored() {
    assert_eq!(counts(&["a 1 ! no", "..."]), ([1, 1, 0], [0, 0], [0, 0]));
    // The first attempt failed, and no further one is known.
    assert_eq!(counts(&["a 1 ! no", "a 2 ! no", "..."]), ([2, 1, 0], [0, 1], [0, 0]));
    assert_eq!(counts(&["a 1 ! no", "a 2 ! no", "a 3 ! no", "a 4 ! no", "..."]), ([4, 1, 0], [0, 1], [0, 1]));
    assert_eq!(counts(&["a 1 ! no", "a 2 ! no"]), ([2, 1, 1], [0, 1], [0, 1]));
}

#[test]
fn an_attempt_without_a_response_has_neither_failed_nor_succeeded() {
    let mut unanswered = rows(&[&["a 1 ! no", "a 2"]]);
    unanswered.calls[1].response_hash = 0;
    let totals = texts_of(&unanswered, ErrorQuery::default()).totals;
    assert_eq!((totals.unrepaired, share(totals.repaired_next), share(totals.changed)), (0, [0, 0], [1, 1]));
    assert_eq!(totals.repaired_next.rate.rate, None);
}

#[test]
fn moves_are_those_after_the_first_error_of_a_chain() {
    let totals = found(&[
        &["a 1 ! no", "a 1 ! no", "a 2"],
        &["a 1 ! no", "a 2 ! no", "b 1"],
        &["a 1 ! no", "b 1"],
        &["a 1 ! no"],
        &["a 1 ! no", "..."],
    ])
    .totals;
    let moves = [totals.changed, totals.repeated, totals.other_tool, totals.stopped].map(share);
    assert_eq!(moves, [[1, 4], [1, 4], [1, 4], [1, 4]]);
    assert_eq!((totals.calls, totals.chains, totals.tasks), (7, 5, 3));
}

#[test]
fn what_follows_a_second_error_in_a_row() {
    let second = found(&[
        &["a 1 ! no", "a 1 ! no", "a 2"],
        &["a 1 ! no", "a 2 ! no", "b 1"],
        &["a 1 ! no", "a 2 ! no", "a 2 ! no", "a 3"],
        &["a 1 ! no", "b 1 ! no", "a 2", "b 2"],
        &["a 1 ! no", "a 2 ! no", "..."],
        &["a 1 ! no"],
    ])
    .totals
    .after_second;
    let rates = [second.repaired_next, second.changed, second.repeated, second.other_tool, second.stopped];
    assert_eq!((second.chains, rates.map(share)), (4, [[1, 3], [1, 3], [1, 3], [1, 3], [0, 3]]));
}

#[test]
fn another_errand_is_counted_apart() {
    let totals = found(&[
        &[r#"a {"q":"one two three"} ! no"#, r#"a {"q":"four five six"}"#],
        &[r#"a {"q":"one two three"} ! no"#, r#"a {"q":"one two"}"#],
    ])
    .totals;
    assert_eq!((share(totals.repaired_next), share(totals.repaired_next_same_errand)), ([2, 2], [1, 1]));
}

#[test]
fn texts_are_ranked_by_what_they_cost() {
    let rows = rows(&[
        &[r#"a {"title":"red"} ! no title red"#, r#"a {"title":"blue"} ! no title blue"#],
        &[r#"b {"x":1} ! 'y' is required"#, r#"b {"x":1,"y":2}"#],
        &[r#"b {"x":2} ! 'y' is required"#, r#"b {"x":2} ! 'y' is required"#, "b {} ! lost"],
    ]);
    let found = texts_of(&rows, ErrorQuery::default());
    let shown = |found: &ErrorTexts| -> Vec<(String, Option<String>, [u64; 5])> {
        let row = |text: &ErrorText| {
            let ErrorCounts { calls, chains, tasks, wasted_tokens, unrepaired, .. } = text.counts;
            (text.tool.clone(), text.template.clone(), [calls, chains, tasks, wasted_tokens, unrepaired])
        };
        found.texts.iter().map(row).collect()
    };
    let named = |tool: &str, template: &str, counts| (tool.to_owned(), Some(template.to_owned()), counts);
    let required = named("b", "'y' is required", [3, 2, 2, 75, 1]);
    let titles = named("a", "no title …", [2, 1, 1, 45, 1]);
    let lost = ("b".to_owned(), None, [1, 0, 1, 14, 0]);
    assert_eq!(shown(&found), [required.clone(), titles.clone(), lost.clone()]);
    assert_eq!(found.totals.wasted_tokens, 75 + 45 + 14);
    // A text that opens no chain has no rates.
    assert_eq!(found.texts[2].counts.repaired_next, TaskRate { rate: Rate::of(0, 0), interval: None });
    let fields: Vec<(&str, u64)> =
        found.texts[0].fields.iter().map(|field| (field.name.as_str(), field.calls)).collect();
    // The last attempt leaves out `x`.
    assert_eq!(fields, [("x", 1), ("y", 1)]);
    assert_eq!((found.texts[0].kind, found.texts[0].names_field), (Some(ErrorKind::Missing), Rate::of(3, 3)));
    assert_eq!(found.texts[0].example, ErrorExample { episode: 1, call: 1 });
    let by_kind = texts_of(&rows, ErrorQuery { by: Some(ErrorAxis::Kind), ..ErrorQuery::default() });
    let [of_condition] = &found.kinds[..] else { panic!("{:?}", found.kinds) };
    let kinds: Vec<(&str, u64)> =
        of_condition.kinds.iter().map(|kind| (kind.name.as_str(), kind.counts.calls)).collect();
    assert_eq!(of_condition.kinds, by_kind.groups);
    assert!(kinds.contains(&("missing", 3)) && kinds.len() > 1, "{kinds:?}");
}

#[test]
fn a_message_of_another_format_is_another_text() {
    let rows = rows(&[
        &["a 1 ! gone away"],
        &[r#"a 1 ! {"title":"x","detail":"gone away"}"#],
        &[r#"a 1 ! {"title":"y","detail":"gone away"}"#],
        &["a 1 ! gone away"],
        &["a 1 ! gone away"],
    ]);
    let mut manifest = manifest(1);
    let without = |bits, format| Condition::new(Guardrails::from_bits(bits), format);
    manifest.plan.conditions = vec![
        without(15, ErrorFormat::ZodLines),
        without(15, ErrorFormat::ProblemJson),
        without(7, ErrorFormat::ProblemJson),
    ];
    let labels: Vec<String> = manifest.plan.conditions.iter().map(Condition::label).collect();
    let found = error_texts(&rows, &manifest, ErrorQuery::default(), &|_| true).unwrap();
    let shown = found.texts.iter().map(|text| (text.template.as_deref(), text.counts.calls, &text.conditions[..]));
    // The message within JSON is a part of the text; the line that is all of it is the same under both formats.
    let gone = Some("gone away");
    assert_eq!(shown.collect::<Vec<_>>(), [(gone, 2, &labels[1..]), (gone, 3, &labels[..2])]);
}

#[test]
fn under_one_format_a_message_is_one_text() {
    let found = found(&[&["a 1 ! gone away"], &[r#"a 1 ! {"title":"x","detail":"gone away"}"#]]);
    let shown: Vec<_> = found.texts.iter().map(|text| (text.template.as_deref(), text.counts.calls)).collect();
    assert_eq!(shown, [(Some("gone away"), 2)]);
}

#[test]
fn orders_put_the_largest_first() {
    let rows = rows(&[
        &["a 1 ! a long text that costs much", "a 2"],
        &["b 1 ! x", "b 2"],
        &["b 1 ! x", "b 2"],
        &["c 1 ! y"],
        &["d 1 ! z", "d 1"],
    ]);
    let first = |order| texts_of(&rows, ErrorQuery { order, ..ErrorQuery::default() }).texts[0].tool.clone();
    let orders = [ErrorOrder::Tokens, ErrorOrder::Chains, ErrorOrder::Unrepaired, ErrorOrder::Repeated];
    assert_eq!(orders.map(first), ["a", "b", "c", "d"]);
}

#[test]
fn a_named_field_is_not_masked_whenever_it_is_sent() {
    // Only a later call shows that `y` is an argument.
    let found = found(&[&["a {} ! 'y' and 'z' are bad"], &[r#"a {"y":1}"#]]);
    assert_eq!(found.texts[0].template.as_deref(), Some("'y' and … are bad"));
}

#[test]
fn named_fields_go_before_those_that_changed() {
    let mut rows = rows(&[&[r#"a {"x":1} ! no"#, r#"a {"x":2}"#]]);
    rows.calls[0].named_fields = Some([String::from("y")].into());
    let fields = |rows: &Rows| texts_of(rows, ErrorQuery::default()).texts[0].fields.clone();
    assert_eq!(fields(&rows), [ErrorField { name: "y".to_owned(), calls: 1 }]);
    rows.calls[0].named_fields = None;
    assert_eq!(fields(&rows), [ErrorField { name: "x".to_owned(), calls: 1 }]);
}

#[test]
fn errors_without_a_flag_can_be_taken_for_successes() {
    let rows = rows(&[&["a 1 ! no", "a 2 ? soft unread", "a 3 ? soft unread"], &["b 1 ? only soft"]]);
    let all = texts_of(&rows, ErrorQuery::default());
    assert_eq!((all.totals.calls, all.totals.chains, share(all.totals.repaired_next)), (4, 2, [0, 2]));
    let soft: Vec<(u64, bool, Option<ErrorKind>)> =
        all.texts.iter().map(|text| (text.soft_calls, text.is_soft(), text.kind)).collect();
    assert_eq!(soft, [(2, true, None), (1, true, Some(ErrorKind::Unclear)), (0, false, Some(ErrorKind::Unclear))]);
    assert_eq!(all.texts[0].names_field, Rate::of(0, 0));
    let flagged = texts_of(&rows, ErrorQuery { flagged_only: true, ..ErrorQuery::default() });
    assert_eq!((flagged.totals.calls, flagged.totals.chains, share(flagged.totals.repaired_next)), (1, 1, [1, 1]));
    assert!(flagged.flagged_only);
}

#[test]
fn groups_have_the_counts_of_their_chains() {
    // Episodes of one scenario are those of the two agents.
    let rows = rows(&[&["a 1 ! no", "b 1 ! no"], &["a 1 ! no"], &["a 1"], &["b 1 ! no"]]);
    let groups = |axis| {
        let found = texts_of(&rows, ErrorQuery { by: Some(axis), ..ErrorQuery::default() });
        let calls = |group: &ErrorGroup| (group.name.clone(), group.counts.calls, group.counts.tasks);
        found.groups.iter().map(calls).collect::<Vec<_>>()
    };
    let group = |name: &str, calls, tasks| (name.to_owned(), calls, tasks);
    assert_eq!(groups(ErrorAxis::Agent), [group("scripted:typical", 2, 1), group("scripted:blind", 2, 2)]);
    assert_eq!(groups(ErrorAxis::Tool), [group("a", 2, 1), group("b", 2, 2)]);
    assert_eq!(groups(ErrorAxis::Condition).len(), 1);
}

#[test]
fn episodes_can_be_left_out() {
    let rows = rows(&[&["a 1 ! no"], &["a 1 ! no"]]);
    let found = error_texts(&rows, &manifest(2), ErrorQuery::default(), &|row| row.episode == 1).unwrap();
    assert_eq!((found.totals.calls, found.texts[0].example.episode), (1, 1));
}

#[test]
fn a_rate_has_an_interval_from_ten_tasks_on() {
    // Each scenario has an episode of both agents.
    let interval = |scenarios: usize, line: fn(usize) -> &'static [&'static str]| {
        let episodes: Vec<&[&str]> = (0..2 * scenarios).map(line).collect();
        found(&episodes).totals.repaired_next.interval
    };
    let mixed: fn(usize) -> &'static [&'static str] =
        |episode| if episode % 4 == 0 { &["a 1 ! no", "a 2"] } else { &["a 1 ! no"] };
    assert_eq!(interval(9, mixed), None);
    let found = interval(10, mixed).unwrap();
    assert!(found.lower >= 0.0 && found.lower < 0.25 && found.upper > 0.25 && found.upper < 0.6, "{found:?}");
    // If no task differs from another, each counts once: Wilson's interval of 0 of 10 is [0, 0.278].
    let none = interval(10, |_| &["a 1 ! no"]).unwrap();
    assert!(none.lower == 0.0 && (none.upper - 0.277_5).abs() < 1e-3, "{none:?}");
}

#[test]
fn a_run_of_an_older_version_is_refused() {
    let mut older = rows(&[&["a 1", "a 2 ! no"]]);
    older.calls[1].aftermath = None;
    let refused = error_texts(&older, &manifest(1), ErrorQuery::default(), &|_| true);
    assert!(matches!(refused, Err(ReportError::NoAftermath { episode: 0 })), "{refused:?}");
    // It may have no errors.
    let without = rows(&[&["a 1"]]);
    assert_eq!(texts_of(&without, ErrorQuery::default()).texts, []);
}

#[test]
fn attempts_of_foreign_rows_do_not_lead_backwards() {
    let mut foreign = rows(&[&["a 1 ! no", "a 2 ! no"]]);
    foreign.calls[1].aftermath =
        foreign.calls[0].aftermath.map(|aftermath| healbench_core::Aftermath { next_attempt: Some(1), ..aftermath });
    let totals = texts_of(&foreign, ErrorQuery::default()).totals;
    assert_eq!((totals.calls, totals.chains), (2, 1));
}
