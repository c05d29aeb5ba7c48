//! Sample sizes as text for a terminal.

use super::labels::{INDENT, plain_cell};
use super::number::{count, percent, pluralize};
use healbench_analysis::gate::Margin;
use healbench_analysis::{NeededSize, SampleSizes, SizeColumn, SizeQuestion, SizedDecision};
use healbench_text::{Paint, StyledSpan, Table, TableCell, TableLine, plain_text, wrap};

/// Formats sample sizes for a terminal, ending with a line break.
pub fn sample_sizes(sizes: &SampleSizes, width: usize, color: bool) -> String {
    let points = Margin::Points(sizes.detect).to_string();
    let power = percent(sizes.power);
    let mut lines = Vec::new();
    for question in &sizes.questions {
        let title = match question.decision {
            SizedDecision::GatePasses => {
                format!(
                    "Scenarios for {power} of gates with a margin of {points} to pass a candidate that changed nothing"
                )
            }
            SizedDecision::ComparisonShows => {
                format!("Scenarios for {power} of comparisons to show a true gain or loss of {points}")
            }
        };
        lines.extend(wrap(&title, " ", width));
        lines.extend(size_table(question, sizes).lines(width, color));
        lines.push(String::new());
    }
    for note in notes(sizes, &points) {
        lines.extend(wrap(&note, " ", width));
    }
    lines.push(String::new());
    lines.extend(wrap(&conclusion(sizes, &points), " ", width));
    lines.join("\n") + "\n"
}

/// Says what the plan would settle on other scenarios, at the largest correlation, and what would be enough.
fn conclusion(sizes: &SampleSizes, points: &str) -> String {
    let plan = &sizes.plan;
    let icc = |column: &&SizeColumn| column.icc.unwrap_or(-1.0);
    let [gate, comparison] = [SizedDecision::GatePasses, SizedDecision::ComparisonShows].map(|decision| {
        let question = sizes.questions.iter().find(|question| question.decision == decision);
        question.and_then(|question| question.columns.iter().max_by(|a, b| icc(a).total_cmp(&icc(b))))
    });
    let (Some(gate), Some(comparison)) = (gate, comparison) else { return String::new() };
    let needs = |column: &SizeColumn| match column.plan_needs.scenarios {
        _ if column.plan_power >= sizes.power => "which is enough".to_owned(),
        Some(scenarios) => format!("{} would be enough", pluralize(scenarios, "scenario")),
        None => "no number of scenarios is enough".to_owned(),
    };
    let correlation = comparison.icc.map(|icc| format!(", at ICC {}", (icc * 100.0).round() / 100.0));
    let measured = sizes.assumptions.measured.as_ref().map(|_| " and the measured share of discordant pairs");
    format!(
        "{} x {} show a true difference of {points} on other scenarios in {} of comparisons ({}), and pass an unchanged candidate in {} of \
         gates ({}){}{}.",
        pluralize(plan.scenarios, "scenario"),
        pluralize(u64::from(plan.trials), "trial"),
        percent(comparison.plan_power),
        needs(comparison),
        percent(gate.plan_power),
        needs(gate),
        correlation.unwrap_or_default(),
        measured.unwrap_or_default(),
    )
}

fn size_table(question: &SizeQuestion, sizes: &SampleSizes) -> Table {
    let heads = question.columns.iter().map(|column| match column.icc {
        None => ["this".to_owned(), "suite".to_owned()],
        Some(icc) => ["others,".to_owned(), format!("ICC {}", (icc * 100.0).round() / 100.0)],
    });
    let trials = question.columns.first().map_or(&[][..], |column| &column.needed);
    let mut lines: Vec<TableLine> = (0..trials.len())
        .map(|at| TableLine::Row {
            label: format!("{INDENT}{}", pluralize(u64::from(trials[at].trials), "trial")),
            cells: question.columns.iter().map(|column| needed_cell(column.needed[at])).collect(),
        })
        .collect();
    let plan = &sizes.plan;
    lines.push(TableLine::Row {
        label: format!("{INDENT}this plan, {} x {}", count(plan.scenarios), count(u64::from(plan.trials))),
        cells: question.columns.iter().map(|column| power_cell(column, sizes.power)).collect(),
    });
    Table { heads: heads.collect(), lines }
}

/// `274 (548)`: scenarios and episodes.
fn needed_cell(needed: NeededSize) -> TableCell {
    match needed.scenarios.zip(needed.episodes) {
        Some((scenarios, episodes)) => vec![
            StyledSpan::new(count(scenarios), Paint::Plain),
            StyledSpan::new(format!(" ({})", count(episodes)), Paint::Dim),
        ],
        None => plain_cell("never".to_owned()),
    }
}

fn power_cell(column: &SizeColumn, power: f64) -> TableCell {
    let paint = if column.plan_power >= power { Paint::Green } else { Paint::Plain };
    vec![StyledSpan::new(percent(column.plan_power), paint)]
}

fn notes(sizes: &SampleSizes, points: &str) -> Vec<String> {
    let plan = &sizes.plan;
    let mut notes = vec![format!(
        "In brackets: episodes of one agent, base and candidate together; this plan's pairs are {}. This suite: the same scenarios, \
         run again. Others: other scenarios of the same suites, whose pairs are correlated within a scenario (ICC).",
        pluralize(plan.episodes, "episode")
    )];
    if plan.clusters < plan.scenarios {
        notes.push(format!(
            "On other scenarios, the plan's {} count as {}: those that vary one situation are one.",
            pluralize(plan.scenarios, "scenario"),
            count(plan.clusters)
        ));
    }
    if plan.clusters < sizes.fewest_scenarios {
        notes.push(format!(
            "With a margin of {points}, a gate on other scenarios needs {} to pass at all: {} more.",
            pluralize(sizes.fewest_scenarios, "scenario"),
            count(sizes.fewest_scenarios - plan.clusters)
        ));
    }
    notes.extend(cheaper(sizes));
    let assumptions = &sizes.assumptions;
    let discordance = percent(assumptions.discordance);
    notes.push(match &assumptions.measured {
        Some(measured) => format!(
            "Discordant: {discordance} of {}, as measured in {} for {}{}: {} against {}. A report may name more scenarios: it allows for the \
             uncertainty of this share, which few scenarios make large, and adjusts for all pairs of conditions.",
            pluralize(measured.pairs, "pair"),
            plain_text(&measured.run),
            plain_text(&measured.agent),
            match measured.agents {
                1 => String::new(),
                agents => format!(", of {} agents the one that needs the most", count(agents)),
            },
            plain_text(&measured.conditions[1]),
            plain_text(&measured.conditions[0]),
        ),
        None => format!("Assumed discordant: {discordance} of pairs; measure it with --from RUN."),
    });
    notes
}

/// Compares many scenarios with many trials, at the largest correlation.
fn cheaper(sizes: &SampleSizes) -> Option<String> {
    let columns = sizes.questions.first()?.columns.iter().filter(|column| column.icc.is_some_and(|icc| icc > 0.0));
    let column = columns.max_by(|a, b| a.icc.unwrap_or(0.0).total_cmp(&b.icc.unwrap_or(0.0)))?;
    let (few, many) = (column.needed.first()?, column.needed.last()?);
    let text = |needed: &NeededSize| {
        let (scenarios, episodes) = needed.scenarios.zip(needed.episodes)?;
        Some(format!("{} x {} take {} episodes", count(scenarios), count(u64::from(needed.trials)), count(episodes)))
    };
    Some(format!(
        "More scenarios beat more trials: at ICC {}, {}, {}.",
        (column.icc? * 100.0).round() / 100.0,
        text(few)?,
        text(many)?
    ))
}
