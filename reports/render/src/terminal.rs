mod notes;
mod screen;

use unicode_width::UnicodeWidthStr as _;

pub(super) use self::notes::{agent_notes, exclusion_notes, readers_note};
use self::notes::{has_model, notes};
use super::ablation;
use super::answer::{Sentence, recorded_models, sentences};
use super::claims;
use super::labels::{
    Detail, Estimate, INDENT, TerminalOptions, align_estimates, clear_paint, condition_label, format_name,
    pair_interval, plain_cell, points_or_equal,
};
use super::number::{
    UNKNOWN, amount_interval, count, metric_value, money, percent, percent_digits, percent_interval, pluralize,
    points_interval, rate_amount, rate_percent, seconds, signed_amount,
};
use super::scenario_differences::scenario_sentences;
use super::warnings::incomplete_warnings;
use healbench_analysis::{
    AgentReport, Difference, EqualRows, Group, Report, ReportRow, RowMetric, RowMetricEntry, SelectedAgent, Selection,
    Verdict,
};
use healbench_text::{Paint, StyledSpan, Table, TableCell, TableLine, plain_text, wrap};

const SEPARATOR: &str = " · ";

/// Formats the report for a terminal, ending with a line break. The answer comes last.
pub fn terminal(report: &Report, options: TerminalOptions) -> String {
    let lines = match options.lines {
        Some(most) => screen::lines(report, options, most),
        None => full(report, options),
    };
    lines.join("\n") + "\n"
}

/// Returns all tables and notes.
fn full(report: &Report, options: TerminalOptions) -> Vec<String> {
    let mut lines = head(report, options.width);
    lines.push(String::new());
    let (table, intervals) = fitting_summary(report, &everything(report), options.width);
    lines.extend(table.lines(options.width, options.color));
    if options.detail >= Detail::Metrics {
        for table in metrics(report, options.width) {
            lines.push(String::new());
            lines.extend(table.lines(options.width, options.color));
        }
    }
    lines.extend(ablation::lines(report, &report.ablation, options));
    if options.detail >= Detail::Metrics {
        for agent in &report.agents {
            for table in by_family(report, agent, options.width) {
                lines.push(String::new());
                lines.extend(table.lines(options.width, options.color));
            }
        }
    }
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
    for note in notes(report, intervals, options.detail)
        .into_iter()
        .chain(ablation::notes(report, options))
        .chain(scenario_sentences(report))
    {
        lines.extend(wrap(&note, " ", options.width));
    }
    lines.push(String::new());
    lines.extend(sentences(&report.answer).into_iter().flat_map(|sentence| answer_lines(&sentence, options)));
    lines.extend(closing(report, options.width));
    lines
}

/// Returns the title and the warnings.
fn head(report: &Report, width: usize) -> Vec<String> {
    let mut lines = wrap(&title(report), SEPARATOR, width);
    for (what, rest) in incomplete_warnings(report) {
        lines.extend(wrap(&format!("{what}: {rest}"), " ", width));
    }
    lines
}

/// Wraps a sentence of the answer; bold if it is clear.
fn answer_lines(sentence: &Sentence, options: TerminalOptions) -> Vec<String> {
    let paint = if sentence.is_clear { Paint::Bold } else { Paint::Plain };
    let lines = wrap(&sentence.whole(), " ", options.width).into_iter();
    lines.map(|line| StyledSpan::new(line, paint).painted(options.color)).collect()
}

/// Returns what stands below the answer: what recorded models showed, or the note on simulated readers beside models.
fn closing(report: &Report, width: usize) -> Vec<String> {
    let notes = recorded_models(&report.answer).into_iter().chain(readers_note(report).filter(|_| has_model(report)));
    notes.flat_map(|note| wrap(&note, " ", width)).collect()
}

/// Selects every row, each on its own line.
fn everything(report: &Report) -> Selection {
    let rows =
        |agent: &AgentReport| (0..agent.rows.len()).map(|first| EqualRows { first, others: Vec::new() }).collect();
    let agents = report.agents.iter().enumerate();
    let total = report.agents.iter().map(|agent| agent.rows.len()).sum();
    let agents = agents.map(|(index, agent)| SelectedAgent { agent: index, rows: rows(agent) }).collect();
    Selection { agents, shown: total, total }
}

/// Builds the first table, with intervals if they fit.
fn fitting_summary(report: &Report, selection: &Selection, width: usize) -> (Table, bool) {
    let table = summary(report, selection, true);
    if table.body_width() + INDENT.len() < width {
        return (table, true);
    }
    (summary(report, selection, false), false)
}

/// Returns a line that describes the run.
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
    parts.extend(report.server.as_deref().map(|server| format!("server {}", plain_text(server))));
    parts.join(SEPARATOR)
}

fn summary(report: &Report, selection: &Selection, intervals: bool) -> Table {
    let shown = || {
        selection.agents.iter().flat_map(|selected| {
            let agent = &report.agents[selected.agent];
            selected.rows.iter().map(move |rows| &agent.rows[rows.first])
        })
    };
    let success = align_estimates(shown().map(|row| success(row, intervals)).collect());
    let versus = align_estimates(shown().map(|row| versus_reference(row, intervals)).collect());
    let mut estimates = success.into_iter().zip(versus);
    let heads = [["success", "%"], ["points vs", "reference"]].into_iter().chain(headers(Group::Outcome));
    let mut lines = Vec::new();
    for selected in &selection.agents {
        let agent = &report.agents[selected.agent];
        lines.push(TableLine::Title(StyledSpan::new(plain_text(&agent.title), Paint::Bold)));
        for rows in &selected.rows {
            let row = &agent.rows[rows.first];
            let (success, versus) = estimates.next().unwrap_or_default();
            let best = report.answer.best_condition(&agent.title) == Some(&row.condition.label());
            let mark = if best { BEST } else { INDENT };
            let cells = [success, versus].into_iter().chain(metric_cells(Group::Outcome, row)).collect();
            lines.push(TableLine::Row { label: format!("{mark}{}", equal_label(agent, rows)), cells });
        }
    }
    Table { heads: heads.map(|head| head.map(str::to_owned)).collect(), lines }
}

/// The mark of a row that is clearly better than all others.
const BEST: &str = "* ";

/// `sdk-typescript = +recovery`: the label of rows with the same results. A label that begins with the first one is shortened.
pub(super) fn equal_label(agent: &AgentReport, rows: &EqualRows) -> String {
    let label = |row: usize| {
        let row = &agent.rows[row];
        condition_label(&row.condition)
    };
    let first = label(rows.first);
    let others = rows.others.iter().map(|row| {
        let other = label(*row);
        other.strip_prefix(&first).map(str::to_owned).unwrap_or(other)
    });
    let others: Vec<String> = others.collect();
    match others.as_slice() {
        [] => first,
        [one] => format!("{first} = {one}"),
        _ => format!("{first} = {} others", count(others.len() as u64)),
    }
}

/// Returns the column headings of a group's metrics.
fn headers(group: Group) -> impl Iterator<Item = [&'static str; 2]> {
    RowMetricEntry::of_group(group).map(|entry| entry.header)
}

fn metric_cells(group: Group, row: &ReportRow) -> impl Iterator<Item = TableCell> {
    RowMetricEntry::of_group(group).map(|entry| plain_cell(metric_value(entry.unit, row.rate(entry.metric))))
}

/// Builds the tables of all metrics beyond the first table.
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

/// Builds the table of models' usage.
fn models(report: &Report) -> Table {
    let heads = [
        ["input", "/episode"],
        ["cached", "input"],
        ["output", "/episode"],
        ["reasoning", "output"],
        ["o200k /", "input"],
        ["o200k /", "output"],
        ["seconds", "/turn"],
        ["US $", "/episode"],
    ];
    let agents = report.agents.iter().filter(|agent| agent.opening.is_some());
    table_of(heads.to_vec(), agents, |row| match row.model {
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

/// Builds the table of agents' reactions to errors.
fn behavior(report: &Report) -> Table {
    table(headers(Group::Behavior).collect(), report, |row| metric_cells(Group::Behavior, row).collect())
}

/// Builds the table of error chains.
fn error_chains(report: &Report) -> Table {
    let rest = [["retries", "(median)"], ["within", "1"], ["within", "2"], ["within", "3"]];
    let heads = [["error", "chains"]].into_iter().chain(headers(Group::Chains)).chain(rest).collect();
    table(heads, report, |row| {
        let mut cells = vec![plain_cell(count(row.retries.fixed + row.retries.censored))];
        cells.extend(metric_cells(Group::Chains, row));
        cells.push(plain_cell(row.retries.median.median.map_or(UNKNOWN.to_owned(), |median| median.to_string())));
        cells.extend(row.repair_at.iter().map(|repair| plain_cell(rate_percent(repair.chains))));
        cells
    })
}

/// Builds the table of usage over all scored episodes.
fn cost(report: &Report, intervals: bool) -> Table {
    let heads = headers(Group::Cost).chain([["cost", "/success"], ["billed vs", "reference"]]).collect();
    let versus = report
        .agents
        .iter()
        .flat_map(|agent| &agent.rows)
        .map(|row| difference(row.billed_tokens_vs_reference, intervals));
    let mut versus = align_estimates(versus.collect()).into_iter();
    table(heads, report, |row| {
        let cost = plain_cell(row.cost_per_success.map_or(UNKNOWN.to_owned(), money));
        metric_cells(Group::Cost, row).chain([cost, versus.next().unwrap_or_default()]).collect()
    })
}

/// Builds the table of consistency: at least one of k trials, and all of k.
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
    let heads = heads.iter().map(|[first, second]| [first.as_str(), second.as_str()]).collect();
    table(heads, report, |row| {
        let any = row.passes.iter().map(|pass| share(pass.any));
        any.chain(row.passes.iter().map(|pass| share(pass.all))).collect()
    })
}

/// Formats a difference of any magnitude with its interval.
fn difference(found: Option<Difference>, intervals: bool) -> Estimate {
    let value = found.and_then(|found| found.difference).map_or(UNKNOWN.to_owned(), signed_amount);
    let interval = found.and_then(|found| found.interval).filter(|_| intervals).map(amount_interval);
    (StyledSpan::new(value, Paint::Plain), StyledSpan::new(interval.unwrap_or_default(), Paint::Dim))
}

/// Builds a table with a title per agent and a line per row.
fn table(heads: Vec<[&str; 2]>, report: &Report, cells: impl FnMut(&ReportRow) -> Vec<TableCell>) -> Table {
    table_of(heads, report.agents.iter(), cells)
}

fn table_of<'a>(
    heads: Vec<[&str; 2]>,
    agents: impl Iterator<Item = &'a AgentReport>,
    mut cells: impl FnMut(&ReportRow) -> Vec<TableCell>,
) -> Table {
    let mut lines = Vec::new();
    for agent in agents {
        lines.push(TableLine::Title(StyledSpan::new(plain_text(&agent.title), Paint::Bold)));
        for row in &agent.rows {
            lines.push(TableLine::Row {
                label: format!("{INDENT}{}", condition_label(&row.condition)),
                cells: cells(row),
            });
        }
    }
    Table { heads: heads.into_iter().map(|head| head.map(str::to_owned)).collect(), lines }
}

/// Builds tables of one agent's successes by scenario.
fn scenarios(report: &Report, agent: &AgentReport, width: usize) -> Vec<Table> {
    by_condition(agent, width, &report.scenarios, |row, index| {
        let success = row.scenarios.get(index).map(|cell| cell.success).filter(|rate| rate.denominator > 0);
        success.map_or(UNKNOWN.to_owned(), |rate| format!("{}/{}", count(rate.numerator), count(rate.denominator)))
    })
}

/// Builds tables of one agent's successes by family, with the differences to the reference; none for one family.
fn by_family(report: &Report, agent: &AgentReport, width: usize) -> Vec<Table> {
    let Some(row) = agent.rows.first().filter(|row| !row.families.is_empty()) else { return Vec::new() };
    let names: Vec<String> =
        row.families.iter().map(|family| format!("{} ({})", family.family, count(family.scenarios))).collect();
    let is_reference = |row: &ReportRow| report.reference.as_deref() == Some(row.condition.label().as_str());
    by_condition(agent, width, &names, |row, index| {
        let family = &row.families[index];
        let success = family.success.rate.map_or(UNKNOWN.to_owned(), percent);
        let verdict = if family.is_equal { Verdict::Equal } else { Verdict::Unknown };
        let difference = family.difference.filter(|_| !is_reference(row));
        let difference = difference.map(|of| format!(" {}", points_or_equal(of, verdict)));
        let interval = family.interval.map(|of| format!(" {}", points_interval(of)));
        format!("{success}{}{}", difference.unwrap_or_default(), interval.unwrap_or_default())
    })
}

/// Builds tables of one agent with a line for each name and one column per condition; as many as needed to stay within the width.
fn by_condition(
    agent: &AgentReport,
    width: usize,
    names: &[String],
    cell: impl Fn(&ReportRow, usize) -> String,
) -> Vec<Table> {
    let label = |name: &str| format!("{INDENT}{}", plain_text(name));
    let labels = names.iter().map(|name| label(name).width()).max().unwrap_or(0);
    let build = |rows: &[ReportRow]| {
        let heads = rows
            .iter()
            .map(|row| match row.condition.is_plain() {
                true => [row.condition.guardrails().to_string(), format_name(row.condition.format()).into_owned()],
                false => [plain_text(&row.condition.label()).into_owned(), String::new()],
            })
            .collect();
        let mut lines = vec![TableLine::Title(StyledSpan::new(plain_text(&agent.title), Paint::Bold))];
        for (index, name) in names.iter().enumerate() {
            let cells = rows.iter().map(|row| plain_cell(cell(row, index)));
            lines.push(TableLine::Row { label: label(name), cells: cells.collect() });
        }
        Table { heads, lines }
    };
    // Long ids are on their own line so that they do not narrow the columns.
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

fn success(row: &ReportRow, intervals: bool) -> Estimate {
    let interval = row.success_interval.filter(|_| intervals).map(percent_interval).unwrap_or_default();
    let rate = row.rate(RowMetric::Success).rate.map_or(UNKNOWN.to_owned(), percent_digits);
    (StyledSpan::new(rate, Paint::Plain), StyledSpan::new(interval, Paint::Dim))
}

fn versus_reference(row: &ReportRow, intervals: bool) -> Estimate {
    let paired = row.vs_reference;
    let verdict = paired.map_or(Verdict::Unknown, |paired| paired.verdict);
    let difference = paired.and_then(|paired| paired.difference);
    let paint = clear_paint(verdict, difference, [Paint::Green, Paint::Red]);
    let difference = difference.map_or(UNKNOWN.to_owned(), |difference| points_or_equal(difference, verdict));
    let interval = paired.and_then(|paired| paired.interval).filter(|_| intervals);
    let interval = interval.map(|interval| pair_interval(interval, verdict));
    (StyledSpan::new(difference, paint), StyledSpan::new(interval.unwrap_or_default(), Paint::Dim))
}
