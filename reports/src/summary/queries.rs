//! The questions put to the frames. Each answers with a small frame, whose columns beside the keys are named here.

use healbench_record::{Outcome, Setting};
use polars::prelude::{Expr, JoinArgs, JoinType, LazyFrame, SortMultipleOptions, col, len, lit, when};

use crate::columns::*;

/// What a row of the report is told apart by.
pub(super) const ROW: [&str; 3] = [AGENT, GUARDRAILS, FORMAT];

/// Columns of the episodes frame that the queries need.
pub(super) const EPISODES_READ: [Column; 11] = [
    (EPISODE, Holds::U64),
    (SCENARIO, Holds::Text),
    (AGENT, Holds::Text),
    (GUARDRAILS, Holds::Text),
    (FORMAT, Holds::Text),
    (TRIAL, Holds::U32),
    (OUTCOME, Holds::Text),
    (CLAIMED_DONE, Holds::Bool),
    (SCHEDULED, Holds::Bool),
    (SCHEDULE_HASH, Holds::Text),
    (PROSE_TOKENS, Holds::U32),
];

/// Columns of the calls frame that the queries need.
pub(super) const CALLS_READ: [Column; 9] = [
    (EPISODE, Holds::U64),
    (CALL, Holds::U32),
    (IS_ERROR, Holds::Bool),
    (LEAKED_FIELDS, Holds::U32),
    (REPEATS_FAILED, Holds::Bool),
    (CHAIN, Holds::U32),
    (REQUEST_TOKENS, Holds::U32),
    (RESPONSE_TOKENS, Holds::U32),
    (GUARDRAIL_TOKENS, Holds::U32),
];

pub(super) const EPISODES: &str = "episodes";
pub(super) const SCORED: &str = "scored";
pub(super) const INFRA: &str = "infra";
pub(super) const CONFIG: &str = "config";
pub(super) const SUCCESSES: &str = "successes";
pub(super) const FALSE_SUCCESSES: &str = "false_successes";
pub(super) const SCHEDULED_SCORED: &str = "scheduled_scored";
pub(super) const SCHEDULED_SUCCESSES: &str = "scheduled_successes";
pub(super) const PROSE: &str = "prose";
pub(super) const CALLS_MADE: &str = "calls_made";
pub(super) const FIRST_CALLS_OK: &str = "first_calls_ok";
pub(super) const TOKENS: &str = "tokens";
pub(super) const WASTED: &str = "wasted";
pub(super) const GUARDRAIL: &str = "guardrail";
pub(super) const LEAKED: &str = "leaked";
pub(super) const REPEATS: &str = "repeats";
pub(super) const AFTER_ERROR: &str = "after_error";
pub(super) const CHAINS: &str = "chains";
pub(super) const CHAINS_MENDED: &str = "chains_mended";
pub(super) const IS_SCORED: &str = "is_scored";
pub(super) const IS_SUCCESS: &str = "is_success";
pub(super) const PRESENT: &str = "present";
pub(super) const MET: &str = "met";
pub(super) const PAIRS: &str = "pairs";
pub(super) const GAINS: &str = "gains";
pub(super) const LOSSES: &str = "losses";
/// The episode under no guardrails.
pub(super) const NONE_EPISODE: &str = "none_episode";

const NONE_SCORED: &str = "none_scored";
const NONE_SUCCESS: &str = "none_success";
const NONE_HASH: &str = "none_hash";
const FIRST_ERROR: &str = "first_error";
const MENDED: &str = "mended";

/// How many episodes each row of the report has, and how many of them ended in which way; with `keys`, what a row is.
///
/// Columns: `keys`, [`EPISODES`], [`SCORED`], [`INFRA`], [`CONFIG`], [`SUCCESSES`], [`FALSE_SUCCESSES`], [`SCHEDULED_SCORED`],
/// [`SCHEDULED_SUCCESSES`], [`PROSE`] (tokens, of scored episodes).
pub(super) fn endings(episodes: LazyFrame, keys: &[&str]) -> LazyFrame {
    episodes.group_by(columns(keys)).agg([
        len().cast(U64).alias(EPISODES),
        count(scored()).alias(SCORED),
        count(ended(Outcome::Infra)).alias(INFRA),
        count(ended(Outcome::Config)).alias(CONFIG),
        count(ended(Outcome::Success)).alias(SUCCESSES),
        count(ended(Outcome::TaskFail).and(col(CLAIMED_DONE))).alias(FALSE_SUCCESSES),
        count(scored().and(col(SCHEDULED))).alias(SCHEDULED_SCORED),
        count(ended(Outcome::Success).and(col(SCHEDULED))).alias(SCHEDULED_SUCCESSES),
        (col(PROSE_TOKENS).cast(U64) * scored().cast(U64)).sum().alias(PROSE),
    ])
}

/// What the calls of each row's scored episodes add up to.
///
/// Columns: [`ROW`], [`CALLS_MADE`], [`FIRST_CALLS_OK`], [`TOKENS`], [`WASTED`], [`GUARDRAIL`], [`LEAKED`], [`REPEATS`],
/// [`AFTER_ERROR`], [`CHAINS`], [`CHAINS_MENDED`].
pub(super) fn call_sums(episodes: LazyFrame, calls: LazyFrame) -> LazyFrame {
    let sums =
        [CALLS_MADE, FIRST_CALLS_OK, TOKENS, WASTED, GUARDRAIL, LEAKED, REPEATS, AFTER_ERROR, CHAINS, CHAINS_MENDED];
    let keys = columns(&ROW).into_iter().chain([col(EPISODE)]).collect::<Vec<_>>();
    // An episode without a call or without a chain has no row to join: the sums pass over the nulls.
    let by_row = episodes
        .filter(scored())
        .select(keys)
        .join(by_episode(calls.clone()), [col(EPISODE)], [col(EPISODE)], JoinArgs::new(JoinType::Left))
        .join(chains(calls), [col(EPISODE)], [col(EPISODE)], JoinArgs::new(JoinType::Left))
        .group_by(columns(&ROW));
    by_row.agg(sums.map(|name| col(name).sum()))
}

/// How each episode ended, one row each in the order of the frame. No groups and no join: these are all the rows there are.
///
/// Columns: [`EPISODE`], [`SCHEDULE_HASH`], [`IS_SCORED`], [`IS_SUCCESS`], [`PROSE`] (tokens).
pub(super) fn scores(episodes: LazyFrame) -> LazyFrame {
    episodes.select([
        col(EPISODE),
        col(SCHEDULE_HASH),
        scored().alias(IS_SCORED),
        ended(Outcome::Success).alias(IS_SUCCESS),
        col(PROSE_TOKENS).cast(U64).alias(PROSE),
    ])
}

/// The tokens of each call and its response, one row each.
///
/// Columns: [`EPISODE`], [`TOKENS`].
pub(super) fn call_tokens(calls: LazyFrame) -> LazyFrame {
    calls.select([col(EPISODE), (col(REQUEST_TOKENS).cast(U64) + col(RESPONSE_TOKENS).cast(U64)).alias(TOKENS)])
}

/// One row for each episode that made a call.
fn by_episode(calls: LazyFrame) -> LazyFrame {
    // 32 bits hold the tokens of a call, but not of a run.
    let wide = |name: &str| col(name).cast(U64);
    let tokens = || wide(REQUEST_TOKENS) + wide(RESPONSE_TOKENS);
    calls
        .select([
            col(EPISODE),
            col(CALL).eq(lit(1u32)).and(col(IS_ERROR).not()).alias(FIRST_CALLS_OK),
            tokens().alias(TOKENS),
            when(col(IS_ERROR)).then(tokens()).otherwise(lit(0u64)).alias(WASTED),
            wide(GUARDRAIL_TOKENS).alias(GUARDRAIL),
            wide(LEAKED_FIELDS).alias(LEAKED),
            col(REPEATS_FAILED).alias(REPEATS),
            when(col(IS_ERROR)).then(wide(CALL)).otherwise(lit(polars::prelude::NULL)).alias(FIRST_ERROR),
        ])
        .group_by([col(EPISODE)])
        .agg([
            len().cast(U64).alias(CALLS_MADE),
            count(col(FIRST_CALLS_OK)).alias(FIRST_CALLS_OK),
            col(TOKENS).sum(),
            col(WASTED).sum(),
            col(GUARDRAIL).sum(),
            col(LEAKED).sum(),
            count(col(REPEATS)).alias(REPEATS),
            col(FIRST_ERROR).min(),
        ])
        // Calls are numbered from 1 without a gap, so those after the first error are the rest.
        .with_column((col(CALLS_MADE) - col(FIRST_ERROR)).fill_null(lit(0u64)).alias(AFTER_ERROR))
}

/// One row for each episode with an error chain. A chain ended in success exactly when its last call is not an error.
fn chains(calls: LazyFrame) -> LazyFrame {
    calls
        .filter(col(CHAIN).is_not_null())
        .group_by([col(EPISODE), col(CHAIN)])
        .agg([col(IS_ERROR).last().not().alias(MENDED)])
        .group_by([col(EPISODE)])
        .agg([len().cast(U64).alias(CHAINS), count(col(MENDED)).alias(CHAINS_MENDED)])
}

/// How the episodes of each row compare to those of the same agent, scenario and trial under `none`.
///
/// Columns: [`ROW`], [`PRESENT`] (episodes of the row), [`MET`] (those whose counterpart is there), [`PAIRS`] (those where both are
/// scored), [`GAINS`], [`LOSSES`].
pub(super) fn pairs(episodes: LazyFrame, none: &Setting) -> LazyFrame {
    let success = || ended(Outcome::Success);
    beside_none(episodes, none).group_by(columns(&ROW)).agg([
        len().cast(U64).alias(PRESENT),
        count(col(NONE_EPISODE).is_not_null()).alias(MET),
        count(both_scored()).alias(PAIRS),
        count(both_scored().and(success()).and(col(NONE_SUCCESS).not())).alias(GAINS),
        count(both_scored().and(success().not()).and(col(NONE_SUCCESS))).alias(LOSSES),
    ])
}

/// The first pair, in the order of the plan, whose episodes met different schedules: no row, or one.
pub(super) fn first_mismatch(episodes: LazyFrame, none: &Setting) -> LazyFrame {
    beside_none(episodes, none)
        .filter(both_scored().and(col(SCHEDULE_HASH).neq(col(NONE_HASH))))
        .sort([EPISODE], SortMultipleOptions::default())
        .limit(1)
}

/// Every episode that is not under `none`, with its counterpart's columns where there is one.
fn beside_none(episodes: LazyFrame, none: &Setting) -> LazyFrame {
    let is_none =
        || col(GUARDRAILS).eq(lit(none.guardrails.to_string())).and(col(FORMAT).eq(lit(none.format.to_string())));
    let same = columns(&[AGENT, SCENARIO, TRIAL]);
    let counterparts = episodes.clone().filter(is_none()).select([
        col(AGENT),
        col(SCENARIO),
        col(TRIAL),
        col(EPISODE).alias(NONE_EPISODE),
        scored().alias(NONE_SCORED),
        ended(Outcome::Success).alias(NONE_SUCCESS),
        col(SCHEDULE_HASH).alias(NONE_HASH),
    ]);
    episodes.filter(is_none().not()).join(counterparts, same.clone(), same, JoinArgs::new(JoinType::Left))
}

fn both_scored() -> Expr {
    scored().and(col(NONE_SCORED).fill_null(lit(false)))
}

fn scored() -> Expr {
    let unscored = Outcome::ALL.into_iter().filter(|outcome| !outcome.is_scored());
    unscored.fold(lit(true), |scored, outcome| scored.and(ended(outcome).not()))
}

fn ended(outcome: Outcome) -> Expr {
    col(OUTCOME).eq(lit(outcome.name()))
}

/// How many rows of a group have this flag set.
fn count(flag: Expr) -> Expr {
    flag.sum().cast(U64)
}

fn columns(names: &[&str]) -> Vec<Expr> {
    names.iter().map(|name| col(*name)).collect()
}

const U64: polars::prelude::DataType = polars::prelude::DataType::UInt64;
