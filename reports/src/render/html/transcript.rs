//! Playbacks side by side. What the agent was told stands right above what it sent next, with what it changed marked.

use std::collections::BTreeMap;

use healbench_record::Outcome;
use maud::{Markup, html};

use super::scenarios::{MAX_PAGE_BYTES, MAX_ROWS};
use crate::render::terminal::condition_label;
use crate::render::transcript::{LAST_LINES, MAX_COLUMNS, MAX_LINES, call_details, describe_changes};
use crate::render::{plain_text, pluralize};
use crate::summary::Report;
use crate::transcript::{CallStep, SpanChange, Transcript, TranscriptStep};

/// Playbacks beside each other, as far as the window is wide enough; long texts are cut unless all of it is wanted.
pub(super) fn side_by_side(transcripts: &[&Transcript], full: bool) -> Markup {
    html! {
        @if let Some(first) = transcripts.first() { (render_header(first, full)) }
        div.pair { @for transcript in transcripts { (render_transcript(transcript, full)) } }
    }
}

/// What all playbacks of a scenario have in common.
fn render_header(transcript: &Transcript, full: bool) -> Markup {
    html! {
        @if !transcript.description.is_empty() { p.note { (render_lines(&transcript.description, full)) } }
        p { span.who { "task " } span.task { (render_lines(&transcript.prompt, full)) } }
    }
}

/// Episodes that were played again for a page, already written: what was said in them may be large, and most of it is cut.
#[derive(Debug, Default)]
pub struct Transcripts {
    /// What a scenario's playbacks have in common, and one of them, by episode.
    rendered: BTreeMap<u64, (Markup, Markup)>,
    failures: BTreeMap<u64, String>,
    bytes: usize,
}

impl Transcripts {
    /// The episodes that a page has room for at most, of those that a report names as worth reading: of examples that end differently
    /// first.
    pub fn episodes_to_show(report: &Report) -> Vec<u64> {
        let mut examples: Vec<_> = report.examples.iter().take(MAX_ROWS).collect();
        examples.sort_by_key(|example| !example.flips);
        examples.iter().flat_map(|example| [example.left, example.right]).flatten().collect()
    }

    /// Adds an episode.
    pub fn add(&mut self, episode: u64, transcript: &Transcript) {
        let rendered = (render_header(transcript, false), render_transcript(transcript, false));
        self.bytes += rendered.0.0.len() + rendered.1.0.len();
        self.rendered.insert(episode, rendered);
    }

    /// Says why an episode could not be played.
    pub fn add_failure(&mut self, episode: u64, reason: &str) {
        self.failures.insert(episode, reason.to_owned());
    }

    /// Whether a page may have room for more.
    pub fn has_room(&self) -> bool {
        self.bytes < MAX_PAGE_BYTES
    }

    /// Why an episode is not shown.
    pub(super) fn failure(&self, episode: u64) -> Option<&str> {
        self.failures.get(&episode).map(String::as_str)
    }

    /// These episodes beside each other; `None` unless all of them are here.
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
        (condition_label(transcript.guardrails, &transcript.format)) " "
        span class=(class) { (transcript.outcome) } " "
        span.who {
            "after " (pluralize(u64::from(transcript.calls), "call")) ", trial " (transcript.trial)
            @match transcript.episode {
                Some(episode) => { ", episode " (episode) }
                None => { ", played now: the run has no episode of it" }
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
        TranscriptStep::Waits { seconds } => html! { span.who { "waits " } (pluralize(u64::from(*seconds), "second")) },
        TranscriptStep::Says(text) => render_message("says", text, "", full),
        TranscriptStep::Call(step) => render_call(step, full),
        TranscriptStep::Done(text) => render_message("done", text, "", full),
        TranscriptStep::Answers(text) => render_message("answers", text, "", full),
        TranscriptStep::Incomplete(text) => render_message("breaks off", text, "failed", full),
        TranscriptStep::GivesUp(text) => render_message("gives up", text, "", full),
        TranscriptStep::Failed(text) => render_message("failed", text, "failed", full),
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
    let verdict = row.error_class.as_deref().unwrap_or("OK");
    html! {
        div class={ @if step.compared_with.is_some() { "mended" } } {
            span.who { "call " (row.call) @if step.opening { ", the scheduled opening: the model was not asked" } }
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

/// The arguments, made plain; what is beyond the room for them is left out and counted.
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
            pieces.push((head.to_owned(), piece.mark));
        }
    }
    if hidden > 0 {
        pieces.push((omitted_characters(hidden), SpanChange::Same));
    }
    pieces
}

/// One line, made plain; unless all of it is wanted, cut where it is long.
fn truncate_plain(text: &str, full: bool) -> String {
    truncate(&plain_text(text), if full { usize::MAX } else { MAX_COLUMNS })
}

/// A text line by line, made plain; unless all of it is wanted, cut in the middle and at the ends of lines where it is long.
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

/// At most so many characters, and how many more there are.
fn truncate(line: &str, most: usize) -> String {
    match split_at_char(line, most) {
        (_, "") => line.to_owned(),
        (head, rest) => head.to_owned() + &omitted_characters(rest.chars().count()),
    }
}

/// The first characters, so many at most, and the others.
fn split_at_char(text: &str, most: usize) -> (&str, &str) {
    text.split_at(text.char_indices().nth(most).map_or(text.len(), |(at, _)| at))
}

fn omitted_characters(hidden: usize) -> String {
    format!(" … {}", pluralize(hidden as u64, "more character"))
}
