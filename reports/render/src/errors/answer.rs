//! The sentences about error texts.

use healbench_analysis::{ErrorText, ErrorTexts, Rate, TaskRate};
use healbench_core::ErrorKind;

use crate::number::{UNKNOWN, amount, count, percent, percent_interval, pluralize, rate_percent};

/// The largest length of a template in the answer, in characters.
const MAX_SHOWN: usize = 80;

/// `412 errors in 96 tasks, in 380 chains: 61% repaired next, 14% repeated, 9% ended it. Costliest: ...`
pub(crate) fn answer(texts: &ErrorTexts) -> String {
    let totals = &texts.totals;
    if totals.calls == 0 {
        let excluded = excluded(texts);
        return match excluded.is_empty() {
            true => "No call failed.".to_owned(),
            false => format!("No call failed of those that count. {}", excluded.join(" ")),
        };
    }
    let [errors, tasks, chains] =
        [(totals.calls, "error"), (totals.tasks, "task"), (totals.chains, "chain")].map(|(n, noun)| pluralize(n, noun));
    let rates = [(totals.repaired_next, "repaired next"), (totals.repeated, "repeated"), (totals.stopped, "ended it")];
    let known: Vec<String> =
        rates.iter().filter_map(|(found, verb)| Some(format!("{} {verb}", percent(found.rate.rate?)))).collect();
    let chains = format!("{chains}{}", cut_off(totals.chains, totals.repaired_next));
    let followed = if known.is_empty() { "what followed is not known".to_owned() } else { known.join(", ") };
    let costliest = texts.texts.iter().rev().max_by_key(|text| text.counts.wasted_tokens).map(costliest);
    format!("{errors} in {tasks}, in {chains}: {followed}.{}", costliest.unwrap_or_default())
}

/// ` (1,173 of them cut off)`: the chains of which a rate does not know what followed; empty if it knows all.
fn cut_off(chains: u64, rate: TaskRate) -> String {
    match chains.saturating_sub(rate.rate.denominator) {
        0 => String::new(),
        _ if rate.rate.denominator == 0 => String::new(),
        cut => format!(" ({} of them cut off, and in no rate)", count(cut)),
    }
}

fn costliest(text: &ErrorText) -> String {
    let counts = &text.counts;
    let number = match counts.chains {
        0 => pluralize(counts.calls, "failed call"),
        chains => pluralize(chains, "chain"),
    };
    let shown = match &text.template {
        Some(_) => format!("'{}'", shortened(&template(text))),
        None => "with texts that the run does not store".to_owned(),
    };
    let tasks = pluralize(counts.tasks, "task");
    let tokens = pluralize_amount(counts.wasted_tokens, "wasted token");
    let finding = finding(text).map(|finding| format!(": {finding}")).unwrap_or_default();
    format!(" Costliest: `{}`, {shown} ({number} in {tasks}, {tokens}){finding}.", text.tool)
}

fn pluralize_amount(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", amount(number as f64), if number == 1 { "" } else { "s" })
}

fn shortened(template: &str) -> String {
    let Some((end, _)) = template.char_indices().nth(MAX_SHOWN) else { return template.to_owned() };
    let words = template[..end].rsplit_once(' ').map_or(&template[..end], |(words, _)| words);
    format!("{} …", words.trim_end_matches([' ', '…', ',', ';', ':', '.']))
}

/// Returns what the reader found in most of the texts; `None` if none was read.
fn finding(text: &ErrorText) -> Option<String> {
    let (field, remedy) = (most(text.names_field)?, most(text.states_remedy)? || asks_to_repeat(text));
    Some(match (field, remedy) {
        (true, true) => "the reader found a field that it names, and a remedy".to_owned(),
        (true, false) => "the reader found a field that it names, but no remedy".to_owned(),
        (false, true) => "the reader found no field that it names, but a remedy".to_owned(),
        (false, false) => "the reader found no field that it names".to_owned(),
    })
}

/// Returns true if the text says that the same call should be sent again, which is a remedy.
fn asks_to_repeat(text: &ErrorText) -> bool {
    text.kind == Some(ErrorKind::Transient)
}

fn most(rate: Rate) -> Option<bool> {
    rate.rate.map(|share| share > 0.5)
}

/// Returns the template in words, also if it is empty or unknown.
pub(crate) fn template(text: &ErrorText) -> String {
    match text.template.as_deref() {
        None => "(text not stored)".to_owned(),
        Some("") => "(no text)".to_owned(),
        Some(template) => template.to_owned(),
    }
}

/// `missing`, `missing · soft`: the kind, and whether most of the errors were sent as successes.
pub(crate) fn about(text: &ErrorText) -> String {
    let kind = text.kind.map_or(UNKNOWN, |kind| kind.name()).replace('_', " ");
    if text.is_soft() { format!("{kind} · soft") } else { kind }
}

/// `field, no remedy, no tool`; the share of texts if they differ.
pub(crate) fn found(text: &ErrorText) -> String {
    let facts = [(text.names_field, "field"), (text.states_remedy, "remedy"), (text.names_tool, "tool")];
    let fact = |(rate, noun): (Rate, &str)| match rate.rate? {
        _ if noun == "remedy" && asks_to_repeat(text) => Some("remedy".to_owned()),
        share if share <= 0.0 => Some(format!("no {noun}")),
        share if share >= 1.0 => Some(noun.to_owned()),
        _ => Some(format!("{noun} in {}", rate_percent(rate))),
    };
    let known: Vec<String> = facts.into_iter().filter_map(fact).collect();
    if known.is_empty() { UNKNOWN.to_owned() } else { known.join(", ") }
}

/// The most frequent fields; `None` if there are none.
pub(crate) fn fields(text: &ErrorText) -> Option<String> {
    let names: Vec<&str> = text.fields.iter().map(|field| field.name.as_str()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// `under bare, fusion`; `None` where the run has one condition.
pub(crate) fn conditions(text: &ErrorText) -> Option<String> {
    (!text.conditions.is_empty()).then(|| format!("under {}", text.conditions.join(", ")))
}

/// `episode 3, call 1`.
pub(crate) fn example(text: &ErrorText) -> String {
    format!("episode {}, call {}", text.example.episode, text.example.call)
}

/// The rates of all chains with their intervals.
pub(crate) fn totals(texts: &ErrorTexts) -> String {
    let totals = &texts.totals;
    let share = |found: TaskRate| {
        let interval = found.interval.map(|interval| format!(" {}", percent_interval(interval)));
        format!("{}{}", rate_percent(found.rate), interval.unwrap_or_default())
    };
    let second = &totals.after_second;
    let after_second = match second.chains {
        0 => String::new(),
        chains => format!(
            " After a first attempt that failed too ({}): repaired next {}; the next turn: changed {}, repeated {}, another tool {}, stopped {}.",
            pluralize(chains, "chain") + &cut_off(chains, second.repaired_next),
            share(second.repaired_next),
            share(second.changed),
            share(second.repeated),
            share(second.other_tool),
            share(second.stopped),
        ),
    };
    format!(
        "Repaired next: {}; {} without chains whose next attempt looks like an unrelated call. Within 3 attempts: {}. The next turn: \
         changed {}, repeated {}, another tool {}, stopped {}.{after_second}",
        share(totals.repaired_next),
        share(totals.repaired_next_same_errand),
        share(totals.repaired_within_3),
        share(totals.changed),
        share(totals.repeated),
        share(totals.other_tool),
        share(totals.stopped),
    )
}

/// Returns why the chains of a report's metrics are others; `None` for a trace, which has no such metrics.
pub(crate) fn other_chains(texts: &ErrorTexts) -> Option<&'static str> {
    (!texts.observational).then_some(
        "A chain here is repaired where its tool and action next succeed; the error chains of a report are fixed where the call that the \
         scenario wants succeeds, so that their numbers differ.",
    )
}

/// The explanation of the numbers.
pub(crate) fn notes(texts: &ErrorTexts) -> Vec<String> {
    let mut notes = vec![
        "chain: a failed call and the attempts that follow it, by tool, and by action where the tool declares one. Rates are over chains, of what followed the first error; \
         an error that the end of the record cuts off is not scored. wasted tokens: those of failed calls and their responses."
            .to_owned(),
        "reader: a program that looks for fields, remedies and tools; what it did not find may still be there. …: what differs from call to \
         call."
        .to_owned(),
    ];
    if texts.texts.iter().any(|text| text.counts.chains == 0) {
        notes.push("A text with 0 chains began none: it only followed other errors.".to_owned());
    }
    notes.extend(other_chains(texts).map(str::to_owned));
    let is_known = texts.totals.repaired_next.interval.is_some();
    notes.push(match is_known {
        true => format!("Intervals are {}, for other tasks.", percent(texts.confidence)),
        false => "Below 10 tasks there are no intervals.".to_owned(),
    });
    notes.extend(excluded(texts));
    if texts.observational {
        notes.push("Observational: the texts were not assigned to agents at random.".to_owned());
    }
    if texts.flagged_only {
        notes.push("Errors that were sent as successes count as successes.".to_owned());
    } else if texts.texts.iter().any(|text| text.soft_calls > 0) {
        notes.push("soft: errors that were sent as successes, and are known by their texts.".to_owned());
    }
    notes
}

/// Returns what is in none of the counts.
fn excluded(texts: &ErrorTexts) -> Vec<String> {
    let mut excluded = Vec::new();
    if texts.shell_errors > 0 {
        excluded.push(format!("Left out: {} of shells.", pluralize(texts.shell_errors, "error")));
    }
    if texts.attacked_episodes > 0 {
        let episodes = pluralize(texts.attacked_episodes, "episode");
        excluded
            .push(format!("Left out: the errors of {episodes} with an injected attack; `--with attack` counts them."));
    }
    excluded
}
