//! The scenario file: its format, its validation, and the mistakes and faults of its trials.
//!
//! A file is loaded in steps: text → tree with positions (`locate`) → check against the JSON Schema (`shape`) → raw
//! types (`file`) → validated [`Scenario`] (`compile`). All problems of a file are reported at once, each as a
//! [`Diagnostic`] with its position. A scenario then generates the [initial state](Scenario::world) of its environment
//! for a seed and the [schedule](Scenario::schedule) of a trial. Both depend only on keyed draws: this crate uses no
//! clock and no other randomness, and prints nothing.

mod answer;
mod built_in;
mod compile;
mod declared;
mod diagnostic;
mod expectation;
mod file;
mod findings;
mod generate;
mod load;
mod load_error;
mod locate;
mod misspelt;
mod mistakes;
mod oddities;
mod render;
mod scenario;
mod schedule;
mod schema;
mod server;
mod shape;
mod source;
mod suggest;
mod suite;
mod tools_file;
mod variants;
mod verification;

pub use answer::Answer;
pub use built_in::{ALL_FAMILIES, FAMILIES, built_in_suites, examples, is_built_in, shipped_files};
pub use diagnostic::Diagnostic;
pub use expectation::{CallPattern, EpisodeState, Expectation};
pub use findings::{Findings, delay_before_repetition};
pub use load::{load_file, load_stored, load_str, load_suite, load_variants};
pub use load_error::LoadError;
pub use locate::Syntax;
pub use mistakes::{MISTAKES, MistakeEntry, MistakeKind};
pub use render::{render_diagnostics, render_warnings};
pub use scenario::{Scenario, Task};
pub use schedule::Schedule;
pub use schema::schema_json;
pub use server::{EPISODE_DIR, Server, ServerCheck, ServerEndpoint};
pub use source::Source;
pub use tools_file::{ToolList, load_tools, load_tools_str};
pub use verification::{Verification, Verified, VerifiedRows};
