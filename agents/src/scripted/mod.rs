//! Scripted agents: what a reader of a given skill does with what a text says.

mod agent;
mod hint_cache;
pub mod hints;
mod lookup;
mod paths;
mod profile;
mod records;
mod repair;

pub use agent::ScriptedAgent;
pub use profile::{Profile, ProfileError, Uptake, shipped_profile, shipped_profiles};
