//! Effects of guardrails: the effect of each switch on success and on tokens, within the same scenario and trial.

use healbench_core::{Condition, ErrorFormat, GUARDRAILS, Guardrails, Plan};

use super::answer::Gain;
use super::block::Block;
use super::compute::mean_of_clusters;
use super::pairs::{Compared, Pairs};
use super::{Ablation, Difference, Effect};
use crate::statistics::Resamples;

/// The effects that a plan's guardrail sets allow to estimate, accumulated block by block.
pub(super) struct Effects {
    /// The designs, by error format.
    designs: Vec<(ErrorFormat, Designs)>,
    /// The sums by agent and contrast, in the order of the designs; each has one entry per block.
    sums: Vec<Vec<ContrastSums>>,
    contrasts: usize,
}

impl Effects {
    /// Creates the contrasts of a plan.
    pub(super) fn of(plan: &Plan) -> Effects {
        let designs: Vec<(ErrorFormat, Designs)> = formats(plan)
            .into_iter()
            .map(|format| (format.clone(), Designs::of(&conditions_by_guardrails(plan, &format))))
            .filter(|(_, designs)| !designs.is_empty())
            .collect();
        let contrasts = designs.iter().map(|(_, designs)| designs.all().count()).sum();
        Effects { designs, sums: vec![Vec::new(); plan.agents.len() * contrasts], contrasts }
    }

    /// Returns true if the plan allows no effect to be estimated.
    pub(super) fn is_empty(&self) -> bool {
        self.designs.is_empty()
    }

    /// Adds the episodes of a scenario and an agent.
    pub(super) fn add(&mut self, agent: usize, block: &Block) {
        let contrasts = self.designs.iter().flat_map(|(_, designs)| designs.all());
        for (sums, contrast) in self.sums[agent * self.contrasts..].iter_mut().zip(contrasts) {
            sums.push(block_sums(contrast, block));
        }
    }

    /// Returns the effects by agent and error format; empty if the plan shows none.
    pub(super) fn report(&self, plan: &Plan, pairs: &Pairs, resamples: &mut Resamples) -> Vec<Ablation> {
        let mut found: Vec<Ablation> = Vec::new();
        let mut sums = self.sums.iter();
        for (agent, spec) in plan.agents.iter().enumerate() {
            for (format, designs) in &self.designs {
                let mut effects = |contrasts: &[Contrast]| {
                    let each = contrasts.iter().zip(sums.by_ref());
                    let paired = |contrast| paired(contrast, pairs, agent);
                    each.map(|(contrast, sums)| effect(plan, contrast, sums, paired(contrast), resamples)).collect()
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

/// Returns the paired difference of a contrast between two conditions.
fn paired(contrast: &Contrast, pairs: &Pairs, agent: usize) -> Option<Compared> {
    match contrast.terms.as_slice() {
        [(with, true), (without, false)] => Some(pairs.get(agent, *with, *without)),
        _ => None,
    }
}

/// Returns the distinct error formats of the plan; `bare` only if there is no other.
pub(super) fn formats(plan: &Plan) -> Vec<ErrorFormat> {
    let mut formats = Vec::new();
    for condition in plan.conditions.iter().filter(|condition| condition.is_plain()) {
        if *condition.format() != ErrorFormat::Bare && !formats.contains(condition.format()) {
            formats.push(condition.format().clone());
        }
    }
    if formats.is_empty() { vec![ErrorFormat::Bare] } else { formats }
}

/// Returns the plan's condition with each guardrail set in this format, by [`Guardrails::bits`]. A set without
/// `healing` has no format, so its one condition is used for every format.
pub(super) fn conditions_by_guardrails(plan: &Plan, format: &ErrorFormat) -> [Option<usize>; Guardrails::SETS] {
    let unnamed = || plan.conditions.iter().filter(|condition| condition.is_plain());
    // Levels of content are compared elsewhere: these effects are those within the first one.
    let content = unnamed().find(|condition| condition.guardrails().healing).map(|condition| condition.values.content);
    // So are other changes of contracts.
    let contract = unnamed().map(|condition| &condition.values.contract).find(|contract| contract.shown);
    let fits = |condition: &Condition| {
        let is_first =
            contract.is_none_or(|first| !condition.values.contract.shown || condition.values.contract == *first);
        is_first
            && (*condition.format() == ErrorFormat::Bare
                || (condition.format() == format && content.is_none_or(|content| condition.values.content == content)))
    };
    let mut at = [None; Guardrails::SETS];
    for (index, condition) in plan.conditions.iter().enumerate() {
        // Named conditions differ in more than their guardrails.
        if condition.is_plain() && fits(condition) {
            at[condition.guardrails().bits()] = Some(index);
        }
    }
    at
}

/// A signed sum over the episodes of one scenario and trial, one episode per condition.
struct Contrast {
    /// The switches whose effect is estimated.
    switches: Guardrails,
    /// The plan's conditions; true if the episode is added, false if it is subtracted.
    terms: Vec<(usize, bool)>,
    /// The divisor of the sum.
    divisor: f64,
}

/// The contrasts that one error format's guardrail sets allow.
#[derive(Default)]
struct Designs {
    main: Vec<Contrast>,
    interactions: Vec<Contrast>,
    one_in: Vec<Contrast>,
    one_out: Vec<Contrast>,
}

const ALL: usize = Guardrails::SETS - 1;

impl Designs {
    fn of(at: &[Option<usize>; Guardrails::SETS]) -> Designs {
        let mut designs = Designs::default();
        let switches: Vec<usize> = (0..GUARDRAILS.len()).map(|bit| 1 << bit).collect();
        for (index, &switch) in switches.iter().enumerate() {
            designs.one_in.extend(difference(at, switch, switch, 0));
            designs.one_out.extend(difference(at, switch, ALL, ALL & !switch));
            designs.main.extend(factorial(at, &[switch]));
            let later = &switches[index + 1..];
            designs.interactions.extend(later.iter().filter_map(|other| factorial(at, &[switch, *other])));
        }
        designs
    }

    fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// Returns all contrasts in the order of the report.
    fn all(&self) -> impl Iterator<Item = &Contrast> {
        [&self.main, &self.interactions, &self.one_in, &self.one_out].into_iter().flatten()
    }
}

fn difference(at: &[Option<usize>; Guardrails::SETS], switch: usize, with: usize, without: usize) -> Option<Contrast> {
    let terms = vec![(at[with]?, true), (at[without]?, false)];
    Some(Contrast { switches: Guardrails::from_bits(switch), terms, divisor: 1.0 })
}

/// Returns the main effect of one switch, or the interaction of two. A set is added if an even number of these switches
/// is off. Half of the sets are added, so the sum divided by their number is a difference of two means.
fn factorial(at: &[Option<usize>; Guardrails::SETS], switches: &[usize]) -> Option<Contrast> {
    let added = |set: usize| switches.iter().filter(|switch| set & **switch == 0).count() % 2 == 0;
    let terms = (0..Guardrails::SETS).map(|set| Some((at[set]?, added(set)))).collect::<Option<Vec<_>>>()?;
    let bits = switches.iter().sum::<usize>();
    Some(Contrast { switches: Guardrails::from_bits(bits), terms, divisor: Guardrails::SETS as f64 / 2.0 })
}

/// The sums of a contrast over the trials of one scenario.
#[derive(Clone, Copy, Default)]
struct ContrastSums {
    matched: u64,
    unmatched: u64,
    success: i64,
    /// The matched trials of which all tokens are known, and their tokens.
    measured: u64,
    tokens: i64,
}

fn effect(
    plan: &Plan,
    contrast: &Contrast,
    sums: &[ContrastSums],
    paired: Option<Compared>,
    resamples: &mut Resamples,
) -> Effect {
    let mut difference = |of: fn(&ContrastSums) -> (i64, u64)| {
        let sums = sums.iter().map(|sums| (of(sums).0 as f64 / contrast.divisor, of(sums).1));
        mean_of_clusters(plan, sums, resamples)
    };
    let tokens = difference(|sums| (sums.tokens, sums.measured));
    let (success, gain) = match paired {
        Some(Compared { gain, method, .. }) => {
            (Difference { difference: gain.difference, interval: gain.interval, method }, gain)
        }
        None => {
            let mean = difference(|sums| (sums.success, sums.matched));
            (mean, Gain::of_interval(mean.difference, mean.interval))
        }
    };
    Effect {
        switches: contrast.switches,
        success,
        p_value: gain.p_value,
        p_adjusted: gain.p_adjusted,
        verdict: gain.verdict,
        tokens,
        scenarios: sums.iter().filter(|sums| sums.matched > 0).count() as u64,
        matched: sums.iter().map(|sums| sums.matched).sum(),
        unmatched: sums.iter().map(|sums| sums.unmatched).sum(),
    }
}

fn block_sums(contrast: &Contrast, block: &Block) -> ContrastSums {
    let mut sums = ContrastSums::default();
    for trial in block.trials() {
        let (mut met, mut scored, mut success, mut tokens) = (false, 0, 0, Some(0));
        for (condition, added) in &contrast.terms {
            let sign = if *added { 1 } else { -1 };
            let Some(values) = block.values(*condition, trial) else { continue };
            met = true;
            if values.scored {
                scored += 1;
                success += sign * i64::from(values.success);
                tokens = tokens.zip(values.spent).map(|(sum, spent)| sum + sign * spent.tokens as i64);
            }
        }
        if scored == contrast.terms.len() {
            sums.matched += 1;
            sums.success += success;
            sums.measured += u64::from(tokens.is_some());
            sums.tokens += tokens.unwrap_or_default();
        } else {
            sums.unmatched += u64::from(met);
        }
    }
    sums
}
