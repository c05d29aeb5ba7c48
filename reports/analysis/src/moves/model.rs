//! The profile of an agent that moves as models move.

use healbench_core::{ErrorKind, Move};
use serde::Serialize;

use crate::statistics::Interval;

/// The moves that shares are of, in their order.
pub const SCORED_MOVES: [Move; 4] = [Move::Changed, Move::Repeated, Move::OtherTool, Move::Stopped];

/// Shares of the [`SCORED_MOVES`]; their sum is 1.
pub type Shares = [f64; 4];

/// The moves of an agent after errors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MovesProfile {
    /// The agent; null for all agents together.
    pub agent: Option<String>,
    /// Tasks with a first error that the profile is fitted to.
    pub tasks: u64,
    /// First errors of chains.
    pub moves: u64,
    /// The shares after errors of each kind, in the order of the kinds. Kinds without moves have the shares that the agent's other kinds, and
    /// other agents, let expect.
    pub kinds: Vec<KindMoves>,
    /// The share of changes that are right where the text says what to do. In a trace, right means that the attempt succeeded.
    pub right_told: Estimate,
    /// The share of changes that are right where it does not.
    pub right_untold: Estimate,
    /// The share of repetitions after a repetition.
    pub repeat_again: Estimate,
    /// The factor of the odds of stopping from the second error of a chain on: 1 unless its interval excludes it. The standard error is that of
    /// its natural logarithm.
    pub later_stop: Estimate,
}

/// The moves after errors of one kind. The rest of the shares is `stopped`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindMoves {
    /// The kind.
    pub kind: ErrorKind,
    /// The same call with other arguments.
    pub changed: Estimate,
    /// The same call.
    pub repeated: Estimate,
    /// Other calls only.
    pub other_tool: Estimate,
    /// The observed shares of the narrowest group with enough tasks.
    pub plain: PlainShares,
}

/// Observed shares of a group of moves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlainShares {
    /// The group.
    pub level: PlainLevel,
    /// The shares.
    pub shares: Shares,
}

/// A group of moves, the narrowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlainLevel {
    /// The moves of the agent after errors of the kind.
    Cell,
    /// The moves of all agents after errors of the kind.
    Kind,
    /// All moves.
    All,
}

/// A fitted number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Its standard error; null without a move that informs it.
    pub standard_error: Option<f64>,
    /// The 95% interval; null as the standard error.
    pub interval: Option<Interval>,
    /// Tasks that inform it.
    pub tasks: u64,
    /// Moves that inform it.
    pub moves: u64,
}

/// The weights, in moves, with which shares are drawn towards those of what is less specific, as chosen by held-out tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Strengths {
    /// From a kind without agents towards all moves.
    pub kind: f64,
    /// From an agent without kinds towards all moves.
    pub agent: f64,
    /// From a kind of an agent towards the product of the effects of both, and from the effects towards none.
    pub cell: f64,
}

impl KindMoves {
    /// Returns the share of the moves that stop.
    pub fn stopped(&self) -> f64 {
        (1.0 - self.changed.value - self.repeated.value - self.other_tool.value).max(0.0)
    }

    /// Returns the shares of all moves.
    pub fn shares(&self) -> Shares {
        [self.changed.value, self.repeated.value, self.other_tool.value, self.stopped()]
    }
}

impl MovesProfile {
    /// Returns the shares after the first error of a chain.
    pub fn first(&self, kind: ErrorKind) -> Shares {
        // A profile lists every kind; one that does not stops.
        self.kinds.iter().find(|moves| moves.kind == kind).map_or([0.0, 0.0, 0.0, 1.0], KindMoves::shares)
    }

    /// Returns the shares after an attempt that failed, which the move `follows` led to.
    pub fn later(&self, kind: ErrorKind, follows: Move) -> Shares {
        let [changed, repeated, other_tool, stopped] = self.first(kind);
        let more_stopped = times_odds(stopped, self.later_stop.value);
        let rest = share_of(1.0 - more_stopped, 1.0 - stopped);
        let shares = [changed * rest, repeated * rest, other_tool * rest, more_stopped];
        if follows != Move::Repeated {
            return shares;
        }
        let again = self.repeat_again.value;
        let rest = share_of(1.0 - again, 1.0 - shares[1]);
        [shares[0] * rest, again, shares[2] * rest, if rest > 0.0 { shares[3] * rest } else { 1.0 - again }]
    }

    /// Returns the share of right changes.
    pub fn right(&self, states_remedy: bool) -> f64 {
        if states_remedy { self.right_told.value } else { self.right_untold.value }
    }
}

/// Returns the share whose odds are those of `share`, times `factor`.
pub(super) fn times_odds(share: f64, factor: f64) -> f64 {
    share_of(share * factor, 1.0 - share + share * factor)
}

/// Returns `part / whole`, and 0 if there is no whole.
fn share_of(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
