//! Agents that run episodes: language models, replays of their recordings, and agent programs. Simulated readers are in `healbench-reader`.

pub mod external;
pub mod llm;
mod replay;

pub use replay::ReplayAgent;
