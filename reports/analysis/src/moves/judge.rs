//! Judges profiles by first errors of tasks and suites that they were not fitted to.

use std::collections::BTreeSet;

use healbench_core::{DrawKey, Seed};
use schemars::JsonSchema;
use serde::Serialize;

use super::fit::{FOLDS, fit_tables, folds};
use super::model::Shares;
use super::observations::{Observation, Observations};
use super::score::{PerfectScore, Scores, mean_over_tasks, task_means};
use super::tables::Tables;
use crate::rate::CONFIDENCE;
use crate::statistics::{ClusterSums, Interval, clustered_mean};

/// The tasks up to which each is held out alone; of more, a tenth at a time.
const MOST_ALONE: usize = 100;

/// The tasks below which nothing is concluded.
const MIN_TASKS: u64 = 10;

/// A way to expect moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The profile: shares of kind and agent.
    Profile,
    /// The smoothed shares of the narrowest group with enough tasks.
    Plain,
    /// The shares of the kind, the same for all agents.
    KindAlone,
    /// The shares of the agent, the same for all kinds.
    AgentAlone,
    /// One table for all.
    All,
}

impl Method {
    /// All methods in their order.
    pub const ALL: [Method; 5] = [Method::Profile, Method::Plain, Method::KindAlone, Method::AgentAlone, Method::All];

    fn shares(self, tables: &Tables, made: &Observation) -> Shares {
        let kind = made.kind as usize;
        match self {
            Method::Profile => tables.cells[made.agent][kind],
            Method::Plain => tables.plain[made.agent][kind].shares,
            Method::KindAlone => tables.kinds[kind],
            Method::AgentAlone => tables.agents[made.agent],
            Method::All => tables.all,
        }
    }
}

/// The scores of a run's moves.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Judgement {
    /// Held out by task; null with fewer than two tasks.
    pub by_task: Option<HeldOutScores>,
    /// Held out by suite; null with fewer than two suites.
    pub by_suite: Option<HeldOutScores>,
}

/// The parts that are held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HeldOutBy {
    /// Tasks.
    Task,
    /// Suites.
    Suite,
}

/// The scores of held-out moves.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HeldOutScores {
    /// The parts.
    pub by: HeldOutBy,
    /// The number of parts, and of fits.
    pub folds: u64,
    /// All agents together.
    pub pooled: GroupScores,
    /// Each agent with moves.
    pub agents: Vec<GroupScores>,
}

/// The scores of the held-out moves of an agent, or of all.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GroupScores {
    /// The agent; null for all together.
    pub agent: Option<String>,
    /// Tasks.
    pub tasks: u64,
    /// First errors of chains.
    pub moves: u64,
    /// The scores of each method.
    pub methods: Vec<MethodScore>,
    /// The scores of a profile with the true shares, which are taken to be those of a fit to all tasks.
    pub perfect: PerfectScore,
    /// The scores of the kind alone, minus those of the profile.
    pub over_kind: Skill,
    /// The scores of the agent alone, minus those of the profile.
    pub over_agent: Skill,
    /// The conclusion over the better of both; null below 10 tasks.
    pub verdict: Option<Verdict>,
    /// The scores of one table for all, minus those of the kind alone.
    pub kind_over_all: Skill,
    /// The conclusion of the kind alone over one table for all; null below 10 tasks.
    pub kind_verdict: Option<Verdict>,
}

/// The scores of a method.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MethodScore {
    /// The method.
    pub method: Method,
    /// The scores, averaged within a task, then over tasks.
    #[serde(flatten)]
    pub scores: Scores,
}

/// The log score of a baseline minus that of the profile: above 0, the profile is better.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Skill {
    /// The mean over tasks.
    pub mean: f64,
    /// The 95% interval over tasks; null if they do not differ, and below two tasks.
    pub interval: Option<Interval>,
}

/// A conclusion about a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It predicts moves better than the better baseline.
    Better,
    /// It predicts them worse.
    Worse,
    /// The tasks do not tell.
    CannotBeTold,
}

/// Judges fits to the moves of a run. `seed` is that of the draws for a perfect profile.
pub fn judge(observations: &Observations, seed: Seed) -> Judgement {
    let first = observations.first();
    let full = fit_tables(&first, observations.agents.len()).1;
    Judgement {
        by_task: held_out(observations, &first, &full, HeldOutBy::Task, seed),
        by_suite: held_out(observations, &first, &full, HeldOutBy::Suite, seed),
    }
}

/// A first error and the shares that each method, and a fit to all tasks, expects after it.
struct Expected {
    made: Observation,
    methods: [Shares; Method::ALL.len()],
    perfect: Shares,
}

fn held_out(
    observations: &Observations,
    first: &[Observation],
    full: &Tables,
    by: HeldOutBy,
    seed: Seed,
) -> Option<HeldOutScores> {
    let agents = observations.agents.len();
    let folds = outer_folds(first, by);
    if folds.len() < 2 {
        return None;
    }
    let mut expected: Vec<Expected> = Vec::new();
    for fold in &folds {
        let (held_out, training): (Vec<Observation>, Vec<Observation>) =
            first.iter().partition(|made| fold.contains(&group(by)(made)));
        let tables = fit_tables(&training, agents).1;
        expected.extend(held_out.into_iter().map(|made| Expected {
            methods: Method::ALL.map(|method| method.shares(&tables, &made)),
            perfect: Method::Profile.shares(full, &made),
            made,
        }));
    }
    let scores = |agent: Option<usize>| {
        let is_own = |expected: &&Expected| agent.is_none_or(|agent| expected.made.agent == agent);
        let own: Vec<&Expected> = expected.iter().filter(is_own).collect();
        group_scores(&own, agent.map(|agent| observations.agents[agent].clone()), seed)
    };
    Some(HeldOutScores {
        by,
        folds: folds.len() as u64,
        pooled: scores(None)?,
        agents: (0..agents).filter_map(|agent| scores(Some(agent))).collect(),
    })
}

fn group(by: HeldOutBy) -> fn(&Observation) -> usize {
    match by {
        HeldOutBy::Task => |made| made.task,
        HeldOutBy::Suite => |made| made.suite,
    }
}

/// Returns the groups of each part that is held out.
pub(super) fn outer_folds(first: &[Observation], by: HeldOutBy) -> Vec<BTreeSet<usize>> {
    let alone = folds(first, usize::MAX, group(by));
    if alone.len() <= MOST_ALONE { alone } else { folds(first, FOLDS, group(by)) }
}

/// Returns `None` without moves.
fn group_scores(own: &[&Expected], agent: Option<String>, seed: Seed) -> Option<GroupScores> {
    let by_method = |at: usize| -> Vec<(usize, Scores)> {
        own.iter()
            .map(|expected| (expected.made.task, Scores::of(expected.methods[at], expected.made.column())))
            .collect()
    };
    let scored: Vec<Vec<(usize, Scores)>> = (0..Method::ALL.len()).map(by_method).collect();
    let skill_of = |of: Method, method: Method| {
        let baseline = &scored[method as usize];
        let pairs = scored[of as usize].iter().zip(baseline);
        Skill::of(pairs.map(|((task, profile), (_, baseline))| (*task, baseline.log - profile.log)))
    };
    let methods: Option<Vec<MethodScore>> = Method::ALL
        .into_iter()
        .zip(&scored)
        .map(|(method, scores)| Some(MethodScore { method, scores: Scores::over_tasks(scores)? }))
        .collect();
    let moves: Vec<Observation> = own.iter().map(|expected| expected.made).collect();
    let perfect: Vec<Shares> = own.iter().map(|expected| expected.perfect).collect();
    let tasks = moves.iter().map(|made| made.task).collect::<BTreeSet<usize>>().len() as u64;
    let skill = |baseline: Method| skill_of(Method::Profile, baseline);
    let (over_kind, over_agent) = (skill(Method::KindAlone)?, skill(Method::AgentAlone)?);
    let kind_over_all = skill_of(Method::KindAlone, Method::All)?;
    let is_judged = tasks >= MIN_TASKS;
    Some(GroupScores {
        agent,
        tasks,
        moves: moves.len() as u64,
        methods: methods?,
        perfect: PerfectScore::of(&moves, &perfect, &mut DrawKey::of_run(seed).draws("perfect profile", 0))?,
        over_kind,
        over_agent,
        verdict: is_judged.then(|| Verdict::of(over_kind, over_agent)),
        kind_over_all,
        kind_verdict: is_judged.then(|| Verdict::of(kind_over_all, kind_over_all)),
    })
}

impl Skill {
    /// Returns the skill of differences by task; `None` without any.
    fn of(differences: impl Iterator<Item = (usize, f64)> + Clone) -> Option<Skill> {
        let clusters: Vec<ClusterSums> = task_means(differences.clone())
            .into_values()
            .map(|mean| ClusterSums { numerator: mean, denominator: 1.0, stratum: 0 })
            .collect();
        let interval = clustered_mean(&clusters, CONFIDENCE).map(|mean| mean.interval);
        Some(Skill { mean: mean_over_tasks(differences)?, interval })
    }
}

impl Verdict {
    /// The better of both baselines is the one that leaves less skill.
    fn of(over_kind: Skill, over_agent: Skill) -> Verdict {
        let least = if over_kind.mean <= over_agent.mean { over_kind } else { over_agent };
        match least.interval {
            Some(interval) if interval.lower > 0.0 => Verdict::Better,
            Some(interval) if interval.upper < 0.0 => Verdict::Worse,
            _ => Verdict::CannotBeTold,
        }
    }
}
