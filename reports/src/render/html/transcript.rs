//! Transcripts side by side. A response is directly above the agent's next call, with the changes highlighted.

use std::collections::BTreeMap;

use healbench_protocol::ErrorClass;
use healbench_record::Outcome;
use maud::{Markup, html};

use crate::render::labels::condition_label;
use crate::render::transcript::{LAST_LINES, MAX_COLUMNS, MAX_LINES, call_details, describe_changes};
use crate::render::{plain_text, pluralize};
use crate::summary::Report;
use crate::transcript::{CallStep, SpanChange, Transcript, TranscriptStep};

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
fn render_header(transcript: &Transcript, full: bool) -> Markup {
    html! {
        @if !transcript.description.is_empty() { p.note { (render_lines(&transcript.description, full)) } }
        p { span.who { "task " } span.task { (render_lines(&transcript.prompt, full)) } }
    }
}

/// Rendered transcripts for a page. They are stored as HTML because the original texts may be large and are mostly
/// truncated.
#[derive(Debug, Default)]
pub struct Transcripts {
    /// The common header and the transcript, by episode.
    rendered: BTreeMap<u64, (Markup, Markup)>,
    failures: BTreeMap<u64, String>,
    bytes: usize,
}

impl Transcripts {
    /// Returns the example episodes of a report that a page has room for at most; those with different outcomes first.
    pub fn episodes_to_show(report: &Report) -> Vec<u64> {
        let mut examples: Vec<_> = report.examples.iter().take(MAX_ROWS).collect();
        examples.sort_by_key(|example| !example.flips);
        examples.iter().flat_map(|example| [example.left, example.right]).flatten().collect()
    }

    pub fn add(&mut self, episode: u64, transcript: &Transcript) {
        let rendered = (render_header(transcript, false), render_transcript(transcript, false));
        self.bytes += rendered.0.0.len() + rendered.1.0.len();
        self.rendered.insert(episode, rendered);
    }

    /// Records the reason why an episode could not be replayed.
    pub fn add_failure(&mut self, episode: u64, reason: &str) {
        self.failures.insert(episode, reason.to_owned());
    }

    /// Returns true if the page may have room for more.
    pub fn has_room(&self) -> bool {
        self.bytes < MAX_PAGE_BYTES
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

fn render_transcript(transcript: &Transcript, full: bool) -> Markup {
    let class = if transcript.outcome == Outcome::Success { "badge good" } else { "badge bad" };
    let title = html! {
        (condition_label(&transcript.condition, transcript.guardrails, &transcript.format)) " "
        span class=(class) { (transcript.outcome) } " "
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

fn render_step(step: &TranscriptStep, full: bool) -> Markup {
    match step {
        TranscriptStep::Wait { seconds } => html! { span.who { "waits " } (pluralize(u64::from(*seconds), "second")) },
        TranscriptStep::Message(text) => render_message("says", text, "", full),
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

fn render_call(step: &CallStep, full: bool) -> Markup {
    let row = &step.row;
    let verdict = row.error_class.as_ref().map_or("OK", ErrorClass::name);
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
        span class=(if row.is_error { "who bad" } else { "who good" }) { "→ " (truncate_plain(verdict, full)) }
        span.who { " " (call_details(row)) }
        pre class=(if row.is_error { "failed" } else { "went" }) {
            @if step.response.is_empty() { span.cut { "(nothing)" } } @else { (render_lines(&step.response, full)) }
        }
    }
}

/// Escapes the arguments; what exceeds the limit is replaced by its size.
fn truncate_arguments(step: &CallStep, full: bool) -> Vec<(String, SpanChange)> {
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
fn truncate_plain(text: &str, full: bool) -> String {
    truncate(&plain_text(text), if full { usize::MAX } else { MAX_COLUMNS })
}

/// Escapes a text line by line. Unless `full`, long texts are truncated in the middle and long lines at their ends.
fn render_lines(text: &str, full: bool) -> Markup {
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
