//! Tests of the heat maps and the ranked lists of a page.

use std::collections::BTreeMap;

use healbench_analysis::{Example, ReportRow, RowMetric};

use crate::numbers::{self, join_nonempty, known, row_label};
use crate::pages::{all, classed, read, table, text};
use crate::renderers::{SAMPLES, Sample};

fn success(row: &ReportRow, example: &Example) -> String {
    known(row.scenarios[example.scenario].success.rate, numbers::percent)
}

/// Returns what a heat map says: by scenario, the success under each shown condition.
fn heat_maps(sample: &Sample) -> BTreeMap<String, Vec<(String, Vec<String>)>> {
    read(&sample.page(), |page| {
        let maps = classed(page.root(), "map").filter(|map| classed(*map, "grid").next().is_some());
        let map = |map| {
            let found = table(classed(map, "grid").next().unwrap());
            let rows = found
                .rows
                .iter()
                .map(|row| (row[0].text.clone(), row[1..].iter().map(|cell| cell.text.clone()).collect::<Vec<_>>()));
            (text(all(map, "summary").next().unwrap()), rows.collect::<Vec<_>>())
        };
        maps.map(map).collect()
    })
}

#[test]
fn a_heat_map_shows_the_success_of_each_scenario_that_differs_between_conditions() {
    let (mut seen, mut merged) = (0, 0);
    for sample in SAMPLES.iter() {
        let maps = heat_maps(sample);
        for (index, agent) in sample.report.agents.iter().enumerate() {
            let mut differing: Vec<&Example> = sample.report.examples.iter().collect();
            differing.retain(|example| example.agent == index && example.spread.is_some_and(|spread| spread > 0.0));
            let Some(found) = maps.get(&agent.title) else {
                assert!(differing.is_empty() || agent.rows.len() < 2, "{}", sample.name);
                continue;
            };
            // The largest spread comes first, and each column is that of a condition which differs from those before it.
            differing.sort_by(|a, b| b.spread.unwrap().total_cmp(&a.spread.unwrap()));
            let spreads = |names: Vec<String>| -> Vec<Option<f64>> {
                let spread = |name: &String| {
                    differing.iter().find(|example| sample.report.scenarios[example.scenario] == *name)?.spread
                };
                names.iter().map(spread).collect()
            };
            let names = found.iter().map(|(name, _)| name.clone()).collect();
            assert_eq!(spreads(names), differing.iter().map(|example| example.spread).collect::<Vec<_>>());
            let mut columns: Vec<Vec<(u64, u64)>> = Vec::new();
            for row in &agent.rows {
                let counts = differing.iter().map(|example| row.scenarios[example.scenario].success);
                let counts: Vec<_> = counts.map(|rate| (rate.numerator, rate.denominator)).collect();
                if !columns.contains(&counts) {
                    columns.push(counts);
                }
            }
            merged += usize::from(columns.len() < agent.rows.len());
            for (name, cells) in found {
                let example =
                    differing.iter().find(|example| sample.report.scenarios[example.scenario] == *name).unwrap();
                let mut expected: Vec<String> = agent.rows.iter().map(|row| success(row, example)).collect();
                assert_eq!(cells.len(), columns.len(), "{}", sample.name);
                expected.sort();
                assert!(cells.iter().filter(|cell| !cell.is_empty()).all(|cell| expected.contains(cell)), "{cells:?}");
                assert!(expected.iter().filter(|cell| *cell != "—").all(|cell| cells.contains(cell)), "{cells:?}");
                seen += 1;
            }
        }
    }
    assert!(seen > 10 && merged > 0, "{seen} rows, {merged} maps with merged columns");
}

#[test]
fn conditions_are_ranked_by_success_with_the_numbers_of_the_report() {
    let mut seen = 0;
    for sample in SAMPLES.iter() {
        read(&sample.page(), |page| {
            let lists: Vec<_> = classed(page.root(), "ranked").collect();
            let conditions = sample.report.agents[0].rows.len();
            assert_eq!(lists.len(), if conditions < 3 { 0 } else { sample.report.agents.len() }, "{}", sample.name);
            for list in lists {
                let name = text(
                    all(list.ancestors().find(|node| node.has_tag_name("details")).unwrap(), "summary").next().unwrap(),
                );
                let agent = sample.report.agents.iter().find(|agent| agent.title == name).unwrap();
                let mut last = f64::INFINITY;
                for cells in &table(list).rows {
                    let row = agent
                        .rows
                        .iter()
                        .find(|row| [row_label(row), crate::numbers::condition(row)].contains(&cells[1].text))
                        .unwrap_or_else(|| panic!("{:?}", cells[1]));
                    let rate = row.rate(RowMetric::Success).rate;
                    let interval = numbers::share_interval(row.success_interval);
                    assert_eq!(cells[2].text, join_nonempty(&[&known(rate, numbers::percent), &interval]));
                    assert!(rate.unwrap_or(-1.0) <= last, "{}", sample.name);
                    last = rate.unwrap_or(-1.0);
                    if let Some(difference) = row.vs_reference.and_then(|paired| paired.difference) {
                        let number = numbers::points_or_equal((difference, row.vs_reference.unwrap().verdict));
                        assert!(cells[3].text.starts_with(&number), "{:?}", cells[3]);
                    }
                    seen += 1;
                }
            }
        });
    }
    assert!(seen > 20, "{seen} ranked conditions");
}
