//! The power of planned runs: the approximation of the planner, and simulations of the decisions themselves.

use std::fmt::Write as _;

use healbench_analysis::CONFIDENCE;
use healbench_analysis::statistics::{
    ClusterPairs, GATE_CONFIDENCE, NonInferiority, PlannedPairs, PlannedTest, Population, clustered_difference,
    non_inferiority,
};
use healbench_core::{DrawKey, Draws, Seed};

const RUNS: u32 = 20_000;
const TRIALS: u32 = 5;
const SCENARIOS: [u64; 4] = [31, 60, 93, 150];
const ICC: [f64; 4] = [0.0, 0.3, 0.6, 0.85];
const DISCORDANCE: f64 = 0.10;
const DETECT: f64 = 0.05;
const DOCS: &str = include_str!("../../../../docs/statistics.md");

/// Draws the pairs of a run. Each pair repeats a draw that is common to its scenario with probability √ICC, so that any two
/// pairs of a scenario have this correlation.
fn draw_clusters(scenarios: u64, icc: f64, [gained, lost]: [f64; 2], draws: &mut Draws) -> Vec<ClusterPairs> {
    let repeats = icc.sqrt();
    let cluster = |_| {
        let common = draws.unit();
        let mut cluster = ClusterPairs { pairs: u64::from(TRIALS), gains: 0, losses: 0, stratum: 0 };
        for _ in 0..TRIALS {
            let draw = if draws.chance(repeats) { common } else { draws.unit() };
            cluster.gains += u64::from(draw < gained);
            cluster.losses += u64::from(draw >= gained && draw < gained + lost);
        }
        cluster
    };
    (0..scenarios).map(cluster).collect()
}

/// Returns the share of runs that pass on other scenarios by the interval alone, and the share that shows a difference.
fn simulate(test: &PlannedTest, scenarios: u64, icc: f64, draws: &mut Draws) -> [f64; 2] {
    let rates = [test.difference, -test.difference].map(|change| (test.discordance + change) / 2.0);
    let mut found = [0_u32; 2];
    for _ in 0..RUNS {
        let clusters = draw_clusters(scenarios, icc, rates, draws);
        let gate = clustered_difference(&clusters, GATE_CONFIDENCE).unwrap();
        found[0] += u32::from(non_inferiority(gate.interval, DETECT) == NonInferiority::Holds);
        found[1] += u32::from(gate.p_value < 1.0 - CONFIDENCE);
    }
    found.map(|count| f64::from(count) / f64::from(RUNS))
}

/// The two tests of the tables, without the fewest scenarios of the gate.
fn tests() -> [PlannedTest; 2] {
    let gate = PlannedTest::gate(DETECT, DISCORDANCE).unwrap();
    [PlannedTest { fewest: 2, ..gate }, PlannedTest::comparison(DETECT, DISCORDANCE, CONFIDENCE).unwrap()]
}

fn approximate(test: &PlannedTest, scenarios: u64, icc: f64) -> f64 {
    test.power(PlannedPairs::of(scenarios, TRIALS), Population::OtherScenarios { icc })
}

// The printed tables are the purpose of this test.
#[allow(clippy::print_stdout)]
#[test]
#[ignore = "takes minutes"]
fn power_of_planned_runs() {
    let key = DrawKey::of_run(Seed(17));
    let mut tables = Vec::new();
    for (index, test) in tests().iter().enumerate() {
        let mut table = String::new();
        for scenarios in SCENARIOS {
            let cells = ICC.map(|icc| {
                let mut draws = key.draws(["gate", "comparison"][index], scenarios * 100 + (icc * 100.0) as u64);
                let simulated = simulate(test, scenarios, icc, &mut draws)[index];
                format!("{:.0}% ({:.0}%)", 100.0 * simulated, 100.0 * approximate(test, scenarios, icc))
            });
            writeln!(table, "| {scenarios} | {} |", cells.join(" | ")).unwrap();
        }
        println!("{table}");
        tables.push(table);
    }
    assert!(tables.iter().all(|table| DOCS.contains(table)), "docs/statistics.md does not have these tables");
}

#[test]
fn the_approximation_is_within_a_few_points_of_the_simulated_tables() {
    let section = DOCS.split("## Which text is better in general?").nth(1).expect("a section with the tables");
    let mut compared = 0;
    for (test, table) in tests().iter().zip(section.split("| scenarios |").skip(1)) {
        for scenarios in SCENARIOS {
            let row = table.lines().find(|line| line.starts_with(&format!("| {scenarios} |"))).unwrap();
            for (cell, icc) in row.split('|').skip(2).zip(ICC) {
                let simulated: f64 = cell.split_once('%').unwrap().0.trim().parse().unwrap();
                let approximate = 100.0 * approximate(test, scenarios, icc);
                // With few scenarios the estimate of the correlation varies, which the approximation leaves out.
                let error = if scenarios < 59 { 7.0 } else { 4.0 };
                assert!((simulated - approximate).abs() <= error, "{scenarios} {icc}: {simulated} {approximate}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 32);
}

#[test]
fn a_plan_below_the_fewest_scenarios_never_passes() {
    let gate = PlannedTest::gate(DETECT, 0.0).unwrap();
    let power = |scenarios| gate.power(PlannedPairs::of(scenarios, 20), Population::OtherScenarios { icc: 0.5 });
    assert_eq!([58, 59].map(power), [0.0, 1.0]);
    assert_eq!(gate.scenarios_for(20, Population::ThisSuite, 0.8), Some(3));
    assert_eq!(PlannedTest::gate(0.0, 0.1), None);
    assert_eq!(PlannedTest::comparison(0.05, 1.1, CONFIDENCE), None);
}

#[test]
fn more_scenarios_are_needed_for_fewer_trials_but_fewer_episodes() {
    for test in tests() {
        for icc in ICC {
            let needed = [1, 5, 10, 20]
                .map(|trials| test.scenarios_for(trials, Population::OtherScenarios { icc }, 0.8).unwrap());
            assert!(needed.is_sorted_by(|a, b| a >= b), "{icc}: {needed:?}");
            if icc > 0.0 {
                assert!(needed[3] * 20 > 5 * needed[0], "{icc}: {needed:?}");
            }
        }
    }
    // The same number of pairs as the gate's own search.
    let gate = PlannedTest::gate(DETECT, DISCORDANCE).unwrap();
    assert_eq!(gate.scenarios_for(1, Population::ThisSuite, 0.8), Some(274));
}
