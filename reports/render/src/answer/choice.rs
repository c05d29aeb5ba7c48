//! The choice of one of several conditions, in words.

use std::fmt::Write as _;

use healbench_analysis::{Alternative, Choice, ConditionResult, Gain, Verdict};
use healbench_text::plain_text;

use super::{MAX_NAMES, estimate, list, name, relative, would_show};
use crate::number::{count, percent, rate_amount, rate_percent};

pub(super) fn choice_text(choice: &Choice) -> String {
    let cost = rate_amount(choice.choice.billed_tokens_per_episode);
    let (worse, open): (Vec<&Alternative>, Vec<&Alternative>) =
        choice.others.iter().partition(|other| other.is_worse());
    let chosen = format!("{} ({}, {cost} tokens/episode)", name(&choice.choice), rate_percent(choice.choice.success));
    let (mut parts, end) = if choice.is_recommended {
        (recommended(choice, &chosen, &open), String::new())
    } else if open.is_empty() {
        (vec![format!("{chosen} is the best")], String::new())
    } else {
        let (text, gain) = undecided(choice, &open);
        (vec![text], gain.map(|gain| saving(choice) + &would_show(&gain)).unwrap_or_default())
    };
    parts.extend(losses(choice, &worse, &open));
    parts.join("; ") + &end
}

/// `Use fusion (41%, 2,647 tokens/episode)`, and what is as good.
fn recommended(choice: &Choice, chosen: &str, open: &[&Alternative]) -> Vec<String> {
    let with_rate = |of: &&Alternative| format!("{} ({})", name(&of.result), rate_percent(of.result.success));
    let names = |of: &[&Alternative]| list(&of.iter().map(with_rate).collect::<Vec<_>>());
    // The gain of the best one over the chosen one is that of the chosen one, the other way around.
    let is = |other: &&&Alternative, verdict| other.gain.or(choice.gain).is_some_and(|gain| gain.verdict == verdict);
    let (equal, rest): (Vec<&Alternative>, Vec<&Alternative>) = open.iter().partition(|one| is(one, Verdict::Equal));
    let (same, rest): (Vec<&Alternative>, Vec<&Alternative>) = rest.iter().partition(|one| is(one, Verdict::Same));
    let said = [(&equal, "equal here", true), (&same, "as good", true), (&rest, "at most 5 points better", false)];
    let sentence = |(others, said, with_cost): (&Vec<&Alternative>, &str, bool)| {
        let verb = if others.len() == 1 { "is" } else { "are" };
        let cost = if with_cost { dearer(&choice.choice, others) } else { String::new() };
        format!("{} {verb} {said}{cost}", names(others))
    };
    let others = said.into_iter().filter(|(others, ..)| !others.is_empty()).map(sentence);
    std::iter::once(format!("Use {chosen}")).chain(others).collect()
}

/// `No difference is shown between A, B and C (+7 [-11, 28] for A over C)`, and this difference.
fn undecided(choice: &Choice, open: &[&Alternative]) -> (String, Option<Gain>) {
    let others = open.iter().filter_map(|other| Some((&other.result, other.gain?)));
    let gains: Vec<(&ConditionResult, Gain)> = others.chain(choice.gain.map(|gain| (&choice.choice, gain))).collect();
    let difference = |(_, gain): &&(_, Gain)| gain.difference.unwrap_or_default();
    let least = gains.iter().min_by(|a, b| difference(a).total_cmp(&difference(b)));
    // As many scenarios as show each of the differences.
    let more = gains.iter().filter_map(|(_, gain)| gain.more_scenarios).max();
    let gain = least.map(|(_, gain)| Gain { more_scenarios: more, ..gain.reversed() });
    // In descending order of success, beginning with the one that the gains are over.
    let best = open.iter().find(|other| other.gain.is_none()).map_or(&choice.choice, |other| &other.result);
    let rest = open.iter().map(|other| &other.result).chain([&choice.choice]).filter(|result| *result != best);
    let mut all: Vec<&ConditionResult> = std::iter::once(best).chain(rest).collect();
    all.sort_by(|a, b| b.success.rate.unwrap_or(-1.0).total_cmp(&a.success.rate.unwrap_or(-1.0)));
    let of = match (least, all.len()) {
        (Some((least, _)), 3..) => format!(" for {} over {}", name(best), name(least)),
        _ => format!(" for {}", name(best)),
    };
    let all = list(&all.into_iter().map(name).collect::<Vec<_>>());
    let text = match gain {
        Some(gain) if gain.verdict == Verdict::Equal => format!("{all} are equal here, in every trial"),
        Some(gain) => format!("No difference is shown between {all} ({}{of})", estimate(&gain)),
        None => format!("No difference is shown between {all}"),
    };
    (text, gain)
}

/// `serde is worse than fusion by 40 [37, 43]`, `zod-json by 41 [38, 44]`.
fn losses(choice: &Choice, worse: &[&Alternative], open: &[&Alternative]) -> Vec<String> {
    // Gains are over the one with the most successes. It need not be the chosen one, nor are those that it is not told from clearly better.
    let best = open.iter().find(|other| other.gain.is_none()).map(|other| &other.result);
    let best = best.or((!choice.is_recommended && !open.is_empty()).then_some(&choice.choice));
    let than = best.map(|best| format!(" than {}", name(best))).unwrap_or_default();
    let shown = if worse.len() > MAX_NAMES { MAX_NAMES - 1 } else { worse.len() };
    let mut parts = Vec::new();
    for (position, other) in worse[..shown].iter().enumerate() {
        let loss = other.gain.map(Gain::reversed).map(|gain| estimate(&gain).trim_start_matches('+').to_owned());
        let verb = if position == 0 { format!(" is worse{than}") } else { String::new() };
        parts.push(format!("{}{verb} by {}", name(&other.result), loss.unwrap_or_default()));
    }
    if shown < worse.len() {
        parts.push(format!("{} more are worse", count((worse.len() - shown) as u64)));
    }
    parts
}

/// `; serde is the cheapest of them by 70% (2% without shop/list)`.
fn saving(choice: &Choice) -> String {
    let Some(saving) = choice.saving else { return String::new() };
    let mut text = format!("; {} is the cheapest of them by {}", name(&choice.choice), percent(saving));
    // Writing to a `String` cannot fail.
    match &choice.saving_without {
        Some(without) if percent(without.saving) == percent(saving) => {}
        Some(without) if without.saving > 0.0 => {
            _ = write!(text, " ({} without {})", percent(without.saving), plain_text(&without.cluster));
        }
        Some(without) => _ = write!(text, ", and not without {}", plain_text(&without.cluster)),
        None => {}
    }
    text
}

/// ` and cost at least 9% more, although less in at least 103 of 185 scenarios`; empty if one of them is not dearer, or a cost is unknown.
fn dearer(chosen: &ConditionResult, others: &[&Alternative]) -> String {
    let more =
        |other: &&Alternative| relative(other.result.billed_tokens_per_episode, chosen.billed_tokens_per_episode);
    let all: Option<Vec<f64>> = others.iter().map(more).collect();
    let Some(least) = all.filter(|all| all.iter().all(|more| *more > 0.0)) else { return String::new() };
    let least = percent(least.into_iter().fold(f64::INFINITY, f64::min));
    let (verb, at_least) = if others.len() == 1 { ("costs", "") } else { ("cost", "at least ") };
    // A few scenarios with much output may decide the mean.
    let in_most = |other: &&Alternative| other.cheaper_scenarios[0] * 2 > other.cheaper_scenarios[1];
    let fewest = others.iter().map(|other| other.cheaper_scenarios).min();
    let although = fewest.filter(|_| others.iter().all(in_most)).map_or_else(String::new, |[cheaper, all]| {
        format!(", although less in {at_least}{} of {} scenarios", count(cheaper), count(all))
    });
    format!(" and {verb} {at_least}{least} more{although}")
}
