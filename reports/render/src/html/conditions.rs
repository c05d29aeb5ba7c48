//! Tables with every row of the report and all numbers of the terminal's tables.

use maud::{Markup, html};

use super::{estimate, sort_header, sort_key, visible};
use crate::labels::{condition_label, pair_interval, points_or_equal};
use crate::number::{
    UNKNOWN, amount, amount_interval, count, metric_value, money, p_value, percent, percent_interval, pluralize,
    seconds, signed_amount,
};
use healbench_analysis::{
    AgentReport, Difference, Group, Report, ReportRow, RowMetric, RowMetricEntry, Unit, agents_by_information,
    known_count,
};

type Number = dyn Fn(&ReportRow) -> Option<f64>;

/// A column: its heading, sort key and content.
struct Column {
    head: String,
    key: Box<Number>,
    cell: Box<dyn Fn(&ReportRow) -> Markup>,
}

impl Column {
    fn new(
        head: impl Into<String>,
        key: impl Fn(&ReportRow) -> Option<f64> + 'static,
        cell: impl Fn(&ReportRow) -> Markup + 'static,
    ) -> Column {
        Column { head: head.into(), key: Box::new(key), cell: Box::new(cell) }
    }

    /// Creates a column of text, which is empty or a dash for an unknown number.
    fn text(
        head: impl Into<String>,
        number: impl Fn(&ReportRow) -> Option<f64> + Copy + 'static,
        format: impl Fn(f64) -> String + 'static,
    ) -> Column {
        Column::new(head, number, move |row| html! { (number(row).map_or(UNKNOWN.to_owned(), &format)) })
    }
}

/// Returns the columns of a group's metrics.
fn metric_columns(group: Group) -> impl Iterator<Item = Column> {
    RowMetricEntry::of_group(group).map(|entry| {
        let key = |row: &ReportRow| match row.rate(entry.metric) {
            rate if entry.unit == Unit::Count => known_count(rate).map(|count| count as f64),
            rate => rate.rate,
        };
        Column::new(entry.title(), key, |row| html! { (metric_value(entry.unit, row.rate(entry.metric))) })
    })
}

/// The largest number of rows in the first table.
const MAX_ROWS: usize = 1_000;
/// The largest number of rows in each other table.
const MAX_DETAIL_ROWS: usize = 300;

/// Renders the tables, one per question.
pub(super) fn tables(report: &Report) -> Markup {
    let models = report.agents.iter().any(|agent| agent.opening.is_some());
    html! {
        h2 #settings { "All conditions" }
        div.tools data-tools="rates" hidden {
            label { "Search" input type="search" placeholder="agent, guardrails, format"; }
            span role="status" {}
        }
        (left_out(report, MAX_ROWS))
        (table("rates", "Success, recovery and cost", report, &success_columns()))
        details {
            summary { "More metrics: behavior, error chains, cost, consistency" @if models { ", models" } }
            (left_out(report, MAX_DETAIL_ROWS))
            (table("behavior", "Behavior after errors", report, &metric_columns(Group::Behavior).collect::<Vec<_>>()))
            (table("chains", "Error chains", report, &chain_columns()))
            (table("cost", "Cost of all scored episodes", report, &cost_columns()))
            (passes(report))
            @if models { (table("models", "Use of models", report, &model_columns())) }
        }
    }
}

fn table(id: &str, caption: &str, report: &Report, columns: &[Column]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table id=(id) data-sort {
                caption { (caption) }
                thead { tr {
                    (sort_header("agent", "text"))
                    (sort_header("condition", "text"))
                    @for column in columns { (sort_header(&column.head, "")) }
                } }
                tbody {
                    @for (agent, row) in rows(report).take(if id == "rates" { MAX_ROWS } else { MAX_DETAIL_ROWS }) {
                        tr {
                            (row_headers(agent, row))
                            @for column in columns { td data-v=(sort_key((column.key)(row))) { ((column.cell)(row)) } }
                        }
                    }
                }
            }
        }
    }
}

fn left_out(report: &Report, most: usize) -> Markup {
    let more = rows(report).count().saturating_sub(most);
    html! {
        @if more > 0 {
            p.note { (pluralize(more as u64, "row")) " after the first " (count(most as u64)) " left out; " code { "healbench report --output csv" } " has them all." }
        }
    }
}

/// Returns all rows, those of the most informative agents first if some do not fit.
fn rows(report: &Report) -> impl Iterator<Item = (&AgentReport, &ReportRow)> {
    let all: usize = report.agents.iter().map(|agent| agent.rows.len()).sum();
    let order = if all > MAX_DETAIL_ROWS { agents_by_information(report) } else { (0..report.agents.len()).collect() };
    let agents = order.into_iter().map(|agent| &report.agents[agent]);
    agents.flat_map(|agent| agent.rows.iter().map(move |row| (agent, row)))
}

fn row_headers(agent: &AgentReport, row: &ReportRow) -> Markup {
    html! {
        th scope="row" { (visible(&agent.title)) }
        td.text { (condition_label(&row.condition)) }
    }
}

/// Renders pass@k and pass^k, one column per value in the report.
fn passes(report: &Report) -> Markup {
    let ks: Vec<u64> = rows(report).take(1).flat_map(|(_, row)| row.passes.iter().map(|pass| pass.k)).collect();
    html! {
        div.scroll tabindex="0" role="region" aria-label="Consistency over trials" {
            table id="consistency" data-sort {
                caption { "Consistency: at least one of k trials succeeds (pass@k), all of them succeed (pass^k)" }
                thead { tr {
                    (sort_header("agent", "text"))
                    (sort_header("condition", "text"))
                    @for k in &ks { (sort_header(&format!("pass@{k}"), "")) }
                    @for k in &ks { (sort_header(&format!("pass^{k}"), "")) }
                } }
                tbody {
                    @for (agent, row) in rows(report).take(MAX_DETAIL_ROWS) {
                        tr {
                            (row_headers(agent, row))
                            @for pass in &row.passes { td data-v=(sort_key(pass.any)) { (share(pass.any)) } }
                            @for pass in &row.passes {
                                td data-v=(sort_key(pass.all)) { (estimate(pass.all.map(percent), pass.all_interval.map(percent_interval))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn share(share: Option<f64>) -> String {
    share.map_or(UNKNOWN.to_owned(), percent)
}

fn difference(found: Option<Difference>) -> Markup {
    let value = found.and_then(|found| found.difference).map(signed_amount);
    estimate(value, found.and_then(|found| found.interval).map(amount_interval))
}

fn success_columns() -> Vec<Column> {
    let mut columns = vec![
        Column::new(
            "success",
            |row| row.rate(RowMetric::Success).rate,
            |row| {
                let rate = row.rate(RowMetric::Success).rate.map(percent);
                estimate(rate, row.success_interval.map(percent_interval))
            },
        ),
        Column::new(
            "points vs reference",
            |row| row.vs_reference?.difference,
            |row| {
                let paired = row.vs_reference;
                let value = paired.and_then(|paired| Some(points_or_equal(paired.difference?, paired.verdict)));
                estimate(value, paired.and_then(|paired| Some(pair_interval(paired.interval?, paired.verdict))))
            },
        ),
        Column::new(
            "p, Holm",
            |row| row.vs_reference?.p_adjusted,
            |row| html! { (p_value(row.vs_reference.and_then(|paired| paired.p_adjusted))) },
        ),
    ];
    columns.extend(metric_columns(Group::Outcome));
    columns
}

fn chain_columns() -> Vec<Column> {
    let chains = |row: &ReportRow| Some((row.retries.fixed + row.retries.censored) as f64);
    let mut columns = vec![Column::text("error chains", chains, |chains| count(chains as u64))];
    columns.extend(metric_columns(Group::Chains));
    let median = |row: &ReportRow| row.retries.median.median.map(f64::from);
    columns.push(Column::text("retries (median)", median, |median| median.to_string()));
    columns.extend((0..3).map(|index| {
        let within = move |row: &ReportRow| row.repair_at.get(index)?.chains.rate;
        Column::text(format!("within {}", index + 1), within, percent)
    }));
    columns
}

fn cost_columns() -> Vec<Column> {
    let mut columns: Vec<Column> = metric_columns(Group::Cost).collect();
    columns.push(Column::text("US $/success", |row| row.cost_per_success, money));
    columns.push(Column::new(
        "billed tokens vs reference",
        |row| row.billed_tokens_vs_reference?.difference,
        |row| difference(row.billed_tokens_vs_reference),
    ));
    columns
}

fn model_columns() -> Vec<Column> {
    vec![
        Column::text("input/episode", |row| row.model?.input_per_episode.rate, amount),
        Column::text("cached input", |row| row.model?.cache_read.rate, percent),
        Column::text("output/episode", |row| row.model?.output_per_episode.rate, amount),
        Column::text("reasoning output", |row| row.model?.reasoning.rate, percent),
        Column::new(
            "seconds/turn",
            |row| row.model?.latency_ms_per_turn.rate,
            |row| html! { (row.model.map_or(UNKNOWN.to_owned(), |model| seconds(model.latency_ms_per_turn))) },
        ),
        Column::text("US $/episode", |row| row.model?.usd_per_episode, money),
    ]
}
