//! Tests of what a gate says about rates: for these scenarios, for others, and for single ones that broke.

use crate::gate::{complete_records, run_gate};
use crate::sample::{manifest, plan, run_with};
use healbench_analysis::Baseline;
use healbench_analysis::gate::{GateRow, Policy, Verdict};
use healbench_core::{AxisValues, CellRef, Condition, ErrorFormat, Guardrails, Outcome, Plan, Undeclared};
use healbench_frames::Rows;

/// Returns a plan of one live model agent, one condition and this many scenarios, each its own cluster.
pub(crate) fn model_plan(scenarios: usize, trials: u32) -> Plan {
    let mut plan = plan(trials);
    plan.agents.remove(0);
    plan.conditions.truncate(1);
    let sample = plan.scenarios[0].clone();
    let scenario = |index: usize| {
        let id = format!("suite/s{index:03}");
        healbench_core::PlannedScenario { cluster: id.clone(), id, ..sample.clone() }
    };
    plan.scenarios = (0..scenarios).map(scenario).collect();
    plan
}

/// Returns the baseline of a run whose episodes ended so.
pub(crate) fn blessed(plan: &Plan, outcome: impl Fn(CellRef) -> Outcome) -> Baseline {
    let mut records = complete_records(plan);
    for row in &mut records.episodes {
        row.outcome = outcome(plan.cell(row.episode).unwrap());
        row.model = Some(Box::default());
    }
    let (_folder, run) = run_with(plan, &records);
    Baseline::from_run(&Rows(&run), &manifest(plan), 1.0).unwrap()
}

fn ended(success: bool) -> Outcome {
    if success { Outcome::Success } else { Outcome::TaskFail }
}

fn success_row(base: &Baseline, candidate: &Baseline, more: &str) -> GateRow {
    let text = format!("infra_share = \"50%\"\n{more}\n[[check]]\nmetric = \"success\"\nmargin = \"5 points\"\n");
    let report = run_gate(base, candidate, &Policy::parse("gate.toml", &text).unwrap()).unwrap();
    report.rows.into_iter().find(|row| row.metric == "success").unwrap()
}

#[test]
fn scenarios_of_one_template_are_one_cluster_of_a_gate() {
    let mut plan = model_plan(60, 2);
    let apart = blessed(&plan, |_| Outcome::Success);
    for index in (1..60).step_by(2) {
        plan.scenarios[index].cluster = plan.scenarios[index - 1].id.clone();
    }
    let clustered = blessed(&plan, |_| Outcome::Success);
    let read = Baseline::parse(&clustered.to_text()).unwrap();
    assert_eq!(read, clustered);
    for candidate in [&clustered, &read] {
        let others = success_row(&clustered, candidate, "").other_scenarios.unwrap();
        assert_eq!((others.verdict, others.scenarios, others.missing_scenarios), (Verdict::Inconclusive, 30, 29));
    }
    // Without clusters, every scenario is one.
    assert!(!apart.to_text().contains("cluster = "), "{}", apart.to_text());
    let others = success_row(&apart, &apart, "").other_scenarios.unwrap();
    assert_eq!((others.verdict, others.scenarios, others.missing_scenarios), (Verdict::Pass, 60, 0));
    // A base that was written without clusters takes those of the candidate.
    assert_eq!(success_row(&apart, &clustered, "").other_scenarios.unwrap().scenarios, 30);
}

#[test]
fn conditions_that_differ_in_one_part_are_two_cells() {
    let mut plan = model_plan(2, 2);
    let mut stripping = plan.conditions[0].clone();
    stripping.values.undeclared = Undeclared::Strip;
    plan.conditions.push(stripping);
    let both = blessed(&plan, |cell| ended(cell.condition == 0));
    let names: Vec<Option<&str>> = both.cells.keys().map(|cell| cell.condition.as_deref()).collect();
    assert_eq!(names, [None, Some("none bare strip")]);
    let successes = |index: usize| -> u64 {
        both.cells
            .values()
            .nth(index)
            .unwrap()
            .values()
            .map(|line| line.sum(healbench_analysis::Metric::Success).total as u64)
            .sum()
    };
    assert_eq!((successes(0), successes(1)), (4, 0));
    assert_eq!(Baseline::parse(&both.to_text()), Ok(both));
}

#[test]
fn a_broken_scenario_is_seen_where_its_trials_allow_it() {
    // A fall from all to none has the p-value 1 / C(2n, n): with 31 scenarios, 5 trials are too few and 6 are enough.
    for (scenarios, trials, is_seen) in
        [(31, 5, false), (31, 6, true), (12, 5, true), (13, 5, false), (3, 3, false), (2, 4, true)]
    {
        let plan = model_plan(scenarios, trials);
        let base = blessed(&plan, |_| Outcome::Success);
        let broken = success_row(&base, &blessed(&plan, |cell| ended(cell.scenario > 0)), "");
        assert_eq!(
            broken.reason.contains("scenario `suite/s000` is worse beyond chance"),
            is_seen,
            "{}",
            broken.reason
        );
        let same = success_row(&base, &base, "");
        let warning = "every scenario has too few trials to tell a break from chance";
        assert_eq!(same.reason.contains(warning), !is_seen, "{scenarios} {trials}: {}", same.reason);
    }
    // One scenario lost trials.
    let plan = model_plan(31, 6);
    let base = blessed(&plan, |_| Outcome::Success);
    let lossy =
        blessed(&plan, |cell| if cell.scenario == 7 && cell.trial > 2 { Outcome::Infra } else { Outcome::Success });
    let reason = success_row(&base, &lossy, "").reason;
    assert!(reason.contains("scenario `suite/s007` has too few trials to tell a break from chance"), "{reason}");
}

#[test]
fn a_generalizing_gate_says_what_is_missing() {
    for (scenarios, more) in [(1, "58 more scenarios"), (2, "57 more scenarios"), (58, "1 more scenario ")] {
        let plan = model_plan(scenarios, 120);
        let base = blessed(&plan, |_| Outcome::Success);
        let row = success_row(&base, &base, "generalize = true");
        assert_eq!(row.verdict, Verdict::Inconclusive, "{scenarios}");
        let says = format!("on other scenarios: INCONCLUSIVE (a PASS needs {more}");
        assert!(row.reason.contains(says.trim_end()), "{}", row.reason);
    }
    // Enough scenarios, but too much variation.
    let plan = model_plan(60, 120);
    let base = blessed(&plan, |cell| ended(cell.scenario % 10 > 0));
    let candidate = blessed(&plan, |cell| ended(cell.scenario % 10 != 1));
    let row = success_row(&base, &candidate, "generalize = true");
    let others = row.other_scenarios.unwrap();
    assert_eq!((others.verdict, others.missing_scenarios), (Verdict::Inconclusive, 0));
    assert!(
        row.reason.contains("on other scenarios: INCONCLUSIVE (the interval contains the margin)"),
        "{}",
        row.reason
    );
}

#[test]
fn a_gate_refuses_two_conditions_of_one_name() {
    let of = |guardrails, format: ErrorFormat| {
        let mut plan = model_plan(2, 2);
        plan.conditions = vec![Condition::named("mine", AxisValues::of(guardrails, format))];
        blessed(&plan, |_| Outcome::Success)
    };
    let base = of(Guardrails::NONE, ErrorFormat::Bare);
    let healing = Guardrails { healing: true, ..Guardrails::NONE };
    let guarded = of(healing, ErrorFormat::FusionXml);
    let formatted = of(healing, ErrorFormat::FusionText);
    assert!(run_gate(&base, &base, &Policy::default()).is_ok());
    for (base, candidate) in [(&base, &guarded), (&guarded, &formatted)] {
        let refused = run_gate(base, candidate, &Policy::default()).unwrap_err();
        assert_eq!(refused.property, "the guardrails and format of condition `mine`");
        assert!(refused.allow.is_none() && refused.base != refused.candidate, "{refused:?}");
    }
}
