//! A report for a pull request: the main results, and as many rows as fit.

use healbench_text::escape_markdown;

use super::ablation::{self, ablation_title, sections, success_effect, token_effect};
use super::answer::{recorded_models, sentences};
use super::errors::{left_out, markdown_section};
use super::labels::{
    Detail, Estimate, pair_interval, pair_interval_in_words, pair_note, points_or_equal, row_intervals, row_label,
};
use super::matrix::{interaction_label, interaction_note, intervals as matrix_intervals};
use super::methods::Methods;
use super::number::{
    UNKNOWN, amount_interval, count, money, p_value, percent, percent_interval, pluralize, points, points_interval,
    rate_amount, rate_percent, signed_amount,
};
use super::terminal::{agent_notes, equal_label, exclusion_notes, readers_note, title};
use super::warnings::incomplete_warnings;
use healbench_analysis::statistics::Interval;
use healbench_analysis::{
    AgentReport, EqualRows, ErrorTexts, Matrix, MatrixCell, Metric, PairedDifference, Report, ReportRow, RowMetric,
    Verdict, select,
};

/// The largest number of lines.
const MAX_LINES: usize = 60;
/// The number of lines reserved for the rows.
const MIN_ROW_LINES: usize = 12;
/// The largest number of agents with their own sentence.
const MAX_SENTENCES: usize = 6;

/// Formats the report as Markdown of at most 60 lines; the text says what was left out.
pub fn markdown(report: &Report) -> String {
    let mut head = vec![format!("## healbench: {}", escape_markdown(&title(report))), String::new()];
    head.extend(incomplete_notice(report));
    head.extend(answer(report));
    head.extend(headline_sentences(report));
    let notes = notes(report);
    let mut missing = if report.claims.is_empty() { Vec::new() } else { vec!["claims"] };
    let mut tables = Vec::new();
    // Rows are truncated; the other tables are complete or left out.
    let mut room = MAX_LINES.saturating_sub(head.len() + notes.len() + MIN_ROW_LINES + 2);
    let effects = ("effects of guardrails", effects(report));
    let matrix = ("matrix", report.matrix.as_ref().map(matrix).unwrap_or_default());
    let interactions = ("interactions", report.matrix.as_ref().map(interactions).unwrap_or_default());
    let errors = ("error texts", report.error_texts.as_ref().map(error_section).unwrap_or_default());
    for (name, table) in [effects, matrix, interactions, errors] {
        if table.len() <= room {
            room -= table.len();
            tables.extend(table);
        } else {
            missing.push(name);
        }
    }
    let mut lines = head;
    lines.extend(rows(report, room + MIN_ROW_LINES));
    lines.extend(tables);
    lines.push(String::new());
    if !missing.is_empty() {
        lines.push(format!("Left out here; `healbench report RUN --output html=FILE` has: {}.", missing.join(", ")));
    }
    lines.extend(notes);
    lines.join("\n") + "\n"
}

/// The largest number of error texts.
const MAX_ERROR_TEXTS: usize = 5;

/// Returns the section on error texts; empty without errors.
fn error_section(texts: &ErrorTexts) -> Vec<String> {
    if texts.totals.calls == 0 {
        return Vec::new();
    }
    let mut lines = ["", "### Error texts", ""].map(str::to_owned).to_vec();
    lines.extend(markdown_section(texts, MAX_ERROR_TEXTS));
    lines.extend(left_out(texts.texts.len(), MAX_ERROR_TEXTS).map(|more| format!("\n{more}")));
    lines
}

/// Returns the sentences of the answer, of which clear ones are bold.
fn answer(report: &Report) -> Vec<String> {
    let mut sentences = sentences(&report.answer);
    let more = sentences.len().saturating_sub(MAX_SENTENCES);
    sentences.truncate(MAX_SENTENCES);
    let mut lines: Vec<String> = Vec::new();
    for sentence in sentences {
        let text = escape_markdown(&sentence.whole());
        lines.extend([if sentence.is_clear { format!("**{text}**") } else { text }, String::new()]);
    }
    if more > 0 {
        lines.extend([format!("And {} more answers: `healbench report RUN --all`", count(more as u64)), String::new()]);
    }
    if let Some(recorded) = recorded_models(&report.answer) {
        lines.extend([escape_markdown(&recorded), String::new()]);
    }
    lines
}

/// Returns a notice if the run is incomplete.
fn incomplete_notice(report: &Report) -> Vec<String> {
    incomplete_warnings(report)
        .into_iter()
        .flat_map(|(what, rest)| [format!("**{what}**: {rest}"), String::new()])
        .collect()
}

/// Returns one sentence per agent.
fn headline_sentences(report: &Report) -> Vec<String> {
    let Some(headline) = report.headline else { return Vec::new() };
    let mut lines: Vec<String> = Vec::new();
    let agents: Vec<&AgentReport> = report.headline_agents().collect();
    for agent in agents.iter().take(MAX_SENTENCES) {
        lines.push(headline_sentence(agent, &agent.rows[headline.left], &agent.rows[headline.right]));
    }
    if agents.len() > MAX_SENTENCES {
        lines.push(format!("- and {} more", count((agents.len() - MAX_SENTENCES) as u64)));
    }
    lines.push(String::new());
    lines
}

fn headline_sentence(agent: &AgentReport, left: &ReportRow, right: &ReportRow) -> String {
    let Some(comparison) = agent.headline else { return String::new() };
    let [before, after] = comparison.success_rates.map(rate_percent);
    let mut text = format!(
        "- **{}**: {before} of episodes succeed with {}, {after} with {}",
        escape_markdown(&agent.headline_title()),
        escape_markdown(&row_label(left)),
        escape_markdown(&row_label(right)),
    );
    if let Some(difference) = comparison.success.difference {
        let this_suite = comparison.success.this_suite.map(|this_suite| points_interval(this_suite.interval));
        let this_suite = this_suite.map(|interval| format!(" this suite {interval}")).unwrap_or_default();
        let interval = comparison.success.interval;
        let interval = interval.map(|of| format!(" {}", pair_interval_in_words(of, comparison.success.verdict)));
        let interval = interval.unwrap_or_default() + &this_suite;
        text.push_str(&match comparison.success.verdict {
            Verdict::Equal => ": equal".to_owned(),
            verdict => {
                let bold = if verdict == Verdict::Clear { "**" } else { "" };
                let p = p_value(comparison.success.p_adjusted);
                format!(": {bold}{} points{bold}{interval}, p {p}", points(difference))
            }
        });
    }
    if let Some(difference) = comparison.billed_tokens.difference {
        let interval = format_interval(comparison.billed_tokens.interval, amount_interval);
        text.push_str(&format!("; billed tokens per episode {}{interval}", signed_amount(difference)));
    }
    let [before, after] = comparison.billed_tokens_per_success.map(rate_amount);
    text.push_str(&format!("; billed tokens per success {before} → {after}"));
    if left.model.is_some() || right.model.is_some() {
        let [before, after] = [left, right].map(|row| row.cost_per_success.map_or(UNKNOWN.to_owned(), money));
        text.push_str(&format!("; US $ per success {before} → {after}"));
    }
    if comparison.success.unmatched > 0 {
        text.push_str(&format!(
            "; {} left out, without a scored partner",
            pluralize(comparison.success.unmatched, "trial")
        ));
    }
    text
}

fn format_interval(interval: Option<Interval>, text: fn(Interval) -> String) -> String {
    interval.map(|interval| format!(" {}", text(interval))).unwrap_or_default()
}

fn format_pair_interval(interval: Option<Interval>, verdict: Verdict) -> String {
    interval.map(|interval| format!(" {}", pair_interval(interval, verdict))).unwrap_or_default()
}

/// Formats the rows in at most `room` lines.
fn rows(report: &Report, room: usize) -> Vec<String> {
    let mut lines = vec![
        "| agent | condition | success | points vs reference | recovered | billed tokens/success | wasted tokens |"
            .to_owned(),
        "|---|---|---:|---:|---:|---:|---:|".to_owned(),
    ];
    let row = |agent: &AgentReport, rows: &EqualRows| {
        let row = &agent.rows[rows.first];
        let cells = [
            escape_markdown(&agent.title),
            escape_markdown(&equal_label(agent, rows)),
            format!(
                "{}{}",
                rate_percent(row.rate(RowMetric::Success)),
                format_interval(row.success_interval, percent_interval)
            ),
            row.vs_reference.and_then(versus).unwrap_or_default(),
            rate_percent(row.rate(RowMetric::Recovered)),
            rate_amount(row.rate(RowMetric::BilledTokensPerSuccess)),
            rate_percent(row.rate(RowMetric::WastedTokens)),
        ];
        format!("| {} |", cells.join(" | "))
    };
    let selection = select(report, room.saturating_sub(4), 0);
    for selected in &selection.agents {
        let agent = &report.agents[selected.agent];
        lines.extend(selected.rows.iter().map(|rows| row(agent, rows)));
    }
    if selection.shown < selection.total {
        let (shown, all) = (count(selection.shown as u64), pluralize(selection.total as u64, "row"));
        lines.extend([
            String::new(),
            format!("{shown} of {all} shown: `healbench report RUN --all`, or `--output csv`"),
        ]);
    }
    lines
}

fn versus(paired: PairedDifference) -> Option<String> {
    let difference = points_or_equal(paired.difference?, paired.verdict);
    Some(format!("{difference}{}", format_pair_interval(paired.interval, paired.verdict)))
}

fn effects(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for ablation in &report.ablation {
        for (about, effects) in sections(ablation, Detail::Summary) {
            for effect in effects {
                let label = effect.switches.to_string().replace('+', " × ");
                let [success, tokens] = [success_effect(effect, true), token_effect(effect, true)].map(format_estimate);
                lines.push(format!(
                    "| {} | {about} | {label} | {success} | {tokens} |",
                    escape_markdown(&ablation_title(ablation))
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

fn format_estimate((value, interval): Estimate) -> String {
    format!("{} {}", value.text, interval.text).trim_end().to_owned()
}

pub(super) fn matrix(matrix: &Matrix) -> Vec<String> {
    let titles: Vec<String> = matrix.columns.iter().map(|column| escape_markdown(&column.title)).collect();
    let mut lines = vec![
        String::new(),
        format!("| vs {} | {} |", escape_markdown(&matrix.reference), titles.join(" | ")),
        format!("|---|{}", "---:|".repeat(titles.len())),
    ];
    for (index, row) in matrix.rows.iter().enumerate() {
        let cells = matrix.columns.iter().map(|column| cell(column.cells.get(index).and_then(Option::as_ref)));
        lines.push(format!("| {} | {} |", escape_markdown(row), cells.collect::<Vec<_>>().join(" | ")));
    }
    lines
}

pub(super) fn interactions(matrix: &Matrix) -> Vec<String> {
    if matrix.interactions.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), "| | interaction | p |".to_owned(), "|---|---:|---:|".to_owned()];
    lines.extend(matrix.interactions.iter().map(|entry| {
        let label = format!("{} {}: {}", entry.agent, entry.guardrails, interaction_label(entry));
        let difference = entry.difference.map_or(UNKNOWN.to_owned(), points);
        let interval = format_interval(entry.interval, points_interval);
        format!("| {} | {difference}{interval} | {} |", escape_markdown(&label), p_value(entry.p_adjusted))
    }));
    lines
}

fn cell(cell: Option<&MatrixCell>) -> String {
    let Some(cell) = cell else { return String::new() };
    let success = cell.differences.iter().find(|entry| entry.metric == Metric::Success);
    let difference = success.and_then(|entry| {
        let difference = points_or_equal(entry.difference?, entry.verdict);
        Some(format!(" {difference}{}", format_pair_interval(entry.interval, entry.verdict)))
    });
    format!("{}{}", rate_percent(cell.success), difference.unwrap_or_default())
}

fn notes(report: &Report) -> Vec<String> {
    let level = percent(report.confidence);
    let mut notes = vec![format!(
        "Intervals are {level}. Of differences and effects: for other scenarios of these suites{}. Of a rate: for the same scenarios \
         run again (Wilson).",
        Methods::of_report(report).with_rest("the rest")
    )];
    let shown = row_intervals(report)
        .chain(ablation::intervals(&report.ablation))
        .chain(report.matrix.iter().flat_map(matrix_intervals));
    notes.extend(pair_note(shown).map(str::to_owned));
    if report.headline.is_some() {
        notes.push("p: for other scenarios, adjusted by Holm for all pairs of conditions of an agent.".to_owned());
        if report.agents.iter().any(|agent| agent.headline.is_some_and(|comparison| comparison.success.unmatched > 0)) {
            notes.push("Sentences are over pairs, US $ and the table over all scored episodes.".to_owned());
        }
    }
    notes.extend(report.matrix.as_ref().and_then(interaction_note).map(|note| escape_markdown(&note)));
    notes.extend(agent_notes(report));
    notes.extend(readers_note(report).filter(|_| report.answer.recorded.is_none()));
    notes.extend(exclusion_notes(report).iter().map(|note| escape_markdown(&note.replace('`', ""))));
    // All notes form one paragraph.
    vec![notes.join(" ")]
}
