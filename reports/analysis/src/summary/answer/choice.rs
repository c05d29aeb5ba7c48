//! Chooses one of several conditions.

use std::cmp::Ordering;

use super::carriers::{carriers, cheaper_scenarios, saving};
use super::decide::{Context, Names};
use super::{Alternative, Carried, Choice, Finding};

/// Returns the choice of each agent.
pub(super) fn choices(context: &Context<'_>, speakers: &[usize]) -> Vec<Finding> {
    let names = Names::of(context.plan);
    speakers.iter().map(|agent| Finding::Choice(choose(context, &names, *agent))).collect()
}

/// Orders conditions by success in descending order, then by cost, then as the plan does. Unknown values come last.
fn by_success(context: &Context<'_>, agent: usize, a: usize, b: usize) -> Ordering {
    let success = |condition| context.success(agent, condition).rate.unwrap_or(-1.0);
    success(b).total_cmp(&success(a)).then_with(|| by_cost(context, agent, a, b))
}

fn by_cost(context: &Context<'_>, agent: usize, a: usize, b: usize) -> Ordering {
    let cost = |condition| context.billed(agent, condition).rate.unwrap_or(f64::INFINITY);
    cost(a).total_cmp(&cost(b)).then(a.cmp(&b))
}

fn best(context: &Context<'_>, agent: usize) -> usize {
    let conditions = 0..context.plan.conditions.len();
    conditions.min_by(|a, b| by_success(context, agent, *a, *b)).unwrap_or(0)
}

fn choose(context: &Context<'_>, names: &Names, agent: usize) -> Choice {
    let best = best(context, agent);
    let gain = |condition: usize, other: usize| context.pairs.gain(agent, condition, other);
    let from_best = |condition: usize| (condition != best).then(|| gain(condition, best));
    let is_worse = |condition: &usize| from_best(*condition).is_some_and(|gain| gain.is_worse());
    let is_known = |condition: &usize| context.success(agent, *condition).rate.is_some();
    let mut ranked: Vec<usize> = (0..context.plan.conditions.len()).collect();
    ranked.sort_by(|a, b| by_success(context, agent, *a, *b));
    let open: Vec<usize> = ranked.iter().copied().filter(|one| !is_worse(one) && is_known(one)).collect();
    let cheapest = |of: &mut dyn Iterator<Item = usize>| of.min_by(|a, b| by_cost(context, agent, *a, *b));
    // Nothing is recommended that may be 5 points worse than another one.
    let is_safe = |one: &usize| ranked.iter().all(|other| other == one || gain(*one, *other).rules_out_a_loss());
    let safe = cheapest(&mut open.iter().copied().filter(is_safe)).filter(|_| context.may_recommend);
    let chosen = safe.or_else(|| cheapest(&mut open.iter().copied())).unwrap_or(best);
    let saved = |others: &[usize]| saving(context, agent, chosen, others).filter(|(saving, _)| *saving > 0.0);
    let saving = saved(&open.iter().copied().filter(|one| *one != chosen).collect::<Vec<_>>());
    let worse = ranked.iter().copied().find(|one| is_worse(one));
    let second = match safe {
        Some(_) => worse,
        None => open.last().copied().filter(|last| *last != best).or(worse),
    };
    let others: Vec<usize> = ranked.into_iter().filter(|condition| *condition != chosen).collect();
    let carriers = second.map(|second| {
        let mut found = carriers(context, names, agent, [best, second]);
        // No cost of a pair without the chosen one is told.
        found.retain(|carrier| carrier.of == Carried::Success || [best, second].contains(&chosen));
        found
    });
    Choice {
        agent: context.who(agent),
        noun: names.noun.to_owned(),
        choice: context.result(agent, chosen, names),
        is_recommended: safe.is_some(),
        saving: saving.as_ref().map(|(saving, _)| *saving),
        saving_without: saving.and_then(|(_, without)| without),
        carriers: carriers.unwrap_or_default(),
        gain: from_best(chosen),
        is_best: others.iter().all(is_worse),
        others: others
            .into_iter()
            .map(|condition| Alternative {
                result: context.result(agent, condition, names),
                gain: from_best(condition),
                is_safe: gain(chosen, condition).rules_out_a_loss(),
                verdict: gain(chosen, condition).verdict,
                saving_without: saved(&[condition]).and_then(|(_, without)| without),
                cheaper_scenarios: cheaper_scenarios(context, agent, [condition, chosen]),
            })
            .collect(),
    }
}
