//! The history of suites: how their runs went, one after another. A page of `healbench view`.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use super::page::{Page, page};
use super::{run_address, visible};
use crate::number::{UNKNOWN, amount, count, money, percent, pluralize, rate_percent};
use healbench_analysis::Rate;
use healbench_analysis::gate::Verdict;

/// The runs of one suite with the same agents and conditions.
#[derive(Debug)]
pub struct SuiteHistory {
    /// The name of the suite.
    pub suite: String,
    /// The agents and conditions.
    pub plan: String,
    /// The runs in the order of their start, the oldest first.
    pub runs: Vec<HistoryRun>,
    /// The number of older runs that are left out.
    pub left_out: usize,
}

/// A run in the history of its suite.
#[derive(Debug)]
pub struct HistoryRun {
    pub name: String,
    pub started: String,
    /// Successes over scored episodes.
    pub success: Rate,
    /// Billed tokens per scored episode; null if unknown.
    pub billed_tokens: Option<f64>,
    /// US dollars per scored episode; null if unknown.
    pub usd: Option<f64>,
    /// The changes of the suite since the run before; empty if there are none. A changed suite begins a new line.
    pub changes: Vec<String>,
    /// The verdict of the gate with the built-in policy on this run, compared with the run before; an error says why there is
    /// none.
    pub verdict: Result<Verdict, String>,
}

/// Renders the page, from the folder named `folder`.
pub fn history(folder: &str, suites: &[SuiteHistory]) -> String {
    let body = html! {
        h1 { "History" }
        p.meta { (pluralize(suites.len() as u64, "suite")) " in " code { (visible(folder)) } }
        @if suites.is_empty() { p { "No run of a suite is complete." } }
        @else {
            p.note {
                "Runs of the same suite with the same agents and conditions, over all of its cells. Where a suite changed, a new line begins: runs before and "
                "after it measured different things. The verdict compares a run with the one before it, by the built-in policy of " code { "healbench gate" } "."
            }
        }
        @for (index, suite) in suites.iter().enumerate() { (suite_history(index, suite)) }
    };
    page(&Page { title: "History", served: true, body })
}

fn suite_history(index: usize, suite: &SuiteHistory) -> Markup {
    let values = |value: fn(&HistoryRun) -> Option<f64>| suite.runs.iter().map(value).collect::<Vec<_>>();
    let success = chart(index, suite, "success", Some(1.0), &values(|run| run.success.rate), percent);
    let billed = chart(index, suite, "billed tokens per episode", None, &values(|run| run.billed_tokens), amount);
    html! {
        h2 { (visible(&suite.suite)) }
        p.meta { (visible(&suite.plan)) }
        @if suite.left_out > 0 { p.note { (pluralize(suite.left_out as u64, "older run")) " left out." } }
        @if suite.runs.len() > 1 { figure { (success) (billed) } }
        div.scroll tabindex="0" role="region" aria-label={ "History of " (visible(&suite.suite)) ": " (visible(&suite.plan)) } {
            table {
                thead { tr {
                    @for head in ["run", "began (UTC)"] { th.text scope="col" { (head) } }
                    @for head in ["success", "episodes", "billed tokens/episode", "US $/episode"] { th scope="col" { (head) } }
                    th.text scope="col" { "verdict" }
                } }
                tbody {
                    @for (at, run) in suite.runs.iter().enumerate().rev() {
                        (row(run, at.checked_sub(1).map(|before| &suite.runs[before])))
                        @if !run.changes.is_empty() {
                            tr.agent { th.wide-text scope="rowgroup" colspan="7" { "the suite changed: " (visible(&run.changes.join("; "))) } }
                        }
                    }
                }
            }
        }
    }
}

fn row(run: &HistoryRun, before: Option<&HistoryRun>) -> Markup {
    html! {
        tr {
            th.wide-text scope="row" { a href=(run_address(&run.name)) { (visible(&run.name)) } }
            td.text { (visible(&run.started.replace('T', " ").replace('Z', ""))) }
            td { (rate_percent(run.success)) }
            td { (count(run.success.denominator)) }
            td { (run.billed_tokens.map_or(UNKNOWN.to_owned(), amount)) }
            td { (run.usd.map_or(UNKNOWN.to_owned(), money)) }
            td.text.wide-text {
                @match &run.verdict {
                    Ok(verdict) => { span class=(verdict_class(*verdict)) { (verdict.name()) } }
                    Err(reason) => { span.sure { (visible(reason)) } }
                }
                @if let Some(before) = before {
                    " "
                    a href={ "/compare?base=" (query_value(&before.name)) "&candidate=" (query_value(&run.name)) } { "compare" }
                }
            }
        }
    }
}

fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "good",
        Verdict::Fail => "bad",
        Verdict::Inconclusive | Verdict::Missing => "sure",
    }
}

/// Encodes a value of a query.
fn query_value(text: &str) -> String {
    let address = run_address(text);
    address.trim_start_matches("/runs/").trim_end_matches('/').to_owned()
}

/// The size of a chart in pixels, and its margins.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 164.0;
const LEFT: f64 = 20.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 16.0;
/// The largest number of runs whose values stand at their points.
const MAX_LABELS: usize = 12;

/// Draws a value over the runs: a line for each state of the suite, and a point that leads to its run. The axis starts at zero.
fn chart(
    index: usize,
    suite: &SuiteHistory,
    title: &str,
    top: Option<f64>,
    values: &[Option<f64>],
    format: impl Fn(f64) -> String,
) -> Markup {
    let known = values.iter().flatten().copied();
    let top = top.unwrap_or_else(|| known.fold(0.0, f64::max)).max(f64::MIN_POSITIVE);
    let step = (WIDTH - 2.0 * LEFT) / (values.len().max(2) - 1) as f64;
    let place =
        |at: usize, value: f64| (LEFT + step * at as f64, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value / top));
    let mut lines = String::new();
    let mut is_open = false;
    for (at, value) in values.iter().enumerate() {
        let continues = is_open && suite.runs[at].changes.is_empty();
        is_open = value.is_some();
        if let Some(value) = value {
            let (x, y) = place(at, *value);
            // Writing to a `String` cannot fail.
            let _ = write!(lines, "{}{x:.1} {y:.1}", if continues { "L" } else { "M" });
        }
    }
    let id = format!("history-{index}-{}", title.split(' ').next().unwrap_or_default());
    let described = suite.runs.iter().zip(values).map(|(run, value)| {
        format!("{}: {}", healbench_text::plain_text(&run.name), value.map_or(UNKNOWN.to_owned(), &format))
    });
    html! {
        svg.history role="group" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } aria-labelledby={ (id) "-t" } aria-describedby={ (id) "-d" } {
            title id={ (id) "-t" } { (title) " of " (visible(&suite.suite)) " by run" }
            desc id={ (id) "-d" } { (described.collect::<Vec<_>>().join("; ")) }
            text.head x="0" y="14" { (title) }
            line x1=(LEFT) x2=(WIDTH - LEFT) y1=(HEIGHT - BOTTOM) y2=(HEIGHT - BOTTOM) {}
            path d=(lines) {}
            @for (at, (run, value)) in suite.runs.iter().zip(values).enumerate() {
                @if let Some(value) = value {
                    @let (x, y) = place(at, *value);
                    @let text = format(*value);
                    @let tip = format!("{}: {title} {text}", healbench_text::plain_text(&run.name));
                    a.mark href=(run_address(&run.name)) aria-label=(tip) {
                        circle cx=(PreEscaped(format!("{x:.1}"))) cy=(PreEscaped(format!("{y:.1}"))) r="5" {}
                        @if suite.runs.len() <= MAX_LABELS {
                            text x=(PreEscaped(format!("{x:.1}"))) y=(PreEscaped(format!("{:.1}", y - 10.0))) { (text) }
                        }
                    }
                }
            }
        }
    }
}
