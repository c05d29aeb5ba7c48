//! What one sees first: what the guardrails did, and what it cost.

use healbench_protocol::AgentKind;
use maud::{Markup, html};

use super::shown;
use crate::render::matrix::LEVEL;
use crate::render::number::{
    UNKNOWN, amount_per, change, change_interval, counted, money, p_value, per, percent_interval, points,
    points_interval, rate_percent,
};
use crate::render::terminal::name;
use crate::summary::{AgentReport, Beside, Rate, Report, ReportRow};

/// A card for each agent.
pub(super) fn answers(report: &Report) -> Markup {
    html! {
        @if let Some(contrast) = report.contrast {
            @let names = report.agents.first().map(|agent| [contrast.left, contrast.right].map(|row| name(&agent.rows[row])));
            @if let Some([left, right]) = names {
                p {
                    "What changes from " b { (left) } " to " b { (right) } ", in pairs of the same scenario and trial. "
                    "p: McNemar's mid-p" @if report.agents.len() > 1 { ", adjusted by Holm for the agents" } "."
                }
            }
            ul.answers {
                @for agent in &report.agents {
                    (card(agent, &agent.rows[contrast.left], &agent.rows[contrast.right]))
                }
            }
        } @else {
            p { "The run has one setting only: there is nothing to compare it with." }
            ul.answers {
                @for agent in &report.agents {
                    @for row in &agent.rows { (alone(agent, row)) }
                }
            }
        }
    }
}

/// Whose rows they are.
pub(super) fn badge(agent: &AgentReport) -> Markup {
    let word = match agent.kind {
        AgentKind::Scripted => "scripted",
        AgentKind::Llm => "model",
        AgentKind::Replay => "model, replayed",
    };
    html! { span.badge { (word) } }
}

fn card(agent: &AgentReport, left: &ReportRow, right: &ReportRow) -> Markup {
    let Some(beside) = agent.beside else { return html! {} };
    let told = beside.success.p_adjusted.is_some_and(|p| p < LEVEL);
    let direction = match beside.success.difference {
        Some(difference) if told && difference > 0.0 => "up",
        Some(difference) if told && difference < 0.0 => "down",
        _ => "",
    };
    let [before, after] = beside.success_rates;
    html! {
        li class={ "answer " (direction) } {
            h2 { (shown(&agent.title)) " " (badge(agent)) }
            div {
                span.big { (rate_percent(before)) " → " (rate_percent(after)) }
                " of episodes succeed"
            }
            @if let Some(difference) = beside.success.difference {
                div {
                    b { (points(difference)) " points" }
                    @if let Some(interval) = beside.success.interval { " " (points_interval(interval)) }
                    @if beside.success.p_adjusted.is_some() { ", p " (p_value(beside.success.p_adjusted)) ":" }
                    @match direction {
                        "up" => { " " span.good { "more succeed" } }
                        "down" => { " " span.bad { "fewer succeed" } }
                        _ => { " it cannot be told whether more or fewer succeed" }
                    }
                }
            } @else {
                div { "There is no pair of scored episodes." }
            }
            ul { (costs(&beside, left, right)) }
            @if beside.success.unmatched > 0 {
                p.note { "Left out: " (counted(beside.success.unmatched, "trial")) " of which one episode is missing or not scored." }
            }
        }
    }
}

fn costs(beside: &Beside, left: &ReportRow, right: &ReportRow) -> Markup {
    let arrow = |[left, right]: [Rate; 2]| format!("{} → {}", amount_per(left), amount_per(right));
    html! {
        li {
            "tokens an episode: " (arrow(beside.tokens_per_episode))
            @if let Some(difference) = beside.tokens.difference {
                ", " b { (change(difference)) }
                @if let Some(interval) = beside.tokens.interval { " " (change_interval(interval)) }
            }
        }
        li { "tokens a success: " (arrow(beside.tokens_per_success)) }
        li {
            "calls an episode: " (per(beside.calls_per_episode[0])) " → " (per(beside.calls_per_episode[1]))
            @if let Some(difference) = beside.calls.difference {
                ", " b { (change(difference)) }
                @if let Some(interval) = beside.calls.interval { " " (change_interval(interval)) }
            }
        }
        @if left.model.is_some() || right.model.is_some() {
            li {
                "US $ a success, of all scored episodes: " (left.cost_per_success.map_or(UNKNOWN.to_owned(), money))
                " → " (right.cost_per_success.map_or(UNKNOWN.to_owned(), money))
            }
        }
    }
}

fn alone(agent: &AgentReport, row: &ReportRow) -> Markup {
    html! {
        li.answer {
            h2 { (shown(&agent.title)) " " (badge(agent)) }
            div { span.big { (rate_percent(row.success)) } " of episodes succeed" }
            @if let Some(interval) = row.success_interval { div.sure { (percent_interval(interval)) } }
            ul {
                li { (name(row)) }
                li { "tokens an episode: " (amount_per(row.tokens_per_episode)) }
                li { "tokens a success: " (amount_per(row.tokens_per_success)) }
            }
        }
    }
}
