//! The report on one screen: as much as fits in a number of lines, what was left out, and the answer.

use std::collections::BTreeSet;

use super::notes::{exclusion_notes, model_notes, reference_row, short_readers_note};
use super::{answer_lines, closing, fitting_summary, head};
use crate::ablation;
use crate::answer::sentences;
use crate::labels::{TerminalOptions, condition_label, pair_note, row_intervals};
use crate::number::{count, percent, pluralize};
use healbench_analysis::statistics::Interval;
use healbench_analysis::{Ablation, Finding, Report, Selection, Verdict, agents_by_information, select};
use healbench_text::{plain_text, wrap};

/// The fewest lines of the answer, if it needs as many, on a screen of at least so many columns and on a narrower one.
const ANSWER_LINES: [usize; 2] = [7, 4];
const WIDE: usize = 80;
/// The fewest lines of the table of effects that say something.
const EFFECT_LINES: usize = 8;
/// The fewest lines of the first table beside a whole answer: headings, the title of an agent, and three rows.
const TABLE_LINES: usize = 6;
/// The title of an agent stands above its rows.
const LINES_PER_AGENT: usize = 1;
/// The lines of a table's headings.
const HEADINGS: usize = 2;

/// Returns at most `most` lines, unless the answer alone needs more.
pub(super) fn lines(report: &Report, options: TerminalOptions, most: usize) -> Vec<String> {
    let mut head = head(report, options.width);
    head.push(String::new());
    let sentences: Vec<Vec<String>> =
        sentences(&report.answer).iter().map(|sentence| answer_lines(sentence, options)).collect();
    let answer_needs: usize = sentences.iter().map(Vec::len).sum();
    // What is left out is not known yet, so that its note is counted as if there were something.
    let notes_need = notes(report, options, &LeftOut::longest(report)).len();
    let closing = closing(report, options.width);
    let fixed = head.len() + notes_need + closing.len() + 2;
    let all_rows = select(report, usize::MAX, LINES_PER_AGENT);
    let rows_need: usize = all_rows.agents.iter().map(|agent| agent.rows.len() + LINES_PER_AGENT).sum();
    let spare = most.saturating_sub(fixed + HEADINGS + rows_need);
    let fits_beside_rows = report.ablation.is_empty() && fixed + TABLE_LINES + answer_needs <= most;
    let room = match answer_needs <= spare || fits_beside_rows {
        true => answer_needs,
        false => spare.max(ANSWER_LINES[usize::from(options.width < WIDE)]),
    };
    let kept = kept_sentences(report, &sentences, room);
    let answer: Vec<String> = kept.iter().flat_map(|index| sentences[*index].clone()).collect();
    let room = most.saturating_sub(fixed + answer.len());
    let effects = fitting_effects(report, options, room);
    let effect_lines = ablation::lines(report, &effects, options);
    let room = room.saturating_sub(effect_lines.len());
    let left_out = |selection: &Selection| LeftOut {
        rows: (selection.total > selection.shown).then_some((selection.shown, selection.total)),
        effects: report.ablation.len() - effects.len(),
        claims: report.claims.len(),
        sentences: sentences.len() - kept.len(),
        disagreeing: (0..sentences.len())
            .filter(|index| disagrees(report, *index, &kept))
            .filter_map(|index| report.answer.findings.get(index)?.title().map(|title| plain_text(title).into_owned()))
            .collect(),
        joined: selection.agents.iter().flat_map(|agent| &agent.rows).any(|rows| !rows.others.is_empty()),
        pair_note: pair_note(selected_intervals(report, selection).chain(ablation::intervals(&effects))),
    };
    let with_notes = |room: usize| {
        let (selection, table) = fitting_rows(report, options, room);
        let noted = notes(report, options, &left_out(&selection));
        let rows = selection
            .agents
            .into_iter()
            .flat_map(|agent| agent.rows.into_iter().map(move |row| (agent.agent, row.first)));
        (rows.collect::<BTreeSet<_>>(), table, noted)
    };
    let (rows, mut table, mut noted) = with_notes(room);
    // Lines that the notes do not need are for more rows of the same table.
    let (more_rows, more, noted_more) = with_notes(room + notes_need.saturating_sub(noted.len()));
    if rows.is_subset(&more_rows) && noted_more.len() <= noted.len() {
        (table, noted) = (more, noted_more);
    }
    let mut lines = head;
    lines.extend(table);
    lines.extend(effect_lines);
    lines.push(String::new());
    lines.extend(noted);
    lines.push(String::new());
    lines.extend(answer);
    lines.extend(closing);
    lines
}

/// Returns the sentences that fit, in their order, and at least one: those about the most informative agents, of which one that recommends
/// something else comes first.
fn kept_sentences(report: &Report, sentences: &[Vec<String>], mut room: usize) -> Vec<usize> {
    let rank = |index: usize| {
        let title = report.answer.findings.get(index)?.title()?;
        agents_by_information(report).into_iter().position(|agent| report.agents[agent].title == title)
    };
    let mut order: Vec<usize> = (0..sentences.len()).collect();
    order.sort_by_key(|index| rank(*index));
    let mut kept: Vec<usize> = Vec::new();
    while !order.is_empty() {
        let index = order.remove(order.iter().position(|index| disagrees(report, *index, &kept)).unwrap_or_default());
        if !kept.is_empty() && sentences[index].len() > room {
            break;
        }
        room = room.saturating_sub(sentences[index].len());
        kept.push(index);
    }
    kept.sort_unstable();
    kept
}

/// Returns true if a finding recommends something else than all of these do.
fn disagrees(report: &Report, index: usize, others: &[usize]) -> bool {
    let recommends = |index: usize| report.answer.findings.get(index).and_then(Finding::recommends);
    others.iter().all(|other| recommends(*other) != recommends(index))
}

/// Returns the intervals of the selected rows.
fn selected_intervals(report: &Report, selection: &Selection) -> impl Iterator<Item = (Option<Interval>, Verdict)> {
    let rows = selection.agents.iter().flat_map(|selected| {
        let agent = &report.agents[selected.agent];
        selected.rows.iter().map(move |rows| &agent.rows[rows.first])
    });
    rows.filter_map(|row| row.vs_reference).map(|paired| (paired.interval, paired.verdict))
}

/// Returns the effects of the most informative agents in at most two thirds of the room.
fn fitting_effects(report: &Report, options: TerminalOptions, room: usize) -> Vec<Ablation> {
    let most = (room * 2 / 3).max(EFFECT_LINES);
    let mut kept: Vec<Ablation> = Vec::new();
    for agent in agents_by_information(report) {
        for ablation in report.ablation.iter().filter(|ablation| ablation.title == report.agents[agent].title) {
            let mut more = kept.clone();
            more.push(ablation.clone());
            if ablation::lines(report, &more, options).len() > most {
                return kept;
            }
            kept = more;
        }
    }
    kept
}

/// Returns the selected rows and their table in at most `most` lines. A label that is too long for its row needs a line of its own.
fn fitting_rows(report: &Report, options: TerminalOptions, most: usize) -> (Selection, Vec<String>) {
    let mut room = most.saturating_sub(HEADINGS);
    loop {
        let selection = select(report, room, LINES_PER_AGENT);
        let (table, _) = fitting_summary(report, &selection, options.width);
        let lines = table.lines(options.width, options.color);
        if lines.len() <= most || room == 0 {
            return (selection, lines);
        }
        room -= 1;
    }
}

/// What does not fit.
struct LeftOut {
    /// The shown rows and all rows, if they differ.
    rows: Option<(usize, usize)>,
    /// The number of tables of effects.
    effects: usize,
    claims: usize,
    /// The number of sentences of the answer.
    sentences: usize,
    /// The agents of those that recommend something else than all that are shown.
    disagreeing: Vec<String>,
    /// True if a row stands for several.
    joined: bool,
    /// The note on marked intervals, if one of those that are shown is marked.
    pair_note: Option<&'static str>,
}

impl LeftOut {
    fn longest(report: &Report) -> LeftOut {
        let rows = report.agents.iter().map(|agent| agent.rows.len()).sum();
        LeftOut {
            rows: Some((0, rows)),
            effects: report.ablation.len(),
            claims: report.claims.len(),
            sentences: report.answer.findings.len(),
            disagreeing: Vec::new(),
            joined: true,
            pair_note: pair_note(row_intervals(report).chain(ablation::intervals(&report.ablation))),
        }
    }
}

/// Returns the notes on how to read the tables, and what is left out of them.
fn notes(report: &Report, options: TerminalOptions, left_out: &LeftOut) -> Vec<String> {
    let mut notes = Vec::new();
    let level = percent(report.confidence);
    let reference = reference_row(report).map(|row| condition_label(&row.condition));
    let reference = reference.map(|label| format!("Reference: `{label}`. ")).unwrap_or_default();
    notes.push(format!("{reference}Intervals: {level}, for other scenarios of these suites."));
    if left_out.joined {
        notes.push("=: equal in every scenario.".to_owned());
    }
    let has_best = report.agents.iter().any(|agent| report.answer.best_condition(&agent.title).is_some());
    if has_best {
        notes.push("*: clearly the best.".to_owned());
    }
    notes.extend(left_out.pair_note.map(str::to_owned));
    notes.extend(short_readers_note(report));
    notes.extend(model_notes(report));
    notes.extend(exclusion_notes(report));
    let mut hidden = Vec::new();
    if let Some((shown, all)) = left_out.rows {
        hidden.push(format!("{} of {}", count((all - shown) as u64), pluralize(all as u64, "row")));
    }
    let counts = [
        (left_out.effects, "table of effects", "tables of effects"),
        (left_out.claims, "claim", "claims"),
        (left_out.sentences, "answer for another agent", "answers for other agents"),
    ];
    for (number, one, many) in counts.into_iter().filter(|(number, _, _)| *number > 0) {
        hidden.push(format!("{} {}", count(number as u64), if number == 1 { one } else { many }));
    }
    if let Some(answers) = hidden.last_mut().filter(|_| !left_out.disagreeing.is_empty()) {
        let (number, names) = (left_out.disagreeing.len(), left_out.disagreeing.join(", "));
        let verb = if number == 1 { "disagrees" } else { "disagree" };
        *answers = format!("{answers} ({} {verb}: {names})", count(number as u64));
    }
    notes.push(match hidden.is_empty() {
        true => "All columns: `healbench report RUN --all`.".to_owned(),
        false => format!("{} hidden: `healbench report RUN --all`.", hidden.join(", ")),
    });
    wrap(&notes.join(" "), " ", options.width)
}
