//! The page of an episode, which can be asked for another setting or another episode.

use healbench_protocol::{AgentKind, ErrorFormat, Guardrails};
use healbench_record::{CellRef, Condition, Plan};
use maud::{Markup, html};

use super::page::{Page, page};
use super::transcript::side_by_side;
use super::{run_address, visible};
use crate::render::plain_text;
use crate::render::terminal::condition_label;
use crate::transcript::Transcript;

/// What the page of an episode is made from.
#[derive(Debug)]
pub struct EpisodePage<'a> {
    /// The run's name.
    pub name: &'a str,
    /// The episode that was asked for.
    pub episode: u64,
    /// The run's plan, which has that episode.
    pub plan: &'a Plan,
    /// It, and what was asked for beside it.
    pub transcripts: &'a [Transcript],
}

/// The page.
pub fn episode(episode: &EpisodePage<'_>) -> String {
    let EpisodePage { name, episode: number, plan, transcripts } = episode;
    let title = format!("{name}, episode {number}");
    let body = html! {
        p.meta {
            a href=(run_address(name)) { (visible(name)) }
            @if let Some(first) = transcripts.first() { " · " (visible(&first.agent)) " · trial " (first.trial) }
        }
        @if let Some(first) = transcripts.first() { h1 { (visible(&first.scenario)) } }
        @if let Some(cell) = plan.cell(*number) {
            (other_conditions(episode, cell))
            @if plan.agents[cell.agent].kind == AgentKind::Scripted { (rerun_form(episode)) }
        }
        (side_by_side(&transcripts.iter().collect::<Vec<_>>(), true))
    };
    page(&Page { title: &title, served: true, body })
}

/// The same scenario, agent and trial under the plan's other settings.
fn other_conditions(page: &EpisodePage<'_>, cell: CellRef) -> Markup {
    let episodes = page.plan.conditions.iter().enumerate().filter(|(index, _)| *index != cell.condition);
    html! {
        @if page.plan.conditions.len() > 1 {
            p.note {
                "Beside it under: "
                @for (index, (index_in_plan, Condition { guardrails, format })) in episodes.enumerate() {
                    @if index > 0 { ", " }
                    @let other = page.plan.episode(CellRef { condition: index_in_plan, ..cell });
                    a href={ (run_address(page.name)) "episodes/" (page.episode) "?beside=" (other) } {
                        (visible(&condition_label(*guardrails, format)))
                    }
                }
            }
        }
    }
}

/// Any other setting: a scripted agent simply plays again.
fn rerun_form(page: &EpisodePage<'_>) -> Markup {
    let templates = page.plan.conditions.iter().map(|condition| &condition.format);
    let templates = templates.filter(|format| matches!(format, ErrorFormat::Template(_)));
    let mut formats: Vec<String> =
        ErrorFormat::NAMED.iter().chain(templates).map(|format| format.name().into()).collect();
    let mut seen = std::collections::BTreeSet::new();
    // What cannot be seen does not come back from a form as it is.
    formats.retain(|format| plain_text(format) == *format && seen.insert(format.clone()));
    html! {
        form.tools action={ (run_address(page.name)) "episodes/" (page.episode) } method="get" {
            label { "Guardrails" select name="guardrails" {
                option value="" { "as it was" }
                @for bits in (0..16).rev() { @let set = Guardrails::from_bits(bits).to_string(); option value=(set) { (set) } }
            } }
            label { "Error format" select name="format" {
                option value="" { "as it was" }
                @for format in &formats { option value=(format) { (visible(format)) } }
            } }
            button type="submit" { "Play it so" }
        }
    }
}
