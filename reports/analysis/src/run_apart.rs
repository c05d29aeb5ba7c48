//! Whether runs of live models took place one after the other.

use healbench_store::RunTimes;

/// Returns a sentence if the runs did not overlap: then a provider that changed in between changed the difference too. `None` also
/// if a time is unknown.
pub(crate) fn run_apart(base: Option<&RunTimes>, candidate: Option<&RunTimes>) -> Option<String> {
    let (base, candidate) = (base?, candidate?);
    let during = |times: &RunTimes| format!("from {} to {}", times.started, times.finished);
    (!base.overlaps(candidate)).then(|| {
        format!(
            "run apart: the base {}, the candidate {}; what a provider changed in between is part of the difference, but not of \
             that between conditions of one run",
            during(base),
            during(candidate)
        )
    })
}
