use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF as _};

use super::Interval;

/// A median and the order statistics around it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SignInterval {
    /// The median; for an even number of values, the mean of the middle two.
    pub median: f64,
    /// From the `r`-th smallest value to the `r`-th largest.
    pub interval: Interval,
    /// The probability that the interval contains the median of the distribution: at least the requested confidence.
    pub coverage: f64,
}

/// Returns the interval of medians that a sign test does not reject: the closest pair of symmetric order statistics
/// that reaches `confidence`. It is distribution-free.
///
/// Returns `None` if even the smallest and the largest value do not reach `confidence` (fewer than 6 values at 95%),
/// for values that are not finite, and if `confidence` is not between 0 and 1.
///
/// W. J. Conover (1999), "Practical nonparametric statistics", 3rd edition, section 3.2; M. Hollander, D. A. Wolfe
/// (1999), "Nonparametric statistical methods", 2nd edition, section 3.6.
pub fn sign_interval(values: &[f64], confidence: f64) -> Option<SignInterval> {
    if !(confidence > 0.0 && confidence < 1.0) || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (low, high) = (*sorted.get(sorted.len().checked_sub(1)? / 2)?, *sorted.get(sorted.len() / 2)?);
    let (rank, coverage) = closest_rank(sorted.len(), confidence)?;
    Some(SignInterval {
        median: f64::midpoint(low, high),
        interval: Interval { lower: sorted[rank - 1], upper: sorted[sorted.len() - rank] },
        coverage,
    })
}

/// Returns the largest rank from both ends that reaches this confidence, and its coverage.
fn closest_rank(count: usize, confidence: f64) -> Option<(usize, f64)> {
    let below = Binomial::new(0.5, count as u64).ok()?;
    // The median is outside if fewer than `rank` values are on one side of it.
    let coverage = |rank: usize| 1.0 - 2.0 * below.cdf(rank as u64 - 1);
    let (mut reaches, mut fails) = (0, count / 2 + 1);
    while fails - reaches > 1 {
        let middle = usize::midpoint(reaches, fails);
        if coverage(middle) >= confidence {
            reaches = middle;
        } else {
            fails = middle;
        }
    }
    (reaches > 0).then(|| (reaches, coverage(reaches)))
}
