//! A transcript as text for a terminal. All text of files, agents and errors is escaped.

use healbench_core::{ChainEnd, ErrorKind, ErrorReading, Outcome};

use super::spans;
use healbench_analysis::{ArgumentChange, CallStep, SpanChange, Transcript, TranscriptStep};
use healbench_text::{Paint, StyledSpan, plain_text, pluralize, wrap};

/// Options of the terminal output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptOptions {
    /// The terminal's width in columns.
    pub width: usize,
    /// True if ANSI sequences may be used.
    pub color: bool,
    /// True if long texts are not truncated.
    pub full: bool,
}

const SEPARATOR: &str = " · ";
/// The largest number of lines of a text. The middle of a longer text is left out.
pub(super) const MAX_LINES: usize = 24;
/// The number of lines shown at the end of a truncated text.
pub(super) const LAST_LINES: usize = 7;
/// The largest number of columns of a line before wrapping.
pub(super) const MAX_COLUMNS: usize = 400;
/// The largest number of columns of a value in a sentence.
const MAX_VALUE_COLUMNS: usize = 60;
/// The indentation of lines without a label.
const EMPTY_LABEL: &str = "       ";

/// Formats the transcript for a terminal, ending with a line break.
pub fn transcript(transcript: &Transcript, options: TranscriptOptions) -> String {
    let mut writer = TranscriptWriter { out: String::new(), options };
    writer.head(transcript);
    for step in &transcript.steps {
        writer.step(step);
    }
    writer.out.push('\n');
    for expectation in &transcript.unmet {
        writer.text("unmet  ", expectation, Paint::Red);
    }
    let paint = match transcript.outcome {
        Outcome::Success => Paint::Green,
        Outcome::Unknown => Paint::Plain,
        _ => Paint::Red,
    };
    let ending = format!("{} after {}", transcript.outcome.words(), pluralize(u64::from(transcript.calls), "call"));
    writer.text("end    ", &ending, paint);
    writer.out
}

/// Formats the transcript as Markdown: its text in a fence that no line of it can close.
pub fn markdown_transcript(shown: &Transcript) -> String {
    let text = transcript(shown, TranscriptOptions { width: 100, color: false, full: true });
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0).max(2);
    let fence = "`".repeat(longest + 1);
    format!("{fence}text\n{text}{fence}\n")
}

struct TranscriptWriter {
    out: String,
    options: TranscriptOptions,
}

impl TranscriptWriter {
    fn head(&mut self, transcript: &Transcript) {
        let Transcript { scenario, agent, condition, trial, .. } = transcript;
        let mut title = [
            plain_text(scenario).into_owned(),
            plain_text(agent).into_owned(),
            plain_text(&condition.title()).into_owned(),
            format!("trial {trial}"),
        ]
        .join(SEPARATOR);
        if let Some(episode) = transcript.episode {
            title.push_str(&format!("{SEPARATOR}episode {episode}"));
        }
        for line in wrap(&title, SEPARATOR, self.options.width) {
            self.line("", vec![StyledSpan::new(line, Paint::Bold)]);
        }
        if transcript.episode.is_none() {
            self.text("", "Run now: the run has no episode under this condition.", Paint::Dim);
        }
        if !transcript.description.is_empty() {
            self.text("", &transcript.description, Paint::Dim);
        }
        self.out.push('\n');
        self.text("task   ", &transcript.prompt, Paint::Plain);
    }

    fn step(&mut self, step: &TranscriptStep) {
        match step {
            TranscriptStep::Wait { seconds } => {
                self.text("waits  ", &pluralize(u64::from(*seconds), "second"), Paint::Plain);
            }
            TranscriptStep::Message(text) => self.message("says   ", text, Paint::Plain),
            TranscriptStep::User(text) => self.message("user   ", text, Paint::Plain),
            TranscriptStep::Call(call) => self.call(call),
            TranscriptStep::Done(text) => self.message("done   ", text, Paint::Plain),
            TranscriptStep::Answer(text) => self.message("answer ", text, Paint::Plain),
            TranscriptStep::Incomplete(text) => self.message("breaks ", text, Paint::Red),
            TranscriptStep::GiveUp(text) => self.message("stops  ", text, Paint::Plain),
            TranscriptStep::Refused(text) => self.message("refuses", text, Paint::Red),
            TranscriptStep::Failed(text) => self.message("failed ", text, Paint::Red),
            TranscriptStep::Program(text) => self.message("report ", text, Paint::Dim),
        }
    }

    fn call(&mut self, call: &CallStep) {
        let CallStep { row, tool, arguments, .. } = call;
        self.out.push('\n');
        let mut spans = vec![StyledSpan::new(format!("{tool} "), Paint::Plain)];
        spans.extend(arguments.iter().map(|span| StyledSpan::new(span.text.as_str(), paint(span.change))));
        self.line(&format!("{:<7}", format!("call {} ", row.call)), spans);
        if call.opening {
            self.text(EMPTY_LABEL, "scheduled opening: no request was sent to the model", Paint::Dim);
        }
        if let Some(text) = describe_changes(call, self.options.full) {
            self.line(EMPTY_LABEL, vec![StyledSpan::new(text, Paint::Dim)]);
        }
        let (verdict, paint) = verdict(call);
        self.text("  →    ", &format!("{verdict}  {}", call_details(call)), paint);
        self.message(EMPTY_LABEL, &call.response, Paint::Plain);
    }

    /// Writes a message, which may be empty.
    fn message(&mut self, label: &str, text: &str, paint: Paint) {
        match text.is_empty() {
            true => self.line(label, vec![StyledSpan::new("(nothing)", Paint::Dim)]),
            false => self.text(label, text, paint),
        }
    }

    /// Writes a text under a label line by line, truncated in the middle if it is long.
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
                let more = format!("… {} more …", pluralize(hidden as u64, "line"));
                self.line(&blank, vec![StyledSpan::new(more, Paint::Dim)]);
            }
            if index < head || index >= head + hidden {
                let label = if index == 0 { label } else { &blank };
                self.line(label, vec![StyledSpan::new(line, paint)]);
            }
        }
    }

    /// Writes one line under a label: escaped, truncated and wrapped.
    fn line(&mut self, label: &str, spans: Vec<StyledSpan>) {
        let max_columns = if self.options.full { usize::MAX } else { MAX_COLUMNS };
        let spans = spans::truncate(spans, max_columns);
        let blank = " ".repeat(label.chars().count());
        let room = self.options.width.saturating_sub(blank.len()).max(1);
        for (index, row) in spans::wrap(&spans, room).into_iter().enumerate() {
            let label = if index == 0 { label } else { &blank };
            let label = match label.trim().is_empty() {
                true => label.to_owned(),
                false => StyledSpan::new(label, Paint::Dim).painted(self.options.color),
            };
            let row: String = row.iter().map(|span| span.painted(self.options.color)).collect();
            self.out.push_str(format!("{label}{row}").trim_end());
            self.out.push('\n');
        }
    }
}

/// Describes the differences from the call that this one is compared with.
pub(super) fn describe_changes(call: &CallStep, full: bool) -> Option<String> {
    let number = call.compared_with?;
    let mut text = match number + 1 == call.row.call {
        true => String::new(),
        false => format!("against call {number}: "),
    };
    if call.changes.is_empty() {
        text.push_str("the same arguments again");
    }
    let mut verb = "";
    for (index, change) in call.changes.iter().enumerate() {
        let now = match (&change.was, &change.now) {
            (Some(_), Some(_)) => "changes",
            (None, _) => "adds",
            (Some(_), None) => "drops",
        };
        text.push_str(match index {
            0 => "",
            _ if now == verb => ", ",
            _ => "; ",
        });
        if now != verb {
            text.push_str(now);
            text.push(' ');
            verb = now;
        }
        text.push_str(&describe_change(change, full));
    }
    Some(text)
}

fn describe_change(change: &ArgumentChange, full: bool) -> String {
    let path = if change.path.is_empty() { "the arguments" } else { change.path.as_str() };
    let value = |value: &str| match full {
        true => plain_text(value).into_owned(),
        false => spans::elide_middle(value, MAX_VALUE_COLUMNS),
    };
    let path = value(path);
    match (&change.was, &change.now) {
        (Some(was), Some(now)) => format!("{path}: {} → {}", value(was), value(now)),
        (None, Some(now)) => format!("{path}: {}", value(now)),
        (_, None) => path,
    }
}

fn paint(mark: SpanChange) -> Paint {
    match mark {
        SpanChange::Same => Paint::Plain,
        SpanChange::Added => Paint::Added,
        SpanChange::Changed => Paint::Changed,
    }
}

/// Describes the properties of the call that the agent does not see.
pub(super) fn call_details(call: &CallStep) -> String {
    let row = &call.row;
    let tokens = |tokens: u32| pluralize(u64::from(tokens), "token");
    let mut details =
        vec![format!("{} sent", tokens(row.request_tokens)), format!("{} back", tokens(row.response_tokens))];
    let mut add = |count: u32, noun: &str| {
        if count > 0 {
            details.push(pluralize(u64::from(count), noun));
        }
    };
    add(row.guardrail_tokens, "guardrail token");
    add(row.omitted_rows, "omitted row");
    add(row.leaked_fields.unwrap_or(0), "leaked field");
    add(row.contract_deltas, "contract change");
    if row.injected {
        details.push("injected".to_owned());
    }
    if row.repeated {
        details.push("a call that failed before".to_owned());
    }
    if row.chain_end == Some(ChainEnd::WrongRepair) {
        details.push("a wrong repair".to_owned());
    }
    // To try again is something that a reader can do.
    let found_nothing = |found: &ErrorReading| {
        !(found.names_field || found.states_remedy || found.names_tool || found.kind == ErrorKind::Transient)
    };
    // The reader here reads the text without a script; one that acts on the text has found something.
    if row.reading.as_ref().is_some_and(found_nothing) && !call.acted_on {
        details.push("the reader found nothing that it can act on".to_owned());
    }
    details.join(", ")
}

/// Returns `OK`, or the class of the error, and the color of both. A trace has no classes, may lack the result, and may have calls that
/// the user refused; these have neither failed nor succeeded.
pub(super) fn verdict(call: &CallStep) -> (&str, Paint) {
    let row = &call.row;
    let paint = if row.is_error { Paint::Red } else { Paint::Green };
    match &row.error_class {
        Some(class) => (class.name(), paint),
        None if row.is_error => ("ERROR", paint),
        None if call.refused => ("REFUSED", Paint::Plain),
        None if (row.response_hash, row.response_tokens) == (0, 0) => ("NO RESULT", Paint::Plain),
        None => ("OK", paint),
    }
}
