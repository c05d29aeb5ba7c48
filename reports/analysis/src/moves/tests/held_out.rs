use healbench_core::Seed;

use super::super::judge::outer_folds;
use super::*;

/// Returns moves of 13 tasks in two suites: in the first, agent `a` always changes, in the second, it always stops. One more task of the first
/// is that of agent `b`, which always repeats.
fn alone() -> Observations {
    let mut lines: Vec<String> = Vec::new();
    for task in 0..12 {
        let (suite, made) = if task < 6 { ("s", "changed") } else { ("t", "stopped") };
        for _ in 0..5 {
            lines.push(format!("a {suite}/{task:02} value {made}"));
        }
    }
    lines.extend(["b s/99 value repeated"; 30].map(str::to_owned));
    moves(&lines.iter().map(String::as_str).collect::<Vec<&str>>())
}

#[test]
fn held_out_tasks_and_suites_are_never_seen() {
    let observations = alone();
    let judged = judge(&observations, Seed(1));
    let by_task = judged.by_task.unwrap();
    assert_eq!((by_task.folds, by_task.pooled.tasks, by_task.pooled.moves), (13, 13, 90));
    // Nobody else repeats: a share of more than 5% would come from the task itself.
    let logs = |group: &GroupScores| group.methods.iter().map(|method| method.scores.log).collect::<Vec<f64>>();
    let repeats = &by_task.agents[1];
    assert!(repeats.tasks == 1 && logs(repeats).iter().all(|log| *log > 3.0), "{repeats:?}");
    // In neither suite does agent a do what it does in the other.
    let by_suite = judged.by_suite.unwrap();
    assert!(by_suite.folds == 2 && logs(&by_suite.agents[0]).iter().all(|log| *log > 1.5), "{by_suite:?}");
    // A fit to all of them knows each.
    let fitted = fit(&observations);
    let shares = [0, 1].map(|agent| fitted.profile(Some(agent)).moves().after(ErrorKind::Value, None).all());
    assert!(shares[0][0] > 0.4 && shares[0][3] > 0.4 && shares[1][1] > 0.6, "{shares:?}");
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
