//! Injected faults: failures of valid calls, in front of a session.

use std::sync::Arc;

use crate::definition::{Code, FaultDef, FaultKind, ToolFailure};

/// The faults of one episode.
#[derive(Debug, Clone)]
pub struct Faults {
    defs: Arc<[FaultDef]>,
    /// One for each of `defs`.
    progress: Vec<FaultProgress>,
    elapsed_s: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct FaultProgress {
    matching_calls: u32,
    injected: u32,
    /// The simulated time of the last injection.
    last_injected_s: u64,
}

impl Faults {
    /// Creates the faults of a new episode.
    pub fn new(defs: Arc<[FaultDef]>) -> Faults {
        Faults { progress: vec![FaultProgress::default(); defs.len()], defs, elapsed_s: 0 }
    }

    /// Advances the simulated time.
    pub fn wait(&mut self, seconds: u32) {
        self.elapsed_s += u64::from(seconds);
    }

    /// Returns true if no fault has counted a call.
    pub fn is_pristine(&self) -> bool {
        self.progress.iter().all(|fault| fault.matching_calls == 0)
    }

    /// Counts a valid call and returns the fault that affects it, if any.
    pub(crate) fn inject(&mut self, tool: &str, action: &str) -> Option<ToolFailure> {
        let mut injected = None;
        for (def, progress) in self.defs.iter().zip(&mut self.progress) {
            let matches = def.tool == tool && def.action.as_deref().is_none_or(|name| name == action);
            if !matches {
                continue;
            }
            progress.matching_calls += 1;
            let due = progress.matching_calls >= def.from_call && progress.injected < def.calls;
            let waited_out = progress.injected > 0
                && def.kind == FaultKind::RateLimited
                && def.retry_after.is_some_and(|s| self.elapsed_s >= progress.last_injected_s + u64::from(s));
            if waited_out {
                progress.injected = def.calls;
            } else if due && injected.is_none() {
                progress.injected += 1;
                progress.last_injected_s = self.elapsed_s;
                injected = Some(fault_failure(def));
            }
        }
        injected
    }
}

fn fault_failure(def: &FaultDef) -> ToolFailure {
    let (code, message, recovery) = match def.kind {
        FaultKind::RateLimited => (Code::RateLimited, "Too many requests.", None),
        FaultKind::Timeout => (Code::Timeout, "The operation timed out.", Some("Try the same call again.")),
        FaultKind::Busy => (Code::ServerBusy, "The server is busy.", Some("Try the same call again.")),
        FaultKind::Internal => (Code::InternalError, "An unexpected error occurred.", Some("Try the same call again.")),
    };
    ToolFailure {
        recovery: recovery.map(str::to_owned),
        recovery_is_generated: true,
        retry_after: def.retry_after,
        ..ToolFailure::new(code, message)
    }
}
