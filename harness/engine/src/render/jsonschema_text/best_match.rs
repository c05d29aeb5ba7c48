use std::cmp::{Ordering, Reverse};

use super::MatchError;

/// Returns the error that the library shows: the one that is highest in the value, and of a union the one that is deepest.
pub(super) fn best_match(errors: Vec<MatchError>) -> Option<MatchError> {
    // Of equal errors, the first.
    let mut best = errors.into_iter().rev().max_by(by_relevance)?;
    loop {
        let mut context: Vec<MatchError> = std::mem::take(&mut best.context);
        context.sort_by(by_relevance);
        let is_tied = matches!(context.as_slice(), [first, second, ..] if by_relevance(first, second).is_eq());
        match context.into_iter().next() {
            Some(first) if !is_tied => best = first,
            _ => return Some(best),
        }
    }
}

/// Compares the relevance of two errors.
fn by_relevance(one: &MatchError, other: &MatchError) -> Ordering {
    let rank = |error: &MatchError| (Reverse(error.path.len()), !error.is_of_union, !error.has_type);
    let ((length, union, kind), (other_length, other_union, other_kind)) = (rank(one), rank(other));
    length
        .cmp(&other_length)
        .then_with(|| one.path.cmp(&other.path))
        .then((union, kind).cmp(&(other_union, other_kind)))
}
