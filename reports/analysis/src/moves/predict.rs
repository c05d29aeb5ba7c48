//! Compares the moves that a profile expects with those that were made.

use std::collections::BTreeSet;

use healbench_core::{DrawKey, Draws, ERROR_KINDS, ErrorKind, Move, Moves, Seed};
use schemars::JsonSchema;
use serde::Serialize;

use super::model::{SCORED_MOVES, Shares};
use super::observations::{Observation, Observations, Place};
use super::score::{DRAWS, PerfectScore, Scores, draw};
use super::tables::Weights;
use crate::schema::ErrorKindSchema;

/// The attempts within which a chain is repaired soon.
const SOON: u32 = 3;

/// Predicted and observed moves.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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

/// Predicted and observed shares of moves. Moves weigh as first errors do in a fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SharePrediction {
    /// The kind; null for all.
    #[schemars(with = "Option<ErrorKindSchema>")]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
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
pub fn predict(profile: &Moves, observations: &Observations, seed: Seed) -> Prediction {
    let later: Vec<Observation> = observations.moves.iter().copied().filter(|made| !made.is_first()).collect();
    let first = observations.first();
    let shares: Vec<Shares> = first.iter().map(|made| expected(profile, made)).collect();
    let scored = first.iter().zip(&shares).map(|(made, shares)| (made.task, Scores::of(*shares, made.column())));
    let (key, weights) = (DrawKey::of_run(seed), Weights::of(&first));
    Prediction {
        scores: Scores::over_tasks(&scored.collect::<Vec<(usize, Scores)>>()),
        perfect: PerfectScore::of(&first, &shares, &mut key.draws("perfect profile", 1)),
        repaired_next: repaired(&first, &weights, &|made| match made.place {
            Place::First { repaired_next: Some(is_repaired), .. } => Some((repaired_next(profile, made), is_repaired)),
            _ => None,
        }),
        repaired_within_3: repaired(&first, &weights, &|made| match made.place {
            Place::First { repaired_within_3: Some(is_repaired), .. } => {
                Some((repaired_soon(profile, made), is_repaired))
            }
            _ => None,
        }),
        first: tables(profile, &first, &weights, &mut |n| key.draws("first", n)),
        later: tables(profile, &later, &weights, &mut |n| key.draws("later", n)),
    }
}

/// Returns the shares that are expected after an error.
fn expected(profile: &Moves, made: &Observation) -> Shares {
    let follows = match made.place {
        Place::First { .. } => None,
        Place::Later { follows } => Some(follows),
    };
    profile.after(made.kind, follows).all()
}

fn repaired_next(profile: &Moves, made: &Observation) -> f64 {
    profile.after(made.kind, None).changed * profile.right(made.states_remedy)
}

/// Returns the share of chains that are repaired by one of three attempts, if every later error is like the first.
fn repaired_soon(profile: &Moves, made: &Observation) -> f64 {
    let right = profile.right(made.states_remedy);
    let (mut repaired, mut open) = (0.0, profile.after(made.kind, None).all());
    for _ in 0..SOON {
        let [changed, repeated, ..] = open;
        repaired += changed * right;
        let wrong = changed * (1.0 - right);
        let [after_change, after_repetition] =
            [Move::Changed, Move::Repeated].map(|follows| profile.after(made.kind, Some(follows)).all());
        open = std::array::from_fn(|at| wrong * after_change[at] + repeated * after_repetition[at]);
    }
    repaired
}

/// Returns `None` without a chain of which it is known.
fn repaired(
    first: &[Observation],
    weights: &Weights,
    of: &dyn Fn(&Observation) -> Option<(f64, bool)>,
) -> Option<Repaired> {
    let mut chains: Vec<Observation> = Vec::new();
    let (mut predicted, mut observed, mut all) = (0.0, 0.0, 0.0);
    for made in first {
        let Some((share, is_repaired)) = of(made) else { continue };
        let weight = weights.get(made);
        predicted += weight * share;
        observed += if is_repaired { weight } else { 0.0 };
        all += weight;
        chains.push(*made);
    }
    (all > 0.0).then(|| Repaired {
        predicted: predicted / all,
        observed: observed / all,
        tasks: tasks(&chains),
        chains: chains.len() as u64,
    })
}

/// Returns the tables of all moves, and of each kind.
fn tables(
    profile: &Moves,
    moves: &[Observation],
    weights: &Weights,
    draws: &mut dyn FnMut(u64) -> Draws,
) -> Vec<SharePrediction> {
    let kinds = ERROR_KINDS.iter().map(|entry| Some(entry.value));
    let mut tables = Vec::new();
    for (at, kind) in std::iter::once(None).chain(kinds).enumerate() {
        let own: Vec<Weighed> = moves
            .iter()
            .filter(|made| kind.is_none_or(|kind| made.kind == kind))
            .map(|made| Weighed { made: *made, weight: weights.get(made), expected: expected(profile, made) })
            .collect();
        if !own.is_empty() {
            tables.push(share_prediction(kind, &own, draws(at as u64)));
        }
    }
    tables
}

/// A move, its weight, and the shares that are expected.
struct Weighed {
    made: Observation,
    weight: f64,
    expected: Shares,
}

fn share_prediction(kind: Option<ErrorKind>, moves: &[Weighed], mut draws: Draws) -> SharePrediction {
    let all: f64 = moves.iter().map(|weighed| weighed.weight).sum();
    let mut predicted = [0.0; SCORED_MOVES.len()];
    for weighed in moves {
        predicted.iter_mut().zip(weighed.expected).for_each(|(sum, share)| *sum += share * weighed.weight / all);
    }
    let observed = |column: &mut dyn FnMut(&Weighed) -> usize| {
        let mut sums = [0.0; SCORED_MOVES.len()];
        moves.iter().for_each(|weighed| sums[column(weighed)] += weighed.weight / all);
        sums
    };
    let gap = |observed: Shares| {
        let differences = predicted.iter().zip(observed).map(|(predicted, observed)| (predicted - observed).abs());
        differences.sum::<f64>() / SCORED_MOVES.len() as f64
    };
    let gaps: f64 = (0..DRAWS).map(|_| gap(observed(&mut |weighed| draw(&weighed.expected, &mut draws)))).sum();
    let observed = observed(&mut |weighed| weighed.made.column());
    let made: Vec<Observation> = moves.iter().map(|weighed| weighed.made).collect();
    SharePrediction {
        kind,
        tasks: tasks(&made),
        moves: moves.len() as u64,
        predicted,
        observed,
        gap: gap(observed),
        perfect_gap: gaps / f64::from(DRAWS),
    }
}

fn tasks(moves: &[Observation]) -> u64 {
    moves.iter().map(|made| made.task).collect::<BTreeSet<usize>>().len() as u64
}
