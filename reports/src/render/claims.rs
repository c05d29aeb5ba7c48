//! Claims beside what was measured.

use healbench_protocol::{Measure, Span};

use super::layout::{Cell, Line, Paint, Piece, Table, wrap};
use super::number::{UNKNOWN, amount, rate_percent};
use super::plain_text;
use super::terminal::{INDENT, estimates, plain, setting};
use crate::summary::{ClaimReport, ClaimRow, ClaimVerdict};

/// The table of claims in lines of at most `width` columns.
pub(super) fn lines(claims: &[ClaimReport], width: usize, color: bool) -> Vec<String> {
    if claims.iter().all(|report| report.rows.is_empty()) {
        let note =
            "The scenarios hold claims, but the plan has neither `none` nor `all`: nothing is held against them.";
        return wrap(note, " ", width);
    }
    let whole = table(claims, width, true);
    let table = if whole.body_width() + INDENT.len() <= width { whole } else { table(claims, width, false) };
    table.lines(width, color)
}

fn table(claims: &[ClaimReport], width: usize, intervals: bool) -> Table {
    let rows = || claims.iter().flat_map(|report| report.rows.iter().map(|row| (report.claim.measure, row)));
    let measured = estimates(rows().map(|(measure, row)| measured(measure, row, intervals)).collect());
    let mut measured = measured.into_iter();
    let mut lines = Vec::new();
    for report in claims {
        let title = format!("{}: {}", report.scenario, report.claim.says);
        for line in wrap(&plain_text(&title), " ", width) {
            lines.push(Line::Title(Piece::new(line, Paint::Bold)));
        }
        for line in wrap(name(report.claim.measure), " ", width.saturating_sub(INDENT.len())) {
            lines.push(Line::Title(Piece::new(format!("{INDENT}{line}"), Paint::Dim)));
        }
        let mut agent = None;
        for row in &report.rows {
            if agent != Some(&row.title) {
                agent = Some(&row.title);
                lines.push(Line::Title(Piece::new(format!("{INDENT}{}", plain_text(&row.title)), Paint::Plain)));
            }
            let claimed = row.claimed.map_or(UNKNOWN.to_owned(), |span| range(report.claim.measure, span));
            let measured = measured.next().unwrap_or_default();
            let cells: Vec<Cell> = vec![plain(rate_percent(row.success)), measured, plain(claimed), verdict(row)];
            let label = format!("{INDENT}{INDENT}{}", setting(row.guardrails, &row.format));
            lines.push(Line::Row { label, cells });
        }
    }
    let heads = [["success", "%"], ["measured", "mean"], ["claimed", "mean"], ["borne", "out"]];
    Table { heads: heads.map(|head| head.map(str::to_owned)).to_vec(), lines }
}

pub(super) fn name(measure: Measure) -> &'static str {
    match measure {
        Measure::Calls => "calls an episode",
        Measure::Retries => "retries an episode",
        Measure::RepeatedCalls => "calls an episode that repeat a failed one",
        Measure::ResponseTokens => "tokens of the largest response",
        Measure::ResponseUsd(_) => "US dollars for the tokens of the largest response, at the claim's own price",
    }
}

pub(super) fn measured(measure: Measure, row: &ClaimRow, intervals: bool) -> (Piece, Piece) {
    let mean = row.mean.map_or(UNKNOWN.to_owned(), |mean| number(measure, mean));
    let interval = row
        .interval
        .filter(|_| intervals)
        .map(|interval| format!("[{}, {}]", number(measure, interval.lower), number(measure, interval.upper)));
    (Piece::new(mean, Paint::Plain), Piece::new(interval.unwrap_or_default(), Paint::Dim))
}

pub(super) fn range(measure: Measure, span: Span) -> String {
    format!("{} to {}", number(measure, span.from), number(measure, span.to))
}

pub(super) fn number(measure: Measure, value: f64) -> String {
    match measure {
        Measure::ResponseUsd(_) if value < 0.995 => format!("{value:.3}"),
        Measure::ResponseUsd(_) => format!("{value:.2}"),
        _ if value < 99.95 => format!("{value:.1}"),
        _ => amount(value),
    }
}

fn verdict(row: &ClaimRow) -> Cell {
    let paint = match row.verdict {
        Some(ClaimVerdict::BorneOut) => Paint::Green,
        Some(ClaimVerdict::Lower | ClaimVerdict::Higher | ClaimVerdict::Same) => Paint::Red,
        Some(ClaimVerdict::CannotTell) | None => Paint::Plain,
    };
    vec![Piece::new(row.verdict.map_or("", word), paint)]
}

/// A verdict in words.
pub(super) fn word(verdict: ClaimVerdict) -> &'static str {
    match verdict {
        ClaimVerdict::BorneOut => "yes",
        ClaimVerdict::Lower => "no: lower",
        ClaimVerdict::Higher => "no: higher",
        ClaimVerdict::Same => "no: the same",
        ClaimVerdict::CannotTell => "cannot tell",
    }
}

/// What has to be said beside the table.
pub(super) const NOTE: &str = "Claims: means over trials with Student's 95% interval. Borne out: yes when the whole interval is within \
    what is claimed (within a fifth of a number that is claimed roughly), no when none of it is, else it cannot be told. Where \
    success is low, fewer calls are no saving: the task was not finished.";
