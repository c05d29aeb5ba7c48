use healbench_core::{DrawKey, Seed};

use super::simulated::{Known, of_one};
use super::*;

/// The errors of estimates, and how many intervals hold the truth.
#[derive(Debug, Default)]
struct Found {
    errors: Vec<f64>,
    /// The errors, as far as they draw a share towards the middle.
    towards_middle: Vec<f64>,
    covered: u32,
    intervals: u32,
    widths: Vec<f64>,
}

impl Found {
    fn add(&mut self, estimate: Estimate, truth: f64, middle: f64) {
        self.errors.push(estimate.value - truth);
        self.towards_middle.push((estimate.value - truth) * (middle - truth).signum());
        self.add_interval(estimate, truth);
    }

    fn add_interval(&mut self, estimate: Estimate, truth: f64) {
        if let Some(interval) = estimate.interval {
            self.intervals += 1;
            self.widths.push(interval.upper - interval.lower);
            self.covered += u32::from(interval.lower <= truth && truth <= interval.upper);
        }
    }

    fn bias(&self) -> f64 {
        mean(&self.errors)
    }

    fn coverage(&self) -> f64 {
        f64::from(self.covered) / f64::from(self.intervals)
    }
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// Asserts that the bias is at most `most`, and that intervals hold the truth as often as they say.
fn assert_recovered(name: &str, found: &Found, most: f64) {
    let (bias, drawn, coverage) = (found.bias(), mean(&found.towards_middle), found.coverage());
    assert!(bias.abs() < most && drawn.abs() < most, "{name}: {bias:.4}, towards the middle {drawn:.4}");
    // 92% to 97%, with two standard errors of as many intervals.
    let error = 2.0 * (0.05 * 0.95 / f64::from(found.intervals)).sqrt();
    assert!(coverage > 0.92 - error && coverage < 0.97 + error, "{name}: {coverage:.3} of {}", found.intervals);
}

/// The names of the numbers of a profile: three shares by kind, four once.
const NAMES: [&str; 6] = ["changed", "repeated", "other_tool", "right_told", "right_untold", "repeat_again"];

/// Fits the moves of random profiles, each in `tasks` tasks. Returns what was found of each number, and of the factor of stopping.
fn recover(profiles: u64, tasks: usize, alike: f64) -> ([Found; 6], Found) {
    let key = DrawKey::of_run(Seed(1));
    let (mut found, mut factors): ([Found; 6], Found) = Default::default();
    for number in 0..profiles {
        let mut draws = key.draws("recovery", number);
        let known = Known { alike, ..Known::random(4, &mut draws) };
        let profile = fit(&of_one(&known, tasks, &mut draws)).profile(Some(0));
        for (kind, shares) in profile.kinds.iter().zip(&known.shares) {
            for (at, estimate) in [kind.changed, kind.repeated, kind.other_tool].into_iter().enumerate() {
                found[at].add(estimate, shares[at], 0.25);
            }
        }
        found[3].add(profile.right_told, known.right_told, 0.5);
        found[4].add(profile.right_untold, known.right_untold, 0.5);
        found[5].add(profile.repeat_again, known.repeat_again, 0.5);
        factors.add_interval(profile.later_stop, known.later_stop);
    }
    (found, factors)
}

fn assert_all_recovered(found: &[Found; 6], factors: &Found, most: f64) {
    for (name, found) in NAMES.iter().zip(found) {
        assert_recovered(name, found, most);
    }
    let all = || found.iter().chain([factors]);
    let (covered, intervals) = (all().map(|f| f.covered).sum::<u32>(), all().map(|f| f.intervals).sum::<u32>());
    let coverage = f64::from(covered) / f64::from(intervals);
    assert!((0.92..=0.97).contains(&coverage), "{coverage} of {intervals}");
    assert!((0.88..=1.0).contains(&factors.coverage()), "{}", factors.coverage());
}

#[test]
fn the_numbers_of_100_random_profiles_are_recovered() {
    let (found, factors) = recover(100, 60, 0.0);
    assert_all_recovered(&found, &factors, 0.02);
}

#[test]
fn tasks_whose_moves_are_alike_widen_the_intervals() {
    let (found, factors) = recover(100, 60, 0.7);
    assert_all_recovered(&found, &factors, 0.03);
    let width = |found: &Found| mean(&found.widths);
    assert!(width(&found[0]) > 1.1 * width(&recover(20, 60, 0.0).0[0]));
}

/// 15 tasks, the fewest that a profile is named for, are about seven of each kind.
#[test]
fn few_tasks_draw_shares_towards_the_middle_and_intervals_hold_the_truth() {
    let (found, _) = recover(100, 15, 0.0);
    for (name, found) in NAMES.iter().zip(&found) {
        assert!(found.bias().abs() < 0.04 && mean(&found.towards_middle) < 0.08, "{name} {found:?}");
    }
    let covered = found.iter().map(|found| found.covered).sum::<u32>();
    let coverage = f64::from(covered) / f64::from(found.iter().map(|found| found.intervals).sum::<u32>());
    assert!((0.92..=0.98).contains(&coverage), "{coverage}");
}

#[test]
fn five_agents_at_once_are_recovered() {
    let key = DrawKey::of_run(Seed(2));
    let mut all = Found::default();
    for number in 0..20 {
        let mut draws = key.draws("recovery", number);
        let known: Vec<Known> = (0..5).map(|_| Known::random(4, &mut draws)).collect();
        let mut named = NamedObservations::default();
        for (agent, known) in known.iter().enumerate() {
            known.add(&agent.to_string(), 60, &mut draws, &mut named);
        }
        let fit = fit(&named.finish(Observations::default()));
        for (agent, known) in known.iter().enumerate() {
            for (kind, shares) in fit.profile(Some(agent)).kinds.iter().zip(&known.shares) {
                for (at, estimate) in [kind.changed, kind.repeated, kind.other_tool].into_iter().enumerate() {
                    all.add(estimate, shares[at], 0.25);
                }
            }
        }
    }
    assert_recovered("five agents", &all, 0.02);
}

#[test]
fn a_factor_is_one_unless_its_interval_excludes_it() {
    let key = DrawKey::of_run(Seed(3));
    let mut told_apart = 0;
    for number in 0..40 {
        let mut draws = key.draws("factor", number);
        let known = Known { later_stop: 1.0, ..Known::random(4, &mut draws) };
        let same = fit(&of_one(&known, 60, &mut draws)).profile(Some(0)).later_stop;
        told_apart += u32::from(same.value != 1.0);
        assert!(same.standard_error.is_some() && same.interval.is_some(), "{same:?}");
    }
    assert!(told_apart <= 6, "{told_apart} of 40");
    let known = Known {
        later_stop: 8.0,
        shares: vec![[0.4, 0.3, 0.1, 0.2]; 4],
        ..Known::random(4, &mut key.draws("factor", 99))
    };
    let more = fit(&of_one(&known, 100, &mut key.draws("factor", 100))).profile(Some(0)).later_stop;
    assert!(more.value > 4.0 && more.value < 16.0, "{more:?}");
}

#[test]
fn predictions_of_the_true_profile_have_the_gap_of_a_perfect_one() {
    let mut draws = DrawKey::of_run(Seed(4)).draws("prediction", 0);
    let known = Known { later_stop: 3.0, ..Known::random(4, &mut draws) };
    let observations = of_one(&known, 300, &mut draws);
    let found = predict(&known.profile(), &observations, Seed(5));
    for table in found.first.iter().chain(&found.later) {
        assert!(table.gap < 3.0 * table.perfect_gap, "{table:?}");
        assert!((table.predicted.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{table:?}");
    }
    assert_eq!((found.first.len(), found.later.len()), (5, 5));
    for repaired in [found.repaired_next, found.repaired_within_3] {
        let repaired = repaired.unwrap();
        assert!((repaired.predicted - repaired.observed).abs() < 0.03 && repaired.tasks == 300, "{repaired:?}");
    }
    let (scores, perfect) = (found.scores.unwrap(), found.perfect.unwrap());
    assert!((scores.log - perfect.mean.log).abs() < 0.1, "{scores:?} {perfect:?}");
    let other = predict(&Known::random(4, &mut draws).profile(), &observations, Seed(5));
    assert!(other.scores.unwrap().log > scores.log && other.first[0].gap > 2.0 * other.first[0].perfect_gap);
}
