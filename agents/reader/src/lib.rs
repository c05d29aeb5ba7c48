//! Simulated readers: agents that follow a script and repair failed calls by what error texts say, as well as their profile, a table of
//! numbers, allows.
//!
//! They measure which information an error text carries and how useful it is to a reader of a given skill. Their results say nothing
//! about any real model.

mod agent;
mod failure_fields;
mod lookup;
mod moves;
mod paths;
mod profile;
pub mod reading;
mod records;
mod repair;
pub mod soft_errors;
mod text_cache;
mod wrong_values;

pub use agent::ScriptedAgent;
use healbench_core::{DrawKey, Script, ToolSpec};
pub use profile::{
    Profile, ProfileError, ProfileFile, Uptake, fitted_profiles, shipped_profile, shipped_profile_file,
    shipped_profile_text, shipped_profiles,
};
pub use repair::{has_type, is_within};
pub use text_cache::CachedReader;

/// The data that a scripted agent works with.
#[derive(Debug, Clone, Copy)]
struct ScriptedStart<'a> {
    tools: &'a [ToolSpec],
    script: &'a Script,
    draws: DrawKey,
}
