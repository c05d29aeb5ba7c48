//! Playbacks side by side. What the agent was told stands right above what it sent next, with what it changed marked.

use std::collections::BTreeMap;

use healbench_record::Outcome;
use maud::{Markup, html};

use super::scenarios::{MOST_ROWS, ROOM};
use crate::playback::{CallStep, Mark, Playback, Step};
use crate::render::playback::{LAST_LINES, MAX_COLUMNS, MAX_LINES, facts, told};
use crate::render::terminal::setting;
use crate::render::{counted, plain_text};
use crate::summary::Report;

/// Playbacks beside each other, as far as the window is wide enough; long texts are cut unless all of it is wanted.
pub(super) fn beside(playbacks: &[&Playback], full: bool) -> Markup {
    html! {
        @if let Some(first) = playbacks.first() { (head(first, full)) }
        div.pair { @for playback in playbacks { (column(playback, full)) } }
    }
}

/// What all playbacks of a scenario have in common.
fn head(playback: &Playback, full: bool) -> Markup {
    html! {
        @if !playback.description.is_empty() { p.note { (lines(&playback.description, full)) } }
        p { span.who { "task " } span.task { (lines(&playback.prompt, full)) } }
    }
}

/// Episodes that were played again for a page, already written: what was said in them may be large, and most of it is cut.
#[derive(Debug, Default)]
pub struct Playbacks {
    /// What a scenario's playbacks have in common, and one of them, by episode.
    written: BTreeMap<u64, (Markup, Markup)>,
    failed: BTreeMap<u64, String>,
    bytes: usize,
}

impl Playbacks {
    /// The episodes that a page has room for at most, of those that a report names as worth reading: of examples that end differently
    /// first.
    pub fn wanted(report: &Report) -> Vec<u64> {
        let mut examples: Vec<_> = report.examples.iter().take(MOST_ROWS).collect();
        examples.sort_by_key(|example| !example.flips);
        examples.iter().flat_map(|example| [example.left, example.right]).flatten().collect()
    }

    /// Adds an episode.
    pub fn add(&mut self, episode: u64, playback: &Playback) {
        let written = (head(playback, false), column(playback, false));
        self.bytes += written.0.0.len() + written.1.0.len();
        self.written.insert(episode, written);
    }

    /// Says why an episode could not be played.
    pub fn miss(&mut self, episode: u64, reason: &str) {
        self.failed.insert(episode, reason.to_owned());
    }

    /// Whether a page may have room for more.
    pub fn has_room(&self) -> bool {
        self.bytes < ROOM
    }

    /// Why an episode is not shown.
    pub(super) fn missed(&self, episode: u64) -> Option<&str> {
        self.failed.get(&episode).map(String::as_str)
    }

    /// These episodes beside each other; `None` unless all of them are here.
    pub(super) fn beside(&self, episodes: impl Iterator<Item = u64>) -> Option<Markup> {
        let found: Vec<&(Markup, Markup)> =
            episodes.map(|episode| self.written.get(&episode)).collect::<Option<_>>()?;
        let (head, _) = found.first()?;
        Some(html! { (head) div.pair { @for (_, column) in &found { (column) } } })
    }
}

fn column(playback: &Playback, full: bool) -> Markup {
    let class = if playback.outcome == Outcome::Success { "badge good" } else { "badge bad" };
    let title = html! {
        (setting(playback.guardrails, &playback.format)) " "
        span class=(class) { (playback.outcome) } " "
        span.who {
            "after " (counted(u64::from(playback.calls), "call")) ", trial " (playback.trial)
            @match playback.episode {
                Some(episode) => { ", episode " (episode) }
                None => { ", played now: the run has no episode of it" }
            }
        }
    };
    html! {
        section.playback {
            @if full { h2 { (title) } } @else { h3 { (title) } }
            ol {
                @for step in &playback.steps { li { (step_of(step, full)) } }
                @for expectation in &playback.unmet { li { span class="who bad" { "unmet " } (lines(expectation, full)) } }
            }
        }
    }
}

fn step_of(step: &Step, full: bool) -> Markup {
    match step {
        Step::Waits { seconds } => html! { span.who { "waits " } (counted(u64::from(*seconds), "second")) },
        Step::Says(text) => said("says", text, "", full),
        Step::Call(step) => call(step, full),
        Step::Done(text) => said("done", text, "", full),
        Step::Answers(text) => said("answers", text, "", full),
        Step::BrokenOff(text) => said("breaks off", text, "failed", full),
        Step::GivesUp(text) => said("gives up", text, "", full),
        Step::Failed(text) => said("failed", text, "failed", full),
    }
}

fn said(label: &str, text: &str, class: &str, full: bool) -> Markup {
    html! {
        span.who { (label) }
        pre class=(class) { @if text.is_empty() { span.cut { "(nothing)" } } @else { (lines(text, full)) } }
    }
}

fn call(step: &CallStep, full: bool) -> Markup {
    let row = &step.row;
    let verdict = row.error_class.as_deref().unwrap_or("OK");
    html! {
        div class={ @if step.compared_with.is_some() { "mended" } } {
            span.who { "call " (row.call) @if step.opening { ", the scheduled opening: the model was not asked" } }
            pre {
                (short(&step.tool, full)) " "
                @for (text, mark) in clipped(step, full) {
                    @match mark {
                        Mark::Same => { (text) }
                        Mark::Added | Mark::Changed => { mark { (text) } }
                    }
                }
            }
            @if let Some(told) = told(step, full) { div.note { (told) } }
        }
        span class=(if row.is_error { "who bad" } else { "who good" }) { "→ " (short(verdict, full)) }
        span.who { " " (facts(row)) }
        pre class=(if row.is_error { "failed" } else { "went" }) {
            @if step.response.is_empty() { span.cut { "(nothing)" } } @else { (lines(&step.response, full)) }
        }
    }
}

/// The arguments, made plain; what is beyond the room for them is left out and counted.
fn clipped(step: &CallStep, full: bool) -> Vec<(String, Mark)> {
    let mut room = if full { usize::MAX } else { 2 * MAX_COLUMNS };
    let mut hidden = 0;
    let mut pieces = Vec::new();
    for piece in &step.arguments {
        let text = plain_text(&piece.text);
        let (head, rest) = split(&text, room);
        room -= head.chars().count();
        hidden += rest.chars().count();
        if !head.is_empty() {
            pieces.push((head.to_owned(), piece.mark));
        }
    }
    if hidden > 0 {
        pieces.push((more(hidden), Mark::Same));
    }
    pieces
}

/// One line, made plain; unless all of it is wanted, cut where it is long.
fn short(text: &str, full: bool) -> String {
    cut(&plain_text(text), if full { usize::MAX } else { MAX_COLUMNS })
}

/// A text line by line, made plain; unless all of it is wanted, cut in the middle and at the ends of lines where it is long.
fn lines(text: &str, full: bool) -> Markup {
    let count = text.lines().count();
    let hidden = if count > MAX_LINES && !full { count - (MAX_LINES - 1) } else { 0 };
    let head = if hidden > 0 { MAX_LINES - 1 - LAST_LINES } else { count };
    html! {
        @for (index, line) in text.lines().enumerate() {
            @if hidden > 0 && index == head {
                "\n" span.cut { "… " (counted(hidden as u64, "line")) " more …" }
            }
            @if index < head || index >= head + hidden {
                @if index > 0 { "\n" }
                (short(line, full))
            }
        }
    }
}

/// At most so many characters, and how many more there are.
fn cut(line: &str, most: usize) -> String {
    match split(line, most) {
        (_, "") => line.to_owned(),
        (head, rest) => head.to_owned() + &more(rest.chars().count()),
    }
}

/// The first characters, so many at most, and the others.
fn split(text: &str, most: usize) -> (&str, &str) {
    text.split_at(text.char_indices().nth(most).map_or(text.len(), |(at, _)| at))
}

fn more(hidden: usize) -> String {
    format!(" … {}", counted(hidden as u64, "more character"))
}
