//! Tests of what a gate says of changed inputs, of changes for the better, and of rows that fail for one cause.

use std::collections::{BTreeMap, BTreeSet};

use healbench_analysis::gate::{
    GateReport, NamedBaseline, Policy, ScenarioSource, SourceLocation, Subject, Tier, Verdict, gate,
};
use healbench_analysis::{Baseline, Metric};
use healbench_core::Outcome;
use healbench_render::gate::{GateOptions, github, junit, terminal};

use crate::gate::{baseline, complete_records, deterministic_plan, failing_rows, run_gate};

const TYPO: &str = "orders/typo";
const CURRENCY: &str = "billing/new-currency";

fn base() -> Baseline {
    let plan = deterministic_plan(4);
    baseline(&plan, &complete_records(&plan))
}

/// Returns a copy of a baseline in which the sums of a scenario are `change` more, in every cell, as its rows then are.
fn with_more(of: &Baseline, scenario: &str, metric: Metric, change: f64) -> Baseline {
    let mut other = of.clone();
    for cell in other.cells.values_mut() {
        let line = cell.get_mut(scenario).unwrap();
        line.sums[metric as usize].total += change;
        line.rows = Some("other".to_owned());
    }
    other
}

fn gated(base: &Baseline, candidate: &Baseline) -> GateReport {
    run_gate(base, candidate, &Policy::default()).unwrap()
}

fn printed(report: &GateReport) -> String {
    terminal(report, GateOptions { width: 100, color: false })
}

#[test]
fn scenarios_that_are_not_the_same_are_named_and_the_others_compared() {
    let base = base();
    type Change = fn(&mut Baseline);
    let changes: [(&str, &str, Change); 4] = [
        ("1 scenario removed", "orders/typo; run it, or bless a run without it", |other| {
            other.scenarios.remove(TYPO);
            other.cells.values_mut().for_each(|cell| drop(cell.remove(TYPO)));
        }),
        ("1 scenario added", "orders/new; bless the candidate", |other| {
            let typo = other.scenarios[TYPO].clone();
            other.scenarios.insert("orders/new".to_owned(), typo);
            for cell in other.cells.values_mut() {
                let line = cell[TYPO].clone();
                cell.insert("orders/new".to_owned(), line);
            }
        }),
        ("1 scenario changed", "orders/typo; bless the candidate", |other| {
            other.scenarios.get_mut(TYPO).unwrap().text = "x".to_owned();
        }),
        ("1 scenario changed in mistakes, faults or data", "orders/typo; bless the candidate", |other| {
            other.scenarios.get_mut(TYPO).unwrap().schedules = "x".to_owned();
        }),
    ];
    let allowing = Policy::parse("gate.toml", "may_differ = [\"scenarios\"]\n").unwrap();
    for (reason, which, change) in changes {
        let mut other = base.clone();
        change(&mut other);
        let report = gated(&base, &other);
        assert_eq!(report.verdict, Verdict::Missing, "{reason}");
        let rows: Vec<_> = report.rows.iter().filter(|row| row.verdict != Verdict::Pass).collect();
        assert!(rows.len() == 1 && rows[0].reason.starts_with(&format!("{reason}: not compared; ")), "{rows:?}");
        assert!(printed(&report).starts_with("MISSING  candidate · 1 missing, "), "{}", printed(&report));
        let first = terminal(&report, GateOptions { width: 200, color: false });
        assert!(first.contains(&format!(" · {reason}: {which}\n")), "{first}");
        // A policy may say that this decides nothing, and a text alone is compared then.
        let report = run_gate(&base, &other, &allowing).unwrap();
        assert_eq!(report.verdict, Verdict::Pass, "{reason}");
        let advisory = report.rows.iter().filter(|row| row.verdict == Verdict::Missing);
        assert!(advisory.clone().all(|row| row.tier == Tier::Advisory), "{reason}");
        assert_eq!(advisory.count(), usize::from(reason != "1 scenario changed"), "{reason}");
        // What became worse elsewhere decides in any case; what became worse in this scenario cannot be told.
        let worse = with_more(&other, CURRENCY, Metric::Tokens, 1.0);
        for policy in [&Policy::default(), &allowing] {
            assert_eq!(run_gate(&base, &worse, policy).unwrap().verdict, Verdict::Fail, "{reason}");
        }
    }
    // GitHub shows it where the scenario is.
    let mut other = base.clone();
    other.scenarios.get_mut(TYPO).unwrap().text = "x".to_owned();
    let source = |text: &str| ScenarioSource {
        location: SourceLocation { path: "orders.yaml".to_owned(), line: 3 },
        text: text.to_owned(),
    };
    let sources = [source("id: orders/typo\ntitle: A\n"), source("id: orders/typo\ntitle: B\n")];
    let sources = sources.map(|source| BTreeMap::from([(TYPO.to_owned(), source)]));
    let side = |name, baseline, side: usize| NamedBaseline { name, run: name, baseline, sources: &sources[side] };
    let report = gate(side("base", &base, 0), side("candidate", &other, 1), &Policy::default()).unwrap();
    let annotations = github(&report);
    assert!(annotations.contains("::error file=orders.yaml,line=3,title=MISSING%3A orders/typo::"), "{annotations}");
    assert!(printed(&report).contains("\n  -title: A\n  +title: B\n"), "{}", printed(&report));
}

#[test]
fn what_became_better_passes_and_is_named() {
    let base = base();
    let report = gated(&base, &with_more(&base, TYPO, Metric::Tokens, -1.0));
    assert_eq!((report.verdict, failing_rows(&report)), (Verdict::Pass, BTreeSet::new()));
    assert!(printed(&report).contains(" · better: tokens "), "{}", printed(&report));
    assert!(printed(&report).contains("changed in 1 of 3 scenarios, for the better"), "{}", printed(&report));
    // A gain in one scenario does not make up for a loss in another.
    let mixed = with_more(&with_more(&base, TYPO, Metric::Tokens, -9.0), CURRENCY, Metric::Tokens, 1.0);
    let report = gated(&base, &mixed);
    assert_eq!(report.verdict, Verdict::Fail);
    let text = printed(&report);
    assert!(text.contains("for the worse in 1, for the better in 1"), "{text}");
    // The first line says both, and the annotations are about what became worse.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(" · better: tokens 583.17 → 582.50, but worse in billing/new-currency"), "{text}");
    assert!(text.find("    billing/new-currency  ") < text.find("    orders/typo  "), "{text}");
    let annotations = github(&report);
    assert!(annotations.contains("billing/new-currency::") && !annotations.contains("orders/typo::"), "{annotations}");
    // Nor does a gain in one metric for a loss in another.
    let mixed = with_more(&with_more(&base, TYPO, Metric::Tokens, -9.0), TYPO, Metric::Calls, 1.0);
    assert_eq!(gated(&base, &mixed).verdict, Verdict::Fail);
}

#[test]
fn trials_of_a_scenario_do_not_make_up_for_each_other() {
    let plan = deterministic_plan(4);
    let succeeds = |in_trial: u32| {
        let mut records = complete_records(&plan);
        for row in &mut records.episodes {
            let is_one = plan.cell(row.episode).unwrap().trial == in_trial;
            row.outcome = if is_one { Outcome::Success } else { Outcome::GaveUp };
        }
        baseline(&plan, &records)
    };
    let (before, mut after) = (succeeds(0), succeeds(1));
    // Not even where an input explains that something differs.
    after.scenarios.get_mut(TYPO).unwrap().text = "other".to_owned();
    let policy = Policy::parse("gate.toml", "may_differ = [\"scenarios\"]\n").unwrap();
    let report = run_gate(&before, &after, &policy).unwrap();
    assert_eq!(report.verdict, Verdict::Fail);
    let text = printed(&report);
    assert!(
        text.contains(
            " · worse: success in trials of billing/new-currency and 2 more\nscenarios, 0 points on the whole"
        ),
        "{text}"
    );
}

#[test]
fn rows_that_fail_for_one_cause_are_one() {
    let base = base();
    // Every cell sees that the two scenarios cost more, in two metrics.
    let worse = with_more(&with_more(&base, TYPO, Metric::Tokens, 9.0), TYPO, Metric::Calls, 1.0);
    let report = gated(&base, &worse);
    assert_eq!((report.verdict, report.counts["FAIL"]), (Verdict::Fail, 1));
    assert_eq!(report.rows.iter().filter(|row| row.verdict == Verdict::Fail).count(), 12);
    let text = printed(&report);
    assert_eq!(text.matches("FAIL").count(), 2, "{text}");
    assert!(
        text.contains("\n  and scripted:typical · none · calls: ") && text.contains("and 6 more of the same cause\n"),
        "{text}"
    );
    assert_eq!(github(&report).matches("::error").count(), 1, "{}", github(&report));
    // JUnit has one failure for each of the six subjects.
    assert_eq!(junit(&report).matches("<failure ").count(), 6, "{}", junit(&report));
    // What differs in another scenario of one cell is another cause.
    let mut two = worse.clone();
    let line = two.cells.values_mut().next().unwrap().get_mut(CURRENCY).unwrap();
    line.sums[Metric::Tokens as usize].total += 1.0;
    line.rows = Some("other".to_owned());
    assert_eq!(gated(&base, &two).counts["FAIL"], 2);
}

#[test]
fn a_changed_template_is_one_cause_with_its_text() {
    let mut base = base();
    let name = "fusion-xml".to_owned();
    base.formats.insert(name.clone(), "one".to_owned());
    base.templates.insert(name.clone(), "Bad call.\nSay it again.\n".to_owned());
    let mut other = base.clone();
    other.formats.insert(name.clone(), "two".to_owned());
    other.templates.insert(name.clone(), "Bad call.\nStop.\n".to_owned());
    assert_eq!(Baseline::parse(&other.to_text()).unwrap(), other);
    // Nothing else differs: this passes, and so do other rows with the same sums, for the text explains them.
    let mut reworded = other.clone();
    let of_format = |baseline: &mut Baseline, rows: &str, tokens: f64| {
        for (cell, lines) in &mut baseline.cells {
            let Some(line) = lines.get_mut(TYPO).filter(|_| cell.format == "fusion-xml") else { continue };
            line.rows = Some(rows.to_owned());
            line.sums[Metric::Tokens as usize].total += tokens;
        }
    };
    of_format(&mut reworded, "other", 0.0);
    for candidate in [&other, &reworded] {
        let report = gated(&base, candidate);
        assert_eq!(report.verdict, Verdict::Pass);
        let text = printed(&report);
        assert!(text.contains("\nchanged: fusion-xml\n") && text.contains("\n  -Say it again.\n  +Stop.\n"), "{text}");
    }
    // Without a text that differs the same rows fail, also of an agent whose identity is not all of its settings.
    let mut unexplained = base.clone();
    for agent in unexplained.agents.values_mut() {
        agent.all_settings = "all".to_owned();
    }
    of_format(&mut unexplained, "other", 0.0);
    assert_eq!(gated(&base, &unexplained).verdict, Verdict::Fail);
    // Two agents and several metrics are one cause.
    let mut worse = other.clone();
    of_format(&mut worse, "other", 5.0);
    let report = gated(&base, &worse);
    assert_eq!((report.verdict, report.counts["FAIL"]), (Verdict::Fail, 1));
    assert!(printed(&report).contains("for the worse; the text of the error format `fusion-xml` differs"));
    let subjects: BTreeSet<String> = report
        .rows
        .iter()
        .filter(|row| row.verdict == Verdict::Fail)
        .filter_map(|row| match &row.subject {
            Subject::Cell { agent, .. } => Some(agent.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(subjects.len(), 2);
    // A baseline of an earlier version has no text.
    base.templates.clear();
    assert!(printed(&gated(&base, &worse)).contains("The base does not have the text"));
}
