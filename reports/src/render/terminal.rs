use std::borrow::Cow;

use healbench_protocol::{AgentKind, ErrorFormat};
use unicode_width::UnicodeWidthStr as _;

use super::ablation;
use super::layout::{Cell, Line, Paint, Piece, Table, wrap};
use super::number::{
    UNKNOWN, amount_per, count, counted, per, percent, percent_digits, percent_interval, points, points_interval,
    rate_percent,
};
use super::plain_text;
use crate::summary::{AgentReport, Report, ReportRow};

/// How a report is shown on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalOptions {
    /// Columns of the terminal. Intervals are left out where they do not fit.
    pub width: usize,
    /// Whether ANSI sequences may be used.
    pub color: bool,
    /// How much is shown.
    pub detail: Detail,
}

/// How much of a report is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// One table: success, recovery and cost; and where a plan shows it, what each guardrail is worth.
    Summary,
    /// A second table: first calls, chains, repeats, leaks, and what guardrails cost.
    Metrics,
    /// A third: successes by scenario, which is where negative controls are seen.
    Scenarios,
}

const SEPARATOR: &str = " · ";
pub(super) const INDENT: &str = "  ";

/// The report as text for a terminal, ending with a line break.
pub fn terminal(report: &Report, options: TerminalOptions) -> String {
    let mut lines = wrap(&title(report), SEPARATOR, options.width);
    lines.push(String::new());
    let mut table = summary(report, true);
    let intervals = table.body_width() + INDENT.len() < options.width;
    if !intervals {
        table = summary(report, false);
    }
    lines.extend(table.lines(options.width, options.color));
    if options.detail >= Detail::Metrics {
        lines.push(String::new());
        lines.extend(metrics(report).lines(options.width, options.color));
    }
    lines.extend(ablation::lines(report, options));
    if options.detail >= Detail::Scenarios {
        for agent in &report.agents {
            for table in scenarios(report, agent, options.width) {
                lines.push(String::new());
                lines.extend(table.lines(options.width, options.color));
            }
        }
    }
    lines.push(String::new());
    for note in notes(report, intervals).into_iter().chain(ablation::notes(report, options)) {
        lines.extend(wrap(&note, " ", options.width));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

fn title(report: &Report) -> String {
    let mut parts = Vec::new();
    match (report.scenarios.as_slice(), &report.suite) {
        ([only], _) => parts.push(plain_text(only).into_owned()),
        (_, suite) => {
            parts.extend(suite.as_deref().map(|suite| plain_text(suite).into_owned()));
            parts.push(counted(report.scenarios.len() as u64, "scenario"));
        }
    }
    parts.push(counted(report.agents.len() as u64, "agent"));
    parts.push(counted(u64::from(report.trials), "trial"));
    let done = report.totals.episodes;
    parts.push(if done == report.planned {
        counted(done, "episode")
    } else {
        format!("{} of {}", count(done), counted(report.planned, "episode"))
    });
    parts.push(format!("seed {}", report.seed));
    parts.join(SEPARATOR)
}

fn summary(report: &Report, intervals: bool) -> Table {
    let rows = || report.agents.iter().flat_map(|agent| &agent.rows);
    let success = estimates(rows().map(|row| success(row, intervals)).collect());
    let versus = estimates(rows().map(|row| versus_none(row, intervals)).collect());
    let mut estimates = success.into_iter().zip(versus);
    let heads = [
        ["success", "%"],
        ["vs none", "points"],
        ["recov-", "ered"],
        ["calls", "/ok"],
        ["tokens", "/ok"],
        ["tokens", "wasted"],
    ];
    table(&heads, report, |row| {
        let (success, versus) = estimates.next().unwrap_or_default();
        let mut cells = vec![success, versus];
        cells.extend([
            plain(rate_percent(row.episode_recovery)),
            plain(per(row.calls_per_success)),
            plain(amount_per(row.tokens_per_success)),
            plain(rate_percent(row.wasted_tokens)),
        ]);
        cells
    })
}

fn metrics(report: &Report) -> Table {
    let heads = [
        ["first call", "ok"],
        ["chains", "mended"],
        ["calls", "repeated"],
        ["false", "success"],
        ["fields", "leaked"],
        ["guardrail", "tokens"],
    ];
    table(&heads, report, |row| {
        vec![
            plain(rate_percent(row.first_call_success)),
            plain(rate_percent(row.chain_recovery)),
            plain(rate_percent(row.identical_repeats)),
            plain(rate_percent(row.false_success)),
            plain(count(row.leaked_fields)),
            plain(count(row.guardrail_tokens)),
        ]
    })
}

/// A table with a title for each agent and a line for each of its rows.
fn table(heads: &[[&str; 2]], report: &Report, mut cells: impl FnMut(&ReportRow) -> Vec<Cell>) -> Table {
    let mut lines = Vec::new();
    for agent in &report.agents {
        lines.push(Line::Title(Piece::new(plain_text(&agent.agent), Paint::Bold)));
        for row in &agent.rows {
            lines.push(Line::Row { label: format!("{INDENT}{}", setting(row)), cells: cells(row) });
        }
    }
    Table { heads: heads.iter().map(|head| head.map(str::to_owned)).collect(), lines }
}

/// Successes of one agent by scenario, a column a setting; as many tables as it takes to stay within the width.
fn scenarios(report: &Report, agent: &AgentReport, width: usize) -> Vec<Table> {
    let label = |scenario: &str| format!("{INDENT}{}", plain_text(scenario));
    let labels = report.scenarios.iter().map(|scenario| label(scenario).width()).max().unwrap_or(0);
    let build = |rows: &[ReportRow]| {
        let heads = rows.iter().map(|row| [row.guardrails.to_string(), format_name(row).into_owned()]).collect();
        let mut lines = vec![Line::Title(Piece::new(plain_text(&agent.agent), Paint::Bold))];
        for (index, scenario) in report.scenarios.iter().enumerate() {
            let cells = rows.iter().map(|row| {
                let success = row.scenarios.get(index).map(|cell| cell.success);
                plain(success.filter(|rate| rate.denominator > 0).map_or(UNKNOWN.to_owned(), |rate| {
                    format!("{}/{}", count(rate.numerator), count(rate.denominator))
                }))
            });
            lines.push(Line::Row { label: label(scenario), cells: cells.collect() });
        }
        Table { heads, lines }
    };
    // Long ids go on a line of their own rather than take the room of the columns.
    let room = width.saturating_sub(labels.min(width / 2));
    let mut tables = Vec::new();
    let mut rows = agent.rows.as_slice();
    while !rows.is_empty() {
        let fitting = (2..=rows.len()).take_while(|count| build(&rows[..*count]).body_width() <= room).last();
        let (now, later) = rows.split_at(fitting.unwrap_or(1));
        tables.push(build(now));
        rows = later;
    }
    tables
}

/// An estimate and its interval, each still without its alignment.
pub(super) type Estimate = (Piece, Piece);

fn success(row: &ReportRow, intervals: bool) -> Estimate {
    let interval = row.success_interval.filter(|_| intervals).map(percent_interval).unwrap_or_default();
    let rate = row.success.rate.map_or(UNKNOWN.to_owned(), percent_digits);
    (Piece::new(rate, Paint::Plain), Piece::new(interval, Paint::Dim))
}

fn versus_none(row: &ReportRow, intervals: bool) -> Estimate {
    let paired = row.vs_none;
    let paint = match paired.and_then(|paired| paired.interval) {
        Some(interval) if interval.lower > 0.0 => Paint::Green,
        Some(interval) if interval.upper < 0.0 => Paint::Red,
        _ => Paint::Plain,
    };
    let difference = paired.and_then(|paired| paired.difference).map_or(UNKNOWN.to_owned(), points);
    let interval = paired.and_then(|paired| paired.interval).filter(|_| intervals).map(points_interval);
    (Piece::new(difference, paint), Piece::new(interval.unwrap_or_default(), Paint::Dim))
}

/// Aligns estimates below estimates, and intervals below intervals.
pub(super) fn estimates(column: Vec<Estimate>) -> Vec<Cell> {
    let widest = |text: fn(&Estimate) -> &str| column.iter().map(|estimate| text(estimate).width()).max().unwrap_or(0);
    let (values, intervals) = (widest(|(value, _)| &value.text), widest(|(_, interval)| &interval.text));
    let gap = usize::from(intervals > 0);
    let cell = |(value, interval): Estimate| vec![value.pad_left(values), interval.pad_left(intervals + gap)];
    column.into_iter().map(cell).collect()
}

pub(super) fn plain(text: String) -> Cell {
    vec![Piece::new(text, Paint::Plain)]
}

fn setting(row: &ReportRow) -> String {
    let format = format_name(row);
    if format.is_empty() { row.guardrails.to_string() } else { format!("{} {format}", row.guardrails) }
}

/// The format, where there is a choice: without `healing` there is none.
fn format_name(row: &ReportRow) -> Cow<'static, str> {
    if row.format == ErrorFormat::Bare { Cow::Borrowed("") } else { row.format.name() }
}

fn notes(report: &Report, intervals: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let level = percent(report.confidence);
    notes.push(if intervals {
        format!("Intervals are {level}: Wilson for a rate, Tango for a paired difference (points).")
    } else {
        format!(
            "The {level} intervals are left out, for the terminal is too narrow. `vs none` is in percentage points."
        )
    });
    notes.push("recovered: success where something was scheduled to go wrong. /ok: per success.".to_owned());
    if report.agents.iter().any(|agent| agent.kind == AgentKind::Scripted) {
        notes.push("`scripted:` rows show what the texts say, and nothing about a real model.".to_owned());
    }
    let lost = [(report.totals.infra, "infrastructure"), (report.totals.config, "configuration")];
    let lost: Vec<String> = lost
        .into_iter()
        .filter(|(lost, _)| *lost > 0)
        .map(|(lost, reason)| format!("{} lost to {reason}", counted(lost, "episode")))
        .collect();
    if !lost.is_empty() {
        notes.push(format!("Not scored: {}.", lost.join(", ")));
    }
    if report.totals.unmatched > 0 {
        let unmatched = report.agents.iter().flat_map(|agent| {
            let rows = agent.rows.iter().filter_map(|row| Some((row, row.vs_none?.unmatched)));
            rows.filter(|(_, unmatched)| *unmatched > 0)
                .map(|(row, unmatched)| format!("{} {} {}", plain_text(&agent.agent), setting(row), count(unmatched)))
        });
        let unmatched: Vec<String> = unmatched.collect();
        notes.push(format!(
            "Left out of `vs none`, for one of the two episodes is missing or not scored: {}.",
            unmatched.join("; ")
        ));
    }
    notes
}
