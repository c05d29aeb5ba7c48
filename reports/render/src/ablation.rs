//! Effects of guardrails: one table for all agents and error formats.

use healbench_core::ErrorFormat;

use super::labels::{
    Detail, Estimate, INDENT, TerminalOptions, align_estimates, clear_paint, pair_interval, plain_cell, points_or_equal,
};
use super::methods::Methods;
use super::number::{UNKNOWN, amount_interval, count, percent, signed_amount};
use healbench_analysis::statistics::Interval;
use healbench_analysis::{Ablation, Effect, Report, Verdict};
use healbench_text::{Paint, StyledSpan, Table, TableLine, plain_text};

/// Returns the table of these effects with an empty line before it; empty without effects.
pub(super) fn lines(report: &Report, shown: &[Ablation], options: TerminalOptions) -> Vec<String> {
    if shown.is_empty() {
        return Vec::new();
    }
    let table = table(shown, options.detail, intervals_fit(report, options));
    let mut lines = vec![String::new()];
    lines.extend(table.lines(options.width, options.color));
    lines
}

/// Returns the intervals of effects on success.
pub(super) fn intervals(shown: &[Ablation]) -> impl Iterator<Item = (Option<Interval>, Verdict)> {
    let effects = shown.iter().flat_map(|of| [&of.main, &of.interactions, &of.one_in, &of.one_out]).flatten();
    effects.map(|effect| (effect.success.interval, effect.verdict))
}

/// Returns the notes on how to read the table.
pub(super) fn notes(report: &Report, options: TerminalOptions) -> Vec<String> {
    if report.ablation.is_empty() {
        return Vec::new();
    }
    let mut notes =
        vec!["Effects of guardrails: with the switch minus without it, in the same scenario and trial.".to_owned()];
    if report.ablation.iter().any(|ablation| !ablation.interactions.is_empty()) {
        notes.push(
            "×: half of the difference between the effects of one switch with the other on and off (Box, Hunter and Hunter)."
                .to_owned(),
        );
    }
    let level = percent(report.confidence);
    notes.push(if intervals_fit(report, options) {
        let shown = report.ablation.iter().flat_map(|ablation| sections(ablation, options.detail));
        let methods = Methods::of_effects(shown.flat_map(|(_, effects)| effects));
        format!("Intervals of effects are {level}{}.", methods.with_rest("tokens"))
    } else {
        format!("The {level} intervals of effects are left out because the terminal is too narrow.")
    });
    if report
        .ablation
        .iter()
        .flat_map(|ablation| sections(ablation, options.detail))
        .any(|(_, effects)| has_unmatched(effects))
    {
        notes.push("matched: trials whose compared episodes all exist and are scored, of all trials.".to_owned());
    }
    notes
}

fn has_unmatched(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| effect.unmatched > 0)
}

/// Returns true if a line has room for intervals next to the name of a switch.
fn intervals_fit(report: &Report, options: TerminalOptions) -> bool {
    const SWITCH: usize = "truncation".len() + 2 * INDENT.len();
    table(&report.ablation, options.detail, true).body_width() + SWITCH <= options.width
}

/// A heading and its effects.
pub(super) type Section<'a> = (&'static str, &'a [Effect]);

/// Returns the effects to show for one agent and format. The effects over all 16 sets include more data than those of
/// sets that differ in a single switch, so the summary shows only the former if they exist.
pub(super) fn sections(ablation: &Ablation, detail: Detail) -> Vec<Section<'_>> {
    let factorial = [
        ("averaged over the others", ablation.main.as_slice()),
        ("interactions of two", ablation.interactions.as_slice()),
    ];
    let single = [("one on, vs none", ablation.one_in.as_slice()), ("all, vs one off", &ablation.one_out)];
    let single = single.into_iter().filter(|_| ablation.main.is_empty() || detail >= Detail::Metrics);
    factorial.into_iter().chain(single).filter(|(_, effects)| !effects.is_empty()).collect()
}

fn table(ablations: &[Ablation], detail: Detail, intervals: bool) -> Table {
    let shown: Vec<(&Ablation, Vec<Section<'_>>)> =
        ablations.iter().map(|ablation| (ablation, sections(ablation, detail))).collect();
    let effects = || shown.iter().flat_map(|(_, sections)| sections).flat_map(|(_, effects)| *effects);
    let success = align_estimates(effects().map(|effect| success_effect(effect, intervals)).collect());
    let tokens = align_estimates(effects().map(|effect| token_effect(effect, intervals)).collect());
    let mut cells = success.into_iter().zip(tokens);
    let mut lines = Vec::new();
    for (ablation, sections) in &shown {
        lines.push(TableLine::Title(StyledSpan::new(ablation_title(ablation), Paint::Bold)));
        for (about, effects) in sections {
            lines.push(TableLine::Title(StyledSpan::new(format!("{INDENT}{about}"), Paint::Dim)));
            for effect in *effects {
                let (success, tokens) = cells.next().unwrap_or_default();
                let label = format!("{INDENT}{INDENT}{}", effect.switches.to_string().replace('+', " × "));
                let counts = [plain_cell(count(effect.scenarios)), plain_cell(format_matched(effect))];
                lines.push(TableLine::Row { label, cells: [success, tokens].into_iter().chain(counts).collect() });
            }
        }
    }
    let heads = [["success", "points"], ["tokens", "/episode"], ["", "scenarios"], ["trials", "matched"]];
    Table { heads: heads.map(|head| head.map(str::to_owned)).into(), lines }
}

pub(super) fn ablation_title(ablation: &Ablation) -> String {
    let agent = plain_text(&ablation.title);
    match &ablation.format {
        ErrorFormat::Bare => agent.into_owned(),
        format => format!("{agent} {}", plain_text(&format.name())),
    }
}

fn format_matched(effect: &Effect) -> String {
    match effect.unmatched {
        0 => count(effect.matched),
        unmatched => format!("{}/{}", count(effect.matched), count(effect.matched + unmatched)),
    }
}

pub(super) fn success_effect(effect: &Effect, intervals: bool) -> Estimate {
    let shown = effect.success.interval.filter(|_| intervals);
    let shown = shown.map(|interval| pair_interval(interval, effect.verdict));
    let value = effect.success.difference.map(|difference| points_or_equal(difference, effect.verdict));
    estimate(value, shown, clear_paint(effect.verdict, effect.success.difference, [Paint::Green, Paint::Red]))
}

pub(super) fn token_effect(effect: &Effect, intervals: bool) -> Estimate {
    let shown = effect.tokens.interval.filter(|_| intervals).map(amount_interval);
    // More tokens are worse.
    let paint = match effect.tokens.interval {
        Some(interval) if interval.lower > 0.0 => Paint::Red,
        Some(interval) if interval.upper < 0.0 => Paint::Green,
        _ => Paint::Plain,
    };
    estimate(effect.tokens.difference.map(signed_amount), shown, paint)
}

fn estimate(value: Option<String>, interval: Option<String>, paint: Paint) -> Estimate {
    let value = value.unwrap_or(UNKNOWN.to_owned());
    (StyledSpan::new(value, paint), StyledSpan::new(interval.unwrap_or_default(), Paint::Dim))
}
