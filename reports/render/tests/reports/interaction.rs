//! Interactions of content and error format, checked against loops over the rows.

use std::collections::BTreeMap;

use healbench_analysis::statistics::{ClusterSums, clustered_mean, holm};
use healbench_analysis::{Axis, Interaction, Matrix, Scope, Side, matrix, summarize};
use healbench_core::{Condition, Content, EpisodeRecord, ErrorFormat, Guardrails, Outcome, Plan, Records};
use healbench_frames::Rows;
use healbench_render::{markdown, matrix as shown_matrix};

use crate::sample::{manifest, plan, records, run_with};

const LEVELS: [Content; 3] = [Content::Diagnosis, Content::NextStep, Content::Placebo];

/// A plan whose conditions are one without guardrails, and each of two formats at three levels, but for one.
fn crossed(trials: u32) -> Plan {
    let mut plan = plan(trials);
    let formats = [ErrorFormat::FusionXml, ErrorFormat::ZodJson];
    let conditions = formats.iter().flat_map(|format| {
        LEVELS.map(|content| {
            let mut condition = Condition::new(Guardrails::ALL, format.clone());
            condition.values.content = content;
            condition
        })
    });
    plan.conditions.truncate(1);
    plan.conditions.extend(conditions.take(5));
    plan
}

pub(crate) fn matrix_of(plan: &Plan, records: &Records, axis: Axis, reference: Option<&str>) -> Matrix {
    let (_folder, run) = run_with(plan, records);
    matrix(Side { name: "run", run: &Rows(&run), manifest: &manifest(plan) }, axis, reference).unwrap()
}

/// Computes the contrast of four conditions over all trials in which they were scored, by cluster.
fn slow(plan: &Plan, records: &Records, agent: usize, conditions: [usize; 4]) -> BTreeMap<String, Vec<f64>> {
    let find = |scenario: usize, trial: u32, condition: usize| -> &EpisodeRecord {
        let here = |row: &&EpisodeRecord| {
            let cell = plan.cell(row.episode).unwrap();
            (cell.agent, cell.scenario, cell.trial, cell.condition) == (agent, scenario, trial, condition)
        };
        records.episodes.iter().find(here).unwrap()
    };
    let mut found: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for scenario in 0..plan.scenarios.len() {
        for trial in 0..plan.trials {
            let rows = conditions.map(|condition| find(scenario, trial, condition));
            if rows.iter().all(|row| row.outcome.is_scored()) {
                let [a, b, c, d] = rows.map(|row| f64::from(i32::from(row.outcome == Outcome::Success)));
                found.entry(plan.scenarios[scenario].cluster.clone()).or_default().push((a - b) - (c - d));
            }
        }
    }
    found
}

#[test]
fn interactions_are_differences_of_differences() {
    let plan = crossed(12);
    let records = records(&plan);
    let found = matrix_of(&plan, &records, Axis::CONTENT, None);
    assert_eq!(found.reference, "diagnosis");
    // The plan lacks placebo in zod-json.
    assert_eq!(found.interactions.len(), 2);
    let mut p_values = Vec::new();
    for (agent, entry) in found.interactions.iter().enumerate() {
        let names = [&entry.content, &entry.reference_content, &entry.format, &entry.reference_format];
        assert_eq!(names, ["next-step", "diagnosis", "zod-json", "fusion-xml"]);
        assert_eq!((&entry.agent, entry.guardrails), (&plan.agents[agent].title(), Guardrails::ALL));
        // zod-json next-step, zod-json diagnosis, fusion-xml next-step, fusion-xml diagnosis.
        let clusters = slow(&plan, &records, agent, [5, 4, 2, 1]);
        let all: Vec<f64> = clusters.values().flatten().copied().collect();
        assert_eq!(entry.trials, all.len() as u64);
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!((entry.difference.unwrap() - mean).abs() < 1e-12, "{entry:?}");
        let sums: Vec<ClusterSums> = clusters
            .values()
            .map(|values| ClusterSums { numerator: values.iter().sum(), denominator: values.len() as f64, stratum: 0 })
            .collect();
        let expected = clustered_mean(&sums, 0.95).unwrap();
        let interval = entry.interval.unwrap();
        assert_eq!(interval.lower, expected.interval.lower.max(-2.0));
        assert_eq!(interval.upper, expected.interval.upper.min(2.0));
        assert!((entry.p_value.unwrap() - expected.p_value).abs() < 1e-12);
        p_values.push(expected.p_value);
    }
    let adjusted: Vec<f64> = found.interactions.iter().filter_map(|entry| entry.p_adjusted).collect();
    assert_eq!(adjusted, holm(&p_values).unwrap());
}

#[test]
fn the_interaction_is_that_of_either_axis() {
    let plan = crossed(12);
    let records = records(&plan);
    let by_content = matrix_of(&plan, &records, Axis::CONTENT, None);
    assert_eq!(matrix_of(&plan, &records, Axis::FORMAT, None).interactions, by_content.interactions);
    // With the other format as the reference, the sign changes, and placebo has no other format to be compared with.
    let turned = matrix_of(&plan, &records, Axis::FORMAT, Some("zod-json")).interactions;
    let minus = |entry: &Interaction| entry.difference.map(|difference| -difference);
    assert_eq!(
        turned.iter().map(minus).collect::<Vec<_>>(),
        [0, 1].map(|agent| by_content.interactions[agent].difference)
    );
    assert_eq!(turned[0].reference_format, "zod-json");
    assert!(matrix_of(&plan, &records, Axis::Agent, None).interactions.is_empty());
    // One format alone has none.
    let mut one = plan.clone();
    one.conditions.truncate(4);
    let rows = crate::sample::records(&one);
    assert!(matrix_of(&one, &rows, Axis::CONTENT, None).interactions.is_empty());
}

#[test]
fn a_single_cluster_has_an_interaction_without_an_interval() {
    let mut plan = crossed(12);
    plan.scenarios.truncate(2);
    let found = matrix_of(&plan, &records(&plan), Axis::CONTENT, None);
    let entry = &found.interactions[0];
    assert!(entry.difference.is_some() && entry.trials > 0);
    assert_eq!((entry.interval, entry.p_value, entry.p_adjusted), (None, None, None));
}

#[test]
fn interactions_in_terminal_and_markdown() {
    let plan = crossed(12);
    let records = records(&plan);
    insta::assert_snapshot!(
        "interactions_terminal",
        shown_matrix(&matrix_of(&plan, &records, Axis::CONTENT, None), 80, false)
    );
    let (_folder, run) = run_with(&plan, &records);
    let text = markdown(&summarize(&Rows(&run), &manifest(&plan), Scope::Full).unwrap());
    let table: Vec<&str> = text.lines().skip_while(|line| !line.contains("| interaction |")).take(4).collect();
    insta::assert_snapshot!("interactions_markdown", table.join("\n"));
    assert!(text.contains("interaction: the difference of a level of content to diagnosis"), "{text}");
}
