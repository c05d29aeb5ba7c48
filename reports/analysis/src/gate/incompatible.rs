//! Checks that two runs can be compared.

use std::collections::BTreeMap;

use super::{MayDiffer, Policy};
use crate::baseline::Baseline;

/// The first property that differs between a base and a candidate although both must have it in common.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the candidate is not of the same thing as the base: {property} is {base} in the base, {candidate} in the candidate"
)]
pub struct IncompatibleRuns {
    /// The property that differs.
    pub property: String,
    /// The property's value in the base.
    pub base: String,
    /// The property's value in the candidate.
    pub candidate: String,
    /// The word in `may_differ` of a policy that allows the difference; `None` if it is never allowed.
    pub allow: Option<&'static str>,
}

pub(super) fn check(base: &Baseline, candidate: &Baseline, policy: &Policy) -> Result<(), IncompatibleRuns> {
    let same = |property: &str, base: &str, candidate: &str, allow: Option<MayDiffer>| {
        if base == candidate || allow.is_some_and(|allow| policy.may_differ.contains(&allow)) {
            return Ok(());
        }
        let allow = allow.map(MayDiffer::name);
        Err(IncompatibleRuns {
            property: property.to_owned(),
            base: base.to_owned(),
            candidate: candidate.to_owned(),
            allow,
        })
    };
    let number = |property, base: u64, candidate: u64| same(property, &base.to_string(), &candidate.to_string(), None);
    number("the run format", base.run_format.into(), candidate.run_format.into())?;
    number("the seed", base.seed, candidate.seed)?;
    number("the number of trials", base.trials.into(), candidate.trials.into())?;
    same("the environment", &base.environment, &candidate.environment, None)?;
    let contracts = |baseline: &Baseline| baseline.contracts.clone().unwrap_or_else(|| "not locked".to_owned());
    same("the known contracts", &contracts(base), &contracts(candidate), None)?;
    same("the tokenizer", &base.tokenizer, &candidate.tokenizer, None)?;
    for (name, agent, other) in both(&base.agents, &candidate.agents) {
        let property = format!("the kind of agent `{name}`");
        same(&property, agent.kind.name(), other.kind.name(), Some(MayDiffer::Agents))?;
        if agent.settings == other.all_settings {
            continue;
        }
        let property = format!("the settings of agent `{name}`");
        same(&property, short(&agent.settings), short(&other.settings), Some(MayDiffer::Agents))?;
    }
    for (name, parts, other) in both(&guardrails_and_format(base), &guardrails_and_format(candidate)) {
        same(&format!("the guardrails and format of condition `{name}`"), parts, other, None)?;
    }
    for (name, parts, other) in both(&base.conditions, &candidate.conditions) {
        same(&format!("the other parts of condition `{name}`"), parts, other, None)?;
    }
    let prices = |baseline: &Baseline| baseline.prices.clone().unwrap_or_else(|| "none".to_owned());
    same("the price table", &prices(base), &prices(candidate), Some(MayDiffer::Prices))
}

/// Returns the guardrails and the error format of each named condition.
fn guardrails_and_format(baseline: &Baseline) -> BTreeMap<&str, String> {
    let named = baseline.cells.keys().filter_map(|cell| Some((cell.condition.as_deref()?, cell)));
    named.map(|(name, cell)| (name, format!("{} {}", cell.guardrails, cell.format))).collect()
}

fn both<'a, K: Ord, T>(
    base: &'a BTreeMap<K, T>,
    candidate: &'a BTreeMap<K, T>,
) -> impl Iterator<Item = (&'a K, &'a T, &'a T)> {
    base.iter().filter_map(|(name, entry)| Some((name, entry, candidate.get(name)?)))
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}
