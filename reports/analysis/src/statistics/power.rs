use statrs::distribution::{ContinuousCDF as _, Normal, StudentsT};

use super::{GATE_CONFIDENCE, fewest_clusters, tango::restricted_lost, two_sided_z};

/// The population that a planned test is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Population {
    /// The same scenarios, run again: pairs are independent.
    ThisSuite,
    /// Other scenarios, where the differences of a cluster's pairs have this intraclass correlation.
    OtherScenarios {
        /// Between 0 and 1.
        icc: f64,
    },
}

/// The pairs of a planned run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedPairs {
    /// The number of pairs.
    pub pairs: u64,
    /// The number of clusters of scenarios.
    pub clusters: u64,
    /// Σ m² / Σ m for m pairs in a cluster: their number if it is the same in all.
    pub cluster_size: f64,
}

impl PlannedPairs {
    /// Returns the pairs of `clusters` scenarios with `trials` trials each.
    pub fn of(clusters: u64, trials: u32) -> PlannedPairs {
        let pairs = clusters.saturating_mul(u64::from(trials));
        PlannedPairs { pairs, clusters, cluster_size: f64::from(trials) }
    }
}

/// A test of the difference of two paired proportions that is planned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedTest {
    pub difference: f64,
    /// The true share of discordant pairs.
    pub discordance: f64,
    /// The difference that the test has to rule out.
    pub tested: f64,
    /// The confidence of the test's interval.
    pub confidence: f64,
    /// The fewest independent clusters, or pairs, that can rule it out.
    pub fewest: u64,
}

impl PlannedTest {
    /// Returns a gate with this margin, whose candidate differs in a share of pairs but gains as many as it loses.
    ///
    /// Returns `None` unless the margin is above 0 and below 1, and the discordance within 0 and 1.
    pub fn gate(margin: f64, discordance: f64) -> Option<PlannedTest> {
        let fewest = fewest_clusters(margin).filter(|_| (0.0..=1.0).contains(&discordance))?;
        Some(PlannedTest { difference: 0.0, discordance, tested: -margin, confidence: GATE_CONFIDENCE, fewest })
    }

    /// Returns a comparison that has to show a true difference, a gain or a loss alike. The discordance is at least that
    /// difference.
    ///
    /// Returns `None` as [`PlannedTest::gate`], or unless `confidence` is between 0 and 1.
    pub fn comparison(difference: f64, discordance: f64, confidence: f64) -> Option<PlannedTest> {
        let is_valid = difference > 0.0 && difference < 1.0 && (0.0..=1.0).contains(&discordance);
        two_sided_z(confidence).filter(|_| is_valid)?;
        Some(PlannedTest { difference, discordance: discordance.max(difference), tested: 0.0, confidence, fewest: 2 })
    }

    /// Returns the probability that these pairs rule out the tested difference.
    ///
    /// The score of [`clustered_difference`](super::clustered_difference) is taken as normal, with the expected design
    /// effect 1 + (m - 1) ICC, as in J.-P. Liu, H.-M. Hsueh, E. Hsieh, J. J. Chen (2002), "Tests for equivalence or
    /// non-inferiority for paired binary data", Statistics in Medicine 21, 231-245. Simulations differ from it by a few
    /// points; `docs/statistics.md` has both.
    pub fn power(&self, pairs: PlannedPairs, population: Population) -> f64 {
        let (independent, effect) = match population {
            Population::ThisSuite => (pairs.pairs, 1.0),
            // Without any discordant pair the estimate of the correlation is 1.
            Population::OtherScenarios { .. } if self.discordance == 0.0 => (pairs.clusters, pairs.cluster_size),
            Population::OtherScenarios { icc } => (pairs.clusters, 1.0 + (pairs.cluster_size - 1.0) * icc),
        };
        if independent < self.fewest.max(2) {
            return 0.0;
        }
        let quantile = match population {
            Population::ThisSuite => two_sided_z(self.confidence),
            Population::OtherScenarios { .. } => {
                let t = StudentsT::new(0.0, 1.0, pairs.clusters as f64 - 1.0);
                t.ok().map(|t| t.inverse_cdf(0.5 + self.confidence / 2.0))
            }
        };
        let Some(quantile) = quantile else { return 0.0 };
        let [gained, lost] = [self.difference, -self.difference].map(|change| (self.discordance + change) / 2.0);
        let spread = (self.discordance - self.difference * self.difference).max(0.0).sqrt();
        let restricted = restricted_lost(gained, lost, self.tested);
        let spread_if_tested = (2.0 * restricted + self.tested * (1.0 - self.tested)).max(0.0).sqrt();
        let distance = (self.difference - self.tested) * (pairs.pairs as f64 / effect.max(1.0)).sqrt();
        let beyond = distance - quantile * spread_if_tested;
        match spread > 0.0 {
            true => Normal::standard().cdf(beyond / spread),
            false => f64::from(u8::from(beyond > 0.0)),
        }
    }

    /// Returns the smallest number of scenarios with which the test has this power at a number of trials.
    ///
    /// Returns `None` above ten million scenarios, and unless the power is between 0 and 1.
    pub fn scenarios_for(&self, trials: u32, population: Population, power: f64) -> Option<u64> {
        let is_enough = |scenarios: u64| self.power(PlannedPairs::of(scenarios, trials), population) >= power;
        if !(power > 0.0 && power < 1.0 && is_enough(MAX_SCENARIOS)) {
            return None;
        }
        let (mut too_few, mut enough) = (0, MAX_SCENARIOS);
        while enough - too_few > 1 {
            let middle = u64::midpoint(too_few, enough);
            if is_enough(middle) { enough = middle } else { too_few = middle }
        }
        Some(enough)
    }
}

const MAX_SCENARIOS: u64 = 10_000_000;
