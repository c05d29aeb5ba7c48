//! The metrics that comparisons, baselines and gates use: one number per episode.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use healbench_core::{AxisError, EndedBy, EpisodeRecord, Outcome};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::rate::Rate;

/// A number per scored episode, which may be null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// 1 if all expectations hold.
    Success,
    /// 1 if all expectations hold; null if neither a mistake nor a fault was scheduled.
    Recovered,
    /// 1 if the first call succeeded; null if the first call was part of the opening.
    FirstCallSuccess,
    /// 1 if the agent claimed that the task is complete while an expectation does not hold.
    FalseSuccess,
    /// 1 if the agent got stuck.
    Stuck,
    /// The number of calls.
    Calls,
    /// The number of calls equal to an earlier failed call.
    RepeatedCalls,
    /// Tokens of calls, responses and turns without a call.
    Tokens,
    /// Tokens of every turn's input and output.
    BilledTokens,
    /// Tokens of calls that failed and of their responses.
    WastedTokens,
    /// Tokens that guardrails added to responses.
    GuardrailTokens,
    /// Undeclared fields that reached the environment.
    LeakedFields,
    /// US dollars; null if the price or the usage is unknown, and without a model.
    CostUsd,
}

/// The direction in which a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

struct MetricEntry {
    metric: Metric,
    name: &'static str,
    better: Better,
    is_rate: bool,
}

/// The metrics, in the order of [`Metric`]'s variants.
const METRICS: [MetricEntry; 13] = [
    rate(Metric::Success, "success", Better::Higher),
    rate(Metric::Recovered, "recovered", Better::Higher),
    rate(Metric::FirstCallSuccess, "first_call_success", Better::Higher),
    rate(Metric::FalseSuccess, "false_success", Better::Lower),
    rate(Metric::Stuck, "stuck", Better::Lower),
    cost(Metric::Calls, "calls"),
    cost(Metric::RepeatedCalls, "repeated_calls"),
    cost(Metric::Tokens, "tokens"),
    cost(Metric::BilledTokens, "billed_tokens"),
    cost(Metric::WastedTokens, "wasted_tokens"),
    cost(Metric::GuardrailTokens, "guardrail_tokens"),
    cost(Metric::LeakedFields, "leaked_fields"),
    cost(Metric::CostUsd, "cost_usd"),
];

const fn rate(metric: Metric, name: &'static str, better: Better) -> MetricEntry {
    MetricEntry { metric, name, better, is_rate: true }
}

const fn cost(metric: Metric, name: &'static str) -> MetricEntry {
    MetricEntry { metric, name, better: Better::Lower, is_rate: false }
}

impl Metric {
    /// All metrics, in the order of documents.
    pub const ALL: [Metric; METRICS.len()] = {
        let mut all = [Metric::Success; METRICS.len()];
        let mut index = 0;
        while index < all.len() {
            all[index] = METRICS[index].metric;
            index += 1;
        }
        all
    };

    fn entry(self) -> &'static MetricEntry {
        &METRICS[self as usize]
    }

    /// Returns the name in policies, baselines and documents.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Returns true if the metric is 0 or 1 for each episode, so that its mean is a rate.
    pub fn is_rate(self) -> bool {
        self.entry().is_rate
    }

    /// Returns the direction in which the metric is better.
    pub fn better(self) -> Better {
        self.entry().better
    }

    /// Returns the value of one scored episode; 0 or 1 for a rate.
    pub(crate) fn value(self, row: &EpisodeRecord) -> Option<f64> {
        let flag = |flag: bool| Some(f64::from(u8::from(flag)));
        let success = success(row) == 1;
        match self {
            Metric::Success => flag(success),
            Metric::Recovered => flag(success).filter(|_| row.scheduled),
            Metric::FirstCallSuccess => flag(row.counts.first_call_success).filter(|_| own_first_call(row) == 1),
            Metric::FalseSuccess => flag(false_success(row)),
            Metric::Stuck => flag(row.counts.stuck),
            Metric::Calls => Some(f64::from(row.calls)),
            Metric::RepeatedCalls => Some(f64::from(row.counts.repeated_calls)),
            Metric::Tokens => tokens(row).map(|tokens| tokens as f64),
            Metric::BilledTokens => billed_tokens(row).map(|tokens| tokens as f64),
            Metric::WastedTokens => Some(row.counts.wasted_tokens as f64),
            Metric::GuardrailTokens => Some(row.counts.guardrail_tokens as f64),
            Metric::LeakedFields => row.counts.leaked_fields.map(|fields| fields as f64),
            Metric::CostUsd => row.model.as_ref().and_then(|model| model.usd),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Metric {
    type Err = AxisError;

    fn from_str(text: &str) -> Result<Metric, AxisError> {
        Self::ALL.into_iter().find(|metric| metric.name() == text).ok_or_else(|| AxisError {
            axis: "metric",
            word: text.to_owned(),
            known: Self::ALL.iter().map(|metric| metric.name().to_owned()).collect(),
        })
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

// `METRICS` is indexed by variant.
const _: () = {
    let mut index = 0;
    while index < METRICS.len() {
        assert!(METRICS[index].metric as usize == index);
        index += 1;
    }
};

/// A metric of a report's row: the quotient of two sums over the row's scored episodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowMetric {
    Success,
    CallsPerEpisode,
    BilledTokensPerEpisode,
    TokensPerEpisode,
    Recovered,
    CallsPerSuccess,
    BilledTokensPerSuccess,
    TokensPerSuccess,
    ErrorsFixed,
    WrongRepairs,
    FirstCallSuccess,
    RepeatedCalls,
    Stuck,
    HintsFollowed,
    ToldAnswer,
    SuccessIfTold,
    SuccessIfNotTold,
    FalseSuccess,
    WastedTokens,
    CallEfficiency,
    CallEfficiencyOfSuccesses,
    LeakedFields,
    ProseTokens,
    GuardrailTokens,
    UnsentTokens,
}

/// The display format of a row metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// The rate as a percentage.
    Percent,
    /// The rate with one decimal.
    Decimal,
    /// The rate, of any magnitude.
    Amount,
    /// The numerator; JSON and CSV contain a number instead of a rate. The denominator is the number of episodes in
    /// which the count is unknown.
    Count,
}

/// Returns the value of a metric with the unit [`Unit::Count`]; `None` if it is unknown for an episode.
pub fn known_count(rate: Rate) -> Option<u64> {
    (rate.denominator == 0).then_some(rate.numerator)
}

/// The table that contains a row metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Outcome,
    Behavior,
    Chains,
    Cost,
    /// JSON and CSV only.
    Hidden,
}

/// A metric of a row: how it is named, computed and shown.
pub struct RowMetricEntry {
    pub metric: RowMetric,
    /// The key in JSON and CSV.
    pub key: &'static str,
    /// The two lines of the column heading.
    pub header: [&'static str; 2],
    pub unit: Unit,
    pub group: Group,
    /// Returns an episode's contribution to the numerator.
    pub(crate) numerator: fn(&EpisodeRecord) -> u64,
    pub(crate) denominator: fn(&EpisodeRecord) -> u64,
    /// The description in the JSON Schema.
    summary: &'static str,
}

/// The row metrics, in the order of [`RowMetric`]'s variants, which is also the order of columns within a group.
#[rustfmt::skip]
pub(crate) const ROW_METRICS: [RowMetricEntry; 25] = {
    use Group::{Behavior, Chains, Cost, Hidden, Outcome};
    use RowMetric::*;
    use Unit::{Amount, Count, Decimal, Percent};
    [
        row(Success, "success", ["success", "%"], Percent, Hidden, success, one,
            "Successes among scored episodes."),
        row(CallsPerEpisode, "calls_per_episode", ["calls", "/episode"], Decimal, Cost, calls, one,
            "Calls over scored episodes."),
        row(BilledTokensPerEpisode, "billed_tokens_per_episode", ["billed", "/episode"], Amount, Cost, known_billed, |row| billed_tokens(row).is_some().into(),
            "Exact o200k_base tokens over scored episodes: the input of every turn (system text, tools and the conversation so far) and its output. For a simulated reader, those of a model that takes the same turns."),
        row(TokensPerEpisode, "tokens_per_episode", ["tokens", "/episode"], Amount, Cost, known_tokens, |row| tokens(row).is_some().into(),
            "Tokens of calls, responses and prose over scored episodes."),
        row(Recovered, "episode_recovery", ["", "recovered"], Percent, Outcome, |row| u64::from(row.scheduled) * success(row),
            |row| row.scheduled.into(), "Successes among episodes with a scheduled mistake or fault."),
        row(CallsPerSuccess, "calls_per_success", ["calls", "/success"], Decimal, Outcome, calls, success,
            "Calls over successes."),
        row(BilledTokensPerSuccess, "billed_tokens_per_success", ["billed", "/success"], Amount, Outcome, known_billed, |row| success(row) * u64::from(billed_tokens(row).is_some()),
            "Billed tokens over successes."),
        row(TokensPerSuccess, "tokens_per_success", ["tokens", "/success"], Amount, Hidden, known_tokens, |row| success(row) * u64::from(tokens(row).is_some()),
            "Tokens of calls, responses and prose over successes."),
        row(ErrorsFixed, "errors_fixed", ["errors", "fixed"], Percent, Chains, |row| row.counts.errors_fixed.into(),
            |row| row.counts.chains.into(),
            "Error chains that an intended call or fewer unmet expectations ended, among error chains."),
        row(WrongRepairs, "wrong_repairs", ["wrong", "repairs"], Percent, Chains, |row| row.counts.wrong_repairs.into(),
            |row| row.counts.chains.into(),
            "Error chains that another successful call that writes ended, among error chains. Lookups are none."),
        row(FirstCallSuccess, "first_call_success", ["first-call", "success"], Percent, Behavior,
            |row| own_first_call(row) * u64::from(row.counts.first_call_success), own_first_call,
            "Episodes whose first call succeeded, among scored episodes whose first call was the agent's own: not that of a seeded opening."),
        row(RepeatedCalls, "repeated_calls", ["repeated", "calls"], Percent, Behavior, |row| row.counts.repeated_calls.into(),
            |row| row.counts.calls_after_error.into(),
            "Calls equal to an earlier failed call of their episode, among calls after their episode's first error."),
        row(Stuck, "stuck", ["", "stuck"], Percent, Behavior, |row| row.counts.stuck.into(), one,
            "Scored episodes in which the agent got stuck: three identical failing calls in a row, two calls that alternate four times, or five calls of the same error class that leave the environment unchanged."),
        row(HintsFollowed, "hints_followed", ["hints", "followed"], Percent, Behavior, |row| row.counts.hints_followed.into(),
            |row| row.counts.hinted_calls.into(),
            "Calls that changed exactly the fields that the error before them named, among calls after an error that named fields."),
        row(ToldAnswer, "told_answer", ["told the", "answer"], Percent, Behavior, |row| row.counts.told_answers.unwrap_or(0).into(),
            |row| row.counts.told_answers.map_or(0, |_| row.counts.errors.into()),
            "Errors whose text held an expected value that the agent had not sent, singled out of more than two possible ones, among errors. Scenarios without a script are left out."),
        row(SuccessIfTold, "success_if_told", ["success", "if told"], Percent, Behavior, |row| told(row, true) * success(row),
            |row| told(row, true), "Successes among episodes in which an error told the answer."),
        row(SuccessIfNotTold, "success_if_not_told", ["success", "if not"], Percent, Behavior, |row| told(row, false) * success(row),
            |row| told(row, false), "Successes among episodes with errors, none of which told the answer."),
        row(FalseSuccess, "false_success", ["false", "success"], Percent, Behavior, |row| false_success(row).into(), one,
            "Scored episodes whose agent claimed to be done while an expectation did not hold."),
        row(WastedTokens, "wasted_tokens", ["wasted", "tokens"], Percent, Outcome, |row| tokens(row).map_or(0, |_| row.counts.wasted_tokens), known_tokens,
            "Tokens of calls that failed and of their responses, over all tokens."),
        row(CallEfficiency, "call_efficiency", ["call", "efficiency"], Percent, Cost, |row| row.perfect_calls.into(), calls,
            "Calls that a perfect agent needs over calls made. An agent that gives up at once makes fewer than it needs."),
        row(CallEfficiencyOfSuccesses, "call_efficiency_of_successes", ["", ""], Percent, Hidden,
            |row| success(row) * u64::from(row.perfect_calls), |row| success(row) * calls(row),
            "The call efficiency of episodes that succeeded."),
        row(LeakedFields, "leaked_fields", ["leaked", "fields"], Count, Behavior, |row| row.counts.leaked_fields.unwrap_or(0),
            |row| row.counts.leaked_fields.is_none().into(), "Undeclared fields that reached the environment."),
        row(ProseTokens, "prose_tokens", ["", ""], Count, Hidden, |row| row.prose_tokens.map_or(0, u64::from),
            |row| row.prose_tokens.is_none().into(),
            "Tokens of turns without a call; they are part of all tokens."),
        row(GuardrailTokens, "guardrail_tokens", ["guardrail", "tokens"], Count, Cost, |row| row.counts.guardrail_tokens, zero,
            "Tokens that guardrails added to responses."),
        row(UnsentTokens, "unsent_tokens", ["unsent", "tokens"], Count, Cost, |row| row.billed.map_or(0, |billed| billed.unsent),
            |row| row.billed.is_none().into(),
            "Tokens of responses that no turn received: those after the last turn, and what did not fit into the context window. They are not billed."),
    ]
};

#[expect(clippy::too_many_arguments, reason = "one argument per field")]
const fn row(
    metric: RowMetric,
    key: &'static str,
    header: [&'static str; 2],
    unit: Unit,
    group: Group,
    numerator: fn(&EpisodeRecord) -> u64,
    denominator: fn(&EpisodeRecord) -> u64,
    summary: &'static str,
) -> RowMetricEntry {
    RowMetricEntry { metric, key, header, unit, group, numerator, denominator, summary }
}

fn one(_: &EpisodeRecord) -> u64 {
    1
}

fn zero(_: &EpisodeRecord) -> u64 {
    0
}

fn success(row: &EpisodeRecord) -> u64 {
    (row.outcome == Outcome::Success).into()
}

/// Returns 1 if the episode has errors, and one of them told the answer, or none did; 0 if this is unknown.
fn told(row: &EpisodeRecord, told: bool) -> u64 {
    (row.counts.errors > 0 && row.counts.told_answers.is_some_and(|count| (count > 0) == told)).into()
}

fn false_success(row: &EpisodeRecord) -> bool {
    row.outcome == Outcome::TaskFail && row.claimed_done
}

/// Returns 1 if the first call was not part of the opening, otherwise 0.
fn own_first_call(row: &EpisodeRecord) -> u64 {
    row.model.as_ref().is_none_or(|model| model.opening_calls == 0).into()
}

fn calls(row: &EpisodeRecord) -> u64 {
    row.calls.into()
}

/// Returns the tokens of calls, responses and turns without a call; `None` for a program, and if a request was too long for the model:
/// that of another condition may have fitted.
pub(crate) fn tokens(row: &EpisodeRecord) -> Option<u64> {
    let prose = row.prose_tokens.filter(|_| row.ended_by != EndedBy::TooLong)?;
    Some(row.counts.call_tokens + u64::from(prose))
}

/// Returns the tokens of every turn's input and output; `None` as [`tokens`] is.
pub(crate) fn billed_tokens(row: &EpisodeRecord) -> Option<u64> {
    row.billed.filter(|_| row.ended_by != EndedBy::TooLong).map(|billed| billed.input + billed.output)
}

fn known_tokens(row: &EpisodeRecord) -> u64 {
    tokens(row).unwrap_or_default()
}

fn known_billed(row: &EpisodeRecord) -> u64 {
    billed_tokens(row).unwrap_or_default()
}

impl RowMetricEntry {
    /// Returns the column header on one line, without the abbreviation that saves width on a terminal.
    pub fn title(&self) -> String {
        let [first, second] = self.header;
        let first = first.replace("billed", "billed tokens");
        match first.strip_suffix('-') {
            Some(start) => format!("{start}{second}"),
            None if second.starts_with('/') => format!("{first}{second}"),
            None => format!("{first} {second}").trim().to_owned(),
        }
    }

    /// Returns the entries of a group's columns.
    pub fn of_group(group: Group) -> impl Iterator<Item = &'static RowMetricEntry> + Clone {
        const ENTRIES: &[RowMetricEntry] = &ROW_METRICS;
        ENTRIES.iter().filter(move |entry| entry.group == group)
    }
}

/// The metrics of a row, with one rate per row metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowMetrics([Rate; ROW_METRICS.len()]);

impl RowMetrics {
    pub(crate) fn new(sums: &[[u64; 2]; ROW_METRICS.len()]) -> RowMetrics {
        Self::from_fn(|metric| Rate::of(sums[metric as usize][0], sums[metric as usize][1]))
    }

    /// Computes each metric with `rate`.
    pub fn from_fn(rate: impl Fn(RowMetric) -> Rate) -> RowMetrics {
        RowMetrics(std::array::from_fn(|index| rate(ROW_METRICS[index].metric)))
    }

    /// Returns a metric.
    pub fn get(&self, metric: RowMetric) -> Rate {
        self.0[metric as usize]
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static RowMetricEntry, Rate)> {
        const ENTRIES: &[RowMetricEntry] = &ROW_METRICS;
        ENTRIES.iter().zip(self.0)
    }
}

impl Serialize for RowMetrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (entry, rate) in self.iter() {
            match entry.unit {
                Unit::Count => map.serialize_entry(entry.key, &known_count(rate))?,
                _ => map.serialize_entry(entry.key, &rate)?,
            }
        }
        map.end()
    }
}

impl JsonSchema for RowMetrics {
    fn schema_name() -> Cow<'static, str> {
        "RowMetrics".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let property = |entry: &RowMetricEntry, generator: &mut SchemaGenerator| {
            let mut schema = match entry.unit {
                Unit::Count => Option::<u64>::json_schema(generator),
                _ => generator.subschema_for::<Rate>(),
            };
            schema.insert("description".to_owned(), entry.summary.into());
            (entry.key.to_owned(), schema.to_value())
        };
        let properties: serde_json::Map<_, _> = ROW_METRICS.iter().map(|entry| property(entry, generator)).collect();
        let required: Vec<&str> = ROW_METRICS.iter().map(|entry| entry.key).collect();
        json_schema!({ "type": "object", "properties": properties, "required": required })
    }
}

const _: () = {
    let mut index = 0;
    while index < ROW_METRICS.len() {
        assert!(ROW_METRICS[index].metric as usize == index);
        index += 1;
    }
};
