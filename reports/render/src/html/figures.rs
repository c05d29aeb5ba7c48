//! The effects of guardrails as charts, and the repairs and calls as tables.

mod effects;

use maud::{Markup, PreEscaped, html};

use super::charts::{Caption, ChartError};
use crate::labels::{Estimate, row_label};
use crate::number::{count, percent, pluralize};
use healbench_analysis::statistics::Interval;
use healbench_analysis::{AgentReport, CallsAt, LAST_CALL_NUMBER, Report, ReportRow, agents_by_information};
use healbench_text::plain_text;

/// The widths at which each chart is drawn; the style sheet shows the one that fits.
const WIDTHS: [(u32, &str); 2] = [(720, "wide"), (340, "narrow")];
/// The largest number of agents with their own tables.
const MAX_AGENTS: usize = 8;

/// Renders all of them that the report has numbers for.
///
/// # Errors
/// [`ChartError`].
pub(super) fn figures(report: &Report) -> Result<Markup, ChartError> {
    let effects = effects::effects(report)?;
    Ok(html! { (effects) (repairs(report)) (calls(report)) })
}

/// Draws a chart at both widths; `None` if there is nothing to draw.
fn draw_both_widths(draw: impl Fn(u32) -> Result<Option<String>, ChartError>) -> Result<Option<Markup>, ChartError> {
    let mut both = Vec::new();
    for (width, class) in WIDTHS {
        let Some(svg) = draw(width)? else { return Ok(None) };
        both.push((class, svg));
    }
    Ok(Some(html! { div.plots { @for (class, svg) in &both { div class=(class) { (PreEscaped(svg)) } } } }))
}

fn caption(id: String, title: String, description: String) -> Caption {
    Caption { id, title, description }
}

fn text(text: &str) -> String {
    plain_text(text).into_owned()
}

/// Returns the titles of agents without their common suffix.
fn short_titles(report: &Report) -> Vec<String> {
    let mut titles: Vec<Vec<String>> = report.agents.iter().map(AgentReport::title_parts).collect();
    while let Some(end) = titles.first().and_then(|title| title.last().cloned())
        && titles.len() > 1
        && titles.iter().all(|title| title.len() > 1 && title.last() == Some(&end))
    {
        titles.iter_mut().for_each(|title| title.truncate(title.len() - 1));
    }
    titles.iter().map(|title| text(&title.join(" · "))).collect()
}

fn bounds(interval: Option<Interval>) -> Option<(f64, f64)> {
    interval.map(|interval| (interval.lower, interval.upper))
}

fn format_estimate((value, interval): Estimate) -> String {
    format!("{} {}", value.text, interval.text).trim_end().to_owned()
}

fn left_out(more: usize, what: &str) -> Markup {
    html! {
        @if more > 0 { p.note { (pluralize(more as u64, &format!("more {what}"))) " left out; " code { "healbench report --output json" } " has the numbers." } }
    }
}

/// Renders the share of error chains fixed, by number of further attempts.
fn repairs(report: &Report) -> Markup {
    let titles = short_titles(report);
    let mut all: Vec<Repairs<'_>> = Vec::new();
    for ((_, rows), title) in compared_rows(report).zip(&titles) {
        for row in rows.into_iter().filter(|row| !row.retries.curve.is_empty()) {
            all.push(Repairs { label: format!("{title} {}", row_label(row)), row });
        }
    }
    html! {
        @if !all.is_empty() {
            h2 #fixed { "How many attempts does it take to fix an error?" }
            p.note {
                "The share of all error chains that are fixed within this many attempts after the first error. A chain that was given up or "
                "ended by a wrong repair counts as never fixed."
            }
            (repairs_table(&all))
        }
    }
}

/// The error chains of an agent in a condition.
struct Repairs<'a> {
    label: String,
    row: &'a ReportRow,
}

fn repairs_table(all: &[Repairs<'_>]) -> Markup {
    html! {
        details {
            summary { "The numbers" }
            div.scroll tabindex="0" role="region" aria-label="Error chains fixed" {
                table {
                    thead { tr {
                        th.text scope="col" { "agent and condition" }
                        th scope="col" { "attempts" }
                        th scope="col" { "fixed" }
                        th scope="col" { "chains that came so far" }
                    } }
                    tbody {
                        @for Repairs { label, row } in all {
                            @for step in &row.retries.curve {
                                tr {
                                    th scope="row" { (label) }
                                    td { (step.attempts) }
                                    td { (percent(step.share)) }
                                    td { (count(step.at_risk)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the agents with the rows of their headline comparison: the most informative ones first if some do not fit.
fn compared_rows(report: &Report) -> impl Iterator<Item = (&AgentReport, Vec<&ReportRow>)> {
    let rows = report.headline.map_or(vec![0], |headline| vec![headline.left, headline.right]);
    let all = report.agents.len();
    let order = if all > MAX_AGENTS { agents_by_information(report) } else { (0..all).collect() };
    let agents = order.into_iter().map(|agent| &report.agents[agent]);
    agents.map(move |agent| (agent, rows.iter().filter_map(|row| agent.rows.get(*row)).collect()))
}

/// Renders the calls by number in the episode and by result.
fn calls(report: &Report) -> Markup {
    let agents: Vec<_> = compared_rows(report)
        .take(MAX_AGENTS)
        .filter(|(_, rows)| rows.iter().any(|row| !row.calls_by_number.is_empty()))
        .collect();
    html! {
        @if !agents.is_empty() {
            h2 #calls { "How do calls end, by their number?" }
            p.note { "Calls of scored episodes by their number in the episode: successes, and failures by error class." }
            (left_out(report.agents.len().saturating_sub(MAX_AGENTS), "agent"))
            @for (agent, rows) in &agents { (calls_table(report, &agent.title, rows)) }
        }
    }
}

/// Returns the heads of the columns: successes, and failures by error class.
fn kinds(report: &Report) -> Vec<String> {
    let mut kinds = vec!["ok".to_owned()];
    kinds.extend(report.error_classes.iter().map(|class| text(class.name())));
    if has_others(report) {
        kinds.push("other".to_owned());
    }
    kinds
}

/// Returns the counts in the order of [`kinds`].
fn counts(report: &Report, calls: &CallsAt) -> Vec<u64> {
    let mut counts = vec![calls.ok];
    counts.extend(report.error_classes.iter().map(|class| calls.errors.get(class).copied().unwrap_or(0)));
    if has_others(report) {
        counts.push(calls.errors_outside(&report.error_classes));
    }
    counts
}

/// Returns true if there are more error classes than are shown separately.
fn has_others(report: &Report) -> bool {
    let calls = report.agents.iter().flat_map(|agent| &agent.rows).flat_map(|row| &row.calls_by_number);
    calls.into_iter().any(|calls| calls.errors_outside(&report.error_classes) > 0)
}

fn number(calls: &CallsAt) -> String {
    if calls.number == LAST_CALL_NUMBER { format!("{LAST_CALL_NUMBER}+") } else { calls.number.to_string() }
}

fn calls_table(report: &Report, agent: &str, rows: &[&ReportRow]) -> Markup {
    html! {
        details {
            summary { (text(agent)) }
            div.scroll tabindex="0" role="region" aria-label={ "Calls of " (text(agent)) " by their number" } {
                table {
                    thead { tr {
                        th.text scope="col" { "condition" }
                        th scope="col" { "call" }
                        @for kind in kinds(report) { th scope="col" { (kind) } }
                    } }
                    tbody {
                        @for row in rows {
                            @for calls in &row.calls_by_number {
                                tr {
                                    th scope="row" { (row_label(row)) }
                                    td { (number(calls)) }
                                    @for calls in counts(report, calls) { td { (count(calls)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
