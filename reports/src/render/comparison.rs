//! Two runs side by side on a terminal.

use healbench_protocol::AgentKind;

use super::layout::{Cell, Line, Paint, Piece, Table, wrap};
use super::number::{
    UNKNOWN, amount, change, change_interval, count, counted, money, percent, percent_digits, points, points_interval,
};
use super::plain_text;
use super::shell::show_flip;
use super::terminal::{Estimate, INDENT, estimates, plain, setting};
use crate::comparison::{CellComparison, Comparison, Flip, MetricDifference, Unpaired, Why};
use crate::metric::{Better, Metric};

/// How a comparison is shown on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComparisonOptions {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether ANSI sequences may be used.
    pub color: bool,
    /// How many flips are listed.
    pub flips: usize,
}

/// The comparison as text for a terminal, ending with a line break.
pub fn comparison(found: &Comparison, options: ComparisonOptions) -> String {
    let mut lines = wrap(&title(found), " · ", options.width);
    for differs in &found.differs {
        lines.extend(wrap(&format!("differs: {}", plain_text(differs)), " ", options.width));
    }
    lines.push(String::new());
    let changed: Vec<&CellComparison> = found.cells.iter().filter(|cell| cell.changed > 0).collect();
    if !changed.is_empty() {
        lines.extend(table(&changed, options.width).lines(options.width, options.color));
        lines.extend(further(&changed, options));
        lines.push(String::new());
    }
    let same: u64 = found.cells.iter().filter(|cell| cell.changed == 0).map(|cell| cell.pairs).sum();
    if same > 0 {
        let cells = found.cells.iter().filter(|cell| cell.changed == 0 && cell.pairs > 0).count();
        lines.push(format!("No metric differs in {} of {}.", counted(same, "pair"), counted(cells as u64, "cell")));
    }
    if found.pairs == 0 {
        lines.push("Nothing could be paired.".to_owned());
    }
    lines.extend(flips(found, options));
    for unpaired in not_paired(&found.unpaired) {
        lines.extend(wrap(&unpaired, " ", options.width));
    }
    for note in notes(found, &changed) {
        lines.extend(wrap(&note, " ", options.width));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

fn title(found: &Comparison) -> String {
    let names = format!("{} → {}", plain_text(&found.base), plain_text(&found.candidate));
    [names, counted(found.pairs, "pair"), format!("{} changed", count(found.changed))].join(" · ")
}

fn of(cell: &CellComparison, metric: Metric) -> Option<&MetricDifference> {
    cell.metrics.iter().find(|entry| entry.metric == metric)
}

/// Success, tokens and calls of the cells that changed.
fn table(cells: &[&CellComparison], width: usize) -> Table {
    let whole = table_with(cells, true);
    if whole.body_width() + INDENT.len() <= width { whole } else { table_with(cells, false) }
}

fn table_with(cells: &[&CellComparison], intervals: bool) -> Table {
    let column = |metric| -> Vec<Estimate> { cells.iter().map(|cell| estimate(of(cell, metric), intervals)).collect() };
    let columns = [Metric::Success, Metric::Tokens, Metric::Calls].map(|metric| estimates(column(metric)));
    let [success, tokens, calls] = columns.map(Vec::into_iter);
    let mut estimates = success.zip(tokens).zip(calls);
    let mut lines = Vec::new();
    let mut agent = None;
    for cell in cells {
        if agent != Some(&cell.title) {
            agent = Some(&cell.title);
            lines.push(Line::Title(Piece::new(plain_text(&cell.title), Paint::Bold)));
        }
        let ((success, tokens), calls) = estimates.next().unwrap_or_default();
        let cells = vec![plain(count(cell.changed)), plain(rates(of(cell, Metric::Success))), success, tokens, calls];
        lines.push(Line::Row { label: format!("{INDENT}{}", setting(cell.guardrails, &cell.format)), cells });
    }
    let heads = [["pairs", "changed"], ["success", "%"], ["", "points"], ["tokens", "/episode"], ["calls", "/episode"]];
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

/// A difference with its interval, green or red where that leaves out 0.
pub(super) fn estimate(entry: Option<&MetricDifference>, intervals: bool) -> Estimate {
    let Some(entry) = entry else { return (Piece::new(UNKNOWN, Paint::Plain), Piece::new("", Paint::Dim)) };
    let interval = interval_of(entry).filter(|_| intervals);
    (Piece::new(difference_of(entry), paint(entry)), Piece::new(interval.unwrap_or_default(), Paint::Dim))
}

pub(super) fn interval_of(entry: &MetricDifference) -> Option<String> {
    entry.interval.map(|interval| match entry.metric.is_rate() {
        true => points_interval(interval),
        false => change_interval(interval),
    })
}

pub(super) fn difference_of(entry: &MetricDifference) -> String {
    match entry.difference {
        None => UNKNOWN.to_owned(),
        Some(difference) if entry.metric.is_rate() => points(difference),
        Some(difference) if entry.metric == Metric::CostUsd => {
            let sign = if difference < 0.0 { "-" } else { "+" };
            format!("{sign}{}", money(difference.abs()))
        }
        Some(difference) => change(difference),
    }
}

/// Green and red where the interval leaves out 0.
pub(super) fn paint(entry: &MetricDifference) -> Paint {
    let better = |better: bool| if better { Paint::Green } else { Paint::Red };
    match entry.interval {
        Some(interval) if interval.lower > 0.0 => better(entry.metric.better() == Better::Higher),
        Some(interval) if interval.upper < 0.0 => better(entry.metric.better() == Better::Lower),
        _ => Paint::Plain,
    }
}

/// The metrics that are not in the table, where they moved.
fn further(cells: &[&CellComparison], options: ComparisonOptions) -> Vec<String> {
    let shown = [Metric::Success, Metric::Tokens, Metric::Calls];
    let mut lines = Vec::new();
    for metric in Metric::ALL.into_iter().filter(|metric| !shown.contains(metric)) {
        let moved: Vec<(&&CellComparison, &MetricDifference)> = cells
            .iter()
            .filter_map(|cell| Some((cell, of(cell, metric)?)))
            .filter(|(_, entry)| entry.more + entry.fewer > 0)
            .collect();
        if moved.is_empty() {
            continue;
        }
        let column = moved.iter().map(|(_, entry)| estimate(Some(entry), true)).collect();
        let rows = moved.iter().zip(estimates(column)).map(|((cell, entry), estimate)| {
            let label = format!("{INDENT}{} {}", plain_text(&cell.title), setting(cell.guardrails, &cell.format));
            let means = plain(format!("{} → {}", mean(entry, entry.base), mean(entry, entry.candidate)));
            Line::Row { label, cells: vec![means, estimate] as Vec<Cell> }
        });
        let unit = if metric.is_rate() { "" } else { " an episode" };
        let title = Line::Title(Piece::new(format!("{}{unit}", metric.name().replace('_', " ")), Paint::Bold));
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

fn flips(found: &Comparison, options: ComparisonOptions) -> Vec<String> {
    if found.flips.is_empty() {
        return Vec::new();
    }
    let lost = found.flips.iter().filter(|flip| flip.is_loss()).count() as u64;
    let gained = found.flips.len() as u64 - lost;
    let mut lines = vec![format!("{} lost, {} gained:", successes(lost), count(gained))];
    for flip in found.flips.iter().take(options.flips) {
        let word = if flip.is_loss() { ("lost", Paint::Red) } else { ("gained", Paint::Green) };
        let word = Piece::new(word.0, word.1).painted(options.color);
        let room = options.width.saturating_sub(2 * INDENT.len());
        for (line, text) in wrap(&format!("{word} {}", flip_place(flip)), " ", room).into_iter().enumerate() {
            lines.push(format!("{}{text}", INDENT.repeat(1 + usize::from(line > 0))));
        }
        lines
            .extend(show_flip(&found.base, &found.candidate, flip).map(|command| format!("{INDENT}{INDENT}{command}")));
    }
    if found.flips.len() > options.flips {
        let left = (found.flips.len() - options.flips) as u64;
        lines.push(format!("{INDENT}and {} more: `--flips {}`", count(left), found.flips.len()));
    }
    lines.push(String::new());
    lines
}

pub(super) fn successes(count: u64) -> String {
    if count == 1 { "1 success".to_owned() } else { format!("{} successes", self::count(count)) }
}

fn flip_place(flip: &Flip) -> String {
    format!(
        "{} · {} · {} · trial {}: {} → {}",
        plain_text(&flip.scenario),
        plain_text(&flip.title),
        setting(flip.guardrails, &flip.format),
        flip.trial,
        flip.base,
        flip.candidate
    )
}

/// Reasons of one kind that are told one by one; of more, the first are named.
const NAMED: usize = 3;

/// What has no partner, a sentence a reason.
pub(super) fn not_paired(unpaired: &[Unpaired]) -> Vec<String> {
    let kind = |unpaired: &Unpaired| (unpaired.why, unpaired.base > 0, unpaired.candidate > 0);
    let mut sorted: Vec<&Unpaired> = unpaired.iter().collect();
    sorted.sort_by_key(|unpaired| kind(unpaired));
    let mut sentences = Vec::new();
    for alike in sorted.chunk_by(|a, b| kind(a) == kind(b)) {
        match alike.len() {
            0..=NAMED => sentences.extend(alike.iter().map(|unpaired| sentence(&[unpaired]))),
            _ => sentences.push(sentence(alike)),
        }
    }
    sentences
}

/// Of entries that are alike.
fn sentence(alike: &[&Unpaired]) -> String {
    // A setting without `healing` has no format.
    let named = alike.iter().take(NAMED).map(|unpaired| plain_text(unpaired.what.trim_end_matches(" bare")));
    let named: Vec<_> = named.collect();
    let what = match alike.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {} more", named.join(", "), count(more as u64)),
    };
    let of =
        |one: &str| if alike.len() == 1 { one.to_owned() } else { format!("{} {one}s", count(alike.len() as u64)) };
    let why = match alike[0].why {
        Why::Scenario => format!("only one run has {} {what}", of("scenario")),
        Why::Agent => format!("only one run has {} {what}", of("agent")),
        Why::Setting => format!("only one run has {} {what}", of("setting")),
        Why::Trial => format!("only one run has {} {what}", of("trial")),
        Why::Schedule => format!("they met different difficulties in {} {what}", of("scenario")),
        Why::NotPlayed => "the other one was not played".to_owned(),
        Why::NotScored => format!("one of the two was lost to infrastructure or configuration, of {what}"),
    };
    let episodes = |count| counted(count, "episode");
    let who = match alike.iter().fold((0, 0), |(base, candidate), next| (base + next.base, candidate + next.candidate))
    {
        (base, 0) => format!("{} of the base", episodes(base)),
        (0, candidate) => format!("{} of the candidate", episodes(candidate)),
        (base, candidate) => format!("{} of the base, {} of the candidate", episodes(base), episodes(candidate)),
    };
    format!("Not paired: {who}: {why}.")
}

pub(super) fn notes(found: &Comparison, changed: &[&CellComparison]) -> Vec<String> {
    let mut notes = Vec::new();
    if !changed.is_empty() {
        notes.push(format!(
            "Differences are candidate minus base, in pairs of the same scenario, agent, setting and trial. Intervals are {}: \
             Tango for a rate, BCa bootstrap over scenarios for the rest.",
            percent(found.confidence)
        ));
    }
    if found.cells.iter().any(|cell| cell.kind == AgentKind::Scripted) {
        notes.push("`scripted:` rows show what the texts say, and nothing about a real model.".to_owned());
    }
    notes
}
