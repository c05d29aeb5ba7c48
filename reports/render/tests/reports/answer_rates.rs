//! Measures how often answers are wrong, over simulated runs of the real report. `docs/statistics.md` contains the output.

use std::fmt::Write as _;

use healbench_analysis::{Choice, Finding, Scope, Verdict, summarize};
use healbench_core::{Condition, EpisodeRecord, ErrorFormat, Guardrails, Outcome, Plan, Seed, TemplateSource};

use crate::one_pair_one_statement::{Memory, episode};
use crate::sample::{Draw, manifest, plan as sample_plan};

const DOCS: &str = include_str!("../../../../docs/statistics.md");
const RUNS: u64 = 1000;

/// The scenarios in which a condition that is worse fails.
#[derive(Clone, Copy)]
enum Losses {
    /// In every scenario it fails more often.
    Everywhere,
    /// In a few it never succeeds, and in the others it is as good.
    InFew,
}

/// What is simulated: conditions of which all but the first lose `points` in the mean, and cost less.
#[derive(Clone, Copy)]
struct World {
    scenarios: u64,
    conditions: u64,
    points: u64,
    losses: Losses,
}

impl World {
    fn plan(&self, seed: u64) -> Plan {
        let mut plan = sample_plan(5);
        plan.seed = Seed(seed);
        plan.agents.truncate(1);
        let format =
            |at: u64| ErrorFormat::Template(TemplateSource { file: format!("{at}.jinja"), text: String::new() });
        plan.conditions = (0..self.conditions).map(|at| Condition::new(Guardrails::ALL, format(at))).collect();
        let scenario = plan.scenarios.remove(0);
        plan.scenarios = (0..self.scenarios)
            .map(|at| {
                let mut scenario = scenario.clone();
                (scenario.id, scenario.cluster) = (format!("suite/s{at}"), format!("suite/s{at}"));
                scenario
            })
            .collect();
        plan
    }

    /// Draws a run: in a third of the scenarios a good condition always succeeds, in the others in half to all trials, and in a tenth of
    /// them, which are others for each condition, never.
    fn rows(&self, plan: &Plan, draw: &mut Draw) -> Memory {
        let base: Vec<u64> =
            (0..self.scenarios).map(|_| if draw.below(3) == 0 { 1000 } else { 500 + draw.below(500) }).collect();
        let chances: Vec<Vec<u64>> = base
            .iter()
            .map(|base| {
                let chance = |condition: u64, draw: &mut Draw| match self.losses {
                    _ if self.points == 0 && draw.below(10) == 0 => 0,
                    _ if condition == 0 => *base,
                    Losses::Everywhere => base.saturating_sub(10 * self.points),
                    // Of a mean of 83%.
                    Losses::InFew if draw.below(833) < 10 * self.points => 0,
                    Losses::InFew => *base,
                };
                (0..self.conditions).map(|condition| chance(condition, draw)).collect()
            })
            .collect();
        let rows = (0..plan.len()).map(|index| {
            let cell = plan.cell(index).unwrap();
            let succeeds = draw.below(1000) < chances[cell.scenario][cell.condition];
            let outcome = if succeeds { Outcome::Success } else { Outcome::TaskFail };
            let tokens = 1000 - 10 * cell.condition as u64;
            EpisodeRecord { outcome, ..episode(plan, index, tokens) }
        });
        Memory(rows.collect())
    }

    /// Returns the share of runs whose answer `is_wrong`.
    fn share(&self, is_wrong: fn(&Choice) -> bool) -> f64 {
        let world = *self;
        let run = move |seed: u64| {
            let plan = world.plan(seed);
            let rows = world.rows(&plan, &mut Draw(seed.wrapping_mul(7919)));
            let report = summarize(&rows, &manifest(&plan), Scope::Tables).unwrap();
            let Finding::Choice(choice) = &report.answer.findings[0] else { panic!("no choice") };
            u64::from(is_wrong(choice))
        };
        let part =
            |part: u64| std::thread::spawn(move || (0..RUNS).filter(|seed| seed % 2 == part).map(run).sum::<u64>());
        let wrong: u64 = [part(0), part(1)].into_iter().map(|thread| thread.join().unwrap()).sum();
        wrong as f64 / RUNS as f64
    }
}

/// Returns true if a condition is recommended that is not the first.
fn uses_a_worse_one(choice: &Choice) -> bool {
    choice.is_recommended && !choice.choice.condition.contains("0.jinja")
}

fn says_worse(choice: &Choice) -> bool {
    choice.others.iter().any(|other| other.gain.is_some_and(|gain| gain.is_worse()))
}

fn says_as_good(choice: &Choice) -> bool {
    let gains = choice.others.iter().filter_map(|other| other.gain).chain(choice.gain);
    gains.into_iter().any(|gain| gain.verdict == Verdict::AsGood)
}

#[expect(clippy::print_stdout, reason = "the table is what it is for")]
#[test]
#[ignore = "takes minutes"]
fn answer_rates() {
    let mut table =
        "| wrong answer | the others are | scenarios | conditions | runs |\n|---|---|---|---|---|\n".to_owned();
    let mut line = |said: &str, limit: f64, world: World, is_wrong: fn(&Choice) -> bool| {
        let place = match (world.points, world.losses) {
            (0, _) => "equal in the mean".to_owned(),
            (points, Losses::Everywhere) => format!("worse by {points} points everywhere"),
            (points, Losses::InFew) => format!("worse by {points} points in few scenarios"),
        };
        let share = world.share(is_wrong);
        let World { scenarios, conditions, .. } = world;
        writeln!(table, "| {said} | {place} | {scenarios} | {conditions} | {:.1}% |", 100.0 * share).unwrap();
        share <= limit
    };
    let mut is_within = true;
    for scenarios in [15, 36] {
        for conditions in [3, 4] {
            for losses in [Losses::Everywhere, Losses::InFew] {
                let world = World { scenarios, conditions, points: 8, losses };
                is_within &= line("\"Use\" one of them", 0.03, world, uses_a_worse_one);
            }
        }
    }
    for scenarios in [15, 36] {
        let world = World { scenarios, conditions: 12, points: 0, losses: Losses::Everywhere };
        is_within &= line("one \"is worse\"", 0.06, world, says_worse);
    }
    for scenarios in [36, 60] {
        for losses in [Losses::Everywhere, Losses::InFew] {
            let world = World { scenarios, conditions: 3, points: 8, losses };
            is_within &= line("one is \"as good\"", 0.06, world, says_as_good);
        }
    }
    println!("{table}");
    assert!(DOCS.contains(&table), "docs/statistics.md has other rates");
    assert!(is_within, "an answer is wrong too often");
}
