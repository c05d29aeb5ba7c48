use super::{Interval, Resamples, bca_mean};

/// The scored trials of one scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trials {
    /// How many there are.
    pub trials: u64,
    /// How many of them succeeded.
    pub successes: u64,
}

/// pass@k: how likely at least one of `k` trials succeeds, the mean over scenarios.
///
/// Of a scenario with `c` successes in `n` trials this is 1 - C(n - c, k) / C(n, k), which is unbiased: M. Chen et al. (2021),
/// "Evaluating large language models trained on code", arXiv:2107.03374. `None` without a scenario, when any has fewer than `k`
/// trials or more successes than trials, or when `k` is 0.
pub fn pass_at_k(scenarios: &[Trials], k: u64) -> Option<f64> {
    let failing = |of: &Trials| Some(1.0 - all_of(of.trials, of.trials.checked_sub(of.successes)?, k)?);
    mean(&scenarios.iter().map(failing).collect::<Option<Vec<f64>>>()?)
}

/// pass^k: how likely all of `k` trials succeed, the mean over scenarios.
///
/// Of a scenario with `c` successes in `n` trials this is C(c, k) / C(n, k), which is unbiased: S. Yao et al. (2024), "tau-bench: A
/// benchmark for tool-agent-user interaction in real-world domains", arXiv:2406.12045. `None` as for [`pass_at_k`].
pub fn pass_hat_k(scenarios: &[Trials], k: u64) -> Option<f64> {
    mean(&each_pass_hat_k(scenarios, k)?)
}

/// The interval of [`pass_hat_k`] with scenarios as clusters: [`bca_mean`]. `None` where that is, and where there is no estimate.
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

/// C(marked, k) / C(n, k): the share of the choices of `k` out of `n` that hold nothing but marked ones.
fn all_of(n: u64, marked: u64, k: u64) -> Option<f64> {
    if k == 0 || k > n || marked > n {
        return None;
    }
    if k > marked {
        return Some(0.0);
    }
    // As a product it stays within 0 and 1, however large the two binomials are.
    Some((0..k).map(|i| (marked - i) as f64 / (n - i) as f64).product())
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
