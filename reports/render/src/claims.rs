//! Claims with their measurements, as a table.

use healbench_core::{Measure, Span};

use super::labels::{INDENT, align_estimates, condition_label, plain_cell};
use super::number::{UNKNOWN, amount, rate_percent};
use healbench_analysis::{ClaimReport, ClaimRow, ClaimVerdict};
use healbench_text::{Paint, StyledSpan, Table, TableCell, TableLine, plain_text, wrap};

/// Returns the table in lines of at most `width` columns.
pub(super) fn lines(claims: &[ClaimReport], width: usize, color: bool) -> Vec<String> {
    if claims.iter().all(|report| report.rows.is_empty()) {
        let note = "The scenarios make claims, but the plan has neither `none` nor `all`: no claim is checked.";
        return wrap(note, " ", width);
    }
    let with_intervals = table(claims, width, true);
    let table =
        if with_intervals.body_width() + INDENT.len() <= width { with_intervals } else { table(claims, width, false) };
    table.lines(width, color)
}

fn table(claims: &[ClaimReport], width: usize, intervals: bool) -> Table {
    let rows = || claims.iter().flat_map(|report| report.rows.iter().map(|row| (report.claim.measure, row)));
    let measured = align_estimates(rows().map(|(measure, row)| format_mean(measure, row, intervals)).collect());
    let mut measured = measured.into_iter();
    let mut lines = Vec::new();
    for report in claims {
        let title = format!("{}: {}", report.scenario, report.claim.says);
        for line in wrap(&plain_text(&title), " ", width) {
            lines.push(TableLine::Title(StyledSpan::new(line, Paint::Bold)));
        }
        for line in wrap(measure_title(report.claim.measure), " ", width.saturating_sub(INDENT.len())) {
            lines.push(TableLine::Title(StyledSpan::new(format!("{INDENT}{line}"), Paint::Dim)));
        }
        let mut agent = None;
        for row in &report.rows {
            if agent != Some(&row.title) {
                agent = Some(&row.title);
                lines.push(TableLine::Title(StyledSpan::new(
                    format!("{INDENT}{}", plain_text(&row.title)),
                    Paint::Plain,
                )));
            }
            let claimed = row.claimed.map_or(UNKNOWN.to_owned(), |span| format_range(report.claim.measure, span));
            let measured = measured.next().unwrap_or_default();
            let cells: Vec<TableCell> =
                vec![plain_cell(rate_percent(row.success)), measured, plain_cell(claimed), verdict(row)];
            let label = format!("{INDENT}{INDENT}{}", condition_label(&row.condition));
            lines.push(TableLine::Row { label, cells });
        }
    }
    let heads = [["success", "%"], ["measured", "mean"], ["claimed", "mean"], ["", "verdict"]];
    Table { heads: heads.map(|head| head.map(str::to_owned)).to_vec(), lines }
}

pub(super) fn measure_title(measure: Measure) -> &'static str {
    match measure {
        Measure::Calls => "calls per episode",
        Measure::Retries => "retries per episode",
        Measure::RepeatedCalls => "calls per episode that repeat a failed call",
        Measure::ResponseTokens => "tokens of the largest response",
        Measure::ResponseUsd(_) => "US dollars for the tokens of the largest response, at the claim's own price",
    }
}

pub(super) fn format_mean(measure: Measure, row: &ClaimRow, intervals: bool) -> (StyledSpan, StyledSpan) {
    let mean = row.mean.map_or(UNKNOWN.to_owned(), |mean| format_value(measure, mean));
    let interval = row.interval.filter(|_| intervals).map(|interval| {
        format!("[{}, {}]", format_value(measure, interval.lower), format_value(measure, interval.upper))
    });
    (StyledSpan::new(mean, Paint::Plain), StyledSpan::new(interval.unwrap_or_default(), Paint::Dim))
}

pub(super) fn format_range(measure: Measure, span: Span) -> String {
    format!("{} to {}", format_value(measure, span.from), format_value(measure, span.to))
}

pub(super) fn format_value(measure: Measure, value: f64) -> String {
    match measure {
        Measure::ResponseUsd(_) if value < 0.995 => format!("{value:.3}"),
        Measure::ResponseUsd(_) => format!("{value:.2}"),
        _ if value < 99.95 => format!("{value:.1}"),
        _ => amount(value),
    }
}

fn verdict(row: &ClaimRow) -> TableCell {
    let paint = match row.verdict {
        Some(ClaimVerdict::Supported) => Paint::Green,
        Some(ClaimVerdict::Lower | ClaimVerdict::Higher | ClaimVerdict::Same) => Paint::Red,
        Some(ClaimVerdict::Inconclusive) | None => Paint::Plain,
    };
    vec![StyledSpan::new(row.verdict.map_or("", verdict_text), paint)]
}

pub(super) fn verdict_text(verdict: ClaimVerdict) -> &'static str {
    match verdict {
        ClaimVerdict::Supported => "supported",
        ClaimVerdict::Lower => "lower",
        ClaimVerdict::Higher => "higher",
        ClaimVerdict::Same => "no reduction",
        ClaimVerdict::Inconclusive => "inconclusive",
    }
}

/// The note below the table.
pub(super) const NOTE: &str = "Claims: means over trials with Student's 95% interval. supported: the whole interval is within the claim, \
    which for a rough number reaches a fifth beyond it. lower, higher: no part of the interval is. inconclusive: some part is. Where \
    success is low, fewer calls are no saving, because the task was not finished.";
