//! The charts of a report, each with a text description and a table of its numbers.

mod effects;

use maud::{Markup, PreEscaped, html};

use super::charts::{
    Bar, CallKind, CallStatus, Caption, ChartError, Curve, Curves, Link, MAX_WHISKER_POINTS, Panel, Point, Scatter,
    Stacks, curves, scatter, stacks,
};
use crate::labels::{Estimate, condition_label, is_reference, row_label};
use crate::number::{count, percent, pluralize, rate_amount, rate_percent};
use healbench_analysis::statistics::Interval;
use healbench_analysis::{AgentReport, CallsAt, LAST_CALL_NUMBER, Report, ReportRow, RowMetric, agents_by_information};
use healbench_text::plain_text;

/// The widths at which each chart is drawn; the style sheet shows the one that fits.
const WIDTHS: [(u32, &str); 2] = [(720, "wide"), (340, "narrow")];
/// The largest number of agents with their own charts.
const MAX_AGENTS: usize = 8;
/// The number of distinguishable curves.
const MAX_CURVES: usize = 8;
/// The largest number of points in the page.
const MAX_POINTS: usize = 900;

/// Renders all charts that the report has numbers for.
///
/// # Errors
/// [`ChartError`].
pub(super) fn figures(report: &Report) -> Result<Markup, ChartError> {
    let (effects, repairs) = (effects::effects(report)?, repair_curves(report)?);
    let (cost, timeline) = (cost_scatter(report)?, call_timeline(report)?);
    Ok(html! { (effects) (cost) (repairs) (timeline) })
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

fn left_out(more: usize) -> Markup {
    html! {
        @if more > 0 { p.note { (pluralize(more as u64, "more chart")) " left out; " code { "healbench report --json" } " has the numbers." } }
    }
}

/// Renders billed tokens against success.
fn cost_scatter(report: &Report) -> Result<Markup, ChartError> {
    let titles = short_titles(report);
    let rows =
        || report.agents.iter().enumerate().flat_map(|(group, agent)| agent.rows.iter().map(move |row| (group, row)));
    let points: Vec<Point> = rows()
        .filter_map(|(group, row)| {
            Some(Point {
                label: condition_label(&row.condition),
                group,
                filled: !is_reference(report, row),
                x: row.rate(RowMetric::BilledTokensPerEpisode).rate?,
                y: row.rate(RowMetric::Success).rate?,
                y_interval: bounds(row.success_interval),
                link: Some(Link { agent: group, condition: agent_condition(report, group, row) }),
                text: format!(
                    "{} {}: success {}, {} billed tokens per episode",
                    titles[group],
                    row_label(row),
                    rate_percent(row.rate(RowMetric::Success)),
                    rate_amount(row.rate(RowMetric::BilledTokensPerEpisode))
                ),
            })
        })
        .collect();
    let more = points.len().saturating_sub(MAX_POINTS);
    let unknown = rows().count() - points.len();
    let whiskers = points.len() <= MAX_WHISKER_POINTS;
    let points = points.into_iter().take(MAX_POINTS).collect();
    let words = rows().take(24).map(|(group, row)| {
        let agent = &titles[group];
        format!(
            "{agent} {}: {} at {}",
            row_label(row),
            rate_percent(row.rate(RowMetric::Success)),
            rate_amount(row.rate(RowMetric::BilledTokensPerEpisode))
        )
    });
    let chart = Scatter {
        caption: caption(
            "spent".to_owned(),
            "Billed tokens per episode against success".to_owned(),
            words.collect::<Vec<_>>().join("; "),
        ),
        x_title: "billed tokens per episode".to_owned(),
        y_title: "success".to_owned(),
        groups: titles.clone(),
        filled: "other conditions".to_owned(),
        hollow: report.reference.as_deref().unwrap_or("reference").to_owned(),
        points,
    };
    let chart = draw_both_widths(|width| scatter(&chart, width))?;
    Ok(html! {
        @if let Some(chart) = chart {
            h2 #spent { "Which condition is worth its tokens?" }
            figure {
                (chart)
                figcaption {
                    "One point per agent and condition" @if whiskers { "; the whisker is the interval of the success rate" } ". A point leads to its transcripts. Up and to the left is "
                    "better. The table of all conditions has the numbers."
                    @if more > 0 { " " (pluralize(more as u64, "more point")) " left out." }
                    @if unknown > 0 { " " (pluralize(unknown as u64, "condition")) " without a scored episode left out." }
                }
            }
        }
    })
}

/// Renders the share of error chains fixed, by number of further attempts.
fn repair_curves(report: &Report) -> Result<Markup, ChartError> {
    let titles = short_titles(report);
    let mut series: Vec<RepairCurve<'_>> = Vec::new();
    for (agent, ((_, rows), title)) in compared_rows(report).zip(&titles).enumerate() {
        for row in rows.into_iter().filter(|row| !row.retries.curve.is_empty()) {
            series.push(RepairCurve { label: format!("{title} {}", row_label(row)), agent, row });
        }
    }
    let words = series.iter().map(|RepairCurve { label, row, .. }| {
        let shares: Vec<String> = row
            .retries
            .curve
            .iter()
            .take(4)
            .map(|step| format!("{} within {}", percent(step.share), step.attempts))
            .collect();
        format!("{label}: {}", shares.join(", "))
    });
    let description = words.collect::<Vec<_>>().join("; ");
    // If there are too many curves to distinguish, each condition has its own chart.
    let sides = if series.len() > MAX_CURVES && report.headline.is_some() { 2 } else { 1 };
    let mut charts = Vec::new();
    for side in 0..sides {
        let id = if sides == 1 { "fixed".to_owned() } else { format!("fixed-{side}") };
        let mine: Vec<&RepairCurve<'_>> = series.iter().skip(side).step_by(sides).collect();
        charts.push(draw_both_widths(|width| curves(&curves_chart(report, id.clone(), &mine, &description), width))?);
    }
    let more = series.len().saturating_sub(MAX_CURVES * sides);
    Ok(html! {
        @if charts.iter().any(Option::is_some) {
            h2 #fixed { "How many attempts does it take to fix an error?" }
            figure {
                @for chart in charts.iter().flatten() { (chart) }
                figcaption {
                    "The share of all error chains that are fixed within this many attempts after the first error. A chain that was given up or "
                    "ended by a wrong repair counts as never fixed."
                    @if more > 0 { " " (pluralize(more as u64, "more curve")) " in the table below." }
                }
                (curves_table(&series))
            }
        }
    })
}

/// The share of error chains fixed of an agent in a condition.
struct RepairCurve<'a> {
    label: String,
    /// The index of the agent.
    agent: usize,
    row: &'a ReportRow,
}

/// Builds the chart of these curves, each extended to the right end, since unfixed chains are not fixed later.
fn curves_chart(report: &Report, id: String, series: &[&RepairCurve<'_>], description: &str) -> Curves {
    let steps = series.iter().flat_map(|curve| &curve.row.retries.curve);
    let last = steps.map(|step| step.attempts).max().unwrap_or(0);
    let curve = |RepairCurve { label, agent, row }: &RepairCurve<'_>| {
        let mut points: Vec<(u32, f64)> = row.retries.curve.iter().map(|step| (step.attempts, step.share)).collect();
        if let Some((_, share)) = points.last().copied().filter(|(attempts, _)| *attempts < last) {
            points.push((last, share));
        }
        let condition = agent_condition(report, *agent, row);
        Curve {
            label: label.clone(),
            group: *agent,
            filled: !is_reference(report, row),
            link: Some(Link { agent: *agent, condition }),
            points,
        }
    };
    Curves {
        caption: caption(id, "Error chains fixed within this many further attempts".to_owned(), description.to_owned()),
        x_title: "further attempts".to_owned(),
        y_title: "error chains fixed".to_owned(),
        series: series.iter().take(MAX_CURVES).map(|series| curve(series)).collect(),
    }
}

fn curves_table(series: &[RepairCurve<'_>]) -> Markup {
    html! {
        details {
            summary { "The numbers" }
            div.scroll tabindex="0" role="region" aria-label="Error chains fixed" {
                table {
                    thead { tr {
                        th.text scope="col" { "agent and condition" }
                        th scope="col" { "attempts" }
                        th scope="col" { "fixed" }
                        th scope="col" { "open chains" }
                    } }
                    tbody {
                        @for RepairCurve { label, row, .. } in series {
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

/// Returns the index of the condition of a row.
fn agent_condition(report: &Report, agent: usize, row: &ReportRow) -> Option<usize> {
    report.agents.get(agent)?.rows.iter().position(|other| other.condition == row.condition)
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
fn call_timeline(report: &Report) -> Result<Markup, ChartError> {
    let mut charts = Vec::new();
    for (index, (agent, rows)) in compared_rows(report).take(MAX_AGENTS).enumerate() {
        let chart = Stacks {
            caption: caption(
                format!("calls-{index}"),
                format!("Calls of {} by their number", text(&agent.title)),
                rows.iter()
                    .map(|row| format!("{}: {}", row_label(row), describe_calls(row)))
                    .collect::<Vec<_>>()
                    .join(". "),
            ),
            x_title: "n-th call of the episode".to_owned(),
            y_title: "calls".to_owned(),
            kinds: kinds(report),
            panels: rows.iter().map(|row| panel(report, index, row)).collect(),
        };
        charts.push((agent, rows, draw_both_widths(|width| stacks(&chart, width))?));
    }
    Ok(html! {
        @if charts.iter().any(|(_, _, chart)| chart.is_some()) {
            h2 #calls { "What happens after the first error?" }
            p.note { "Calls of scored episodes by their number in the episode: successes, and failures by error class." }
            (left_out(report.agents.len().saturating_sub(MAX_AGENTS)))
            @for (agent, rows, chart) in &charts {
                @if let Some(chart) = chart {
                    figure {
                        figcaption { (text(&agent.title)) }
                        (chart)
                        (calls_table(report, &agent.title, rows))
                    }
                }
            }
        }
    })
}

fn kinds(report: &Report) -> Vec<CallKind> {
    let errors =
        report.error_classes.iter().map(|class| CallKind { label: text(class.name()), status: CallStatus::Error });
    let mut kinds = vec![CallKind { label: "ok".to_owned(), status: CallStatus::Ok }];
    kinds.extend(errors);
    if has_others(report) {
        kinds.push(CallKind { label: "other".to_owned(), status: CallStatus::Other });
    }
    kinds
}

fn panel(report: &Report, agent: usize, row: &ReportRow) -> Panel {
    let link = Some(Link { agent, condition: agent_condition(report, agent, row) });
    let bar = |calls: &CallsAt| Bar { label: number(calls), counts: counts(report, calls) };
    Panel { title: row_label(row), link, bars: row.calls_by_number.iter().map(bar).collect() }
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

fn describe_calls(row: &ReportRow) -> String {
    let words = row.calls_by_number.iter().take(4).map(|calls| {
        let errors: Vec<String> =
            calls.errors.iter().map(|(class, calls)| format!("{} {}", count(*calls), text(class.name()))).collect();
        let errors = if errors.is_empty() { String::new() } else { format!(", {}", errors.join(", ")) };
        format!("call {}: {} ok{errors}", number(calls), count(calls.ok))
    });
    words.collect::<Vec<_>>().join("; ")
}

fn calls_table(report: &Report, agent: &str, rows: &[&ReportRow]) -> Markup {
    html! {
        details {
            summary { "The numbers" }
            div.scroll tabindex="0" role="region" aria-label={ "Calls of " (text(agent)) " by their number" } {
                table {
                    thead { tr {
                        th.text scope="col" { "condition" }
                        th scope="col" { "call" }
                        @for kind in kinds(report) { th scope="col" { (kind.label) } }
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
