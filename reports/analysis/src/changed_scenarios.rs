//! The scenarios that carry a change, in the order in which every report names them.

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
