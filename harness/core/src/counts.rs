use std::collections::{BTreeMap, BTreeSet};

use crate::ErrorClass;
use serde::{Deserialize, Serialize};

use crate::{CallRecord, ChainEnd};

/// The sums over the calls of one episode, computed from its call rows alone. All zero for an episode without calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodeCounts {
    /// True if the first call succeeded, or failed by design.
    pub first_call_success: bool,
    /// Calls that failed, without those that the script says fail.
    pub errors: u32,
    /// Errors that told the answer; null if this is unknown for an error.
    pub told_answers: Option<u32>,
    /// Calls after the first failed one.
    pub calls_after_error: u32,
    /// Calls equal (tool and canonical arguments) to an earlier failed call.
    pub repeated_calls: u32,
    /// Error chains.
    pub chains: u32,
    /// Error chains that were fixed.
    pub errors_fixed: u32,
    /// Error chains that a wrong repair ended.
    pub wrong_repairs: u32,
    /// Attempts after the first error of each chain.
    pub retries: u32,
    /// Calls directly after an error that named fields.
    pub hinted_calls: u32,
    /// Hinted calls to the same tool that changed exactly the fields named by the error.
    pub hints_followed: u32,
    /// True if the agent got stuck, as defined by [`EpisodeCounts::from_calls`].
    pub stuck: bool,
    /// Undeclared fields that reached the state; null if this is unknown for a call.
    pub leaked_fields: Option<u64>,
    /// Tokens of all calls and responses.
    pub call_tokens: u64,
    /// Tokens of failed calls and their responses.
    pub wasted_tokens: u64,
    /// Tokens that guardrails added to responses.
    pub guardrail_tokens: u64,
    /// Tokens of the largest response.
    pub largest_response: u32,
}

/// The number of identical failing calls in a row that count as stuck.
const STUCK_IDENTICAL_CALLS: usize = 3;
/// The number of alternating calls (four of each) that count as stuck.
const STUCK_ALTERNATING_CALLS: usize = 8;
/// The number of failing calls of one error class without a state change that count as stuck.
const STUCK_SAME_CLASS_FAILURES: u32 = 5;

impl EpisodeCounts {
    /// Sums up the calls of one episode, in their order.
    ///
    /// An agent is stuck if it makes three identical failing calls in a row, alternates between two different calls
    /// four times with at least one of each pair failing, or makes five failing calls of one error class without a
    /// state change in between.
    pub fn from_calls(calls: &[CallRecord]) -> EpisodeCounts {
        let mut counts = EpisodeCounts {
            first_call_success: calls.first().is_some_and(|call| !is_failure(call)),
            told_answers: Some(0),
            leaked_fields: Some(0),
            ..EpisodeCounts::default()
        };
        let mut chains: BTreeSet<u32> = BTreeSet::new();
        for call in calls {
            let tokens = u64::from(call.request_tokens) + u64::from(call.response_tokens);
            counts.calls_after_error += u32::from(counts.errors > 0);
            counts.errors += u32::from(is_failure(call));
            if is_failure(call) {
                counts.told_answers =
                    counts.told_answers.zip(call.told_answer).map(|(sum, told)| sum + u32::from(told));
            }
            counts.repeated_calls += u32::from(call.repeated);
            counts.leaked_fields = add(counts.leaked_fields, call.leaked_fields);
            counts.call_tokens += tokens;
            counts.wasted_tokens += if is_failure(call) { tokens } else { 0 };
            counts.guardrail_tokens += u64::from(call.guardrail_tokens);
            counts.largest_response = counts.largest_response.max(call.response_tokens);
            if let Some(chain) = call.chain {
                counts.retries += u32::from(!chains.insert(chain));
            }
            match call.chain_end {
                Some(ChainEnd::Fixed) => counts.errors_fixed += 1,
                Some(ChainEnd::WrongRepair) => counts.wrong_repairs += 1,
                None => {}
            }
        }
        counts.chains = chains.len() as u32;
        for (error, next) in calls.iter().zip(calls.iter().skip(1)) {
            let named = error.named_fields.as_ref().filter(|named| is_failure(error) && !named.is_empty());
            if let Some(named) = named {
                counts.hinted_calls += 1;
                counts.hints_followed +=
                    u32::from(next.tool == error.tool && next.changed_fields.as_ref() == Some(named));
            }
        }
        counts.stuck =
            repeats_a_failing_call(calls) || alternates_between_two_calls(calls) || repeats_an_error_class(calls);
        counts
    }
}

/// Returns true if the call failed and was not to fail.
fn is_failure(call: &CallRecord) -> bool {
    call.is_error && !call.fails_by_design()
}

/// Adds two counts; the sum of an unknown count is unknown.
fn add(sum: Option<u64>, count: Option<u32>) -> Option<u64> {
    Some(sum? + u64::from(count?))
}

fn is_same_call(a: &CallRecord, b: &CallRecord) -> bool {
    a.tool == b.tool && a.arguments == b.arguments
}

fn repeats_a_failing_call(calls: &[CallRecord]) -> bool {
    calls.windows(STUCK_IDENTICAL_CALLS).any(|row| row.iter().all(|call| call.is_error && is_same_call(call, &row[0])))
}

fn alternates_between_two_calls(calls: &[CallRecord]) -> bool {
    calls.windows(STUCK_ALTERNATING_CALLS).any(|row| {
        let pairs = row.chunks_exact(2);
        !is_same_call(&row[0], &row[1])
            && pairs.into_iter().all(|pair| {
                is_same_call(&pair[0], &row[0])
                    && is_same_call(&pair[1], &row[1])
                    && (pair[0].is_error || pair[1].is_error)
            })
    })
}

fn repeats_an_error_class(calls: &[CallRecord]) -> bool {
    let mut since_change: BTreeMap<&ErrorClass, u32> = BTreeMap::new();
    for call in calls {
        // An unknown change counts as none: a failing call of a server rarely changes anything.
        if call.state_changed == Some(true) {
            since_change.clear();
        }
        if let Some(class) = call.error_class.as_ref().filter(|_| call.is_error) {
            let count = since_change.entry(class).or_default();
            *count += 1;
            if *count >= STUCK_SAME_CLASS_FAILURES {
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

    fn succeeded(arguments: &str) -> CallRecord {
        CallRecord { tool: "billing".into(), arguments: arguments.into(), ..CallRecord::default() }
    }

    #[test]
    fn a_call_that_fails_by_design_is_no_error() {
        let by_design = CallRecord { intended: Some(true), told_answer: None, ..failed("a", "NOT_FOUND") };
        let counts = EpisodeCounts::from_calls(&[by_design.clone(), succeeded("b")]);
        assert!(counts.first_call_success);
        assert_eq!((counts.errors, counts.calls_after_error, counts.told_answers), (0, 0, Some(0)));
        // What a fault made fail, or what opened a chain, is one.
        let struck = CallRecord { fault: Some(crate::FaultKind::Busy), ..by_design.clone() };
        let chained = CallRecord { chain: Some(1), ..by_design };
        assert_eq!(EpisodeCounts::from_calls(&[struck, chained]).errors, 2);
    }

    #[test]
    fn three_identical_failures_in_a_row_are_stuck() {
        let a = failed("a", "VALIDATION");
        assert!(EpisodeCounts::from_calls(&[succeeded("x"), a.clone(), a.clone(), a.clone()]).stuck);
        assert!(!EpisodeCounts::from_calls(&[a.clone(), a.clone(), succeeded("x"), a.clone()]).stuck);
        assert!(!EpisodeCounts::from_calls(&[a.clone(), a.clone(), failed("b", "VALIDATION")]).stuck);
        assert!(!EpisodeCounts::from_calls(&[succeeded("a"), succeeded("a"), succeeded("a")]).stuck);
    }

    #[test]
    fn two_calls_alternating_four_times_are_stuck() {
        let alternating = |first: CallRecord, second: CallRecord, times: usize| -> Vec<CallRecord> {
            (0..times).flat_map(|_| [first.clone(), second.clone()]).collect()
        };
        assert!(EpisodeCounts::from_calls(&alternating(failed("a", "BUSY"), succeeded("b"), 4)).stuck);
        assert!(!EpisodeCounts::from_calls(&alternating(failed("a", "BUSY"), succeeded("b"), 3)).stuck);
        assert!(!EpisodeCounts::from_calls(&alternating(succeeded("a"), succeeded("b"), 4)).stuck);
        let mut broken = alternating(failed("a", "BUSY"), succeeded("b"), 4);
        broken[5] = succeeded("c");
        assert!(!EpisodeCounts::from_calls(&broken).stuck);
    }

    #[test]
    fn five_failures_of_a_class_without_a_state_change_are_stuck() {
        let failures = |n: usize| -> Vec<CallRecord> { (0..n).map(|n| failed(&n.to_string(), "NOT_FOUND")).collect() };
        assert!(EpisodeCounts::from_calls(&failures(5)).stuck);
        assert!(!EpisodeCounts::from_calls(&failures(4)).stuck);
        let mut changed = failures(5);
        changed.insert(2, CallRecord { state_changed: Some(true), ..succeeded("x") });
        assert!(!EpisodeCounts::from_calls(&changed).stuck);
        let mut with_success = failures(5);
        with_success.insert(2, succeeded("x"));
        assert!(EpisodeCounts::from_calls(&with_success).stuck, "a look at the world changes nothing");
        let mut other = failures(5);
        other[4].error_class = Some("CONFLICT".into());
        assert!(!EpisodeCounts::from_calls(&other).stuck);
    }

    #[test]
    fn a_hint_is_followed_when_exactly_the_named_fields_change() {
        let fields = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let error = CallRecord { named_fields: fields(&["amount", "currency"]), ..failed("a", "VALIDATION") };
        let next = |names: &[&str]| CallRecord { changed_fields: fields(names), ..succeeded("b") };
        let hints = |calls: &[CallRecord]| {
            let counts = EpisodeCounts::from_calls(calls);
            (counts.hints_followed, counts.hinted_calls)
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
        let call = |chain: Option<u32>, is_error: bool, tokens| CallRecord {
            chain,
            chain_end: (chain.is_some() && !is_error).then_some(ChainEnd::Fixed),
            is_error,
            request_tokens: tokens,
            response_tokens: 1,
            ..CallRecord::default()
        };
        let calls = [call(Some(1), true, 10), call(Some(2), true, 20), call(Some(1), false, 30), call(None, false, 40)];
        let counts = EpisodeCounts::from_calls(&calls);
        assert_eq!((counts.errors, counts.calls_after_error, counts.first_call_success), (2, 3, false));
        assert_eq!((counts.chains, counts.errors_fixed, counts.retries, counts.wrong_repairs), (2, 1, 1, 0));
        let wrong = CallRecord { chain_end: Some(ChainEnd::WrongRepair), ..calls[2].clone() };
        let ended = EpisodeCounts::from_calls(&[calls[0].clone(), wrong]);
        assert_eq!((ended.chains, ended.errors_fixed, ended.retries, ended.wrong_repairs), (1, 0, 1, 1));
        assert_eq!((counts.call_tokens, counts.wasted_tokens), (104, 32));
        assert!(EpisodeCounts::from_calls(&calls[2..]).first_call_success);
        let none = EpisodeCounts { leaked_fields: Some(0), told_answers: Some(0), ..EpisodeCounts::default() };
        assert_eq!(EpisodeCounts::from_calls(&[]), none);
        let unknown = [CallRecord { leaked_fields: Some(1), ..CallRecord::default() }, CallRecord::default()];
        assert_eq!(EpisodeCounts::from_calls(&unknown).leaked_fields, None);
        assert_eq!(EpisodeCounts::from_calls(&unknown[..1]).leaked_fields, Some(1));
        let told = |told: Option<bool>| CallRecord { told_answer: told, ..failed("a", "VALIDATION") };
        let told_answers = |calls: &[CallRecord]| EpisodeCounts::from_calls(calls).told_answers;
        assert_eq!(told_answers(&[told(Some(true)), succeeded("b"), told(Some(false)), told(Some(true))]), Some(2));
        assert_eq!(told_answers(&[told(Some(true)), told(None)]), None);
    }
}
