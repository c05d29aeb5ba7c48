use statrs::distribution::{Beta, ContinuousCDF as _};

use super::Interval;

/// Returns Clopper and Pearson's exact interval for a proportion. Its coverage is at least `confidence` for every true
/// proportion.
///
/// Returns `None` if `n` is 0, if there are more successes than trials, or if `confidence` is not between 0 and 1.
///
/// C. J. Clopper, E. S. Pearson (1934), "The use of confidence or fiducial limits illustrated in the case of the
/// binomial", Biometrika 26, 404-413, by quantiles of the beta distribution.
pub fn clopper_pearson(successes: u64, n: u64, confidence: f64) -> Option<Interval> {
    if n == 0 || successes > n || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    let (count, failures) = (successes as f64, (n - successes) as f64);
    // With only successes or only failures, the quantile has a closed form.
    let lower = match (successes, n - successes) {
        (0, _) => 0.0,
        (_, 0) => tail.powf(1.0 / count),
        _ => Beta::new(count, failures + 1.0).ok()?.inverse_cdf(tail),
    };
    let upper = match (n - successes, successes) {
        (0, _) => 1.0,
        (_, 0) => 1.0 - tail.powf(1.0 / failures),
        _ => Beta::new(count + 1.0, failures).ok()?.inverse_cdf(1.0 - tail),
    };
    Some(Interval { lower, upper })
}
