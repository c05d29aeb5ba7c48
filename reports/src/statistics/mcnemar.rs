use statrs::distribution::{Binomial, Discrete as _, DiscreteCDF as _};

/// McNemar's test, two-sided mid-p: how likely discordant pairs are to fall at least as unevenly as they did when neither side is
/// better, half of the ties counted. 1 when there is no discordant pair.
///
/// M. W. Fagerland, S. Lydersen, P. Laake (2013), "The McNemar test for binary matched-pairs data: mid-p and asymptotic are better
/// than exact conditional", BMC Medical Research Methodology 13:91.
pub fn mcnemar_mid_p(gains: u64, losses: u64) -> f64 {
    let (fewer, discordant) = (gains.min(losses), gains + losses);
    match Binomial::new(0.5, discordant) {
        Ok(binomial) if discordant > 0 => (2.0 * binomial.cdf(fewer) - binomial.pmf(fewer)).clamp(0.0, 1.0),
        _ => 1.0,
    }
}
