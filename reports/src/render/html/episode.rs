//! The page of an episode, which can be asked for another setting or another episode.

use healbench_protocol::{AgentKind, ErrorFormat, Guardrails};
use healbench_record::{CellRef, Plan, Setting};
use maud::{Markup, html};

use super::page::{Page, page};
use super::playback::beside;
use super::{run_address, shown};
use crate::playback::Playback;
use crate::render::plain_text;
use crate::render::terminal::setting;

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
    pub playbacks: &'a [Playback],
}

/// The page.
pub fn episode(episode: &EpisodePage<'_>) -> String {
    let EpisodePage { name, episode: number, plan, playbacks } = episode;
    let title = format!("{name}, episode {number}");
    let body = html! {
        p.meta {
            a href=(run_address(name)) { (shown(name)) }
            @if let Some(first) = playbacks.first() { " · " (shown(&first.agent)) " · trial " (first.trial) }
        }
        @if let Some(first) = playbacks.first() { h1 { (shown(&first.scenario)) } }
        @if let Some(cell) = plan.cell(*number) {
            (others(episode, cell))
            @if plan.agents[cell.agent].kind == AgentKind::Scripted { (form(episode)) }
        }
        (beside(&playbacks.iter().collect::<Vec<_>>(), true))
    };
    page(&Page { title: &title, served: true, body })
}

/// The same scenario, agent and trial under the plan's other settings.
fn others(page: &EpisodePage<'_>, cell: CellRef) -> Markup {
    let episodes = page.plan.settings.iter().enumerate().filter(|(index, _)| *index != cell.setting);
    html! {
        @if page.plan.settings.len() > 1 {
            p.note {
                "Beside it under: "
                @for (index, (place, Setting { guardrails, format })) in episodes.enumerate() {
                    @if index > 0 { ", " }
                    @let other = page.plan.episode(CellRef { setting: place, ..cell });
                    a href={ (run_address(page.name)) "episodes/" (page.episode) "?beside=" (other) } {
                        (shown(&setting(*guardrails, format)))
                    }
                }
            }
        }
    }
}

/// Any other setting: a scripted agent simply plays again.
fn form(page: &EpisodePage<'_>) -> Markup {
    let templates = page.plan.settings.iter().map(|setting| &setting.format);
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
                @for format in &formats { option value=(format) { (shown(format)) } }
            } }
            button type="submit" { "Play it so" }
        }
    }
}
