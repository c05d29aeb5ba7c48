//! The choice of one of several conditions, in words.

use healbench_analysis::{Alternative, Choice, ConditionResult, Gain, SavingWithout, Verdict};
use healbench_text::plain_text;

use super::{MAX_NAMES, estimate, list, name, relative, would_show};
use crate::labels::AS_GOOD;
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
    let (equal, rest): (Vec<&Alternative>, Vec<&Alternative>) =
        open.iter().partition(|other| other.verdict == Verdict::Equal);
    let (as_good, rest): (Vec<&Alternative>, Vec<&Alternative>) =
        rest.iter().partition(|other| other.verdict == Verdict::AsGood);
    let said = [(&equal, "equal here", true), (&as_good, AS_GOOD, true), (&rest, "at most 5 points better", false)];
    let sentence = |(others, said, with_cost): (&Vec<&Alternative>, &str, bool)| {
        let verb = if others.len() == 1 { "is" } else { "are" };
        let cost = if with_cost { dearer(&choice.choice, others) } else { String::new() };
        // The words for what is as good have a comma of their own.
        let comma = if said.contains(',') && !cost.is_empty() { "," } else { "" };
        format!("{} {verb} {said}{comma}{cost}", names(others))
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
    let are =
        |verdicts: &[Verdict]| !gains.is_empty() && gains.iter().all(|(_, gain)| verdicts.contains(&gain.verdict));
    let is_one_small = gains.iter().any(|(_, gain)| gain.verdict == Verdict::AsGood);
    let difference = gain.map(|gain| format!(" ({}{of})", estimate(&gain))).unwrap_or_default();
    let text = if are(&[Verdict::Equal]) {
        format!("{all} are equal here, in every trial")
    } else if are(&[Verdict::Equal, Verdict::AsGood]) {
        format!("{all} are {AS_GOOD}{difference}")
    } else {
        let size = if is_one_small { " of 5 points" } else { "" };
        format!("No difference{size} is shown between {all}{difference}")
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
    let without = saving_without(saving, choice.saving_without.as_ref(), |saving| saving, "dearer");
    format!("; {} is the cheapest of them by {}{without}", name(&choice.choice), percent(saving))
}

/// ` (2% without shop/list)`, or ` (without shop/list 3% dearer)` of a saving that turns into a loss, in the share that stands before it; empty
/// if that is the same.
fn saving_without(saving: f64, without: Option<&SavingWithout>, share: fn(f64) -> f64, reversed: &str) -> String {
    let of = |without: &SavingWithout| match percent(share(without.saving)) {
        _ if without.saving <= 0.0 => loss_without(without, -share(without.saving), reversed),
        less if less == percent(share(saving)) => String::new(),
        less => format!(" ({less} without {})", plain_text(&without.left_out)),
    };
    without.map(of).unwrap_or_default()
}

/// ` (without shop/list 3% more)`, or ` (not without shop/list)` where the loss is nothing.
pub(super) fn loss_without(without: &SavingWithout, loss: f64, word: &str) -> String {
    let left_out = plain_text(&without.left_out);
    match percent(loss) {
        nothing if nothing == percent(0.0) => format!(" (not without {left_out})"),
        loss => format!(" (without {left_out} {loss} {word})"),
    }
}

/// ` and cost 9% to 12% more, although less in at least 103 of 185 scenarios`; empty if one of them is not dearer, or a cost is unknown.
fn dearer(chosen: &ConditionResult, others: &[&Alternative]) -> String {
    let more =
        |other: &&Alternative| relative(other.result.billed_tokens_per_episode, chosen.billed_tokens_per_episode);
    let all: Option<Vec<f64>> = others.iter().map(more).collect();
    let Some(mut all) = all.filter(|all| all.iter().all(|more| *more > 0.0)) else { return String::new() };
    all.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (all.first(), all.last()) else { return String::new() };
    let range = match [percent(*least), percent(*most)] {
        [least, most] if least == most => least,
        [least, most] => format!("{least} to {most}"),
    };
    let (verb, at_least) = if others.len() == 1 { ("costs", "") } else { ("cost", "at least ") };
    let without = others.iter().filter_map(|other| other.saving_without.as_ref());
    let without = without.min_by(|a, b| a.saving.total_cmp(&b.saving));
    let without = saving_without(least / (1.0 + least), without, |saving| saving / (1.0 - saving), "less");
    // A few scenarios with much output may decide the mean.
    let in_most = |other: &&Alternative| other.cheaper_scenarios[0] * 2 > other.cheaper_scenarios[1];
    let fewest = others.iter().map(|other| other.cheaper_scenarios).min();
    let although = fewest.filter(|_| others.iter().all(in_most)).map_or_else(String::new, |[cheaper, all]| {
        format!(", although less in {at_least}{} of {} scenarios", count(cheaper), count(all))
    });
    format!(" and {verb} {range} more{without}{although}")
}
