use serde::Serialize;

use super::{
    Interval,
    exact::{EXACT_PAIRS, exact_p},
    tango,
};

/// The confidence of the interval that a gate decides on. Either end of it is passed by chance in 5% of runs, so a candidate that
/// is worse by all of the margin passes in 5% of them.
pub const GATE_CONFIDENCE: f64 = 0.90;

/// Whether something is worse by no more than a margin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NonInferiority {
    /// It is not.
    Holds,
    /// It is.
    Fails,
    /// What was seen does not say.
    Open,
}

/// What the interval of a difference, of which more is better, says about a margin of at least 0. Of what is better when it is less,
/// the difference is negated first.
///
/// Of paired rates the interval alone says too much: see [`paired_non_inferiority`].
pub fn non_inferiority(interval: Interval, margin: f64) -> NonInferiority {
    if interval.lower > -margin {
        NonInferiority::Holds
    } else if interval.upper < -margin {
        NonInferiority::Fails
    } else {
        NonInferiority::Open
    }
}

/// What gains and losses among pairs say about a margin: what [`tango()`]'s interval says, unless chance would say as much more
/// often than the interval claims, which then leaves it open.
///
/// The interval is made for many pairs. Of few, its ends are passed more often than they should be: at 90% and margins of 0.05 to
/// 0.15, what is worse by just the margin holds in up to 11% of runs of 5 pairs, in up to 7% from 50 pairs on, and fails in up to 10%
/// of runs of 63. So up to 10,000 pairs a verdict also needs an exact p-value of at most `(1 - confidence) / 2`: the probability of a score as far
/// from the margin when the true difference lies on it, the largest over all that discordance may be.
///
/// `None` as for [`tango()`], and when the margin is not at least 0 and below 1.
///
/// H.-M. Hsueh, J.-P. Liu, J. J. Chen (2001), "Unconditional exact tests for equivalence or noninferiority for paired binary
/// endpoints", Biometrics 57, 478-483.
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
        // Seen from the other side, all signs turn.
        NonInferiority::Fails => exact_p(losses, gains, pairs, margin),
        NonInferiority::Open => return Some(verdict),
    };
    Some(if p_value <= (1.0 - confidence) / 2.0 { verdict } else { NonInferiority::Open })
}
