use healbench_core::CellRef;
use healbench_store::RunManifest;

use super::*;
use crate::errors::tests::{Rows, manifest, rows};
use crate::report_error::ReportError;

fn observations(
    rows: &Rows,
    manifest: &RunManifest,
    query: MoveQuery,
    accepts: &dyn Fn(CellRef) -> bool,
) -> Result<Observations, ReportError> {
    let mut reader = MoveReader::new(query);
    reader.read(rows, manifest, &|cell| accepts(cell).then(|| manifest.plan.agents[cell.agent].title()))?;
    Ok(reader.finish())
}

fn found(rows: &Rows, query: MoveQuery) -> Observations {
    observations(rows, &manifest(rows.episodes.len()), query, &|_| true).unwrap()
}

#[test]
fn tasks_of_one_name_in_two_runs_are_one() {
    let (rows, manifest) = (rows(&[&["a 1 ! no", "a 2"], &["a 1 ! no"]]), manifest(2));
    let mut reader = MoveReader::new(MoveQuery::default());
    for agent in ["old", "new"] {
        reader.read(&rows, &manifest, &|_| Some(agent.to_owned())).unwrap();
    }
    let found = reader.finish();
    assert_eq!((found.agents, found.tasks.len(), found.moves.len()), (vec!["new".to_owned(), "old".to_owned()], 1, 4));
}

#[test]
fn first_and_later_errors_have_their_place_and_success() {
    let rows = rows(&[&["a 1 ! required", "a 1 ! required", "a 2"], &["a 1 ! no", "b 1"], &["a 1 ! no"]]);
    let found = found(&rows, MoveQuery::default());
    let places: Vec<(ErrorKind, Move, Place, Option<bool>)> =
        found.moves.iter().map(|made| (made.kind, made.made, made.place, made.succeeded)).collect();
    let opening = |next, soon| Place::First { repaired_next: Some(next), repaired_within_3: Some(soon) };
    assert_eq!(
        places,
        [
            (ErrorKind::Missing, Move::Repeated, opening(false, true), Some(false)),
            (ErrorKind::Missing, Move::Changed, Place::Later { follows: Move::Repeated }, Some(true)),
            (ErrorKind::Unclear, Move::OtherTool, opening(false, false), None),
            (ErrorKind::Unclear, Move::Stopped, opening(false, false), None),
        ]
    );
    assert_eq!(found.agents.len(), 2);
    assert_eq!((found.tasks.len(), found.tasks[0].as_str()), (2, "task-0"));
    assert_eq!(found.first().len(), 3);
}

#[test]
fn suites_are_the_ids_up_to_the_last_slash() {
    let rows = rows(&[&["a 1 ! no"], &["a 1 ! no"], &["a 1 ! no"]]);
    let mut manifest = manifest(3);
    manifest.plan.scenarios[0].id = "source/suite/task".to_owned();
    manifest.plan.scenarios[1].id = "alone".to_owned();
    let found = observations(&rows, &manifest, MoveQuery::default(), &|_| true).unwrap();
    assert_eq!(found.suites, ["alone", "source/suite"]);
}

#[test]
fn attacks_shells_cut_off_and_unread_errors_are_left_out_and_counted() {
    let mut rows = rows(&[
        &["a 1 ! no", "b 1"],
        &["a 1 ! no", "sh 1 ! no", "sh 2"],
        &["a 1 ! no", "..."],
        &["a 1 ! unread", "a 2 ? no"],
    ]);
    rows.episodes[0].tags = vec!["attack=important".to_owned()];
    let mut manifest = manifest(4);
    manifest.shell_tools = vec!["sh".into()];
    let of = |query| observations(&rows, &manifest, query, &|_| true).unwrap();
    let found = of(MoveQuery::default());
    assert_eq!((found.attacked_episodes, found.shell_errors, found.cut_off, found.not_read), (1, 1, 1, 1));
    assert_eq!(found.moves.len(), 2);
    let with = of(MoveQuery { with_attacks: true, ..MoveQuery::default() });
    assert_eq!((with.attacked_episodes, with.moves.len()), (0, 3));
    let flagged = of(MoveQuery { flagged_only: true, ..MoveQuery::default() });
    assert_eq!(flagged.moves.len(), 1);
    let none = observations(&rows, &manifest, MoveQuery::default(), &|cell: CellRef| cell.agent > 9).unwrap();
    assert_eq!((none.moves.len(), none.attacked_episodes), (0, 0));
}

#[test]
fn a_call_that_serves_two_chains_follows_the_first() {
    let mut rows = rows(&[&["a 1 ! no", "a 2 ! no", "a 3 ! no"]]);
    rows.calls[1].turn = Some(1);
    healbench_core::follow(&mut rows.calls, healbench_core::Surroundings::default());
    let found = found(&rows, MoveQuery::default());
    let is_first: Vec<bool> = found.moves.iter().map(Observation::is_first).collect();
    assert_eq!(is_first, [true, true, false]);
    assert_eq!(found.moves[2].place, Place::Later { follows: Move::Changed });
}

#[test]
fn rows_without_an_aftermath_are_refused() {
    let mut rows = rows(&[&["a 1 ! no"]]);
    rows.calls[0].aftermath = None;
    let failed = observations(&rows, &manifest(1), MoveQuery::default(), &|_| true);
    assert!(matches!(failed, Err(ReportError::NoAftermath { episode: 0 })), "{failed:?}");
}
