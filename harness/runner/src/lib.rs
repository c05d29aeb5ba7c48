//! Runs a plan and produces its records; the only crate that uses agents and the engine together.
//!
//! This crate does not access files, frames or the terminal. The caller of [`run`] receives a [`RunEvent`] for
//! everything that happens, in the order of the plan, and processes it.

mod chains;
mod episode;
mod ordered_run;
mod plan;
mod pools;
mod replay;
mod response_cache;
mod response_digest;
mod scenario_context;
mod tokens;

pub use episode::EpisodeEvent;
pub use ordered_run::{Job, RunEnd, RunError, RunEvent, run};
pub use plan::{Axes, build_plan};
pub use pools::{WorkerPool, run_pools};
pub use replay::{Replayer, replay};
pub use scenario_context::{ScenarioContext, ScenarioSetupError};
pub use tokens::{TOKENIZER, TokenCounter};

use healbench_protocol::{Agent, EpisodeStart};

/// Creates the agent with this index in the plan for one episode.
pub type AgentFactory<'a> = dyn for<'s> Fn(usize, EpisodeStart<'s>) -> Box<dyn Agent + 's> + Sync + 'a;
