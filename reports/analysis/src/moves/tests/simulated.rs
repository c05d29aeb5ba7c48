//! Moves of profiles whose numbers are known.

use healbench_core::{Draws, ERROR_KINDS, Moves};

use super::super::score::draw;
use super::*;

/// The shares of a profile, which are known.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// By kind.
    pub(super) shares: Vec<Shares>,
    pub(super) right_told: f64,
    pub(super) right_untold: f64,
    pub(super) repeat_again: f64,
    pub(super) later_stop: f64,
    /// The chance that a chain begins with the move that the chain before it in the task, of the same kind, began with.
    pub(super) alike: f64,
}

impl Known {
    /// Returns a profile with shares that are uniform over all that add up to 1.
    pub(super) fn random(kinds: usize, draws: &mut Draws) -> Known {
        let shares = (0..kinds).map(|_| {
            let sizes: Shares = std::array::from_fn(|_| -draws.unit().max(1e-12).ln());
            sizes.map(|size| size / sizes.iter().sum::<f64>())
        });
        Known {
            shares: shares.collect(),
            right_told: 0.05 + 0.9 * draws.unit(),
            right_untold: 0.05 + 0.9 * draws.unit(),
            repeat_again: 0.05 + 0.9 * draws.unit(),
            later_stop: if draws.chance(0.5) { 1.0 } else { 4.0 },
            alike: 0.0,
        }
    }

    /// Returns the profile that it is.
    pub(super) fn profile(&self) -> Moves {
        let mut shares = [healbench_core::Shares::default(); ERROR_KINDS.len()];
        for (found, [changed, repeated, other_tool, _]) in shares.iter_mut().zip(&self.shares) {
            *found = healbench_core::Shares { changed: *changed, repeated: *repeated, other_tool: *other_tool };
        }
        Moves {
            shares,
            right_told: self.right_told,
            right_untold: self.right_untold,
            repeat_again: self.repeat_again,
            later_stop: self.later_stop,
        }
    }

    /// Adds the moves of an agent in `tasks` tasks, of three suites. In each, it meets one to four kinds, each in one to five chains.
    pub(super) fn add(&self, agent: &str, tasks: usize, draws: &mut Draws, named: &mut NamedObservations) {
        let profile = self.profile();
        for task in 0..tasks {
            let names = [agent.to_owned(), format!("{}/{task:03}", task % 3), (task % 3).to_string()];
            for _ in 0..=draws.below(3) {
                let kind = ERROR_KINDS[draws.below(self.shares.len() as u64) as usize].value;
                let mut begins_with = None;
                for _ in 0..=draws.below(4) {
                    let same = begins_with.filter(|_| draws.chance(self.alike));
                    begins_with = Some(add_chain(&profile, kind, same, &names, draws, named));
                }
            }
        }
    }
}

/// Adds a chain, which begins with this move if there is one. Returns the move that it begins with.
fn add_chain(
    profile: &Moves,
    kind: ErrorKind,
    begins_with: Option<Move>,
    names: &[String; 3],
    draws: &mut Draws,
    named: &mut NamedObservations,
) -> Move {
    let states_remedy = draws.chance(0.5);
    let (mut chain, mut shares): (Vec<Observation>, Shares) = (Vec::new(), profile.after(kind, None).all());
    let mut repaired_at = None;
    for number in 0..6 {
        let drawn = SCORED_MOVES[draw(&shares, draws)];
        let made = begins_with.filter(|_| number == 0).unwrap_or(drawn);
        let succeeded = match made {
            Move::Changed => Some(draws.chance(profile.right(states_remedy))),
            Move::Repeated => Some(false),
            _ => None,
        };
        let place = match chain.last() {
            Some(before) => Place::Later { follows: before.made },
            None => first(kind, made).place,
        };
        chain.push(Observation { place, states_remedy, succeeded, ..first(kind, made) });
        if succeeded != Some(false) {
            repaired_at = succeeded.map(|_| number);
            break;
        }
        shares = profile.after(kind, Some(made)).all();
    }
    chain[0].place = Place::First {
        repaired_next: Some(repaired_at == Some(0)),
        repaired_within_3: Some(repaired_at.is_some_and(|at| at < 3)),
    };
    let begins_with = chain[0].made;
    chain.into_iter().for_each(|made| named.add(names.clone(), made));
    begins_with
}

/// Returns the moves of one agent.
pub(super) fn of_one(known: &Known, tasks: usize, draws: &mut Draws) -> Observations {
    let mut named = NamedObservations::default();
    known.add("a", tasks, draws, &mut named);
    named.finish(Observations::default())
}
