//! Chooses one of several conditions.

use std::cmp::Ordering;

use super::decide::{Context, Names};
use super::{Alternative, Choice, EQUIVALENCE, Finding, Gain, settle};

/// Returns the choice of each agent.
pub(super) fn choices(context: &Context<'_>, speakers: &[usize], clusters: u64) -> Vec<Finding> {
    let names = Names::of(context.plan);
    let mut compared: Vec<(usize, usize, Vec<Option<Gain>>)> = speakers
        .iter()
        .map(|agent| {
            let best = best(context, *agent);
            let gain = |condition| {
                (condition != best).then(|| context.outcomes.difference(context.plan, *agent, condition, best))
            };
            (*agent, best, (0..context.plan.conditions.len()).map(gain).collect())
        })
        .collect();
    settle(compared.iter_mut().flat_map(|(_, _, gains)| gains.iter_mut().flatten()).collect(), clusters);
    compared
        .into_iter()
        .map(|(agent, best, gains)| Finding::Choice(choose(context, &names, agent, best, &gains)))
        .collect()
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

fn choose(context: &Context<'_>, names: &Names, agent: usize, best: usize, gains: &[Option<Gain>]) -> Choice {
    let is_worse = |condition: &usize| gains[*condition].is_some_and(|gain| gain.is_worse());
    let is_known = |condition: &usize| context.success(agent, *condition).rate.is_some();
    let mut ranked: Vec<usize> = (0..gains.len()).collect();
    ranked.sort_by(|a, b| by_success(context, agent, *a, *b));
    // Of conditions that nothing tells apart yet, one that is far below the best is no bargain.
    let is_close = |condition: &usize| {
        let difference = gains[*condition].map_or(Some(0.0), |gain| gain.difference);
        !is_worse(condition) && is_known(condition) && difference.is_some_and(|difference| difference >= -EQUIVALENCE)
    };
    let as_good = ranked.iter().copied().filter(is_close);
    let chosen = as_good.min_by(|a, b| by_cost(context, agent, *a, *b)).unwrap_or(best);
    let others: Vec<usize> = ranked.into_iter().filter(|condition| *condition != chosen).collect();
    Choice {
        agent: context.who(agent),
        noun: names.noun.to_owned(),
        choice: context.result(agent, chosen, names),
        gain: gains[chosen],
        is_best: others.iter().all(is_worse),
        others: others
            .into_iter()
            .map(|condition| Alternative { result: context.result(agent, condition, names), gain: gains[condition] })
            .collect(),
    }
}
