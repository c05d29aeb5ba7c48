//! The comparison of two runs as text for a terminal.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use healbench_core::AgentKind;

use super::labels::{
    Estimate, INDENT, READERS_NOTE, align_estimates, clear_paint, condition_label, in_scenarios, pair_interval,
    pair_note, plain_cell, points_or_equal,
};
use super::methods::Methods;
use super::number::{
    UNKNOWN, amount, amount_interval, count, money, percent, percent_digits, pluralize, points, points_interval,
    signed_amount,
};
use super::shell::show_flip_commands;
use healbench_analysis::{
    Better, CellComparison, Change, Comparison, Conclusion, Flip, Metric, MetricDifference, PairingFailure, Unpaired,
    Verdict,
};
use healbench_text::{Paint, StyledSpan, Table, TableCell, TableLine, plain_text, wrap};

/// Options of the terminal output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComparisonOptions {
    /// The terminal's width in columns.
    pub width: usize,
    /// True if ANSI sequences may be used.
    pub color: bool,
    /// The largest number of scenarios with flips listed.
    pub flips: usize,
}

/// Formats the comparison for a terminal, ending with a line break.
pub fn comparison(comparison: &Comparison, options: ComparisonOptions) -> String {
    let mut lines = wrap(&title(comparison), " · ", options.width);
    for differs in &comparison.differs {
        lines.extend(wrap(&format!("differs: {}", plain_text(differs)), " ", options.width));
    }
    if let Some(sentence) = &comparison.run_apart {
        lines.extend(wrap(&plain_text(sentence), " ", options.width));
    }
    let (sentence, paint) = conclusion(comparison);
    lines.extend(
        wrap(&sentence, " ", options.width).into_iter().map(|line| StyledSpan::new(line, paint).painted(options.color)),
    );
    lines.push(String::new());
    let changed: Vec<&CellComparison> = comparison.cells.iter().filter(|cell| cell.changed > 0).collect();
    if !changed.is_empty() {
        lines.extend(table(&changed, options.width).lines(options.width, options.color));
        lines.extend(other_metrics(&changed, options));
        lines.push(String::new());
    }
    let same: u64 = comparison.cells.iter().filter(|cell| cell.changed == 0).map(|cell| cell.pairs).sum();
    if same > 0 {
        let cells = comparison.cells.iter().filter(|cell| cell.changed == 0 && cell.pairs > 0).count();
        lines.push(format!("No metric differs in {} of {}.", pluralize(same, "pair"), pluralize(cells as u64, "cell")));
    }
    lines.extend(flips(comparison, options));
    for unpaired in pairing_failures(&comparison.unpaired) {
        lines.extend(wrap(&unpaired, " ", options.width));
    }
    for note in notes(comparison, &changed) {
        lines.extend(wrap(&note, " ", options.width));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

fn title(comparison: &Comparison) -> String {
    let names = format!("{} → {}", plain_text(&comparison.base), plain_text(&comparison.candidate));
    [names, pluralize(comparison.pairs, "pair"), format!("{} changed", count(comparison.changed))].join(" · ")
}

fn metric_difference(cell: &CellComparison, metric: Metric) -> Option<&MetricDifference> {
    cell.metrics.iter().find(|entry| entry.metric == metric)
}

/// Builds the table of success, billed tokens and calls of the changed cells.
fn table(cells: &[&CellComparison], width: usize) -> Table {
    let with_intervals = table_with(cells, true);
    if with_intervals.body_width() + INDENT.len() <= width { with_intervals } else { table_with(cells, false) }
}

fn table_with(cells: &[&CellComparison], intervals: bool) -> Table {
    let column = |metric| -> Vec<Estimate> {
        cells.iter().map(|cell| estimate(metric_difference(cell, metric), intervals)).collect()
    };
    let columns = [Metric::Success, Metric::BilledTokens, Metric::Calls].map(|metric| align_estimates(column(metric)));
    let [success, tokens, calls] = columns.map(Vec::into_iter);
    let mut estimates = success.zip(tokens).zip(calls);
    let mut lines = Vec::new();
    let mut agent = None;
    for cell in cells {
        if agent != Some(&cell.title) {
            agent = Some(&cell.title);
            lines.push(TableLine::Title(StyledSpan::new(plain_text(&cell.title), Paint::Bold)));
        }
        let ((success, tokens), calls) = estimates.next().unwrap_or_default();
        let cells = vec![
            plain_cell(count(cell.changed)),
            plain_cell(rates(metric_difference(cell, Metric::Success))),
            plain_cell(this_suite(metric_difference(cell, Metric::Success))),
            success,
            tokens,
            calls,
        ];
        lines.push(TableLine::Row { label: format!("{INDENT}{}", condition_label(&cell.condition)), cells });
    }
    let heads = [
        ["pairs", "changed"],
        ["success", "%"],
        ["this suite", ""],
        ["other scenarios", "points"],
        ["billed", "/episode"],
        ["calls", "/episode"],
    ];
    Table { heads: heads.map(|head| head.map(str::to_owned)).to_vec(), lines }
}

/// `97 → 95`.
fn rates(entry: Option<&MetricDifference>) -> String {
    let rate = |rate: Option<f64>| rate.map_or(UNKNOWN.to_owned(), percent_digits);
    entry.map_or(UNKNOWN.to_owned(), |entry| match entry.difference {
        Some(0.0) => rate(entry.base),
        _ => format!("{} → {}", rate(entry.base), rate(entry.candidate)),
    })
}

/// The interval of what repeats exactly with the same seed.
const EXACT: &str = "exact";

/// Formats the interval if the same scenarios were run again: `[-3, 8]`, or `exact` for agents that never vary with the same seed.
pub(super) fn this_suite(entry: Option<&MetricDifference>) -> String {
    match entry {
        Some(MetricDifference { this_suite: Some(this_suite), .. }) => points_interval(this_suite.interval),
        Some(MetricDifference { verdict: Verdict::Equal, .. }) => "equal".to_owned(),
        Some(entry) if entry.pairs >= 2 => EXACT.to_owned(),
        _ => UNKNOWN.to_owned(),
    }
}

/// Formats a difference with its interval: green or red if it is clear.
pub(super) fn estimate(entry: Option<&MetricDifference>, intervals: bool) -> Estimate {
    let Some(entry) = entry else { return (StyledSpan::new(UNKNOWN, Paint::Plain), StyledSpan::new("", Paint::Dim)) };
    let interval = format_interval(entry).filter(|_| intervals);
    (StyledSpan::new(format_difference(entry), paint(entry)), StyledSpan::new(interval.unwrap_or_default(), Paint::Dim))
}

pub(super) fn format_interval(entry: &MetricDifference) -> Option<String> {
    entry.interval.map(|interval| match entry.metric.is_rate() {
        true => pair_interval(interval, entry.verdict),
        false => amount_interval(interval),
    })
}

pub(super) fn format_difference(entry: &MetricDifference) -> String {
    match entry.difference {
        None => UNKNOWN.to_owned(),
        Some(difference) if entry.metric.is_rate() => points_or_equal(difference, entry.verdict),
        Some(difference) if entry.metric == Metric::CostUsd => {
            let sign = if difference < 0.0 { "-" } else { "+" };
            format!("{sign}{}", money(difference.abs()))
        }
        Some(difference) => signed_amount(difference),
    }
}

/// Returns green or red if the difference is clear.
pub(super) fn paint(entry: &MetricDifference) -> Paint {
    let paints = match entry.metric.better() {
        Better::Higher => [Paint::Green, Paint::Red],
        Better::Lower => [Paint::Red, Paint::Green],
    };
    clear_paint(entry.verdict, entry.difference, paints)
}

/// Lists the changed metrics that are not in the table.
fn other_metrics(cells: &[&CellComparison], options: ComparisonOptions) -> Vec<String> {
    let shown = [Metric::Success, Metric::BilledTokens, Metric::Calls];
    let mut lines = Vec::new();
    for metric in Metric::ALL.into_iter().filter(|metric| !shown.contains(metric)) {
        let changed_cells: Vec<(&&CellComparison, &MetricDifference)> = cells
            .iter()
            .filter_map(|cell| Some((cell, metric_difference(cell, metric)?)))
            .filter(|(_, entry)| entry.more + entry.fewer > 0)
            .collect();
        if changed_cells.is_empty() {
            continue;
        }
        let column = changed_cells.iter().map(|(_, entry)| estimate(Some(entry), true)).collect();
        let rows = changed_cells.iter().zip(align_estimates(column)).map(|((cell, entry), estimate)| {
            let label = format!("{INDENT}{} {}", plain_text(&cell.title), condition_label(&cell.condition));
            let means = plain_cell(format!("{} → {}", mean(entry, entry.base), mean(entry, entry.candidate)));
            TableLine::Row { label, cells: vec![means, estimate] as Vec<TableCell> }
        });
        let unit = if metric.is_rate() { "" } else { " an episode" };
        let title =
            TableLine::Title(StyledSpan::new(format!("{}{unit}", metric.name().replace('_', " ")), Paint::Bold));
        let heads = vec![[String::new(), String::new()], [String::new(), String::new()]];
        let table = Table { heads, lines: std::iter::once(title).chain(rows).collect() };
        lines.push(String::new());
        lines.extend(table.lines(options.width, options.color).into_iter().filter(|line| !line.is_empty()));
    }
    lines
}

pub(super) fn mean(entry: &MetricDifference, mean: Option<f64>) -> String {
    match mean {
        None => UNKNOWN.to_owned(),
        Some(mean) if entry.metric.is_rate() => percent(mean),
        Some(mean) if entry.metric == Metric::CostUsd => money(mean),
        Some(mean) if mean < 99.95 => format!("{mean:.1}"),
        Some(mean) => amount(mean),
    }
}

/// Lists the flips by scenario, each with an example.
fn flips(comparison: &Comparison, options: ComparisonOptions) -> Vec<String> {
    if comparison.flips.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("{}:", lost_and_gained(comparison.flips.iter()))];
    let groups = flips_by_scenario(&comparison.flips);
    for (scenario, flips) in groups.iter().take(options.flips) {
        let text = format!("{}: {}", plain_text(scenario), lost_and_gained(flips.iter().copied()));
        lines.extend(
            wrap(&text, " ", options.width.saturating_sub(INDENT.len())).iter().map(|line| format!("{INDENT}{line}")),
        );
        let Some(example) = flips.first() else { continue };
        let word = if example.is_loss() { ("lost", Paint::Red) } else { ("gained", Paint::Green) };
        let word = StyledSpan::new(word.0, word.1).painted(options.color);
        let room = options.width.saturating_sub(3 * INDENT.len());
        let label = format!("{word} {}", flip_label(example));
        lines.extend(wrap(&label, " ", room).iter().map(|line| format!("{INDENT}{INDENT}{line}")));
        let commands = show_flip_commands(&comparison.base, &comparison.candidate, example);
        lines.extend(commands.map(|command| format!("{INDENT}{INDENT}{INDENT}{command}")));
    }
    let more = groups.len().saturating_sub(options.flips);
    if more > 0 {
        lines.push(format!("{INDENT}and {}: `--flips {}`", pluralize(more as u64, "more scenario"), groups.len()));
    }
    lines.push(String::new());
    lines
}

/// Groups flips by scenario, those that lost most on balance first, as [`healbench_analysis`] orders the scenarios that became worse.
pub(super) fn flips_by_scenario(flips: &[Flip]) -> Vec<(&str, Vec<&Flip>)> {
    let mut groups: Vec<(&str, Vec<&Flip>)> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for flip in flips {
        let index = *known.entry(&flip.scenario).or_insert_with(|| {
            groups.push((&flip.scenario, Vec::new()));
            groups.len() - 1
        });
        groups[index].1.push(flip);
    }
    let balance = |flips: &[&Flip]| flips.iter().map(|flip| if flip.is_loss() { 1 } else { -1 }).sum::<i64>();
    groups.sort_by_key(|(_, flips)| Reverse((balance(flips), flips.len())));
    groups
}

/// `3 successes lost, 1 gained`.
pub(super) fn lost_and_gained<'a>(flips: impl Iterator<Item = &'a Flip>) -> String {
    let (lost, gained): (Vec<&Flip>, Vec<&Flip>) = flips.partition(|flip| flip.is_loss());
    format!("{} lost, {} gained", successes(lost.len() as u64), count(gained.len() as u64))
}

/// The conclusion as a sentence, and its style, which has a color only if the difference is significant.
pub(super) fn conclusion(comparison: &Comparison) -> (String, Paint) {
    let Conclusion { change, worse, better, cell, scenarios, setback } = &comparison.conclusion;
    let pairs = pluralize(comparison.pairs, "pair");
    let cells = pluralize(comparison.cells.len() as u64, "cell");
    let setback =
        setback.as_ref().and_then(|setback| Some((setback.cell, comparison.cells.get(setback.cell)?, setback)));
    let setback = setback.map(|(at, of, setback)| {
        let of = if *cell == Some(at) { String::new() } else { format!(" for {}", cell_name(of)) };
        format!(", but worse{}{of}", in_scenarios(&setback.scenarios))
    });
    let setback = setback.unwrap_or_default();
    let shown = cell.and_then(|cell| comparison.cells.get(cell));
    // Where no cell differs in success, the largest change of the cost is that of the run.
    let costs = comparison.cells.iter().filter_map(|cell| Some((cell, cost(cell)?)));
    let largest = costs.max_by(|a, b| a.1.share.abs().total_cmp(&b.1.share.abs()));
    let run_cost = largest.map(|(cell, cost)| format!("; {}: {} for {}", cost.word(), cost.means, cell_name(cell)));
    let run_cost = run_cost.unwrap_or_default();
    let word = match change {
        Change::Unchanged => return (format!("Unchanged: no metric differs in {pairs}."), Paint::Plain),
        Change::Same => {
            let changed = count(comparison.changed);
            let text = format!("Success is the same; other metrics differ in {changed} of {pairs}{run_cost}.");
            return (text, Paint::Plain);
        }
        Change::Unclear => {
            let text = format!("No clear difference in success in any of {cells}{setback}{run_cost}.");
            return (text, Paint::Plain);
        }
        Change::NotComparable => {
            return ("Not comparable: nothing could be paired.".to_owned(), Paint::Bold);
        }
        Change::Worse => "Worse",
        Change::Better => "Better",
        Change::Mixed => "Mixed",
    };
    let Some(shown) = shown else { return (word.to_owned(), Paint::Bold) };
    let entry = metric_difference(shown, Metric::Success);
    let difference = entry.and_then(|entry| entry.difference).map_or(UNKNOWN.to_owned(), points);
    let others = entry
        .and_then(|entry| entry.interval)
        .map(|interval| format!("; other scenarios {}", points_interval(interval)));
    let cost = cost(shown);
    let and_cost = cost.as_ref().map(|cost| match (change, cost.share > 0.0) {
        (Change::Better, false) | (Change::Worse, true) => format!(" and {}", cost.word()),
        _ => format!(", but {}", cost.word()),
    });
    let mut text = format!(
        "{word}{}: {difference} points (this suite {}{}) for {}{}{setback}",
        and_cost.filter(|_| *change != Change::Mixed).unwrap_or_default(),
        match this_suite(entry) {
            exact if exact == EXACT => format!("{EXACT} for this seed"),
            interval => interval,
        },
        others.unwrap_or_default(),
        cell_name(shown),
        comma_in_scenarios(scenarios),
    );
    if let Some(cost) = cost {
        text.push_str(&format!("; {}", cost.means));
    }
    if worse + better > 1 {
        text.push_str(&format!("; worse in {} and better in {} of {cells}", count(*worse), count(*better)));
    }
    let paint = entry.map_or(Paint::Plain, paint);
    let is_colored = paint != Paint::Plain && *change != Change::Mixed;
    (text + ".", if is_colored { paint } else { Paint::Bold })
}

/// `, in a and 3 more scenarios`; empty without any.
fn comma_in_scenarios(scenarios: &[String]) -> String {
    if scenarios.is_empty() { String::new() } else { format!(",{}", in_scenarios(scenarios)) }
}

fn cell_name(cell: &CellComparison) -> String {
    format!("{} under {}", plain_text(&cell.title), condition_label(&cell.condition))
}

/// A change of the cost of an episode, in tokens.
struct Cost {
    /// The share of the base's mean by which it rose.
    share: f64,
    /// `tokens 340 → 429`.
    means: String,
}

impl Cost {
    fn word(&self) -> &'static str {
        if self.share > 0.0 { "dearer" } else { "cheaper" }
    }
}

/// Returns the change of the cost; `None` if it is not clear, or less than the numbers show.
fn cost(cell: &CellComparison) -> Option<Cost> {
    let entry = metric_difference(cell, Metric::Tokens)?;
    let (base, candidate) = (entry.base?, entry.candidate?);
    let [before, after] = [base, candidate].map(|value| mean(entry, Some(value)));
    let is_clear = (cell.is_exact && entry.pairs >= 2) || entry.verdict == Verdict::Clear;
    let share = (candidate - base) / base.max(f64::MIN_POSITIVE);
    (is_clear && before != after).then(|| Cost { share, means: format!("tokens {before} → {after}") })
}

pub(super) fn successes(count: u64) -> String {
    if count == 1 { "1 success".to_owned() } else { format!("{} successes", self::count(count)) }
}

fn flip_label(flip: &Flip) -> String {
    format!(
        "{} · {} · {} · trial {}: {} → {}",
        plain_text(&flip.scenario),
        plain_text(&flip.title),
        condition_label(&flip.condition),
        flip.trial,
        flip.base.words(),
        flip.candidate.words()
    )
}

/// Up to this number, unpaired subjects of one reason are listed individually; of more, this many are named.
const MAX_NAMED: usize = 3;

/// Describes the unpaired episodes, one sentence per reason.
pub(super) fn pairing_failures(unpaired: &[Unpaired]) -> Vec<String> {
    let kind = |unpaired: &Unpaired| (unpaired.reason, unpaired.base > 0, unpaired.candidate > 0);
    let mut sorted: Vec<&Unpaired> = unpaired.iter().collect();
    sorted.sort_by_key(|unpaired| kind(unpaired));
    let scenarios = || unpaired.iter().filter(|unpaired| unpaired.reason == PairingFailure::Scenario);
    let may_be_renamed =
        scenarios().any(|unpaired| unpaired.base > 0) && scenarios().any(|unpaired| unpaired.candidate > 0);
    let mut sentences = Vec::new();
    for alike in sorted.chunk_by(|a, b| kind(a) == kind(b)) {
        match alike.len() {
            0..=MAX_NAMED => sentences.extend(alike.iter().map(|unpaired| pairing_sentence(&[unpaired]))),
            _ => sentences.push(pairing_sentence(alike)),
        }
    }
    if may_be_renamed {
        sentences.push("A scenario that has another id now is paired if its file says `renamed_from: ID`.".to_owned());
    }
    sentences
}

/// Builds the sentence for entries with the same reason.
fn pairing_sentence(alike: &[&Unpaired]) -> String {
    // A condition without `healing` has no format.
    let named = alike.iter().take(MAX_NAMED).map(|unpaired| plain_text(unpaired.subject.trim_end_matches(" bare")));
    let named: Vec<_> = named.collect();
    let what = match alike.len().saturating_sub(MAX_NAMED) {
        0 => named.join(", "),
        more => format!("{} and {} more", named.join(", "), count(more as u64)),
    };
    let of =
        |one: &str| if alike.len() == 1 { one.to_owned() } else { format!("{} {one}s", count(alike.len() as u64)) };
    let reason = match alike[0].reason {
        PairingFailure::Scenario => format!("only one run has {} {what}", of("scenario")),
        PairingFailure::Agent => format!("only one run has {} {what}", of("agent")),
        PairingFailure::Condition => format!("only one run has {} {what}", of("condition")),
        PairingFailure::Trial => format!("only one run has {} {what}", of("trial")),
        PairingFailure::Schedule => format!("the schedules differ in {} {what}", of("scenario")),
        PairingFailure::NotPlayed => "the other episode was not run".to_owned(),
        PairingFailure::NotScored => {
            format!("one of the two episodes was lost to infrastructure or configuration, in {what}")
        }
        PairingFailure::Copy => {
            format!("copies of an earlier trial with the same schedule, of a deterministic agent, in {what}")
        }
    };
    let episodes = |count| pluralize(count, "episode");
    let who = match alike.iter().fold((0, 0), |(base, candidate), next| (base + next.base, candidate + next.candidate))
    {
        (base, 0) => format!("{} of the base", episodes(base)),
        (0, candidate) => format!("{} of the candidate", episodes(candidate)),
        (base, candidate) => format!("{} of the base, {} of the candidate", episodes(base), episodes(candidate)),
    };
    format!("Not paired: {who}: {reason}.")
}

pub(super) fn notes(comparison: &Comparison, changed: &[&CellComparison]) -> Vec<String> {
    let mut notes = Vec::new();
    if !changed.is_empty() {
        notes.push(format!(
            "Differences are candidate minus base, in pairs of the same scenario, agent, condition and trial. Intervals are \
             {}. This suite: if the same scenarios were run again (Tango). Other scenarios: if more scenarios of these suites were \
             written{}.",
            percent(comparison.confidence),
            Methods::of_comparison(comparison).with_rest("all that is no rate")
        ));
    }
    let rates = changed.iter().flat_map(|cell| &cell.metrics).filter(|entry| entry.metric.is_rate());
    notes.extend(pair_note(rates.map(|entry| (entry.interval, entry.verdict))).map(str::to_owned));
    if changed.iter().any(|cell| this_suite(metric_difference(cell, Metric::Success)) == EXACT) {
        notes.push("exact: the same seed gives the same rows again; another one draws other mistakes.".to_owned());
    }
    if comparison.cells.iter().any(|cell| cell.kind == AgentKind::Scripted) {
        notes.push(READERS_NOTE.to_owned());
    }
    notes
}
