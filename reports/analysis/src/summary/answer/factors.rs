//! Answers about the parts of conditions: content and form, and single guardrails.

use healbench_core::{Content, ErrorFormat, GUARDRAILS, GuardrailEntry, Guardrails};

use super::decide::Context;
use super::{Alone, ContentAndForm, ContentInteraction, Finding, Gain, SwitchEffect, WithoutEach, settle};
use crate::summary::Difference;
use crate::summary::ablation::{conditions_by_guardrails, formats};

/// The conditions of each level of content in each error format.
struct Grid {
    contents: Vec<Content>,
    formats: Vec<ErrorFormat>,
    /// By content, then by format.
    conditions: Vec<Vec<usize>>,
}

/// The comparisons of one agent before one of them is chosen, each with the index of its level of content and format.
struct Compared {
    contents: Vec<(usize, Gain)>,
    formats: Vec<(usize, Gain)>,
    interactions: Vec<([usize; 2], Gain)>,
}

/// Returns the effects of content and form; `None` unless the plan has at least two of both, and all their combinations, under the same
/// guardrails.
pub(super) fn content_and_form(context: &Context<'_>, speakers: &[usize], clusters: u64) -> Option<Vec<Finding>> {
    let grid = grid(context)?;
    let mut compared: Vec<Compared> = speakers.iter().map(|agent| compare(context, &grid, *agent)).collect();
    let main = compared.iter_mut().flat_map(|found| found.contents.iter_mut().chain(&mut found.formats));
    settle(main.map(|(_, gain)| gain).collect(), clusters);
    let interactions = compared.iter_mut().flat_map(|found| &mut found.interactions);
    settle(interactions.map(|(_, gain)| gain).collect(), clusters);
    let finding = |(agent, found): (&usize, Compared)| {
        let [(content, content_gain), (format, format_gain)] = [largest(&found.contents)?, largest(&found.formats)?];
        let clear = found.interactions.into_iter().filter(|(_, gain)| gain.is_better() || gain.is_worse());
        let size = |gain: &Gain| gain.difference.unwrap_or(0.0).abs();
        let interaction = clear.max_by(|(_, a), (_, b)| size(a).total_cmp(&size(b)));
        let content_name = |index: usize| grid.contents[index].name().to_owned();
        let format_name = |index: usize| grid.formats[index].to_string();
        Some(Finding::ContentAndForm(ContentAndForm {
            agent: context.who(*agent),
            content: content_name(content),
            reference_content: content_name(0),
            content_gain,
            format: format_name(format),
            reference_format: format_name(0),
            format_gain,
            interaction: interaction.map(|([content, format], gain)| ContentInteraction {
                content: content_name(content),
                format: format_name(format),
                gain,
            }),
        }))
    };
    speakers.iter().zip(compared).map(finding).collect()
}

/// Returns the largest difference. Of equal ones it is the first.
fn largest(gains: &[(usize, Gain)]) -> Option<(usize, Gain)> {
    let size = |gain: &Gain| gain.difference.unwrap_or(f64::NEG_INFINITY);
    gains.iter().copied().rev().max_by(|(_, a), (_, b)| size(a).total_cmp(&size(b)))
}

fn grid(context: &Context<'_>) -> Option<Grid> {
    let unnamed = || context.plan.conditions.iter().enumerate().filter(|(_, condition)| condition.is_plain());
    let guardrails = unnamed().find(|(_, condition)| condition.guardrails().healing)?.1.guardrails();
    let fitting = || unnamed().filter(move |(_, condition)| condition.guardrails() == guardrails);
    let (mut contents, mut formats) = (Vec::new(), Vec::new());
    for (_, condition) in fitting() {
        if !contents.contains(&condition.values.content) {
            contents.push(condition.values.content);
        }
        if !formats.contains(condition.format()) {
            formats.push(condition.format().clone());
        }
    }
    if contents.len() < 2 || formats.len() < 2 {
        return None;
    }
    // Effects are those over the lowest level that the plan has.
    if let Some(diagnosis) = contents.iter().position(|content| *content == Content::Diagnosis) {
        contents[..=diagnosis].rotate_right(1);
    }
    let at = |content: &Content, format: &ErrorFormat| {
        let found =
            fitting().find(|(_, condition)| condition.values.content == *content && condition.format() == format);
        found.map(|(index, _)| index)
    };
    let row = |content: &Content| formats.iter().map(|format| at(content, format)).collect::<Option<Vec<_>>>();
    let conditions = contents.iter().map(row).collect::<Option<Vec<_>>>()?;
    Some(Grid { contents, formats, conditions })
}

fn compare(context: &Context<'_>, grid: &Grid, agent: usize) -> Compared {
    let contrast = |terms: Vec<(usize, f64)>| context.outcomes.contrast(context.plan, agent, &terms);
    let at = |content: usize, format: usize| grid.conditions[content][format];
    let (contents, formats) = (grid.contents.len(), grid.formats.len());
    let content_gain = |content: usize| {
        let share = 1.0 / formats as f64;
        let terms = (0..formats).flat_map(|format| [(at(content, format), share), (at(0, format), -share)]);
        (content, contrast(terms.collect()))
    };
    let format_gain = |format: usize| {
        let share = 1.0 / contents as f64;
        let terms = (0..contents).flat_map(|content| [(at(content, format), share), (at(content, 0), -share)]);
        (format, contrast(terms.collect()))
    };
    let interaction = |content: usize, format: usize| {
        let terms = [(at(content, format), 1.0), (at(0, format), -1.0), (at(content, 0), -1.0), (at(0, 0), 1.0)];
        ([content, format], contrast(terms.into()))
    };
    Compared {
        contents: (1..contents).map(content_gain).collect(),
        formats: (1..formats).map(format_gain).collect(),
        interactions: (1..contents)
            .flat_map(|content| (1..formats).map(move |format| (content, format)))
            .map(|(content, format)| interaction(content, format))
            .collect(),
    }
}

/// The effects of all guardrails for one agent in one format.
struct Switches {
    agent: usize,
    format: ErrorFormat,
    effects: Vec<SwitchEffect>,
}

/// Returns what is missed without each guardrail; `None` unless the plan has all of them, and all without each.
pub(super) fn without_each(context: &Context<'_>, speakers: &[usize]) -> Option<Vec<Finding>> {
    let found = switches(context, speakers, |bit| (Guardrails::SETS - 1, (Guardrails::SETS - 1) & !bit))?;
    let finding = |mut of: Switches| {
        sort(&mut of.effects);
        let (agent, format) = (context.who(of.agent), of.format.to_string());
        Finding::WithoutEach(WithoutEach { agent, format, effects: of.effects })
    };
    Some(found.into_iter().map(finding).collect())
}

/// Returns what each guardrail gives alone, and added last if the plan shows it; `None` unless the plan has no guardrails, and each alone.
pub(super) fn alone(context: &Context<'_>, speakers: &[usize]) -> Option<Vec<Finding>> {
    let alone = switches(context, speakers, |bit| (bit, 0))?;
    let last = switches(context, speakers, |bit| (Guardrails::SETS - 1, (Guardrails::SETS - 1) & !bit));
    let mut last = last.unwrap_or_default().into_iter();
    let finding = |mut of: Switches| {
        sort(&mut of.effects);
        let mut last = last.next().map_or(Vec::new(), |of| of.effects);
        let position = |effect: &SwitchEffect| of.effects.iter().position(|one| one.guardrail == effect.guardrail);
        last.sort_by_key(position);
        let (agent, format) = (context.who(of.agent), of.format.to_string());
        Finding::Alone(Alone { agent, format, alone: of.effects, last })
    };
    Some(alone.into_iter().map(finding).collect())
}

/// Sorts by difference in descending order. Equal ones stay in the order of the guardrails.
fn sort(effects: &mut [SwitchEffect]) {
    let size = |effect: &SwitchEffect| effect.gain.difference.unwrap_or(f64::NEG_INFINITY);
    effects.sort_by(|a, b| size(b).total_cmp(&size(a)));
}

/// A difference of which nothing is known.
const UNKNOWN: Difference = Difference { difference: None, interval: None, method: None };

/// Returns the effect of each guardrail between two sets, for each agent and format; `None` if the plan does not have all of the sets.
fn switches(
    context: &Context<'_>,
    speakers: &[usize],
    sets: impl Fn(usize) -> (usize, usize),
) -> Option<Vec<Switches>> {
    let mut found = Vec::new();
    for agent in speakers {
        for format in formats(context.plan) {
            let at = conditions_by_guardrails(context.plan, &format);
            let title = &context.agents[*agent].title;
            let ablation = context.ablation.iter().find(|of| of.title == *title && of.format == format);
            let all_but_one = sets(1).1 != 0;
            let effects = ablation.map(|of| if all_but_one { &of.one_out } else { &of.one_in });
            let effects = effects.map_or(&[][..], Vec::as_slice);
            let effect = |(index, entry): (usize, &GuardrailEntry)| {
                let (with, without) = sets(1 << index);
                let (with, without) = (at[with]?, at[without]?);
                let tokens = effects.iter().find(|effect| effect.switches.bits() == 1 << index);
                Some(SwitchEffect {
                    guardrail: entry.name.to_owned(),
                    gain: context.pairs.gain(*agent, with, without),
                    tokens: tokens.map_or(UNKNOWN, |effect| effect.tokens),
                })
            };
            let effects = GUARDRAILS.iter().enumerate().map(effect).collect::<Option<Vec<_>>>()?;
            found.push(Switches { agent: *agent, format, effects });
        }
    }
    Some(found)
}
