//! Compares the moves that a profile expects with those that were made.

use std::collections::BTreeSet;

use healbench_core::{DrawKey, ERROR_KINDS, ErrorKind, Move, Seed};
use serde::Serialize;

use super::model::{MovesProfile, SCORED_MOVES, Shares};
use super::observations::{Observation, Observations, Place};
use super::score::{DRAWS, PerfectScore, Scores, draw};
use super::tables::weights;

/// The attempts within which a chain is repaired soon.
const SOON: u32 = 3;

/// Predicted and observed moves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// After first errors of chains: all, then by kind.
    pub first: Vec<SharePrediction>,
    /// After attempts that failed: all, then by kind.
    pub later: Vec<SharePrediction>,
    /// Chains whose first attempt succeeded within three turns. Only changes are expected to succeed.
    pub repaired_next: Option<Repaired>,
    /// Chains of which one of the first three attempts succeeded. None is expected after a call of another tool.
    pub repaired_within_3: Option<Repaired>,
    /// The scores of the profile on first errors; null without any.
    pub scores: Option<Scores>,
    /// The scores that it would have if its shares were true.
    pub perfect: Option<PerfectScore>,
}

/// Predicted and observed shares of moves. Each move weighs as in a fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SharePrediction {
    /// The kind; null for all.
    pub kind: Option<ErrorKind>,
    /// Tasks.
    pub tasks: u64,
    /// Moves.
    pub moves: u64,
    /// The predicted shares of the [`SCORED_MOVES`].
    pub predicted: Shares,
    /// The observed ones.
    pub observed: Shares,
    /// The mean absolute difference of both.
    pub gap: f64,
    /// The mean gap if the predicted shares were true, over draws of as many moves in the same tasks. It takes moves of a task for independent.
    pub perfect_gap: f64,
}

/// A predicted and an observed share of chains.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Repaired {
    /// The predicted share.
    pub predicted: f64,
    /// The observed share.
    pub observed: f64,
    /// Tasks.
    pub tasks: u64,
    /// Chains of which it is known.
    pub chains: u64,
}

/// Compares a profile with the moves of a run; those of one agent should be selected before. `seed` is that of the draws for a perfect profile.
pub fn predict(profile: &MovesProfile, observations: &Observations, seed: Seed) -> Prediction {
    let later: Vec<Observation> = observations.moves.iter().copied().filter(|made| !made.is_first()).collect();
    let first = observations.first();
    let shares: Vec<Shares> = first.iter().map(|made| expected(profile, made)).collect();
    let scored = first.iter().zip(&shares).map(|(made, shares)| (made.task, Scores::of(*shares, made.column())));
    let key = DrawKey::of_run(seed);
    Prediction {
        scores: Scores::over_tasks(&scored.collect::<Vec<(usize, Scores)>>()),
        perfect: PerfectScore::of(&first, &shares, &mut key.draws("perfect profile", 1)),
        repaired_next: repaired(&first, &|made| match made.place {
            Place::First { repaired_next: Some(is_repaired), .. } => Some((repaired_next(profile, made), is_repaired)),
            _ => None,
        }),
        repaired_within_3: repaired(&first, &|made| match made.place {
            Place::First { repaired_within_3: Some(is_repaired), .. } => {
                Some((repaired_soon(profile, made), is_repaired))
            }
            _ => None,
        }),
        first: tables(profile, &first, &key, "first"),
        later: tables(profile, &later, &key, "later"),
    }
}

/// Returns the shares that are expected after an error.
fn expected(profile: &MovesProfile, made: &Observation) -> Shares {
    match made.place {
        Place::First { .. } => profile.first(made.kind),
        Place::Later { follows } => profile.later(made.kind, follows),
    }
}

fn repaired_next(profile: &MovesProfile, made: &Observation) -> f64 {
    profile.first(made.kind)[0] * profile.right(made.states_remedy)
}

/// Returns the share of chains that are repaired by one of three attempts, if every later error is like the first.
fn repaired_soon(profile: &MovesProfile, made: &Observation) -> f64 {
    let right = profile.right(made.states_remedy);
    let (mut repaired, mut open) = (0.0, profile.first(made.kind));
    for _ in 0..SOON {
        let [changed, repeated, ..] = open;
        repaired += changed * right;
        let wrong = changed * (1.0 - right);
        let (after_change, after_repetition) =
            (profile.later(made.kind, Move::Changed), profile.later(made.kind, Move::Repeated));
        open = std::array::from_fn(|at| wrong * after_change[at] + repeated * after_repetition[at]);
    }
    repaired
}

/// Returns `None` without a chain of which it is known.
fn repaired(first: &[Observation], of: &dyn Fn(&Observation) -> Option<(f64, bool)>) -> Option<Repaired> {
    let known: Vec<(Observation, (f64, bool))> = first.iter().filter_map(|made| Some((*made, of(made)?))).collect();
    let chains: Vec<Observation> = known.iter().map(|(made, _)| *made).collect();
    let (mut predicted, mut observed, mut all) = (0.0, 0.0, 0.0);
    for ((_, (share, is_repaired)), weight) in known.iter().zip(weights(&chains)) {
        predicted += weight * share;
        observed += if *is_repaired { weight } else { 0.0 };
        all += weight;
    }
    (all > 0.0).then(|| Repaired {
        predicted: predicted / all,
        observed: observed / all,
        tasks: tasks(&chains),
        chains: chains.len() as u64,
    })
}

fn tables(profile: &MovesProfile, moves: &[Observation], key: &DrawKey, purpose: &str) -> Vec<SharePrediction> {
    let kinds = ERROR_KINDS.iter().map(|entry| Some(entry.value));
    let table = |(at, kind): (usize, Option<ErrorKind>)| {
        let own = moves.iter().copied().filter(|made| kind.is_none_or(|kind| made.kind == kind));
        share_prediction(profile, kind, &own.collect::<Vec<Observation>>(), key, (purpose, at as u64))
    };
    std::iter::once(None).chain(kinds).enumerate().filter_map(table).collect()
}

/// Returns `None` without moves.
fn share_prediction(
    profile: &MovesProfile,
    kind: Option<ErrorKind>,
    moves: &[Observation],
    key: &DrawKey,
    (purpose, n): (&str, u64),
) -> Option<SharePrediction> {
    let weights = weights(moves);
    let shares: Vec<Shares> = moves.iter().map(|made| expected(profile, made)).collect();
    let all: f64 = weights.iter().sum();
    if moves.is_empty() {
        return None;
    }
    let observed = |columns: &mut dyn Iterator<Item = usize>| {
        let mut sums = [0.0; SCORED_MOVES.len()];
        columns.zip(&weights).for_each(|(column, weight)| sums[column] += weight / all);
        sums
    };
    let predicted: Shares =
        std::array::from_fn(|at| shares.iter().zip(&weights).map(|(shares, weight)| shares[at] * weight / all).sum());
    let gap = |observed: Shares| (0..4).map(|at| (predicted[at] - observed[at]).abs()).sum::<f64>() / 4.0;
    let mut draws = key.draws(purpose, n);
    let mut gaps = 0.0;
    for _ in 0..DRAWS {
        gaps += gap(observed(&mut shares.iter().map(|shares| draw(shares, &mut draws))));
    }
    let observed = observed(&mut moves.iter().map(Observation::column));
    Some(SharePrediction {
        kind,
        tasks: tasks(moves),
        moves: moves.len() as u64,
        predicted,
        observed,
        gap: gap(observed),
        perfect_gap: gaps / f64::from(DRAWS),
    })
}

fn tasks(moves: &[Observation]) -> u64 {
    moves.iter().map(|made| made.task).collect::<BTreeSet<usize>>().len() as u64
}
