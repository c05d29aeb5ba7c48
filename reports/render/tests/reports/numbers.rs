//! A second implementation of number formatting, with which the tests check the renderers.

use std::collections::BTreeMap;

use healbench_analysis::statistics::Interval;
use healbench_analysis::{Difference, Effect, Rate, Report, ReportRow, RowMetric, Verdict};

pub(crate) const UNKNOWN: &str = "—";

/// A share in percent without the sign. Only exactly 0 and 1 are `0` and `100`.
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

/// A whole number; in thousands or millions if it is large.
pub(crate) fn amount(value: f64) -> String {
    match value {
        _ if value < 99_999.5 => count(value.round() as u64),
        _ if value < 999_500.0 => format!("{}k", (value / 1000.0).round()),
        _ => format!("{:.1}M", value / 1e6),
    }
}

pub(crate) fn rate_decimal(value: f64) -> String {
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

pub(crate) fn signed_amount(difference: f64) -> String {
    plus(difference, magnitude(difference))
}

fn bound(end: f64) -> String {
    if end != 0.0 && end.abs() < 0.05 {
        let places = (-end.abs().log10()).ceil() as usize;
        return format!("{end:.*}", places.min(9));
    }
    magnitude(end)
}

pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

/// US dollars: two decimals from one dollar on, otherwise three decimals or two significant digits.
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
    interval(found, |end| if end.abs() < 0.001 { bound(end * 100.0) } else { signed(end) })
}

/// An interval of a difference in success, marked if it says more than the verdict.
pub(crate) fn pair_interval(found: Option<Interval>, verdict: Verdict) -> String {
    let excludes_zero = found.is_some_and(|found| found.lower > 0.0 || found.upper < 0.0);
    let mark = if excludes_zero && verdict == Verdict::Unclear { "†" } else { "" };
    points_interval(found) + mark
}

/// The same in words.
pub(crate) fn pair_interval_in_words(found: Option<Interval>, verdict: Verdict) -> String {
    pair_interval(found, verdict).replace('†', " of this pair alone")
}

pub(crate) fn amount_interval(found: Option<Interval>) -> String {
    interval(found, bound)
}

pub(crate) fn known(value: Option<f64>, text: fn(f64) -> String) -> String {
    value.map_or(UNKNOWN.to_owned(), text)
}

/// Joins the non-empty words with spaces.
pub(crate) fn join_nonempty(words: &[&str]) -> String {
    words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(" ")
}

pub(crate) fn points_effect(found: &Effect) -> String {
    let difference = found.success.difference.map(|difference| points_or_equal((difference, found.verdict)));
    join_nonempty(&[&difference.unwrap_or(UNKNOWN.to_owned()), &pair_interval(found.success.interval, found.verdict)])
}

pub(crate) fn amount_effect(found: Difference) -> String {
    join_nonempty(&[&known(found.difference, signed_amount), &amount_interval(found.interval)])
}

/// `all fusion-xml`.
pub(crate) fn condition(row: &ReportRow) -> String {
    let format = row.condition.format().to_string();
    if format == "bare" {
        row.condition.guardrails().to_string()
    } else {
        format!("{} {format}", row.condition.guardrails())
    }
}

/// The condition in a sentence.
pub(crate) fn row_label(row: &ReportRow) -> String {
    if row.condition.guardrails().to_string() == "none" { "no guardrails".to_owned() } else { condition(row) }
}

/// The title of the report.
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

pub(crate) fn points_or_equal((difference, verdict): (f64, Verdict)) -> String {
    if verdict == Verdict::Equal { "equal".to_owned() } else { points(difference) }
}

/// Returns all displayed numbers of a row by the tests' names for them: a dash for an unknown value, an empty text for
/// a missing interval.
pub(crate) fn row_texts(row: &ReportRow) -> BTreeMap<&'static str, String> {
    let rate = |rate: Rate, text: fn(f64) -> String| known(rate.rate, text);
    let model = |of: fn(healbench_analysis::ModelReport) -> Option<f64>, text| known(row.model.and_then(of), text);
    let paired = row.vs_reference;
    let versus = paired.and_then(|paired| Some((paired.difference?, paired.verdict)));
    let within = |k: u32| row.repair_at.iter().find(|repair| repair.k == k).unwrap().chains;
    BTreeMap::from([
        ("success", rate(row.rate(RowMetric::Success), percent)),
        ("success digits", rate(row.rate(RowMetric::Success), digits)),
        ("success interval", share_interval(row.success_interval)),
        ("vs reference", versus.map_or(UNKNOWN.to_owned(), points_or_equal)),
        (
            "vs reference interval",
            paired.map_or(String::new(), |paired| pair_interval(paired.interval, paired.verdict)),
        ),
        ("p", known(paired.and_then(|paired| paired.p_adjusted), p_value)),
        ("recovered", rate(row.rate(RowMetric::Recovered), percent)),
        ("calls/success", rate(row.rate(RowMetric::CallsPerSuccess), rate_decimal)),
        ("billed/success", rate(row.rate(RowMetric::BilledTokensPerSuccess), amount)),
        ("wasted", rate(row.rate(RowMetric::WastedTokens), percent)),
        ("first call", rate(row.rate(RowMetric::FirstCallSuccess), percent)),
        ("repeated", rate(row.rate(RowMetric::RepeatedCalls), percent)),
        ("stuck", rate(row.rate(RowMetric::Stuck), percent)),
        ("hints", rate(row.rate(RowMetric::HintsFollowed), percent)),
        ("told", rate(row.rate(RowMetric::ToldAnswer), percent)),
        ("success if told", rate(row.rate(RowMetric::SuccessIfTold), percent)),
        ("success if not told", rate(row.rate(RowMetric::SuccessIfNotTold), percent)),
        ("false success", rate(row.rate(RowMetric::FalseSuccess), percent)),
        ("leaked", count(row.rate(RowMetric::LeakedFields).numerator)),
        ("chains", count(row.retries.fixed + row.retries.censored)),
        ("fixed", rate(row.rate(RowMetric::ErrorsFixed), percent)),
        ("wrong", rate(row.rate(RowMetric::WrongRepairs), percent)),
        ("median", row.retries.median.median.map_or(UNKNOWN.to_owned(), |median| median.to_string())),
        ("within 1", rate(within(1), percent)),
        ("within 2", rate(within(2), percent)),
        ("within 3", rate(within(3), percent)),
        ("calls/episode", rate(row.rate(RowMetric::CallsPerEpisode), rate_decimal)),
        ("billed/episode", rate(row.rate(RowMetric::BilledTokensPerEpisode), amount)),
        ("tokens/episode", rate(row.rate(RowMetric::TokensPerEpisode), amount)),
        (
            "billed vs reference",
            known(row.billed_tokens_vs_reference.and_then(|found| found.difference), signed_amount),
        ),
        (
            "billed vs reference interval",
            amount_interval(row.billed_tokens_vs_reference.and_then(|found| found.interval)),
        ),
        ("unsent tokens", count(row.rate(RowMetric::UnsentTokens).numerator)),
        ("guardrail tokens", count(row.rate(RowMetric::GuardrailTokens).numerator)),
        ("efficiency", rate(row.rate(RowMetric::CallEfficiency), percent)),
        ("usd/success", known(row.cost_per_success, money)),
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

/// A column of a report's tables.
pub(crate) struct Column {
    /// The id of its table on the page.
    pub(crate) table: &'static str,
    /// Its title on the page; empty if it is only in the terminal's table.
    pub(crate) title: &'static str,
    /// The two lines of its header in the terminal; empty if it is only on the page.
    pub(crate) header: [&'static str; 2],
    /// Its content, by the names of [`row_texts`].
    pub(crate) texts: &'static [&'static str],
    /// The number that it is sorted by, in the row's JSON.
    pub(crate) pointer: &'static str,
}

impl Column {
    pub(crate) fn terminal_text(&self, texts: &BTreeMap<&'static str, String>) -> String {
        // The terminal has the percent sign in the header.
        let key = |key: &&'static str| if *key == "success" { "success digits" } else { *key };
        join_nonempty(&self.texts.iter().map(|text| texts[key(text)].as_str()).collect::<Vec<_>>())
    }
}

pub(crate) fn page_columns(table: &str) -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(move |column| column.table == table && !column.title.is_empty())
}

pub(crate) fn terminal_columns(table: &str) -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(move |column| column.table == table && column.header != ["", ""])
}

const fn column(
    table: &'static str,
    title: &'static str,
    header: [&'static str; 2],
    texts: &'static [&'static str],
    pointer: &'static str,
) -> Column {
    Column { table, title, header, texts, pointer }
}

/// All columns but those of the table of consistency, in their order.
#[rustfmt::skip]
static COLUMNS: [Column; 39] = [
    column("rates", "success", ["success", "%"], &["success", "success interval"], "/success/rate"),
    column("rates", "points vs reference", ["points vs", "reference"], &["vs reference", "vs reference interval"], "/vs_reference/difference"),
    column("rates", "p, Holm", ["", ""], &["p"], "/vs_reference/p_adjusted"),
    column("rates", "recovered", ["", "recovered"], &["recovered"], "/episode_recovery/rate"),
    column("rates", "calls/success", ["calls", "/success"], &["calls/success"], "/calls_per_success/rate"),
    column("rates", "billed tokens/success", ["billed", "/success"], &["billed/success"], "/billed_tokens_per_success/rate"),
    column("rates", "wasted tokens", ["wasted", "tokens"], &["wasted"], "/wasted_tokens/rate"),
    column("behavior", "first-call success", ["first-call", "success"], &["first call"], "/first_call_success/rate"),
    column("behavior", "repeated calls", ["repeated", "calls"], &["repeated"], "/repeated_calls/rate"),
    column("behavior", "stuck", ["", "stuck"], &["stuck"], "/stuck/rate"),
    column("behavior", "hints followed", ["hints", "followed"], &["hints"], "/hints_followed/rate"),
    column("behavior", "told the answer", ["told the", "answer"], &["told"], "/told_answer/rate"),
    column("behavior", "success if told", ["success", "if told"], &["success if told"], "/success_if_told/rate"),
    column("behavior", "success if not", ["success", "if not"], &["success if not told"], "/success_if_not_told/rate"),
    column("behavior", "false success", ["false", "success"], &["false success"], "/false_success/rate"),
    column("behavior", "leaked fields", ["leaked", "fields"], &["leaked"], "/leaked_fields"),
    column("chains", "error chains", ["error", "chains"], &["chains"], "/errors_fixed/denominator"),
    column("chains", "errors fixed", ["errors", "fixed"], &["fixed"], "/errors_fixed/rate"),
    column("chains", "wrong repairs", ["wrong", "repairs"], &["wrong"], "/wrong_repairs/rate"),
    column("chains", "retries (median)", ["retries", "(median)"], &["median"], "/retries/median"),
    column("chains", "within 1", ["within", "1"], &["within 1"], "/repair_at/0/chains/rate"),
    column("chains", "within 2", ["within", "2"], &["within 2"], "/repair_at/1/chains/rate"),
    column("chains", "within 3", ["within", "3"], &["within 3"], "/repair_at/2/chains/rate"),
    column("cost", "calls/episode", ["calls", "/episode"], &["calls/episode"], "/calls_per_episode/rate"),
    column("cost", "billed tokens/episode", ["billed", "/episode"], &["billed/episode"], "/billed_tokens_per_episode/rate"),
    column("cost", "tokens/episode", ["tokens", "/episode"], &["tokens/episode"], "/tokens_per_episode/rate"),
    column("cost", "call efficiency", ["call", "efficiency"], &["efficiency"], "/call_efficiency/rate"),
    column("cost", "guardrail tokens", ["guardrail", "tokens"], &["guardrail tokens"], "/guardrail_tokens"),
    column("cost", "unsent tokens", ["unsent", "tokens"], &["unsent tokens"], "/unsent_tokens"),
    column("cost", "US $/success", ["cost", "/success"], &["usd/success"], "/cost_per_success"),
    column("cost", "billed tokens vs reference", ["billed vs", "reference"], &["billed vs reference", "billed vs reference interval"], "/billed_tokens_vs_reference/difference"),
    column("models", "input/episode", ["input", "/episode"], &["input"], "/model/input_per_episode/rate"),
    column("models", "cached input", ["cached", "input"], &["cached"], "/model/cache_read/rate"),
    column("models", "output/episode", ["output", "/episode"], &["output"], "/model/output_per_episode/rate"),
    column("models", "reasoning output", ["reasoning", "output"], &["reasoned"], "/model/reasoning/rate"),
    column("models", "", ["o200k /", "input"], &["bpe input"], ""),
    column("models", "", ["o200k /", "output"], &["bpe output"], ""),
    column("models", "seconds/turn", ["seconds", "/turn"], &["seconds"], "/model/latency_ms_per_turn/rate"),
    column("models", "US $/episode", ["US $", "/episode"], &["usd/episode"], "/model/usd_per_episode"),
];
