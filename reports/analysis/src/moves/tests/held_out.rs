use healbench_core::Seed;

use super::super::judge::outer_folds;
use super::*;

/// Returns moves of which the whole of a task, or of a suite, is of one kind of move that no other has.
fn alone() -> Observations {
    let mut lines: Vec<String> = Vec::new();
    for task in 0..12 {
        let (suite, made) = if task < 6 { ("s", "changed") } else { ("t", "stopped") };
        for _ in 0..5 {
            lines.push(format!("a {suite}/{task:02} value {made}"));
        }
    }
    lines.extend(["a s/99 value repeated"; 30].map(str::to_owned));
    moves(&lines.iter().map(String::as_str).collect::<Vec<&str>>())
}

#[test]
fn held_out_tasks_and_suites_are_never_seen() {
    let observations = alone();
    let judged = judge(&observations, Seed(1));
    let by_task = judged.by_task.unwrap();
    assert_eq!((by_task.folds, by_task.pooled.tasks, by_task.pooled.moves), (13, 13, 90));
    // The only task that repeats cannot be foreseen from others, however many moves it has.
    let mut others = observations.clone();
    others.moves.retain(|made| made.made != Move::Repeated);
    let repeated = fit(&others).profile(Some(0)).kinds[ErrorKind::Value as usize].repeated.value;
    let log = |scores: &HeldOutScores| scores.pooled.methods[Method::Profile as usize].scores.log;
    assert!(log(&by_task) > -repeated.ln() / 13.0, "{by_task:?}");
    assert!(repeated < 0.02);
    // All of a suite's tasks make the same move, which the other suite never does.
    let by_suite = judged.by_suite.unwrap();
    assert!(by_suite.folds == 2 && log(&by_suite) > 3.0, "{by_suite:?}");
}

#[test]
fn each_task_is_held_out_once_and_alone() {
    let observations = alone();
    let folds = outer_folds(&observations.first(), HeldOutBy::Task);
    assert!(folds.iter().all(|fold| fold.len() == 1));
    let mut tasks: Vec<usize> = folds.into_iter().flatten().collect();
    tasks.sort_unstable();
    assert_eq!(tasks, (0..13).collect::<Vec<usize>>());
    // Of many tasks, a tenth at a time.
    let lines: Vec<String> = (0..205).map(|task| format!("a s/{task:03} value changed")).collect();
    let many = moves(&lines.iter().map(String::as_str).collect::<Vec<&str>>());
    let folds = outer_folds(&many.first(), HeldOutBy::Task);
    assert_eq!(
        folds.iter().map(std::collections::BTreeSet::len).collect::<Vec<usize>>(),
        [21, 21, 21, 21, 21, 20, 20, 20, 20, 20]
    );
}

#[test]
fn a_profile_is_better_where_agents_and_kinds_differ() {
    let mut lines: Vec<String> = Vec::new();
    for task in 0..40 {
        for (agent, kind, made) in [
            ("a", "value", "changed"),
            ("a", "state", "other_tool"),
            ("b", "value", "repeated"),
            ("b", "state", "stopped"),
            ("c", "state", "stopped"),
        ] {
            let made = if task % 7 == 0 { "changed" } else { made };
            if agent != "c" || task < 9 {
                lines.push(format!("{agent} {}/{task:02} {kind} {made}", task % 4));
            }
        }
    }
    let judged = judge(&moves(&lines.iter().map(String::as_str).collect::<Vec<&str>>()), Seed(1));
    for scores in [judged.by_task.unwrap(), judged.by_suite.unwrap()] {
        let verdicts: Vec<Option<Verdict>> = scores.agents.iter().map(|agent| agent.verdict).collect();
        assert_eq!(scores.pooled.verdict, Some(Verdict::Better));
        // Agent c has nine tasks.
        assert_eq!(verdicts, [Some(Verdict::Better), Some(Verdict::Better), None], "{scores:?}");
        assert!(scores.pooled.over_kind.interval.unwrap().lower > 0.0);
        let log = |method: Method| scores.pooled.methods[method as usize].scores.log;
        assert!(log(Method::Profile) < log(Method::KindAlone) && log(Method::KindAlone) < log(Method::All));
        let range = scores.pooled.perfect.log_range;
        assert!(range.lower < scores.pooled.perfect.mean.log && scores.pooled.perfect.mean.log < range.upper);
    }
}
