//! What each guardrail is worth: effects of the switches on success and on tokens, within the same scenario and trial.

use healbench_protocol::{ErrorFormat, Guardrails};
use healbench_record::{CellRef, Plan};
use polars::prelude::{DataFrame, LazyFrame, PolarsError};

use super::queries as ask;
use super::{Ablation, CONFIDENCE, Difference, Effect, ReportError};
use crate::columns::{EPISODE, SCHEDULE_HASH};
use crate::statistics::{ClusterSums, Resamples, bca_ratio};

/// The effects that the sets of guardrails in the plan show, by agent and error format. Empty when they show none.
pub(super) fn ablation(plan: &Plan, episodes: LazyFrame, calls: LazyFrame) -> Result<Vec<Ablation>, ReportError> {
    let designs: Vec<(ErrorFormat, Designs)> = formats(plan)
        .into_iter()
        .map(|format| (format.clone(), Designs::of(&settings(plan, &format))))
        .filter(|(_, designs)| !designs.is_empty())
        .collect();
    if designs.is_empty() {
        return Ok(Vec::new());
    }
    let played = played(plan, episodes, calls)?;
    let mut resamples = Resamples::new(plan.seed);
    let mut found = Vec::new();
    for (agent, spec) in plan.agents.iter().enumerate() {
        for (format, designs) in &designs {
            let mut effects = |contrasts: &[Contrast]| {
                let effect = |contrast| effect(contrast, plan, agent, &played, &mut resamples);
                contrasts.iter().map(effect).collect()
            };
            found.push(Ablation {
                agent: spec.to_string(),
                format: format.clone(),
                main: effects(&designs.main),
                interactions: effects(&designs.interactions),
                one_in: effects(&designs.one_in),
                one_out: effects(&designs.one_out),
            });
        }
    }
    Ok(found)
}

/// The error formats of the plan, each once; `bare` only where there is no other.
fn formats(plan: &Plan) -> Vec<ErrorFormat> {
    let mut formats = Vec::new();
    for setting in &plan.settings {
        if setting.format != ErrorFormat::Bare && !formats.contains(&setting.format) {
            formats.push(setting.format.clone());
        }
    }
    if formats.is_empty() { vec![ErrorFormat::Bare] } else { formats }
}

/// By [`Guardrails::bits`], which setting of the plan has this set in this format. Without `healing` there is no choice of a
/// format, and the one setting stands for all of them.
fn settings(plan: &Plan, format: &ErrorFormat) -> [Option<usize>; 16] {
    let mut at = [None; 16];
    for (index, setting) in plan.settings.iter().enumerate() {
        if setting.format == *format || setting.format == ErrorFormat::Bare {
            at[usize::from(setting.guardrails.bits())] = Some(index);
        }
    }
    at
}

/// A sum over the episodes of one scenario and trial, one a setting, each added or subtracted.
struct Contrast {
    /// The switches whose effect it is.
    switches: Guardrails,
    /// Settings of the plan, and whether they are added.
    terms: Vec<(usize, bool)>,
    /// What the sum is divided by.
    divisor: f64,
}

/// What one error format's sets of guardrails can show.
#[derive(Default)]
struct Designs {
    main: Vec<Contrast>,
    interactions: Vec<Contrast>,
    one_in: Vec<Contrast>,
    one_out: Vec<Contrast>,
}

const SWITCHES: [usize; 4] = [1, 2, 4, 8];
const ALL: usize = 15;

impl Designs {
    fn of(at: &[Option<usize>; 16]) -> Designs {
        let mut designs = Designs::default();
        for (place, switch) in SWITCHES.into_iter().enumerate() {
            designs.one_in.extend(difference(at, switch, switch, 0));
            designs.one_out.extend(difference(at, switch, ALL, ALL & !switch));
            designs.main.extend(factorial(at, &[switch]));
            let later = &SWITCHES[place + 1..];
            designs.interactions.extend(later.iter().filter_map(|other| factorial(at, &[switch, *other])));
        }
        designs
    }

    fn is_empty(&self) -> bool {
        [&self.main, &self.interactions, &self.one_in, &self.one_out].iter().all(|contrasts| contrasts.is_empty())
    }
}

fn difference(at: &[Option<usize>; 16], switch: usize, with: usize, without: usize) -> Option<Contrast> {
    let terms = vec![(at[with]?, true), (at[without]?, false)];
    Some(Contrast { switches: Guardrails::from_bits(switch as u8), terms, divisor: 1.0 })
}

/// Of one switch its main effect, of two their interaction: a set is added where an even number of them is off. Half of the 16 sets
/// are added, so that either is a difference between two means of eight.
fn factorial(at: &[Option<usize>; 16], switches: &[usize]) -> Option<Contrast> {
    let added = |set: usize| switches.iter().filter(|switch| set & **switch == 0).count() % 2 == 0;
    let terms = (0..16).map(|set| Some((at[set]?, added(set)))).collect::<Option<Vec<_>>>()?;
    let bits = switches.iter().sum::<usize>() as u8;
    Some(Contrast { switches: Guardrails::from_bits(bits), terms, divisor: 8.0 })
}

/// What is known of an episode of the plan.
#[derive(Clone, Copy)]
enum Played {
    Not,
    Unscored,
    Scored { success: bool, tokens: u64 },
}

/// Every episode of the plan, by its index.
fn played(plan: &Plan, episodes: LazyFrame, calls: LazyFrame) -> Result<Vec<Played>, ReportError> {
    let called = tokens_of_calls(plan, calls)?;
    let frame = ask::scores(episodes).collect()?;
    let flags = |name| Ok::<_, PolarsError>(frame.column(name)?.bool()?.iter().map(|flag| flag == Some(true)));
    let hashes = frame.column(SCHEDULE_HASH)?.str()?.iter();
    let scores = flags(ask::IS_SCORED)?.zip(flags(ask::IS_SUCCESS)?);
    let rows = numbers(&frame, EPISODE)?.zip(numbers(&frame, ask::PROSE)?).zip(scores.zip(hashes));

    let mut played = vec![Played::Not; called.len()];
    let trials = plan.trials as usize;
    // By scenario, agent and trial.
    let mut schedules = vec![None; plan.scenarios.len() * plan.agents.len() * trials];
    for ((episode, prose), ((scored, success), hash)) in rows {
        let index = episode as usize;
        if !scored {
            played[index] = Played::Unscored;
            continue;
        }
        played[index] = Played::Scored { success, tokens: called[index] + prose };
        let place = index / (plan.settings.len() * trials) * trials + index % trials;
        if *schedules[place].get_or_insert(hash) != hash {
            return Err(mismatch(plan, episode));
        }
    }
    Ok(played)
}

/// The tokens of each episode's calls and their responses, by its index in the plan.
fn tokens_of_calls(plan: &Plan, calls: LazyFrame) -> Result<Vec<u64>, PolarsError> {
    let frame = ask::call_tokens(calls).collect()?;
    let mut sums = vec![0; plan.len() as usize];
    for (episode, tokens) in numbers(&frame, EPISODE)?.zip(numbers(&frame, ask::TOKENS)?) {
        if let Some(sum) = sums.get_mut(episode as usize) {
            *sum += tokens;
        }
    }
    Ok(sums)
}

fn numbers<'a>(frame: &'a DataFrame, name: &str) -> Result<impl Iterator<Item = u64> + use<'a>, PolarsError> {
    Ok(frame.column(name)?.u64()?.iter().map(Option::unwrap_or_default))
}

fn mismatch(plan: &Plan, episode: u64) -> ReportError {
    let cell = plan.cell(episode).unwrap_or(CellRef { scenario: 0, agent: 0, setting: 0, trial: 0 });
    ReportError::Schedules {
        agent: plan.agents[cell.agent].to_string(),
        scenario: plan.scenarios[cell.scenario].id.clone(),
        trial: cell.trial,
        guardrails: plan.settings[cell.setting].guardrails.to_string(),
        episode,
    }
}

/// The sums of a contrast over the trials of one scenario.
#[derive(Clone, Copy, Default)]
struct Sums {
    matched: u64,
    unmatched: u64,
    success: i64,
    tokens: i64,
}

fn effect(contrast: &Contrast, plan: &Plan, agent: usize, played: &[Played], resamples: &mut Resamples) -> Effect {
    let sums: Vec<Sums> =
        (0..plan.scenarios.len()).map(|scenario| scenario_sums(contrast, plan, agent, scenario, played)).collect();
    let matched: Vec<&Sums> = sums.iter().filter(|sums| sums.matched > 0).collect();
    let mut difference = |sum: fn(&Sums) -> i64| {
        let cluster = |sums: &&Sums| ClusterSums {
            numerator: sum(sums) as f64 / contrast.divisor,
            denominator: sums.matched as f64,
        };
        let clusters: Vec<ClusterSums> = matched.iter().map(cluster).collect();
        let total: f64 = clusters.iter().map(|cluster| cluster.numerator).sum();
        let count: f64 = clusters.iter().map(|cluster| cluster.denominator).sum();
        Difference {
            difference: (count > 0.0).then(|| total / count),
            interval: bca_ratio(&clusters, resamples, CONFIDENCE),
        }
    };
    Effect {
        switches: contrast.switches,
        success: difference(|sums| sums.success),
        tokens: difference(|sums| sums.tokens),
        scenarios: matched.len() as u64,
        matched: matched.iter().map(|sums| sums.matched).sum(),
        unmatched: sums.iter().map(|sums| sums.unmatched).sum(),
    }
}

fn scenario_sums(contrast: &Contrast, plan: &Plan, agent: usize, scenario: usize, played: &[Played]) -> Sums {
    let first = |setting| plan.episode(CellRef { scenario, agent, setting, trial: 0 }) as usize;
    let starts: Vec<(usize, bool)> = contrast.terms.iter().map(|(setting, added)| (first(*setting), *added)).collect();
    let mut sums = Sums::default();
    for trial in 0..plan.trials as usize {
        let (mut met, mut scored, mut success, mut tokens) = (false, 0, 0, 0);
        for (start, added) in &starts {
            let sign = if *added { 1 } else { -1 };
            match played[start + trial] {
                Played::Not => {}
                Played::Unscored => met = true,
                Played::Scored { success: ok, tokens: used } => {
                    met = true;
                    scored += 1;
                    success += sign * i64::from(ok);
                    tokens += sign * used as i64;
                }
            }
        }
        if scored == starts.len() {
            sums.matched += 1;
            sums.success += success;
            sums.tokens += tokens;
        } else {
            sums.unmatched += u64::from(met);
        }
    }
    sums
}
