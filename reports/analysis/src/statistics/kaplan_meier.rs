use std::collections::BTreeMap;

use super::two_sided_z;

/// Error chains that ended after the same number of retries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndedChains {
    /// The number of chains that were fixed.
    pub fixed: u64,
    /// The number of chains left unfixed: a wrong repair ended them, the agent gave up, or the episode ended.
    pub censored: u64,
}

/// A median of counts, with its interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Median {
    /// The smallest number of attempts within which at least half of the chains are fixed; null if there is none.
    pub median: Option<u32>,
    /// The lower end of the interval; null if it is not reached.
    pub lower: Option<u32>,
    /// The upper end of the interval; null if it is not reached.
    pub upper: Option<u32>,
}

/// The tolerance for rounding in a survival share that is exactly one half.
const ROUNDING: f64 = 1e-12;

/// Returns the median number of retries until a chain is fixed, with unfixed chains as censored. Chains fixed and
/// censored after the same number of retries count as censored after it.
///
/// The median is the smallest number of retries at which the survival function of E. L. Kaplan and P. Meier (1958),
/// "Nonparametric estimation from incomplete observations", JASA 53, 457-481, is at most one half. Its interval is that
/// of R. Brookmeyer and J. Crowley (1982), "A confidence interval for the median survival time", Biometrics 38, 29-41,
/// with Greenwood's variance on the scale of log(-log S). Where survival is 0 the variance is undefined and both bounds
/// are 0, as in lifelines.
///
/// All fields are `None` without a chain; the bounds are `None` for fewer than two chains, or if `confidence` is not
/// between 0 and 1.
pub fn kaplan_meier_median(ended: &BTreeMap<u32, EndedChains>, confidence: f64) -> Median {
    let chains: u64 = ended.values().map(|ended| ended.fixed + ended.censored).sum();
    let curve = survival(ended, chains);
    // Survival never rises, but its bounds can: they count as crossed only where they stay so to the end.
    let crossed = |share: &dyn Fn(&Step) -> f64| {
        let half = |step: &&Step| share(step) <= 0.5 + ROUNDING;
        curve.last().filter(half)?;
        curve.iter().find(half).map(|step| step.retries)
    };
    let bound = |z: f64| crossed(&|step: &Step| step.bound(z));
    let (lower, upper) = match two_sided_z(confidence) {
        Some(z) if chains >= 2 => (bound(z), bound(-z)),
        _ => (None, None),
    };
    Median { median: crossed(&|step| step.survival), lower, upper }
}

/// A step of the survival function.
struct Step {
    retries: u32,
    survival: f64,
    /// Greenwood's sum: the variance of log S.
    variance: f64,
}

impl Step {
    /// Returns the lower bound of survival for a positive `z`, the upper one for a negative `z`.
    fn bound(&self, z: f64) -> f64 {
        if self.survival <= 0.0 || self.survival >= 1.0 {
            return self.survival;
        }
        let hazard = -self.survival.ln();
        (-(hazard.ln() + z * self.variance.sqrt() / hazard).exp()).exp()
    }
}

fn survival(ended: &BTreeMap<u32, EndedChains>, chains: u64) -> Vec<Step> {
    let (mut at_risk, mut survival, mut variance) = (chains as f64, 1.0, 0.0);
    let step = |(retries, ended): (&u32, &EndedChains)| {
        let fixed = ended.fixed as f64;
        let left = at_risk - fixed;
        if ended.fixed > 0 {
            survival *= left / at_risk;
            variance += fixed / (at_risk * left);
        }
        at_risk = left - ended.censored as f64;
        Step { retries: *retries, survival, variance }
    };
    ended.iter().map(step).collect()
}
