use std::collections::BTreeMap;

use healbench_analysis::statistics::{
    GATE_CONFIDENCE, Interval, NonInferiority, non_inferiority, paired_non_inferiority, pairs_for, pairs_to_settle,
    tango,
};

use super::statistics::{count, figures, near, number};

const POWER: f64 = 0.8;

fn verdict(gains: u64, losses: u64, pairs: u64, margin: f64) -> NonInferiority {
    paired_non_inferiority(gains, losses, pairs, margin, GATE_CONFIDENCE).unwrap()
}

/// The decisions of the gate, by gains and losses.
type Verdicts = BTreeMap<(u64, u64), NonInferiority>;

/// Returns the probability of a decision, summed over all tables. The gate decides each table once.
fn probability(
    wanted: NonInferiority,
    pairs: u64,
    margin: f64,
    gained: f64,
    lost: f64,
    verdicts: &mut Verdicts,
) -> f64 {
    let neither = 1.0 - gained - lost;
    let power = |base: f64, exponent: u64| base.powi(i32::try_from(exponent).unwrap());
    let mut choices_of_losses = 1.0;
    let mut sum = 0.0;
    for losses in 0..=pairs {
        let mut choices = choices_of_losses;
        for gains in 0..=pairs - losses {
            let likely = choices * power(gained, gains) * power(lost, losses) * power(neither, pairs - gains - losses);
            // Tables with a negligible probability are skipped.
            let mut decided =
                || *verdicts.entry((gains, losses)).or_insert_with(|| verdict(gains, losses, pairs, margin));
            if likely > 1e-9 && decided() == wanted {
                sum += likely;
            }
            choices *= (pairs - losses - gains) as f64 / (gains + 1) as f64;
        }
        choices_of_losses *= (pairs - losses) as f64 / (losses + 1) as f64;
    }
    sum
}

#[test]
fn an_interval_holds_fails_or_leaves_open() {
    let of = |lower, upper| non_inferiority(Interval { lower, upper }, 0.1);
    assert_eq!(of(-0.09, 0.2), NonInferiority::Holds);
    assert_eq!(of(-0.3, -0.11), NonInferiority::Fails);
    for (lower, upper) in [(-0.1, 0.2), (-0.3, -0.1), (-0.2, 0.0), (f64::NAN, f64::NAN)] {
        assert_eq!(of(lower, upper), NonInferiority::Inconclusive, "{lower} {upper}");
    }
    assert_eq!(non_inferiority(Interval { lower: 0.01, upper: 0.2 }, 0.0), NonInferiority::Holds);
}

#[test]
fn verdicts_of_exact_tests_by_scipy() {
    for [gains, losses, pairs, margin, expected] in figures("verdict", 25) {
        let found = verdict(count(gains), count(losses), count(pairs), number(margin));
        assert_eq!(serde_json::to_value(found).unwrap(), expected, "{gains} {losses} of {pairs}, {margin}");
    }
}

#[test]
fn a_verdict_needs_more_than_the_interval_where_that_promises_too_much() {
    // No gain and no loss: occurs in 0.95^52 = 6.9% of runs if 5% of pairs are lost and none gained.
    let interval = tango(0, 0, 52, GATE_CONFIDENCE).unwrap();
    assert_eq!(non_inferiority(interval, 0.05), NonInferiority::Holds);
    assert_eq!(verdict(0, 0, 52, 0.05), NonInferiority::Inconclusive);
    assert_eq!(verdict(0, 0, 59, 0.05), NonInferiority::Holds);
    // The exact test never decides more than the interval, and more gains or fewer losses never make the result worse.
    let rank = |of| {
        [NonInferiority::Fails, NonInferiority::Inconclusive, NonInferiority::Holds].iter().position(|at| *at == of)
    };
    for losses in 0..=16 {
        for gains in 0..=16 - losses {
            let found = verdict(gains, losses, 16, 0.1);
            let plain = non_inferiority(tango(gains, losses, 16, GATE_CONFIDENCE).unwrap(), 0.1);
            assert!(
                found == plain || found == NonInferiority::Inconclusive,
                "{gains} {losses}: {found:?} of {plain:?}"
            );
            if gains + losses < 16 {
                assert!(rank(verdict(gains + 1, losses, 16, 0.1)) >= rank(found), "{gains} {losses}");
                assert!(rank(verdict(gains, losses + 1, 16, 0.1)) <= rank(found), "{gains} {losses}");
            }
        }
    }
}

#[test]
fn verdicts_err_in_no_more_than_5_percent_at_the_margin() {
    for (pairs, margin) in [(19, 0.15), (29, 0.1), (31, 0.15), (40, 0.05)] {
        let (mut most, mut verdicts) = (0.0_f64, Verdicts::new());
        for step in 0..=20_u32 {
            let discordance = margin + (1.0 - margin) * (f64::from(step) / 20.0).powi(2);
            let (gained, lost) = ((discordance - margin) / 2.0, (discordance + margin) / 2.0);
            for wrong in [NonInferiority::Holds, NonInferiority::Fails] {
                let share = probability(wrong, pairs, margin, gained.max(0.0), lost, &mut verdicts);
                assert!(share <= 0.05 + 1e-6, "{wrong:?} in {share} of {pairs} pairs, {discordance} discordant");
                most = most.max(share);
            }
        }
        assert!(most > 0.02, "the promise costs no more than it has to: {most}");
    }
}

#[test]
fn many_pairs_are_decided_by_the_interval() {
    assert_eq!(verdict(500_000, 500_000, 10_000_000, 0.01), NonInferiority::Holds);
    assert_eq!(verdict(0, 500_000, 10_000_000, 0.01), NonInferiority::Fails);
}

#[test]
fn recommended_pairs_of_scipy() {
    for [margin, discordance, pairs, ..] in figures("pairs", 9) {
        let found = pairs_for(number(margin), number(discordance), GATE_CONFIDENCE, POWER);
        assert_eq!(found, Some(count(pairs)), "{margin} {discordance}");
    }
}

#[test]
fn recommended_pairs_have_the_power_they_promise() {
    for (margin, discordance) in [(0.15, 0.0), (0.15, 0.1), (0.15, 0.2), (0.1, 0.0), (0.1, 0.1)] {
        let pairs = pairs_for(margin, discordance, GATE_CONFIDENCE, POWER).unwrap();
        let share = probability(
            NonInferiority::Holds,
            pairs,
            margin,
            discordance / 2.0,
            discordance / 2.0,
            &mut Verdicts::new(),
        );
        assert!(share >= POWER - 1e-5, "{share} of {pairs} pairs: {margin}, {discordance}");
    }
}

#[test]
fn many_recommended_pairs_are_those_of_the_formula() {
    // Far from both ends the standard deviations with and without the margin are nearly equal: ((z_0.95 + z_0.8) /
    // margin)^2 x discordance.
    let pairs = pairs_for(0.005, 0.3, GATE_CONFIDENCE, POWER).unwrap() as f64;
    let rough = (1.644_853_626_951_472_f64 + 0.841_621_233_572_914_3).powi(2) * 0.3 / 0.005_f64.powi(2);
    near(pairs / rough, 1.0, 1e-3, "pairs");
}

#[test]
fn pairs_that_settle_have_the_power_they_promise() {
    // Of 60 pairs: no losses; even; slightly worse than the margin; clearly worse; clearly better.
    for (gains, losses) in [(0, 0), (4, 4), (2, 16), (3, 15), (6, 3)] {
        let pairs = pairs_to_settle(gains, losses, 60, 0.15, GATE_CONFIDENCE, POWER).unwrap();
        assert!(pairs > 60, "{pairs}");
        let (gained, lost) = ((gains as f64 + 0.5) / 62.0, (losses as f64 + 0.5) / 62.0);
        if pairs < 130 {
            let wanted = if gained - lost > -0.15 { NonInferiority::Holds } else { NonInferiority::Fails };
            let share = probability(wanted, pairs, 0.15, gained, lost, &mut Verdicts::new());
            assert!(share >= POWER - 1e-5, "{share} of {pairs} pairs: {gains}, {losses}");
        }
    }
}

#[test]
fn pairs_to_settle_grow_towards_the_margin_and_end_there() {
    let of = |losses| pairs_to_settle(0, losses, 100, 0.1, GATE_CONFIDENCE, POWER);
    let above: Vec<u64> = [0, 2, 4, 6, 8, 9].into_iter().filter_map(of).collect();
    assert_eq!(above.len(), 6);
    assert!(above.is_sorted(), "{above:?}");
    let below: Vec<u64> = [12, 13, 15, 20].into_iter().filter_map(of).collect();
    assert_eq!(below.len(), 4);
    assert!(below.iter().rev().is_sorted(), "{below:?}");
    // With half a pair added to each cell the difference equals the margin of 0.125: (0.5 - 3.5) / 24.
    assert_eq!(pairs_to_settle(0, 3, 22, 0.125, GATE_CONFIDENCE, POWER), None);
    // One more loss also exceeds the margin, but by so little that a billion pairs would not show it.
    assert_eq!(pairs_to_settle(0, 999_999, 8_000_000, 0.125, GATE_CONFIDENCE, POWER), None);
}

#[test]
fn unknown_pairs_and_verdicts_are_none() {
    let settle = |gains, losses, pairs, margin| pairs_to_settle(gains, losses, pairs, margin, GATE_CONFIDENCE, POWER);
    assert_eq!((settle(0, 0, 0, 0.1), settle(0, 0, 1, 0.1), settle(2, 1, 2, 0.1)), (None, None, None));
    assert_eq!((settle(1, 1, 9, 1.0), settle(1, 1, 9, -0.1), settle(1, 1, 9, f64::NAN)), (None, None, None));
    assert_eq!(settle(u64::MAX, 1, u64::MAX, 0.1), None);
    for (confidence, power) in [(1.0, 0.8), (0.9, 1.0), (0.9, 0.0), (f64::NAN, 0.8), (0.9, f64::NAN)] {
        assert_eq!(pairs_to_settle(1, 1, 9, 0.1, confidence, power), None, "{confidence} {power}");
        assert_eq!(pairs_for(0.1, 0.1, confidence, power), None, "{confidence} {power}");
    }
    for (margin, discordance) in [(0.0, 0.1), (1.0, 0.1), (f64::NAN, 0.1), (0.1, -0.1), (0.1, 1.1), (0.1, f64::NAN)] {
        assert_eq!(pairs_for(margin, discordance, GATE_CONFIDENCE, POWER), None, "{margin} {discordance}");
    }
    assert_eq!(pairs_for(1e-6, 0.1, GATE_CONFIDENCE, POWER), None);
    for (losses, pairs, margin, confidence) in
        [(0, 1, 0.1, 0.9), (3, 2, 0.1, 0.9), (0, 9, 1.0, 0.9), (0, 9, -0.1, 0.9), (0, 9, 0.1, 1.0)]
    {
        assert_eq!(paired_non_inferiority(0, losses, pairs, margin, confidence), None, "{losses} {pairs} {margin}");
    }
}
