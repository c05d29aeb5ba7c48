use super::{Interval, two_sided_z};

/// Returns Wilson's score interval for a proportion, without continuity correction.
///
/// Returns `None` if `n` is 0, if there are more successes than trials, or if `confidence` is not between 0 and 1.
///
/// E. B. Wilson (1927), "Probable inference, the law of succession, and statistical inference", JASA 22, 209-212.
pub fn wilson(successes: u64, n: u64, confidence: f64) -> Option<Interval> {
    if n == 0 || successes > n {
        return None;
    }
    let z = two_sided_z(confidence)?;
    let (count, size) = (successes as f64, n as f64);
    let rate = count / size;
    let spread = z * z / size;
    let middle = (rate + spread / 2.0) / (1.0 + spread);
    let half = z / (1.0 + spread) * (rate * (1.0 - rate) / size + spread / (4.0 * size)).sqrt();
    // For no or only successes the end is exactly 0 or 1, without rounding errors.
    let lower = if successes == 0 { 0.0 } else { (middle - half).max(0.0) };
    let upper = if successes == n { 1.0 } else { (middle + half).min(1.0) };
    Some(Interval { lower, upper })
}
