use statrs::distribution::{Binomial, Discrete as _, DiscreteCDF as _};

/// Returns the two-sided mid-p value of McNemar's test: the probability that discordant pairs split at least as
/// unevenly if neither side is better, with equally uneven splits counted half. Returns 1 without discordant pairs.
///
/// M. W. Fagerland, S. Lydersen, P. Laake (2013), "The McNemar test for binary matched-pairs data: mid-p and asymptotic
/// are better than exact conditional", BMC Medical Research Methodology 13:91.
pub fn mcnemar_mid_p(gains: u64, losses: u64) -> f64 {
    let (fewer, discordant) = (gains.min(losses), gains + losses);
    match Binomial::new(0.5, discordant) {
        Ok(binomial) if discordant > 0 => (2.0 * binomial.cdf(fewer) - binomial.pmf(fewer)).clamp(0.0, 1.0),
        _ => 1.0,
    }
}
