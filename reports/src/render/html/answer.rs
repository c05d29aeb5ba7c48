//! What one sees first: what the guardrails did, and what it cost.

use healbench_protocol::AgentKind;
use maud::{Markup, html};

use super::shown;
use crate::render::number::{
    UNKNOWN, amount_per, change, change_interval, money, percent_interval, points, points_interval, rate_percent,
};
use crate::render::terminal::name;
use crate::statistics::Interval;
use crate::summary::{AgentReport, Report, ReportRow};

/// A card for each agent.
pub(super) fn answers(report: &Report) -> Markup {
    html! {
        @if let Some(contrast) = report.contrast {
            @let names = report.agents.first().map(|agent| [contrast.left, contrast.right].map(|row| name(&agent.rows[row])));
            @if let Some([left, right]) = names {
                p { "What changes from " b { (left) } " to " b { (right) } ", in pairs of the same scenario and trial:" }
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
    let paired = right.vs_none;
    let direction = match paired.and_then(|paired| paired.interval) {
        Some(Interval { lower, .. }) if lower > 0.0 => "up",
        Some(Interval { upper, .. }) if upper < 0.0 => "down",
        _ => "",
    };
    html! {
        li class={ "answer " (direction) } {
            h2 { (shown(&agent.title)) " " (badge(agent)) }
            div {
                span.big { (rate_percent(left.success)) " → " (rate_percent(right.success)) }
                " of episodes succeed"
            }
            @if let Some(difference) = paired.and_then(|paired| paired.difference) {
                div {
                    b { (points(difference)) " points" }
                    @if let Some(interval) = paired.and_then(|paired| paired.interval) { " " (points_interval(interval)) }
                    @match direction {
                        "up" => { " " span.good { "more succeed" } }
                        "down" => { " " span.bad { "fewer succeed" } }
                        _ => { " it cannot be told whether more or fewer succeed" }
                    }
                }
            }
            ul { (costs(left, right)) }
        }
    }
}

fn costs(left: &ReportRow, right: &ReportRow) -> Markup {
    let tokens = right.tokens_vs_none;
    html! {
        li {
            "tokens an episode: " (amount_per(left.tokens_per_episode)) " → " (amount_per(right.tokens_per_episode))
            @if let Some(difference) = tokens.and_then(|tokens| tokens.difference) {
                ", " b { (change(difference)) }
                @if let Some(interval) = tokens.and_then(|tokens| tokens.interval) { " " (change_interval(interval)) }
            }
        }
        li { "tokens a success: " (amount_per(left.tokens_per_success)) " → " (amount_per(right.tokens_per_success)) }
        @if left.model.is_some() || right.model.is_some() {
            li {
                "US $ a success: " (left.cost_per_success.map_or(UNKNOWN.to_owned(), money))
                " → " (right.cost_per_success.map_or(UNKNOWN.to_owned(), money))
            }
        }
        li {
            "recovered where something was scheduled to go wrong: " (rate_percent(left.episode_recovery)) " → "
            (rate_percent(right.episode_recovery))
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
