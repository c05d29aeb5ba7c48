//! Fitted and predicted moves, as text for a terminal and as a profile file.

use std::fmt::Write as _;

use healbench_analysis::AgentReport;
use healbench_analysis::moves::{
    Calibration, Estimate, GroupScores, HeldOutBy, HeldOutScores, KindMoves, Method, PlainLevel, Prediction, Repaired,
    Scores, SharePrediction, Shares, Skill, Verdict,
};
use healbench_analysis::statistics::Interval;
use healbench_core::{ERROR_KINDS, Fitted};
use healbench_text::{Paint, StyledSpan, Table, TableLine, plain_text, wrap};

use super::labels::{INDENT, READERS_NOTE, plain_cell};
use super::number::{UNKNOWN, count, percent, percent_interval, pluralize};

/// The moves whose shares are printed, in their order.
const MOVES: [[&str; 2]; 4] = [["", "changed"], ["", "repeated"], ["other", "tool"], ["", "stopped"]];

/// The numbers of a profile that are not shares of moves.
type RateOf = fn(&Calibration) -> &Estimate;
const RATES: [(&str, &str, RateOf); 4] = [
    ("right_told", "changes that are right where the text says what to do", |found| &found.profile.right_told),
    ("right_untold", "changes that are right where it does not", |found| &found.profile.right_untold),
    ("repeat_again", "repeated after a repetition", |found| &found.profile.repeat_again),
    ("later_stop", "factor of the odds of stopping after later errors", |found| &found.profile.later_stop),
];

fn method_name(method: Method) -> &'static str {
    match method {
        Method::Profile => "kind and agent",
        Method::Plain => "plain shares",
        Method::KindAlone => "kind alone",
        Method::AgentAlone => "agent alone",
        Method::All => "one table for all",
    }
}

/// Formats a calibration for a terminal, ending with a line break.
pub fn calibration(found: &Calibration, width: usize) -> String {
    let profile = &found.profile;
    let (moves, tasks) = (pluralize(profile.moves, "first error"), pluralize(profile.tasks, "task"));
    let agents = pluralize(found.agents.len() as u64, "agent");
    let judged = verdict_sentence(found);
    let mut lines = wrap(&format!("{moves} in {tasks}, of {agents}. {judged}"), " ", width);
    for table in [shares_table(found), rates_table(found)].into_iter().chain(scores_tables(found)) {
        lines.push(String::new());
        lines.extend(table.lines(width, false).into_iter().map(|line| line.trim_end().to_owned()));
    }
    lines.push(String::new());
    lines.extend(notes(found).iter().flat_map(|note| wrap(note, " ", width)));
    lines.join("\n") + "\n"
}

fn shares_table(found: &Calibration) -> Table {
    let more = [["", "moves"], ["", "tasks"], ["plain", "shares of"]];
    let row = |kind: &KindMoves| {
        let estimates = [kind.changed, kind.repeated, kind.other_tool].map(|found| share_and_interval(&found));
        let plain = kind.plain.shares.map(|share| format!("{:.0} ", share * 100.0)).concat();
        let cells = estimates.into_iter().chain([
            percent(kind.shares()[3]),
            count(kind.changed.moves),
            count(kind.changed.tasks),
            plain + level_name(kind.plain.level),
        ]);
        TableLine::Row { label: name_of(kind), cells: cells.map(plain_cell).collect() }
    };
    let heads = MOVES.into_iter().chain(more).map(|head| head.map(str::to_owned)).collect();
    Table { heads, lines: found.profile.kinds.iter().map(row).collect() }
}

fn name_of(kind: &KindMoves) -> String {
    format!("{INDENT}{}", kind.kind.name())
}

fn level_name(level: PlainLevel) -> &'static str {
    match level {
        PlainLevel::Cell => "cell",
        PlainLevel::Kind => "kind",
        PlainLevel::All => "all",
    }
}

fn share_and_interval(found: &Estimate) -> String {
    let interval = found.interval.map(|interval| format!(" {}", percent_interval(interval)));
    percent(found.value) + &interval.unwrap_or_default()
}

fn rates_table(found: &Calibration) -> Table {
    let row = |(key, title, of): &(&str, &str, RateOf)| {
        let estimate = of(found);
        let value = match (*key, estimate.interval) {
            ("later_stop", Some(interval)) => format!("{:.2} {}", estimate.value, decimals(interval)),
            ("later_stop", None) => format!("{:.2}", estimate.value),
            _ => share_and_interval(estimate),
        };
        let cells = [value, count(estimate.moves), count(estimate.tasks)];
        TableLine::Row { label: format!("{INDENT}{title}"), cells: cells.map(plain_cell).into() }
    };
    let heads = [["", ""], ["", "moves"], ["", "tasks"]].map(|head| head.map(str::to_owned));
    Table { heads: heads.into(), lines: RATES.iter().map(row).collect() }
}

/// Returns a table of scores for each way of holding out.
fn scores_tables(found: &Calibration) -> Vec<Table> {
    let judged = [&found.judgement.by_task, &found.judgement.by_suite].into_iter().flatten();
    judged.map(|scores| scores_table(found, scores)).collect()
}

fn scores_table(found: &Calibration, scores: &HeldOutScores) -> Table {
    let groups: Vec<&GroupScores> = match &found.profile.agent {
        Some(_) => found.own(scores).into_iter().chain([&scores.pooled]).collect(),
        None => vec![&scores.pooled],
    };
    let by = match scores.by {
        HeldOutBy::Task => "task",
        HeldOutBy::Suite => "suite",
    };
    let heads = groups.iter().flat_map(|group| {
        let who = if group.agent.is_some() { "fitted" } else { "all agents" };
        [[who.to_owned(), "log".to_owned()], [String::new(), "Brier".to_owned()]]
    });
    let row = |title: &str, of: &dyn Fn(&GroupScores) -> Option<Scores>| {
        let cells = groups.iter().flat_map(|group| match of(group) {
            Some(scores) => [decimal(scores.log), decimal(scores.brier)],
            None => [UNKNOWN.to_owned(), UNKNOWN.to_owned()],
        });
        TableLine::Row { label: format!("{INDENT}{title}"), cells: cells.map(plain_cell).collect() }
    };
    let score = |group: &GroupScores, method: Method| {
        group.methods.iter().find(|score| score.method == method).map(|score| score.scores)
    };
    let title = format!("Held out by {by}, in {} parts; lower is better", count(scores.folds));
    let mut lines = vec![TableLine::Title(StyledSpan::new(title, Paint::Plain))];
    lines.extend(Method::ALL.map(|method| row(method_name(method), &|group| score(group, method))));
    lines.push(row("equal shares", &|_| Some(Scores::EQUAL_SHARES)));
    lines.push(row("a perfect profile", &|group| Some(group.perfect.mean)));
    Table { heads: heads.collect(), lines }
}

/// `Held out by task, it is better than one table for all kinds: skill 0.050 [0.010, 0.090] over it.`
///
/// Judges the table that is written: that of the fitted agents, or, without others, that of the kinds.
pub fn verdict_sentence(found: &Calibration) -> String {
    let Some(scores) = &found.judgement.by_task else {
        return "It cannot be judged: there is one task.".to_owned();
    };
    let Some(group) = found.own(scores) else { return "It cannot be judged.".to_owned() };
    let tasks = pluralize(group.tasks, "task");
    let over = |baseline: &str, skill: Skill| format!("{} over {baseline}", skill_text(skill));
    let (verdict, simpler, skills) = match found.profile.agent {
        Some(_) => {
            let skills = [over("the kind alone", group.over_kind), over("the agent alone", group.over_agent)];
            (group.verdict, "the better of both simpler tables", skills.join(", "))
        }
        // The table of kinds is what is written.
        None => (group.kind_verdict, "one table for all kinds", over("it", group.kind_over_all)),
    };
    match verdict {
        None => format!("With {tasks}, it cannot be judged."),
        Some(verdict) => {
            let said = match verdict {
                Verdict::Better => format!("it is better than {simpler}"),
                Verdict::Worse => format!("it is worse than {simpler}"),
                Verdict::CannotBeTold => format!("it cannot be told with {tasks} whether it is better than {simpler}"),
            };
            format!("Held out by task, {said}: skill {skills}.")
        }
    }
}

/// `0.101 [0.020, 0.180]`.
fn skill_text(skill: Skill) -> String {
    let interval = skill.interval.map(|interval| format!(" {}", decimals(interval)));
    decimal(skill.mean) + &interval.unwrap_or_default()
}

fn decimals(interval: Interval) -> String {
    format!("[{}, {}]", decimal(interval.lower), decimal(interval.upper))
}

fn decimal(number: f64) -> String {
    format!("{number:.3}")
}

fn notes(found: &Calibration) -> Vec<String> {
    let left_out = [
        (found.attacked_episodes, "episode with an attack"),
        (found.shell_errors, "error of a shell"),
        (found.cut_off, "error at the end of a record"),
        (found.not_read, "error that no reader has read"),
    ];
    let left_out: Vec<String> =
        left_out.iter().filter(|(number, _)| *number > 0).map(|(number, noun)| plural_of(*number, noun)).collect();
    let mut notes = vec![
        format!(
            "[]: 95% intervals; tasks are their clusters. Plain shares: changed, repeated, other tool, stopped, in percent, smoothed, of the narrowest \
             group with 5 tasks: the agent's moves of the kind (cell), those of all agents (kind), or all. Written is the table \"{}\".",
            method_name(if found.profile.agent.is_some() { Method::Profile } else { Method::KindAlone })
        ),
        "In logs, right means that the next attempt succeeded. Skill: the log score of the simpler table minus that of the written one; above 0, the written one is better."
            .to_owned(),
    ];
    if !left_out.is_empty() {
        notes.push(format!("Left out, of all agents: {}.", left_out.join(", ")));
    }
    notes
}

/// `1 error of a shell`, `2 errors of a shell`.
fn plural_of(number: u64, noun: &str) -> String {
    let (first, rest) = noun.split_once(' ').unwrap_or((noun, ""));
    format!("{} {rest}", pluralize(number, first))
}

/// Formats a prediction for a terminal, ending with a line break.
pub fn prediction(found: &Prediction, profile: &str, fitted: Option<&Fitted>, width: usize) -> String {
    let name = plain_text(profile);
    let mut lines = wrap(&format!("{name}: {}.", fitted_text(fitted)), " ", width);
    for (title, shares) in [("First errors of chains", &found.first), ("Later errors", &found.later)] {
        if !shares.is_empty() {
            lines.push(String::new());
            let table = prediction_table(title, shares);
            lines.extend(table.lines(width, false).into_iter().map(|line| line.trim_end().to_owned()));
        }
    }
    lines.push(String::new());
    let repaired = [("Repaired next", &found.repaired_next), ("Repaired within 3 attempts", &found.repaired_within_3)];
    for (title, repaired) in repaired {
        lines.extend(repaired.as_ref().map(|repaired| repaired_text(title, repaired)));
    }
    if let (Some(scores), Some(perfect)) = (found.scores, found.perfect) {
        let [log, best] = [scores.log, perfect.mean.log].map(decimal);
        let [brier, best_brier] = [scores.brier, perfect.mean.brier].map(decimal);
        let [equal, equal_brier] = [Scores::EQUAL_SHARES.log, Scores::EQUAL_SHARES.brier].map(decimal);
        let range = decimals(perfect.log_range);
        let scored = format!(
            "Log score {log}; if the profile were perfect, {best} {range}. Brier score {brier}; if it were perfect, {best_brier}."
        );
        lines.extend(wrap(&scored, " ", width));
        lines.push(format!("Of equal shares: log score {equal}, Brier score {equal_brier}."));
    }
    let note = "Each cell: predicted, observed. Gap: the mean absolute difference, and that of a perfect profile with as many moves; it decides nothing. No repair is expected after a call of another tool.";
    lines.extend(wrap(note, " ", width));
    lines.join("\n") + "\n"
}

/// `fitted to 155 first errors of 12 agents in 54 tasks (AgentDojo; 2026-11-26)`, `not fitted`.
pub(super) fn fitted_text(fitted: Option<&Fitted>) -> String {
    let Some(fitted) = fitted else { return "not fitted".to_owned() };
    let [moves, agents, tasks] =
        [(fitted.moves, "first error"), (fitted.agents.len() as u64, "agent"), (fitted.tasks, "task")]
            .map(|(number, noun)| pluralize(number, noun));
    let (source, date) = (plain_text(&fitted.source), plain_text(&fitted.date));
    format!("fitted to {moves} of {agents} in {tasks} ({source}; {date})")
}

/// Returns a text without what stands in parentheses: the licences of the logs, which stand in the profile.
fn without_parentheses(text: &str) -> String {
    let parts = text.split(" (").enumerate();
    parts.map(|(at, part)| if at == 0 { part } else { part.split_once(')').map_or("", |(_, rest)| rest) }).collect()
}

/// Returns the note on rows of simulated readers, with what each was fitted to.
pub(super) fn fitted_readers(readers: &[&AgentReport]) -> String {
    if readers.iter().all(|reader| reader.fitted.is_none()) {
        return FITTED_TO_NONE.to_owned();
    }
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for reader in readers {
        let name = profile_name(reader);
        let to = match &reader.fitted {
            None => "not fitted".to_owned(),
            Some(fitted) => format!("fitted to {}, {}", without_parentheses(&fitted.source), fitted.date),
        };
        match said.iter_mut().find(|(other, _)| *other == to) {
            Some((_, names)) => names.push(name),
            None => said.push((to, vec![name])),
        }
    }
    let said = said.into_iter().map(|(text, names)| format!("{}: {text}", names.join(", ")));
    let said = said.collect::<Vec<String>>().join("; ");
    format!("{READERS_NOTE} {}.", plain_text(&said))
}

/// Returns the same note with the names of those that were fitted alone.
pub(super) fn fitted_readers_in_short(readers: &[&AgentReport]) -> String {
    let fitted = readers.iter().filter(|reader| reader.fitted.is_some()).map(|reader| profile_name(reader));
    let fitted: Vec<&str> = fitted.collect();
    match fitted.is_empty() {
        true => FITTED_TO_NONE.to_owned(),
        false => format!("{READERS_NOTE} Fitted to logs: {}.", plain_text(&fitted.join(", "))),
    }
}

const FITTED_TO_NONE: &str =
    "Rows of simulated readers (`scripted:`), fitted to no model, show how far a text gets them.";

/// Returns the name of a simulated reader's profile.
pub(super) fn profile_name(reader: &AgentReport) -> &str {
    reader.agent.split_once(':').map_or(reader.agent.as_str(), |(_, name)| name)
}

fn prediction_table(title: &str, shares: &[SharePrediction]) -> Table {
    let row = |found: &SharePrediction| {
        let both = std::array::from_fn::<_, 4, _>(|at| {
            format!("{} {}", percent(found.predicted[at]), percent(found.observed[at]))
        });
        let gaps = format!("{} {}", percent(found.gap), percent(found.perfect_gap));
        let cells = both.into_iter().chain([gaps, count(found.moves), count(found.tasks)]);
        let label = format!("{INDENT}{}", found.kind.map_or("all", |kind| kind.name()));
        TableLine::Row { label, cells: cells.map(plain_cell).collect() }
    };
    let more = [["", "gap"], ["", "moves"], ["", "tasks"]];
    let heads = MOVES.into_iter().chain(more).map(|head| head.map(str::to_owned)).collect();
    let title = TableLine::Title(StyledSpan::new(title, Paint::Plain));
    Table { heads, lines: std::iter::once(title).chain(shares.iter().map(row)).collect() }
}

fn repaired_text(title: &str, found: &Repaired) -> String {
    let (chains, tasks) = (pluralize(found.chains, "chain"), pluralize(found.tasks, "task"));
    let [predicted, observed] = [found.predicted, found.observed].map(percent);
    format!("{title}: predicted {predicted}, observed {observed} ({chains} in {tasks}).")
}

/// The tokens that a fitted profile can read: logs do not tell it.
const CONTEXT_WINDOW: u32 = 128_000;

/// Formats the file of a fitted profile. Each number stands with its standard error and what informs it.
pub fn profile_toml(found: &Calibration, fitted: &Fitted) -> String {
    let mut text = String::from(
        "# Moves after errors, written by `healbench calibrate`. Beside each number: its standard error, the moves and tasks that\n# inform it and, for shares, the smoothed share of the narrowest group with enough tasks.\n",
    );
    // Writing to a text does not fail.
    let _ = writeln!(text, "kind = \"moves\"\nchatter = 0\ncontext_window = {CONTEXT_WINDOW}\n\n[fitted]");
    let quoted = |text: &str| serde_json::Value::from(plain_text(text)).to_string();
    let agents: Vec<String> = fitted.agents.iter().map(|agent| quoted(agent)).collect();
    let _ = writeln!(text, "source = {}\nagents = [{}]", quoted(&fitted.source), agents.join(", "));
    let _ = writeln!(text, "tasks = {}\nmoves = {}", fitted.tasks, fitted.moves);
    let _ = writeln!(text, "date = {}\nverdict = {}\n\n[moves]", quoted(&fitted.date), quoted(&fitted.verdict));
    for (key, _, of) in RATES {
        let estimate = of(found);
        let _ = writeln!(text, "{key} = {:.4} # {}", estimate.value, informed_by(estimate));
    }
    for (kind, entry) in found.profile.kinds.iter().zip(&ERROR_KINDS) {
        let _ = writeln!(text, "\n[moves.{}]", entry.name);
        let rounded = rounded(kind.shares());
        let estimates = [("changed", &kind.changed), ("repeated", &kind.repeated), ("other_tool", &kind.other_tool)];
        for (at, (key, estimate)) in estimates.into_iter().enumerate() {
            let plain = format!("; {:.4} of {}", kind.plain.shares[at], level_name(kind.plain.level));
            let _ = writeln!(text, "{key} = {:.4} # {}{plain}", rounded[at], informed_by(estimate));
        }
    }
    text
}

fn informed_by(estimate: &Estimate) -> String {
    let (moves, tasks) = (pluralize(estimate.moves, "move"), pluralize(estimate.tasks, "task"));
    match estimate.standard_error {
        Some(error) => format!("± {error:.4}, {moves} in {tasks}"),
        None => moves,
    }
}

/// Returns the shares with four digits, none of them 0, so that the first three add up to 1 at most.
fn rounded(shares: Shares) -> Shares {
    let mut cut = shares.map(|share| (share * 1e4).floor().max(1.0));
    let excess = (cut[..3].iter().sum::<f64>() - 9999.0).max(0.0);
    let largest = (0..3).max_by(|one, other| cut[*one].total_cmp(&cut[*other])).unwrap_or(0);
    cut[largest] -= excess;
    cut.map(|share| share / 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_shares_are_no_zeros_and_leave_a_share_of_stopping() {
        assert_eq!(rounded([0.5, 0.25, 0.125, 0.125]), [0.5, 0.25, 0.125, 0.125]);
        for shares in [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.499_999, 0.499_999, 0.000_002, 0.0]] {
            let found = rounded(shares);
            assert!(found.iter().all(|share| *share > 0.0), "{found:?}");
            assert!(found[..3].iter().sum::<f64>() <= 0.9999 + 1e-12, "{found:?}");
        }
    }
}
