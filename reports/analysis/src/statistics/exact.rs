//! The exact unconditional form of the one-sided test behind each end of Tango's interval.

use std::f64::consts::FRAC_PI_2;

use statrs::distribution::{Binomial, DiscreteCDF as _};

use super::tango::score;

/// Up to this number of pairs, probabilities are summed exactly; above it, the normal approximation is used.
pub(super) const EXACT_PAIRS: u64 = 10_000;

/// The probabilities that a pair is a gain and that it is a loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rates {
    pub(super) gained: f64,
    pub(super) lost: f64,
}

/// The tables of a given number of pairs whose score at a given difference is at least a threshold.
pub(super) struct TailTables {
    difference: f64,
    /// The smallest number of gains in such a table, by number of discordant pairs; that number plus one if there is no
    /// such table.
    fewest: Vec<usize>,
    /// The logarithms of factorials.
    factorials: Vec<f64>,
}

impl TailTables {
    pub(super) fn new(pairs: u64, difference: f64, least: f64) -> TailTables {
        let size = pairs as f64;
        let lies_above = |gains: usize, discordant: usize| {
            let (gained, lost) = (gains as f64 / size, (discordant - gains) as f64 / size);
            // Rounding may change the last digits of an equal score.
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
        TailTables { difference, fewest, factorials: factorials.collect() }
    }

    /// Returns the probability of such a table at these rates.
    pub(super) fn probability(&self, rates: Rates) -> f64 {
        let pairs = self.fewest.len() - 1;
        let discordance = (rates.gained + rates.lost).min(1.0);
        let share = if discordance > 0.0 { (rates.gained / discordance).clamp(0.0, 1.0) } else { 0.5 };
        let (of_pairs, of_discordant) = (LogShares::new(discordance), LogShares::new(share));
        // Terms more than ten standard deviations from the mean are negligible.
        let expected = pairs as f64 * discordance;
        let reach = 10.0 * (expected * (1.0 - discordance)).sqrt() + 40.0;
        let (first, last) = ((expected - reach).max(0.0) as usize, (expected + reach).min(pairs as f64) as usize);
        // The probability of at least `gains` gains among the discordant pairs, updated from one number of discordant
        // pairs to the next.
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

    fn binomial(&self, n: usize, k: usize, shares: LogShares) -> f64 {
        if k > n {
            return 0.0;
        }
        // 0^0 is 1.
        let power = |count: usize, logarithm: f64| if count == 0 { 0.0 } else { count as f64 * logarithm };
        let choices = self.factorials[n] - self.factorials[k] - self.factorials[n - k];
        (choices + power(k, shares.share) + power(n - k, shares.rest)).exp()
    }

    /// Returns the probability of such a table if `difference` is the true difference: the maximum over the share of
    /// discordant pairs.
    pub(super) fn size(&self) -> f64 {
        let least = self.difference.abs();
        // Steps of equal angle are about 0.4 standard deviations apart, so no maximum is missed between two steps.
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

/// The logarithms of a share and of its complement.
#[derive(Debug, Clone, Copy)]
struct LogShares {
    share: f64,
    rest: f64,
}

impl LogShares {
    fn new(share: f64) -> LogShares {
        LogShares { share: share.ln(), rest: (1.0 - share).ln() }
    }
}

/// Returns the probability of at least `k` successes in `n` trials with success probability `share`.
fn at_least(k: usize, n: usize, share: f64) -> f64 {
    match Binomial::new(share, n as u64) {
        _ if k == 0 => 1.0,
        Ok(binomial) if k <= n => binomial.sf(k as u64 - 1),
        _ => 0.0,
    }
}

/// Returns the exact p-value: the largest probability of a table at least as far above `difference` if that is the true
/// difference.
pub(super) fn exact_p(gains: u64, losses: u64, pairs: u64, difference: f64) -> f64 {
    let size = pairs as f64;
    TailTables::new(pairs, difference, score(gains as f64 / size, losses as f64 / size, size, difference)).size()
}
