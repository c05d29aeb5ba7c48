//! Labels and cells that several renderers share.

use std::borrow::Cow;

use healbench_core::{Condition, ErrorFormat, Guardrails};
use unicode_width::UnicodeWidthStr as _;

use super::number::{count, points, points_interval};
use healbench_analysis::statistics::Interval;
use healbench_analysis::{Report, ReportRow, Verdict};
use healbench_text::{Paint, StyledSpan, TableCell, plain_text};

/// The note on rows of simulated readers.
pub(super) const READERS_NOTE: &str =
    "Rows of simulated readers (`scripted:`) show how far a text gets them, not how a real model behaves.";

/// The words for [`Verdict::AsGood`].
pub(super) const AS_GOOD: &str = "as good, within 5 points";

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

/// Returns 1 for a difference that is clearly above 0, -1 for one that is clearly below, and 0 for any other.
pub(super) fn clear_sign(verdict: Verdict, difference: Option<f64>) -> i8 {
    match difference {
        Some(difference) if verdict == Verdict::Clear && difference > 0.0 => 1,
        Some(difference) if verdict == Verdict::Clear && difference < 0.0 => -1,
        _ => 0,
    }
}

/// Returns the first style for a difference that is clearly above 0, the second one for one that is clearly below.
pub(super) fn clear_paint(verdict: Verdict, difference: Option<f64>, [above, below]: [Paint; 2]) -> Paint {
    match clear_sign(verdict, difference) {
        1 => above,
        -1 => below,
        _ => Paint::Plain,
    }
}

/// A difference in points, or `equal` for equal outcomes in every trial.
pub(super) fn points_or_equal(difference: f64, verdict: Verdict) -> String {
    if verdict == Verdict::Equal { "equal".to_owned() } else { points(difference) }
}

/// The note on the mark of [`pair_interval`].
pub(super) const PAIR_NOTE: &str =
    "†: an interval of this pair alone. Adjusted for all that are compared, the difference is not clear.";

/// An interval in points, marked if it excludes 0 although the verdict, which is adjusted, is not clear: `[33, 90]†`.
pub(super) fn pair_interval(interval: Interval, verdict: Verdict) -> String {
    let mark = if verdict.is_of_pair_alone(interval) { "†" } else { "" };
    format!("{}{mark}", points_interval(interval))
}

/// The same in words: `[33, 90] of this pair alone`.
pub(super) fn pair_interval_in_words(interval: Interval, verdict: Verdict) -> String {
    let alone = if verdict.is_of_pair_alone(interval) { " of this pair alone" } else { "" };
    format!("{}{alone}", points_interval(interval))
}

/// Returns [`PAIR_NOTE`] if one of these intervals is marked.
pub(super) fn pair_note(shown: impl IntoIterator<Item = (Option<Interval>, Verdict)>) -> Option<&'static str> {
    let is_marked = |(interval, verdict): (Option<Interval>, Verdict)| {
        interval.is_some_and(|interval| verdict.is_of_pair_alone(interval))
    };
    shown.into_iter().any(is_marked).then_some(PAIR_NOTE)
}

/// Returns the intervals of the rows' differences to the reference.
pub(super) fn row_intervals(report: &Report) -> impl Iterator<Item = (Option<Interval>, Verdict)> {
    let rows = report.agents.iter().flat_map(|agent| &agent.rows);
    rows.filter_map(|row| row.vs_reference).map(|paired| (paired.interval, paired.verdict))
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

/// `a`, `a and b`, `a and 3 more scenarios`; empty without any.
pub(super) fn named_scenarios<S: AsRef<str>>(scenarios: &[S]) -> String {
    match scenarios {
        [] => String::new(),
        [only] => plain_text(only.as_ref()).into_owned(),
        [first, second] => format!("{} and {}", plain_text(first.as_ref()), plain_text(second.as_ref())),
        [first, rest @ ..] => {
            format!("{} and {} more scenarios", plain_text(first.as_ref()), count(rest.len() as u64))
        }
    }
}

/// ` in a and 3 more scenarios`; empty without any.
pub(super) fn in_scenarios<S: AsRef<str>>(scenarios: &[S]) -> String {
    if scenarios.is_empty() { String::new() } else { format!(" in {}", named_scenarios(scenarios)) }
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
