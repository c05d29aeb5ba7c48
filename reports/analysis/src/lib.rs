//! The numbers of reports: statistics, metrics, the report of a run, comparisons, baselines and gates, as plain data.
//!
//! They are computed from the rows that [`RunRows`] reads. No output is laid out here, and no file format of rows is known.

mod baseline;
mod changed_scenarios;
mod comparison;
mod condition;
mod episode_filter;
mod errors;
pub mod gate;
mod metric;
pub mod moves;
mod rate;
mod report_error;
mod run_apart;
mod run_rows;
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
    MatrixColumn, MetricDifference, PairingFailure, RowConclusion, Setback, Side, Unpaired, compare, matrix,
};
pub use condition::ShownCondition;
pub use episode_filter::{EpisodeFilter, FAILURE, FilteredEpisodes, IndexedEpisode};
pub use errors::{
    AfterSecond, ConditionKinds, ErrorAxis, ErrorChange, ErrorChanges, ErrorCounts, ErrorExample, ErrorField,
    ErrorGroup, ErrorOrder, ErrorQuery, ErrorText, ErrorTexts, ShareDifference, TaskRate, TextChange, error_changes,
    error_texts,
};
pub use metric::{Better, Group, Metric, RowMetric, RowMetricEntry, RowMetrics, Unit, known_count};
pub use rate::{CONFIDENCE, Rate};
pub use report_error::{CallCountError, ReportError};
pub use run_rows::{CallInChain, RunRows};
pub use sample_sizes::{
    MeasuredVariation, NeededSize, SampleSizes, SizeAssumptions, SizeColumn, SizeQuestion, SizedDecision, SizedPlan,
    measure_variation, sample_sizes,
};
pub use schema::{JsonSchemaKind, json_schema};
pub use summary::{
    ALPHA, Ablation, AgentGain, AgentReport, Agents, Alone, Alternative, Answer, CallsAt, Carried, Carrier, Choice,
    ClaimReport, ClaimRow, ClaimVerdict, Claims, ConditionResult, ContentAndForm, ContentInteraction, Difference,
    EQUIVALENCE, Effect, EqualRows, Example, FamilyRate, Finding, Gain, HeadlineComparison, HeadlineConditions,
    LAST_CALL_NUMBER, ModelReport, NamedCondition, OtherTrial, POWER, Pair, PairedDifference, Pass, RecordedModels,
    Repair, Report, ReportRow, Retries, SavingWithout, ScenarioDifferences, ScenarioRate, Scope, SelectedAgent,
    Selection, Server, Single, SwitchEffect, Totals, Verdict, Who, WithoutEach, WorstTool, agents_by_information,
    equal_rows, select, suite_name, summarize, verdict,
};
pub use transcript::{
    ArgumentChange, CallStep, JsonSpan, SentCall, SpanChange, Transcript, TranscriptStep, diff_arguments,
    note_reactions, unchanged_spans,
};
