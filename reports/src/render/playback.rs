//! An episode as a person reads it on a terminal. Everything that a file, an agent or an error text says is data here: it is shown,
//! never obeyed.

use healbench_record::{CallRecord, Outcome};

use super::layout::{Paint, Piece, wrap};
use super::spans;
use super::{counted, plain_text};
use crate::playback::{CallStep, Change, Mark, Playback, Step};

/// How a playback is shown on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaybackOptions {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether ANSI sequences may be used.
    pub color: bool,
    /// Whether long texts are shown to their last character.
    pub full: bool,
}

const SEPARATOR: &str = " · ";
/// Lines of a text that are shown; a list of thousands of rows says nothing that its beginning and end do not.
pub(super) const MAX_LINES: usize = 24;
/// Lines at the end of a text that is cut.
pub(super) const LAST_LINES: usize = 7;
/// Columns of a line that are shown.
pub(super) const MAX_COLUMNS: usize = 400;
/// Columns of a value that is told in words.
const MAX_VALUE_COLUMNS: usize = 60;
/// What stands before the lines of a text that have no label.
const BLANK: &str = "       ";

/// The playback as text for a terminal, ending with a line break.
pub fn playback(playback: &Playback, options: PlaybackOptions) -> String {
    let mut page = Page { out: String::new(), options };
    page.head(playback);
    for step in &playback.steps {
        page.step(step);
    }
    page.out.push('\n');
    for expectation in &playback.unmet {
        page.text("unmet  ", expectation, Paint::Red);
    }
    let paint = if playback.outcome == Outcome::Success { Paint::Green } else { Paint::Red };
    let ending = format!("{} after {}", playback.outcome, counted(u64::from(playback.calls), "call"));
    page.text("end    ", &ending, paint);
    page.out
}

/// A page in the making.
struct Page {
    out: String,
    options: PlaybackOptions,
}

impl Page {
    fn head(&mut self, playback: &Playback) {
        let Playback { scenario, agent, guardrails, format, trial, .. } = playback;
        let mut title = [
            plain_text(scenario).into_owned(),
            plain_text(agent).into_owned(),
            format!("{guardrails}/{}", plain_text(&format.name())),
            format!("trial {trial}"),
        ]
        .join(SEPARATOR);
        if let Some(episode) = playback.episode {
            title.push_str(&format!("{SEPARATOR}episode {episode}"));
        }
        for line in wrap(&title, SEPARATOR, self.options.width) {
            self.line("", vec![Piece::new(line, Paint::Bold)]);
        }
        if playback.episode.is_none() {
            self.text("", "Played now: the run has no episode of it under this setting.", Paint::Dim);
        }
        if !playback.description.is_empty() {
            self.text("", &playback.description, Paint::Dim);
        }
        self.out.push('\n');
        self.text("task   ", &playback.prompt, Paint::Plain);
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Waits { seconds } => {
                self.text("waits  ", &counted(u64::from(*seconds), "second"), Paint::Plain);
            }
            Step::Says(text) => self.said("says   ", text, Paint::Plain),
            Step::Call(call) => self.call(call),
            Step::Done(text) => self.said("done   ", text, Paint::Plain),
            Step::Answers(text) => self.said("answer ", text, Paint::Plain),
            Step::BrokenOff(text) => self.said("breaks ", text, Paint::Red),
            Step::GivesUp(text) => self.said("stops  ", text, Paint::Plain),
            Step::Failed(text) => self.said("failed ", text, Paint::Red),
        }
    }

    fn call(&mut self, call: &CallStep) {
        let CallStep { row, tool, arguments, .. } = call;
        self.out.push('\n');
        let mut pieces = vec![Piece::new(format!("{tool} "), Paint::Plain)];
        pieces.extend(arguments.iter().map(|piece| Piece::new(piece.text.as_str(), paint(piece.mark))));
        self.line(&format!("call {:<2}", row.call), pieces);
        if call.opening {
            self.text(BLANK, "the scheduled opening: the model was not asked", Paint::Dim);
        }
        if let Some(told) = told(call, self.options.full) {
            self.line(BLANK, vec![Piece::new(told, Paint::Dim)]);
        }
        let paint = if row.is_error { Paint::Red } else { Paint::Green };
        let verdict = row.error_class.as_deref().unwrap_or("OK");
        self.text("  →    ", &format!("{verdict}  {}", facts(row)), paint);
        self.said(BLANK, &call.response, Paint::Plain);
    }

    /// What somebody said, which may be nothing.
    fn said(&mut self, label: &str, text: &str, paint: Paint) {
        match text.is_empty() {
            true => self.line(label, vec![Piece::new("(nothing)", Paint::Dim)]),
            false => self.text(label, text, paint),
        }
    }

    /// Text under a label, a line at a time, cut in the middle where it is long.
    fn text(&mut self, label: &str, text: &str, paint: Paint) {
        let lines = text.lines().count();
        let hidden = match lines > MAX_LINES && !self.options.full {
            true => lines - (MAX_LINES - 1),
            false => 0,
        };
        let head = if hidden > 0 { MAX_LINES - 1 - LAST_LINES } else { lines };
        let blank = " ".repeat(label.chars().count());
        for (index, line) in text.lines().enumerate() {
            if hidden > 0 && index == head {
                let more = format!("… {} more …", counted(hidden as u64, "line"));
                self.line(&blank, vec![Piece::new(more, Paint::Dim)]);
            }
            if index < head || index >= head + hidden {
                let label = if index == 0 { label } else { &blank };
                self.line(label, vec![Piece::new(line, paint)]);
            }
        }
    }

    /// One line under a label, made plain, cut where it is long, and broken at the width.
    fn line(&mut self, label: &str, pieces: Vec<Piece>) {
        let most = if self.options.full { usize::MAX } else { MAX_COLUMNS };
        let pieces = spans::cut(pieces, most);
        let blank = " ".repeat(label.chars().count());
        let room = self.options.width.saturating_sub(blank.len()).max(1);
        for (index, row) in spans::wrap(&pieces, room).into_iter().enumerate() {
            let label = if index == 0 { label } else { &blank };
            let label = match label.trim().is_empty() {
                true => label.to_owned(),
                false => Piece::new(label, Paint::Dim).painted(self.options.color),
            };
            let row: String = row.iter().map(|piece| piece.painted(self.options.color)).collect();
            self.out.push_str(format!("{label}{row}").trim_end());
            self.out.push('\n');
        }
    }
}

/// What differs from the call that this one is compared with, in words.
pub(super) fn told(call: &CallStep, full: bool) -> Option<String> {
    let number = call.compared_with?;
    let mut told = match number + 1 == call.row.call {
        true => String::new(),
        false => format!("against call {number}: "),
    };
    if call.changes.is_empty() {
        told.push_str("the same arguments again");
    }
    let mut verb = "";
    for (index, change) in call.changes.iter().enumerate() {
        let now = match (&change.was, &change.now) {
            (Some(_), Some(_)) => "changes",
            (None, _) => "adds",
            (Some(_), None) => "drops",
        };
        told.push_str(match index {
            0 => "",
            _ if now == verb => ", ",
            _ => "; ",
        });
        if now != verb {
            told.push_str(now);
            told.push(' ');
            verb = now;
        }
        told.push_str(&words(change, full));
    }
    Some(told)
}

fn words(change: &Change, full: bool) -> String {
    let path = if change.path.is_empty() { "the arguments" } else { change.path.as_str() };
    let value = |value: &str| match full {
        true => plain_text(value).into_owned(),
        false => spans::shortened(value, MAX_VALUE_COLUMNS),
    };
    let path = value(path);
    match (&change.was, &change.now) {
        (Some(was), Some(now)) => format!("{path}: {} → {}", value(was), value(now)),
        (None, Some(now)) => format!("{path}: {}", value(now)),
        (_, None) => path,
    }
}

fn paint(mark: Mark) -> Paint {
    match mark {
        Mark::Same => Paint::Plain,
        Mark::Added => Paint::Added,
        Mark::Changed => Paint::Changed,
    }
}

/// What the row knows of the call that the agent does not.
pub(super) fn facts(row: &CallRecord) -> String {
    let tokens = |tokens: u32| counted(u64::from(tokens), "token");
    let mut facts =
        vec![format!("{} sent", tokens(row.request_tokens)), format!("{} back", tokens(row.response_tokens))];
    let mut add = |count: u32, noun: &str| {
        if count > 0 {
            facts.push(counted(u64::from(count), noun));
        }
    };
    add(row.guardrail_tokens, "guardrail token");
    add(row.omitted_rows, "omitted row");
    add(row.leaked_fields, "leaked field");
    add(row.contract_deltas, "contract change");
    if row.injected {
        facts.push("injected".to_owned());
    }
    if row.repeats_failed {
        facts.push("a call that failed before".to_owned());
    }
    facts.join(", ")
}
