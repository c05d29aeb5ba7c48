//! What can go wrong, which exit code it has, and the way out.

use std::io;
use std::path::PathBuf;

use healbench_agents::llm::cassette::CassetteError;
use healbench_agents::llm::{ModelRefError, PreflightError, PriceError, SettingsError, SetupError};
use healbench_agents::scripted::ProfileError;
use healbench_engine::contract::LockfileError;
use healbench_engine::{CompileError, TemplateError};
use healbench_protocol::{AxisError, Guardrails};
use healbench_record::{JournalError, MAX_CELLS, MergeError, RoundsError, RunDirError};
use healbench_reports::gate::{GateError, PolicyError};
use healbench_reports::render::html::ChartError;
use healbench_reports::render::{count, shell_quote};
use healbench_reports::{BaselineError, BlessError, ComparisonError, FrameError, ReportError};
use healbench_runner::ScenarioSetupError;
use healbench_scenarios::LoadError;

/// The program's exit codes; documented in the README.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ExitStatus {
    /// All is well.
    Fine = 0,
    /// A regression: a contract that moved, a gate that failed.
    Regression = 1,
    /// Wrong usage, configuration or data.
    Usage = 2,
    /// A gate that cannot tell.
    Inconclusive = 3,
    /// Something is not whole or not there: infrastructure that failed, a recorded answer that is missing, a budget that is spent, a
    /// baseline of something else.
    Incomplete = 4,
    /// Interrupted; the run can be resumed.
    Interrupted = 130,
}

/// Why a command could not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// Scenario files with problems, already rendered.
    #[error("{0}")]
    Diagnostics(String),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Axis(#[from] AxisError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    ModelRef(#[from] ModelRefError),
    #[error(transparent)]
    Price(#[from] PriceError),
    #[error("cannot read `{}`: {source}", path.display())]
    ConfigFile { path: PathBuf, source: io::Error },
    #[error("there is no folder `{}`", .0.display())]
    NoFolder(PathBuf),
    #[error("port {port} of this machine cannot be had: {source}")]
    Port { port: u16, source: io::Error },
    #[error("the network cannot be set up: {0}")]
    Network(io::Error),
    #[error("{agent}: {source}")]
    Endpoint { agent: String, source: SetupError },
    #[error("{agent}: {source}")]
    Preflight { agent: String, source: PreflightError },
    #[error("the price of {0} is unknown, so money cannot limit the run")]
    NoPrice(String),
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    #[error("no recording has the key `{0}`")]
    NoRecording(String),
    #[error("several recordings have a key that begins with `{0}`")]
    ManyRecordings(String),
    #[error("episode {episode} cannot be replayed: {miss}")]
    RecordingMissing { episode: u64, miss: String },
    #[error("`{}` has episodes that were lost or not played", .0.display())]
    UnfinishedPrune(PathBuf),
    #[error("interrupted before anything was played")]
    Stopped,
    #[error("the answer to a request of episode {episode} is lost: {reason}")]
    RecordingFailed { episode: u64, reason: String },
    #[error("{0}: with thoughts, the API takes no call that it did not make itself, as a seeded opening is one")]
    SeededThoughts(String),
    #[error("the run has no transcript of episode {0}")]
    NoTranscript(u64),
    #[error("the run has no episode of {agent} under {condition}, and a model is not asked here")]
    NotAsked { agent: String, condition: String, command: String },
    #[error("under the guardrails `{guardrails}` a failure is one bare line: the format `{format}` cannot be seen")]
    FormatUnseen { guardrails: Guardrails, format: String },
    #[error("`{option} {word}` names several, and a transcript is of one")]
    OneOnly { option: &'static str, word: String },
    #[error("under the guardrails `{0}` no failure is bare")]
    BareHealing(Guardrails),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error("cannot read `{}`: {source}", path.display())]
    ProfileFile { path: PathBuf, source: io::Error },
    #[error("cannot read `{}`: {source}", path.display())]
    TemplateFile { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error(transparent)]
    Compile(#[from] CompileError),
    #[error("neither a scenario nor tools are named")]
    NoTools,
    #[error("`{}` holds {count} scenarios", path.display())]
    ManyScenarios { path: PathBuf, count: usize },
    #[error("the arguments are not JSON: {source}")]
    Arguments { source: serde_json::Error },
    #[error("cannot read standard input: {0}")]
    Stdin(io::Error),
    #[error("lockfile `{}`: {source}", path.display())]
    Lockfile { path: PathBuf, source: LockfileError },
    #[error("lockfile `{}`: {source}", path.display())]
    LockfileIo { path: PathBuf, source: io::Error },
    #[error("agent `{0}` of the run cannot be played by this program")]
    OldAgent(String),
    #[error("`{option}` names `{value}` twice")]
    Twice { option: &'static str, value: String },
    #[error(transparent)]
    RunDir(#[from] RunDirError),
    #[error(transparent)]
    Merge(#[from] MergeError),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(transparent)]
    Comparison(#[from] ComparisonError),
    #[error(transparent)]
    Gate(#[from] GateError),
    #[error("`{run}` cannot be blessed: {source}")]
    Bless { run: String, source: BlessError },
    #[error(transparent)]
    NotWhole(RunDirError),
    #[error("cannot read `{}`: {source}", path.display())]
    BaselineFile { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error("cannot read `{}`: {source}", path.display())]
    PolicyFile { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Rounds(#[from] RoundsError),
    #[error("cannot write `{}`: {source}", path.display())]
    Output { path: PathBuf, source: io::Error },
    #[error("the plan has {} cells, and a run has {} at most", count(*.0), count(MAX_CELLS))]
    ManyCells(u64),
    #[error(transparent)]
    Chart(#[from] ChartError),
    #[error("the report cannot be written as CSV: {0}")]
    Csv(#[from] csv::Error),
    #[error("`--output` cannot write `{}`: it is read here, or written already", .0.display())]
    OutputClash(PathBuf),
    #[error("{0} forms cannot all go to standard output")]
    ManyForms(usize),
    #[error(transparent)]
    Setup(#[from] ScenarioSetupError),
    #[error("scenario `{0}` of the run cannot be read by this program")]
    OldScenario(String),
    #[error("scenario `{0}` in the run's directory is not the one that was played")]
    ScenarioChanged(String),
    #[error("the run has no such episode: {0}")]
    NoEpisode(String),
    #[error("the run has no {what} `{word}`")]
    NotInPlan { what: &'static str, word: String, known: String },
    #[error("the run does not hold episode {0}: it was not played, or is another shard's")]
    NotPlayed(u64),
    #[error("episode {0} plays otherwise in this program than it was recorded")]
    OtherReplay(u64),
    #[error("a defect of healbench ended episode {0}")]
    Defect(u64),
    #[error("cannot write the report as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("cannot write to standard output: {0}")]
    Stdout(io::Error),
    #[error("cannot catch interrupts: {0}")]
    Signals(#[from] ctrlc::Error),
}

impl From<std::convert::Infallible> for CliError {
    fn from(never: std::convert::Infallible) -> CliError {
        match never {}
    }
}

impl CliError {
    /// The exit code.
    pub(crate) fn exit_status(&self) -> ExitStatus {
        match self {
            CliError::Preflight { source: PreflightError::Unavailable { .. }, .. }
            | CliError::RecordingMissing { .. } => ExitStatus::Incomplete,
            CliError::Stopped => ExitStatus::Interrupted,
            CliError::Rounds(RoundsError::Missing(_) | RoundsError::Io { .. }) => ExitStatus::Usage,
            CliError::Rounds(_) => ExitStatus::Incomplete,
            CliError::Comparison(
                ComparisonError::Report { .. } | ComparisonError::Axis(_) | ComparisonError::Alone { .. },
            )
            | CliError::Bless { source: BlessError::Report(_), .. } => ExitStatus::Usage,
            CliError::Comparison(_) | CliError::Gate(_) | CliError::Bless { .. } | CliError::NotWhole(_) => {
                ExitStatus::Incomplete
            }
            CliError::Diagnostics(_)
            | CliError::Load(_)
            | CliError::Axis(_)
            | CliError::RecordingFailed { .. }
            | CliError::UnfinishedPrune(_)
            | CliError::SeededThoughts(_)
            | CliError::Settings(_)
            | CliError::ModelRef(_)
            | CliError::Price(_)
            | CliError::ConfigFile { .. }
            | CliError::NoFolder(_)
            | CliError::Port { .. }
            | CliError::Network(_)
            | CliError::Endpoint { .. }
            | CliError::Preflight { .. }
            | CliError::NoPrice(_)
            | CliError::Cassette(_)
            | CliError::NoRecording(_)
            | CliError::ManyRecordings(_)
            | CliError::NoTranscript(_)
            | CliError::NotAsked { .. }
            | CliError::FormatUnseen { .. }
            | CliError::OneOnly { .. }
            | CliError::BareHealing(_)
            | CliError::Journal(_)
            | CliError::Profile(_)
            | CliError::ProfileFile { .. }
            | CliError::TemplateFile { .. }
            | CliError::Template(_)
            | CliError::Compile(_)
            | CliError::NoTools
            | CliError::ManyScenarios { .. }
            | CliError::Arguments { .. }
            | CliError::Stdin(_)
            | CliError::Lockfile { .. }
            | CliError::LockfileIo { .. }
            | CliError::OldAgent(_)
            | CliError::Twice { .. }
            | CliError::RunDir(_)
            | CliError::Merge(_)
            | CliError::Frame(_)
            | CliError::Report(_)
            | CliError::BaselineFile { .. }
            | CliError::Policy(_)
            | CliError::PolicyFile { .. }
            | CliError::Output { .. }
            | CliError::ManyCells(_)
            | CliError::Chart(_)
            | CliError::Csv(_)
            | CliError::OutputClash(_)
            | CliError::ManyForms(_)
            | CliError::Setup(_)
            | CliError::OldScenario(_)
            | CliError::ScenarioChanged(_)
            | CliError::NoEpisode(_)
            | CliError::NotInPlan { .. }
            | CliError::NotPlayed(_)
            | CliError::OtherReplay(_)
            | CliError::Defect(_)
            | CliError::Json(_)
            | CliError::Stdout(_)
            | CliError::Signals(_) => ExitStatus::Usage,
        }
    }

    /// The way out, where one can be told.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            CliError::Load(error) => error.hint(),
            CliError::Axis(error) => Some(format!("known: {}", error.known.join(", "))),
            CliError::ModelRef(ModelRefError::NoProvider { .. } | ModelRefError::UnknownProvider { .. }) => {
                Some("scripted agents are named `scripted:PROFILE`, or `scripted` for all".to_owned())
            }
            CliError::ModelRef(_) => None,
            CliError::Endpoint { source: SetupError::NoKey { variable, .. }, .. } => {
                Some(format!("export {variable}=… and try again; a server that needs no key has `key_env = \"\"`"))
            }
            CliError::Endpoint { .. } => None,
            CliError::Preflight { source, .. } => Some(source.hint()),
            CliError::NoFolder(_) => {
                Some("play something with `healbench run`, or name the folder that your runs are in".to_owned())
            }
            CliError::Port { .. } => Some("choose another `--port`, or leave it away for any that is free".to_owned()),
            CliError::NoPrice(_) => {
                Some("give its `price` in healbench.toml, or limit tokens, as in `--budget 300ktokens`".to_owned())
            }
            CliError::Journal(JournalError::Damaged { .. }) => {
                Some("remove that line: the episodes of the others stay, and that one is played again".to_owned())
            }
            CliError::Cassette(error) => error.hint().map(str::to_owned),
            CliError::UnfinishedPrune(path) => Some(format!(
                "finish it with `healbench run --resume {}`: it may need what it has not asked for yet",
                shell_quote(&path.to_string_lossy())
            )),
            CliError::SeededThoughts(_) => Some(
                "choose `--opening natural`, or `tools = \"prompt\"`, or leave `thinking` out of `extra_body`"
                    .to_owned(),
            ),
            CliError::NoRecording(_) => Some("`healbench cassette ls DIR --all` lists the keys".to_owned()),
            CliError::ManyRecordings(_) => Some("give more of the key".to_owned()),
            CliError::RecordingMissing { .. } => {
                Some("record what is missing with `--record`; a replay never asks a model".to_owned())
            }
            CliError::Profile(ProfileError::Unknown { known, .. }) => {
                Some(format!("shipped: {}; or the path of a file that ends in .toml", known.join(", ")))
            }
            CliError::RunDir(error) => run_dir_hint(error),
            CliError::Merge(error) => error.hint().map(str::to_owned),
            CliError::OldScenario(_) | CliError::OldAgent(_) | CliError::OtherReplay(_) => {
                Some("use the version of healbench that manifest.json names".to_owned())
            }
            CliError::NotPlayed(_) => Some("`healbench report` says how much of its plan a run holds".to_owned()),
            CliError::NoEpisode(_) => {
                Some("episodes are numbered from 0; `--scenario` and its like choose one".to_owned())
            }
            CliError::NotInPlan { known, .. } => Some(format!("it has {known}; the end of a name is enough")),
            CliError::ManyCells(_) => {
                Some("play parts of it as runs of their own: fewer scenarios, agents or settings".to_owned())
            }
            CliError::NotAsked { command, .. } => Some(format!("play it: `{command}`")),
            CliError::FormatUnseen { .. } => {
                Some("leave `--format` out, or choose guardrails with `healing`, as `--guardrails all`".to_owned())
            }
            CliError::OneOnly { .. } => Some("name one, and run the command again for each other one".to_owned()),
            CliError::BareHealing(_) => {
                Some("leave `--format` out, and choose guardrails without `healing`, as `--guardrails none`".to_owned())
            }
            CliError::LockfileIo { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Some("write one with `healbench contract lock`".to_owned())
            }
            CliError::Lockfile { .. } => Some("remove it, and write it anew with `healbench contract lock`".to_owned()),
            CliError::LockfileIo { .. } => None,
            CliError::NoTools => Some("name a file with `--scenario` or `--tools`".to_owned()),
            CliError::ManyScenarios { .. } => Some("name one scenario file".to_owned()),
            CliError::Arguments { .. } => Some("a JSON object in quotes, as in '{\"action\": \"list\"}'".to_owned()),
            CliError::Frame(_) | CliError::Report(_) => None,
            CliError::NotWhole(error) => run_dir_hint(error),
            CliError::Rounds(RoundsError::Io { .. }) => None,
            CliError::Rounds(_) => Some("measure with `cargo bench --bench paired -- --out FILE`".to_owned()),
            CliError::Comparison(ComparisonError::Seeds { .. }) => {
                Some("play both with the same `--seed`: then they meet the same difficulties".to_owned())
            }
            CliError::Comparison(ComparisonError::Axis(error)) => Some(format!("known: {}", error.known.join(", "))),
            CliError::Comparison(ComparisonError::Alone { .. }) => {
                Some("compare it by what it has several of, or with another run".to_owned())
            }
            CliError::Comparison(_) => None,
            CliError::Gate(GateError::UnlikeRounds(_)) => Some(
                "measure the base again on this machine, or leave it away: then only what needs no base is decided"
                    .to_owned(),
            ),
            CliError::Gate(GateError::IncompatibleRuns(unlike)) => Some(match unlike.allow {
                Some(word) => format!(
                    "bless a run of what it is now; or, if that is what is asked about, say `may_differ = [\"{word}\"]` in a policy"
                ),
                None => "bless a run of what it is now, or play what the base played".to_owned(),
            }),
            CliError::Gate(GateError::Baseline { source: BaselineError::Edited { .. }, .. }) => {
                Some("take the file as it was committed, or write it anew with `healbench bless`".to_owned())
            }
            CliError::Gate(GateError::Baseline { .. }) => Some("write one with `healbench bless`".to_owned()),
            CliError::Gate(GateError::Run { source, .. }) | CliError::Bless { source, .. } => bless_hint(source),
            CliError::BaselineFile { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Some("write one with `healbench bless RUN --out FILE`".to_owned())
            }
            CliError::ManyForms(_) => Some("name files, as in `--output junit=gate.xml`".to_owned()),
            CliError::BaselineFile { .. }
            | CliError::Policy(_)
            | CliError::PolicyFile { .. }
            | CliError::OutputClash(_)
            | CliError::Chart(_)
            | CliError::Csv(_)
            | CliError::Output { .. } => None,
            CliError::Diagnostics(_)
            | CliError::Stopped
            | CliError::RecordingFailed { .. }
            | CliError::Settings(_)
            | CliError::Price(_)
            | CliError::ConfigFile { .. }
            | CliError::Network(_)
            | CliError::NoTranscript(_)
            | CliError::Journal(_)
            | CliError::Profile(_)
            | CliError::ProfileFile { .. }
            | CliError::TemplateFile { .. }
            | CliError::Template(_)
            | CliError::Compile(_)
            | CliError::Stdin(_)
            | CliError::Twice { .. }
            | CliError::Setup(_)
            | CliError::ScenarioChanged(_)
            | CliError::Defect(_)
            | CliError::Json(_)
            | CliError::Stdout(_)
            | CliError::Signals(_) => None,
        }
    }
}

fn run_dir_hint(error: &RunDirError) -> Option<String> {
    match error {
        RunDirError::Exists(_) => Some("choose another `--out`, or remove it first".to_owned()),
        RunDirError::Missing(_) | RunDirError::NoManifest(_) => {
            Some("a run is a directory that `healbench run` wrote, as in runs/…".to_owned())
        }
        RunDirError::Incomplete(path) => {
            Some(format!("play it anew with `healbench run --resume {}`", shell_quote(&path.to_string_lossy())))
        }
        RunDirError::UnsupportedVersion { .. } => {
            Some("use the version of healbench that manifest.json names, or play it anew".to_owned())
        }
        RunDirError::Locked(_) => Some("wait until it ends, or stop it".to_owned()),
        RunDirError::Invalid { .. } | RunDirError::Io { .. } => None,
    }
}

fn bless_hint(error: &BlessError) -> Option<String> {
    match error {
        BlessError::Partial { .. } => Some("finish it with `healbench run --resume`".to_owned()),
        BlessError::Shard(_) => Some("put the shards together with `healbench merge`".to_owned()),
        BlessError::Lost { .. } => Some("`healbench run --resume` plays lost episodes again".to_owned()),
        BlessError::Report(_) | BlessError::Schedules { .. } => None,
    }
}
