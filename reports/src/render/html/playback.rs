//! Playbacks side by side. What the agent was told stands right above what it sent next, with what it changed marked.

use healbench_record::Outcome;
use maud::{Markup, html};

use super::shown;
use crate::playback::{CallStep, Mark, Playback, Step};
use crate::render::playback::{LAST_LINES, MAX_COLUMNS, MAX_LINES, facts, told};
use crate::render::terminal::setting;
use crate::render::{counted, plain_text};

/// Playbacks beside each other, as far as the window is wide enough.
pub(super) fn beside(playbacks: &[&Playback]) -> Markup {
    html! {
        @if let Some(first) = playbacks.first() {
            @if !first.description.is_empty() { p.note { (shown(&first.description)) } }
            p { span.who { "task " } span.task { (lines(&first.prompt)) } }
        }
        div.pair { @for playback in playbacks { (column(playback)) } }
    }
}

fn column(playback: &Playback) -> Markup {
    let class = if playback.outcome == Outcome::Success { "badge good" } else { "badge bad" };
    html! {
        section.playback {
            h4 {
                (setting(playback.guardrails, &playback.format)) " "
                span class=(class) { (playback.outcome) } " "
                span.who {
                    "after " (counted(u64::from(playback.calls), "call")) ", trial " (playback.trial)
                    @match playback.episode {
                        Some(episode) => { ", episode " (episode) }
                        None => { ", played now: the run has no episode of it" }
                    }
                }
            }
            ol {
                @for step in &playback.steps { li { (step_of(step)) } }
                @for expectation in &playback.unmet { li { span class="who bad" { "unmet " } (lines(expectation)) } }
            }
        }
    }
}

fn step_of(step: &Step) -> Markup {
    match step {
        Step::Waits { seconds } => html! { span.who { "waits " } (counted(u64::from(*seconds), "second")) },
        Step::Says(text) => said("says", text, ""),
        Step::Call(step) => call(step),
        Step::Done(text) => said("done", text, ""),
        Step::Answers(text) => said("answers", text, ""),
        Step::BrokenOff(text) => said("breaks off", text, "failed"),
        Step::GivesUp(text) => said("gives up", text, ""),
        Step::Failed(text) => said("failed", text, "failed"),
    }
}

fn said(label: &str, text: &str, class: &str) -> Markup {
    html! {
        span.who { (label) }
        pre class=(class) { @if text.is_empty() { span.cut { "(nothing)" } } @else { (lines(text)) } }
    }
}

fn call(step: &CallStep) -> Markup {
    let row = &step.row;
    let verdict = row.error_class.as_deref().unwrap_or("OK");
    html! {
        div class={ @if step.compared_with.is_some() { "mended" } } {
            span.who { "call " (row.call) @if step.opening { ", the scheduled opening: the model was not asked" } }
            pre {
                (shown(&step.tool)) " "
                @for (text, mark) in clipped(step) {
                    @match mark {
                        Mark::Same => { (text) }
                        Mark::Added | Mark::Changed => { mark { (text) } }
                    }
                }
            }
            @if let Some(told) = told(step, false) { div.note { (told) } }
        }
        span class=(if row.is_error { "who bad" } else { "who good" }) { "→ " (shown(verdict)) }
        span.who { " " (facts(row)) }
        pre class=(if row.is_error { "failed" } else { "went" }) {
            @if step.response.is_empty() { span.cut { "(nothing)" } } @else { (lines(&step.response)) }
        }
    }
}

/// The arguments, made plain and cut where they are long.
fn clipped(step: &CallStep) -> Vec<(String, Mark)> {
    let mut room = 2 * MAX_COLUMNS;
    let mut pieces = Vec::new();
    for piece in &step.arguments {
        let text = cut(&plain_text(&piece.text), room);
        room = room.saturating_sub(text.chars().count());
        pieces.push((text, piece.mark));
        if room == 0 {
            break;
        }
    }
    pieces
}

/// A text line by line, made plain, cut in the middle and at the ends of lines where it is long.
fn lines(text: &str) -> Markup {
    let count = text.lines().count();
    let hidden = if count > MAX_LINES { count - (MAX_LINES - 1) } else { 0 };
    let head = if hidden > 0 { MAX_LINES - 1 - LAST_LINES } else { count };
    html! {
        @for (index, line) in text.lines().enumerate() {
            @if hidden > 0 && index == head {
                "\n" span.cut { "… " (counted(hidden as u64, "line")) " more …" }
            }
            @if index < head || index >= head + hidden {
                @if index > 0 { "\n" }
                (cut(&plain_text(line), MAX_COLUMNS))
            }
        }
    }
}

/// At most so many characters, and how many more there are.
fn cut(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{} … {} more", &line[..at], counted(line[at..].chars().count() as u64, "character")),
        None => line.to_owned(),
    }
}
