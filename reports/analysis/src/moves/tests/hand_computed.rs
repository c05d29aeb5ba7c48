use healbench_core::{DrawKey, ERROR_KINDS, Seed};

use super::super::score::Scores;
use super::super::tables::{Counts, weights};
use super::*;

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-9
}

#[test]
fn scores_are_those_computed_by_hand() {
    let shares = [0.5, 0.25, 0.125, 0.125];
    let changed = Scores::of(shares, 0);
    // ln 2, and 0.25 + 0.0625 + 2 · 0.015625.
    assert!(near(changed.log, 2.0_f64.ln()) && near(changed.brier, 0.343_75), "{changed:?}");
    let stopped = Scores::of(shares, 3);
    // ln 8, and 0.25 + 0.0625 + 0.015625 + 0.765625.
    assert!(near(stopped.log, 8.0_f64.ln()) && near(stopped.brier, 1.093_75), "{stopped:?}");
    // Task 0 has both, task 1 only the first: within tasks 2 ln 2 and ln 2, over tasks 1.5 ln 2.
    let over = Scores::over_tasks(&[(0, changed), (0, stopped), (1, changed)]).unwrap();
    assert!(near(over.log, 1.5 * 2.0_f64.ln()) && near(over.brier, 0.531_25), "{over:?}");
    assert_eq!(Scores::over_tasks(&[]), None);
}

#[test]
fn the_moves_of_a_task_and_kind_weigh_as_their_square_root() {
    let found = moves(&[
        "a s/1 value changed",
        "a s/1 value changed",
        "b s/1 value stopped",
        "a s/1 value stopped",
        "a s/1 state stopped",
        "a s/2 value stopped",
    ]);
    assert_eq!(weights(&found.first()), [0.5, 0.5, 0.5, 0.5, 1.0, 1.0]);
    // Two of four and none of one, of the weight 2 and 1: one of three.
    let kinds = Counts::of(&found.first(), 2).kind_alone(0.0);
    assert!(near(kinds[ErrorKind::Value as usize][0], 1.0 / 3.0), "{kinds:?}");
}

#[test]
fn kinds_are_at_their_index() {
    assert!(ERROR_KINDS.iter().enumerate().all(|(at, entry)| entry.value as usize == at));
    assert!(SCORED_MOVES.iter().enumerate().all(|(at, made)| first(ErrorKind::Value, *made).column() == at));
    assert!(Method::ALL.iter().enumerate().all(|(at, method)| *method as usize == at));
}

#[test]
fn a_product_has_the_odds_of_both_effects() {
    // The odds of stopping are 1 and 4 for one agent, 4 and 16 for the other.
    let mut lines: Vec<String> = Vec::new();
    for (agent, kind, changed, stopped) in
        [("a", "value", 16, 16), ("a", "state", 8, 32), ("b", "value", 8, 32), ("b", "state", 4, 64)]
    {
        let mut add = |count: usize, made: &str| {
            for _ in 0..count {
                lines.push(format!("{agent} s/{:03} {kind} {made}", lines.len()));
            }
        };
        add(changed, "changed");
        add(stopped, "stopped");
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let product = Counts::of(&moves(&lines).first(), 2).product(1e-6);
    for (agent, kind, odds) in [
        (0, ErrorKind::Value, 1.0),
        (0, ErrorKind::State, 4.0),
        (1, ErrorKind::Value, 4.0),
        (1, ErrorKind::State, 16.0),
    ] {
        let shares = product[agent][kind as usize];
        assert!((shares[3] / shares[0] / odds - 1.0).abs() < 0.01, "{agent} {kind:?} {shares:?}");
    }
}

#[test]
fn cells_are_drawn_towards_the_product() {
    // Agent b has one move after `state`.
    let mut lines: Vec<String> = Vec::new();
    for task in 0..20 {
        lines.push(format!("a s/{task} state changed"));
        lines.push(format!("b s/{task} value stopped"));
        lines.push(format!("a s/{task} value {}", if task % 2 == 0 { "changed" } else { "stopped" }));
    }
    lines.push("b s/0 state stopped".to_owned());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let observations = moves(&lines);
    let counts = Counts::of(&observations.first(), 2);
    let kind = ErrorKind::State as usize;
    let mut distances = Vec::new();
    for strength in [0.1, 1.0, 1000.0] {
        let (stopped, product) = (counts.cells(strength)[1][kind][3], counts.product(strength)[1][kind][3]);
        // Both agents met the kind in this task: each move weighs 2^-1/2.
        let weight = 0.5_f64.sqrt();
        assert!(near(stopped, (weight + strength * product) / (weight + strength)), "{strength}: {stopped} {product}");
        distances.push((1.0 - stopped, stopped - product));
    }
    assert!(distances[0].0 < 0.1 && distances[2].1 < 1e-3 && distances[1].1 > 0.05, "{distances:?}");
    // The moves of others leave those of this agent uncertain.
    let fit = fit(&observations);
    let [sure, unsure] = [0, 1].map(|agent| fit.profile(Some(agent)).kinds[kind].changed);
    assert!(
        unsure.standard_error > sure.standard_error && unsure.tasks == 1 && sure.tasks == 20,
        "{unsure:?} {sure:?}"
    );
    assert_eq!(fit.profile(Some(1)).kinds[kind].plain.level, PlainLevel::Kind);
    assert_eq!(fit.profile(Some(0)).kinds[kind].plain.level, PlainLevel::Cell);
    assert_eq!(fit.profile(Some(0)).kinds[ErrorKind::Shape as usize].plain.level, PlainLevel::All);
    assert_eq!(fit.profile(None).kinds[kind].changed.tasks, 20);
}

#[test]
fn degenerate_moves_have_finite_numbers() {
    let all_repeated: Vec<String> = (0..12).map(|task| format!("a s/{task:02} value repeated")).collect();
    let all_repeated: Vec<&str> = all_repeated.iter().map(String::as_str).collect();
    for lines in [&[][..], &["a s/1 value changed"], &["a s/1 value changed", "a s/2 value stopped"], &all_repeated] {
        let observations = moves(lines);
        let fit = fit(&observations);
        let profile = fit.profile((!lines.is_empty()).then_some(0));
        assert_eq!((profile.kinds.len(), profile.moves as usize), (10, lines.len()));
        for kind in &profile.kinds {
            let shares = kind.shares();
            assert!(shares.iter().all(|share| *share > 0.0 && *share < 1.0), "{kind:?}");
            for estimate in [kind.changed, kind.repeated, kind.other_tool] {
                assert_eq!(estimate.standard_error.is_some(), estimate.moves > 0, "{kind:?}");
                let is_inside = |interval: crate::statistics::Interval| {
                    interval.lower <= estimate.value && estimate.value <= interval.upper
                };
                assert!(estimate.interval.is_none_or(is_inside), "{estimate:?}");
            }
        }
        let judged = judge(&observations, Seed(1));
        assert_eq!(judged.by_task.is_some(), lines.len() > 1);
        assert_eq!(judged.by_suite, None);
        if let Some(judged) = judged.by_task {
            assert_eq!(judged.pooled.verdict, (lines.len() >= 10).then_some(Verdict::CannotBeTold));
            assert!(judged.pooled.methods.iter().all(|method| method.scores.log.is_finite()), "{judged:?}");
        }
        let predicted = predict(&profile.moves(), &observations, Seed(1));
        assert_eq!((predicted.first.is_empty(), predicted.scores.is_some()), (lines.is_empty(), !lines.is_empty()));
        assert_eq!((profile.right_told.value, profile.later_stop.value), (0.5, 1.0));
    }
    let repeated = fit(&moves(&all_repeated)).profile(Some(0)).kinds[ErrorKind::Value as usize].repeated;
    assert!(repeated.value > 0.9 && repeated.interval.unwrap().lower > 0.6, "{repeated:?}");
}

#[test]
fn later_errors_stop_and_repeat_as_the_profile_says() {
    let known = super::simulated::Known {
        shares: vec![[0.4, 0.2, 0.2, 0.2]],
        right_told: 0.5,
        right_untold: 0.5,
        repeat_again: 0.75,
        later_stop: 2.0,
        alike: 0.0,
    };
    let profile = known.profile();
    let kind = ERROR_KINDS[0].value;
    // Odds of 1 to 4 become 1 to 2; the rest is 5/6 of what it was.
    let later = profile.after(kind, Some(Move::Changed)).all();
    for (found, expected) in later.into_iter().zip([1.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 3.0]) {
        assert!(near(found, expected), "{later:?}");
    }
    // A quarter is left for 2, 1 and 2 of 5.
    let again = profile.after(kind, Some(Move::Repeated)).all();
    for (found, expected) in again.into_iter().zip([0.1, 0.75, 0.05, 0.1]) {
        assert!(near(found, expected), "{again:?}");
    }
    let draws = || DrawKey::of_run(Seed(9)).draws("same", 0);
    let same = [0, 1].map(|_| super::simulated::of_one(&known, 20, &mut draws()));
    assert_eq!(judge(&same[0], Seed(1)), judge(&same[1], Seed(1)));
    assert_eq!(fit(&same[0]).profile(Some(0)), fit(&same[1]).profile(Some(0)));
    assert_eq!(predict(&profile, &same[0], Seed(1)), predict(&profile, &same[1], Seed(1)));
}

#[test]
fn a_move_with_a_share_of_0_has_a_finite_score() {
    let score = Scores::of([1.0, 0.0, 0.0, 0.0], 1);
    assert!(near(score.log, 6.0 * 10f64.ln()) && near(score.brier, 2.0), "{score:?}");
    assert!(near(Scores::of([1.0, 0.0, 0.0, 0.0], 0).log, 0.0));
}
