//! Moves as JSON lines, for figures of logs that are not part of the repository.

use healbench_core::Seed;
use serde::Deserialize;

use super::*;

/// A move, with names.
#[derive(Debug, Deserialize)]
struct Line {
    agent: String,
    task: String,
    suite: String,
    kind: ErrorKind,
    made: Move,
    /// The move that led to the error; null for the first of a chain.
    follows: Option<Move>,
    gives_remedy: bool,
    succeeded: Option<bool>,
    #[serde(default)]
    repaired_next: Option<bool>,
    #[serde(default)]
    repaired_within_3: Option<bool>,
}

fn read(text: &str) -> Observations {
    let mut named = NamedObservations::default();
    for line in text.lines().map(|line| serde_json::from_str::<Line>(line).unwrap()) {
        let place = match line.follows {
            Some(follows) => Place::Later { follows },
            None => Place::First { repaired_next: line.repaired_next, repaired_within_3: line.repaired_within_3 },
        };
        let (states_remedy, succeeded) = (line.gives_remedy, line.succeeded);
        let made = Observation { place, states_remedy, succeeded, ..first(line.kind, line.made) };
        named.add([line.agent, line.task, line.suite], made);
    }
    named.finish(Observations::default())
}

#[test]
fn lines_are_moves() {
    let text = r#"{"agent":"a","task":"s/1","suite":"s","kind":"value","made":"changed","follows":null,"gives_remedy":true,"succeeded":false}
{"agent":"a","task":"s/1","suite":"s","kind":"value","made":"stopped","follows":"changed","gives_remedy":true,"succeeded":null}"#;
    let found = read(text);
    assert_eq!(
        (found.moves.len(), found.first().len(), found.agents, found.suites),
        (2, 1, vec!["a".to_owned()], vec!["s".to_owned()])
    );
    assert_eq!(found.moves[1].place, Place::Later { follows: Move::Changed });
}

/// Prints the scores of `$MOVES`, a file of such lines.
#[test]
#[ignore = "needs a file of moves"]
#[expect(clippy::print_stdout, reason = "its scores are for a person to read")]
fn scores_of_a_log() {
    let observations = read(&std::fs::read_to_string(std::env::var("MOVES").unwrap()).unwrap());
    let fitted = fit(&observations);
    println!("{} moves, {} first, {:?}", observations.moves.len(), observations.first().len(), fitted.strengths());
    let judged = judge(&observations, Seed(1));
    for scores in [judged.by_task, judged.by_suite].into_iter().flatten() {
        for group in std::iter::once(&scores.pooled).chain(&scores.agents) {
            let name = group.agent.as_deref().unwrap_or("all");
            let methods = group
                .methods
                .iter()
                .map(|score| format!("{:?} {:.3}/{:.3}", score.method, score.scores.log, score.scores.brier));
            println!(
                "{:?} {name}: {} moves in {} tasks: {}",
                scores.by,
                group.moves,
                group.tasks,
                methods.collect::<Vec<String>>().join(", ")
            );
            println!(
                "  perfect {:.3}/{:.3} {:?}",
                group.perfect.mean.log, group.perfect.mean.brier, group.perfect.log_range
            );
            println!("  over kind {:?} over agent {:?}: {:?}", group.over_kind, group.over_agent, group.verdict);
        }
    }
    let profile = fitted.profile(None);
    println!("{:?} {:?} {:?} {:?}", profile.right_told, profile.right_untold, profile.repeat_again, profile.later_stop);
    let predicted = predict(&profile.moves(), &observations, Seed(1));
    println!("{:?}\n{:?}", predicted.repaired_next, predicted.repaired_within_3);
    for table in predicted.first.iter().chain(&predicted.later) {
        println!("{table:?}");
    }
}
