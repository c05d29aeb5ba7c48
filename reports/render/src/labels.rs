//! Labels and cells that several renderers share.

use std::borrow::Cow;

use healbench_core::{Condition, ErrorFormat, Guardrails};
use unicode_width::UnicodeWidthStr as _;

use healbench_analysis::statistics::Interval;
use healbench_analysis::{Report, ReportRow, Verdict, verdict};
use healbench_text::{Paint, StyledSpan, TableCell, plain_text};

/// The note on rows of simulated readers.
pub(super) const READERS_NOTE: &str =
    "Rows of simulated readers (`scripted:`) show how far a text gets them, not how a real model behaves.";

/// Options of the terminal output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalOptions {
    /// The terminal's width in columns. Intervals are left out if they do not fit.
    pub width: usize,
    /// True if ANSI sequences may be used.
    pub color: bool,
    /// The amount of detail.
    pub detail: Detail,
    /// The largest number of lines; `None` for all rows and notes. What is left out is said.
    pub lines: Option<usize>,
}

/// Returns the first style for a difference that is clearly above 0, the second one for one that is clearly below. "Clear" is decided as in
/// the answer.
pub(super) fn paint_if_clear(interval: Option<Interval>, p_adjusted: Option<f64>, [above, below]: [Paint; 2]) -> Paint {
    match interval {
        Some(interval) if verdict(interval, p_adjusted) != Verdict::Clear => Paint::Plain,
        Some(interval) if interval.lower > 0.0 => above,
        Some(_) => below,
        None => Paint::Plain,
    }
}

/// The amount of detail of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// One table of success, recovery and cost, and the effect of each guardrail if the plan shows it.
    Summary,
    /// More tables: the reaction to errors, error chains, usage, and consistency over trials.
    Metrics,
    /// One more table: successes by scenario, which includes the negative controls.
    Scenarios,
}

/// The indentation of a level.
pub(super) const INDENT: &str = "  ";

/// An estimate and its interval before alignment.
pub(super) type Estimate = (StyledSpan, StyledSpan);

/// Aligns estimates with estimates and intervals with intervals.
pub(super) fn align_estimates(column: Vec<Estimate>) -> Vec<TableCell> {
    let width_of =
        |text: fn(&Estimate) -> &str| column.iter().map(|estimate| text(estimate).width()).max().unwrap_or(0);
    let (values, intervals) = (width_of(|(value, _)| &value.text), width_of(|(_, interval)| &interval.text));
    let gap = usize::from(intervals > 0);
    let cell = |(value, interval): Estimate| vec![value.pad_left(values), interval.pad_left(intervals + gap)];
    column.into_iter().map(cell).collect()
}

pub(super) fn plain_cell(text: String) -> TableCell {
    vec![StyledSpan::new(text, Paint::Plain)]
}

/// `sdk-typescript`, `all fusion-xml`: the short label of a condition.
pub(super) fn condition_label(condition: &Condition) -> String {
    // A template's file and a condition of the user may have any name.
    plain_text(&condition.short_label()).into_owned()
}

/// Returns true for the row that others are compared with.
pub(super) fn is_reference(report: &Report, row: &ReportRow) -> bool {
    report.reference.as_ref().is_some_and(|reference| *reference == row.condition.label())
}

/// `no guardrails`, or as [`condition_label`].
pub(super) fn row_label(row: &ReportRow) -> String {
    match row.condition.guardrails() == Guardrails::NONE && row.condition.is_plain() {
        true => "no guardrails".to_owned(),
        false => condition_label(&row.condition),
    }
}

/// The name of a format with a space before it.
pub(super) fn format_suffix(format: &str) -> String {
    if format == ErrorFormat::Bare.name() { String::new() } else { format!(" {}", plain_text(format)) }
}

pub(super) fn format_name(format: &ErrorFormat) -> Cow<'static, str> {
    match format {
        ErrorFormat::Bare => Cow::Borrowed(""),
        // A template's file may have any name.
        format => Cow::Owned(plain_text(&format.name()).into_owned()),
    }
}
