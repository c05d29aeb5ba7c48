use statrs::distribution::{DiscreteCDF as _, Hypergeometric};

/// Returns the one-sided p-value of Fisher's exact test: the probability of at most `successes` among `trials` if both
/// sides have the same rate of success, given the total number of successes.
///
/// Returns `None` without trials on a side, or for more successes than trials.
///
/// R. A. Fisher (1935), "The logic of inductive inference", Journal of the Royal Statistical Society 98, 39-82.
pub fn fisher_less(successes: u64, trials: u64, other_successes: u64, other_trials: u64) -> Option<f64> {
    if trials == 0 || other_trials == 0 || successes > trials || other_successes > other_trials {
        return None;
    }
    let all = Hypergeometric::new(trials + other_trials, successes + other_successes, trials).ok()?;
    Some(all.cdf(successes).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_those_of_scipy() {
        // scipy 1.17.1: stats.fisher_exact(table, alternative="less").
        let table = [
            ([0, 8, 8, 8], 7.770_007_770_007_77e-5),
            ([5, 20, 12, 20], 0.026_775_496_297_187),
            ([3, 10, 2, 9], 0.815_789_473_684_211),
        ];
        for ([successes, trials, other_successes, other_trials], expected) in table {
            let found = fisher_less(successes, trials, other_successes, other_trials).unwrap();
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
        assert_eq!((fisher_less(0, 0, 1, 1), fisher_less(2, 1, 0, 1)), (None, None));
    }
}
