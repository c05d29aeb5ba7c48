use super::{Interval, two_sided_z};

/// Returns Tango's score interval for the difference of two paired proportions, `(gains - losses) / pairs`.
///
/// `gains` are pairs with a success only on the first side, `losses` those with a success only on the second. Returns
/// `None` for fewer than two pairs, for more discordant pairs than pairs, or if `confidence` is not between 0 and 1.
///
/// T. Tango (1998), "Equivalence test and confidence interval for the difference in proportions for the paired-sample
/// design", Statistics in Medicine 17, 891-908. The interval contains the differences that the score test does not
/// reject.
pub fn tango(gains: u64, losses: u64, pairs: u64, confidence: f64) -> Option<Interval> {
    if pairs < 2 || gains.checked_add(losses)? > pairs {
        return None;
    }
    Some(interval_within(gains, losses, pairs, two_sided_z(confidence)?))
}

/// Returns the differences whose score is within `z` of 0.
pub(super) fn interval_within(gains: u64, losses: u64, pairs: u64, z: f64) -> Interval {
    let size = pairs as f64;
    let (gained, lost) = (gains as f64 / size, losses as f64 / size);
    let estimate = gained - lost;
    // The score falls from above z at -1 to below -z at 1, and is 0 at the estimate.
    let crossing = |mut high: f64, mut low: f64, target: f64| {
        // Each step halves the bracket: after 100 its ends are adjacent floating-point numbers.
        for _ in 0..100 {
            let middle = f64::midpoint(high, low);
            if score(gained, lost, size, middle) > target {
                high = middle;
            } else {
                low = middle;
            }
        }
        (high, low)
    };
    // The end of the last bracket that is further from the estimate.
    let lower = if losses == pairs { -1.0 } else { crossing(-1.0, estimate, z).0 };
    let upper = if gains == pairs { 1.0 } else { crossing(estimate, 1.0, -z).1 };
    Interval { lower, upper }
}

/// Returns the number of standard errors by which the estimate exceeds `difference`. The standard error is that of the
/// maximum-likelihood table with this difference.
pub(super) fn score(gained: f64, lost: f64, size: f64, difference: f64) -> f64 {
    let distance = gained - lost - difference;
    let variance = 2.0 * restricted_lost(gained, lost, difference) + difference * (1.0 - difference);
    if variance <= 0.0 {
        // The variance is 0 only at a difference of -1 or 1.
        return if distance == 0.0 { 0.0 } else { distance.signum() * f64::INFINITY };
    }
    distance * (size / variance).sqrt()
}

/// Returns the maximum-likelihood share of losses among tables with the given difference: the larger root of Tango's
/// quadratic, divided by the number of pairs.
pub(super) fn restricted_lost(gained: f64, lost: f64, difference: f64) -> f64 {
    let b = (2.0 - gained + lost) * difference - gained - lost;
    let c = -lost * difference * (1.0 - difference);
    let root = (b * b - 8.0 * c).max(0.0).sqrt();
    // The usual form of the root would subtract two nearly equal numbers if b is positive.
    if b > 0.0 { -2.0 * c / (b + root) } else { (root - b) / 4.0 }
}
