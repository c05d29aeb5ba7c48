//! What each guardrail is worth: effects of the switches on success and on tokens, within the same scenario and trial.

use healbench_protocol::{ErrorFormat, Guardrails};
use healbench_record::Plan;

use super::block::Block;
use super::{Ablation, CONFIDENCE, Difference, Effect};
use crate::statistics::{ClusterSums, Resamples, bca_ratio};

/// The effects that the sets of guardrails in a plan show, added up block by block.
pub(super) struct Effects {
    /// By error format.
    designs: Vec<(ErrorFormat, Designs)>,
    /// By agent and contrast, in the order of the designs; in each, one entry a block.
    sums: Vec<Vec<Sums>>,
    contrasts: usize,
}

impl Effects {
    /// What there is to add up for a plan.
    pub(super) fn of(plan: &Plan) -> Effects {
        let designs: Vec<(ErrorFormat, Designs)> = formats(plan)
            .into_iter()
            .map(|format| (format.clone(), Designs::of(&conditions(plan, &format))))
            .filter(|(_, designs)| !designs.is_empty())
            .collect();
        let contrasts = designs.iter().map(|(_, designs)| designs.all().count()).sum();
        Effects { designs, sums: vec![Vec::new(); plan.agents.len() * contrasts], contrasts }
    }

    /// Whether the plan shows no effect.
    pub(super) fn is_empty(&self) -> bool {
        self.designs.is_empty()
    }

    /// Adds the episodes of a scenario and an agent.
    pub(super) fn add(&mut self, agent: usize, block: &Block) {
        let contrasts = self.designs.iter().flat_map(|(_, designs)| designs.all());
        for (sums, headline) in self.sums[agent * self.contrasts..].iter_mut().zip(contrasts) {
            sums.push(block_sums(headline, block));
        }
    }

    /// The effects, by agent and error format. Empty when the plan shows none.
    pub(super) fn report(&self, plan: &Plan, resamples: &mut Resamples) -> Vec<Ablation> {
        let mut found = Vec::new();
        let mut sums = self.sums.iter();
        for spec in &plan.agents {
            for (format, designs) in &self.designs {
                let mut effects = |contrasts: &[HeadlineConditions]| {
                    let each = contrasts.iter().zip(sums.by_ref());
                    each.map(|(headline, sums)| effect(headline, sums, resamples)).collect()
                };
                found.push(Ablation {
                    agent: spec.to_string(),
                    title: spec.title(),
                    format: format.clone(),
                    main: effects(&designs.main),
                    interactions: effects(&designs.interactions),
                    one_in: effects(&designs.one_in),
                    one_out: effects(&designs.one_out),
                });
            }
        }
        found
    }
}

/// The error formats of the plan, each once; `bare` only where there is no other.
fn formats(plan: &Plan) -> Vec<ErrorFormat> {
    let mut formats = Vec::new();
    for condition in &plan.conditions {
        if condition.format != ErrorFormat::Bare && !formats.contains(&condition.format) {
            formats.push(condition.format.clone());
        }
    }
    if formats.is_empty() { vec![ErrorFormat::Bare] } else { formats }
}

/// By [`Guardrails::bits`], which setting of the plan has this set in this format. Without `healing` there is no choice of a
/// format, and the one setting stands for all of them.
fn conditions(plan: &Plan, format: &ErrorFormat) -> [Option<usize>; 16] {
    let mut at = [None; 16];
    for (index, condition) in plan.conditions.iter().enumerate() {
        if condition.format == *format || condition.format == ErrorFormat::Bare {
            at[usize::from(condition.guardrails.bits())] = Some(index);
        }
    }
    at
}

/// A sum over the episodes of one scenario and trial, one a setting, each added or subtracted.
struct HeadlineConditions {
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
    main: Vec<HeadlineConditions>,
    interactions: Vec<HeadlineConditions>,
    one_in: Vec<HeadlineConditions>,
    one_out: Vec<HeadlineConditions>,
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
        self.all().next().is_none()
    }

    /// All contrasts, in the order in which they are reported.
    fn all(&self) -> impl Iterator<Item = &HeadlineConditions> {
        [&self.main, &self.interactions, &self.one_in, &self.one_out].into_iter().flatten()
    }
}

fn difference(at: &[Option<usize>; 16], switch: usize, with: usize, without: usize) -> Option<HeadlineConditions> {
    let terms = vec![(at[with]?, true), (at[without]?, false)];
    Some(HeadlineConditions { switches: Guardrails::from_bits(switch as u8), terms, divisor: 1.0 })
}

/// Of one switch its main effect, of two their interaction: a set is added where an even number of them is off. Half of the 16 sets
/// are added, so that either is a difference between two means of eight.
fn factorial(at: &[Option<usize>; 16], switches: &[usize]) -> Option<HeadlineConditions> {
    let added = |set: usize| switches.iter().filter(|switch| set & **switch == 0).count() % 2 == 0;
    let terms = (0..16).map(|set| Some((at[set]?, added(set)))).collect::<Option<Vec<_>>>()?;
    let bits = switches.iter().sum::<usize>() as u8;
    Some(HeadlineConditions { switches: Guardrails::from_bits(bits), terms, divisor: 8.0 })
}

/// The sums of a contrast over the trials of one scenario.
#[derive(Clone, Copy, Default)]
struct Sums {
    matched: u64,
    unmatched: u64,
    success: i64,
    tokens: i64,
}

fn effect(headline: &HeadlineConditions, sums: &[Sums], resamples: &mut Resamples) -> Effect {
    let matched: Vec<&Sums> = sums.iter().filter(|sums| sums.matched > 0).collect();
    let mut difference = |sum: fn(&Sums) -> i64| {
        let cluster = |sums: &&Sums| ClusterSums {
            numerator: sum(sums) as f64 / headline.divisor,
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
        switches: headline.switches,
        success: difference(|sums| sums.success),
        tokens: difference(|sums| sums.tokens),
        scenarios: matched.len() as u64,
        matched: matched.iter().map(|sums| sums.matched).sum(),
        unmatched: sums.iter().map(|sums| sums.unmatched).sum(),
    }
}

fn block_sums(headline: &HeadlineConditions, block: &Block) -> Sums {
    let mut sums = Sums::default();
    for trial in block.trials() {
        let (mut met, mut scored, mut success, mut tokens) = (false, 0, 0, 0);
        for (condition, added) in &headline.terms {
            let sign = if *added { 1 } else { -1 };
            let Some(slot) = block.slot(*condition, trial) else { continue };
            met = true;
            if slot.scored {
                scored += 1;
                success += sign * i64::from(slot.success);
                tokens += sign * slot.tokens as i64;
            }
        }
        if scored == headline.terms.len() {
            sums.matched += 1;
            sums.success += success;
            sums.tokens += tokens;
        } else {
            sums.unmatched += u64::from(met);
        }
    }
    sums
}
