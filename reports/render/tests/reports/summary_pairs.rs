//! Tests of reports whose rows cannot be paired or read, and of their reproducibility.

use healbench_analysis::{ReportError, Scope, summarize};
use healbench_core::Outcome;
use healbench_frames::{FrameWriter, Rows};

use crate::sample::{empty_run, manifest, plan, records, run_with};
use crate::summary::report;

#[test]
fn nothing_is_compared_when_the_plan_has_no_row_under_none() {
    let mut plan = plan(5);
    plan.conditions.remove(0);
    let report = report(&plan, &records(&plan)).unwrap();
    assert!(report.agents.iter().flat_map(|agent| &agent.rows).all(|row| row.vs_reference.is_none()));
}

#[test]
fn episodes_that_met_other_difficulties_are_not_compared() {
    let plan = plan(3);
    let mut records = records(&plan);
    // There are two such pairs. The error names the first in the order of the plan, and ignores episodes that are not
    // scored.
    for row in &mut records.episodes {
        row.outcome = Outcome::Success;
    }
    records.episodes[4].outcome = Outcome::Infra;
    for episode in [4, 13, 25] {
        records.episodes[episode].schedule_hash = "0123456789abcdef".to_owned();
    }
    let error = report(&plan, &records).unwrap_err();
    assert!(matches!(error, ReportError::Schedule { episode: 13, reference: 10, trial: 1, .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "episodes 13 and 10 cannot be compared: openai:gpt-5-mini met another schedule under `all` than under the reference \
         condition in trial 1 of `billing/new-currency`"
    );
}

#[test]
fn frames_of_another_plan_are_refused() {
    let plan = plan(3);
    let mut other = plan.clone();
    other.scenarios[1].id = "orders/other".to_owned();
    let (_folder, run) = run_with(&other, &records(&other));
    let error = summarize(&Rows(&run), &manifest(&plan), Scope::Full).unwrap_err();
    assert!(matches!(error, ReportError::ForeignEpisode { episode: 18 }), "{error}");
}

#[test]
fn the_same_rows_give_the_same_report() {
    let plan = plan(30);
    let records = records(&plan);
    let (_folder, run) = empty_run(&plan);
    let mut writer = FrameWriter::create(&run, &plan).unwrap();
    writer.write(&records).unwrap();
    writer.finish().unwrap();
    let first = summarize(&Rows(&run), &manifest(&plan), Scope::Full).unwrap();
    for _ in 0..5 {
        assert_eq!(summarize(&Rows(&run), &manifest(&plan), Scope::Full).unwrap(), first);
    }
}
