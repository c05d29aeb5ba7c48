//! Trials of a declared deterministic model with the same schedule are copies, and count once.

use std::collections::BTreeSet;

use healbench_analysis::gate::Policy;
use healbench_analysis::statistics::wilson;
use healbench_analysis::{Axis, Baseline, CONFIDENCE, Metric, PairingFailure, Scope, Side, compare, matrix, summarize};
use healbench_core::{AgentKind, Outcome, Plan, Records, Seed};
use healbench_frames::Rows;
use healbench_render as render;
use serde_json::json;

use crate::gate::{complete_records, run_gate};
use crate::sample::{manifest, plan, run_with};

const TRIALS: u32 = 20;
/// 1, 2 and 20 different schedules in the three scenarios.
const DISTINCT: u64 = 1 + 2 + TRIALS as u64;
const ALL: u64 = 3 * TRIALS as u64;

/// Returns a plan of one live model, and rows in which trials share schedules. Its success follows from the schedule
/// and the condition.
fn run_of(deterministic: bool) -> (Plan, Records) {
    let mut plan = plan(TRIALS);
    plan.seed = Seed(3);
    plan.agents.retain(|agent| agent.kind == AgentKind::Llm);
    plan.agents[0].settings = if deterministic { json!({"deterministic": true}) } else { json!({"temperature": 0.0}) };
    let mut records = complete_records(&plan);
    for row in &mut records.episodes {
        let cell = plan.cell(row.episode).unwrap();
        let schedule = [0, cell.trial % 2, cell.trial][cell.scenario];
        row.schedule_hash = format!("{:016x}", cell.scenario as u32 * 1000 + schedule);
        row.outcome = match (cell.condition + schedule as usize) % 2 {
            0 => Outcome::TaskFail,
            _ => Outcome::Success,
        };
        row.model = Some(Box::default());
    }
    (plan, records)
}

#[test]
fn copies_count_once_in_a_comparison_of_runs() {
    for (deterministic, pairs) in [(true, DISTINCT), (false, ALL)] {
        let (plan, records) = run_of(deterministic);
        let (_folder, run) = run_with(&plan, &records);
        let manifest = manifest(&plan);
        let rows = Rows(&run);
        let side = |name| Side { name, run: &rows, manifest: &manifest };
        let found = compare(side("old"), side("new")).unwrap();
        assert!(found.cells.iter().all(|cell| cell.pairs == pairs), "{deterministic}");
        let copies: Vec<(&str, u64)> = found
            .unpaired
            .iter()
            .filter(|unpaired| unpaired.reason == PairingFailure::Copy)
            .map(|unpaired| (unpaired.subject.as_str(), unpaired.candidate))
            .collect();
        let text = render::comparison(&found, render::ComparisonOptions { width: 400, color: false, flips: 0 });
        // 19 and 18 copies in each of three conditions.
        let expected = if deterministic { vec![("billing/new-currency", 57), ("orders/typo", 54)] } else { vec![] };
        assert_eq!(copies, expected);
        assert_eq!(text.contains("copies of an earlier trial"), deterministic, "{text}");
        assert_eq!(found.cells[0].title.ends_with("prompt · deterministic"), deterministic);
    }
}

#[test]
fn copies_count_once_in_a_matrix_and_in_a_report() {
    for (deterministic, pairs) in [(true, DISTINCT), (false, ALL)] {
        let (plan, records) = run_of(deterministic);
        let (_folder, run) = run_with(&plan, &records);
        let manifest = manifest(&plan);
        let found = matrix(Side { name: "run", run: &Rows(&run), manifest: &manifest }, Axis::Condition, None).unwrap();
        let mut counted = BTreeSet::new();
        let (mut successes, mut scored) = (0, 0);
        for row in &records.episodes {
            let cell = plan.cell(row.episode).unwrap();
            if cell.condition == 1 && (!deterministic || counted.insert(&row.schedule_hash)) {
                scored += 1;
                successes += u64::from(row.outcome == Outcome::Success);
            }
        }
        assert_eq!(scored, pairs);
        let interval = wilson(successes, scored, CONFIDENCE);
        let cell = found.columns[0].cells[1].as_ref().unwrap();
        let success = cell.differences.iter().find(|difference| difference.metric == Metric::Success).unwrap();
        assert_eq!((success.pairs, cell.success_interval), (pairs, interval));
        assert_eq!(cell.success.denominator, ALL);
        let report = summarize(&Rows(&run), &manifest, Scope::Full).unwrap();
        assert_eq!(report.agents[0].deterministic, deterministic);
        assert_eq!(report.agents[0].title_parts().join(" · "), report.agents[0].title);
        let row = &report.agents[0].rows[1];
        assert_eq!((row.vs_reference.unwrap().pairs, row.vs_reference.unwrap().unmatched), (pairs, 0));
        assert_eq!((row.success_interval, row.scored), (interval, ALL));
        assert_eq!(report.agents[0].headline.as_ref().unwrap().success.pairs, pairs);
    }
}

#[test]
fn copies_count_once_in_a_gate() {
    for (deterministic, pairs) in [(true, DISTINCT), (false, ALL)] {
        let (plan, records) = run_of(deterministic);
        let (_folder, run) = run_with(&plan, &records);
        let candidate = Baseline::from_run(&Rows(&run), &manifest(&plan), 1.0).unwrap();
        let base = Baseline::parse(&candidate.to_text()).unwrap();
        let policy = Policy::parse("gate.toml", "[[check]]\nmetric = \"success\"\nmargin = \"5 points\"\n").unwrap();
        let report = run_gate(&base, &candidate, &policy).unwrap();
        for row in report.rows.iter().filter(|row| row.metric == "success") {
            assert_eq!(row.pairs, Some(pairs));
            assert_eq!(
                row.reason.contains("37 copies of trials with the same schedule"),
                deterministic,
                "{}",
                row.reason
            );
        }
    }
}
