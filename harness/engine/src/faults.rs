//! Injected faults: failures of valid calls in front of a session, and what becomes of calls that succeeded.

use std::sync::Arc;

use healbench_core::{DrawKey, FaultPhase, Seed, Strike};

use crate::definition::{Clock, Code, FaultDef, FaultKind, ToolFailure};

/// The faults of one episode.
#[derive(Debug, Clone)]
pub struct Faults {
    defs: Arc<[FaultDef]>,
    /// One for each of `defs`.
    progress: Vec<FaultProgress>,
    clock: Clock,
    elapsed_s: u64,
    /// The delays that count as waited when their actions are called again.
    delays: Vec<Delay>,
    draws: DrawKey,
}

/// A delay that the latest failure of an action stated.
#[derive(Debug, Clone)]
struct Delay {
    tool: String,
    action: String,
    /// The simulated time at which it ends.
    ends_at_s: u64,
}

impl Delay {
    fn is_of(&self, tool: &str, action: &str) -> bool {
        self.tool == tool && self.action == action
    }
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
        let progress = vec![FaultProgress::default(); defs.len()];
        Faults { progress, defs, clock, elapsed_s: 0, delays: Vec::new(), draws: DrawKey::of_run(Seed(0)) }
    }

    /// Returns the faults of an environment without any.
    pub fn none() -> Faults {
        Faults::new([].into(), Clock::None)
    }

    /// Sets the key of what is drawn: the rows and values that a fault damages.
    #[must_use]
    pub fn with_draws(mut self, draws: DrawKey) -> Faults {
        self.draws = draws;
        self
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
    /// passed, or will with the next call, where calls can let it pass.
    pub fn is_pristine(&self) -> bool {
        let is_at_start = self.clock == Clock::None || self.elapsed_s == 0 && self.delays.is_empty();
        is_at_start && self.progress.iter().all(|fault| fault.matching_calls == 0)
    }

    /// Notes the delay that a failure of an action stated, if it did and the clock lets it pass with the next call.
    pub(crate) fn note_delay(&mut self, tool: &str, action: &str, delay: Option<u32>) {
        let Some(delay) = delay.filter(|_| self.clock == Clock::OnRetry) else { return };
        self.delays.retain(|known| !known.is_of(tool, action));
        let ends_at_s = self.elapsed_s + u64::from(delay);
        self.delays.push(Delay { tool: tool.to_owned(), action: action.to_owned(), ends_at_s });
    }

    /// Counts a valid call and returns the fault that it meets before its handler, if any. The delay that the action stated has passed.
    pub(crate) fn inject(&mut self, tool: &str, action: &str) -> Option<(FaultKind, ToolFailure)> {
        let delay = self.delays.iter().find(|delay| delay.is_of(tool, action));
        self.elapsed_s = delay.map_or(self.elapsed_s, |delay| delay.ends_at_s.max(self.elapsed_s));
        let mut injected = None;
        for (def, progress) in self.defs.iter().zip(&mut self.progress) {
            if !def.concerns(tool, action) || def.kind.phase() != FaultPhase::Before {
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
                injected = Some((def.kind, def.failure()));
            }
        }
        injected
    }

    /// Returns true if a fault may strike such a call after it has succeeded.
    pub(crate) fn may_strike(&self, tool: &str, action: &str) -> bool {
        let is_late = |def: &FaultDef| def.kind.phase() != FaultPhase::Before && def.concerns(tool, action);
        self.defs.iter().any(is_late)
    }

    /// Counts a call that has succeeded, and returns the fault that strikes it, with its place and its failure, if any.
    pub(crate) fn strike(
        &mut self,
        tool: &str,
        action: &str,
        state_changed: bool,
    ) -> Option<(usize, Strike, ToolFailure)> {
        let mut struck = None;
        for (at, (def, progress)) in self.defs.iter().zip(&mut self.progress).enumerate() {
            let is_possible = match def.kind {
                FaultKind::NoOp => state_changed,
                FaultKind::Stale => !state_changed,
                kind => kind.phase() != FaultPhase::Before,
            };
            if !is_possible || !def.concerns(tool, action) {
                continue;
            }
            progress.matching_calls += 1;
            if progress.matching_calls >= def.from_call && progress.injected < def.calls && struck.is_none() {
                progress.injected += 1;
                let draws = self.draws.draws("fault", (at as u64) << 32 | u64::from(progress.injected));
                let strike = Strike { kind: def.kind, column: def.column.clone(), draws };
                struck = Some((at, strike, def.failure()));
            }
        }
        struck
    }

    /// Takes back a strike that changed nothing: the fault at this place strikes a later call.
    pub(crate) fn take_back(&mut self, at: usize) {
        if let Some(progress) = self.progress.get_mut(at) {
            progress.injected = progress.injected.saturating_sub(1);
        }
    }
}

impl FaultDef {
    /// Creates a fault of the first call of a tool.
    pub fn new(kind: FaultKind, tool: impl Into<String>) -> FaultDef {
        let tool = tool.into();
        FaultDef {
            kind,
            tool,
            action: None,
            from_call: 1,
            calls: 1,
            retry_after: None,
            column: None,
            message: None,
            recovery: None,
            misleading: false,
        }
    }

    fn concerns(&self, tool: &str, action: &str) -> bool {
        self.tool == tool && self.action.as_deref().is_none_or(|name| name == action)
    }

    fn failure(&self) -> ToolFailure {
        const AGAIN: Option<&str> = Some("Try the same call again.");
        let (code, message, recovery) = match self.kind {
            FaultKind::RateLimited => (Some(Code::RateLimited), "Too many requests.", None),
            FaultKind::Timeout | FaultKind::TimeoutAfter => (Some(Code::Timeout), "The operation timed out.", AGAIN),
            FaultKind::Busy => (Some(Code::ServerBusy), "The server is busy.", AGAIN),
            FaultKind::StackTrace => (None, STACK_TRACE, None),
            FaultKind::ProtocolError => (None, "Internal error", None),
            _ => (Some(Code::InternalError), "An unexpected error occurred.", AGAIN),
        };
        let message = self.message.as_deref().unwrap_or(message);
        let failure = code.map_or_else(|| ToolFailure::error(message), |code| ToolFailure::new(code, message));
        ToolFailure {
            recovery: self.recovery.clone().or_else(|| recovery.map(str::to_owned)),
            recovery_is_generated: self.recovery.is_none(),
            retry_after: self.retry_after,
            misleading: self.misleading,
            ..failure
        }
    }
}

/// The text of a server in which something went wrong that nobody expected.
const STACK_TRACE: &str = "Traceback (most recent call last):\n  File \"/srv/app/handlers.py\", line 118, in dispatch\n    \
     return action(**arguments)\n  File \"/srv/app/store.py\", line 64, in write\n    entry = self._rows[key]\n\
     KeyError: 'owner'";
