//! The scenario file: what it may say, how it is read, and what a trial of it has in store.
//!
//! Reading goes one way: text → located tree (`locate`) → JSON Schema (`shape`) → raw types (`file`) → validated [`Scenario`]
//! (`lower`). Every problem of a file is reported at once, each as a [`Diagnostic`] with its place. A scenario then gives the
//! [world](Scenario::world) of a seed and the [schedule](Scenario::schedule) of a trial, from keyed draws alone: there is no
//! clock and no other randomness here, and nothing is printed.

mod diagnostic;
mod expectation;
mod file;
mod generate;
mod load;
mod locate;
mod lower;
mod mistakes;
mod render;
mod scenario;
mod schedule;
mod schema;
mod shape;
mod suggest;
mod suite;
mod tools_file;

pub use diagnostic::Diagnostic;
pub use expectation::{Beginning, Expectation, Observed};
pub use load::{LoadError, load_file, load_str, load_suite};
pub use locate::Syntax;
pub use mistakes::MistakeKind;
pub use render::render_diagnostics;
pub use scenario::{Scenario, Source, Task};
pub use schedule::Schedule;
pub use schema::schema_json;
pub use suite::built_in_suites;
pub use tools_file::{load_tools, load_tools_str};
