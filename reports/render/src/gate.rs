//! Gate reports in each output format.

mod github;
mod junit;
mod markdown;
mod terminal;

pub use github::github;
pub use junit::junit;
pub use markdown::markdown;
pub use terminal::{GateOptions, changes, terminal};

use std::cmp::Ordering;

use super::labels::{format_suffix, in_scenarios, named_scenarios};
use super::number::{amount, money, percent, points};
use healbench_analysis::gate::{
    ChangeEffect, GateReport, GateRow, Method, ScenarioChange, Subject, TextChange, Tier, Unlike, Verdict,
};
use healbench_analysis::{Better, Metric};
use healbench_text::{count, plain_text};

/// Sorts the rows that are of their own by severity: those that do not pass first, critical before advisory, then by verdict, with lost
/// episodes before failures, and these by metric and loss. The sort is stable.
fn by_severity(report: &GateReport) -> Vec<&GateRow> {
    let weight = |row: &GateRow| {
        let verdict = match (row.verdict, row.metric.as_str()) {
            (Verdict::Missing, "infra") => 0,
            (Verdict::Fail, _) => 1,
            (Verdict::Missing, _) => 2,
            (Verdict::Inconclusive, _) => 3,
            (Verdict::Pass, _) => 4,
        };
        (row.verdict == Verdict::Pass, row.tier == Tier::Advisory, verdict)
    };
    let mut rows: Vec<&GateRow> = report.rows.iter().filter(|row| row.cause.is_none()).collect();
    let loss = |row: &'_ GateRow, other: &'_ GateRow| match row.verdict {
        Verdict::Fail => row.by_loss().cmp(&other.by_loss()),
        _ => Ordering::Equal,
    };
    rows.sort_by(|a, b| weight(a).cmp(&weight(b)).then_with(|| loss(a, b)));
    rows
}

/// Returns true if a row is listed. Deterministic rows that pass without a change are only counted.
fn is_listed(row: &GateRow) -> bool {
    row.verdict != Verdict::Pass || !row.changes.is_empty() || !matches!(row.method, Method::Exact | Method::Presence)
}

/// `FAIL`, `FAIL (advisory)`.
fn verdict(row: &GateRow) -> String {
    let tier = if row.tier == Tier::Advisory { " (advisory)" } else { "" };
    format!("{}{tier}", row.verdict.name())
}

/// `scripted:typical · all fusion-xml`, with unsafe characters escaped.
fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Cell { agent, condition: Some(condition), .. } => {
            format!("{} · {}", plain_text(&agent.to_string()), plain_text(condition))
        }
        Subject::Cell { agent, guardrails, format, condition: None } => {
            format!("{} · {guardrails}{}", plain_text(&agent.to_string()), format_suffix(format))
        }
        Subject::Variants { pair } => plain_text(pair).into_owned(),
        Subject::Run { run } => plain_text(run).into_owned(),
    }
}

/// The rows that fail for the cause of a row, in the order of metrics.
fn joined<'r>(report: &'r GateReport, row: &GateRow) -> Vec<&'r GateRow> {
    let head = report.rows.iter().position(|other| std::ptr::eq(other, row));
    let mut joined: Vec<&GateRow> = report.rows.iter().filter(|other| head.is_some() && other.cause == head).collect();
    joined.sort_by_key(|other| other.metric.parse::<Metric>().map_or(usize::MAX, |metric| metric as usize));
    joined
}

/// The rows that fail for the cause of a row, as `tokens: 505 → 557 in a and 3 more scenarios`; those of another subject name it.
fn also(report: &GateReport, row: &GateRow) -> Vec<String> {
    let line = |other: &GateRow| {
        let of = if other.subject == row.subject { String::new() } else { format!("{} · ", subject(&other.subject)) };
        let means = Some(means(other)).filter(|means| !means.is_empty()).map(|means| format!(": {means}"));
        format!(
            "{of}{}{}{}",
            plain_text(&other.metric),
            means.unwrap_or_default(),
            in_scenarios(&worst_scenarios(other))
        )
    };
    joined(report, row).into_iter().map(line).collect()
}

/// The lines of a diff that are shown of a changed text.
const MAX_DIFF_LINES: usize = 40;

/// The characters that are shown of a line of a diff.
const MAX_DIFF_CHARS: usize = 200;
/// The changed texts that are shown.
const MAX_TEXTS: usize = 9;

/// The diff of a changed text, line by line; a sentence if it is not known.
fn diff_lines(change: &TextChange) -> Vec<String> {
    let Some(diff) = &change.diff else {
        return vec![
            "The base does not have the text: `git diff` shows what changed in a file, and so does a gate against the base's directory."
                .to_owned(),
        ];
    };
    let lines: Vec<&str> = diff.lines().collect();
    let shown = lines.iter().take(MAX_DIFF_LINES).map(|line| {
        let line = match line.strip_prefix("\\ No newline") {
            Some(_) => "(no line break at the end)",
            None => line,
        };
        match line.char_indices().nth(MAX_DIFF_CHARS) {
            Some((end, _)) => format!("{}…", plain_text(&line[..end])),
            None => plain_text(line).into_owned(),
        }
    });
    let mut shown: Vec<String> = shown.collect();
    if lines.len() > MAX_DIFF_LINES {
        shown.push(format!("and {} more lines", count((lines.len() - MAX_DIFF_LINES) as u64)));
    }
    shown
}

/// `and 3 more texts changed`; `None` if all are shown.
fn more_texts(report: &GateReport) -> Option<String> {
    let more = report.texts.len().saturating_sub(MAX_TEXTS) as u64;
    (more > 0).then(|| format!("and {} changed", healbench_text::pluralize(more, "more text")))
}

/// `worse: -20 points of success in shop/cancel-shipped and 3 more scenarios`: what decided, or became better, and what no row could see,
/// for the first line.
fn first_line(report: &GateReport) -> Vec<String> {
    let decided = |row: &&GateRow| match report.verdict {
        // What passes is named if nothing else is.
        Verdict::Pass => row.verdict == Verdict::Pass && row.base.is_some() && !row.changes.is_empty(),
        verdict => row.verdict == verdict && row.tier == Tier::Critical && (row.base.is_some() || row.metric == "rows"),
    };
    let is_changed = |row: &&GateRow| row.difference != Some(0.0) || !row.changes.is_empty();
    let rows = by_severity(report).into_iter().filter(decided).filter(is_changed);
    // The largest gain stands for what became better, as the largest loss, which is the first, for what became worse.
    let changed = match report.verdict {
        Verdict::Pass => rows.min_by_key(|row| row.by_gain()),
        _ => rows.into_iter().next(),
    };
    let success = |row: &GateRow| {
        let of_cell = |other: &&GateRow| other.subject == row.subject && other.metric == Metric::Success.name();
        report.rows.iter().find(of_cell).filter(|success| success.metric != row.metric && is_gain(success))
    };
    let gained = changed.filter(|row| row.verdict == Verdict::Fail).and_then(success).map(change_in_words);
    let unlike = report.rows.iter().filter_map(|row| Some(unlike_in_words(row, row.unlike?)));
    let unseen = report.rows.iter().map(|row| row.unseen_scenarios).max().filter(|unseen| *unseen > 0);
    let unseen = unseen.map(|unseen| {
        let scenarios = healbench_text::pluralize(unseen, "scenario");
        format!("could not see a fall from all to none in {scenarios}, for too few trials")
    });
    changed.map(change_in_words).into_iter().chain(gained).chain(unlike).chain(unseen).collect()
}

/// `1 scenario changed: quickstart/wrong-enum; bless the candidate`.
fn unlike_in_words(row: &GateRow, unlike: Unlike) -> String {
    let names: Vec<&str> = row.changes.iter().map(|change| change.scenario.as_str()).collect();
    let scenarios = healbench_text::pluralize(names.len() as u64, "scenario");
    format!("{scenarios} {}: {}; {}", unlike.words(), named_scenarios(&names), unlike.way_out())
}

/// Returns true if the mean of a row that changed is better.
fn is_gain(row: &GateRow) -> bool {
    let (metric, difference) = (row.metric.parse::<Metric>(), row.difference.unwrap_or_default());
    metric.is_ok_and(|metric| difference != 0.0 && (difference > 0.0) == (metric.better() == Better::Higher))
}

/// `worse: -20 points of success in shop/cancel-shipped`; where the mean hides what became worse, `better: +3 points of success, but worse in
/// shop/cancel-shipped`, or `worse: success in shop/cancel-shipped, 0 points on the whole`.
fn change_in_words(row: &GateRow) -> String {
    let metric = row.metric.parse::<Metric>().ok();
    let (difference, is_better) = (row.difference.unwrap_or_default(), is_gain(row));
    let has_worse = row.changes.iter().any(|change| change.effect == ChangeEffect::Worse || change.worse_trials > 0);
    let word = match (row.verdict, difference) {
        (Verdict::Inconclusive, _) => "not settled",
        _ if has_worse && row.verdict == Verdict::Fail => "worse",
        (_, 0.0) => "changed",
        _ if is_better => "better",
        _ => "worse",
    };
    let numbers = match metric {
        Some(metric) if metric.is_rate() => format!("{} points of {metric}", points(difference)),
        None if row.metric == "rows" => "other responses".to_owned(),
        _ => format!("{} {}", plain_text(&row.metric), means(row)),
    };
    let names = worst_scenarios(row);
    // Where one trial makes up for another, no scenario became worse.
    let is_made_up = row.changes.iter().all(|change| change.effect != ChangeEffect::Worse);
    let place = in_scenarios(&names).replacen("in ", if is_made_up { "in trials of " } else { "in " }, 1);
    match metric {
        Some(_) if word == "worse" && is_better => format!("better: {numbers}, but worse{place}"),
        Some(metric) if word == "worse" && difference == 0.0 => {
            let whole = if metric.is_rate() { format!("{} points", points(difference)) } else { means(row) };
            format!("{word}: {metric}{place}, {whole} on the whole")
        }
        _ => format!("{word}: {numbers}{}", in_scenarios(&names)),
    }
}

/// Returns the scenarios of a row that became worse; if there is none, those with a trial that did, and otherwise all that changed.
fn worst_scenarios(row: &GateRow) -> Vec<&str> {
    let of = |is: fn(&ScenarioChange) -> bool| -> Vec<&str> {
        row.changes.iter().filter(|change| is(change)).map(|change| change.scenario.as_str()).collect()
    };
    let kinds: [fn(&ScenarioChange) -> bool; 3] =
        [|change| change.effect == ChangeEffect::Worse, |change| change.worse_trials > 0, |_| true];
    kinds.into_iter().map(of).find(|names| !names.is_empty()).unwrap_or_default()
}

/// `7 pass, 3 fail`.
fn verdict_counts(report: &GateReport) -> String {
    let verdicts = [Verdict::Fail, Verdict::Missing, Verdict::Inconclusive, Verdict::Pass];
    let counts = verdicts.into_iter().filter_map(|verdict| {
        let count = report.counts.get(verdict.name())?;
        Some(format!("{} {}", healbench_text::count(*count), verdict.name().to_lowercase()))
    });
    counts.collect::<Vec<_>>().join(", ")
}

/// A mean of a row's metric: `97%`, `406.2`.
fn mean(row: &GateRow, mean: f64) -> String {
    match row.metric.parse::<Metric>() {
        Ok(metric) if metric.is_rate() => percent(mean),
        Ok(Metric::CostUsd) => money(mean),
        _ if row.metric == "infra" => percent(mean),
        _ if matches!(row.subject, Subject::Variants { .. }) => format!("{mean:.4}"),
        _ if mean < 99.95 => format!("{mean:.1}"),
        _ => amount(mean),
    }
}

/// `97% → 95%`, or the only known mean; empty if both are unknown. Different means are written with enough digits to
/// differ.
fn means(row: &GateRow) -> String {
    match (row.base, row.candidate) {
        (Some(base), Some(candidate)) if base == candidate => mean(row, base),
        (Some(base), Some(candidate)) => match (mean(row, base), mean(row, candidate)) {
            (base_text, candidate_text) if base_text == candidate_text => {
                let is_share = row.metric == "infra" || row.metric.parse::<Metric>().is_ok_and(Metric::is_rate);
                let (scale, unit) = if is_share { (100.0, "%") } else { (1.0, "") };
                let (base, candidate) = (base * scale, candidate * scale);
                let first = if is_share { 1 } else { 2 };
                let digits = (first..17).find(|digits| format!("{base:.digits$}") != format!("{candidate:.digits$}"));
                let digits = digits.unwrap_or(17);
                format!("{base:.digits$}{unit} → {candidate:.digits$}{unit}")
            }
            (base, candidate) => format!("{base} → {candidate}"),
        },
        (None, Some(candidate)) => mean(row, candidate),
        (Some(base), None) => format!("{} → unknown", mean(row, base)),
        (None, None) => String::new(),
    }
}

/// `-2 points, 90% [-4, 1]`; empty without an interval.
fn difference(row: &GateRow) -> String {
    use super::number::{amount_interval, points_interval, signed_amount};
    let (Some(difference), Some(interval)) = (row.difference, row.interval) else { return String::new() };
    let level = row.confidence.map(percent).unwrap_or_default();
    match (&row.subject, row.metric.parse::<Metric>()) {
        (Subject::Variants { .. }, _) => {
            let share = |share: f64| format!("{:+.2}%", share * 100.0);
            format!("{}, {level} [{}, {}]", share(difference), share(interval.lower), share(interval.upper))
        }
        (_, Ok(metric)) if metric.is_rate() => {
            format!("{} points, {level} {}", points(difference), points_interval(interval))
        }
        _ => format!("{}, {level} {}", signed_amount(difference), amount_interval(interval)),
    }
}

/// The sums of a changed scenario: `8,123 → 16,246`. All digits are shown because any difference in a deterministic row
/// is a change.
fn format_change(row: &GateRow, change: &ScenarioChange) -> String {
    let number = |number: f64| match row.metric.parse() {
        Ok(Metric::CostUsd) => money(number),
        _ if number.fract() == 0.0 && number >= 0.0 => count(number as u64),
        _ => number.to_string(),
    };
    match (change.base, change.candidate) {
        (Some(base), Some(candidate)) if base == candidate => "other endings".to_owned(),
        (Some(base), Some(candidate)) if number(base) == number(candidate) => format!("{base} → {candidate}"),
        (Some(base), Some(candidate)) => format!("{} → {}", number(base), number(candidate)),
        (Some(base), None) => format!("{} → unknown", number(base)),
        (None, Some(candidate)) => format!("unknown → {}", number(candidate)),
        (None, None) => String::new(),
    }
}

/// ` per episode`, the unit of a mean of counts; empty for others.
fn per_episode(row: &GateRow) -> &'static str {
    match row.metric.parse::<Metric>() {
        Ok(metric) if !metric.is_rate() && (row.base.is_some() || row.candidate.is_some()) => " per episode",
        _ => "",
    }
}

/// `sums over trials`: what the numbers of the changed scenarios are; `None` if there are none.
fn unit_of_changes(row: &GateRow) -> Option<&'static str> {
    let metric = row.metric.parse::<Metric>().ok()?;
    let has_numbers = row.changes.iter().any(|change| change.base.is_some() || change.candidate.is_some());
    has_numbers.then_some(if metric.is_rate() { "trials in which it holds" } else { "sums over trials" })
}

/// Returns the command that shows the most informative change: the first with a different outcome, or the first of all.
fn example_command(report: &GateReport, row: &GateRow) -> Option<String> {
    let change = row.changes.iter().find(|change| change.trial.is_some()).or(row.changes.first())?;
    show_command(report, row, change)
}

/// Returns the command that shows the candidate's transcript of a changed scenario, escaped; `None` if the subject is
/// not a cell.
fn show_command(report: &GateReport, row: &GateRow, change: &ScenarioChange) -> Option<String> {
    let Subject::Cell { agent, guardrails, format, condition } = &row.subject else { return None };
    let word = healbench_text::shell_quote;
    let condition = match condition {
        Some(condition) => format!("--condition {}", word(condition)),
        None => format!("--guardrails {guardrails} --format {}", word(format)),
    };
    let opening = agent.opening.map_or(String::new(), |opening| format!(" --opening {}", opening.name()));
    let command = format!(
        "healbench show {} --scenario {} --agent {}{opening} {condition} --trial {}",
        word(&report.candidate_run),
        word(&change.scenario),
        word(&agent.name),
        change.trial.unwrap_or(0)
    );
    Some(plain_text(&command).into_owned())
}
