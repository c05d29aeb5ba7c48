//! Fits profiles to the moves of a run.

use std::collections::BTreeSet;

use healbench_core::{ERROR_KINDS, Move};

use super::estimate::{ExpectedStop, Sample, log_factor, stop_factor};
use super::model::{Estimate, KindMoves, MovesProfile, Shares, Strengths};
use super::observations::{Observation, Observations, Place};
use super::score::{Scores, mean_over_tasks};
use super::tables::{ByKind, Counts, KINDS, Tables, Weights};

/// The strengths to choose from.
const STRENGTHS: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

/// The strengths where no task can be held out.
const UNTESTED: f64 = 8.0;

/// The parts of the tasks that are held out one after another.
pub(super) const FOLDS: usize = 10;

/// The most parts that the jackknife leaves out.
const JACKKNIFE_PARTS: usize = 100;

/// The strength with which a share of an agent that has no table is drawn towards that of all agents.
const RATE_STRENGTH: f64 = 2.0;

/// A fit to the moves of a run.
#[derive(Debug, Clone)]
pub struct Fit {
    names: Vec<String>,
    moves: Vec<Observation>,
    strengths: Strengths,
    tables: Tables,
    left_out: Vec<LeftOut>,
    weights: Weights,
}

/// The shares of a fit with the same strengths that leaves out some tasks.
#[derive(Debug, Clone)]
struct LeftOut {
    tasks: BTreeSet<usize>,
    kinds: ByKind,
    cells: Vec<ByKind>,
}

/// Fits shares to the first errors of chains. The strengths are chosen by held-out tasks.
pub fn fit(observations: &Observations) -> Fit {
    let first = observations.first();
    let agents = observations.agents.len();
    let (strengths, tables) = fit_tables(&first, agents);
    Fit {
        names: observations.agents.clone(),
        moves: observations.moves.clone(),
        strengths,
        tables,
        left_out: left_out(&first, agents, strengths),
        weights: Weights::of(&first),
    }
}

/// Fits the tables to first errors of `agents` agents.
pub(super) fn fit_tables(first: &[Observation], agents: usize) -> (Strengths, Tables) {
    let strengths = choose_strengths(first, agents);
    (strengths, Tables::of(first, agents, strengths))
}

/// Returns fits that each leave out a task, or one of many equal parts of them.
fn left_out(first: &[Observation], agents: usize, strengths: Strengths) -> Vec<LeftOut> {
    let fit_without = |tasks: BTreeSet<usize>| {
        let rest: Vec<Observation> = first.iter().filter(|made| !tasks.contains(&made.task)).copied().collect();
        let counts = Counts::of(&rest, agents);
        LeftOut { tasks, kinds: counts.kind_alone(strengths.kind), cells: counts.cells(strengths.cell) }
    };
    folds(first, JACKKNIFE_PARTS, |made| made.task).into_iter().map(fit_without).collect()
}

/// Returns the jackknife's variance of a number, of which `values` are those that leave out each part.
fn jackknife(values: &[f64]) -> f64 {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() * (count - 1.0) / count
}

/// Returns the parts to hold out: by `group`, up to `most` of them. Groups are dealt out in their order.
pub(super) fn folds(moves: &[Observation], most: usize, group: fn(&Observation) -> usize) -> Vec<BTreeSet<usize>> {
    let groups: BTreeSet<usize> = moves.iter().map(group).collect();
    let mut folds = vec![BTreeSet::new(); most.min(groups.len())];
    for (at, group) in groups.into_iter().enumerate() {
        let fold = at % folds.len();
        folds[fold].insert(group);
    }
    folds
}

/// The log scores of held-out moves by strength.
#[derive(Debug, Default)]
struct Trials {
    kind: [Vec<(usize, f64)>; STRENGTHS.len()],
    agent: [Vec<(usize, f64)>; STRENGTHS.len()],
    cell: [Vec<(usize, f64)>; STRENGTHS.len()],
}

impl Trials {
    fn add(&mut self, training: &[Observation], held_out: &[Observation], agents: usize) {
        let counts = Counts::of(training, agents);
        let score = |shares: &dyn Fn(&Observation) -> Shares| -> Vec<(usize, f64)> {
            held_out.iter().map(|made| (made.task, Scores::of(shares(made), made.column()).log)).collect()
        };
        for (at, strength) in STRENGTHS.into_iter().enumerate() {
            let kinds = counts.kind_alone(strength);
            self.kind[at].extend(score(&|made| kinds[made.kind as usize]));
            let alone = counts.agent_alone(strength);
            self.agent[at].extend(score(&|made| alone[made.agent]));
            let cells = counts.cells(strength);
            self.cell[at].extend(score(&|made| cells[made.agent][made.kind as usize]));
        }
    }

    fn best(self) -> Strengths {
        let best = |trials: &[Vec<(usize, f64)>]| {
            let means = trials.iter().map(|scores| mean_over_tasks(scores.iter().copied()).unwrap_or(0.0));
            let lowest = means.enumerate().min_by(|(_, one), (_, other)| one.total_cmp(other));
            lowest.map_or(UNTESTED, |(at, _)| STRENGTHS[at])
        };
        Strengths { kind: best(&self.kind), agent: best(&self.agent), cell: best(&self.cell) }
    }
}

fn choose_strengths(first: &[Observation], agents: usize) -> Strengths {
    let folds = folds(first, FOLDS, |made| made.task);
    if folds.len() < 2 {
        return Strengths { kind: UNTESTED, agent: UNTESTED, cell: UNTESTED };
    }
    let mut trials = Trials::default();
    for fold in folds {
        let (held_out, training): (Vec<Observation>, Vec<Observation>) =
            first.iter().partition(|made| fold.contains(&made.task));
        trials.add(&training, &held_out, agents);
    }
    trials.best()
}

impl Fit {
    /// Returns the strengths that were chosen.
    pub fn strengths(&self) -> Strengths {
        self.strengths
    }

    /// Returns the profile of an agent, or of all agents together.
    pub fn profile(&self, agent: Option<usize>) -> MovesProfile {
        let is_own = |made: &&Observation| agent.is_none_or(|agent| made.agent == agent);
        let own: Vec<Observation> = self.moves.iter().filter(is_own).copied().collect();
        let first: Vec<Observation> = own.iter().copied().filter(Observation::is_first).collect();
        let rate = |counts: &dyn Fn(&Observation) -> Option<bool>| self.rate(agent, &own, counts);
        let mut profile = MovesProfile {
            agent: agent.map(|agent| self.names[agent].clone()),
            tasks: first.iter().map(|made| made.task).collect::<BTreeSet<usize>>().len() as u64,
            moves: first.len() as u64,
            kinds: self.kinds(agent, &first),
            right_told: rate(&|made| right(made, true)),
            right_untold: rate(&|made| right(made, false)),
            repeat_again: rate(&|made| follows_repetition(made).then_some(made.made == Move::Repeated)),
            later_stop: stop_factor(&[], 0.0),
        };
        profile.later_stop = self.later_stop(agent, &own);
        profile
    }

    fn kinds(&self, agent: Option<usize>, first: &[Observation]) -> Vec<KindMoves> {
        let mut samples: Vec<[Sample; 4]> = vec![Default::default(); KINDS];
        for made in first {
            for (column, sample) in samples[made.kind as usize].iter_mut().enumerate() {
                sample.add(made.task, self.weights.get(made), made.column() == column);
            }
        }
        let (shares, strength, plain) = match agent {
            Some(agent) => (self.tables.cells[agent], self.strengths.cell, self.tables.plain[agent]),
            None => (self.tables.kinds, self.strengths.kind, self.tables.plain_kinds),
        };
        let kinds = ERROR_KINDS.iter().map(|entry| {
            let kind = entry.value as usize;
            let estimate = |column: usize| {
                let left_out: Vec<f64> = self.left_out.iter().map(|fit| fit.shares(agent)[kind][column]).collect();
                samples[kind][column].estimate(shares[kind][column], strength, Some(jackknife(&left_out)))
            };
            KindMoves {
                kind: entry.value,
                changed: estimate(0),
                repeated: estimate(1),
                other_tool: estimate(2),
                plain: plain[kind],
            }
        });
        kinds.collect()
    }

    /// Returns a share of the moves of an agent, drawn towards that of all agents.
    fn rate(
        &self,
        agent: Option<usize>,
        own: &[Observation],
        counts: &dyn Fn(&Observation) -> Option<bool>,
    ) -> Estimate {
        let sample = |moves: &[Observation]| {
            let mut sample = Sample::default();
            for made in moves {
                if let Some(counts) = counts(made) {
                    sample.add(made.task, self.weights.get(made), counts);
                }
            }
            sample
        };
        let all = sample(&self.moves).shrunk(0.5, 1.0);
        let own = sample(own);
        match agent {
            None => own.estimate(all, 1.0, None),
            Some(_) => own.estimate(own.shrunk(all, RATE_STRENGTH), RATE_STRENGTH, None),
        }
    }

    /// Returns the factor of the odds of stopping after later errors, of which those are left out that a repetition led to and another
    /// followed.
    fn later_stop(&self, agent: Option<usize>, own: &[Observation]) -> Estimate {
        let is_used =
            |made: &&Observation| !(made.is_first() || follows_repetition(made) && made.made == Move::Repeated);
        let later: Vec<&Observation> = own.iter().filter(is_used).collect();
        let expected = |shares: &ByKind, without: &BTreeSet<usize>| -> Vec<ExpectedStop> {
            let used = later.iter().filter(|made| !without.contains(&made.task));
            used.map(|made| expected_stop(made, shares[made.kind as usize], self.weights.get(made))).collect()
        };
        let shares = agent.map_or(&self.tables.kinds, |agent| &self.tables.cells[agent]);
        let left_out = self.left_out.iter().map(|fit| log_factor(&expected(fit.shares(agent), &fit.tasks)));
        stop_factor(&expected(shares, &BTreeSet::new()), jackknife(&left_out.collect::<Vec<f64>>()))
    }
}

impl LeftOut {
    fn shares(&self, agent: Option<usize>) -> &ByKind {
        agent.map_or(&self.kinds, |agent| &self.cells[agent])
    }
}

/// Returns what is expected of a later error if it is followed by the shares of first ones, and by no repetition after a repetition.
fn expected_stop(made: &Observation, [_, repeated, _, stopped]: Shares, weight: f64) -> ExpectedStop {
    let among = if follows_repetition(made) { 1.0 - repeated } else { 1.0 };
    // Odds are of shares between 0 and 1.
    let share = (stopped / among).clamp(1e-9, 1.0 - 1e-9);
    ExpectedStop { task: made.task, weight, share, stopped: made.made == Move::Stopped }
}

/// Returns true if a change after a first error was right, where the text says what to do or, else, where it does not.
fn right(made: &Observation, is_told: bool) -> Option<bool> {
    let counts = made.is_first() && made.made == Move::Changed && made.states_remedy == is_told;
    made.succeeded.filter(|_| counts)
}

fn follows_repetition(made: &Observation) -> bool {
    made.place == Place::Later { follows: Move::Repeated }
}
