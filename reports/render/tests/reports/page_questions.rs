//! Questions that the page of a run answers beside its numbers.

use healbench_analysis::Report;
use healbench_core::{AgentSpec, Condition, ErrorFormat, Guardrails, Outcome, Plan};
use healbench_render::html::{RunPage, Transcripts, run};
use healbench_render::{Detail, TerminalOptions, terminal};
use serde_json::json;

use crate::answer::{plan, reader, rows};
use crate::pages::{all, classed, read, text};
use crate::sample::manifest;
use crate::summary::report;

fn page(plan: &Plan, report: &Report) -> String {
    let (manifest, transcripts) = (manifest(plan), Transcripts::of(report));
    run(&RunPage { name: "run", manifest: &manifest, report, transcripts: &transcripts, served: false }).unwrap()
}

fn formats() -> Vec<Condition> {
    let of = |format| Condition::new(Guardrails::ALL, format);
    vec![Condition::new(Guardrails::NONE, ErrorFormat::Bare), of(ErrorFormat::FusionXml), of(ErrorFormat::ZodJson)]
}

/// Returns the plan and the report of readers in twelve scenarios, of which the second condition gains nine, and loses one.
fn run_of(readers: Vec<AgentSpec>, conditions: Vec<Condition>) -> (Plan, Report) {
    let plan = plan(12, readers, conditions);
    let records = rows(
        &plan,
        |cell| {
            let trials = match (cell.condition, cell.scenario) {
                (1, 0..=3) => 10,
                (1, 4..=8) => 4,
                (0, 9) => 2,
                _ => 0,
            };
            if cell.trial < trials { Outcome::Success } else { Outcome::TaskFail }
        },
        |cell| 1000 + 100 * cell.condition as u64,
    );
    let report = report(&plan, &records).unwrap();
    (plan, report)
}

#[test]
fn the_scenarios_that_carry_a_difference_are_named() {
    let (plan, report) = run_of(vec![reader("typical")], formats());
    let expected = "Simulated reader typical, no guardrails → all fusion-xml: more succeed in 9 of 12 scenarios, fewer in 1; the largest \
                    differences: suite/0 (+100), suite/1 (+100), suite/2 (+100), suite/3 (+100), suite/4 (+40).";
    let notes = read(&page(&plan, &report), |page| classed(page.root(), "note").map(text).collect::<Vec<_>>());
    assert!(notes.iter().any(|note| note == expected), "{notes:?}");
    let options = TerminalOptions { width: 1_000, color: false, detail: Detail::Summary, lines: None };
    let shown = terminal(&report, options);
    assert!(shown.lines().any(|line| line == expected), "{shown}");
    let found = report.agents[0].scenario_differences(0, 1);
    assert_eq!((found.more, found.fewer, found.scenarios, found.differing.len()), (1, 9, 12, 10));
    // Conditions that never differ have no such scenario.
    assert!(report.agents[0].scenario_differences(1, 1).differing.is_empty());
}

#[test]
fn tokens_of_formats_stand_beside_each_other() {
    let (plan, report) = run_of(vec![reader("typical")], formats());
    read(&page(&plan, &report), |page| {
        let heat = classed(page.root(), "heat").next().unwrap();
        let cells: Vec<String> = all(heat, "td").map(text).collect();
        // The second format costs 100 tokens more than the first one, in every episode.
        assert!(cells.iter().any(|cell| cell.contains("tokens +100")), "{cells:?}");
    });
}

#[test]
fn a_run_without_single_guardrails_says_what_to_run() {
    let heading = |conditions| {
        let (plan, report) = run_of(vec![reader("typical")], conditions);
        read(&page(&plan, &report), |page| {
            let of = all(page.root(), "h2").find(|heading| text(*heading) == "Which guardrail matters?");
            of.map(|heading| text(heading.next_siblings().filter(|node| node.is_element()).nth(1).unwrap()))
        })
    };
    let said = heading(formats()).unwrap();
    assert!(said.contains("healbench run SUITE --guardrails one-out"), "{said}");
    let one_out = heading(vec![
        Condition::new(Guardrails::ALL, ErrorFormat::FusionXml),
        Condition::new(Guardrails::from_bits(7), ErrorFormat::FusionXml),
    ]);
    assert!(!one_out.unwrap().contains("healbench run"));
    assert_eq!(heading(vec![Condition::new(Guardrails::NONE, ErrorFormat::Bare)]), None);
}

#[test]
fn the_parts_of_a_page_are_in_reach() {
    let (plan, report) = run_of(vec![reader("typical")], formats());
    read(&page(&plan, &report), |page| {
        let list = all(page.root(), "nav").find(|nav| nav.attribute("aria-label") == Some("On this page")).unwrap();
        let links = all(list, "a").map(|link| (link.attribute("href").unwrap().trim_start_matches('#'), text(link)));
        let headings = all(page.root(), "h2").filter_map(|heading| Some((heading.attribute("id")?, text(heading))));
        let links: Vec<_> = links.collect();
        assert!(links.len() > 6 && links == headings.collect::<Vec<_>>(), "{links:?}");
    });
}

#[test]
fn a_reader_has_the_verdict_on_its_profile() {
    let fitted = json!({"fitted": {
        "source": "our logs (MIT)", "agents": ["a", "b"], "tasks": 12, "moves": 20, "date": "2026-11-26",
        "verdict": "Held out by task, it is better than both simpler tables."
    }});
    let readers = vec![AgentSpec { settings: fitted, ..reader("mine") }, reader("typical")];
    let (plan, report) = run_of(readers, formats());
    read(&page(&plan, &report), |page| {
        let link = all(page.root(), "a").find(|link| text(*link) == "Is this reader like my model?").unwrap();
        let target = link.attribute("href").unwrap().trim_start_matches('#');
        let heading = page.descendants().find(|node| node.attribute("id") == Some(target)).unwrap();
        let list = heading.next_siblings().find(|node| node.has_tag_name("ul")).unwrap();
        let said: Vec<String> = all(list, "li").map(text).collect();
        let expected = [
            "mine: fitted to 20 first errors of 2 agents in 12 tasks (our logs (MIT); 2026-11-26). Held out by task, it is better than both \
             simpler tables.",
            "typical: not fitted. Its numbers are those of no model, so that its results predict none.",
        ];
        assert_eq!(said, expected);
    });
}

#[test]
fn the_answers_of_three_readers_fit_on_a_screen() {
    // As the default of `run`: over 40 scenarios, the last condition is as good for the two that move as models do.
    let mut conditions: Vec<Condition> = [ErrorFormat::ZodLines, ErrorFormat::ZodJson, ErrorFormat::FusionXml]
        .map(|of| Condition::new(Guardrails::ALL, of))
        .to_vec();
    conditions.insert(0, Condition::new(Guardrails::NONE, ErrorFormat::Bare));
    let readers = ["perfect", "persistent", "yielding"].map(reader).to_vec();
    let plan = plan(40, readers, conditions);
    let records = rows(
        &plan,
        |cell| {
            let trials = [[1, 6, 7, 9], [2, 3, 3, 3], [3, 4, 4, 4]][cell.agent][cell.condition];
            let trials = trials - u32::from(cell.scenario % 7 == 0);
            if cell.trial < trials { Outcome::Success } else { Outcome::TaskFail }
        },
        |cell| 4000 - 500 * cell.condition as u64 + 700 * (cell.scenario % 3) as u64,
    );
    let report = report(&plan, &records).unwrap();
    let options = TerminalOptions { width: 100, color: false, detail: Detail::Summary, lines: Some(24) };
    let shown = terminal(&report, options);
    assert!(shown.lines().count() <= 24, "{shown}");
    for name in ["perfect", "persistent", "yielding"] {
        assert!(shown.contains(&format!("Simulated reader {name}: Use ")), "{shown}");
    }
    // Success, the difference to the reference, and tokens.
    let lines: Vec<&str> = shown.lines().collect();
    let at = lines.iter().position(|line| *line == "scripted:perfect").unwrap();
    assert!(lines[at + 1..at + 4].iter().all(|line| line.starts_with("  ") || line.starts_with("* ")), "{shown}");
    assert!(lines[at - 2].contains("success") && lines[at - 2].contains("billed"), "{shown}");
}
