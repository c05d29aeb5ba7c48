//! The difference in success between two conditions, and the conclusion on it.

use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF as _, Normal};

use crate::statistics::{Interval, fewest_clusters, holm};

/// Differences within this many percentage points, as a share, count as equal.
pub const EQUIVALENCE: f64 = 0.05;
/// Differences with a smaller adjusted p-value are clear.
pub const ALPHA: f64 = 0.05;
/// The power of a run with as many scenarios more as an answer names.
pub const POWER: f64 = 0.8;

/// A difference in success with what other scenarios of the same suites would show.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Gain {
    /// From -1 to 1; null without pairs.
    pub difference: Option<f64>,
    /// Its 95% interval over clusters of scenarios, of this pair alone: not adjusted for other pairs, as the verdict is. Null for fewer than
    /// two, and for equal outcomes in every trial.
    pub interval: Option<Interval>,
    /// The two-sided test of the same statistic; null as the interval is.
    pub p_value: Option<f64>,
    /// The same, adjusted by Holm for all pairs of conditions of the agent, among which those of equal outcomes count. Conditions that differ
    /// in no trial and in no comparison with others count as one.
    pub p_adjusted: Option<f64>,
    /// The conclusion.
    pub verdict: Verdict,
    /// The number of further scenarios with which a difference of 5 points would be clear with a power of 80%; null unless the difference is
    /// unclear, if unknown, and if these are enough.
    pub more_scenarios: Option<u64>,
}

/// The conclusion on a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every trial has the same outcome on both sides.
    Equal,
    /// The interval is within 5 points of 0, over at least 59 clusters of scenarios, even if 0 is outside of it.
    AsGood,
    /// Otherwise, 0 is outside of the interval, and the adjusted p-value is below 0.05.
    Clear,
    /// Neither.
    Unclear,
    /// There is no interval.
    Unknown,
}

impl Verdict {
    /// Returns true if 0 is outside of an interval of one pair although the difference, adjusted for all pairs, is not clear.
    pub fn is_of_pair_alone(self, interval: Interval) -> bool {
        self == Verdict::Unclear && excludes_zero(interval)
    }
}

impl Gain {
    pub(in crate::summary) fn new(difference: Option<f64>, test: Option<(Interval, f64)>) -> Gain {
        Gain {
            difference,
            interval: test.map(|(interval, _)| interval),
            p_value: test.map(|(_, p_value)| p_value),
            p_adjusted: None,
            verdict: Verdict::Unknown,
            more_scenarios: None,
        }
    }

    /// Returns a difference that nothing tests but its interval, which is too wide or too narrow to call both sides the same.
    pub(in crate::summary) fn of_interval(difference: Option<f64>, interval: Option<Interval>) -> Gain {
        let verdict = interval.map_or(Verdict::Unknown, |interval| verdict(interval, None, 0));
        Gain { interval, verdict, ..Gain::new(difference, None) }
    }

    /// Returns the comparison of sides with the same outcome in every trial.
    pub(in crate::summary) fn of_equal_outcomes(self) -> Gain {
        Gain { verdict: Verdict::Equal, ..self }
    }

    /// Returns true if a loss of more than 5 points is ruled out.
    pub fn rules_out_a_loss(&self) -> bool {
        self.verdict == Verdict::Equal || self.interval.is_some_and(|interval| interval.lower > -EQUIVALENCE)
    }

    /// Returns true if the difference is clear and above 0.
    pub fn is_better(&self) -> bool {
        self.verdict == Verdict::Clear && self.difference.is_some_and(|difference| difference > 0.0)
    }

    /// Returns true if the difference is clear and below 0.
    pub fn is_worse(&self) -> bool {
        self.verdict == Verdict::Clear && self.difference.is_some_and(|difference| difference < 0.0)
    }

    /// Returns the difference the other way around.
    pub fn reversed(self) -> Gain {
        let interval = self.interval.map(|interval| Interval { lower: -interval.upper, upper: -interval.lower });
        Gain { difference: self.difference.map(|difference| 0.0 - difference), interval, ..self }
    }

    fn decide(&mut self, clusters: u64) {
        let Some(interval) = self.interval else { return };
        self.verdict = verdict(interval, self.p_adjusted, clusters);
        if self.verdict == Verdict::Unclear {
            // Holm multiplies p-values by at most the number of comparisons.
            let factor = self.p_value.zip(self.p_adjusted).map_or(1.0, |(p, adjusted)| (adjusted / p).max(1.0));
            self.more_scenarios = more_scenarios(interval, clusters, factor);
        }
    }
}

/// Returns the conclusion on a difference with this interval, over so many clusters, and with this adjusted p-value.
pub fn verdict(interval: Interval, p_adjusted: Option<f64>, clusters: u64) -> Verdict {
    let is_within = -EQUIVALENCE < interval.lower && interval.upper < EQUIVALENCE;
    match excludes_zero(interval) && p_adjusted.is_none_or(|p| p < ALPHA) {
        _ if is_within && !is_below_the_floor(clusters) => Verdict::AsGood,
        true => Verdict::Clear,
        false => Verdict::Unclear,
    }
}

fn excludes_zero(interval: Interval) -> bool {
    interval.lower > 0.0 || interval.upper < 0.0
}

/// Returns how many scenarios more than `scenarios` would show a difference of 5 points with a power of 80%, after its p-value is multiplied
/// by `factor`. The standard error, half of the interval over the standard score, shrinks with the root of their number, and 5 points have to
/// be as large as it times the sum of the scores of level and power. `None` if these are enough, or if the interval is not finite.
fn more_scenarios(interval: Interval, scenarios: u64, factor: f64) -> Option<u64> {
    let score = |share: f64| Normal::standard().inverse_cdf(share);
    let error = (interval.upper - interval.lower) / 2.0 / score(1.0 - ALPHA / 2.0);
    let ratio = error * (score(1.0 - ALPHA / factor / 2.0) + score(POWER)) / EQUIVALENCE;
    let all = (scenarios as f64 * ratio.powi(2)).ceil();
    all.is_finite().then(|| (all as u64).saturating_sub(scenarios)).filter(|more| *more > 0)
}

/// Adjusts the p-values of all comparisons of an answer by Holm's method, and decides them. Those of equal outcomes count as any other.
pub(in crate::summary) fn settle(gains: Vec<&mut Gain>, clusters: u64) {
    let equal = gains.iter().filter(|gain| gain.verdict == Verdict::Equal).map(|_| 1.0);
    let p_values: Vec<f64> = gains.iter().filter_map(|gain| gain.p_value).chain(equal).collect();
    let mut adjusted = holm(&p_values).into_iter().flatten();
    for gain in gains {
        if gain.p_value.is_some() {
            gain.p_adjusted = adjusted.next();
        }
        gain.decide(clusters);
    }
}

pub(super) fn is_below_the_floor(clusters: u64) -> bool {
    fewest_clusters(EQUIVALENCE).is_some_and(|fewest| clusters < fewest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_difference_is_as_good_however_clear() {
        let small = Interval { lower: 0.004, upper: 0.02 };
        assert_eq!(verdict(small, Some(0.001), 59), Verdict::AsGood);
        assert_eq!(verdict(small, Some(0.001), 58), Verdict::Clear);
        assert_eq!(verdict(small, Some(0.06), 58), Verdict::Unclear);
        assert_eq!(verdict(Interval { upper: 0.05, ..small }, Some(0.001), 59), Verdict::Clear);
        assert!(!Verdict::AsGood.is_of_pair_alone(small) && Verdict::Unclear.is_of_pair_alone(small));
    }

    #[test]
    fn five_points_need_scenarios_by_level_and_power() {
        let more = |half: f64, factor| more_scenarios(Interval { lower: -half, upper: half }, 36, factor);
        // scipy.stats.norm.isf: 1.959964 for 0.025, 2.393980 for 0.05 / 3 / 2, 0.841621 for 0.2.
        // 36 (0.15 / 1.959964 · 2.801585 / 0.05)² is 662.0; with three comparisons 36 (0.15 / 1.959964 · 3.235601 / 0.05)² is 883.0.
        assert_eq!((more(0.15, 1.0), more(0.15, 3.0)), (Some(626), Some(847)));
        assert_eq!((more(0.03, 1.0), more(f64::NAN, 1.0)), (None, None));
    }
}
