//! The profile of an agent that moves as models move.

use healbench_core::{ERROR_KINDS, ErrorKind, Move, Moves};
use schemars::JsonSchema;
use serde::Serialize;

use crate::schema::ErrorKindSchema;
use crate::statistics::Interval;

/// The moves that shares are of, in their order.
pub const SCORED_MOVES: [Move; 4] = [Move::Changed, Move::Repeated, Move::OtherTool, Move::Stopped];

/// Shares of the [`SCORED_MOVES`]; their sum is 1.
pub type Shares = [f64; 4];

/// The moves of an agent after errors.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MovesProfile {
    /// The agent; null for all agents together.
    pub agent: Option<String>,
    /// Tasks with a first error that the profile is fitted to.
    pub tasks: u64,
    /// First errors of chains.
    pub moves: u64,
    /// The shares after errors of each kind, in the order of the kinds. Kinds without moves have the shares that the agent's other kinds, and
    /// other agents, suggest.
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
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct KindMoves {
    /// The kind.
    #[schemars(with = "ErrorKindSchema")]
    pub kind: ErrorKind,
    /// The same call with other arguments.
    pub changed: Estimate,
    /// The same call.
    pub repeated: Estimate,
    /// Other calls only.
    pub other_tool: Estimate,
    /// The smoothed shares of the narrowest group with enough tasks.
    pub plain: PlainShares,
}

/// Observed shares of a group of moves, smoothed so that none is 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PlainShares {
    /// The group.
    pub level: PlainLevel,
    /// The shares.
    pub shares: Shares,
}

/// A group of moves, the narrowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Strengths {
    /// From a kind without agents towards all moves.
    pub kind: f64,
    /// From an agent without kinds towards all moves.
    pub agent: f64,
    /// From a kind of an agent towards the product of the effects of both, and from the effects towards none.
    pub cell: f64,
}

impl KindMoves {
    /// Returns the shares of all moves.
    pub fn shares(&self) -> Shares {
        let [changed, repeated, other_tool] =
            [self.changed, self.repeated, self.other_tool].map(|estimate| estimate.value);
        healbench_core::Shares { changed, repeated, other_tool }.all()
    }
}

impl MovesProfile {
    /// Returns the numbers without their errors.
    pub fn moves(&self) -> Moves {
        let mut shares = [healbench_core::Shares::default(); ERROR_KINDS.len()];
        for kind in &self.kinds {
            let [changed, repeated, other_tool, _] = kind.shares();
            shares[kind.kind as usize] = healbench_core::Shares { changed, repeated, other_tool };
        }
        Moves {
            shares,
            right_told: self.right_told.value,
            right_untold: self.right_untold.value,
            repeat_again: self.repeat_again.value,
            later_stop: self.later_stop.value,
        }
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
