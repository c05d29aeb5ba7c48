//! The scenarios that carry a change, in the order in which every report names them.

use std::cmp::Reverse;

/// Sorts scenarios by their gain, which is above 0 for the better: those that became worse first, then those that did neither, then those that
/// became better, each with the largest change first; equal ones by id.
pub(crate) fn by_gain<S: AsRef<str>, T>(mut changes: Vec<(S, f64, T)>) -> Vec<(S, f64, T)> {
    let direction = |gain: f64| if gain == 0.0 { 0 } else { gain.signum() as i8 };
    changes.sort_by(|(id, gain, _), (other_id, other, _)| {
        let largest = other.abs().total_cmp(&gain.abs());
        direction(*gain).cmp(&direction(*other)).then(largest).then_with(|| id.as_ref().cmp(other_id.as_ref()))
    });
    changes
}

/// Returns a sort key for the cells of a run, or their rows: the largest change first, in millionths, which is the lowest number; of equal ones
/// the one with the most changed scenarios, and then by their names.
pub(crate) fn rank(change: f64, scenarios: Vec<&str>) -> (i64, Reverse<usize>, Vec<&str>) {
    ((change * 1e6).round() as i64, Reverse(scenarios.len()), scenarios)
}
