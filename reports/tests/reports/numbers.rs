//! One formatting of each number of a report, made for the tests: what a form shows is held against it.

use std::collections::BTreeMap;

use healbench_reports::statistics::Interval;
use healbench_reports::{Difference, Rate, Report, ReportRow};

pub(crate) const UNKNOWN: &str = "—";

/// A share in percent without the sign. Only 0 and 1 are `0` and `100`.
pub(crate) fn digits(share: f64) -> String {
    let percent = share * 100.0;
    if share == 0.0 || share == 1.0 {
        format!("{percent}")
    } else if percent < 0.1 {
        "<0.1".to_owned()
    } else if percent >= 99.95 {
        ">99.9".to_owned()
    } else if (1.0..=99.0).contains(&percent) {
        format!("{percent:.0}")
    } else {
        let short = format!("{:.1}", percent.min(99.9));
        short.strip_suffix(".0").unwrap_or(&short).to_owned()
    }
}

pub(crate) fn percent(share: f64) -> String {
    digits(share) + "%"
}

fn signed(difference: f64) -> String {
    format!("{}{}", if difference < 0.0 { "-" } else { "" }, digits(difference.abs()))
}

fn plus(difference: f64, text: String) -> String {
    if difference > 0.0 { format!("+{text}") } else { text }
}

pub(crate) fn points(difference: f64) -> String {
    plus(difference, signed(difference))
}

pub(crate) fn count(count: u64) -> String {
    let digits = count.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}

/// Whole numbers; in thousands and millions where they are large.
pub(crate) fn amount(value: f64) -> String {
    match value {
        _ if value < 99_999.5 => count(value.round() as u64),
        _ if value < 999_500.0 => format!("{}k", (value / 1000.0).round()),
        _ => format!("{:.1}M", value / 1e6),
    }
}

pub(crate) fn per(value: f64) -> String {
    if value < 99.95 { format!("{value:.1}") } else { amount(value) }
}

fn magnitude(difference: f64) -> String {
    let text = match difference.abs() {
        0.0 => "0".to_owned(),
        size if size < 0.05 => "<0.1".to_owned(),
        size if size < 9.95 => format!("{size:.1}"),
        size => amount(size),
    };
    if difference < 0.0 { format!("-{text}") } else { text }
}

pub(crate) fn change(difference: f64) -> String {
    plus(difference, magnitude(difference))
}

fn end(end: f64) -> String {
    if end != 0.0 && end.abs() < 0.05 {
        let places = (-end.abs().log10()).ceil() as usize;
        return format!("{end:.*}", places.min(9));
    }
    magnitude(end)
}

pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

/// US dollars: two decimals from a dollar on, else three, or two digits that are no zeros.
pub(crate) fn money(usd: f64) -> String {
    if usd == 0.0 {
        return "0".to_owned();
    }
    if usd >= 0.995 {
        return format!("{usd:.2}");
    }
    let zeros = (-usd.log10()).floor().max(0.0) as usize;
    format!("{usd:.*}", (zeros + 2).max(3))
}

fn interval(interval: Option<Interval>, text: fn(f64) -> String) -> String {
    interval.map_or(String::new(), |found| format!("[{}, {}]", text(found.lower), text(found.upper)))
}

pub(crate) fn share_interval(found: Option<Interval>) -> String {
    interval(found, digits)
}

pub(crate) fn points_interval(found: Option<Interval>) -> String {
    interval(found, signed)
}

pub(crate) fn change_interval(found: Option<Interval>) -> String {
    interval(found, end)
}

pub(crate) fn known(value: Option<f64>, text: fn(f64) -> String) -> String {
    value.map_or(UNKNOWN.to_owned(), text)
}

/// The words that are there, with a blank between them.
pub(crate) fn joined(words: &[&str]) -> String {
    words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(" ")
}

pub(crate) fn on_points(found: Difference) -> String {
    joined(&[&known(found.difference, points), &points_interval(found.interval)])
}

pub(crate) fn on_amount(found: Difference) -> String {
    joined(&[&known(found.difference, change), &change_interval(found.interval)])
}

/// `all fusion-xml`.
pub(crate) fn condition(row: &ReportRow) -> String {
    let format = row.format.to_string();
    if format == "bare" { row.guardrails.to_string() } else { format!("{} {format}", row.guardrails) }
}

/// The same in a sentence.
pub(crate) fn named(row: &ReportRow) -> String {
    if row.guardrails.to_string() == "none" { "no guardrails".to_owned() } else { condition(row) }
}

/// What the report is of.
pub(crate) fn title(report: &Report) -> String {
    let plural = |number: u64, noun: &str| format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" });
    let episodes = match report.totals.episodes {
        all if all == report.planned => plural(all, "episode"),
        some => format!("{} of {}", count(some), plural(report.planned, "episode")),
    };
    let mut parts: Vec<String> = report.suite.iter().cloned().collect();
    parts.push(plural(report.scenarios.len() as u64, "scenario"));
    parts.extend([
        plural(report.agents.len() as u64, "agent"),
        plural(u64::from(report.trials), "trial"),
        episodes,
        format!("seed {}", report.seed),
    ]);
    parts.join(" · ")
}

/// Every number that is shown of a row, by a name of the tests: a dash for what is not known, nothing for an interval that is not there.
pub(crate) fn of_row(row: &ReportRow) -> BTreeMap<&'static str, String> {
    let rate = |rate: Rate, text: fn(f64) -> String| known(rate.rate, text);
    let model = |of: fn(healbench_reports::ModelReport) -> Option<f64>, text| known(row.model.and_then(of), text);
    let paired = row.vs_none;
    let within = |k: u32| row.repair_at.iter().find(|repair| repair.k == k).unwrap().chains;
    BTreeMap::from([
        ("success", rate(row.success, percent)),
        ("success digits", rate(row.success, digits)),
        ("success interval", share_interval(row.success_interval)),
        ("vs none", known(paired.and_then(|paired| paired.difference), points)),
        ("vs none interval", points_interval(paired.and_then(|paired| paired.interval))),
        ("p", known(paired.and_then(|paired| paired.p_adjusted), p_value)),
        ("recovered", rate(row.episode_recovery, percent)),
        ("calls/ok", rate(row.calls_per_success, per)),
        ("tokens/ok", rate(row.tokens_per_success, amount)),
        ("wasted", rate(row.wasted_tokens, percent)),
        ("first call", rate(row.first_call_success, percent)),
        ("repeated", rate(row.repeated_calls, percent)),
        ("spirals", rate(row.stuck, percent)),
        ("hints", rate(row.hints_followed, percent)),
        ("false success", rate(row.false_success, percent)),
        ("leaked", count(row.leaked_fields)),
        ("chains", count(row.retries.fixed + row.retries.censored)),
        ("mended", rate(row.errors_fixed, percent)),
        ("median", row.retries.median.median.map_or(UNKNOWN.to_owned(), |median| median.to_string())),
        ("within 1", rate(within(1), percent)),
        ("within 2", rate(within(2), percent)),
        ("within 3", rate(within(3), percent)),
        ("calls/episode", rate(row.calls_per_episode, per)),
        ("tokens/episode", rate(row.tokens_per_episode, amount)),
        ("tokens vs none", known(row.tokens_vs_none.and_then(|found| found.difference), change)),
        ("tokens vs none interval", change_interval(row.tokens_vs_none.and_then(|found| found.interval))),
        ("guardrail tokens", count(row.guardrail_tokens)),
        ("efficiency", rate(row.call_efficiency, percent)),
        ("usd/ok", known(row.cost_per_success, money)),
        ("input", model(|model| model.input_per_episode.rate, amount)),
        ("cached", model(|model| model.cache_read.rate, percent)),
        ("output", model(|model| model.output_per_episode.rate, amount)),
        ("reasoned", model(|model| model.reasoning.rate, percent)),
        ("bpe input", model(|model| model.bpe_input.rate, percent)),
        ("bpe output", model(|model| model.bpe_output.rate, percent)),
        ("seconds", model(|model| model.latency_ms_per_turn.rate, |mean| format!("{:.1}", mean / 1000.0))),
        ("usd/episode", model(|model| model.usd_per_episode, money)),
    ])
}
