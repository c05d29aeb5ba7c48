//! Tests of the list of episodes: each filter is compared with its definition.

use std::collections::BTreeSet;

use healbench_analysis::{EpisodeFilter, FAILURE};
use healbench_core::{CellRef, Outcome};
use healbench_frames::{EpisodeIndex, EpisodeSet};

use crate::sample::{plan, records, run_with};

#[test]
fn a_filter_accepts_the_episodes_of_its_definition() {
    let plan = plan(4);
    let mut records = records(&plan);
    // An interrupted run lacks episodes.
    let done = plan.len() * 2 / 3;
    records.episodes.retain(|row| row.episode < done);
    records.calls.retain(|call| call.episode < done);
    let (_folder, run) = run_with(&plan, &records);
    let index = EpisodeIndex::read(&run).unwrap();
    assert_eq!(index.len() as u64, done);
    let of = |change: fn(&mut EpisodeFilter)| {
        let mut filter = EpisodeFilter::default();
        change(&mut filter);
        filter
    };
    let part = plan.scenarios[1].id[1..].to_uppercase();
    let class = records.calls.iter().find_map(|call| call.error_class.clone()).unwrap();
    let with_class: BTreeSet<u64> = records
        .calls
        .iter()
        .filter(|call| call.error_class.as_ref() == Some(&class))
        .map(|call| call.episode)
        .collect();
    assert!(!with_class.is_empty() && (with_class.len() as u64) < done);
    let set = index.with_error_class(&run, class.name()).unwrap();
    type Accepts<'a> = Box<dyn Fn(CellRef, Outcome, u64) -> bool + 'a>;
    let filters: Vec<(EpisodeFilter, Vec<EpisodeSet>, Accepts<'_>)> = vec![
        (EpisodeFilter::default(), vec![], Box::new(|_, _, _| true)),
        (of(|filter| filter.agent = "1".to_owned()), vec![], Box::new(|cell, _, _| cell.agent == 1)),
        (of(|filter| filter.agent = "no number".to_owned()), vec![], Box::new(|_, _, _| false)),
        (of(|filter| filter.condition = "2".to_owned()), vec![], Box::new(|cell, _, _| cell.condition == 2)),
        (
            EpisodeFilter { scenario: part.clone(), ..EpisodeFilter::default() },
            vec![],
            Box::new(|cell, _, _| plan.scenarios[cell.scenario].id.to_uppercase().contains(&part)),
        ),
        (
            of(|filter| filter.outcome = FAILURE.to_owned()),
            vec![],
            Box::new(|_, outcome, _| outcome.is_scored() && outcome != Outcome::Success),
        ),
        (
            of(|filter| filter.outcome = "success".to_owned()),
            vec![set],
            Box::new(|_, outcome, episode| outcome == Outcome::Success && with_class.contains(&episode)),
        ),
    ];
    for (filter, sets, accepts) in &filters {
        let expected: Vec<u64> = records
            .episodes
            .iter()
            .filter(|row| accepts(plan.cell(row.episode).unwrap(), row.outcome, row.episode))
            .map(|row| row.episode)
            .collect();
        let found = index.filter(&plan, filter, sets, 0, usize::MAX);
        assert_eq!(found.rows.iter().map(|row| row.episode).collect::<Vec<_>>(), expected, "{filter:?}");
        assert_eq!(found.total, expected.len());
        let page = index.filter(&plan, filter, sets, 3, 2);
        assert_eq!(page.total, expected.len());
        assert_eq!(page.rows, found.rows.iter().skip(3).take(2).copied().collect::<Vec<_>>());
        for episode in [0, 5, done - 1] {
            let before = expected.iter().copied().filter(|other| *other < episode).max();
            let after = expected.iter().copied().find(|other| *other > episode);
            assert_eq!(index.neighbors(&plan, filter, sets, episode), [before, after], "{filter:?}");
        }
    }
    let row = &records.episodes[7];
    let shown = index.filter(&plan, &EpisodeFilter::default(), &[], 7, 1).rows[0];
    let billed = row.billed.map(|billed| billed.input + billed.output);
    assert_eq!((shown.calls, shown.errors, shown.billed_tokens), (row.calls, row.counts.errors, billed));
}
