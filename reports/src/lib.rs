//! What a run's rows say: the frames they are kept in, the numbers computed from them, and how those are shown.
//!
//! The only crate that names columns and links Polars. It reads and writes run directories; it never runs an agent.

mod baseline;
pub mod columns;
mod comparison;
mod episodes;
mod frames;
pub mod gate;
mod metric;
pub mod render;
mod schema;
pub mod statistics;
mod summary;
mod transcript;

pub use baseline::{
    AgentFingerprint, BASELINE_VERSION, Baseline, BaselineError, BlessError, CellName, CellScenario, Ending, Flags,
    Outcomes, ScenarioFingerprint, Sum,
};
pub use comparison::{
    Axis, CellComparison, Comparison, ComparisonError, Flip, Matrix, MatrixCell, MatrixColumn, MetricDifference,
    PairingFailure, Side, Unpaired, compare, matrix,
};
pub use episodes::each_episode;
pub use frames::{
    FrameError, FrameWriter, count_outcomes, episode_rows, read_calls, read_episodes, read_records, rows_of_episodes,
};
pub use metric::{Better, Metric};
pub use schema::{JsonSchemaKind, json_schema};
pub use summary::{
    Ablation, AgentReport, CONFIDENCE, CallsAt, ClaimReport, ClaimRow, ClaimVerdict, Difference, Effect, Example,
    HeadlineComparison, HeadlineConditions, LATER, LiveCell, LiveCells, ModelReport, Paired, Pass, Rate, Repair,
    Report, ReportError, ReportRow, Retries, ScenarioRate, Scope, Totals, summarise,
};
pub use transcript::{
    ArgumentChange, CallStep, JsonSpan, Sent, SpanChange, Transcript, TranscriptStep, differences, unmarked,
};
