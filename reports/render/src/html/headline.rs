//! The summary at the top of the page: the effect of the guardrails and its cost.

use healbench_core::AgentKind;
use maud::{Markup, html};

use super::interval_axis::Axis;
use super::visible;
use crate::labels::{AS_GOOD, clear_sign, pair_interval_in_words, row_label};
use crate::number::{
    UNKNOWN, amount, amount_interval, money, p_value, percent_interval, pluralize, points, points_interval,
    rate_amount, rate_decimal, rate_percent, signed_amount,
};
use crate::scenario_differences::scenario_sentences;
use healbench_analysis::{
    AgentReport, HeadlineComparison, PairedDifference, Rate, Report, ReportRow, RowMetric, Verdict,
};

/// Renders one card per agent.
pub(super) fn headline_cards(report: &Report) -> Markup {
    let agents: Vec<&AgentReport> = report.headline_agents().collect();
    let compared = agents.iter().filter_map(|agent| agent.headline);
    let axis = Axis::of(compared.map(|compared| (compared.success.difference, compared.success.interval)));
    let index = |agent: &AgentReport| report.agents.iter().position(|other| std::ptr::eq(other, agent)).unwrap_or(0);
    html! {
        @if let Some(headline) = report.headline {
            @let names = report.agents.first().map(|agent| [headline.left, headline.right].map(|row| row_label(&agent.rows[row])));
            @if let Some([left, right]) = names {
                @if report.agents.iter().any(|agent| agent.rows.len() > 2) {
                    h2 #headline { "What changes from " (left) " to " (right) "?" }
                    p.note {
                        "In pairs of the same scenario and trial. Intervals and p are for other scenarios of these suites"
                        @if agents.len() > 1 { "; p is adjusted by Holm for all pairs of conditions of an agent" } "."
                    }
                } @else { p {
                    "What changes from " b { (left) } " to " b { (right) } ", in pairs of the same scenario and trial. "
                    "Intervals and p are for other scenarios of these suites" @if agents.len() > 1 { "; p is adjusted by Holm for all pairs of conditions of an agent" } "."
                } }
            }
            ul.answers {
                @for agent in &agents {
                    (card((agent, index(agent)), axis, &agent.rows[headline.left], &agent.rows[headline.right]))
                }
            }
            @for sentence in scenario_sentences(report) { p.note { (sentence) } }
        } @else {
            p { "The run has only one condition: there is nothing to compare it with." }
            ul.answers {
                @for agent in &agents {
                    @for row in &agent.rows { (single_condition_card(agent, row)) }
                }
            }
        }
        @if agents.len() < report.agents.len() {
            p.note { "Simulated readers have no headline beside a model. Their rows are below." }
        }
    }
}

/// Renders the name of an agent and a badge with the kind of a model.
fn heading(agent: &AgentReport) -> Markup {
    let badge = match agent.kind {
        AgentKind::Scripted => None,
        AgentKind::Llm => Some("model"),
        AgentKind::Replay => Some("model, replayed"),
        AgentKind::Program => Some("program"),
        AgentKind::Trace => Some("recorded"),
    };
    html! {
        (visible(&agent.headline_title()))
        @if let Some(badge) = badge { " " span.badge { (badge) } }
    }
}

fn card((agent, index): (&AgentReport, usize), axis: Axis, left: &ReportRow, right: &ReportRow) -> Markup {
    let Some(comparison) = agent.headline else { return html! {} };
    let PairedDifference { verdict, difference, .. } = comparison.success;
    let direction = match clear_sign(verdict, difference) {
        1 => "up",
        -1 => "down",
        _ => "",
    };
    let [before, after] = comparison.success_rates;
    let conditions = agent.rows.len() as u64;
    let pairs = conditions * conditions.saturating_sub(1) / 2;
    html! {
        li class={ "answer " (direction) } {
            h2 { (heading(agent)) }
            div {
                span.big { (rate_percent(before)) " → " (rate_percent(after)) }
                " of episodes succeed"
            }
            @if verdict == Verdict::Equal {
                div { "equal in every trial" }
            } @else if let Some(difference) = difference {
                div {
                    @let gain = html! { (points(difference)) " points" };
                    @if direction.is_empty() { (gain) } @else { b { (gain) } }
                    @if let Some(interval) = comparison.success.interval { " " (pair_interval_in_words(interval, verdict)) }
                    @if let Some(this_suite) = comparison.success.this_suite {
                        " " span.sure { "this suite " (points_interval(this_suite.interval)) }
                    }
                    @if comparison.success.p_adjusted.is_some() {
                        ", p " (p_value(comparison.success.p_adjusted))
                        @if pairs > 1 { " adjusted for all pairs of conditions that differ" }
                        ":"
                    }
                    @match direction {
                        "up" => { " " span.good { "more succeed" } }
                        "down" => { " " span.bad { "fewer succeed" } }
                        _ if verdict == Verdict::AsGood => { " " (AS_GOOD) }
                        _ => { " no clear difference" }
                    }
                }
                div.axis { (axis.scale()) (axis.mark(Some(difference), comparison.success.interval, verdict, index)) }
            } @else {
                div { "There is no pair of scored episodes." }
            }
            ul { (costs(&comparison, left, right)) }
            @if comparison.success.unmatched > 0 {
                p.note { "Left out: " (pluralize(comparison.success.unmatched, "trial")) " of which one episode is missing or not scored." }
            }
        }
    }
}

fn costs(comparison: &HeadlineComparison, left: &ReportRow, right: &ReportRow) -> Markup {
    let arrow = |[left, right]: [Rate; 2]| format!("{} → {}", rate_amount(left), rate_amount(right));
    let medians = |medians: [Option<f64>; 2]| {
        let [left, right] = medians.map(|median| median.map_or(UNKNOWN.to_owned(), amount));
        format!("; median over scenarios {left} → {right}")
    };
    html! {
        li {
            "billed tokens per episode: " (arrow(comparison.billed_tokens_per_episode))
            @if let Some(difference) = comparison.billed_tokens.difference {
                ", " (signed_amount(difference))
                @if let Some(interval) = comparison.billed_tokens.interval { " " (amount_interval(interval)) }
            }
            (medians(comparison.median_billed_tokens_per_episode))
        }
        li {
            "billed tokens per success: " (arrow(comparison.billed_tokens_per_success))
            (medians(comparison.median_billed_tokens_per_success))
        }
        @if comparison.provider_tokens_per_episode[0].rate.is_some() {
            li { "the provider's count per episode: " (arrow(comparison.provider_tokens_per_episode)) }
        }
        li {
            "tokens per episode, each text counted once: " (arrow(comparison.tokens_per_episode))
            @if let Some(difference) = comparison.tokens.difference {
                ", " (signed_amount(difference))
                @if let Some(interval) = comparison.tokens.interval { " " (amount_interval(interval)) }
            }
        }
        li {
            "calls per episode: " (rate_decimal(comparison.calls_per_episode[0])) " → " (rate_decimal(comparison.calls_per_episode[1]))
            @if let Some(difference) = comparison.calls.difference {
                ", " (signed_amount(difference))
                @if let Some(interval) = comparison.calls.interval { " " (amount_interval(interval)) }
            }
        }
        @if left.model.is_some() || right.model.is_some() {
            li {
                "US $ per success, of all scored episodes: " (left.cost_per_success.map_or(UNKNOWN.to_owned(), money))
                " → " (right.cost_per_success.map_or(UNKNOWN.to_owned(), money))
            }
        }
    }
}

fn single_condition_card(agent: &AgentReport, row: &ReportRow) -> Markup {
    html! {
        li.answer {
            h2 { (heading(agent)) }
            div { span.big { (rate_percent(row.rate(RowMetric::Success))) } " of episodes succeed" }
            @if let Some(interval) = row.success_interval { div.sure { (percent_interval(interval)) } }
            ul {
                li { (row_label(row)) }
                li { "billed tokens per episode: " (rate_amount(row.rate(RowMetric::BilledTokensPerEpisode))) }
                li { "billed tokens per success: " (rate_amount(row.rate(RowMetric::BilledTokensPerSuccess))) }
            }
        }
    }
}
