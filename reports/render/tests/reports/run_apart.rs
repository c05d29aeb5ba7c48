//! Runs of live models that took place one after the other are marked.

use healbench_analysis::gate::Policy;
use healbench_analysis::{Baseline, Comparison, Side, compare};
use healbench_core::AgentKind;
use healbench_frames::Rows;
use healbench_render::{ComparisonOptions, comparison, gate, json};
use healbench_store::RunManifest;

use crate::gate::{complete_records, run_gate};
use crate::sample::{manifest, plan, run_with};

const APART: &str =
    "run apart: the base from 2026-01-02T03:00:00Z to 2026-01-02T04:00:00Z, the candidate from 2026-01-02T05:00:00Z";

/// Returns the manifest of a run of agents of one kind from one hour to another.
fn run_at(kind: AgentKind, hours: Option<[u32; 2]>) -> RunManifest {
    let mut plan = plan(4);
    plan.agents.retain(|agent| agent.kind == kind);
    let time = |hour: u32| format!("2026-01-02T{hour:02}:00:00Z");
    let [started, finished] = hours.unwrap_or([3, 4]).map(time);
    RunManifest { started, finished: hours.map(|_| finished), ..manifest(&plan) }
}

fn compare_at(kind: AgentKind, base: Option<[u32; 2]>, candidate: Option<[u32; 2]>) -> (Comparison, [Baseline; 2]) {
    let manifests = [base, candidate].map(|hours| run_at(kind, hours));
    let mut records = complete_records(&manifests[0].plan);
    for row in &mut records.episodes {
        row.model = (kind == AgentKind::Llm).then(Box::default);
    }
    let (_folder, run) = run_with(&manifests[0].plan, &records);
    let rows = Rows(&run);
    let side = |index: usize| Side { name: "run", run: &rows, manifest: &manifests[index] };
    let baselines = [0, 1].map(|index| Baseline::from_run(&Rows(&run), &manifests[index], 1.0).unwrap());
    (compare(side(0), side(1)).unwrap(), baselines)
}

#[test]
fn a_comparison_of_live_models_says_that_they_ran_apart() {
    let (found, _) = compare_at(AgentKind::Llm, Some([3, 4]), Some([5, 6]));
    let sentence = found.run_apart.as_deref().unwrap();
    assert!(sentence.starts_with(APART), "{sentence}");
    let text = comparison(&found, ComparisonOptions { width: 400, color: false, flips: 0 });
    assert!(text.contains(sentence) && json(&found).unwrap().contains(APART), "{text}");
    for (base, candidate) in [(Some([3, 5]), Some([4, 6])), (Some([3, 4]), Some([4, 5])), (None, Some([5, 6]))] {
        assert_eq!(compare_at(AgentKind::Llm, base, candidate).0.run_apart, None, "{base:?} {candidate:?}");
    }
    // Scripted agents do not depend on the time.
    assert_eq!(compare_at(AgentKind::Scripted, Some([3, 4]), Some([5, 6])).0.run_apart, None);
}

#[test]
fn a_gate_on_live_models_says_that_they_ran_apart() {
    let (_, [base, candidate]) = compare_at(AgentKind::Llm, Some([3, 4]), Some([5, 6]));
    let parsed = Baseline::parse(&base.to_text()).unwrap();
    assert_eq!(parsed.times, base.times);
    let report = run_gate(&parsed, &candidate, &Policy::default()).unwrap();
    assert!(report.run_apart.as_deref().is_some_and(|sentence| sentence.starts_with(APART)), "{report:?}");
    let options = gate::GateOptions { width: 400, color: false };
    assert!(gate::terminal(&report, options).contains(APART));
    assert!(gate::markdown(&report).contains("run apart: the base from"));
    assert!(json(&report).unwrap().contains(APART));
    assert_eq!(run_gate(&parsed, &base, &Policy::default()).unwrap().run_apart, None);
    let (_, [scripted, later]) = compare_at(AgentKind::Scripted, Some([3, 4]), Some([5, 6]));
    assert!(!scripted.to_text().contains("times"), "{}", scripted.to_text());
    assert_eq!(run_gate(&scripted, &later, &Policy::default()).unwrap().run_apart, None);
}
