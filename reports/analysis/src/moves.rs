//! The moves of agents after errors: shares that are fitted to the rows of runs and traces, judged by held-out tasks, and used for predictions.
//!
//! A [`MovesProfile`] has shares of [moves](healbench_core::Move) for each [kind of error](healbench_core::ErrorKind). It is fitted to the first
//! errors of chains. Tasks are the clusters of every estimate: the moves of a task are not independent, and single tasks dominate counts.

mod calibration;
mod estimate;
mod fit;
mod judge;
mod model;
mod observations;
mod predict;
mod score;
mod tables;

#[cfg(test)]
mod tests;

pub use calibration::{Calibration, calibrate};
pub use fit::{Fit, fit};
pub use judge::{GroupScores, HeldOutBy, HeldOutScores, Judgement, Method, MethodScore, Skill, Verdict, judge};
pub use model::{Estimate, KindMoves, MovesProfile, PlainLevel, PlainShares, SCORED_MOVES, Shares, Strengths};
pub use observations::{MoveQuery, MoveReader, NameOfAgent, Observation, Observations, Place, suite_of};
pub use predict::{Prediction, Repaired, SharePrediction, predict};
pub use score::{PerfectScore, Scores};
