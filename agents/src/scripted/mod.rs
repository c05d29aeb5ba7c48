//! Scripted agents: what a reader of a given skill does with what a text says.

mod agent;
mod errand;
pub mod evidence;
mod memo;
mod mend;
mod paths;
mod profile;
mod records;

pub use agent::ScriptedAgent;
pub use profile::{Profile, ProfileError, Uptake, scripted, shipped};
