//! The error chains of an episode, from the attempts that its rows name.

use std::collections::{BTreeMap, BTreeSet};

use healbench_core::{CallRecord, ErrorSource, Move};
use serde_json::Value;

use crate::report_error::ReportError;

/// The failed calls of an episode, and their chains.
#[derive(Debug, Default)]
pub(crate) struct FailedCalls {
    /// The indices of the failed calls, in their order.
    pub(crate) failed: Vec<usize>,
    pub(crate) chains: Vec<Chain>,
}

/// A chain: a failed call, and the attempts that follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chain {
    /// The index of the call that opened it.
    pub(crate) first: usize,
    /// The move and the repair after it.
    pub(crate) after_first: AfterError,
    /// The same after the first attempt, if that failed as well.
    pub(crate) after_second: Option<AfterError>,
    /// True if the first attempt is probably another errand.
    pub(crate) is_elsewhere: bool,
    /// True if one of the first three attempts succeeded; null if the record ends before.
    pub(crate) is_repaired_within_3: Option<bool>,
    /// True if an attempt succeeded; null if the record ends before.
    pub(crate) is_repaired: Option<bool>,
}

/// The move and the repair after a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AfterError {
    /// The next move; null if that is not scored.
    pub(crate) next_move: Option<Move>,
    /// True if the next attempt succeeded in one of the next three turns; null if that is not known.
    pub(crate) is_repaired_next: Option<bool>,
}

/// The turns within which a first attempt repairs a chain at once.
const NEXT_TURNS: u32 = 3;
/// The attempts of which one repairs a chain soon.
const NEXT_ATTEMPTS: u32 = 3;

/// Returns the failed calls of an episode, whose calls are in their order. An error that is known by its text alone is a success if
/// `flagged_only`.
///
/// # Errors
/// [`ReportError::NoAftermath`] for a failed call without one.
pub(crate) fn chains(calls: &[CallRecord], flagged_only: bool) -> Result<FailedCalls, ReportError> {
    let is_failed =
        |call: &CallRecord| call.is_error && !(flagged_only && call.error_source == Some(ErrorSource::Text));
    let failed: Vec<usize> = (0..calls.len()).filter(|at| is_failed(&calls[*at])).collect();
    if let Some(at) = failed.iter().find(|at| calls[**at].aftermath.is_none()) {
        return Err(ReportError::NoAftermath { episode: calls[*at].episode });
    }
    let next: BTreeMap<usize, usize> = failed.iter().filter_map(|at| Some((*at, next_attempt(calls, *at)?))).collect();
    let attempts: BTreeSet<usize> = next.values().copied().collect();
    let opening = failed.iter().filter(|at| !attempts.contains(at));
    let chains = opening.map(|first| follow(calls, *first, &next, &is_failed)).collect();
    Ok(FailedCalls { failed, chains })
}

/// Returns the index of the next attempt of a failed call.
fn next_attempt(calls: &[CallRecord], at: usize) -> Option<usize> {
    let number = calls[at].aftermath?.next_attempt?;
    Some(at + 1 + calls[at + 1..].iter().position(|call| call.call == number)?)
}

fn follow(
    calls: &[CallRecord],
    first: usize,
    next: &BTreeMap<usize, usize>,
    is_failed: &dyn Fn(&CallRecord) -> bool,
) -> Chain {
    let turn = |at: usize| calls[at].turn.unwrap_or(calls[at].call);
    let scored =
        |at: usize| calls[at].aftermath.map(|aftermath| aftermath.next_move).filter(|made| *made != Move::CutOff);
    // An attempt without a response has neither failed nor succeeded.
    let succeeded = |at: usize| (calls[at].response_hash != 0).then(|| !is_failed(&calls[at]));
    let (mut at, mut failed_attempts) = (first, 0);
    let is_repaired = loop {
        let Some(attempt) = next.get(&at) else { break scored(at).map(|_| false) };
        match succeeded(*attempt) {
            Some(false) => (at, failed_attempts) = (*attempt, failed_attempts + 1),
            ended => break ended,
        }
    };
    let is_repaired_within_3 = match is_repaired {
        Some(true) => Some(failed_attempts < NEXT_ATTEMPTS),
        None if failed_attempts < NEXT_ATTEMPTS => None,
        _ => Some(false),
    };
    let after = |at: usize| AfterError {
        next_move: scored(at),
        is_repaired_next: scored(at).and_then(|_| match next.get(&at) {
            None => Some(false),
            Some(attempt) => {
                succeeded(*attempt).map(|is_ok| is_ok && turn(*attempt).saturating_sub(turn(at)) <= NEXT_TURNS)
            }
        }),
    };
    let attempt = next.get(&first).copied();
    Chain {
        first,
        after_first: after(first),
        after_second: attempt.filter(|attempt| succeeded(*attempt) == Some(false)).map(after),
        is_elsewhere: attempt.is_some() && calls[first].aftermath.is_some_and(|aftermath| aftermath.elsewhere),
        is_repaired_within_3,
        is_repaired,
    }
}

/// Returns the fields that a failed call is about: those that its text names, else those that its next attempt changed.
pub(crate) fn fields_of(calls: &[CallRecord], at: usize) -> BTreeSet<String> {
    if let Some(named) = &calls[at].named_fields {
        return named.iter().cloned().collect();
    }
    let Some(next) = next_attempt(calls, at) else { return BTreeSet::new() };
    // The column `changed_fields` compares with the previous call, which may be another one.
    let parse = |at: usize| serde_json::from_str::<Value>(&calls[at].arguments).ok();
    let (Some(Value::Object(sent)), Some(Value::Object(again))) = (parse(at), parse(next)) else {
        return BTreeSet::new();
    };
    sent.keys().chain(again.keys()).filter(|name| sent.get(*name) != again.get(*name)).cloned().collect()
}
