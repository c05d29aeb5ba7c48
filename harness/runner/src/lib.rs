//! Runs a plan and produces its records; the only crate that uses agents and the engine together.
//!
//! [`execute`] runs agents of every kind. It passes on a [`RunEvent`] for everything that happens, and the rows in the
//! order of the plan; the caller writes, counts or prints them. [`Checkpoints`] keep results that cost money in the
//! journal of the run, and stop it at its [`Limits`]. This crate knows neither frames nor the terminal.

mod billing;
mod chains;
mod checkpoints;
mod client_reply;
mod episode;
mod episode_memory;
mod executor;
mod explain;
mod guarded_session;
mod leaks;
mod limits;
mod listed_tools;
mod model_usage;
mod plan;
mod replay;
mod requests;
mod response_cache;
mod response_digest;
mod scenario_context;
mod server;

pub use checkpoints::Checkpoints;
pub use client_reply::{ClientReply, reply_through_client};
pub use episode::EpisodeEvent;
pub use executor::{Job, RunEnd, RunError, RunEvent, StopReason, WorkerPool, execute};
pub use explain::{Answered, ExplainedStep, Explanation};
pub use guarded_session::GuardedSession;
pub use leaks::{LeakAudit, LeakKind, LeakMatch, LeakPlace, audit_leaks};
pub use limits::{Budget, Limits, ParseBudgetError, PriceOf, StopRule};
pub use plan::{Axes, build_plan};
pub use replay::{Replayer, replay};
pub use scenario_context::{
    EnvironmentFactory, ScenarioContext, ScenarioSetupError, SetupFailure, server_environments, simulator_engine,
};
pub use server::copy_folder;

use healbench_core::{Agent, EpisodeStart, Script};

/// Creates the agent with this index in the plan for one episode. The script, which holds the intended calls, is passed
/// for scripted agents only.
pub type AgentFactory<'a> =
    dyn for<'s> Fn(usize, EpisodeStart<'s>, Option<&'s Script>) -> Box<dyn Agent + 's> + Sync + 'a;
