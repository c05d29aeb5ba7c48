//! Agent programs: agents with a model, a client and an episode loop of their own, which call the tools by MCP.
//!
//! A program is an [`Agent`](healbench_core::Agent) whose next turn is the next call that arrives at the socket of the episode. It starts `healbench serve --attach` as
//! its MCP server, which passes lines on to the socket of the episode. Unix only.

mod acp;
mod agent;
mod home;
mod hub;
mod settings;
mod text;
mod usage;

pub use agent::{ProgramFactory, ProgramSetupError};
pub use settings::{Program, ProgramTable, Protocol, parse_program_tables};
