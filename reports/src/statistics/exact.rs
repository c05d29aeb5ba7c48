//! The test that an end of Tango's interval stands for, in exact probabilities.

use std::f64::consts::FRAC_PI_2;

use statrs::distribution::{Binomial, DiscreteCDF as _};

use super::tango::score;

/// Up to this many pairs probabilities are summed up; beyond, the normal approximation has to do.
pub(super) const EXACT_PAIRS: u64 = 10_000;

/// How likely a pair is to be gained, and to be lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rates {
    pub(super) gained: f64,
    pub(super) lost: f64,
}

/// The tables of so many pairs that lie above a difference: whose score there is at least a given one.
pub(super) struct Above {
    difference: f64,
    /// By number of discordant pairs, the fewest gains among them; one more than there can be where no table lies above.
    fewest: Vec<usize>,
    /// The logarithms of factorials.
    factorials: Vec<f64>,
}

impl Above {
    pub(super) fn new(pairs: u64, difference: f64, least: f64) -> Above {
        let size = pairs as f64;
        let lies_above = |gains: usize, discordant: usize| {
            let (gained, lost) = (gains as f64 / size, (discordant - gains) as f64 / size);
            // The same score is found with other last digits.
            score(gained, lost, size, difference) >= least - 1e-9
        };
        let mut gains = 0;
        let mut fewest_of = |discordant: usize| {
            while gains <= discordant && !lies_above(gains, discordant) {
                gains += 1;
            }
            while gains > 0 && gains - 1 <= discordant && lies_above(gains - 1, discordant) {
                gains -= 1;
            }
            gains
        };
        let fewest = (0..=pairs as usize).map(&mut fewest_of).collect();
        let mut sum = 0.0;
        let factorials = (0..=pairs).map(|n| {
            sum += if n > 0 { (n as f64).ln() } else { 0.0 };
            sum
        });
        Above { difference, fewest, factorials: factorials.collect() }
    }

    /// How likely a table lies above when these are the rates.
    pub(super) fn probability(&self, rates: Rates) -> f64 {
        let pairs = self.fewest.len() - 1;
        let discordance = (rates.gained + rates.lost).min(1.0);
        let share = if discordance > 0.0 { (rates.gained / discordance).clamp(0.0, 1.0) } else { 0.5 };
        let (of_pairs, of_discordant) = (Shares::new(discordance), Shares::new(share));
        // Ten standard deviations off, nothing is left to add.
        let expected = pairs as f64 * discordance;
        let reach = 10.0 * (expected * (1.0 - discordance)).sqrt() + 40.0;
        let (first, last) = ((expected - reach).max(0.0) as usize, (expected + reach).min(pairs as f64) as usize);
        // How likely at least `gains` of the discordant pairs are gained, carried from one number of them to the next.
        let (mut gains, mut total) = (self.fewest[first], 0.0);
        let mut tail = at_least(gains, first, share);
        for discordant in first..=last {
            while gains < self.fewest[discordant] {
                tail -= self.binomial(discordant, gains, of_discordant);
                gains += 1;
            }
            while gains > self.fewest[discordant] {
                gains -= 1;
                tail += self.binomial(discordant, gains, of_discordant);
            }
            total += self.binomial(pairs, discordant, of_pairs) * tail;
            if gains > 0 {
                tail += share * self.binomial(discordant, gains - 1, of_discordant);
            }
        }
        total.clamp(0.0, 1.0)
    }

    fn binomial(&self, n: usize, k: usize, shares: Shares) -> f64 {
        if k > n {
            return 0.0;
        }
        // Nothing to the power of nothing is one.
        let power = |count: usize, logarithm: f64| if count == 0 { 0.0 } else { count as f64 * logarithm };
        let choices = self.factorials[n] - self.factorials[k] - self.factorials[n - k];
        (choices + power(k, shares.of) + power(n - k, shares.rest)).exp()
    }

    /// How likely a table lies above when the true difference is just this one: the most, over all that discordance may be.
    pub(super) fn size(&self) -> f64 {
        let least = self.difference.abs();
        // Steps of equal angle are equally many standard deviations apart: here about 0.4, so no peak lies between two.
        let steps = 32 + (8.0 * (self.fewest.len() as f64).sqrt()) as u32;
        let at = |step: u32| {
            let angle = FRAC_PI_2 * f64::from(step) / f64::from(steps);
            let discordance = least + (1.0 - least) * angle.sin().powi(2);
            let gained = f64::midpoint(discordance, self.difference);
            self.probability(Rates { gained, lost: discordance - gained })
        };
        (0..=steps).map(at).fold(0.0, f64::max)
    }
}

/// The logarithms of a share and of the rest.
#[derive(Debug, Clone, Copy)]
struct Shares {
    of: f64,
    rest: f64,
}

impl Shares {
    fn new(share: f64) -> Shares {
        Shares { of: share.ln(), rest: (1.0 - share).ln() }
    }
}

/// How likely at least `k` of `n` are of a kind that has this share.
fn at_least(k: usize, n: usize, share: f64) -> f64 {
    match Binomial::new(share, n as u64) {
        _ if k == 0 => 1.0,
        Ok(binomial) if k <= n => binomial.sf(k as u64 - 1),
        _ => 0.0,
    }
}

/// How likely, at most, a table that is as far above `difference` as this one is when that is the true difference.
pub(super) fn exact_p(gains: u64, losses: u64, pairs: u64, difference: f64) -> f64 {
    let size = pairs as f64;
    Above::new(pairs, difference, score(gains as f64 / size, losses as f64 / size, size, difference)).size()
}
