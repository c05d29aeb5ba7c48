//! Reports of runs: the frames that hold the rows, the numbers computed from them, and the renderers.
//!
//! Only this crate names columns and depends on Polars. It reads and writes run directories; it never runs an agent.

mod baseline;
pub mod columns;
mod comparison;
mod condition;
mod episode_index;
mod episodes;
mod frames;
pub mod gate;
mod metric;
mod rate;
pub mod render;
mod report_error;
mod run_apart;
mod run_totals;
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
    Axis, CellComparison, Change, Comparison, ComparisonError, Conclusion, Flip, Interaction, Matrix, MatrixCell,
    MatrixColumn, MetricDifference, PairingFailure, RowConclusion, Side, Unpaired, compare, matrix,
};
pub use condition::ShownCondition;
pub use episode_index::{EpisodeFilter, EpisodeIndex, EpisodeSet, FAILURE, FilteredEpisodes, IndexedEpisode};
pub use episodes::for_each_episode;
pub use frames::{
    ClosedFrames, FrameError, FrameWriter, MAX_RESPONSE_BYTES, count_outcomes, episode_rows, is_decoding, read_calls,
    read_episodes, read_responses, rows_of_episodes,
};
pub use metric::{Better, Metric, RowMetric, RowMetrics};
pub use rate::{CONFIDENCE, Rate};
pub use report_error::ReportError;
pub use run_totals::{RunTotals, run_totals};
pub use sample_sizes::{
    MeasuredVariation, NeededSize, SampleSizes, SizeAssumptions, SizeColumn, SizeQuestion, SizedDecision, SizedPlan,
    measure_variation, sample_sizes,
};
pub use schema::{JsonSchemaKind, json_schema};
pub use summary::{
    ALPHA, Ablation, AgentGain, AgentReport, Agents, Alone, Alternative, Answer, CallsAt, Choice, ClaimReport,
    ClaimRow, ClaimVerdict, Claims, ConditionResult, ContentAndForm, ContentInteraction, Difference, EQUIVALENCE,
    Effect, EqualRows, Example, Finding, Gain, HeadlineComparison, HeadlineConditions, LAST_CALL_NUMBER, LiveCell,
    LiveCells, ModelReport, NamedCondition, OtherTrial, Pair, PairedDifference, Pass, Repair, Report, ReportRow,
    Retries, ScenarioRate, Scope, SelectedAgent, Selection, Server, Single, SwitchEffect, Totals, Verdict, Who,
    WithoutEach, WorstTool, agents_by_information, equal_rows, select, suite_name, summarize,
};
pub use transcript::{
    ArgumentChange, CallStep, JsonSpan, SentCall, SpanChange, Transcript, TranscriptStep, diff_arguments,
    unchanged_spans,
};
