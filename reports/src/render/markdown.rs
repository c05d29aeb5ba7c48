//! A report for a pull request: the answer, and as many rows as fit.

use super::ablation::{on_success, on_tokens, sections, title as ablation_title};
use super::number::{
    UNKNOWN, amount_per, change, change_interval, count, counted, money, p_value, percent, percent_interval, points,
    points_interval, rate_percent,
};
use super::partial::partial;
use super::plain_text;
use super::terminal::{Detail, Estimate, about_agents, left_out, name, setting, title};
use crate::comparison::{Matrix, MatrixCell};
use crate::metric::Metric;
use crate::statistics::Interval;
use crate::summary::{AgentReport, Paired, Report, ReportRow};

/// Lines that the text has at most.
const MOST_LINES: usize = 60;
/// Lines that are kept for the rows, whatever else there is to say.
const ROWS: usize = 12;
/// Agents that have a sentence of their own.
const SENTENCES: usize = 6;

/// The report as Markdown: at most 60 lines; what does not fit is named.
pub fn markdown(report: &Report) -> String {
    let mut head = vec![format!("## healbench: {}", escape(&title(report))), String::new()];
    head.extend(whole(report));
    head.extend(answers(report));
    let notes = notes(report);
    let mut missing = if report.claims.is_empty() { Vec::new() } else { vec!["claims"] };
    let mut tables = Vec::new();
    // The rows are cut; the other tables are there whole, or not at all.
    let mut room = MOST_LINES.saturating_sub(head.len() + notes.len() + ROWS + 2);
    let effects = ("effects of guardrails", effects(report));
    let matrix = ("matrix", report.matrix.as_ref().map(matrix).unwrap_or_default());
    for (name, table) in [effects, matrix] {
        if table.len() <= room {
            room -= table.len();
            tables.extend(table);
        } else {
            missing.push(name);
        }
    }
    let mut lines = head;
    lines.extend(rows(report, room + ROWS));
    lines.extend(tables);
    lines.push(String::new());
    if !missing.is_empty() {
        lines.push(format!("Left out here; `healbench report RUN --html FILE` has: {}.", missing.join(", ")));
    }
    lines.extend(notes);
    lines.join("\n") + "\n"
}

/// That the run is not whole, where it is not.
fn whole(report: &Report) -> Vec<String> {
    partial(report).into_iter().flat_map(|(what, rest)| [format!("**{what}**: {rest}"), String::new()]).collect()
}

/// A sentence for each agent.
fn answers(report: &Report) -> Vec<String> {
    let Some(contrast) = report.contrast else { return Vec::new() };
    let mut lines: Vec<String> = Vec::new();
    for agent in report.agents.iter().take(SENTENCES) {
        lines.push(answer(agent, &agent.rows[contrast.left], &agent.rows[contrast.right]));
    }
    if report.agents.len() > SENTENCES {
        lines.push(format!("- and {} more", count((report.agents.len() - SENTENCES) as u64)));
    }
    lines.push(String::new());
    lines
}

fn answer(agent: &AgentReport, left: &ReportRow, right: &ReportRow) -> String {
    let Some(beside) = agent.beside else { return String::new() };
    let [before, after] = beside.success_rates.map(rate_percent);
    let mut text = format!(
        "- **{}**: {before} of episodes succeed with {}, {after} with {}",
        escape(&agent.title),
        escape(&name(left)),
        escape(&name(right)),
    );
    if let Some(difference) = beside.success.difference {
        let interval = within(beside.success.interval, points_interval);
        text.push_str(&format!(
            ": **{} points**{interval}, p {}",
            points(difference),
            p_value(beside.success.p_adjusted)
        ));
    }
    if let Some(difference) = beside.tokens.difference {
        let interval = within(beside.tokens.interval, change_interval);
        text.push_str(&format!("; tokens an episode {}{interval}", change(difference)));
    }
    let [before, after] = beside.tokens_per_success.map(amount_per);
    text.push_str(&format!("; tokens a success {before} → {after}"));
    if left.model.is_some() || right.model.is_some() {
        let [before, after] = [left, right].map(|row| row.cost_per_success.map_or(UNKNOWN.to_owned(), money));
        text.push_str(&format!("; US $ a success {before} → {after}"));
    }
    if beside.success.unmatched > 0 {
        text.push_str(&format!("; {} left out, without a scored partner", counted(beside.success.unmatched, "trial")));
    }
    text
}

fn within(interval: Option<Interval>, text: fn(Interval) -> String) -> String {
    interval.map(|interval| format!(" {}", text(interval))).unwrap_or_default()
}

/// The rows in at most `room` lines.
fn rows(report: &Report, room: usize) -> Vec<String> {
    let mut lines = vec![
        "| agent | setting | success | vs none | recovered | tokens/ok | wasted |".to_owned(),
        "|---|---|---:|---:|---:|---:|---:|".to_owned(),
    ];
    let rows: Vec<String> = report
        .agents
        .iter()
        .flat_map(|agent| {
            agent.rows.iter().map(move |row| {
                let versus = row.vs_none.and_then(versus).unwrap_or_default();
                let cells = [
                    escape(&agent.title),
                    escape(&setting(row.guardrails, &row.format)),
                    format!("{}{}", rate_percent(row.success), within(row.success_interval, percent_interval)),
                    versus,
                    rate_percent(row.episode_recovery),
                    amount_per(row.tokens_per_success),
                    rate_percent(row.wasted_tokens),
                ];
                format!("| {} |", cells.join(" | "))
            })
        })
        .collect();
    let fitting = if rows.len() + 2 <= room { rows.len() } else { room.saturating_sub(4) };
    lines.extend(rows.iter().take(fitting).cloned());
    if fitting < rows.len() {
        let more = count((rows.len() - fitting) as u64);
        lines.extend([String::new(), format!("and {more} more rows: `healbench report RUN --csv` has all")]);
    }
    lines
}

fn versus(paired: Paired) -> Option<String> {
    Some(format!("{}{}", points(paired.difference?), within(paired.interval, points_interval)))
}

fn effects(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for ablation in &report.ablation {
        for (about, effects) in sections(ablation, Detail::Summary) {
            for effect in effects {
                let label = effect.switches.to_string().replace('+', " × ");
                let [success, tokens] = [on_success(effect, true), on_tokens(effect, true)].map(joined);
                lines.push(format!(
                    "| {} | {about} | {label} | {success} | {tokens} |",
                    escape(&ablation_title(ablation))
                ));
            }
        }
    }
    if !lines.is_empty() {
        let head = ["", "| agent | effect of | switch | points | tokens/episode |", "|---|---|---|---:|---:|"];
        lines.splice(0..0, head.map(str::to_owned));
    }
    lines
}

fn joined((value, interval): Estimate) -> String {
    format!("{} {}", value.text, interval.text).trim_end().to_owned()
}

fn matrix(found: &Matrix) -> Vec<String> {
    let titles: Vec<String> = found.columns.iter().map(|column| escape(&column.title)).collect();
    let mut lines = vec![
        String::new(),
        format!("| beside {} | {} |", escape(&found.reference), titles.join(" | ")),
        format!("|---|{}", "---:|".repeat(titles.len())),
    ];
    for (index, row) in found.rows.iter().enumerate() {
        let cells = found.columns.iter().map(|column| cell(column.cells.get(index).and_then(Option::as_ref)));
        lines.push(format!("| {} | {} |", escape(row), cells.collect::<Vec<_>>().join(" | ")));
    }
    lines
}

fn cell(cell: Option<&MatrixCell>) -> String {
    let Some(cell) = cell else { return String::new() };
    let success = cell.differences.iter().find(|entry| entry.metric == Metric::Success);
    let beside = success
        .and_then(|entry| Some(format!(" {}{}", points(entry.difference?), within(entry.interval, points_interval))));
    format!("{}{}", rate_percent(cell.success), beside.unwrap_or_default())
}

fn notes(report: &Report) -> Vec<String> {
    let level = percent(report.confidence);
    let mut notes = vec![format!(
        "Intervals are {level}: Wilson for a rate, Tango for points over pairs of the same scenario and trial, BCa bootstrap over \
         scenarios for tokens and for effects."
    )];
    if report.contrast.is_some() {
        notes.push("p: McNemar's mid-p, adjusted by Holm for the agents.".to_owned());
        if report.agents.iter().any(|agent| agent.beside.is_some_and(|beside| beside.success.unmatched > 0)) {
            notes.push("Sentences are over pairs, US $ and the table over all scored episodes.".to_owned());
        }
    }
    notes.extend(about_agents(report));
    notes.extend(left_out(report).iter().map(|note| escape(&note.replace('`', ""))));
    // One paragraph, whatever there is to say.
    vec![notes.join(" ")]
}

/// Data as it is, in Markdown's tables and within HTML alike: what either would take for its own is written as an entity, and a
/// blank without width keeps `@name` and `#1` from becoming a mention, which GitHub would send.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in plain_text(text).chars() {
        match c {
            '@' | '#' => safe.extend([c.to_string().as_str(), "&#8203;"]),
            '|' | '`' | '<' | '>' | '&' | '*' | '_' | '[' | ']' | '\\' | '~' | '$' => {
                safe.push_str(&format!("&#{};", u32::from(c)));
            }
            c => safe.push(c),
        }
    }
    safe
}
