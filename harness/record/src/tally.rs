use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::CallRecord;

/// What the calls of one episode add up to, from its call rows alone. All zero for an episode without a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Whether the first call succeeded.
    pub first_call_ok: bool,
    /// Calls that failed.
    pub errors: u32,
    /// Calls after the first one that failed.
    pub calls_after_error: u32,
    /// Calls equal (tool and canonical arguments) to an earlier failed call.
    pub repeated_calls: u32,
    /// Error chains.
    pub chains: u32,
    /// Error chains that ended in success.
    pub chains_fixed: u32,
    /// Attempts after the first error of each chain.
    pub retries: u32,
    /// Calls right after an error that named fields.
    pub hinted_calls: u32,
    /// Those that went to the same tool and changed exactly the fields that the error named.
    pub hints_taken: u32,
    /// Whether the agent got caught in an error spiral: see [`Tally::of`].
    pub spiral: bool,
    /// Undeclared fields that reached the world.
    pub leaked_fields: u64,
    /// Tokens of calls and responses.
    pub call_tokens: u64,
    /// Tokens of calls that failed, and of their responses.
    pub wasted_tokens: u64,
    /// Tokens that guardrails added to responses.
    pub guardrail_tokens: u64,
    /// Tokens of the largest response.
    pub largest_response: u32,
}

/// Identical failing calls in a row that make a spiral.
const SAME_CALLS: usize = 3;
/// Calls of two that take turns, four times each.
const TURNS: usize = 8;
/// Calls of one error class that leave the world as it was.
const SAME_CLASS: u32 = 5;

impl Tally {
    /// Adds up the calls of one episode, in their order.
    ///
    /// An error spiral is one of three things: three identical failing calls in a row; two different calls that take turns four
    /// times, one of each pair failing at least; five failing calls of the same error class, between which the world does not
    /// change.
    pub fn of(calls: &[CallRecord]) -> Tally {
        let mut tally = Tally { first_call_ok: calls.first().is_some_and(|call| !call.is_error), ..Tally::default() };
        let mut chains: BTreeMap<u32, bool> = BTreeMap::new();
        for call in calls {
            let tokens = u64::from(call.request_tokens) + u64::from(call.response_tokens);
            tally.calls_after_error += u32::from(tally.errors > 0);
            tally.errors += u32::from(call.is_error);
            tally.repeated_calls += u32::from(call.repeats_failed);
            tally.leaked_fields += u64::from(call.leaked_fields);
            tally.call_tokens += tokens;
            tally.wasted_tokens += if call.is_error { tokens } else { 0 };
            tally.guardrail_tokens += u64::from(call.guardrail_tokens);
            tally.largest_response = tally.largest_response.max(call.response_tokens);
            if let Some(chain) = call.chain {
                tally.retries += u32::from(chains.insert(chain, !call.is_error).is_some());
            }
        }
        tally.chains = chains.len() as u32;
        tally.chains_fixed = chains.values().filter(|fixed| **fixed).count() as u32;
        for (error, next) in calls.iter().zip(calls.iter().skip(1)) {
            let named = error.named_fields.as_ref().filter(|named| error.is_error && !named.is_empty());
            if let Some(named) = named {
                tally.hinted_calls += 1;
                tally.hints_taken += u32::from(next.tool == error.tool && next.changed_fields.as_ref() == Some(named));
            }
        }
        tally.spiral = repeats(calls) || takes_turns(calls) || is_stuck(calls);
        tally
    }
}

fn same(a: &CallRecord, b: &CallRecord) -> bool {
    a.tool == b.tool && a.arguments == b.arguments
}

fn repeats(calls: &[CallRecord]) -> bool {
    calls.windows(SAME_CALLS).any(|row| row.iter().all(|call| call.is_error && same(call, &row[0])))
}

fn takes_turns(calls: &[CallRecord]) -> bool {
    calls.windows(TURNS).any(|row| {
        let pairs = row.chunks_exact(2);
        !same(&row[0], &row[1])
            && pairs.into_iter().all(|pair| {
                same(&pair[0], &row[0]) && same(&pair[1], &row[1]) && (pair[0].is_error || pair[1].is_error)
            })
    })
}

fn is_stuck(calls: &[CallRecord]) -> bool {
    let mut since_change: BTreeMap<&str, u32> = BTreeMap::new();
    for call in calls {
        if call.world_changed {
            since_change.clear();
        }
        if let Some(class) = call.error_class.as_deref().filter(|_| call.is_error) {
            let count = since_change.entry(class).or_default();
            *count += 1;
            if *count >= SAME_CLASS {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(arguments: &str, class: &str) -> CallRecord {
        CallRecord {
            tool: "billing".into(),
            arguments: arguments.into(),
            is_error: true,
            error_class: Some(class.into()),
            ..CallRecord::default()
        }
    }

    fn fine(arguments: &str) -> CallRecord {
        CallRecord { tool: "billing".into(), arguments: arguments.into(), ..CallRecord::default() }
    }

    #[test]
    fn three_identical_failures_in_a_row_are_a_spiral() {
        let a = failed("a", "VALIDATION");
        assert!(Tally::of(&[fine("x"), a.clone(), a.clone(), a.clone()]).spiral);
        assert!(!Tally::of(&[a.clone(), a.clone(), fine("x"), a.clone()]).spiral);
        assert!(!Tally::of(&[a.clone(), a.clone(), failed("b", "VALIDATION")]).spiral);
        assert!(!Tally::of(&[fine("a"), fine("a"), fine("a")]).spiral);
    }

    #[test]
    fn two_calls_that_take_turns_four_times_are_a_spiral() {
        let turns = |first: CallRecord, second: CallRecord, times: usize| -> Vec<CallRecord> {
            (0..times).flat_map(|_| [first.clone(), second.clone()]).collect()
        };
        assert!(Tally::of(&turns(failed("a", "BUSY"), fine("b"), 4)).spiral);
        assert!(!Tally::of(&turns(failed("a", "BUSY"), fine("b"), 3)).spiral);
        assert!(!Tally::of(&turns(fine("a"), fine("b"), 4)).spiral);
        let mut broken = turns(failed("a", "BUSY"), fine("b"), 4);
        broken[5] = fine("c");
        assert!(!Tally::of(&broken).spiral);
    }

    #[test]
    fn five_failures_of_a_class_without_a_change_are_a_spiral() {
        let tried = |n: usize| -> Vec<CallRecord> { (0..n).map(|n| failed(&n.to_string(), "NOT_FOUND")).collect() };
        assert!(Tally::of(&tried(5)).spiral);
        assert!(!Tally::of(&tried(4)).spiral);
        let mut changed = tried(5);
        changed.insert(2, CallRecord { world_changed: true, ..fine("x") });
        assert!(!Tally::of(&changed).spiral);
        let mut looked = tried(5);
        looked.insert(2, fine("x"));
        assert!(Tally::of(&looked).spiral, "a look at the world changes nothing");
        let mut other = tried(5);
        other[4].error_class = Some("CONFLICT".into());
        assert!(!Tally::of(&other).spiral);
    }

    #[test]
    fn a_hint_is_taken_when_exactly_the_named_fields_change() {
        let fields = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let error = CallRecord { named_fields: fields(&["amount", "currency"]), ..failed("a", "VALIDATION") };
        let next = |names: &[&str]| CallRecord { changed_fields: fields(names), ..fine("b") };
        let hints = |calls: &[CallRecord]| {
            let tally = Tally::of(calls);
            (tally.hints_taken, tally.hinted_calls)
        };
        assert_eq!(hints(&[error.clone(), next(&["amount", "currency"])]), (1, 1));
        assert_eq!(hints(&[error.clone(), next(&["amount"])]), (0, 1));
        assert_eq!(hints(&[error.clone(), next(&["amount", "currency", "note"])]), (0, 1));
        let elsewhere = CallRecord { tool: "orders".into(), ..next(&["amount", "currency"]) };
        assert_eq!(hints(&[error.clone(), elsewhere]), (0, 1));
        assert_eq!(hints(std::slice::from_ref(&error)), (0, 0), "nothing came after it");
        let silent = CallRecord { named_fields: fields(&[]), ..error };
        assert_eq!(hints(&[silent, next(&[])]), (0, 0), "it named none");
    }

    #[test]
    fn sums_and_chains() {
        let call = |chain, is_error, tokens| CallRecord {
            chain,
            is_error,
            request_tokens: tokens,
            response_tokens: 1,
            ..CallRecord::default()
        };
        let calls = [call(Some(1), true, 10), call(Some(2), true, 20), call(Some(1), false, 30), call(None, false, 40)];
        let tally = Tally::of(&calls);
        assert_eq!((tally.errors, tally.calls_after_error, tally.first_call_ok), (2, 3, false));
        assert_eq!((tally.chains, tally.chains_fixed, tally.retries), (2, 1, 1));
        assert_eq!((tally.call_tokens, tally.wasted_tokens), (104, 32));
        assert!(Tally::of(&calls[2..]).first_call_ok);
        assert_eq!(Tally::of(&[]), Tally::default());
    }
}
