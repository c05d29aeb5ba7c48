use std::collections::BTreeMap;

use healbench_analysis::statistics::{
    ClusterSums, EndedChains, Interval, Median, Resamples, Trials, bca_mean, bca_ratio, clopper_pearson, holm,
    kaplan_meier_median, mcnemar_mid_p, pass_at_k, pass_hat_k, pass_hat_k_interval, sign_interval, tango, wilson,
};
use healbench_core::Seed;

/// Reference values computed with other software; the file's header names it.
const FIGURES: &str = include_str!("../fixtures/statistics.csv");

/// Returns the reference values of one kind, as in the file: `a,b,n,lower,upper`.
pub(crate) fn figures(what: &str, count: usize) -> Vec<[&'static str; 5]> {
    let fields = FIGURES.lines().filter_map(|line| line.split_once(',').filter(|(first, _)| *first == what));
    let found: Vec<_> = fields.map(|(_, rest)| rest.split(',').collect::<Vec<_>>().try_into().unwrap()).collect();
    assert_eq!(found.len(), count, "{what}");
    found
}

pub(crate) fn count(text: &str) -> u64 {
    text.parse().unwrap()
}

pub(crate) fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

pub(crate) fn near(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found} is not {expected}");
}

fn near_interval(found: Option<Interval>, lower: &str, upper: &str, tolerance: f64, what: &str) {
    let found = found.unwrap();
    near(found.lower, number(lower), tolerance, what);
    near(found.upper, number(upper), tolerance, what);
}

#[test]
fn wilson_of_statsmodels() {
    for [a, _, n, lower, upper] in figures("wilson", 11) {
        near_interval(wilson(count(a), count(n), 0.95), lower, upper, 1e-11, a);
    }
}

#[test]
fn clopper_pearson_of_statsmodels() {
    for [a, _, n, lower, upper] in figures("clopper", 11) {
        near_interval(clopper_pearson(count(a), count(n), 0.95), lower, upper, 1e-10, a);
    }
}

#[test]
fn published_clopper_pearson_interval() {
    // Five of 25, from the tables of W. J. Conover (1999), "Practical nonparametric statistics", 3rd edition, as given
    // by influentialpoints.com, "Confidence intervals of proportions".
    let interval = clopper_pearson(5, 25, 0.95).unwrap();
    near(interval.lower, 0.068, 5e-4, "lower");
    near(interval.upper, 0.407, 5e-4, "upper");
}

#[test]
fn clopper_pearson_at_its_ends() {
    for n in [1, 2, 30, 1 << 40] {
        let (none, all) = (clopper_pearson(0, n, 0.95).unwrap(), clopper_pearson(n, n, 0.95).unwrap());
        assert_eq!((none.lower, all.upper), (0.0, 1.0));
        near(all.lower, 0.025_f64.powf(1.0 / n as f64), 1e-12, "lower");
        near(none.upper, 1.0 - all.lower, 1e-12, "upper");
        assert!(none.upper > 0.0 && all.lower < 1.0, "{n}");
    }
}

#[test]
fn tango_by_definition() {
    for [a, b, n, lower, upper] in figures("tango", 16) {
        // The reference implementation is accurate to about nine digits.
        near_interval(tango(count(a), count(b), count(n), 0.95), lower, upper, 2e-8, a);
    }
}

#[test]
fn mcnemar_by_definition() {
    for [a, b, _, p, _] in figures("mcnemar", 9) {
        near(mcnemar_mid_p(count(a), count(b)), number(p), 1e-10, a);
    }
}

#[test]
fn sign_intervals_of_scipy() {
    for [confidence, _, n, rank, coverage] in figures("sign", 42) {
        let n = count(n);
        // Descending, so that results do not depend on the order of the input.
        let values: Vec<f64> = (1..=n).rev().map(|value| value as f64).collect();
        let found = sign_interval(&values, number(confidence));
        if rank.is_empty() {
            assert_eq!(found, None, "{n} {confidence}");
            continue;
        }
        let (found, rank) = (found.unwrap(), number(rank));
        assert_eq!(found.interval, Interval { lower: rank, upper: n as f64 + 1.0 - rank }, "{n} {confidence}");
        assert_eq!(found.median, (n as f64 + 1.0) / 2.0);
        near(found.coverage, number(coverage), 1e-9, "coverage");
    }
}

#[test]
fn published_sign_intervals() {
    // Critical values of the sign test (the number of the rarer sign), two-sided at 0.05 and at 0.10, for 6 to 25
    // values: M. F. Triola, "Elementary statistics", table A-7. The interval begins one rank further in.
    let at_5 = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 7];
    let at_10 = [0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 5, 6, 6, 7, 7, 7];
    for (index, n) in (6..=25_u32).enumerate() {
        let values: Vec<f64> = (1..=n).map(f64::from).collect();
        for (confidence, rarer) in [(0.95, at_5[index]), (0.90, at_10[index])] {
            let interval = sign_interval(&values, confidence).unwrap().interval;
            assert_eq!(
                (interval.lower, interval.upper),
                (f64::from(rarer + 1), f64::from(n - rarer)),
                "{n} {confidence}"
            );
        }
    }
}

#[test]
fn sign_intervals_of_ties_and_of_too_few_values() {
    let same = sign_interval(&[2.5; 9], 0.95).unwrap();
    assert_eq!((same.median, same.interval), (2.5, Interval { lower: 2.5, upper: 2.5 }));
    assert_eq!((sign_interval(&[], 0.95), sign_interval(&[1.0; 5], 0.95)), (None, None));
    for (spoiled, confidence) in [(f64::NAN, 0.95), (f64::INFINITY, 0.95), (1.0, 1.0), (1.0, 0.0), (1.0, f64::NAN)] {
        let mut values = [1.0; 30];
        values[7] = spoiled;
        assert_eq!(sign_interval(&values, confidence), None, "{spoiled} {confidence}");
    }
}

#[test]
fn medians_of_lifelines() {
    for [chains, _, median, lower, upper] in figures("km", 13) {
        let ended = chains.split(' ').map(|entry| {
            let (retries, counts) = entry.split_once(':').unwrap();
            let (fixed, censored) = counts.split_once('+').unwrap();
            (retries.parse().unwrap(), EndedChains { fixed: count(fixed), censored: count(censored) })
        });
        let of = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
        let expected = Median { median: of(median), lower: of(lower), upper: of(upper) };
        assert_eq!(kaplan_meier_median(&ended.collect(), 0.95), expected, "{chains}");
    }
}

#[test]
fn published_survival_table() {
    // V. Bewick, L. Cheek, J. Ball (2004), "Statistics review 12: survival analysis", Critical Care 8:389, table 2:
    // survival after days 1, 4, 5, 9 and 22 is 0.75, 0.625, 0.5, 0.333 and 0, so the median is day 5.
    let ended = [(1, 2, 0), (4, 1, 0), (5, 1, 0), (6, 0, 1), (9, 1, 1), (22, 1, 0)];
    let ended = ended.map(|(day, fixed, censored)| (day, EndedChains { fixed, censored }));
    assert_eq!(kaplan_meier_median(&BTreeMap::from(ended), 0.95).median, Some(5));
}

#[test]
fn medians_of_too_few_chains() {
    let ended = |fixed, censored| BTreeMap::from([(1, EndedChains { fixed, censored })]);
    let none = Median::default();
    assert_eq!(kaplan_meier_median(&BTreeMap::new(), 0.95), none);
    assert_eq!(kaplan_meier_median(&ended(0, 0), 0.95), none);
    assert_eq!(kaplan_meier_median(&ended(0, 1), 0.95), none);
    assert_eq!(kaplan_meier_median(&ended(1, 0), 0.95), Median { median: Some(1), ..none });
    assert_eq!(kaplan_meier_median(&ended(2, 0), 1.0), Median { median: Some(1), ..none });
}

fn trials(text: &str) -> Vec<Trials> {
    let of = |entry: &str| {
        let (successes, trials) = entry.split_once('/').unwrap();
        Trials { trials: count(trials), successes: count(successes) }
    };
    text.split(' ').map(of).collect()
}

#[test]
fn pass_by_counting_choices() {
    for [scenarios, k, _, value, _] in figures("pass_at", 15) {
        near(pass_at_k(&trials(scenarios), count(k)).unwrap(), number(value), 1e-11, scenarios);
    }
    for [scenarios, k, _, value, _] in figures("pass_hat", 15) {
        near(pass_hat_k(&trials(scenarios), count(k)).unwrap(), number(value), 1e-11, scenarios);
    }
    // The binomial coefficients would overflow here.
    near(pass_hat_k(&trials("999999/1000000"), 1000).unwrap(), 0.999, 1e-12, "large");
}

#[test]
fn pass_is_unknown_with_fewer_trials_than_k() {
    for (scenarios, k) in [("3/5 2/2", 3), ("5/5", 0), ("5/4", 2), ("0/0", 1)] {
        let scenarios = trials(scenarios);
        assert_eq!((pass_at_k(&scenarios, k), pass_hat_k(&scenarios, k)), (None, None), "{scenarios:?} {k}");
        assert_eq!(pass_hat_k_interval(&scenarios, k, &mut resamples(), 0.95), None);
    }
    assert_eq!((pass_at_k(&[], 1), pass_hat_k(&[], 1)), (None, None));
}

#[test]
fn an_interval_of_pass_hat_k_is_that_of_its_scenarios() {
    let scenarios = trials("3/8 8/8 0/4 1/6 6/6 5/7");
    let each: Vec<f64> = scenarios.iter().map(|of| pass_hat_k(&[*of], 2).unwrap()).collect();
    let interval = pass_hat_k_interval(&scenarios, 2, &mut resamples(), 0.95);
    assert!(interval.unwrap().lower > 0.0);
    assert_eq!(interval, bca_mean(&each, &mut resamples(), 0.95));
}

fn resamples() -> Resamples {
    Resamples::new(Seed(7))
}

fn clusters(numerators: &str, denominators: &str) -> Vec<ClusterSums> {
    let pairs = numerators.split(' ').zip(denominators.split(' '));
    pairs.map(|(a, b)| ClusterSums { numerator: number(a), denominator: number(b), stratum: 0 }).collect()
}

#[test]
fn bootstraps_of_scipy() {
    for [a, b, _, lower, upper] in figures("bca", 4) {
        // An end computed from 20,000 resamples has an error of about 0.8% of the interval's width, one from 2,000
        // about 2.5%.
        let tolerance = 0.02 * (number(upper) - number(lower));
        let mut many = Resamples::with_count(Seed(3), 20_000);
        near_interval(bca_ratio(&clusters(a, b), &mut many, 0.95), lower, upper, tolerance, a);
        near_interval(bca_ratio(&clusters(a, b), &mut resamples(), 0.95), lower, upper, 4.0 * tolerance, a);
    }
}

#[test]
fn bootstraps_over_every_resample() {
    for [a, b, _, lower, upper] in figures("bca_all", 5) {
        near_interval(bca_ratio(&clusters(a, b), &mut resamples(), 0.95), lower, upper, 1e-9, a);
    }
    // By hand: the resamples of two clusters have the means 0, 1/2, 1/2, 1. Half of them are below the estimate and the
    // jackknife is symmetric, so no correction applies and the ends are the 2.5% and 97.5% percentiles of 0, 1/2, 1/2,
    // 1.
    let interval = bca_mean(&[0.0, 1.0], &mut resamples(), 0.95).unwrap();
    near(interval.lower, 0.025 * 3.0 * 0.5, 1e-10, "lower");
    near(interval.upper, 1.0 - 0.025 * 3.0 * 0.5, 1e-10, "upper");
}

#[test]
fn bootstraps_are_the_same_every_time_and_follow_the_seed() {
    let values: Vec<f64> = (0..30_u32).map(|n| f64::from(n * n % 17)).collect();
    let with = |seed| bca_mean(&values, &mut Resamples::new(Seed(seed)), 0.95).unwrap();
    assert_eq!(with(1), with(1));
    assert_ne!(with(1), with(2));
    // Earlier uses do not change the resamples.
    let mut used = Resamples::new(Seed(1));
    bca_mean(&values[..20], &mut used, 0.95).unwrap();
    assert_eq!(bca_mean(&values, &mut used, 0.95), Some(with(1)));
}

#[test]
fn bootstraps_without_spread_give_the_point() {
    let of = |values: &[f64]| bca_mean(values, &mut resamples(), 0.95);
    for value in [0.0, 0.1, -3.7, 1e300] {
        for clusters in [2, 5, 6, 40] {
            let interval = of(&vec![value; clusters]).unwrap();
            near(interval.lower, value, value.abs() * 1e-14, "lower");
            assert_eq!(interval.lower, interval.upper);
        }
    }
    // The same ratio in clusters of different sizes: rounding differences of sums must not count as spread.
    let same: Vec<ClusterSums> = (1..20_u32)
        .map(|n| ClusterSums { numerator: 0.1 * f64::from(n), denominator: f64::from(n), stratum: 0 })
        .collect();
    let interval = bca_ratio(&same, &mut resamples(), 0.95).unwrap();
    assert_eq!(interval.lower, interval.upper);
}

#[test]
fn bootstraps_that_are_unknown() {
    let of = |values: &[f64]| bca_mean(values, &mut resamples(), 0.95);
    assert_eq!((of(&[]), of(&[1.0]), of(&[1.0, f64::NAN]), of(&[1.0, f64::INFINITY])), (None, None, None, None));
    assert_eq!(bca_mean(&[1.0, 2.0], &mut resamples(), 0.0), None);
    let ratio = |a, b| bca_ratio(&clusters(a, b), &mut resamples(), 0.95);
    // No denominator at all, without the only cluster that has one, in too many resamples, in few enough.
    assert_eq!(ratio("1 2 3", "0 0 0"), None);
    assert_eq!(ratio("1 2 3", "0 5 0"), None);
    assert_eq!(ratio("1 2 3 4 5 6", "0 5 0 0 0 1"), None);
    assert!(ratio("1 2 3 4 5 6", "4 5 0 6 5 5").is_some());
}

#[test]
fn published_wilson_intervals() {
    // R. G. Newcombe (1998), "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17,
    // 857-872, table I, method 3.
    let table = [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)];
    for (successes, n, lower, upper) in table {
        let interval = wilson(successes, n, 0.95).unwrap();
        near(interval.lower, lower, 5e-5, "lower");
        near(interval.upper, upper, 5e-5, "upper");
    }
}

#[test]
fn published_paired_example() {
    // Airway hyper-responsiveness before and after stem cell transplantation, 1 and 7 discordant of 21 pairs: the
    // example of Fagerland, Lydersen and Laake, BMC Medical Research Methodology 13:91 (2013) for the test (mid-p
    // 0.039) and Statistics in Medicine 33, 2850-2875 (2014) for Tango's interval.
    near(mcnemar_mid_p(1, 7), 0.039, 5e-4, "mid-p");
    let interval = tango(1, 7, 21, 0.95).unwrap();
    near(interval.lower, -0.517, 5e-4, "lower");
    near(interval.upper, -0.026, 5e-4, "upper");
}

#[test]
fn unknown_is_none() {
    assert_eq!(wilson(0, 0, 0.95), None);
    assert_eq!(wilson(2, 1, 0.95), None);
    assert_eq!(wilson(1, 2, 1.0), None);
    assert_eq!((clopper_pearson(0, 0, 0.95), clopper_pearson(2, 1, 0.95)), (None, None));
    assert_eq!((clopper_pearson(1, 2, 1.0), clopper_pearson(1, 2, f64::NAN)), (None, None));
    assert_eq!(tango(0, 0, 0, 0.95), None);
    assert_eq!(tango(1, 0, 1, 0.95), None);
    assert_eq!(tango(2, 1, 2, 0.95), None);
    assert_eq!(tango(u64::MAX, 1, u64::MAX, 0.95), None);
    assert_eq!(tango(1, 1, 2, f64::NAN), None);
}

#[test]
fn tango_holds_at_the_edges() {
    // Without discordant pairs the equation has a closed-form solution: z^2 / (n + z^2).
    let z2 = 1.959_963_984_540_054_f64.powi(2);
    for n in [2, 7, 1000, 1 << 50] {
        let bound = z2 / (n as f64 + z2);
        let interval = tango(0, 0, n, 0.95).unwrap();
        near(interval.upper, bound, 1e-12 + bound * 1e-6, "upper");
        near(interval.lower, -interval.upper, 1e-12, "lower");
    }
    for n in 2..40_u64 {
        for gains in 0..=n {
            for losses in 0..=n - gains {
                let Interval { lower, upper } = tango(gains, losses, n, 0.95).unwrap();
                let estimate = (gains as f64 - losses as f64) / n as f64;
                assert!((-1.0..=estimate).contains(&lower), "{gains} {losses} {n}: {lower}");
                assert!((estimate..=1.0).contains(&upper), "{gains} {losses} {n}: {upper}");
                let mirrored = tango(losses, gains, n, 0.95).unwrap();
                near(mirrored.lower, -upper, 1e-12, "mirrored");
                let wider = tango(gains, losses, n, 0.99).unwrap();
                assert!(wider.lower <= lower && wider.upper >= upper, "{gains} {losses} {n}");
            }
        }
    }
}

#[test]
fn published_holm_example() {
    // geeksforgeeks.org, "Holm-Bonferroni method": at 0.05 the first and the last of four are rejected.
    let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]).unwrap();
    assert_eq!(adjusted.iter().map(|p| *p <= 0.05).collect::<Vec<_>>(), [true, false, false, true]);
}

#[test]
fn adjusted_p_values_of_statsmodels() {
    let listed = |text: &str| text.split(' ').map(number).collect::<Vec<f64>>();
    for [p_values, adjusted, ..] in figures("holm", 4) {
        let found = holm(&listed(p_values)).unwrap();
        let expected = listed(adjusted);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.into_iter().zip(expected) {
            near(found, expected, 1e-12, p_values);
        }
    }
    assert_eq!(holm(&[]), Some(Vec::new()));
    assert_eq!((holm(&[0.1, 1.1]), holm(&[f64::NAN])), (None, None));
}
