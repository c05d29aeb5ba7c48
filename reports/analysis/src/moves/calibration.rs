//! A profile of some of the agents of runs, with what is known of its quality.

use std::collections::BTreeSet;

use healbench_core::Seed;
use schemars::JsonSchema;
use serde::Serialize;

use super::fit::fit;
use super::judge::{GroupScores, HeldOutScores, Judgement, judge};
use super::model::{MovesProfile, Strengths};
use super::observations::Observations;

/// A fitted profile and its judgement.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Calibration {
    /// The titles of the agents whose moves these are, taken for one agent.
    pub agents: Vec<String>,
    /// The titles of the other agents, whose moves inform what kinds have in common.
    pub others: Vec<String>,
    /// The profile.
    pub profile: MovesProfile,
    /// The strengths with which shares are drawn together.
    pub strengths: Strengths,
    /// Scores of fits to other tasks and suites.
    pub judgement: Judgement,
    /// Episodes with failed calls that are left out, since an attack was injected.
    pub attacked_episodes: u64,
    /// Failed calls of shells, which are left out.
    pub shell_errors: u64,
    /// Failed calls whose move the end of a record cuts off.
    pub cut_off: u64,
    /// Failed calls that no reader has read.
    pub not_read: u64,
}

impl Calibration {
    /// Returns the scores of the fitted agents in a part of the judgement.
    pub fn own<'s>(&self, scores: &'s HeldOutScores) -> Option<&'s GroupScores> {
        match &self.profile.agent {
            Some(agent) => scores.agents.iter().find(|group| group.agent.as_ref() == Some(agent)),
            None => Some(&scores.pooled),
        }
    }
}

/// Fits a profile to agents, given by their indices, and judges it. Returns `None` without a first error of theirs.
pub fn calibrate(observations: &Observations, agents: &BTreeSet<usize>, seed: Seed) -> Option<Calibration> {
    let names = |is_own: bool| {
        let named = observations.agents.iter().enumerate();
        named
            .filter(|(index, _)| agents.contains(index) == is_own)
            .map(|(_, name)| name.clone())
            .collect::<Vec<String>>()
    };
    let [own, others] = [true, false].map(names);
    let pooled = observations.pooled(agents, &own.join(", "));
    let agent = (!others.is_empty()).then(|| pooled.agents.len() - 1);
    let fitted = fit(&pooled);
    let profile = fitted.profile(agent);
    (profile.moves > 0).then(|| Calibration {
        agents: own,
        others,
        profile,
        strengths: fitted.strengths(),
        judgement: judge(&pooled, seed),
        attacked_episodes: observations.attacked_episodes,
        shell_errors: observations.shell_errors,
        cut_off: observations.cut_off,
        not_read: observations.not_read,
    })
}
