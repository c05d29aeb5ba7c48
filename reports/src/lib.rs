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
mod playback;
pub mod render;
mod schema;
pub mod statistics;
mod summary;

pub use baseline::{
    AgentMark, BASELINE_VERSION, Baseline, BaselineError, BlessError, CellName, Ending, Flags, Line, Outcomes,
    ScenarioMark, Sum,
};
pub use comparison::{
    Axis, CellComparison, Comparison, ComparisonError, Flip, Matrix, MatrixCell, MatrixColumn, MetricDifference, Side,
    Unpaired, Why, compare, matrix,
};
pub use episodes::each_episode;
pub use frames::{
    FrameError, FrameWriter, count_outcomes, episode_rows, read_calls, read_episodes, read_records, rows_of_episodes,
};
pub use metric::{Better, Metric};
pub use playback::{CallStep, Change, Mark, Piece, Playback, Sent, Step, differences, unmarked};
pub use schema::{Printed, json_schema};
pub use summary::{
    Ablation, AgentReport, Beside, CONFIDENCE, CallsAt, ClaimReport, ClaimRow, ClaimVerdict, Contrast, Difference,
    Effect, Example, LATER, LiveCell, LiveCells, ModelReport, Paired, Pass, Rate, Repair, Report, ReportError,
    ReportRow, Retries, ScenarioRate, Scope, Totals, summarise,
};
