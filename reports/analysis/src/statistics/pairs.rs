use statrs::distribution::{ContinuousCDF as _, Normal};

use super::{
    exact::{Rates, TailTables},
    tango::restricted_lost,
    two_sided_z,
};

/// Up to this number of pairs, the power is summed over all tables; above it, the normal approximation is accurate and
/// cheaper.
const SUMMED_PAIRS: u64 = 2_000;

/// The largest number of pairs returned.
const MAX_PAIRS: f64 = 1e9;

/// Returns the number of pairs for which [`paired_non_inferiority`](super::paired_non_inferiority) holds with
/// probability `power`, if nothing has changed and the share `discordance` of pairs is discordant.
///
/// Returns `None` above a billion pairs, if `margin` or `power` is not between 0 and 1, if `discordance` is not within
/// 0 and 1, or if `confidence` is not between 0 and 1.
///
/// Starts at the normal approximation of J.-P. Liu, H.-M. Hsueh, E. Hsieh, J. J. Chen (2002), "Tests for equivalence or
/// non-inferiority for paired binary data", Statistics in Medicine 21, 231-245. Where it is too optimistic, the result
/// is the smallest larger number with the required power, summed over all tables up to 2,000 pairs. The power is not
/// monotone: a few more pairs may have slightly less. Above 2,000 pairs the approximation is used alone: for a required
/// power of 80%, the exact power was at least 79.5% wherever it was computed.
pub fn pairs_for(margin: f64, discordance: f64, confidence: f64, power: f64) -> Option<u64> {
    if !((0.0..=1.0).contains(&discordance) && margin > 0.0 && margin < 1.0) {
        return None;
    }
    let rates = Rates { gained: discordance / 2.0, lost: discordance / 2.0 };
    required_pairs(rates, -margin, confidence, power, 2)
}

/// Returns the number of pairs for which a new run decides, with probability `power`, whether the difference exceeds
/// the margin, if the rates of gains and losses stay as observed. The result is always larger than `pairs`.
///
/// Half a pair is added to each of the four cells, as in A. Agresti, Y. Min (2005), "Simple improved confidence
/// intervals for comparing matched proportions", Statistics in Medicine 24, 729-740, since an empty cell does not mean
/// a probability of 0. Otherwise as [`pairs_for`]; also `None` for fewer than two pairs, for more discordant pairs than
/// pairs, and if the difference is so close to the margin that a billion pairs would not be enough.
pub fn pairs_to_settle(gains: u64, losses: u64, pairs: u64, margin: f64, confidence: f64, power: f64) -> Option<u64> {
    if pairs < 2 || gains.checked_add(losses)? > pairs || !(0.0..1.0).contains(&margin) {
        return None;
    }
    let size = pairs as f64 + 2.0;
    let (gained, lost) = ((gains as f64 + 0.5) / size, (losses as f64 + 0.5) / size);
    let at_least = pairs.checked_add(1)?;
    if gained - lost > -margin {
        required_pairs(Rates { gained, lost }, -margin, confidence, power, at_least)
    } else {
        // A difference beyond the margin is shown by the test in the other direction, where all signs are reversed.
        required_pairs(Rates { gained: lost, lost: gained }, margin, confidence, power, at_least)
    }
}

/// Returns the number of pairs that show a difference at these rates to be above `difference`.
fn required_pairs(rates: Rates, difference: f64, confidence: f64, power: f64, at_least: u64) -> Option<u64> {
    let z = two_sided_z(confidence)?;
    let approximate = approximate_pairs(rates, difference, z, power)?.max(at_least);
    let level = (1.0 - confidence) / 2.0;
    let has_power = |pairs: &u64| {
        let tables = TailTables::new(*pairs, difference, z);
        // Computing the exact level is slower, so it is done only if needed.
        tables.probability(rates) >= power
            && with_exact_level(tables, level, *pairs, difference, z).probability(rates) >= power
    };
    (approximate..=SUMMED_PAIRS)
        .find(has_power)
        .or(Some(approximate.max(SUMMED_PAIRS + 1)).filter(|n| *n as f64 <= MAX_PAIRS))
}

fn approximate_pairs(rates: Rates, difference: f64, z: f64, power: f64) -> Option<u64> {
    let distance = rates.gained - rates.lost - difference;
    if !(power > 0.0 && power < 1.0) || distance <= 0.0 {
        return None;
    }
    let change = rates.gained - rates.lost;
    let spread = (rates.gained + rates.lost - change * change).max(0.0).sqrt();
    let restricted = restricted_lost(rates.gained, rates.lost, difference);
    let spread_at_margin = (2.0 * restricted + difference * (1.0 - difference)).max(0.0).sqrt();
    let needed = (z * spread_at_margin + Normal::standard().inverse_cdf(power) * spread).max(0.0) / distance;
    Some((needed * needed).ceil()).filter(|pairs| *pairs <= MAX_PAIRS).map(|pairs| pairs as u64)
}

/// Restricts the tables to those that the exact p-value also accepts.
fn with_exact_level(tables: TailTables, level: f64, pairs: u64, difference: f64, z: f64) -> TailTables {
    if tables.size() <= level {
        return tables;
    }
    let (mut too_many, mut accepted) = (z, z + 0.25);
    while TailTables::new(pairs, difference, accepted).size() > level {
        (too_many, accepted) = (accepted, 2.0 * accepted);
    }
    // The scores of relevant tables are further apart than this.
    while accepted - too_many > 1e-3 {
        let middle = f64::midpoint(too_many, accepted);
        if TailTables::new(pairs, difference, middle).size() > level {
            too_many = middle;
        } else {
            accepted = middle;
        }
    }
    TailTables::new(pairs, difference, accepted)
}
