use statrs::distribution::{ContinuousCDF as _, Normal};

use super::{
    exact::{Above, Rates},
    tango::restricted_lost,
    two_sided_z,
};

/// Up to this many pairs the power is summed up over tables; beyond, the normal approximation is good, and tables are many.
const SUMMED_PAIRS: u64 = 2_000;

/// More than this is never.
const MOST_PAIRS: f64 = 1e9;

/// Of how many pairs [`paired_non_inferiority`](super::paired_non_inferiority) says that nothing is worse by more than the margin,
/// with a probability of `power`, when nothing has changed and this share of pairs is discordant.
///
/// `None` for more than a billion, when `margin` or `power` is not between 0 and 1, when `discordance` is not within 0 and 1, or
/// when `confidence` is not between 0 and 1.
///
/// Where the normal approximation of J.-P. Liu, H.-M. Hsueh, E. Hsieh, J. J. Chen (2002), "Tests for equivalence or non-inferiority
/// for paired binary data", Statistics in Medicine 21, 231-245, promises too much, the smallest number from there on that has the power:
/// up to 2,000 pairs it is summed up over all tables. A few pairs more may have a little less, for tables are few. Beyond, the
/// approximation stands alone: where 80% were wanted, the power was 79.5% or more wherever it was counted.
pub fn pairs_for(margin: f64, discordance: f64, confidence: f64, power: f64) -> Option<u64> {
    if !((0.0..=1.0).contains(&discordance) && margin > 0.0 && margin < 1.0) {
        return None;
    }
    let rates = Rates { gained: discordance / 2.0, lost: discordance / 2.0 };
    needed(rates, -margin, confidence, power, 2)
}

/// Of how many pairs a new run would say, with a probability of `power`, whether anything is worse by more than the margin, if
/// gains and losses are as likely as they look now. Always more than there are now.
///
/// Half a pair is added to each of the four kinds, as in A. Agresti, Y. Min (2005), "Simple improved confidence intervals for comparing
/// matched proportions", Statistics in Medicine 24, 729-740: a kind that was not seen is not one that never is. Otherwise as
/// [`pairs_for`], and `None` also for fewer than two pairs, for more discordant pairs than pairs, and where the difference lies so
/// close to the margin that a billion pairs would not do.
pub fn pairs_to_settle(gains: u64, losses: u64, pairs: u64, margin: f64, confidence: f64, power: f64) -> Option<u64> {
    if pairs < 2 || gains.checked_add(losses)? > pairs || !(0.0..1.0).contains(&margin) {
        return None;
    }
    let size = pairs as f64 + 2.0;
    let (gained, lost) = ((gains as f64 + 0.5) / size, (losses as f64 + 0.5) / size);
    let at_least = pairs.checked_add(1)?;
    if gained - lost > -margin {
        needed(Rates { gained, lost }, -margin, confidence, power, at_least)
    } else {
        // That something is worse is shown from the other side, where all signs turn.
        needed(Rates { gained: lost, lost: gained }, margin, confidence, power, at_least)
    }
}

/// The pairs that show a difference of these rates to be above another.
fn needed(rates: Rates, difference: f64, confidence: f64, power: f64, at_least: u64) -> Option<u64> {
    let z = two_sided_z(confidence)?;
    let approximate = approximate(rates, difference, z, power)?.max(at_least);
    let level = (1.0 - confidence) / 2.0;
    let has_power = |pairs: &u64| {
        let above = Above::new(*pairs, difference, z);
        // What the level takes away is the slower question.
        above.probability(rates) >= power && within(above, level, *pairs, difference, z).probability(rates) >= power
    };
    (approximate..=SUMMED_PAIRS)
        .find(has_power)
        .or(Some(approximate.max(SUMMED_PAIRS + 1)).filter(|n| *n as f64 <= MOST_PAIRS))
}

fn approximate(rates: Rates, difference: f64, z: f64, power: f64) -> Option<u64> {
    let distance = rates.gained - rates.lost - difference;
    if !(power > 0.0 && power < 1.0) || distance <= 0.0 {
        return None;
    }
    let change = rates.gained - rates.lost;
    let spread = (rates.gained + rates.lost - change * change).max(0.0).sqrt();
    let restricted = restricted_lost(rates.gained, rates.lost, difference);
    let spread_at_margin = (2.0 * restricted + difference * (1.0 - difference)).max(0.0).sqrt();
    let needed = (z * spread_at_margin + Normal::standard().inverse_cdf(power) * spread).max(0.0) / distance;
    Some((needed * needed).ceil()).filter(|pairs| *pairs <= MOST_PAIRS).map(|pairs| pairs as u64)
}

/// Those tables above that also an exact p-value accepts.
fn within(above: Above, level: f64, pairs: u64, difference: f64, z: f64) -> Above {
    if above.size() <= level {
        return above;
    }
    let (mut too_many, mut accepted) = (z, z + 0.25);
    while Above::new(pairs, difference, accepted).size() > level {
        (too_many, accepted) = (accepted, 2.0 * accepted);
    }
    // Closer than scores of tables are apart that matter.
    while accepted - too_many > 1e-3 {
        let middle = f64::midpoint(too_many, accepted);
        if Above::new(pairs, difference, middle).size() > level {
            too_many = middle;
        } else {
            accepted = middle;
        }
    }
    Above::new(pairs, difference, accepted)
}
