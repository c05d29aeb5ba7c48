//! The test that an end of Tango's interval stands for, in exact probabilities.

use super::tango::score;

/// Up to this many pairs probabilities are summed up; beyond, the normal approximation has to do.
pub(super) const EXACT_PAIRS: u64 = 10_000;

/// How many discordances are looked at to find the one at which a test errs most often.
const DISCORDANCES: u32 = 200;

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
        let expected = pairs as f64 * discordance;
        // Ten standard deviations on, nothing is left to add.
        let last = (expected + 10.0 * expected.sqrt() + 40.0).min(pairs as f64) as usize;
        // How likely at least `gains` of the discordant pairs are gained, carried from one number of them to the next.
        let (mut gains, mut tail, mut total) = (0, 1.0, 0.0);
        for discordant in 0..=last {
            while gains < self.fewest[discordant] {
                tail -= self.binomial(discordant, gains, share);
                gains += 1;
            }
            while gains > self.fewest[discordant] {
                gains -= 1;
                tail += self.binomial(discordant, gains, share);
            }
            total += self.binomial(pairs, discordant, discordance) * tail;
            if gains > 0 {
                tail += share * self.binomial(discordant, gains - 1, share);
            }
        }
        total.clamp(0.0, 1.0)
    }

    fn binomial(&self, n: usize, k: usize, share: f64) -> f64 {
        if k > n {
            return 0.0;
        }
        // Nothing to the power of nothing is one.
        let power = |count: usize, base: f64| if count == 0 { 0.0 } else { count as f64 * base.ln() };
        let choices = self.factorials[n] - self.factorials[k] - self.factorials[n - k];
        (choices + power(k, share) + power(n - k, 1.0 - share)).exp()
    }

    /// How likely a table lies above when the true difference is just this one: the most, over all that discordance may be.
    pub(super) fn size(&self) -> f64 {
        let least = self.difference.abs();
        let at = |step: u32| {
            // Closer together where fewer pairs are discordant, and the probability moves faster.
            let discordance = least + (1.0 - least) * (f64::from(step) / f64::from(DISCORDANCES)).powi(2);
            let gained = f64::midpoint(discordance, self.difference);
            self.probability(Rates { gained, lost: discordance - gained })
        };
        (0..=DISCORDANCES).map(at).fold(0.0, f64::max)
    }
}

/// How likely, at most, a table that is as far above `difference` as this one is when that is the true difference.
pub(super) fn exact_p(gains: u64, losses: u64, pairs: u64, difference: f64) -> f64 {
    let size = pairs as f64;
    Above::new(pairs, difference, score(gains as f64 / size, losses as f64 / size, size, difference)).size()
}
