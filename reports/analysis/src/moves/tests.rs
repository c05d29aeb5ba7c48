//! Tests on made-up moves. Those of a profile whose numbers are known are in `recovery`.

mod hand_computed;
mod held_out;
mod logs;
mod recovery;
mod rows;
mod simulated;

use healbench_core::{ErrorKind, Move};

use super::observations::NamedObservations;
use super::*;

/// Returns a first error.
fn first(kind: ErrorKind, made: Move) -> Observation {
    Observation {
        agent: 0,
        task: 0,
        suite: 0,
        kind,
        made,
        place: Place::First { repaired_next: None, repaired_within_3: None },
        states_remedy: false,
        succeeded: None,
    }
}

/// Returns moves written as `AGENT SUITE/TASK KIND MOVE`, each the first error of a chain.
fn moves(lines: &[&str]) -> Observations {
    let mut named = NamedObservations::default();
    for line in lines {
        let parts: Vec<&str> = line.split(' ').collect();
        let suite = parts[1].split('/').next().unwrap().to_owned();
        let made = first(ErrorKind::from_name(parts[2]).unwrap(), Move::from_name(parts[3]).unwrap());
        named.add([parts[0].to_owned(), parts[1].to_owned(), suite], made);
    }
    named.finish(Observations::default())
}
