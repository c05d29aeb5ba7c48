//! Measures the error rates of the gate by exact summation and by simulation. `docs/statistics.md` contains the output.

use std::{collections::BTreeMap, f64::consts::FRAC_PI_2, fmt::Write as _};

use healbench_analysis::statistics::{
    ClusterPairs, GATE_CONFIDENCE, NonInferiority, Resamples, bca_mean, clustered_non_inferiority, non_inferiority,
    paired_non_inferiority, pairs_for, tango,
};
use healbench_core::{DrawKey, Draws, Seed};
use statrs::distribution::{Beta, Binomial, ContinuousCDF as _, Discrete as _, DiscreteCDF as _};

/// The number of simulated runs; the bootstrap is slower and has its own number.
const REPETITIONS: u32 = 100_000;
const BOOTSTRAPS: u32 = 20_000;
const DOCS: &str = include_str!("../../../../docs/statistics.md");

/// Returns the tolerance of a share simulated with [`REPETITIONS`]: three standard errors.
fn error(share: f64) -> f64 {
    3.0 * (share * (1.0 - share) / f64::from(REPETITIONS)).sqrt()
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// A gate over a given number of pairs, with a cache of its decisions by table.
struct Gate {
    pairs: u64,
    margin: f64,
    verdicts: BTreeMap<(u64, u64), NonInferiority>,
}

impl Gate {
    fn verdict(&mut self, gains: u64, losses: u64) -> NonInferiority {
        let (pairs, margin) = (self.pairs, self.margin);
        let ask = || paired_non_inferiority(gains, losses, pairs, margin, GATE_CONFIDENCE).unwrap();
        *self.verdicts.entry((gains, losses)).or_insert_with(ask)
    }

    /// Returns the shares of runs that pass and that fail at these rates of gains and losses.
    fn simulate(&mut self, gained: f64, lost: f64, draws: &mut Draws) -> (f64, f64) {
        let (mut passed, mut failed) = (0, 0);
        for _ in 0..REPETITIONS {
            let (mut gains, mut losses) = (0, 0);
            for _ in 0..self.pairs {
                let draw = draws.unit();
                gains += u64::from(draw < gained);
                losses += u64::from(draw >= gained && draw < gained + lost);
            }
            match self.verdict(gains, losses) {
                NonInferiority::Holds => passed += 1,
                NonInferiority::Fails => failed += 1,
                NonInferiority::Inconclusive => {}
            }
        }
        (f64::from(passed) / f64::from(REPETITIONS), f64::from(failed) / f64::from(REPETITIONS))
    }
}

/// Returns the largest probability of passing at the margin, over all shares of discordant pairs; `passes` decides by
/// gains and losses.
fn most_passes(pairs: u64, margin: f64, mut passes: impl FnMut(u64, u64) -> bool) -> f64 {
    let mut gains = 0;
    let fewest: Vec<u64> = (0..=pairs)
        .map(|discordant| {
            while gains <= discordant && !passes(gains, discordant - gains) {
                gains += 1;
            }
            while gains > 0 && gains - 1 <= discordant && passes(gains - 1, discordant - gains + 1) {
                gains -= 1;
            }
            gains
        })
        .collect();
    let at = |step: u32| {
        let discordance = margin + (1.0 - margin) * (f64::from(step) / 2000.0 * FRAC_PI_2).sin().powi(2);
        let discordants = Binomial::new(discordance, pairs).unwrap();
        let gained = (discordance - margin) / 2.0 / discordance;
        let passing = |(discordant, fewest): (u64, &u64)| {
            let likely = discordants.pmf(discordant);
            match fewest {
                _ if likely < 1e-12 => 0.0,
                0 => likely,
                fewest if *fewest > discordant => 0.0,
                fewest => likely * Binomial::new(gained.max(0.0), discordant).unwrap().sf(fewest - 1),
            }
        };
        (0..).zip(&fewest).map(passing).sum::<f64>()
    };
    (0..=2000).map(at).fold(0.0, f64::max)
}

/// Simulates the decision about other scenarios: returns the share of runs that pass, and of those that fail, if each scenario
/// loses a share of its pairs that is drawn from a beta distribution with this mean and intraclass correlation. Nothing is gained.
fn simulate_others([scenarios, trials]: [u64; 2], margin: f64, mean: f64, icc: f64, draws: &mut Draws) -> [f64; 2] {
    // Drawing from equally likely quantiles is faster than inverting the distribution each time.
    let quantile = |at: u32| match icc {
        0.0 => mean,
        1.0 => f64::from(u8::from(f64::from(at) < mean * f64::from(QUANTILES))),
        _ => {
            let scale = (1.0 - icc) / icc;
            let beta = Beta::new(mean * scale, (1.0 - mean) * scale).unwrap();
            beta.inverse_cdf((f64::from(at) + 0.5) / f64::from(QUANTILES))
        }
    };
    let quantiles: Vec<f64> = (0..QUANTILES).map(quantile).collect();
    let (mut passed, mut failed) = (0, 0);
    for _ in 0..CLUSTERED_RUNS {
        let clusters: Vec<ClusterPairs> = (0..scenarios)
            .map(|_| {
                let lost = quantiles[(draws.unit() * f64::from(QUANTILES)) as usize];
                let losses = (0..trials).filter(|_| draws.unit() < lost).count() as u64;
                ClusterPairs { pairs: trials, gains: 0, losses, stratum: 0 }
            })
            .collect();
        match clustered_non_inferiority(&clusters, margin, GATE_CONFIDENCE).unwrap() {
            NonInferiority::Holds => passed += 1,
            NonInferiority::Fails => failed += 1,
            NonInferiority::Inconclusive => {}
        }
    }
    [passed, failed].map(|count| f64::from(count) / f64::from(CLUSTERED_RUNS))
}

const QUANTILES: u32 = 2_000;
const CLUSTERED_RUNS: u32 = 20_000;

#[allow(clippy::print_stdout)]
#[test]
#[ignore = "takes a minute, in release"]
fn operating_characteristics_of_the_decision_about_other_scenarios() {
    let mut table = String::new();
    let key = DrawKey::of_run(Seed(17));
    let mut cell = 0;
    for (scenarios, trials, margin) in [(60, 5, 0.05), (60, 20, 0.05), (93, 5, 0.05), (93, 20, 0.05), (31, 20, 0.10)] {
        let mut shares = Vec::new();
        for icc in [0.0, 0.3, 0.6, 0.85, 1.0] {
            cell += 1;
            let mut draws = key.draws("other scenarios", cell);
            let [passed, _] = simulate_others([scenarios, trials], margin, margin, icc, &mut draws);
            assert!(passed <= 0.08, "{scenarios} {trials} {margin} {icc}: {passed}");
            shares.push(percent(passed));
        }
        writeln!(table, "| {margin:.2} | {scenarios} | {trials} | {} |", shares.join(" | ")).unwrap();
    }
    println!("{table}");
    assert!(DOCS.contains(&table), "docs/statistics.md does not have this table");
}

#[test]
fn nothing_holds_for_other_scenarios_below_the_fewest() {
    for (scenarios, margin) in [(58, 0.05), (28, 0.1), (18, 0.15)] {
        let same = |scenarios: usize| vec![ClusterPairs { pairs: 20, gains: 0, losses: 0, stratum: 0 }; scenarios];
        let decide = |scenarios| clustered_non_inferiority(&same(scenarios), margin, GATE_CONFIDENCE);
        assert_eq!(decide(scenarios), Some(NonInferiority::Inconclusive));
        assert_eq!(decide(scenarios + 1), Some(NonInferiority::Holds));
    }
}

// The printed table is the purpose of this test.
#[allow(clippy::print_stdout)]
#[test]
#[ignore = "takes a minute, in release"]
fn operating_characteristics_of_the_gate() {
    let mut table = String::new();
    let key = DrawKey::of_run(Seed(6));
    let mut cell = 0;
    for margin in [0.05, 0.10, 0.15] {
        for discordance in [0.0, 0.05, 0.1, 0.2, 0.3] {
            let pairs = pairs_for(margin, discordance, GATE_CONFIDENCE, 0.8).unwrap();
            cell += 1;
            let mut draws = key.draws("operating", cell);
            let mut gate = Gate { pairs, margin, verdicts: BTreeMap::new() };
            // A candidate that is worse by the margin has at least that share of discordant pairs.
            let at_margin = discordance.max(margin);
            let (gained, lost) = ((at_margin - margin) / 2.0, (at_margin + margin) / 2.0);
            let (wrong_pass, _) = gate.simulate(gained, lost, &mut draws);
            let (pass, wrong_fail) = gate.simulate(discordance / 2.0, discordance / 2.0, &mut draws);
            let of_interval = |gains, losses| {
                non_inferiority(tango(gains, losses, pairs, GATE_CONFIDENCE).unwrap(), margin) == NonInferiority::Holds
            };
            let interval_most = most_passes(pairs, margin, of_interval);
            let gate_most =
                most_passes(pairs, margin, |gains, losses| gate.verdict(gains, losses) == NonInferiority::Holds);
            assert!(wrong_pass <= 0.05 + error(0.05), "{margin} {discordance} {pairs}: {wrong_pass}");
            assert!(pass >= 0.8 - error(0.8), "{margin} {discordance} {pairs}: {pass}");
            assert!(wrong_fail <= 0.001, "{margin} {discordance} {pairs}: {wrong_fail}");
            assert!(gate_most <= 0.0501, "{margin} {discordance} {pairs}: {gate_most}");
            let shares = [at_margin, wrong_pass, gate_most, interval_most, pass].map(percent).join(" | ");
            writeln!(
                table,
                "| {margin:.2} | {} | {pairs} | {shares} | {:.2}% |",
                percent(discordance),
                100.0 * wrong_fail
            )
            .unwrap();
        }
    }
    println!("{table}");
    assert!(DOCS.contains(&table), "docs/statistics.md shows another table");
}

/// Draws from a standard normal distribution: G. E. P. Box, M. E. Muller (1958).
fn normal(draws: &mut Draws) -> f64 {
    let radius = (-2.0 * (1.0 - draws.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * draws.unit()).cos()
}

/// Draws one scenario's difference with mean 0 and standard deviation 1.
type Difference = fn(&mut Draws) -> f64;

/// A lognormal distribution whose logarithm has standard deviation 1: its skewness is 6.2.
fn long_tail(draws: &mut Draws) -> f64 {
    let e = std::f64::consts::E;
    (normal(draws).exp() - e.sqrt()) / (e * (e - 1.0)).sqrt()
}

#[allow(clippy::print_stdout)]
#[test]
#[ignore = "takes a minute, in release"]
fn operating_characteristics_of_a_bootstrap_over_scenarios() {
    let shapes: [(&str, Difference); 3] =
        [("normal", normal), ("a few much better", long_tail), ("a few much worse", |draws| -long_tail(draws))];
    let mut table = String::new();
    for (shape, difference) in shapes {
        for scenarios in [5, 10, 15, 30] {
            let mut draws = DrawKey::of_run(Seed(6)).draws(shape, scenarios);
            let mut resamples = Resamples::new(Seed(6));
            // At the margin; and without a change, with margins of a half and of one standard deviation.
            let mut passed = [0_u32; 3];
            let mut undecided = 0;
            for _ in 0..BOOTSTRAPS {
                let values: Vec<f64> = (0..scenarios).map(|_| difference(&mut draws)).collect();
                // The interval is equivariant under shifts: a margin of 0 represents a run that is worse by exactly any
                // margin.
                match bca_mean(&values, &mut resamples, GATE_CONFIDENCE) {
                    Some(interval) => {
                        for (passed, margin) in passed.iter_mut().zip([0.0, 0.5, 1.0]) {
                            *passed += u32::from(non_inferiority(interval, margin) == NonInferiority::Holds);
                        }
                    }
                    None => undecided += 1,
                }
            }
            assert_eq!(undecided, 0, "{shape} {scenarios}");
            let shares = passed.map(|count| percent(f64::from(count) / f64::from(BOOTSTRAPS))).join(" | ");
            writeln!(table, "| {shape} | {scenarios} | {shares} |").unwrap();
        }
    }
    println!("{table}");
    assert!(DOCS.contains(&table), "docs/statistics.md shows another table");
}
