//! Agents that play episodes: scripted ones, whose skill is a table of numbers, and language models.
//!
//! A scripted agent shows what an error text says, and what that is worth to a reader of a given skill. It shows nothing about
//! any real model.

pub mod llm;
mod replay;
pub mod scripted;

pub use replay::ReplayAgent;
