//! Writes pairs of runs for `tools/second-gate.py`, which decides them without this code.

use std::fs;
use std::path::{Path, PathBuf};

use healbench_core::{CellRef, DrawKey, Draws, Outcome, Plan, Seed};
use healbench_frames::FrameWriter;
use healbench_store::RunDir;
use serde_json::json;

use crate::gate::complete_records;
use crate::gate_questions::model_plan;
use crate::sample::manifest;

const PAIRS: u64 = 300;

/// The outcomes of one side: by scenario and trial.
type Side = Vec<Vec<Outcome>>;

fn below(draws: &mut Draws, bound: usize) -> usize {
    (draws.unit() * bound as f64) as usize
}

/// Draws the probabilities of success of a scenario with the base and with the candidate.
fn probabilities(kind: usize, scenario: usize, draws: &mut Draws) -> [f64; 2] {
    let base = match draws.unit() {
        share if share < 0.4 => 1.0,
        share if share < 0.5 => 0.0,
        _ => draws.unit(),
    };
    let moved = |change: f64| [base, (base + change).clamp(0.0, 1.0)];
    match kind {
        0 => moved(0.0),
        1 => [1.0, 1.0],
        2 => moved(-0.05),
        3 => moved(-0.15),
        4 => moved(0.2),
        5 => [1.0, if scenario == 0 { 0.0 } else { 1.0 }],
        6 => moved(if draws.unit() < 0.1 { -1.0 } else { 0.0 }),
        7 => [0.0, if draws.unit() < 0.6 { 1.0 } else { 0.0 }],
        8 => [1.0, 1.0 - draws.unit() * 0.1],
        _ => moved(draws.unit() - 0.5),
    }
}

fn write(folder: &Path, plan: &Plan, side: &Side) {
    let mut records = complete_records(plan);
    for row in &mut records.episodes {
        let CellRef { scenario, trial, .. } = plan.cell(row.episode).unwrap();
        row.outcome = side[scenario][trial as usize];
        row.model = Some(Box::default());
    }
    let mut manifest = manifest(plan);
    let run = RunDir::create(folder, &mut manifest, &[], None).unwrap().publish().unwrap().0;
    let mut writer = FrameWriter::create(&run, plan).unwrap();
    writer.write(&records).unwrap();
    writer.finish().unwrap();
    run.add_result_files(&mut manifest).unwrap();
    run.write_manifest(&manifest).unwrap();
}

#[test]
#[ignore = "writes 600 runs into HEALBENCH_RUN_PAIRS, a folder that must not exist"]
fn run_pairs_for_a_second_gate() {
    let folder =
        PathBuf::from(std::env::var_os("HEALBENCH_RUN_PAIRS").expect("HEALBENCH_RUN_PAIRS names a new folder"));
    let key = DrawKey::of_run(Seed(19));
    for pair in 0..PAIRS {
        let mut draws = key.draws("run pairs", pair);
        let (scenarios, trials) = (1 + below(&mut draws, 100), 1 + below(&mut draws, 20));
        let kind = below(&mut draws, 10);
        let (lost, shared) = ([0.0, 0.0, 0.04][below(&mut draws, 3)], [0.0, 0.0, 0.5][below(&mut draws, 3)]);
        let mut plan = model_plan(scenarios, trials as u32);
        let mut sides = [Side::new(), Side::new()];
        for scenario in 0..scenarios {
            if scenario > 0 && draws.unit() < shared {
                plan.scenarios[scenario].cluster = plan.scenarios[scenario - 1].cluster.clone();
            }
            let probabilities = probabilities(kind, scenario, &mut draws);
            for (side, probability) in sides.iter_mut().zip(probabilities) {
                let mut outcome = || match draws.unit() {
                    loss if loss < lost => Outcome::Infra,
                    _ if draws.unit() < probability => Outcome::Success,
                    _ => Outcome::TaskFail,
                };
                side.push((0..trials).map(|_| outcome()).collect());
            }
        }
        let margin = [5, 10, 15][below(&mut draws, 3)];
        let direction = ["higher", "higher", "lower", "same"][below(&mut draws, 4)];
        let generalize = draws.unit() < 0.5;
        let here = folder.join(format!("{pair:03}"));
        fs::create_dir_all(&here).unwrap();
        for (name, side) in ["base", "candidate"].into_iter().zip(&sides) {
            write(&here.join(name), &plan, side);
        }
        let policy = format!(
            "infra_share = \"100%\"\ngeneralize = {generalize}\n[[check]]\nmetric = \"success\"\ndirection = \"{direction}\"\n\
             margin = \"{margin} points\"\n"
        );
        fs::write(here.join("gate.toml"), policy).unwrap();
        let text = |side: &Side| -> Vec<String> {
            let digit = |outcome: &Outcome| match outcome {
                Outcome::Success => '1',
                Outcome::Infra => '-',
                _ => '0',
            };
            side.iter().map(|trials| trials.iter().map(digit).collect()).collect()
        };
        let truth = json!({
            "margin": f64::from(margin) / 100.0, "direction": direction, "generalize": generalize,
            "clusters": plan.scenarios.iter().map(|scenario| &scenario.cluster).collect::<Vec<_>>(),
            "base": text(&sides[0]), "candidate": text(&sides[1]),
        });
        fs::write(here.join("truth.json"), truth.to_string()).unwrap();
    }
}
