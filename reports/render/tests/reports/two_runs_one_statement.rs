//! The first lines of `compare` and of the gate about two runs of simulated readers: they say the same of success.

use healbench_analysis::gate::{NamedBaseline, Policy, gate};
use healbench_analysis::{Baseline, CellComparison, Change, Comparison, Metric, Side, Verdict, compare};
use healbench_core::{Outcome, Plan};
use healbench_render::gate::{GateOptions, terminal};
use healbench_render::{ComparisonOptions, comparison};

use crate::one_pair_one_statement::Memory;
use crate::sample::{Draw, manifest};

/// Returns the rows with other outcomes and tokens in some episodes.
fn changed(base: &Memory, draw: &mut Draw) -> Memory {
    // How many of a hundred successes are lost, failures are repaired, and episodes cost another number of tokens.
    let [lost, gained, dearer] = [[0, 5, 40], [0, 5, 40], [0, 0, 30]].map(|shares| shares[draw.below(3) as usize]);
    let mut rows = base.0.clone();
    for row in &mut rows {
        row.outcome = match row.outcome {
            Outcome::Success if draw.below(100) < lost => Outcome::TaskFail,
            Outcome::TaskFail if draw.below(100) < gained => Outcome::Success,
            outcome => outcome,
        };
        if draw.below(100) < dearer {
            row.prose_tokens = Some(10 + draw.below(90) as u32);
        }
    }
    Memory(rows)
}

fn first_lines(plan: &Plan, base: &Memory, candidate: &Memory) -> (Comparison, String, String) {
    let manifest = manifest(plan);
    let side = |name, run| Side { name, run, manifest: &manifest };
    let found = compare(side("base", base), side("candidate", candidate)).unwrap();
    let options = ComparisonOptions { width: 10_000, color: true, flips: 0 };
    let compared = comparison(&found, options).lines().nth(1).unwrap().to_owned();
    let bless = |run| Baseline::from_run(run, &manifest, 1.0).unwrap();
    let [before, after] = [bless(base), bless(candidate)];
    let named = NamedBaseline::summary;
    let policy = Policy { infra_share: 1.0, ..Policy::default() };
    let report = gate(named("base", &before), named("candidate", &after), &policy).unwrap();
    let gated = terminal(&report, GateOptions { width: 10_000, color: false }).lines().next().unwrap().to_owned();
    (found, compared, gated)
}

/// Returns the difference and the scenarios of `worse: -8 points of success in a and 3 more scenarios`.
fn points_and_scenarios<'a>(part: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    part.strip_prefix(word)?.split_once(" points of success in ")
}

/// Returns true if a scenario became worse or better.
pub(crate) fn check(plan: &Plan, base: &Memory, draw: &mut Draw) -> bool {
    let candidate = changed(base, draw);
    let (found, compared, gated) = first_lines(plan, base, &candidate);
    let success = |cell: &CellComparison| cell.metrics.iter().find(|entry| entry.metric == Metric::Success).cloned();
    let conclusion = &found.conclusion;
    // One rule for color.
    let shown = conclusion.cell.and_then(|cell| success(&found.cells[cell]));
    let is_clear = shown.is_some_and(|entry| entry.verdict == Verdict::Clear) && conclusion.change != Change::Mixed;
    let is_colored = compared.contains("\u{1b}[31m") || compared.contains("\u{1b}[32m");
    assert_eq!(is_colored, is_clear, "{compared:?}");
    if !(0..plan.agents.len()).all(|agent| plan.is_reproducible(agent)) {
        return false;
    }
    let both = format!("{compared}\n{gated}");
    let word = compared.trim_start_matches(|c: char| !c.is_ascii_uppercase());
    let parts: Vec<&str> = gated.split(" · ").collect();
    let worse = parts.iter().find_map(|part| points_and_scenarios(part, "worse: "));
    let better = parts.iter().find_map(|part| points_and_scenarios(part, "better: "));
    match conclusion.change {
        Change::Worse | Change::Mixed => {
            let (points, scenarios) = worse.unwrap_or_else(|| panic!("{both}"));
            assert!(word.starts_with("Worse") || word.starts_with("Mixed"), "{both}");
            assert!(word.contains(&format!(": {points} points (")), "{both}");
            assert!(word.contains(&format!(", in {scenarios}")), "{both}");
        }
        Change::Better | Change::Unclear => assert_eq!(worse, None, "{both}"),
        _ => assert_eq!((worse, better), (None, None), "{both}"),
    }
    let worse_although = parts.iter().find_map(|part| {
        let of_a_gain =
            part.strip_prefix("better: ").and_then(|part| part.split_once(" points of success, but worse in "));
        let of_none = part.strip_prefix("worse: success in ").and_then(|part| part.rsplit_once(", "));
        of_a_gain.map(|(_, scenarios)| scenarios).or(of_none.map(|(scenarios, _)| scenarios))
    });
    match &conclusion.setback {
        // What became worse although the mean did not.
        Some(_) => {
            let scenarios = worse_although.unwrap_or_else(|| panic!("{both}"));
            assert!(
                !scenarios.starts_with("trials of ") && word.contains(&format!(", but worse in {scenarios}")),
                "{both}"
            );
        }
        None => assert!(worse_although.is_none_or(|scenarios| scenarios.starts_with("trials of ")), "{both}"),
    }
    if let (Change::Better, true) = (conclusion.change, gated.starts_with("PASS")) {
        let (points, scenarios) = better.unwrap_or_else(|| panic!("{both}"));
        assert!(
            word.contains(&format!(": {points} points (")) && word.contains(&format!(", in {scenarios}")),
            "{both}"
        );
    }
    conclusion.cell.is_some() || conclusion.setback.is_some()
}
