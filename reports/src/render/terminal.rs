use std::borrow::Cow;

use healbench_protocol::{AgentKind, ErrorFormat, Guardrails, Opening};
use unicode_width::UnicodeWidthStr as _;

use super::ablation;
use super::claims;
use super::layout::{Paint, StyledSpan, Table, TableCell, TableLine, wrap};
use super::number::{
    UNKNOWN, amount_interval, count, money, percent, percent_digits, percent_interval, pluralize, points,
    points_interval, rate_amount, rate_decimal, rate_percent, seconds, signed_amount,
};
use super::plain_text;
use super::warnings::incomplete_warnings;
use crate::summary::{AgentReport, Difference, Report, ReportRow};

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
    /// A table for each further question: what agents did with what they were told, what became of error chains, what it took, and
    /// how sure a success is.
    Metrics,
    /// One more: successes by scenario, which is where negative controls are seen.
    Scenarios,
}

const SEPARATOR: &str = " · ";
pub(super) const INDENT: &str = "  ";

/// The report as text for a terminal, ending with a line break.
pub fn terminal(report: &Report, options: TerminalOptions) -> String {
    let mut lines = wrap(&title(report), SEPARATOR, options.width);
    for (what, rest) in incomplete_warnings(report) {
        lines.extend(wrap(&format!("{what}: {rest}"), " ", options.width));
    }
    lines.push(String::new());
    let mut table = summary(report, true);
    let intervals = table.body_width() + INDENT.len() < options.width;
    if !intervals {
        table = summary(report, false);
    }
    lines.extend(table.lines(options.width, options.color));
    if options.detail >= Detail::Metrics {
        for table in metrics(report, options.width) {
            lines.push(String::new());
            lines.extend(table.lines(options.width, options.color));
        }
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
    if !report.claims.is_empty() {
        lines.push(String::new());
        lines.extend(claims::lines(&report.claims, options.width, options.color));
    }
    lines.push(String::new());
    for note in notes(report, intervals, options.detail).into_iter().chain(ablation::notes(report, options)) {
        lines.extend(wrap(&note, " ", options.width));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// What the run is made of.
pub(super) fn title(report: &Report) -> String {
    let mut parts = Vec::new();
    match (report.scenarios.as_slice(), &report.suite) {
        ([only], _) => parts.push(plain_text(only).into_owned()),
        (_, suite) => {
            parts.extend(suite.as_deref().map(|suite| plain_text(suite).into_owned()));
            parts.push(pluralize(report.scenarios.len() as u64, "scenario"));
        }
    }
    parts.push(pluralize(report.agents.len() as u64, "agent"));
    parts.push(pluralize(u64::from(report.trials), "trial"));
    let done = report.totals.episodes;
    parts.push(if done == report.planned {
        pluralize(done, "episode")
    } else {
        format!("{} of {}", count(done), pluralize(report.planned, "episode"))
    });
    parts.push(format!("seed {}", report.seed));
    parts.join(SEPARATOR)
}

fn summary(report: &Report, intervals: bool) -> Table {
    let rows = || report.agents.iter().flat_map(|agent| &agent.rows);
    let success = align_estimates(rows().map(|row| success(row, intervals)).collect());
    let versus = align_estimates(rows().map(|row| versus_none(row, intervals)).collect());
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
            plain_cell(rate_percent(row.episode_recovery)),
            plain_cell(rate_decimal(row.calls_per_success)),
            plain_cell(rate_amount(row.tokens_per_success)),
            plain_cell(rate_percent(row.wasted_tokens)),
        ]);
        cells
    })
}

/// Every metric beyond the first table, a table a question.
fn metrics(report: &Report, width: usize) -> Vec<Table> {
    let mut cost_table = cost(report, true);
    if cost_table.body_width() + INDENT.len() > width {
        cost_table = cost(report, false);
    }
    let mut tables = vec![behavior(report), error_chains(report), cost_table, consistency(report)];
    if report.agents.iter().flat_map(|agent| &agent.rows).any(|row| row.model.is_some()) {
        tables.push(models(report));
    }
    tables
}

/// What models took.
fn models(report: &Report) -> Table {
    let heads = [
        ["input", "/episode"],
        ["of it", "cached"],
        ["output", "/episode"],
        ["of it", "reasoned"],
        ["o200k /", "input"],
        ["o200k /", "output"],
        ["seconds", "/turn"],
        ["US $", "/episode"],
    ];
    let agents = report.agents.iter().filter(|agent| agent.opening.is_some());
    table_of(&heads, agents, |row| match row.model {
        None => vec![plain_cell(UNKNOWN.to_owned()); heads.len()],
        Some(model) => vec![
            plain_cell(rate_amount(model.input_per_episode)),
            plain_cell(rate_percent(model.cache_read)),
            plain_cell(rate_amount(model.output_per_episode)),
            plain_cell(rate_percent(model.reasoning)),
            plain_cell(rate_percent(model.bpe_input)),
            plain_cell(rate_percent(model.bpe_output)),
            plain_cell(seconds(model.latency_ms_per_turn)),
            plain_cell(model.usd_per_episode.map_or(UNKNOWN.to_owned(), money)),
        ],
    })
}

/// What agents did with what they were told.
fn behavior(report: &Report) -> Table {
    let heads = [
        ["first call", "ok"],
        ["calls", "repeated"],
        ["error", "spirals"],
        ["hints", "taken"],
        ["false", "success"],
        ["fields", "leaked"],
    ];
    table(&heads, report, |row| {
        vec![
            plain_cell(rate_percent(row.first_call_success)),
            plain_cell(rate_percent(row.repeated_calls)),
            plain_cell(rate_percent(row.stuck)),
            plain_cell(rate_percent(row.hints_followed)),
            plain_cell(rate_percent(row.false_success)),
            plain_cell(count(row.leaked_fields)),
        ]
    })
}

/// What became of error chains.
fn error_chains(report: &Report) -> Table {
    let mut heads = vec![["error", "chains"], ["", "mended"], ["median", "retries"]];
    heads.extend([["within", "1"], ["within", "2"], ["within", "3"]]);
    table(&heads, report, |row| {
        let mut cells = vec![
            plain_cell(count(row.retries.fixed + row.retries.censored)),
            plain_cell(rate_percent(row.errors_fixed)),
            plain_cell(row.retries.median.median.map_or(UNKNOWN.to_owned(), |median| median.to_string())),
        ];
        cells.extend(row.repair_at.iter().map(|repair| plain_cell(rate_percent(repair.chains))));
        cells
    })
}

/// What it took, over all scored episodes.
fn cost(report: &Report, intervals: bool) -> Table {
    let heads = [
        ["calls", "/episode"],
        ["tokens", "/episode"],
        ["vs none", "tokens"],
        ["guardrail", "tokens"],
        ["call", "efficiency"],
        ["cost", "/ok"],
    ];
    let versus =
        report.agents.iter().flat_map(|agent| &agent.rows).map(|row| difference(row.tokens_vs_none, intervals));
    let mut versus = align_estimates(versus.collect()).into_iter();
    table(&heads, report, |row| {
        vec![
            plain_cell(rate_decimal(row.calls_per_episode)),
            plain_cell(rate_amount(row.tokens_per_episode)),
            versus.next().unwrap_or_default(),
            plain_cell(count(row.guardrail_tokens)),
            plain_cell(rate_percent(row.call_efficiency)),
            plain_cell(row.cost_per_success.map_or(UNKNOWN.to_owned(), money)),
        ]
    })
}

/// How sure a success is: at least one of k trials, and all of k.
fn consistency(report: &Report) -> Table {
    let ks: Vec<u64> = report
        .agents
        .iter()
        .flat_map(|agent| &agent.rows)
        .take(1)
        .flat_map(|row| row.passes.iter().map(|pass| pass.k))
        .collect();
    let mut heads: Vec<[String; 2]> = ks.iter().map(|k| ["pass".to_owned(), format!("@{k}")]).collect();
    heads.extend(ks.iter().map(|k| ["pass".to_owned(), format!("^{k}")]));
    let share = |share: Option<f64>| plain_cell(share.map_or(UNKNOWN.to_owned(), percent));
    let heads: Vec<[&str; 2]> = heads.iter().map(|[first, second]| [first.as_str(), second.as_str()]).collect();
    table(&heads, report, |row| {
        let any = row.passes.iter().map(|pass| share(pass.any));
        any.chain(row.passes.iter().map(|pass| share(pass.all))).collect()
    })
}

/// A difference in a number that may be any size, with its interval.
fn difference(found: Option<Difference>, intervals: bool) -> Estimate {
    let value = found.and_then(|found| found.difference).map_or(UNKNOWN.to_owned(), signed_amount);
    let interval = found.and_then(|found| found.interval).filter(|_| intervals).map(amount_interval);
    (StyledSpan::new(value, Paint::Plain), StyledSpan::new(interval.unwrap_or_default(), Paint::Dim))
}

/// A table with a title for each agent and a line for each of its rows.
fn table(heads: &[[&str; 2]], report: &Report, cells: impl FnMut(&ReportRow) -> Vec<TableCell>) -> Table {
    table_of(heads, report.agents.iter(), cells)
}

fn table_of<'a>(
    heads: &[[&str; 2]],
    agents: impl Iterator<Item = &'a AgentReport>,
    mut cells: impl FnMut(&ReportRow) -> Vec<TableCell>,
) -> Table {
    let mut lines = Vec::new();
    for agent in agents {
        lines.push(TableLine::Title(StyledSpan::new(plain_text(&agent.title), Paint::Bold)));
        for row in &agent.rows {
            lines.push(TableLine::Row {
                label: format!("{INDENT}{}", condition_label(row.guardrails, &row.format)),
                cells: cells(row),
            });
        }
    }
    Table { heads: heads.iter().map(|head| head.map(str::to_owned)).collect(), lines }
}

/// Successes of one agent by scenario, a column a setting; as many tables as it takes to stay within the width.
fn scenarios(report: &Report, agent: &AgentReport, width: usize) -> Vec<Table> {
    let label = |scenario: &str| format!("{INDENT}{}", plain_text(scenario));
    let labels = report.scenarios.iter().map(|scenario| label(scenario).width()).max().unwrap_or(0);
    let build = |rows: &[ReportRow]| {
        let heads =
            rows.iter().map(|row| [row.guardrails.to_string(), format_name(&row.format).into_owned()]).collect();
        let mut lines = vec![TableLine::Title(StyledSpan::new(plain_text(&agent.title), Paint::Bold))];
        for (index, scenario) in report.scenarios.iter().enumerate() {
            let cells = rows.iter().map(|row| {
                let success = row.scenarios.get(index).map(|cell| cell.success);
                plain_cell(success.filter(|rate| rate.denominator > 0).map_or(UNKNOWN.to_owned(), |rate| {
                    format!("{}/{}", count(rate.numerator), count(rate.denominator))
                }))
            });
            lines.push(TableLine::Row { label: label(scenario), cells: cells.collect() });
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
pub(super) type Estimate = (StyledSpan, StyledSpan);

fn success(row: &ReportRow, intervals: bool) -> Estimate {
    let interval = row.success_interval.filter(|_| intervals).map(percent_interval).unwrap_or_default();
    let rate = row.success.rate.map_or(UNKNOWN.to_owned(), percent_digits);
    (StyledSpan::new(rate, Paint::Plain), StyledSpan::new(interval, Paint::Dim))
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
    (StyledSpan::new(difference, paint), StyledSpan::new(interval.unwrap_or_default(), Paint::Dim))
}

/// Aligns estimates below estimates, and intervals below intervals.
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

/// `all fusion-xml`: guardrails, and the format where there is a choice. Without `healing` there is none.
pub(super) fn condition_label(guardrails: Guardrails, format: &ErrorFormat) -> String {
    let format = format_name(format);
    if format.is_empty() { guardrails.to_string() } else { format!("{guardrails} {format}") }
}

/// `no guardrails`, or the set and the format.
pub(super) fn row_label(row: &ReportRow) -> String {
    if row.guardrails.bits() == 0 { "no guardrails".to_owned() } else { condition_label(row.guardrails, &row.format) }
}

/// The same of a format's name, with a blank before it.
pub(super) fn format_suffix(format: &str) -> String {
    if format == ErrorFormat::Bare.name() { String::new() } else { format!(" {}", plain_text(format)) }
}

fn format_name(format: &ErrorFormat) -> Cow<'static, str> {
    match format {
        ErrorFormat::Bare => Cow::Borrowed(""),
        // A template's file may have any name.
        format => Cow::Owned(plain_text(&format.name()).into_owned()),
    }
}

fn notes(report: &Report, intervals: bool, detail: Detail) -> Vec<String> {
    let mut notes = Vec::new();
    let level = percent(report.confidence);
    notes.push(if intervals {
        format!("Intervals are {level}: Wilson for a rate, Tango for a paired difference (points).")
    } else {
        format!(
            "The {level} intervals are left out, for the terminal is too narrow. `vs none` is in percentage points."
        )
    });
    let bootstrapped = |row: &ReportRow| row.tokens_vs_none.is_some_and(|found| found.interval.is_some());
    if detail >= Detail::Metrics && report.agents.iter().flat_map(|agent| &agent.rows).any(bootstrapped) {
        notes.push("Intervals of a difference in tokens: BCa bootstrap over scenarios.".to_owned());
    }
    if detail >= Detail::Metrics {
        notes.push(
            "median retries: Kaplan and Meier's, for chains as long as they were tried; what was given up counts as cut off.".to_owned(),
        );
    }
    notes.push("recovered: success where something was scheduled to go wrong. /ok: per success.".to_owned());
    notes.extend(agent_notes(report));
    if detail >= Detail::Metrics && report.agents.iter().any(|agent| agent.opening.is_some()) {
        notes.push(
            "o200k /: exact o200k_base counts of what was sent and said, as a share of the provider's counts."
                .to_owned(),
        );
    }
    if !report.claims.is_empty() {
        notes.push(claims::NOTE.to_owned());
    }
    notes.extend(exclusion_notes(report));
    notes
}

/// What has to be known of the agents.
pub(super) fn agent_notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    if report.agents.iter().any(|agent| agent.kind == AgentKind::Scripted) {
        notes.push("`scripted:` rows show what the texts say, and nothing about a real model.".to_owned());
    }
    if report.agents.iter().any(|agent| agent.opening == Some(Opening::Seeded)) {
        notes
            .push("seeded: the scheduled mistake stands in the conversation as the model's own first call.".to_owned());
    }
    notes
}

/// Episodes that do not count, and why.
pub(super) fn exclusion_notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    let lost = [(report.totals.infra, "infrastructure"), (report.totals.config, "configuration")];
    let lost: Vec<String> = lost
        .into_iter()
        .filter(|(lost, _)| *lost > 0)
        .map(|(lost, reason)| format!("{} lost to {reason}", pluralize(lost, "episode")))
        .collect();
    if !lost.is_empty() {
        notes.push(format!("Not scored: {}.", lost.join(", ")));
    }
    if report.totals.unmatched > 0 {
        let unmatched = report.agents.iter().flat_map(|agent| {
            let rows = agent.rows.iter().filter_map(|row| Some((row, row.vs_none?.unmatched)));
            rows.filter(|(_, unmatched)| *unmatched > 0).map(|(row, unmatched)| {
                format!(
                    "{} {} {}",
                    plain_text(&agent.title),
                    condition_label(row.guardrails, &row.format),
                    count(unmatched)
                )
            })
        });
        let unmatched: Vec<String> = unmatched.collect();
        notes.push(format!(
            "Left out of `vs none`, for one of the two episodes is missing or not scored: {}.",
            unmatched.join("; ")
        ));
    }
    notes
}
