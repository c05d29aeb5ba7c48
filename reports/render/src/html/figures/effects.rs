//! The effects of guardrails, as charts and tables.

use healbench_core::Guardrails;
use maud::{Markup, html};

use super::{bounds, caption, draw_both_widths, format_estimate, left_out};
use crate::ablation::{ablation_title, intervals, sections, success_effect, token_effect};
use crate::html::charts::{ChartError, Forest, ForestRow, forest};
use crate::labels::{Detail, pair_note};
use crate::number::count;
use healbench_analysis::{Ablation, Effect, Report, Verdict, agents_by_information};

/// The largest number of charts.
const MAX_CHARTS: usize = 8;
/// The largest number of effects in a chart of more than one agent and format.
const MAX_EFFECTS: usize = 16;
/// The smallest width at which the name of an agent and a format fits next to its effect.
const MIN_LABEL_WIDTH: u32 = 720;

/// Renders the effects of guardrails.
pub(super) fn effects(report: &Report) -> Result<Markup, ChartError> {
    // The most informative agents come first, and are kept if not all have room.
    let mut ablations = report.ablation.clone();
    let agents: Vec<&str> =
        agents_by_information(report).into_iter().map(|agent| report.agents[agent].title.as_str()).collect();
    ablations.sort_by_key(|ablation| agents.iter().position(|title| *title == ablation.title));
    let all = group_ablations(&ablations);
    let range = shared_range(&all[..all.len().min(MAX_CHARTS)]);
    let mut charts = Vec::new();
    for (index, ablations) in all.iter().take(MAX_CHARTS).enumerate() {
        let titles = ablations.iter().map(ablation_title).collect::<Vec<_>>().join(", ");
        let words: Vec<String> = ablations.iter().map(describe_effects).collect();
        let chart = |width| Forest {
            caption: caption(
                format!("effects-{index}"),
                format!("Effects of guardrails on {titles}"),
                words.join(". "),
            ),
            axis: "success, points".to_owned(),
            rows: forest_rows(report, ablations, width),
            range,
        };
        let chart = draw_both_widths(|width| forest(&chart(width), width))?;
        charts.push((titles, *ablations, chart));
    }
    Ok(html! {
        @if !charts.is_empty() {
            h2 #effects { "Which guardrail matters?" }
            p.note {
                "Effects on success in points: with the switch minus without it, in the same scenario and trial. A filled mark means that the "
                "effect is clear: adjusted for all pairs if it compares two conditions; means over conditions are not adjusted for their "
                "number. The charts share their axis, and an agent has one color everywhere."
                @if let Some(note) = pair_note(intervals(&report.ablation)) { " " (note) }
            }
            (left_out(all.len().saturating_sub(MAX_CHARTS), "chart"))
            div.figures { @for (titles, ablations, chart) in &charts {
                figure {
                    @match (ablations, shared_labels(ablations)) {
                        ([_], _) => figcaption { (titles) },
                        (_, Some(labels)) => figcaption { @if let Some(switch) = &labels.switch { (switch) ": " } (labels.about) },
                        _ => {},
                    }
                    @if let Some(chart) = chart { (chart) }
                    (effects_table(titles, ablations))
                }
            } }
        } @else if has_guardrails(report) {
            h2 #effects { "Which guardrail matters?" }
            p.note {
                "This run does not show it: it has neither all guardrails and all but one, nor none and one alone, in one error format. "
                code { "healbench run SUITE --guardrails one-out" } " runs all guardrails, and all without each."
            }
        }
    })
}

/// Returns true if a condition of the report has guardrails.
fn has_guardrails(report: &Report) -> bool {
    let rows = report.agents.iter().flat_map(|agent| &agent.rows);
    rows.into_iter().any(|row| row.condition.guardrails() != Guardrails::NONE)
}

/// Groups ablations into charts: adjacent ones with few effects share a chart, and one with many has its own.
fn group_ablations(ablations: &[Ablation]) -> Vec<&[Ablation]> {
    let effects = |ablation: &Ablation| -> usize {
        sections(ablation, Detail::Summary).iter().map(|(_, effects)| effects.len()).sum()
    };
    let mut room = 0;
    let mut starts: Vec<usize> = Vec::new();
    for (index, ablation) in ablations.iter().enumerate() {
        let needed = effects(ablation);
        if starts.is_empty() || needed > room {
            starts.push(index);
            room = MAX_EFFECTS;
        }
        room = room.saturating_sub(needed);
    }
    let ends = starts.iter().skip(1).copied().chain([ablations.len()]);
    starts.iter().zip(ends).map(|(start, end)| &ablations[*start..end]).collect()
}

/// The labels that a group of effects has in common.
struct EffectLabels {
    about: &'static str,
    switch: Option<String>,
}

/// Returns the common heading of these effects, and their common switch if there is only one.
fn shared_labels(ablations: &[Ablation]) -> Option<EffectLabels> {
    let sections = || ablations.iter().flat_map(|ablation| sections(ablation, Detail::Summary));
    let about = single_value(sections().map(|(about, _)| about))?;
    Some(EffectLabels { about, switch: single_value(sections().flat_map(|(_, effects)| effects).map(switches)) })
}

fn single_value<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.all(|next| next == first).then_some(first)
}

fn describe_effects(ablation: &Ablation) -> String {
    let sections = sections(ablation, Detail::Summary);
    let effects = sections.iter().flat_map(|(_, effects)| *effects);
    let words: Vec<String> = effects
        .map(|effect| format!("{} {}", switches(effect), format_estimate(success_effect(effect, true))))
        .collect();
    format!("{}: {}", ablation_title(ablation), words.join("; "))
}

fn switches(effect: &Effect) -> String {
    effect.switches.to_string().replace('+', " × ")
}

/// Returns the range of all effects and intervals of these charts in points.
fn shared_range(charts: &[&[Ablation]]) -> (f64, f64) {
    let effects = charts.iter().flat_map(|ablations| ablations.iter());
    let effects = effects.flat_map(|ablation| sections(ablation, Detail::Summary)).flat_map(|(_, effects)| effects);
    let ends = effects.flat_map(|effect| {
        let interval = bounds(effect.success.interval).map(|(lower, upper)| [lower, upper]);
        effect.success.difference.into_iter().chain(interval.into_iter().flatten())
    });
    ends.fold((0.0, 0.0), |(low, high): (f64, f64), end| (low.min(end * 100.0), high.max(end * 100.0)))
}

fn forest_rows(report: &Report, ablations: &[Ablation], width: u32) -> Vec<ForestRow> {
    let labels = if ablations.len() > 1 { shared_labels(ablations) } else { None };
    // If there is room, a label next to each row replaces headings of single rows.
    let labeled_by_agent = width >= MIN_LABEL_WIDTH && labels.as_ref().is_some_and(|labels| labels.switch.is_some());
    let mut rows = Vec::new();
    for ablation in ablations {
        if ablations.len() > 1 && !labeled_by_agent {
            rows.push(ForestRow::Heading(ablation_title(ablation)));
        }
        for (about, effects) in sections(ablation, Detail::Summary) {
            if labels.is_none() {
                rows.push(ForestRow::Heading(about.to_owned()));
            }
            rows.extend(effects.iter().map(|effect| {
                let label = if labeled_by_agent { ablation_title(ablation) } else { switches(effect) };
                let group = report.agents.iter().position(|agent| agent.title == ablation.title).unwrap_or(0);
                forest_row(label, effect, group)
            }));
        }
    }
    rows
}

fn forest_row(label: String, effect: &Effect, group: usize) -> ForestRow {
    let points = |share: f64| share * 100.0;
    ForestRow::Effect {
        label,
        estimate: effect.success.difference.map(points),
        interval: bounds(effect.success.interval).map(|(lower, upper)| (points(lower), points(upper))),
        is_clear: effect.verdict == Verdict::Clear,
        text: format_estimate(success_effect(effect, true)),
        group,
    }
}

fn effects_table(titles: &str, ablations: &[Ablation]) -> Markup {
    let effects = ablations.iter().flat_map(|ablation| {
        let sections = sections(ablation, Detail::Metrics).into_iter();
        sections.flat_map(move |(about, effects)| effects.iter().map(move |effect| (ablation, about, effect)))
    });
    html! {
        details {
            summary { "The numbers, and the effects on tokens" }
            div.scroll tabindex="0" role="region" aria-label={ "Effects on " (titles) } {
                table {
                    thead { tr {
                        th.text scope="col" { "agent and format" }
                        th.text scope="col" { "effect of" }
                        th.text scope="col" { "switch" }
                        th scope="col" { "success, points" }
                        th scope="col" { "tokens/episode" }
                        th scope="col" { "scenarios" }
                        th scope="col" { "trials matched" }
                    } }
                    tbody {
                        @for (ablation, about, effect) in effects {
                            tr {
                                td.text { (ablation_title(ablation)) }
                                td.text { (about) }
                                th scope="row" { (switches(effect)) }
                                td { (format_estimate(success_effect(effect, true))) }
                                td { (format_estimate(token_effect(effect, true))) }
                                td { (count(effect.scenarios)) }
                                td { (count(effect.matched)) @if effect.unmatched > 0 { ", " (count(effect.unmatched)) " not" } }
                            }
                        }
                    }
                }
            }
        }
    }
}
