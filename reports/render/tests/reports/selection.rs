//! What is left out where there is no room.

use healbench_analysis::{Report, agents_by_information, select};
use healbench_core::{BilledTokens, CellRef, Condition, ErrorFormat, Fitted, Guardrails, Outcome, Plan, Records};
use healbench_render::{Detail, TerminalOptions, markdown, terminal};

use crate::answer::{model, plan, reader, rows};
use crate::summary::report;

/// A run of sixteen sets of guardrails with a model and two readers, of which the first one never succeeds.
fn run() -> (Plan, Records) {
    let set =
        |set: Guardrails| Condition::new(set, if set.healing { ErrorFormat::FusionXml } else { ErrorFormat::Bare });
    let plan = plan(20, vec![reader("blind"), reader("typical"), model("m")], Guardrails::sets().map(set).collect());
    let success = |cell: CellRef| {
        let bits = cell.condition as u32;
        let trials = match cell.agent {
            0 => 0,
            // Healing counts, and strict a little; the two others change nothing.
            1 => 2 + 6 * (bits >> 1 & 1) + (bits & 1),
            _ => 3 + 2 * (bits >> 1 & 1),
        };
        if cell.trial < trials { Outcome::Success } else { Outcome::TaskFail }
    };
    let records = rows(&plan, success, |cell| 1000 + 200 * cell.condition as u64);
    (plan, records)
}

fn shown(report: &Report, lines: usize) -> Vec<(String, Vec<String>)> {
    let names = |selected: &healbench_analysis::SelectedAgent| {
        let agent = &report.agents[selected.agent];
        let rows = selected.rows.iter().map(|rows| agent.rows[rows.first].condition.label()).collect();
        (agent.title.clone(), rows)
    };
    select(report, lines, 1).agents.iter().map(names).collect()
}

#[test]
fn the_agent_that_tells_least_is_left_out_first() {
    let (plan, records) = run();
    let mut report = report(&plan, &records).unwrap();
    let fitted = Fitted {
        source: "logs".to_owned(),
        agents: Vec::new(),
        tasks: 20,
        moves: 30,
        date: "2026-11-01".to_owned(),
        verdict: "better".to_owned(),
    };
    report.agents[0].fitted = Some(fitted);
    assert_eq!(agents_by_information(&report), [2, 0, 1], "models first, then readers that were fitted to some");
    report.agents[0].fitted = None;
    assert_eq!(agents_by_information(&report), [2, 1, 0], "then by the spread of their rows");
    let all = select(&report, 51, 1);
    assert_eq!((all.shown, all.total), (48, 48));
    let titles = |lines| shown(&report, lines).into_iter().map(|(title, _)| title).collect::<Vec<_>>();
    assert_eq!(titles(51), ["scripted:blind", "scripted:typical", "m · natural"], "all fit, in the order of the plan");
    assert_eq!(titles(8), ["scripted:typical", "m · natural"]);
    assert_eq!(titles(4), ["m · natural"]);
}

#[test]
fn the_reference_the_best_and_what_differs_most_are_kept() {
    let (plan, records) = run();
    let report = report(&plan, &records).unwrap();
    let (title, rows) = shown(&report, 9).remove(0);
    assert_eq!(title, "scripted:typical");
    // By success; the reference has the fewest.
    assert_eq!(rows.first().map(String::as_str), Some("strict+healing fusion-xml"));
    assert_eq!(rows.last().map(String::as_str), Some("none bare"));
}

#[test]
fn on_a_short_screen_the_farthest_row_stays_before_others() {
    let conditions = ["none", "healing", "strict", "all"];
    let set = |name: &&str| {
        let set: Guardrails = name.parse().unwrap();
        Condition::new(set, if set.healing { ErrorFormat::FusionXml } else { ErrorFormat::Bare })
    };
    let plan = plan(20, vec![reader("perfect")], conditions.iter().map(set).collect());
    // The reference is the first row; the second is a little better, and the third much worse.
    let trials = [8, 9, 1, 10];
    let success =
        |cell: CellRef| if cell.trial < trials[cell.condition] { Outcome::Success } else { Outcome::TaskFail };
    let report = report(&plan, &rows(&plan, success, |_| 1000)).unwrap();
    let (_, rows) = shown(&report, 3).remove(0);
    assert_eq!(rows.len(), 3, "{rows:?}");
    assert!(rows.iter().any(|row| row.starts_with("strict ")), "{rows:?}");
}

#[test]
fn rows_with_equal_results_are_joined() {
    let (plan, mut records) = run();
    for row in &mut records.episodes {
        row.billed = Some(BilledTokens { input: 1000, ..BilledTokens::default() });
    }
    let report = report(&plan, &records).unwrap();
    let selection = select(&report, 100, 1);
    let groups: Vec<usize> = selection.agents.iter().map(|agent| agent.rows.len()).collect();
    // blind: all; typical: with and without healing and strict; the model: with and without healing.
    assert_eq!((groups, selection.shown), (vec![1, 4, 2], 48));
}

#[test]
fn outputs_say_what_they_leave_out() {
    let (plan, records) = run();
    let report = report(&plan, &records).unwrap();
    for lines in [24, 40] {
        let options = TerminalOptions { width: 100, color: false, detail: Detail::Summary, lines: Some(lines) };
        let text = terminal(&report, options);
        assert!(text.lines().count() <= lines, "{text}");
        assert!(!text.contains("scripted:blind"), "{text}");
        let joined = text.replace('\n', " ");
        assert!(joined.contains("of 48 rows") && joined.contains("`healbench report RUN --all`"), "{text}");
    }
    let text = markdown(&report);
    assert!(text.lines().count() <= 60 && text.contains("of 48 rows"), "{text}");
    assert!(text.contains("| m · natural |") && !text.contains("| scripted:blind |"), "{text}");
    let options = TerminalOptions { width: 100, color: false, detail: Detail::Summary, lines: None };
    let text = terminal(&report, options);
    assert!(text.contains("scripted:blind") && !text.contains(" hidden: "), "{text}");
}
