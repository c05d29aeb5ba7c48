//! Whether two sides are of the same thing. They are never compared when they are not.

use std::collections::BTreeMap;

use super::{MayDiffer, Policy};
use crate::baseline::Baseline;

/// The first thing in which a base and a candidate differ that they must have in common.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the candidate is not of the same thing as the base: {what} is {base} in the base, {candidate} in the candidate"
)]
pub struct IncompatibleRuns {
    /// What differs.
    pub what: String,
    /// What it is in the base.
    pub base: String,
    /// What it is in the candidate.
    pub candidate: String,
    /// The word that a policy would need in `may_differ`; `None` for what may never differ.
    pub allow: Option<&'static str>,
}

pub(super) fn check(base: &Baseline, candidate: &Baseline, policy: &Policy) -> Result<(), IncompatibleRuns> {
    let same = |what: &str, base: &str, candidate: &str, allow: Option<MayDiffer>| {
        if base == candidate || allow.is_some_and(|allow| policy.may_differ.contains(&allow)) {
            return Ok(());
        }
        let allow = allow.map(MayDiffer::name);
        Err(IncompatibleRuns { what: what.to_owned(), base: base.to_owned(), candidate: candidate.to_owned(), allow })
    };
    let number = |what, base: u64, candidate: u64| same(what, &base.to_string(), &candidate.to_string(), None);
    number("the run format", base.run_format.into(), candidate.run_format.into())?;
    number("the seed", base.seed, candidate.seed)?;
    number("the number of trials", base.trials.into(), candidate.trials.into())?;
    same("the tokenizer", &base.tokenizer, &candidate.tokenizer, None)?;
    let (before, after) = (&base.scenarios, &candidate.scenarios);
    for id in before.keys().chain(after.keys()) {
        let there = |known: bool| if known { "there" } else { "not there" };
        let what = format!("scenario `{id}`");
        same(&what, there(before.contains_key(id)), there(after.contains_key(id)), None)?;
    }
    for (id, mark) in before {
        let Some(other) = after.get(id) else { continue };
        let text = format!("the text of scenario `{id}`");
        same(&text, short(&mark.text), short(&other.text), Some(MayDiffer::Scenarios))?;
        let schedule = format!("the schedule of scenario `{id}`");
        same(&schedule, short(&mark.schedules), short(&other.schedules), None)?;
    }
    for (name, mark, other) in both(&base.agents, &candidate.agents) {
        let what = format!("what plays agent `{name}`");
        same(&what, mark.kind.name(), other.kind.name(), Some(MayDiffer::Agents))?;
        let what = format!("the settings of agent `{name}`");
        same(&what, short(&mark.settings), short(&other.settings), Some(MayDiffer::Agents))?;
    }
    for (name, mark, other) in both(&base.formats, &candidate.formats) {
        let what = format!("the text of error format `{name}`");
        same(&what, short(mark), short(other), Some(MayDiffer::Formats))?;
    }
    let prices = |baseline: &Baseline| baseline.prices.clone().unwrap_or_else(|| "none".to_owned());
    same("the price table", &prices(base), &prices(candidate), Some(MayDiffer::Prices))
}

fn both<'a, T>(
    base: &'a BTreeMap<String, T>,
    candidate: &'a BTreeMap<String, T>,
) -> impl Iterator<Item = (&'a str, &'a T, &'a T)> {
    base.iter().filter_map(|(name, entry)| Some((name.as_str(), entry, candidate.get(name)?)))
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}
