//! Agents that run episodes: simulated readers, whose skill is a table of numbers, and language models.
//!
//! Simulated readers measure which information an error text carries and how useful it is to a reader of a given skill.
//! Their results say nothing about any real model.

pub mod external;
pub mod llm;
mod replay;
pub mod scripted;

pub use replay::ReplayAgent;
