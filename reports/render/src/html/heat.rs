//! Heat maps: the success of each scenario under each condition, a table for each agent. Cells lead to transcripts.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::payload::row_id;
use super::transcript::MAX_ROWS;
use super::visible;
use crate::labels::row_label;
use crate::number::{count, pluralize, rate_percent};
use healbench_analysis::{AgentReport, Example, Rate, Report, agents_by_information};

/// The largest number of cells in the page.
const MAX_CELLS: usize = 6_000;
/// The number of agents whose heat map is open from the start.
const MAX_OPEN: usize = 2;
/// The largest number of names in the list of equal scenarios.
const MAX_NAMES: usize = 200;

/// The conditions with the same success in every scenario, by their indices; the first is shown.
type EqualConditions = Vec<usize>;

/// Scenarios with the same success under every condition, by what they have.
struct EqualScenarios<'a> {
    rate: String,
    examples: Vec<&'a Example>,
}

/// Renders the heat maps of all agents, those whose success differs most first; nothing if there is only one condition.
pub(super) fn heat_maps(report: &Report) -> Markup {
    let conditions = report.agents.first().map_or(0, |agent| agent.rows.len());
    if conditions < 2 || report.examples.is_empty() {
        return html! {};
    }
    let examples = report.examples_by_spread();
    let shown_rows = examples.len().min(MAX_ROWS);
    let mut room = MAX_CELLS;
    let mut maps = Vec::new();
    for agent in agents_by_information(report) {
        let mine: Vec<&Example> =
            examples[..shown_rows].iter().copied().filter(|example| example.agent == agent).collect();
        maps.push((agent, heat_map(report, agent, &mine, &mut room)));
    }
    html! {
        h2 #heat { "Which scenarios succeed under which condition?" }
        p.note {
            "The share of trials that succeed. Scenarios are ordered by how much they differ between conditions. A cell opens the transcripts of its scenario."
        }
        @for (index, (agent, map)) in maps.iter().enumerate() {
            @if let Some(map) = map {
                details.map open[index < MAX_OPEN] {
                    summary { (visible(&report.agents[*agent].title)) }
                    (map)
                }
            }
        }
    }
}

/// Renders the heat map of an agent; `None` if there is no room for a row of it.
fn heat_map(report: &Report, agent: usize, examples: &[&Example], room: &mut usize) -> Option<Markup> {
    let agent_report = &report.agents[agent];
    let (differing, equal): (Vec<&Example>, Vec<&Example>) =
        examples.iter().copied().partition(|example| example.spread.is_some_and(|spread| spread > 0.0));
    let columns = equal_conditions(agent_report, &differing);
    let most = *room / columns.len().max(1);
    let (shown, left_out) = differing.split_at(differing.len().min(most));
    *room -= shown.len() * columns.len();
    if shown.is_empty() && !differing.is_empty() {
        return None;
    }
    let label = |condition: &usize| agent_report.rows.get(*condition).map(row_label).unwrap_or_default();
    let title = format!("Success of {} by scenario and condition", agent_report.title);
    let merged: Vec<&EqualConditions> = columns.iter().filter(|column| column.len() > 1).collect();
    Some(html! {
        @if !shown.is_empty() {
            div.scroll tabindex="0" role="region" aria-label=(visible(&title)) {
                table.grid.upright[columns.len() > 6] {
                    thead { tr {
                        th.text scope="col" { "scenario" }
                        @for column in &columns {
                            th scope="col" { span { (label(&column[0])) @if column.len() > 1 { " +" (column.len() - 1) } } }
                        }
                    } }
                    tbody { @for example in shown { (row(report, agent_report, example, &columns)) } }
                }
            }
        }
        @if !left_out.is_empty() {
            p.note { (pluralize(left_out.len() as u64, "scenario")) " that differ less left out; " code { "healbench report --output csv --by-scenario" } " has them all." }
        }
        @if !merged.is_empty() && !shown.is_empty() {
            details {
                summary { "Conditions with the same success in every scenario share a column" }
                ul.note { @for column in &merged { li { (column.iter().map(label).collect::<Vec<_>>().join(" = ")) } } }
            }
        }
        @for group in equal_scenarios(agent_report, &equal) {
            details {
                summary { (pluralize(group.examples.len() as u64, "scenario")) ": " (group.rate) " under every condition" }
                p.note {
                    @for (index, example) in group.examples.iter().take(MAX_NAMES).enumerate() {
                        @if index > 0 { ", " }
                        a href={ "#" (row_id(example.scenario, example.agent)) } { (visible(&report.scenarios[example.scenario])) }
                    }
                    @if group.examples.len() > MAX_NAMES { " and " (count((group.examples.len() - MAX_NAMES) as u64)) " more" }
                }
            }
        }
    })
}

fn row(report: &Report, agent: &AgentReport, example: &Example, columns: &[EqualConditions]) -> Markup {
    let href = format!("#{}", row_id(example.scenario, example.agent));
    html! {
        tr {
            th scope="row" { (visible(&report.scenarios[example.scenario])) }
            @for column in columns {
                @let success = success(agent, example.scenario, column[0]);
                td class=(shade(success)) {
                    @if success.is_some_and(|success| success.rate.is_some()) {
                        a href=(href) data-c=(column[0]) { (success.map(rate_percent).unwrap_or_default()) }
                    }
                }
            }
        }
    }
}

fn success(agent: &AgentReport, scenario: usize, condition: usize) -> Option<Rate> {
    Some(agent.rows.get(condition)?.scenarios.get(scenario)?.success)
}

/// Returns the class of a cell's shade.
fn shade(success: Option<Rate>) -> &'static str {
    match success.and_then(|success| success.rate) {
        None => "s",
        Some(rate) if rate <= 0.0 => "s0",
        Some(rate) if rate < 0.25 => "s1",
        Some(rate) if rate < 0.5 => "s2",
        Some(rate) if rate < 0.75 => "s3",
        Some(rate) if rate < 1.0 => "s4",
        Some(_) => "s5",
    }
}

/// Groups the conditions that have the same counts in all of these scenarios, in the order of the plan.
fn equal_conditions(agent: &AgentReport, examples: &[&Example]) -> Vec<EqualConditions> {
    let mut groups: Vec<EqualConditions> = Vec::new();
    let mut known: BTreeMap<Vec<(u64, u64)>, usize> = BTreeMap::new();
    for condition in 0..agent.rows.len() {
        let counts = examples.iter().map(|example| {
            success(agent, example.scenario, condition).map_or((0, 0), |rate| (rate.numerator, rate.denominator))
        });
        let group = *known.entry(counts.collect()).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push(condition);
    }
    groups
}

/// Groups scenarios that have the same success under every condition, the least successful first.
fn equal_scenarios<'a>(agent: &AgentReport, examples: &[&'a Example]) -> Vec<EqualScenarios<'a>> {
    let mut groups: BTreeMap<u64, EqualScenarios<'a>> = BTreeMap::new();
    for example in examples {
        let rates = (0..agent.rows.len()).filter_map(|condition| success(agent, example.scenario, condition)?.rate);
        let Some(rate) = rates.into_iter().next() else { continue };
        // Rates are not negative, so their bits are ordered like them.
        let group = groups
            .entry(rate.to_bits())
            .or_insert_with(|| EqualScenarios { rate: crate::number::percent(rate), examples: Vec::new() });
        group.examples.push(example);
    }
    groups.into_values().collect()
}
