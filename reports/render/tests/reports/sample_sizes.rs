//! Tests of the sample sizes that a run suggests.

use healbench_analysis::{Side, measure_variation, sample_sizes};
use healbench_core::{CellRef, Outcome};

use crate::answer::{plan, reader};
use crate::one_pair_one_statement::{Memory, episode};
use crate::sample::manifest;
use healbench_core::{Condition, ErrorFormat, Guardrails};

#[test]
fn of_several_agents_the_one_that_needs_the_most_is_measured() {
    let conditions = vec![
        Condition::new(Guardrails::NONE, ErrorFormat::Bare),
        Condition::new(Guardrails::ALL, ErrorFormat::FusionXml),
    ];
    let plan = plan(12, vec![reader("calm"), reader("wild"), reader("even")], conditions);
    // Of ten trials: one differs for the first agent, six for the second one, two for the third one.
    let row = |at: u64| {
        let CellRef { agent, condition, trial, scenario } = plan.cell(at).unwrap();
        let differs = trial < [1, 6, 2][agent] && !(trial as usize + scenario).is_multiple_of(3);
        let outcome = if condition == 1 && differs { Outcome::Success } else { Outcome::TaskFail };
        healbench_core::EpisodeRecord { outcome, ..episode(&plan, at, 500) }
    };
    let rows = Memory((0..plan.len()).map(row).collect());
    let manifest = manifest(&plan);
    let side = Side { name: "run", run: &rows, manifest: &manifest };
    let found = measure_variation(side, &plan, None).unwrap();
    let measured = found.measured.clone().unwrap();
    assert_eq!((measured.agent.as_str(), measured.agents), ("scripted:wild", 3));
    let shown = healbench_render::sample_sizes(&sample_sizes(0.05, 0.8, found, &plan).unwrap(), 400, false);
    assert!(shown.contains("for scripted:wild, of 3 agents the one that needs the most: all"), "{shown}");
    // A report on the same run names more scenarios, and adds why.
    assert!(shown.contains("against none. A report may name more scenarios: it allows for the uncertainty"), "{shown}");
    assert!(shown.trim_end().ends_with(" and the measured share of discordant pairs."), "{shown}");
    let mut alone = plan.clone();
    alone.agents.truncate(1);
    assert_eq!(measure_variation(side, &alone, None).unwrap().measured.unwrap().agents, 1);
}
