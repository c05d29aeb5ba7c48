//! Reports of runs: the frames that hold the rows, the numbers computed from them, and the renderers.
//!
//! Only this crate names columns and depends on Polars. It reads and writes run directories; it never runs an agent.

mod baseline;
pub mod columns;
mod comparison;
mod episodes;
mod frames;
pub mod gate;
mod metric;
mod rate;
pub mod render;
mod report_error;
mod run_apart;
mod sample_sizes;
mod schema;
pub mod statistics;
mod summary;
mod transcript;

pub use baseline::{
    AgentFingerprint, BASELINE_VERSION, Baseline, BaselineError, BlessError, CellName, CellScenario, Ending, Flags,
    Outcomes, ScenarioFingerprint, Sum,
};
pub use comparison::{
    Axis, CellComparison, Comparison, ComparisonError, Flip, Interaction, Matrix, MatrixCell, MatrixColumn,
    MetricDifference, PairingFailure, Side, Unpaired, compare, matrix,
};
pub use episodes::for_each_episode;
pub use frames::{
    ClosedFrames, FrameError, FrameWriter, MAX_RESPONSE_BYTES, count_outcomes, episode_rows, is_decoding, read_calls,
    read_episodes, read_responses, rows_of_episodes,
};
pub use metric::{Better, Metric, RowMetric, RowMetrics};
pub use rate::{CONFIDENCE, Rate};
pub use report_error::ReportError;
pub use sample_sizes::{
    MeasuredVariation, NeededSize, SampleSizes, SizeAssumptions, SizeColumn, SizeQuestion, SizedDecision, SizedPlan,
    measure_variation, sample_sizes,
};
pub use schema::{JsonSchemaKind, json_schema};
pub use summary::{
    Ablation, AgentReport, CallsAt, ClaimReport, ClaimRow, ClaimVerdict, Difference, Effect, Example,
    HeadlineComparison, HeadlineConditions, LAST_CALL_NUMBER, LiveCell, LiveCells, ModelReport, PairedDifference, Pass,
    Repair, Report, ReportRow, Retries, ScenarioRate, Scope, Totals, summarize,
};
pub use transcript::{
    ArgumentChange, CallStep, JsonSpan, SentCall, SpanChange, Transcript, TranscriptStep, diff_arguments,
    unchanged_spans,
};
