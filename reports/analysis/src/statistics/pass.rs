use super::{Interval, Resamples, bca_mean};

/// The scored trials of one scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trials {
    /// The number of scored trials.
    pub trials: u64,
    /// The number of successful trials.
    pub successes: u64,
}

/// Returns pass@k: the probability that at least one of `k` trials succeeds, as a mean over scenarios.
///
/// For a scenario with `c` successes in `n` trials this is 1 - C(n - c, k) / C(n, k), which is unbiased: M. Chen et al.
/// (2021), "Evaluating large language models trained on code", arXiv:2107.03374. Returns `None` without a scenario, if
/// any has fewer than `k` trials or more successes than trials, or if `k` is 0.
pub fn pass_at_k(scenarios: &[Trials], k: u64) -> Option<f64> {
    let failing = |of: &Trials| Some(1.0 - all_of(of.trials, of.trials.checked_sub(of.successes)?, k)?);
    mean(&scenarios.iter().map(failing).collect::<Option<Vec<f64>>>()?)
}

/// Returns pass^k: the probability that all of `k` trials succeed, as a mean over scenarios.
///
/// For a scenario with `c` successes in `n` trials this is C(c, k) / C(n, k), which is unbiased: S. Yao et al. (2024),
/// "tau-bench: A benchmark for tool-agent-user interaction in real-world domains", arXiv:2406.12045. Returns `None` as
/// [`pass_at_k`] does.
pub fn pass_hat_k(scenarios: &[Trials], k: u64) -> Option<f64> {
    mean(&each_pass_hat_k(scenarios, k)?)
}

/// Returns the interval of [`pass_hat_k`] by [`bca_mean`], with scenarios as clusters; `None` if either is `None`.
pub fn pass_hat_k_interval(
    scenarios: &[Trials],
    k: u64,
    resamples: &mut Resamples,
    confidence: f64,
) -> Option<Interval> {
    bca_mean(&each_pass_hat_k(scenarios, k)?, resamples, confidence)
}

fn each_pass_hat_k(scenarios: &[Trials], k: u64) -> Option<Vec<f64>> {
    scenarios.iter().map(|of| all_of(of.trials, of.successes, k)).collect()
}

/// Returns C(marked, k) / C(n, k): the share of the choices of `k` out of `n` that contain only marked ones.
fn all_of(n: u64, marked: u64, k: u64) -> Option<f64> {
    if k == 0 || k > n || marked > n {
        return None;
    }
    if k > marked {
        return Some(0.0);
    }
    // The product stays within 0 and 1, however large the two binomial coefficients are.
    Some((0..k).map(|i| (marked - i) as f64 / (n - i) as f64).product())
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
