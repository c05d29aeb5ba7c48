use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::{ClusterSums, Interval};

/// The count, sum and sum of squares of whole numbers, without rounding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moments {
    /// The number of numbers.
    pub count: u64,
    pub sum: u128,
    /// The sum of their squares.
    pub squares: u128,
}

impl Moments {
    pub fn add(&mut self, number: u64) {
        self.count += 1;
        self.sum += u128::from(number);
        self.squares += u128::from(number) * u128::from(number);
    }

    /// Returns the mean; `None` without a number.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns Student's interval of the mean; `None` for fewer than two numbers, and if `confidence` is not between 0
    /// and 1. If all numbers are equal, both ends are that number.
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        if self.count < 2 || !(confidence > 0.0 && confidence < 1.0) {
            return None;
        }
        let (mean, count) = (self.mean()?, self.count as f64);
        // n Σx² - (Σx)² is never negative, and exact in integers.
        let spread = (u128::from(self.count) * self.squares).saturating_sub(self.sum * self.sum);
        let error = (spread as f64 / (count * (count - 1.0)) / count).sqrt();
        let t = StudentsT::new(0.0, 1.0, count - 1.0).ok()?.inverse_cdf(0.5 + confidence / 2.0);
        Some(Interval { lower: mean - t * error, upper: mean + t * error })
    }
}

/// A mean over clusters that are a sample of more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClusteredMean {
    pub interval: Interval,
    /// The two-sided p-value of a mean of 0.
    pub p_value: f64,
}

/// A stratum of fewer clusters cannot tell how these vary.
const FEWEST_IN_STRATUM: usize = 5;

/// Returns the clusters by stratum, with those of small strata together; all together if a single one is left.
pub(super) fn strata<'a>(clusters: &[&'a ClusterSums]) -> Vec<Vec<&'a ClusterSums>> {
    let mut found: BTreeMap<u32, Vec<&ClusterSums>> = BTreeMap::new();
    clusters.iter().for_each(|cluster| found.entry(cluster.stratum).or_default().push(cluster));
    let (small, mut strata): (Vec<_>, Vec<_>) =
        found.into_values().partition(|stratum| stratum.len() < FEWEST_IN_STRATUM);
    let rest = small.concat();
    match rest.len() {
        0 => {}
        1 => return vec![clusters.to_vec()],
        _ => strata.push(rest),
    }
    strata
}

/// Returns the interval and the test of Σ xₛ / Σ nₛ for clusters with the sum xₛ of nₛ values: what a new sample of as many
/// clusters from each stratum would show.
///
/// The squared standard error is the sum over strata of aₕ / (Σ nₛ)² with aₕ = S / (S - 1) · Σ (xₛ - nₛ · mean)² for the S clusters
/// and the mean of a stratum; the degrees of freedom are (Σ aₕ)² / Σ (aₕ² / (S - 1)). Strata of fewer than five clusters are taken together. With one
/// stratum and equally many values in all clusters this is Student's interval of the clusters' means.
///
/// F. E. Satterthwaite (1946), "An approximate distribution of estimates of variance components", Biometrics Bulletin 2, 110-114;
/// W. G. Cochran (1977), "Sampling Techniques", 3rd edition, section 5.4.
///
/// Returns `None` for fewer than two clusters with values, if all clusters have the same mean, so that nothing tells how much others
/// would differ, or if `confidence` is not between 0 and 1.
pub fn clustered_mean(clusters: &[ClusterSums], confidence: f64) -> Option<ClusteredMean> {
    let used: Vec<&ClusterSums> = clusters.iter().filter(|cluster| cluster.denominator > 0.0).collect();
    if used.len() < 2 || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let total = |clusters: &[&ClusterSums], of: fn(&ClusterSums) -> f64| clusters.iter().copied().map(of).sum::<f64>();
    let values = total(&used, |cluster| cluster.denominator);
    let mean = total(&used, |cluster| cluster.numerator) / values;
    let (mut spread, mut spread_of_spread) = (0.0, 0.0);
    for stratum in strata(&used) {
        let degrees = stratum.len() as f64 - 1.0;
        let mean = total(&stratum, |cluster| cluster.numerator) / total(&stratum, |cluster| cluster.denominator);
        let squares: f64 = stratum.iter().map(|cluster| (cluster.numerator - cluster.denominator * mean).powi(2)).sum();
        let a = (degrees + 1.0) / degrees * squares;
        spread += a;
        spread_of_spread += a * a / degrees;
    }
    let error = spread.sqrt() / values;
    // Rounding may leave a trace of a sum of squares that is 0.
    if error < 1e-12 {
        return None;
    }
    let t = StudentsT::new(0.0, 1.0, spread * spread / spread_of_spread).ok()?;
    let width = t.inverse_cdf(0.5 + confidence / 2.0) * error;
    Some(ClusteredMean {
        interval: Interval { lower: mean - width, upper: mean + width },
        p_value: (2.0 * t.cdf(-(mean / error).abs())).min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[u64]) -> Moments {
        let mut moments = Moments::default();
        numbers.iter().for_each(|number| moments.add(*number));
        moments
    }

    #[test]
    fn intervals_are_those_of_scipy() {
        // scipy 1.17.1: stats.t.interval(0.95, n - 1, mean, s / sqrt(n)).
        let table: [(&[u64], f64, f64); 3] = [
            (&[1, 2, 3, 4, 5], 1.036_756_838_522_438, 4.963_243_161_477_562),
            (&[0, 0, 1, 7], -3.356_855_362_714_159, 7.356_855_362_714_159),
            (&[10, 12], -1.706_204_736_174_698, 23.706_204_736_174_698),
        ];
        for (numbers, lower, upper) in table {
            let found = of(numbers).interval(0.95).unwrap();
            assert!((found.lower - lower).abs() < 1e-6 && (found.upper - upper).abs() < 1e-6, "{numbers:?} {found:?}");
        }
    }

    #[test]
    fn few_numbers_have_no_interval() {
        assert_eq!((of(&[]).mean(), of(&[]).interval(0.95), of(&[3]).interval(0.95)), (None, None, None));
        assert_eq!(of(&[3, 4]).interval(1.0), None);
        let same = of(&[5_000_000; 20]).interval(0.95).unwrap();
        assert_eq!((same.lower, same.upper), (5e6, 5e6));
    }
    fn clusters(sums: &[[f64; 2]]) -> Vec<ClusterSums> {
        sums.iter()
            .map(|[numerator, denominator]| ClusterSums {
                numerator: *numerator,
                denominator: *denominator,
                stratum: 0,
            })
            .collect()
    }

    #[test]
    fn clustered_means_are_those_of_scipy() {
        // scipy: stats.t.interval(0.95, 5, means.mean(), stats.sem(means)) and stats.ttest_1samp(means, 0) of
        // sums / 20; for unequal clusters the formula with stats.t.ppf and stats.t.sf.
        let equal = clusters(&[[3.0, 20.0], [-1.0, 20.0], [0.0, 20.0], [20.0, 20.0], [7.0, 20.0], [-4.0, 20.0]]);
        let unequal = clusters(&[[3.0, 20.0], [-1.0, 5.0], [0.0, 12.0], [20.0, 20.0], [0.0, 0.0], [-4.0, 7.0]]);
        let table = [
            (equal, [-0.243_554_027, 0.660_220_694, 0.289_224_589]),
            (unequal, [-0.510_304_098, 1.072_804_098, 0.379_732_161]),
        ];
        for (sums, expected) in table {
            let found = clustered_mean(&sums, 0.95).unwrap();
            let numbers = [found.interval.lower, found.interval.upper, found.p_value];
            for (found, expected) in numbers.into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "{numbers:?}");
            }
        }
    }

    /// Computed with Python's fractions; Student's quantile by numeric integration of its density.
    #[test]
    fn strata_have_fixed_shares() {
        let numbers = [3, -1, 0, 2, 1, 20, 17, 14, 18, 16];
        let of = |number: &i32| ClusterSums { numerator: f64::from(*number), denominator: 20.0, stratum: 0 };
        let mut sums: Vec<ClusterSums> = numbers.iter().map(of).collect();
        let together = clustered_mean(&sums, 0.95).unwrap();
        sums[5..].iter_mut().for_each(|cluster| cluster.stratum = 1);
        let found = clustered_mean(&sums, 0.95).unwrap();
        // Squares 10 and 20: a = 5/4 · 10 = 12.5 and 25; error √37.5 / 200; 37.5² / (12.5² / 4 + 25² / 4) = 7.2 degrees of freedom.
        let width = (found.interval.upper - found.interval.lower) / 2.0;
        assert!((width - 0.071_996).abs() < 1e-6, "{width}");
        assert!(width < (together.interval.upper - together.interval.lower) / 4.0, "families explain the spread");
        // Few clusters of a stratum cannot tell how it varies.
        sums.iter_mut().zip(0..).for_each(|(cluster, at)| cluster.stratum = at / 4);
        assert_eq!(clustered_mean(&sums, 0.95), Some(together));
    }

    #[test]
    fn clusters_that_do_not_differ_have_no_interval() {
        assert_eq!(clustered_mean(&clusters(&[[3.0, 20.0]]), 0.95), None);
        assert_eq!(clustered_mean(&clusters(&[[3.0, 20.0], [0.0, 0.0]]), 0.95), None);
        assert_eq!(clustered_mean(&clusters(&[[2.0, 20.0], [1.0, 10.0]]), 0.95), None);
        assert_eq!(clustered_mean(&clusters(&[[3.0, 20.0], [0.0, 20.0]]), 1.0), None);
    }
}
