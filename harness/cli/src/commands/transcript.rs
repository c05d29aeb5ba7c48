//! One episode as a person reads it. Everything that a file, an agent or an error text says is data here: it is shown, never
//! obeyed.

use std::fmt::Write as _;

use healbench_protocol::Turn;
use healbench_record::{CallRecord, CellRef, EpisodeRecord, Outcome};
use healbench_reports::render::{counted, plain_text};
use healbench_runner::Moment;

use crate::load::Cast;

/// Lines of a response that are shown; a list of thousands of rows says nothing that its beginning and end do not.
const MAX_LINES: usize = 24;
/// Characters of a line that are shown.
const MAX_COLUMNS: usize = 400;

/// A transcript in the making.
pub(crate) struct Transcript {
    out: String,
    color: bool,
}

#[derive(Clone, Copy)]
enum Style {
    Bold,
    Dim,
    Red,
    Green,
}

impl Transcript {
    /// Begins with what the episode is and what the agent was asked.
    pub(crate) fn begin(cast: &Cast, episode: u64, cell: CellRef, color: bool) -> Transcript {
        let mut transcript = Transcript { out: String::new(), color };
        let scenario = &cast.scenarios[cell.scenario];
        let setting = &cast.plan.settings[cell.setting];
        let title = format!(
            "{} · {} · {}/{} · trial {} · episode {episode}",
            scenario.id, cast.plan.agents[cell.agent], setting.guardrails, setting.format, cell.trial
        );
        transcript.line(&[(Style::Bold, &title)]);
        if !scenario.description.is_empty() {
            transcript.block("", &scenario.description, Some(Style::Dim));
        }
        transcript.out.push('\n');
        transcript.block("task   ", &scenario.task.prompt, None);
        transcript
    }

    /// Adds what happened.
    pub(crate) fn add(&mut self, moment: &Moment<'_>) {
        match moment {
            Moment::Turn(Turn::Calls { waited_s, .. }, _) => {
                if *waited_s > 0 {
                    self.block("waits  ", &format!("{waited_s} seconds"), None);
                }
            }
            Moment::Turn(Turn::Say { text }, _) => self.block("says   ", text, None),
            Moment::Turn(Turn::Done { answer }, _) => self.block("done   ", answer, None),
            Moment::Turn(Turn::Answer { text }, _) => self.block("answer ", text, None),
            Moment::Turn(Turn::BrokenOff { text }, _) => self.block("breaks ", text, Some(Style::Red)),
            Moment::Turn(Turn::GiveUp { reason }, _) => self.block("stops  ", reason, None),
            Moment::Answer(call, answer, row) => {
                self.out.push('\n');
                self.block(&format!("call {:<2}", row.call), &format!("{} {}", call.tool, call.arguments), None);
                let style = if row.is_error { Style::Red } else { Style::Green };
                let verdict = row.error_class.as_deref().unwrap_or("OK");
                self.block("  →    ", &format!("{verdict}  {}", facts(row)), Some(style));
                self.block("       ", &answer.response.text(), None);
            }
            Moment::Failed(error) => self.block("failed ", &error.to_string(), Some(Style::Red)),
            Moment::End(_, unmet) => {
                self.out.push('\n');
                for expectation in *unmet {
                    self.block("unmet  ", expectation, Some(Style::Red));
                }
            }
        }
    }

    /// Ends with the outcome.
    pub(crate) fn finish(mut self, episode: &EpisodeRecord) -> String {
        let style = if episode.outcome == Outcome::Success { Style::Green } else { Style::Red };
        let text = format!("{} after {}", episode.outcome, counted(u64::from(episode.calls), "call"));
        self.block("end    ", &text, Some(style));
        self.out
    }

    /// Text under a label, a line at a time, cut where it is long.
    fn block(&mut self, label: &str, text: &str, style: Option<Style>) {
        let lines: Vec<&str> = text.lines().collect();
        let hidden = lines.len().saturating_sub(MAX_LINES);
        let head = if hidden > 0 { MAX_LINES - 8 } else { lines.len() };
        let blank = " ".repeat(label.chars().count());
        for (index, line) in lines.iter().enumerate() {
            let label = if index == 0 { label } else { &blank };
            if hidden > 0 && index == head {
                self.line(&[(Style::Dim, &format!("{blank}… {} more …", counted(hidden as u64 + 1, "line")))]);
            }
            if hidden == 0 || index < head || index > head + hidden {
                let shown = cut(&plain_text(line));
                match style {
                    Some(style) => self.line(&[(Style::Dim, label), (style, &shown)]),
                    None => {
                        let label = self.painted(Style::Dim, label);
                        let _ = writeln!(self.out, "{label}{shown}");
                    }
                }
            }
        }
    }

    fn line(&mut self, parts: &[(Style, &str)]) {
        for (style, text) in parts {
            let painted = self.painted(*style, text);
            self.out.push_str(&painted);
        }
        self.out.push('\n');
    }

    fn painted(&self, style: Style, text: &str) -> String {
        if !self.color || text.trim().is_empty() {
            return text.to_owned();
        }
        let code = match style {
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Red => "31",
            Style::Green => "32",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// What the row knows of the call that the agent does not.
fn facts(row: &CallRecord) -> String {
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
    if row.repeats_failed {
        facts.push("a call that failed before".to_owned());
    }
    facts.join(", ")
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(MAX_COLUMNS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
