//! The answer of a run as sentences, the same in every output.

mod choice;

use self::choice::{choice_text, loss_without};
use super::number::{amount, count, p_value, percent, percent_interval, pluralize, points, rate_amount, rate_percent};
use crate::labels::{AS_GOOD, pair_interval_in_words};
use healbench_analysis::{
    AgentGain, Agents, Alone, Answer, Carried, Carrier, Claims, ConditionResult, ContentAndForm, EQUIVALENCE, Finding,
    Gain, POWER, Pair, Rate, RecordedModels, Server, Single, SwitchEffect, Verdict, Who, WithoutEach,
};
use healbench_text::plain_text;

/// The largest number of names listed in a sentence.
const MAX_NAMES: usize = 3;
/// A larger number of further scenarios is not worth a figure.
const MAX_MORE_SCENARIOS: u64 = 1000;

/// A finding in words. Text from agents and scenarios is safe in a terminal.
pub(super) struct Sentence {
    /// The agent, as it stands before the text; empty if nobody has to be named.
    about: String,
    text: String,
    /// The scenarios that make most of the differences, if there are some.
    carried_by: Option<String>,
    /// True if the text says that something is clearly better or worse.
    pub(super) is_clear: bool,
}

impl Sentence {
    /// Returns what was found, without the scenarios that carry it.
    pub(super) fn finding(&self) -> String {
        format!("{}{}", self.about, self.text)
    }

    /// Returns the scenarios that carry the finding, as a sentence of its own.
    pub(super) fn carriers(&self) -> Option<String> {
        self.carried_by.as_ref().map(|carried_by| format!("{}{carried_by}", self.about))
    }

    /// Returns all of it.
    pub(super) fn whole(&self) -> String {
        let carried_by = self.carried_by.iter().flat_map(|carried_by| [" ", carried_by]);
        [self.about.as_str(), &self.text].into_iter().chain(carried_by).collect()
    }
}

/// Returns the answer as sentences, one per finding.
pub(super) fn sentences(answer: &Answer) -> Vec<Sentence> {
    if answer.findings.is_empty() {
        let (all, lost) = (pluralize(answer.episodes, "episode"), count(answer.lost));
        let text = format!("No answer: 0 of {all} scored ({lost} lost).");
        return vec![Sentence { about: String::new(), text, carried_by: None, is_clear: false }];
    }
    let several = answer.findings.len() > 1;
    let sentence = |finding| Sentence {
        about: about(finding, several).unwrap_or_default(),
        text: sentence(answer, finding),
        carried_by: carried_by(finding),
        is_clear: is_clear(finding),
    };
    answer.findings.iter().map(sentence).collect()
}

/// Returns the last line of an answer about simulated readers: what recorded models showed. `None` where the run has a model, and without an
/// answer.
pub(super) fn recorded_models(answer: &Answer) -> Option<String> {
    let recorded = answer.recorded.as_ref().filter(|_| !answer.findings.is_empty())?;
    let Some(first) = recorded.first() else {
        return Some("No model has been asked about these conditions.".to_owned());
    };
    let one = |known: &RecordedModels| {
        let models = known.models.iter().map(|[model, points]| format!("{points} for {model}"));
        format!("{} against {} {}", known.condition, known.reference, models.collect::<Vec<_>>().join(", "))
    };
    let pairs: Vec<String> = recorded.iter().map(one).collect();
    Some(format!("Recorded models ({}, one trial of {}): {}.", first.date, first.suite, pairs.join("; ")))
}

fn sentence(answer: &Answer, finding: &Finding) -> String {
    let limited = |text: String| match (answer.only_these_scenarios, answer.scenarios) {
        (true, 1) => format!("{text}; for this 1 scenario only."),
        (true, scenarios) => format!("{text}; for these {} scenarios only.", count(scenarios)),
        (false, _) => format!("{text}."),
    };
    match finding {
        Finding::Single(single) => single_text(single, answer.scenarios),
        Finding::Pair(pair) => limited(pair_text(pair, answer.may_recommend)),
        Finding::Choice(choice) => limited(choice_text(choice)),
        Finding::ContentAndForm(found) => limited(content_text(found)),
        Finding::WithoutEach(found) => limited(without_text(found)),
        Finding::Alone(found) => limited(alone_text(found)),
        Finding::Agents(agents) => limited(agents_text(agents)),
        Finding::Claims(claims) => claims_text(claims),
        Finding::Server(server) => server_text(server),
    }
}

/// Returns whom a finding is about, as it stands before its sentence: simulated readers always, others beside other findings. `None` where
/// the sentence names the agent itself.
fn about(finding: &Finding, several: bool) -> Option<String> {
    match finding {
        Finding::Single(_) | Finding::Server(_) => None,
        Finding::Agents(agents) => {
            let all_simulated = agents.agents.iter().all(|of| of.agent.profile.is_some());
            all_simulated.then(|| "Simulated readers: ".to_owned())
        }
        _ => {
            let who = finding.who().filter(|who| who.profile.is_some() || several)?;
            Some(format!("{}: ", subject(who)))
        }
    }
}

/// Returns true if the finding says that something is clearly better or worse.
fn is_clear(finding: &Finding) -> bool {
    let clear = |gain: &Gain| gain.verdict == Verdict::Clear;
    let effects = |effects: &[SwitchEffect]| effects.iter().any(|effect| clear(&effect.gain));
    match finding {
        Finding::Pair(pair) => clear(&pair.gain),
        Finding::Choice(choice) => choice.is_best,
        Finding::ContentAndForm(found) => {
            clear(&found.content_gain) || clear(&found.format_gain) || found.interaction.is_some()
        }
        Finding::WithoutEach(found) => effects(&found.effects),
        Finding::Alone(found) => effects(&found.alone),
        Finding::Agents(agents) => agents.agents.iter().any(|of| clear(&of.gain)),
        Finding::Single(_) | Finding::Claims(_) | Finding::Server(_) => false,
    }
}

/// `Simulated reader typical`, or the name of a model.
fn subject(who: &Who) -> String {
    match &who.profile {
        Some(profile) => format!("Simulated reader {}", plain_text(profile)),
        None => plain_text(&who.name).into_owned(),
    }
}

fn short_subject(who: &Who) -> String {
    plain_text(who.profile.as_ref().unwrap_or(&who.name)).into_owned()
}

fn name(result: &ConditionResult) -> String {
    plain_text(&result.name).into_owned()
}

/// `+7 [-11, 28]`.
fn estimate(gain: &Gain) -> String {
    with_interval(gain, "")
}

/// `+7 points [-11, 28]`.
fn estimate_in_points(gain: &Gain) -> String {
    with_interval(gain, " points")
}

/// Where only the adjustment for several comparisons says that a difference is unclear, the interval is said to be of this pair alone.
fn with_interval(gain: &Gain, unit: &str) -> String {
    let difference = gain.difference.map_or(super::number::UNKNOWN.to_owned(), points);
    let interval = gain.interval.map(|interval| format!(" {}", pair_interval_in_words(interval, gain.verdict)));
    let interval = interval.unwrap_or_default();
    let interval = if gain.verdict == Verdict::Equal { String::new() } else { interval };
    let adjusted = match gain.interval.is_some_and(|interval| gain.verdict.is_of_pair_alone(interval)) {
        true => format!(", adjusted p {}", p_value(gain.p_adjusted)),
        false => String::new(),
    };
    format!("{difference}{unit}{interval}{adjusted}")
}

/// `a`, `a and b`, `a, b and 3 more`.
fn list(names: &[String]) -> String {
    let shown = if names.len() > MAX_NAMES { MAX_NAMES - 1 } else { names.len() };
    let mut parts = names[..shown].to_vec();
    if shown < names.len() {
        parts.push(format!("{} more", count((names.len() - shown) as u64)));
    }
    match parts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => parts.concat(),
    }
}

/// Returns the change from the second to the first as a share; `None` if either is unknown or the second is 0.
fn relative(first: Rate, second: Rate) -> Option<f64> {
    let (first, second) = (first.rate?, second.rate?);
    (second > 0.0).then(|| first / second - 1.0)
}

/// `; 120 more scenarios would show a difference of 5 points (80% power)`.
fn would_show(gain: &Gain) -> String {
    let more = match gain.more_scenarios {
        None => return String::new(),
        Some(more) if more > MAX_MORE_SCENARIOS => format!(">{} more scenarios", count(MAX_MORE_SCENARIOS)),
        Some(more) => pluralize(more, "more scenario"),
    };
    let [difference, power] = [EQUIVALENCE, POWER].map(percent);
    format!("; {more} would show a difference of {} points ({power} power)", difference.trim_end_matches('%'))
}

/// `shop/unknown-id makes 62% of the differences in success between serde and fusion; shop/list makes 94% of those in tokens (without it
/// 1,292 → 1,159).`, from the second condition to the first.
fn carried_by(finding: &Finding) -> Option<String> {
    let carriers: &[Carrier] = match finding {
        Finding::Pair(pair) => &pair.carriers,
        Finding::Choice(choice) => &choice.carriers,
        _ => &[],
    };
    let of = |wanted: Carried| carriers.iter().filter(move |carrier| carrier.of == wanted);
    let mut parts = Vec::new();
    for (carried, noun) in [(Carried::Success, "success"), (Carried::Tokens, "tokens")] {
        for carrier in of(carried) {
            let (cluster, share) = (plain_text(&carrier.cluster), percent(carrier.share));
            let [first, second] = carrier.conditions.each_ref().map(|name| plain_text(name));
            let what = if parts.is_empty() {
                format!(" of the differences in {noun} between {second} and {first}")
            } else if of(carried).next() == Some(carrier) {
                format!(" of those in {noun}")
            } else {
                String::new()
            };
            let verb = if what.is_empty() { "" } else { "makes " };
            let [first, second] = carrier.without.map(rate_amount);
            let without = match carried {
                Carried::Success => String::new(),
                Carried::Tokens => format!(" (without it {second} → {first})"),
            };
            parts.push(format!("{cluster} {verb}{share}{what}{without}"));
        }
    }
    (!parts.is_empty()).then(|| format!("{}.", parts.join("; ")))
}

fn single_text(single: &Single, scenarios: u64) -> String {
    let interval = single.interval.map(|interval| format!(" {}", percent_interval(interval))).unwrap_or_default();
    format!(
        "{} solves {}{interval} of {} under {}, at {} tokens per episode.",
        subject(&single.agent),
        rate_percent(single.result.success),
        pluralize(scenarios, "scenario"),
        plain_text(&single.result.name),
        rate_amount(single.result.billed_tokens_per_episode),
    )
}

fn pair_text(pair: &Pair, may_recommend: bool) -> String {
    let (first, second) = (&pair.first, &pair.second);
    let tokens = relative(first.billed_tokens_per_episode, second.billed_tokens_per_episode);
    // A cluster is named by what carries the tokens.
    let without = pair.saving_without.as_ref().filter(|without| without.is_family);
    let without = without.map(|without| loss_without(without, -without.saving, "more")).unwrap_or_default();
    let cheaper = match tokens {
        Some(share) if share < 0.0 => Some((name(first), format!("{} less{without}", percent(-share)))),
        Some(share) if share > 0.0 => Some((name(second), format!("{} less{without}", percent(share / (1.0 + share))))),
        _ => None,
    };
    match pair.gain.verdict {
        Verdict::Equal => {
            let cost = cheaper.map(|(cheaper, less)| format!("; {cheaper} costs {less}")).unwrap_or_default();
            format!("{} and {} are equal here, in every trial{cost}", name(first), name(second))
        }
        Verdict::Clear => {
            let cost = match tokens {
                None => String::new(),
                Some(0.0) => ", as many tokens".to_owned(),
                Some(share) if share < 0.0 => format!(", {} fewer tokens{without}", percent(-share)),
                Some(share) => format!(", {} more tokens{without}", percent(share)),
            };
            let (gain, rates) = (
                estimate_in_points(&pair.gain),
                [second, first].map(|result| rate_percent(result.success)).join(" → "),
            );
            match may_recommend {
                true => format!("Use {}: {gain} over {} ({rates}){cost}", name(first), name(second)),
                false => format!("{} is better than {}: {gain} ({rates}){cost}", name(first), name(second)),
            }
        }
        Verdict::AsGood => {
            let both = format!("{} and {} are {AS_GOOD} ({})", name(first), name(second), estimate(&pair.gain));
            match (cheaper, may_recommend) {
                (Some((cheaper, less)), true) => format!("{both}: use {cheaper}, which costs {less}"),
                (Some((cheaper, less)), false) => format!("{both}; {cheaper} costs {less}"),
                (None, true) => format!("{both}: use either"),
                (None, false) => both,
            }
        }
        Verdict::Unclear => format!(
            "No clear difference between {} and {} ({}){}",
            name(first),
            name(second),
            estimate(&pair.gain),
            would_show(&pair.gain)
        ),
        Verdict::Unknown => match pair.gain.difference {
            None => format!("{} and {} have no trial in which both are scored", name(first), name(second)),
            Some(_) => format!(
                "{} succeeds in {}, {} in {}: one situation has no interval",
                name(first),
                rate_percent(first.success),
                name(second),
                rate_percent(second.success)
            ),
        },
    }
}

fn content_text(found: &ContentAndForm) -> String {
    let content = plain_text(&found.content);
    let reference = plain_text(&found.reference_content);
    if let Some(interaction) = &found.interaction {
        let sign = if interaction.gain.is_better() { "more" } else { "less" };
        let gain = if interaction.gain.is_better() { interaction.gain } else { interaction.gain.reversed() };
        return format!(
            "Depends on the form: {} gives {} {sign} over {reference} in {} than in {}",
            plain_text(&interaction.content),
            estimate_in_points(&gain).trim_start_matches('+'),
            plain_text(&interaction.format),
            plain_text(&found.reference_format),
        );
    }
    let content = match found.content_gain.is_better() {
        _ if found.content_gain.verdict == Verdict::Unknown => {
            format!("{content} {} over {reference}, without an interval", estimate(&found.content_gain))
        }
        true => format!("{content} counts ({} over {reference})", estimate(&found.content_gain)),
        false => format!(
            "No content is clearly better than {reference} ({content} {}){}",
            estimate(&found.content_gain),
            would_show(&found.content_gain)
        ),
    };
    let form = format!("{} over {}", plain_text(&found.format), plain_text(&found.reference_format));
    match found.format_gain.is_better() {
        true => format!("{content}; form adds {} ({form})", estimate(&found.format_gain)),
        false => format!("{content}; form adds nothing clear ({form} {})", estimate(&found.format_gain)),
    }
}

fn in_format(format: &str) -> String {
    if format == "bare" { String::new() } else { format!(" in {}", plain_text(format)) }
}

fn without_text(found: &WithoutEach) -> String {
    let without = |effect: &SwitchEffect| effect.gain.reversed();
    let clear: Vec<&SwitchEffect> = found.effects.iter().filter(|effect| effect.gain.is_better()).collect();
    let harmful: Vec<&SwitchEffect> = found.effects.iter().filter(|effect| effect.gain.is_worse()).collect();
    let mut parts = Vec::new();
    match (clear.split_first(), found.effects.first()) {
        (Some((first, rest)), _) => {
            let gain = estimate_in_points(&without(first));
            parts.push(format!("{} matters most{}: without it {gain}", first.guardrail, in_format(&found.format)));
            parts.extend(
                rest.iter().map(|effect| format!("without {} {}", effect.guardrail, estimate(&without(effect)))),
            );
        }
        (None, Some(largest)) => parts.push(format!(
            "No single guardrail is missed{}: the most without {} ({})",
            in_format(&found.format),
            largest.guardrail,
            estimate(&without(largest))
        )),
        (None, None) => {}
    }
    let harms =
        |effect: &&SwitchEffect| format!("{} harms: without it {}", effect.guardrail, estimate(&without(effect)));
    parts.extend(harmful.iter().map(harms));
    let unclear: Vec<&SwitchEffect> =
        found.effects.iter().filter(|effect| effect.gain.verdict != Verdict::Clear).collect();
    let is_any_clear = clear.len() + harmful.len() > 0;
    if is_any_clear && !unclear.is_empty() {
        let names: Vec<String> = unclear.iter().map(|effect| effect.guardrail.clone()).collect();
        // Each with its own cost, if that is clear: a sum would say of one what is due to another.
        let cost = |effect: &&SwitchEffect| {
            let (tokens, interval) = effect.tokens.difference.zip(effect.tokens.interval)?;
            let verb = match interval {
                _ if interval.lower > 0.0 => "costs",
                _ if interval.upper < 0.0 => "saves",
                _ => return None,
            };
            Some(format!("{} {verb} {} tokens an episode", effect.guardrail, amount(tokens.abs())))
        };
        let costs: Vec<String> = unclear.iter().filter_map(cost).collect();
        let costs = if costs.is_empty() { String::new() } else { format!(" ({})", costs.join(", ")) };
        let verb = if names.len() == 1 { "changes" } else { "change" };
        parts.push(format!("{} {verb} nothing clear{costs}", list(&names)));
    }
    parts.join("; ")
}

fn alone_text(found: &Alone) -> String {
    let Some(largest) = found.alone.first() else { return String::new() };
    let last = found.last.first().map(|last| format!("; added last, {}", estimate(&last.gain))).unwrap_or_default();
    let place = in_format(&found.format);
    match largest.gain.is_better() {
        true => format!("Alone{place}, {} gives {}{last}", largest.guardrail, estimate_in_points(&largest.gain)),
        false => format!(
            "Alone{place}, no guardrail gives a clear gain; the largest is that of {}, {}{last}",
            largest.guardrail,
            estimate(&largest.gain)
        ),
    }
}

fn agents_text(agents: &Agents) -> String {
    let (first, second) = (plain_text(&agents.first.name), plain_text(&agents.second.name));
    let all = agents.agents.len();
    let of = |is: fn(&Gain) -> bool| agents.agents.iter().filter(|of| is(&of.gain)).collect::<Vec<&AgentGain>>();
    let (better, worse, unclear) = (of(Gain::is_better), of(Gain::is_worse), of(|gain| gain.verdict != Verdict::Clear));
    let (equal, as_good, open) = (
        of(|gain| gain.verdict == Verdict::Equal),
        of(|gain| gain.verdict == Verdict::AsGood),
        of(|gain| matches!(gain.verdict, Verdict::Unclear | Verdict::Unknown)),
    );
    let names = |of: &[&AgentGain]| list(&of.iter().map(|one| short_subject(&one.agent)).collect::<Vec<_>>());
    let with_gains = |of: &[&AgentGain]| {
        let one = |one: &&AgentGain| format!("{} {}", short_subject(&one.agent), estimate(&one.gain));
        list(&of.iter().map(one).collect::<Vec<_>>())
    };
    let as_good_for = format!("{AS_GOOD},");
    let rest: String = [("equal here", equal), (&as_good_for, as_good), ("no clear difference", open)]
        .into_iter()
        .filter(|(_, of)| !of.is_empty())
        .map(|(said, of)| format!("; {said} for {}", names(&of)))
        .collect();
    if !better.is_empty() && !worse.is_empty() {
        return format!(
            "Depends on the agent: {first} is better than {second} for {}, worse for {}{rest}",
            with_gains(&better),
            with_gains(&worse)
        );
    }
    if better.is_empty() {
        if unclear.iter().all(|of| of.gain.verdict == Verdict::Equal) {
            return format!("{first} and {second} are equal here for all {all} agents, in every trial");
        }
        if unclear.iter().all(|of| matches!(of.gain.verdict, Verdict::AsGood | Verdict::Equal)) {
            return format!("{first} and {second} are {AS_GOOD}, for all {all} agents");
        }
        let more = unclear.iter().filter_map(|of| of.gain.more_scenarios).max();
        let more =
            more.map(|more| would_show(&Gain { more_scenarios: Some(more), ..unclear[0].gain })).unwrap_or_default();
        return format!(
            "No clear difference between {first} and {second} for any of {all} agents ({}){more}",
            with_gains(&unclear)
        );
    }
    let whom = match (better.len(), all) {
        (shown, all) if shown == all => format!("all {all} agents ({})", with_gains(&better)),
        (shown, all) => format!("{shown} of {all} agents ({})", with_gains(&better)),
    };
    format!("{first} is better than {second} for {whom}{rest}")
}

fn claims_text(claims: &Claims) -> String {
    let Claims { supported, contradicted, undecided, .. } = claims;
    let all = pluralize(supported + contradicted + undecided, "claim");
    format!(
        "{} of {all} supported, {} contradicted, {} undecided.",
        count(*supported),
        count(*contradicted),
        count(*undecided)
    )
}

fn server_text(server: &Server) -> String {
    let (name, agent) = (plain_text(&server.server), subject(&server.agent));
    let agent = agent.replacen("Simulated reader", "the simulated reader", 1);
    if server.fixed.denominator == 0 {
        return format!("{name}: {agent} met no error.");
    }
    let guarded = server.guarded.map(|guarded| format!("; guarded, {}", rate_percent(guarded))).unwrap_or_default();
    let missed = server.worst.as_ref().filter(|worst| worst.fixed.numerator < worst.fixed.denominator);
    let worst = missed.map(|worst| {
        let tool = plain_text(&worst.tool);
        format!(" Worst: {tool} ({} of {}).", count(worst.fixed.numerator), count(worst.fixed.denominator))
    });
    // What no text helped may have another reason.
    let refused = if server.succeeded == 0 {
        " No episode succeeded: the right call may be refused, too. `healbench audit` tries it."
    } else {
        ""
    };
    format!(
        "{name}'s texts let {agent} fix {} of errors{guarded}.{}{refused}",
        rate_percent(server.fixed),
        worst.unwrap_or_default()
    )
}
