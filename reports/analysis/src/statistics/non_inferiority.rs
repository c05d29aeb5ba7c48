use serde::Serialize;

use super::{
    Interval,
    exact::{EXACT_PAIRS, exact_p},
    tango,
};

/// The confidence of the interval that a gate decides on. Each end is exceeded by chance in 5% of runs, so a candidate
/// that is worse by exactly the margin passes in 5% of runs.
pub const GATE_CONFIDENCE: f64 = 0.90;

/// The result of testing that a difference is worse by no more than a margin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NonInferiority {
    /// The difference is within the margin.
    Holds,
    /// The difference exceeds the margin.
    Fails,
    /// The interval contains the margin.
    Inconclusive,
}

/// Compares the interval of a difference with a margin of at least 0. Higher must be better; negate the difference of a
/// metric where lower is better.
///
/// For paired rates use [`paired_non_inferiority`]: with few pairs the interval alone decides too often.
pub fn non_inferiority(interval: Interval, margin: f64) -> NonInferiority {
    if interval.lower > -margin {
        NonInferiority::Holds
    } else if interval.upper < -margin {
        NonInferiority::Fails
    } else {
        NonInferiority::Inconclusive
    }
}

/// Compares gains and losses among pairs with a margin by [`tango()`]'s interval, and by an exact test that turns
/// decisions with a higher error rate than the interval claims into `Inconclusive`.
///
/// The interval is asymptotic. With few pairs its ends are exceeded more often than they should be: at 90% and margins
/// of 0.05 to 0.15, a candidate worse by exactly the margin holds in up to 11% of runs of 5 pairs, in up to 7% from 50
/// pairs on, and fails in up to 10% of runs of 63. So up to 10,000 pairs a verdict also needs an exact p-value of at
/// most `(1 - confidence) / 2`: the probability of a score as far from the margin if the true difference is the margin,
/// maximized over the share of discordant pairs.
///
/// Returns `None` as [`tango()`] does, and unless the margin is at least 0 and below 1.
///
/// H.-M. Hsueh, J.-P. Liu, J. J. Chen (2001), "Unconditional exact tests for equivalence or noninferiority for paired
/// binary endpoints", Biometrics 57, 478-483.
pub fn paired_non_inferiority(
    gains: u64,
    losses: u64,
    pairs: u64,
    margin: f64,
    confidence: f64,
) -> Option<NonInferiority> {
    let interval = tango(gains, losses, pairs, confidence)?;
    if !(0.0..1.0).contains(&margin) {
        return None;
    }
    let verdict = non_inferiority(interval, margin);
    let p_value = match verdict {
        _ if pairs > EXACT_PAIRS => return Some(verdict),
        NonInferiority::Holds => exact_p(gains, losses, pairs, -margin),
        // The test in the other direction: all signs are reversed.
        NonInferiority::Fails => exact_p(losses, gains, pairs, margin),
        NonInferiority::Inconclusive => return Some(verdict),
    };
    Some(if p_value <= (1.0 - confidence) / 2.0 { verdict } else { NonInferiority::Inconclusive })
}
