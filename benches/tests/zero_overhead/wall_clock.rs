//! Proof (e): a call takes at most 1% more time in paired rounds, on a machine quiet enough that two measurements of
//! one call differ by at most 0.3%. A faster call refutes nothing: the two calls are different copies of the same code,
//! whose addresses alone can affect their speed. For the same reason a call that is up to 3% slower is unproven and not
//! refuted: proof (d) counts its instructions, and they do not depend on addresses.

use std::time::Duration;

use healbench_benches::pairs::{CONTROL, INVALID, VALID, control, invalid, valid};
use healbench_benches::rounds::{Pair, ROUNDS, measure};
use healbench_store::PairRounds;
use libtest_mimic::{Failed, Trial};

use crate::{Proof, optimized, refuted, unproven};

/// The maximum slowdown of a call.
const MARGIN: f64 = 0.01;
/// The slowdown that addresses alone can make: copies of a call with equally many instructions differed by up to 3%.
const ADDRESSES: f64 = 0.03;
/// The maximum difference between the two workloads of the control.
const CONTROL_MARGIN: f64 = 0.003;
/// The number of measurements before a decision.
const MAX_TRIES: usize = 3;

/// The pause between measurements, to let other work on the machine end.
const PAUSE: Duration = Duration::from_secs(15);

/// Proves that the candidate of a pair is no slower than its reference. Other work on the machine may disturb one pair and not the
/// control, so only [`MAX_TRIES`] measurements that agree refute it.
pub(crate) fn proof(pair: Pair) -> Proof {
    let name = pair.name.clone();
    let pairs = [control(), pair];
    let (mut slower, mut last) = (0, [0.0; 2]);
    for tries in 0..MAX_TRIES {
        if tries > 0 {
            std::thread::sleep(PAUSE);
        }
        last = interval_of(&measure_when_quiet(&pairs)?, &name);
        if is_no_slower(last, MARGIN) {
            return Ok(());
        }
        slower += usize::from(is_slower(last, ADDRESSES));
    }
    let last = format_interval(last);
    match slower {
        MAX_TRIES => {
            refuted(format!("the ratio is in {last}, and was above what addresses make in {MAX_TRIES} measurements"))
        }
        _ => Err(unproven(format!("the ratio is in {last}, which decides nothing"))),
    }
}

/// Proves that a call which does a fifth more work is found to be slower, and another call is not.
pub(crate) fn finds_a_fifth_more_work() -> Proof {
    let mut found = check_slowed()?;
    for _ in 1..MAX_TRIES {
        if found.is_none() {
            break;
        }
        found = check_slowed()?;
    }
    found.map_or(Ok(()), refuted)
}

/// Returns what is wrong with one measurement of a slowed call and an unchanged one.
fn check_slowed() -> Result<Option<String>, crate::NotProven> {
    let slowed = invalid();
    let slowed = Pair { candidate: slowed.candidate.slowed(), ..slowed };
    let measured = measure_when_quiet(&[control(), valid(), slowed])?;
    let (valid, slowed) = (interval_of(&measured, VALID), interval_of(&measured, INVALID));
    if !is_slower(slowed, MARGIN) || !is_within(slowed.map(|log| log - 1.2_f64.ln()), 0.05) {
        return Ok(Some(format!("the slowed call's ratio is in {}", format_interval(slowed))));
    }
    if is_slower(valid, ADDRESSES) {
        return Ok(Some(format!("the other call's ratio is in {}", format_interval(valid))));
    }
    Ok(None)
}

fn measure_when_quiet(pairs: &[Pair]) -> Result<Vec<PairRounds>, crate::NotProven> {
    optimized()?;
    let mut last = [0.0; 2];
    for _ in 0..MAX_TRIES {
        let measured = measure(pairs, ROUNDS);
        last = interval_of(&measured, CONTROL);
        if is_within(last, CONTROL_MARGIN) {
            return Ok(measured);
        }
    }
    Err(unproven(format!("the machine is too noisy: the same thing twice has a ratio in {}", format_interval(last))))
}

fn interval_of(measured: &[PairRounds], name: &str) -> [f64; 2] {
    let pair = measured.iter().find(|pair| pair.name == name).expect("it is measured");
    let mut ratios = pair.log_ratios();
    ratios.sort_by(f64::total_cmp);
    sign_interval(&ratios)
}

/// Returns the 95% interval of the median by the sign test: from the k-th value to the k-th last, where fewer than k
/// heads in as many coin tosses have a probability of at most 2.5%.
fn sign_interval(sorted: &[f64]) -> [f64; 2] {
    let n = sorted.len();
    let mut log_chance = -(n as f64) * std::f64::consts::LN_2;
    let (mut k, mut tail) = (0, 0.0);
    loop {
        tail += log_chance.exp();
        if tail > 0.025 {
            break;
        }
        k += 1;
        log_chance += ((n + 1 - k) as f64 / k as f64).ln();
    }
    if k == 0 { [f64::NEG_INFINITY, f64::INFINITY] } else { [sorted[k - 1], sorted[n - k]] }
}

fn is_within([low, high]: [f64; 2], margin: f64) -> bool {
    -margin.ln_1p() <= low && high <= margin.ln_1p()
}

fn is_no_slower([_, high]: [f64; 2], margin: f64) -> bool {
    high <= margin.ln_1p()
}

fn is_slower([low, _]: [f64; 2], margin: f64) -> bool {
    margin.ln_1p() < low
}

fn format_interval([low, high]: [f64; 2]) -> String {
    format!("[{:.4}, {:.4}]", low.exp(), high.exp())
}

/// Tests the interval against published tables.
pub(crate) fn self_tests() -> Vec<Trial> {
    // Ranks for 95%: Conover, Practical Nonparametric Statistics, by the binomial distribution with p = 1/2.
    let ranks = |n: usize| sign_interval(&(1..=n).map(|rank| rank as f64).collect::<Vec<_>>());
    let test = move || {
        let expected = [(5, [f64::NEG_INFINITY, f64::INFINITY]), (6, [1.0, 6.0]), (10, [2.0, 9.0]), (20, [6.0, 15.0])];
        match expected.into_iter().find(|(n, expected)| ranks(*n) != *expected) {
            None => Ok(()),
            Some((n, expected)) => Err(Failed::from(format!("{n}: {:?} instead of {expected:?}", ranks(n)))),
        }
    };
    vec![Trial::test("e_wall_clock::own_tests::the_interval_of_the_tables", test)]
}
