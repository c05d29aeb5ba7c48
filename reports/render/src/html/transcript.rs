//! Transcripts side by side. A response is directly above the agent's next call, with the changes highlighted.

use std::collections::BTreeMap;

use healbench_core::{Condition, Outcome};
use maud::{Markup, html};

use super::moment::Moment;
use super::payload::{Chunk, EpisodePlace, row_id};
use crate::labels::condition_label;
use crate::transcript::{LAST_LINES, MAX_COLUMNS, MAX_LINES, call_details, describe_changes, verdict};
use healbench_analysis::{
    AgentReport, CallStep, HeadlineConditions, Report, RowMetric, SpanChange, Transcript, TranscriptStep,
    agents_by_information,
};
use healbench_text::{Paint, plain_text, pluralize};

/// The largest number of rows, which limits the size of the file.
pub(super) const MAX_ROWS: usize = 2_000;
/// The largest size of a page in bytes, including its transcripts.
pub(super) const MAX_PAGE_BYTES: usize = 2_950_000;

/// Renders transcripts next to each other if the window is wide enough; long texts are truncated unless `full`.
pub(super) fn side_by_side(transcripts: &[&Transcript], full: bool) -> Markup {
    html! {
        @if let Some(first) = transcripts.first() { (render_header(first, full)) }
        div.pair { @for transcript in transcripts { (render_transcript(transcript, full)) } }
    }
}

/// Renders the part that all transcripts of a scenario have in common.
pub(super) fn render_header(transcript: &Transcript, full: bool) -> Markup {
    html! {
        @if !transcript.description.is_empty() { p.note { (render_lines(&transcript.description, full)) } }
        p { span.who { "task " } span.task { (render_lines(&transcript.prompt, full)) } }
    }
}

/// The transcripts of a page: compressed, by scenario, those with the largest spread between conditions first. The headline pairs
/// of the first are also rendered, for browsers that run no script.
#[derive(Debug, Default)]
pub struct Transcripts {
    /// The rows of each scenario, in the order of the page.
    scenarios: Vec<Vec<ExampleRow>>,
    /// The index of the first scenario that was not requested.
    next: usize,
    /// The places of the requested episodes: the scenario and the row in `scenarios`, and the place in the page.
    requested: BTreeMap<u64, (usize, EpisodePlace)>,
    /// The chunks of the requested scenarios.
    open: BTreeMap<usize, Chunk>,
    /// The complete chunks, in the order of the scenarios.
    chunks: Vec<EncodedChunk>,
    /// The common header and the transcript, by episode.
    rendered: BTreeMap<u64, (Markup, Markup)>,
    /// The scenarios of which one is shown at the top of the page.
    candidates: Vec<MomentCandidate>,
    /// The moments of their episodes.
    moments: BTreeMap<u64, Moment>,
    failures: BTreeMap<u64, String>,
    encoded_bytes: usize,
    rendered_bytes: usize,
}

/// A scenario and an agent with the trials that are shown of them.
#[derive(Debug)]
struct ExampleRow {
    id: String,
    episodes: Vec<(EpisodePlace, u64)>,
    /// Successes and scored trials, by condition.
    rates: Vec<[u64; 2]>,
    /// The shown trials, each with the number of trials that are alike, and the number of all trials.
    trials: (Vec<(u32, u64)>, u64),
    /// The headline pair of the typical trial.
    pair: [Option<u64>; 2],
}

/// A scenario of which the moment after the first error could be shown at the top of the page.
#[derive(Debug, Clone, Copy)]
pub(super) struct MomentCandidate {
    /// The index of the example in the report.
    pub(super) example: usize,
    /// The conditions of its two episodes, as indices of rows.
    pub(super) conditions: [usize; 2],
    /// The episodes of the typical trial.
    pub(super) pair: [u64; 2],
}

/// The compressed transcripts of one scenario.
#[derive(Debug)]
pub(super) struct EncodedChunk {
    pub(super) text: String,
    pub(super) episodes: u64,
    /// The ids of its rows.
    pub(super) rows: Vec<String>,
}

/// The number of episodes that are requested at once.
const BATCH_EPISODES: usize = 500;
/// The size of the rendered transcripts for browsers that run no script.
const MAX_RENDERED_BYTES: usize = 250_000;

impl Transcripts {
    /// Prepares the transcripts of a report's page.
    pub fn of(report: &Report) -> Transcripts {
        let mut scenarios: Vec<Vec<ExampleRow>> = Vec::new();
        let mut places: BTreeMap<usize, usize> = BTreeMap::new();
        let conditions = report.agents.first().map_or(0, |agent| agent.rows.len());
        for example in report.examples_by_spread().into_iter().take(MAX_ROWS) {
            let mut episodes = Vec::new();
            for (trial, _) in example.shown_trials() {
                for condition in 0..conditions {
                    let place = EpisodePlace { scenario: example.scenario, agent: example.agent, condition, trial };
                    episodes.push((place, report.episode(example, condition, trial)));
                }
            }
            let id = row_id(example.scenario, example.agent);
            let place = *places.entry(example.scenario).or_insert(scenarios.len());
            if place == scenarios.len() {
                scenarios.push(Vec::new());
            }
            let rows = report.agents.get(example.agent).into_iter().flat_map(|agent| &agent.rows);
            let rates = rows.filter_map(|row| Some(row.scenarios.get(example.scenario)?.success));
            let rates = rates.map(|rate| [rate.numerator, rate.denominator]).collect();
            let trials = (example.shown_trials().collect(), example.trials);
            scenarios[place].push(ExampleRow { id, episodes, rates, trials, pair: [example.left, example.right] });
        }
        Transcripts { scenarios, candidates: candidates(report), ..Transcripts::default() }
    }

    /// Returns the next episodes to add; `None` once the page has no room for more, or all were requested. Episodes that
    /// were not executed may be among them.
    pub fn next_batch(&mut self) -> Option<Vec<u64>> {
        self.close();
        let mut batch = Vec::new();
        while self.next < self.scenarios.len() && batch.len() < BATCH_EPISODES && self.encoded_bytes < MAX_PAGE_BYTES {
            for (place, episode) in self.scenarios[self.next].iter().flat_map(|row| &row.episodes) {
                self.requested.insert(*episode, (self.next, *place));
                batch.push(*episode);
            }
            self.next += 1;
        }
        (!batch.is_empty()).then_some(batch)
    }

    /// Compresses the chunks of the requested scenarios.
    fn close(&mut self) {
        for (scenario, mut chunk) in std::mem::take(&mut self.open) {
            for ExampleRow { id, rates, trials: (trials, of), .. } in &self.scenarios[scenario] {
                chunk.describe(id, rates, trials, *of);
            }
            let (text, episodes) = chunk.encode();
            self.encoded_bytes += text.len();
            let rows = self.scenarios[scenario].iter().map(|row| row.id.clone()).collect();
            self.chunks.push(EncodedChunk { text, episodes, rows });
        }
        self.requested.clear();
    }

    /// Adds a requested episode.
    pub fn add(&mut self, episode: u64, transcript: &Transcript) {
        let Some((scenario, place)) = self.requested.get(&episode).copied() else { return };
        self.open.entry(scenario).or_default().add(place, episode, transcript);
        if self.candidates.iter().any(|candidate| candidate.pair.contains(&episode)) {
            self.moments.insert(episode, Moment::of(transcript));
        }
        let is_in_pair = self.scenarios[scenario].iter().any(|row| row.pair.contains(&Some(episode)));
        if is_in_pair && self.rendered_bytes < MAX_RENDERED_BYTES {
            let rendered = (render_header(transcript, false), render_transcript(transcript, false));
            self.rendered_bytes += rendered.0.0.len() + rendered.1.0.len();
            self.rendered.insert(episode, rendered);
        }
    }

    /// Records the reason why an episode could not be replayed.
    pub fn add_failure(&mut self, episode: u64, reason: &str) {
        self.failures.insert(episode, reason.to_owned());
    }

    /// Returns the compressed transcripts by scenario.
    pub(super) fn chunks(&self) -> &[EncodedChunk] {
        &self.chunks
    }

    /// Returns the candidate whose moments show most, with these moments, of those that ended differently: two formats before others.
    pub(super) fn moment(&self) -> Option<(MomentCandidate, [&Moment; 2])> {
        let mut best: Option<(u32, MomentCandidate, [&Moment; 2])> = None;
        for candidate in &self.candidates {
            if best.is_some_and(|(_, best, _)| best.conditions != candidate.conditions) {
                break;
            }
            let [left, right] = candidate.pair.map(|episode| self.moments.get(&episode));
            let (Some(left), Some(right)) = (left, right) else { continue };
            if left.succeeded == right.succeeded {
                continue;
            }
            let tells = left.tells(right) + right.tells(left);
            if best.is_none_or(|(most, ..)| tells > most) {
                best = Some((tells, *candidate, [left, right]));
            }
        }
        best.map(|(_, candidate, moments)| (candidate, moments))
    }

    /// Returns the reason why an episode is not shown.
    pub(super) fn failure(&self, episode: u64) -> Option<&str> {
        self.failures.get(&episode).map(String::as_str)
    }

    /// Renders these episodes next to each other; `None` unless all of them are available.
    pub(super) fn side_by_side(&self, episodes: impl Iterator<Item = u64>) -> Option<Markup> {
        let found: Vec<&(Markup, Markup)> =
            episodes.map(|episode| self.rendered.get(&episode)).collect::<Option<_>>()?;
        let (head, _) = found.first()?;
        Some(html! { (head) div.pair { @for (_, column) in &found { (column) } } })
    }
}

/// The number of scenarios that are considered for the moment at the top of the page, for each pair of conditions.
const MAX_CANDIDATES: usize = 12;

/// Returns the scenarios that differ most between two conditions, of the agent of which most is to be seen: between two formats if the run
/// compares them, and then between the conditions of the headline comparison.
fn candidates(report: &Report) -> Vec<MomentCandidate> {
    let (Some(agent), Some(headline)) = (agents_by_information(report).first().copied(), report.headline) else {
        return Vec::new();
    };
    let of_pair = |conditions: [usize; 2]| {
        let rows = conditions.map(|condition| &report.agents[agent].rows[condition]);
        let examples = report.examples.iter().enumerate().filter(|(_, example)| example.agent == agent);
        let mut found: Vec<(f64, MomentCandidate)> = examples
            .filter_map(|(index, example)| {
                let [left, right] = rows.map(|row| row.scenarios.get(example.scenario)?.success.rate);
                let pair = conditions.map(|condition| report.episode(example, condition, example.trial));
                Some(((right? - left?).abs(), MomentCandidate { example: index, conditions, pair }))
            })
            .filter(|(difference, _)| *difference > 0.0)
            .collect();
        found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        found.into_iter().take(MAX_CANDIDATES).map(|(_, candidate)| candidate)
    };
    let formats = compared_formats(&report.agents[agent], headline).into_iter();
    formats.chain([[headline.left, headline.right]]).flat_map(of_pair).collect()
}

/// Returns the format with the fewest and the one with the most successes, if formats of the same guardrails are compared and not by the
/// headline.
fn compared_formats(agent: &AgentReport, headline: HeadlineConditions) -> Option<[usize; 2]> {
    let [left, right] = [headline.left, headline.right].map(|row| &agent.rows[row].condition);
    let is_format = |condition: &Condition| condition.is_plain() && condition.guardrails() == right.guardrails();
    let rate = |row: &usize| agent.rows[*row].rate(RowMetric::Success).rate.unwrap_or_default();
    let mut rows: Vec<usize> = (0..agent.rows.len()).filter(|row| is_format(&agent.rows[*row].condition)).collect();
    rows.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    let [worst, best] = [*rows.first()?, *rows.last()?];
    (!is_format(left) && rate(&worst) < rate(&best)).then_some([worst, best])
}

pub(super) fn outcome_badge(transcript: &Transcript) -> Markup {
    html! { span class={ "badge " (outcome_class(transcript.outcome)) } { (transcript.outcome.words()) } }
}

/// Returns the class with the color of an outcome: none if nothing is known of the agent.
pub(super) fn outcome_class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Success => "good",
        Outcome::TaskFail | Outcome::GaveUp | Outcome::Refused | Outcome::Limit => "bad",
        Outcome::Infra | Outcome::Config | Outcome::Unknown => "",
    }
}

fn render_transcript(transcript: &Transcript, full: bool) -> Markup {
    let title = html! {
        (condition_label(&transcript.condition)) " "
        (outcome_badge(transcript)) " "
        span.who {
            "after " (pluralize(u64::from(transcript.calls), "call")) ", trial " (transcript.trial)
            @match transcript.episode {
                Some(episode) => { ", episode " (episode) }
                None => { ", run now: the run has no episode under this condition" }
            }
        }
    };
    html! {
        section.transcript {
            @if full { h2 { (title) } } @else { h3 { (title) } }
            ol {
                @for step in &transcript.steps { li { (render_step(step, full)) } }
                @for expectation in &transcript.unmet { li { span class="who bad" { "unmet " } (render_lines(expectation, full)) } }
            }
        }
    }
}

pub(super) fn render_step(step: &TranscriptStep, full: bool) -> Markup {
    match step {
        TranscriptStep::Wait { seconds } => html! { span.who { "waits " } (pluralize(u64::from(*seconds), "second")) },
        TranscriptStep::Message(text) => render_message("says", text, "", full),
        TranscriptStep::User(text) => render_message("user", text, "", full),
        TranscriptStep::Call(step) => render_call(step, full),
        TranscriptStep::Done(text) => render_message("done", text, "", full),
        TranscriptStep::Answer(text) => render_message("answers", text, "", full),
        TranscriptStep::Incomplete(text) => render_message("breaks off", text, "failed", full),
        TranscriptStep::GiveUp(text) => render_message("gives up", text, "", full),
        TranscriptStep::Refused(text) => render_message("refuses", text, "failed", full),
        TranscriptStep::Failed(text) => render_message("failed", text, "failed", full),
        TranscriptStep::Program(text) => render_message("program", text, "", full),
    }
}

fn render_message(label: &str, text: &str, class: &str, full: bool) -> Markup {
    html! {
        span.who { (label) }
        pre class=(class) { @if text.is_empty() { span.cut { "(nothing)" } } @else { (render_lines(text, full)) } }
    }
}

pub(super) fn render_call(step: &CallStep, full: bool) -> Markup {
    let row = &step.row;
    let (verdict, paint) = verdict(step);
    let (verdict_class, response_class) = match paint {
        Paint::Red => ("who bad", "failed"),
        Paint::Green => ("who good", "went"),
        _ => ("who", ""),
    };
    html! {
        div class={ @if step.compared_with.is_some() { "repair" } } {
            span.who { "call " (row.call) @if step.opening { ", scheduled opening: no request was sent to the model" } }
            pre {
                (truncate_plain(&step.tool, full)) " "
                @for (text, mark) in truncate_arguments(step, full) {
                    @match mark {
                        SpanChange::Same => { (text) }
                        SpanChange::Added | SpanChange::Changed => { mark { (text) } }
                    }
                }
            }
            @if let Some(changes) = describe_changes(step, full) { div.note { (changes) } }
        }
        span class=(verdict_class) { "→ " (truncate_plain(verdict, full)) }
        span.who { " " (call_details(step)) }
        pre class=(response_class) {
            @if step.response.is_empty() { span.cut { "(nothing)" } } @else { (render_lines(&step.response, full)) }
        }
    }
}

/// Escapes the arguments; what exceeds the limit is replaced by its size.
pub(super) fn truncate_arguments(step: &CallStep, full: bool) -> Vec<(String, SpanChange)> {
    let mut room = if full { usize::MAX } else { 2 * MAX_COLUMNS };
    let mut hidden = 0;
    let mut pieces = Vec::new();
    for piece in &step.arguments {
        let text = plain_text(&piece.text);
        let (head, rest) = split_at_char(&text, room);
        room -= head.chars().count();
        hidden += rest.chars().count();
        if !head.is_empty() {
            pieces.push((head.to_owned(), piece.change));
        }
    }
    if hidden > 0 {
        pieces.push((omitted_characters(hidden), SpanChange::Same));
    }
    pieces
}

/// Escapes a line and truncates it unless `full`.
pub(super) fn truncate_plain(text: &str, full: bool) -> String {
    truncate(&plain_text(text), if full { usize::MAX } else { MAX_COLUMNS })
}

/// Escapes a text line by line. Unless `full`, long texts are truncated in the middle and long lines at their ends.
pub(super) fn render_lines(text: &str, full: bool) -> Markup {
    let count = text.lines().count();
    let hidden = if count > MAX_LINES && !full { count - (MAX_LINES - 1) } else { 0 };
    let head = if hidden > 0 { MAX_LINES - 1 - LAST_LINES } else { count };
    html! {
        @for (index, line) in text.lines().enumerate() {
            @if hidden > 0 && index == head {
                "\n" span.cut { "… " (pluralize(hidden as u64, "line")) " more …" }
            }
            @if index < head || index >= head + hidden {
                @if index > 0 { "\n" }
                (truncate_plain(line, full))
            }
        }
    }
}

/// The largest number of characters of an error text in a page.
const MAX_ERROR_CHARACTERS: usize = 20_000;

/// Escapes a text. An error text is kept up to a generous limit; of other texts, the middle and the ends of long lines are left
/// out.
pub(super) fn limit_text(text: &str, is_error: bool) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if is_error {
        let text = lines.iter().map(|line| plain_text(line)).collect::<Vec<_>>().join("\n");
        return truncate(&text, MAX_ERROR_CHARACTERS);
    }
    let hidden = if lines.len() > MAX_LINES { lines.len() - (MAX_LINES - 1) } else { 0 };
    let head = if hidden > 0 { MAX_LINES - 1 - LAST_LINES } else { lines.len() };
    let mut shown: Vec<String> = lines[..head].iter().map(|line| truncate_plain(line, false)).collect();
    if hidden > 0 {
        shown.push(format!("… {} more …", pluralize(hidden as u64, "line")));
        shown.extend(lines[head + hidden..].iter().map(|line| truncate_plain(line, false)));
    }
    shown.join("\n")
}

/// Truncates a line to `most` characters and says how many were removed.
fn truncate(line: &str, most: usize) -> String {
    match split_at_char(line, most) {
        (_, "") => line.to_owned(),
        (head, rest) => head.to_owned() + &omitted_characters(rest.chars().count()),
    }
}

/// Splits a text after at most `most` characters.
fn split_at_char(text: &str, most: usize) -> (&str, &str) {
    text.split_at(text.char_indices().nth(most).map_or(text.len(), |(at, _)| at))
}

fn omitted_characters(hidden: usize) -> String {
    format!(" … {}", pluralize(hidden as u64, "more character"))
}
