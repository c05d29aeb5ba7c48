//! From a plan to its records: the one place that holds an agent and an engine at once.
//!
//! Deliberately absent: files, frames, the terminal. Whoever calls [`run`] gets a [`RunEvent`] for everything that happens, in the
//! order of the plan, and decides what becomes of it.

mod chains;
mod episode;
mod lanes;
mod memory;
mod plan;
mod pool;
mod replay;
mod responses;
mod stage;
mod tokens;

pub use episode::Moment;
pub use lanes::{Lane, play_lanes};
pub use plan::{Axes, build_plan};
pub use pool::{Job, RunEnd, RunError, RunEvent, run};
pub use replay::{Replays, replay};
pub use stage::{Stage, StageError};
pub use tokens::{TOKENIZER, TokenCounter};

use healbench_protocol::{Agent, Start};

/// Makes the agent with this index in the plan for one episode.
pub type MakeAgent<'a> = dyn for<'s> Fn(usize, Start<'s>) -> Box<dyn Agent + 's> + Sync + 'a;
