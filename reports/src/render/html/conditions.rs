//! Every row of the report with every number of the terminal's tables.

use maud::{Markup, html};

use super::{estimate, sort_header, sort_key, visible};
use crate::render::number::{
    UNKNOWN, amount_interval, count, money, percent, percent_interval, pluralize, points, points_interval, rate_amount,
    rate_decimal, rate_percent, seconds, signed_amount,
};
use crate::render::terminal::condition_label;
use crate::summary::{AgentReport, Difference, Rate, Report, ReportRow};

/// A column: its head, what it is sorted by, and what is shown.
struct Column {
    head: &'static str,
    key: fn(&ReportRow) -> Option<f64>,
    cell: fn(&ReportRow) -> Markup,
}

/// Rows of the first table.
const MAX_ROWS: usize = 1_000;
/// Rows of each of the others.
const MAX_DETAIL_ROWS: usize = 300;

/// The tables, one a question.
pub(super) fn tables(report: &Report) -> Markup {
    let models = report.agents.iter().any(|agent| agent.opening.is_some());
    html! {
        h2 #settings { "All settings" }
        div.tools data-tools="rates" hidden {
            label { "Search" input type="search" placeholder="agent, guardrails, format"; }
            span role="status" {}
        }
        (left_out(report, MAX_ROWS))
        (table("rates", "Success, recovery and what they take", report, &SUCCESS))
        details {
            summary { "More of each setting: conduct, error chains, consistency" @if models { ", models" } }
            (left_out(report, MAX_DETAIL_ROWS))
            (table("conduct", "What agents did with what they were told", report, &BEHAVIOR))
            (table("chains", "What became of error chains", report, &CHAINS))
            (table("cost", "What it took", report, &COST))
            (passes(report))
            @if models { (table("models", "What models took", report, &MODELS)) }
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
                    (sort_header("setting", "text"))
                    @for column in columns { (sort_header(column.head, "")) }
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
            p.note { (pluralize(more as u64, "row")) " after the first " (count(most as u64)) " left out; " code { "healbench report --csv" } " has them all." }
        }
    }
}

fn rows(report: &Report) -> impl Iterator<Item = (&AgentReport, &ReportRow)> {
    report.agents.iter().flat_map(|agent| agent.rows.iter().map(move |row| (agent, row)))
}

fn row_headers(agent: &AgentReport, row: &ReportRow) -> Markup {
    html! {
        th scope="row" { (visible(&agent.title)) }
        td.text { (condition_label(row.guardrails, &row.format)) }
    }
}

/// pass@k and pass^k: as many columns as the report has.
fn passes(report: &Report) -> Markup {
    let ks: Vec<u64> = rows(report).take(1).flat_map(|(_, row)| row.passes.iter().map(|pass| pass.k)).collect();
    html! {
        div.scroll tabindex="0" role="region" aria-label="How sure a success is" {
            table id="consistency" data-sort {
                caption { "How sure a success is: at least one of k trials succeeds (@), all of them do (^)" }
                thead { tr {
                    (sort_header("agent", "text"))
                    (sort_header("setting", "text"))
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

fn rate(rate: Rate) -> Markup {
    html! { (rate_percent(rate)) }
}

fn difference(found: Option<Difference>) -> Markup {
    let value = found.and_then(|found| found.difference).map(signed_amount);
    estimate(value, found.and_then(|found| found.interval).map(amount_interval))
}

const SUCCESS: [Column; 7] = [
    Column {
        head: "success",
        key: |row| row.success.rate,
        cell: |row| estimate(row.success.rate.map(percent), row.success_interval.map(percent_interval)),
    },
    Column {
        head: "points vs none",
        key: |row| row.vs_none?.difference,
        cell: |row| {
            let paired = row.vs_none;
            let value = paired.and_then(|paired| paired.difference).map(points);
            estimate(value, paired.and_then(|paired| paired.interval).map(points_interval))
        },
    },
    Column {
        head: "p, Holm",
        key: |row| row.vs_none?.p_adjusted,
        cell: |row| html! { (crate::render::number::p_value(row.vs_none.and_then(|paired| paired.p_adjusted))) },
    },
    Column { head: "recovered", key: |row| row.episode_recovery.rate, cell: |row| rate(row.episode_recovery) },
    Column {
        head: "calls/ok",
        key: |row| row.calls_per_success.rate,
        cell: |row| html! { (rate_decimal(row.calls_per_success)) },
    },
    Column {
        head: "tokens/ok",
        key: |row| row.tokens_per_success.rate,
        cell: |row| html! { (rate_amount(row.tokens_per_success)) },
    },
    Column { head: "tokens wasted", key: |row| row.wasted_tokens.rate, cell: |row| rate(row.wasted_tokens) },
];

const BEHAVIOR: [Column; 6] = [
    Column { head: "first call ok", key: |row| row.first_call_success.rate, cell: |row| rate(row.first_call_success) },
    Column { head: "calls repeated", key: |row| row.repeated_calls.rate, cell: |row| rate(row.repeated_calls) },
    Column { head: "error spirals", key: |row| row.stuck.rate, cell: |row| rate(row.stuck) },
    Column { head: "hints taken", key: |row| row.hints_followed.rate, cell: |row| rate(row.hints_followed) },
    Column { head: "false success", key: |row| row.false_success.rate, cell: |row| rate(row.false_success) },
    Column {
        head: "fields leaked",
        key: |row| Some(row.leaked_fields as f64),
        cell: |row| html! { (count(row.leaked_fields)) },
    },
];

const CHAINS: [Column; 6] = [
    Column {
        head: "error chains",
        key: |row| Some((row.retries.fixed + row.retries.censored) as f64),
        cell: |row| html! { (count(row.retries.fixed + row.retries.censored)) },
    },
    Column { head: "mended", key: |row| row.errors_fixed.rate, cell: |row| rate(row.errors_fixed) },
    Column {
        head: "median retries",
        key: |row| row.retries.median.median.map(f64::from),
        cell: |row| html! { (row.retries.median.median.map_or(UNKNOWN.to_owned(), |median| median.to_string())) },
    },
    Column {
        head: "within 1",
        key: |row| repair_rate(row, 0)?.rate,
        cell: |row| repair_rate(row, 0).map_or(html! {}, rate),
    },
    Column {
        head: "within 2",
        key: |row| repair_rate(row, 1)?.rate,
        cell: |row| repair_rate(row, 1).map_or(html! {}, rate),
    },
    Column {
        head: "within 3",
        key: |row| repair_rate(row, 2)?.rate,
        cell: |row| repair_rate(row, 2).map_or(html! {}, rate),
    },
];

fn repair_rate(row: &ReportRow, index: usize) -> Option<Rate> {
    row.repair_at.get(index).map(|repair| repair.chains)
}

const COST: [Column; 6] = [
    Column {
        head: "calls/episode",
        key: |row| row.calls_per_episode.rate,
        cell: |row| html! { (rate_decimal(row.calls_per_episode)) },
    },
    Column {
        head: "tokens/episode",
        key: |row| row.tokens_per_episode.rate,
        cell: |row| html! { (rate_amount(row.tokens_per_episode)) },
    },
    Column {
        head: "tokens vs none",
        key: |row| row.tokens_vs_none?.difference,
        cell: |row| difference(row.tokens_vs_none),
    },
    Column {
        head: "guardrail tokens",
        key: |row| Some(row.guardrail_tokens as f64),
        cell: |row| html! { (count(row.guardrail_tokens)) },
    },
    Column { head: "call efficiency", key: |row| row.call_efficiency.rate, cell: |row| rate(row.call_efficiency) },
    Column {
        head: "US $/ok",
        key: |row| row.cost_per_success,
        cell: |row| html! { (row.cost_per_success.map_or(UNKNOWN.to_owned(), money)) },
    },
];

const MODELS: [Column; 6] = [
    Column {
        head: "input/episode",
        key: |row| row.model?.input_per_episode.rate,
        cell: |row| html! { (row.model.map_or(UNKNOWN.to_owned(), |model| rate_amount(model.input_per_episode))) },
    },
    Column {
        head: "of it cached",
        key: |row| row.model?.cache_read.rate,
        cell: |row| html! { (row.model.map_or(UNKNOWN.to_owned(), |model| rate_percent(model.cache_read))) },
    },
    Column {
        head: "output/episode",
        key: |row| row.model?.output_per_episode.rate,
        cell: |row| html! { (row.model.map_or(UNKNOWN.to_owned(), |model| rate_amount(model.output_per_episode))) },
    },
    Column {
        head: "of it reasoned",
        key: |row| row.model?.reasoning.rate,
        cell: |row| html! { (row.model.map_or(UNKNOWN.to_owned(), |model| rate_percent(model.reasoning))) },
    },
    Column {
        head: "seconds/turn",
        key: |row| row.model?.latency_ms_per_turn.rate,
        cell: |row| html! { (row.model.map_or(UNKNOWN.to_owned(), |model| seconds(model.latency_ms_per_turn))) },
    },
    Column {
        head: "US $/episode",
        key: |row| row.model?.usd_per_episode,
        cell: |row| html! { (row.model.and_then(|model| model.usd_per_episode).map_or(UNKNOWN.to_owned(), money)) },
    },
];
