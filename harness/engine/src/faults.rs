//! Injected faults: failures of valid calls, in front of a session.

use std::sync::Arc;

use crate::definition::{Clock, Code, FaultDef, FaultKind, ToolFailure};

/// The faults of one episode.
#[derive(Debug, Clone)]
pub struct Faults {
    defs: Arc<[FaultDef]>,
    /// One for each of `defs`.
    progress: Vec<FaultProgress>,
    clock: Clock,
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
    pub fn new(defs: Arc<[FaultDef]>, clock: Clock) -> Faults {
        Faults { progress: vec![FaultProgress::default(); defs.len()], defs, clock, elapsed_s: 0 }
    }

    /// Returns the faults of an environment without any.
    pub fn none() -> Faults {
        Faults::new([].into(), Clock::None)
    }

    /// Advances the simulated time.
    pub fn wait(&mut self, seconds: u32) {
        self.elapsed_s += u64::from(seconds);
    }

    /// Returns the simulated seconds that have passed.
    pub fn elapsed_s(&self) -> u64 {
        self.elapsed_s
    }

    /// Returns true if nothing has happened that an answer may depend on: no fault has counted a call, and no time has
    /// passed where calls can let it pass.
    pub fn is_pristine(&self) -> bool {
        let is_at_start = self.clock == Clock::None || self.elapsed_s == 0;
        is_at_start && self.progress.iter().all(|fault| fault.matching_calls == 0)
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
            let delay = def.retry_after.filter(|_| progress.injected > 0 && def.kind == FaultKind::RateLimited);
            let ends_at_s = delay.map(|seconds| progress.last_injected_s + u64::from(seconds));
            if self.clock == Clock::OnRetry {
                self.elapsed_s = ends_at_s.map_or(self.elapsed_s, |end| end.max(self.elapsed_s));
            }
            let waited_out = ends_at_s.is_some_and(|end| self.elapsed_s >= end);
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
