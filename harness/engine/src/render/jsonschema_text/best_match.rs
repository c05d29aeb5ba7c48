use std::cmp::{Ordering, Reverse};

use super::MatchError;
use crate::failure::PathSegment;

/// Returns the error that the library shows: the one that is highest in the value, and of a union the one that is deepest.
pub(super) fn best_match(errors: Vec<MatchError<'_>>) -> Option<MatchError<'_>> {
    // Of equal errors, the first.
    let mut best = errors.into_iter().rev().max_by(by_relevance)?;
    loop {
        let mut context: Vec<MatchError<'_>> = std::mem::take(&mut best.context);
        context.sort_by(by_relevance);
        let is_tied = matches!(context.as_slice(), [first, second, ..] if by_relevance(first, second).is_eq());
        match context.into_iter().next() {
            Some(first) if !is_tied => best = first,
            _ => return Some(best),
        }
    }
}

/// Compares the relevance of two errors.
fn by_relevance(one: &MatchError<'_>, other: &MatchError<'_>) -> Ordering {
    let of_union = |error: &MatchError<'_>| matches!(error.keyword, "anyOf" | "oneOf");
    Reverse(one.path.len())
        .cmp(&Reverse(other.path.len()))
        .then_with(|| by_path(&one.path, &other.path))
        .then_with(|| (!of_union(one)).cmp(&!of_union(other)))
        .then_with(|| (!one.has_type).cmp(&!other.has_type))
}

fn by_path(one: &[PathSegment<'_>], other: &[PathSegment<'_>]) -> Ordering {
    let pairs = one.iter().zip(other).map(|pair| match pair {
        (PathSegment::Name(one), PathSegment::Name(other)) => one.cmp(other),
        (PathSegment::Index(one), PathSegment::Index(other)) => one.cmp(other),
        (PathSegment::Index(_), PathSegment::Name(_)) => Ordering::Less,
        (PathSegment::Name(_), PathSegment::Index(_)) => Ordering::Greater,
    });
    pairs.fold(Ordering::Equal, Ordering::then).then(one.len().cmp(&other.len()))
}
