//! The error of every command: a message, an exit code and a suggested fix. Each library error is mapped in one `From`
//! impl.

use std::fmt::{self, Display};
use std::io;
use std::path::Path;

use healbench_agents::llm::ModelRefError;
use healbench_agents::llm::cassette::CassetteError;
use healbench_analysis::gate::GateError;
use healbench_analysis::{BaselineError, BlessError, ComparisonError, ReportError};
use healbench_audit::AuditError;
use healbench_core::AxisError;
use healbench_engine::{CompileError, TemplateError};
use healbench_files::ConfigError;
use healbench_frames::FrameError;
use healbench_mcp::McpError;
use healbench_proxy::ProxyError;
use healbench_reader::ProfileError;
use healbench_render::html::ChartError;
use healbench_runner::{RunError, ScenarioSetupError};
use healbench_scenarios::LoadError;
use healbench_store::{JournalError, MergeError, RoundsError, RunDirError};
use healbench_text::{nearest_name, shell_quote};
use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit};

use crate::run_name::{A_RUN, help_for_missing};

/// The program's exit codes; documented in the manual page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ExitStatus {
    Success = 0,
    /// A contract changed, a gate failed, or what a proxy did could not be recorded.
    Regression = 1,
    /// Wrong usage, configuration or data.
    Usage = 2,
    /// A gate without enough data to decide.
    Inconclusive = 3,
    /// Infrastructure failed, a recorded answer is missing, the budget is spent, the baseline is incompatible, or a file is
    /// damaged.
    Incomplete = 4,
    /// Interrupted; the run can be resumed.
    Interrupted = 130,
}

/// The kinds of errors that callers treat differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    Other,
    /// Problems of scenario files; the message is rendered already.
    Diagnostics,
    /// The episode is not in the run.
    UnknownEpisode,
    /// The run or transcript does not exist.
    NotFound,
    /// The run's state, or the pair of runs, does not allow the request.
    Conflict,
    /// The run's files were replaced while they were read.
    Replaced,
    /// The requested values are invalid.
    Invalid,
}

/// The error of a command.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) kind: ErrorKind,
    pub(crate) status: ExitStatus,
    pub(crate) help: Option<String>,
    message: String,
}

impl CliError {
    /// A usage error, without help unless something has no room.
    pub(crate) fn new(message: impl Display) -> CliError {
        let message = message.to_string();
        CliError { kind: ErrorKind::Other, status: ExitStatus::Usage, help: help_with_room(&message), message }
    }

    /// Adds what the error is about.
    pub(crate) fn within(self, subject: impl Display) -> CliError {
        let message = match self.kind {
            ErrorKind::Diagnostics => format!("{}\nerror: cannot read {subject}\n", self.message),
            _ => format!("cannot read {subject}: {}", self.message),
        };
        CliError { message, ..self }
    }

    pub(crate) fn read(path: &Path, source: &io::Error) -> CliError {
        CliError::new(format_args!("cannot read `{}`: {source}", path.display()))
    }

    pub(crate) fn write(path: &Path, source: &io::Error) -> CliError {
        CliError::new(format_args!("cannot write `{}`: {source}", path.display()))
    }

    pub(crate) fn network(source: io::Error) -> CliError {
        CliError::new(format_args!("cannot set up the network: {source}"))
    }

    pub(crate) fn stdout(source: io::Error) -> CliError {
        CliError::new(format_args!("cannot write to standard output: {source}"))
    }

    pub(crate) fn interrupted() -> CliError {
        CliError::new("interrupted before the first episode").status(ExitStatus::Interrupted)
    }

    pub(crate) fn unknown_agent(agent: impl Display) -> CliError {
        CliError::new(format_args!("this version cannot run agent `{agent}` of the run")).help(OTHER_VERSION)
    }

    pub(crate) fn unreadable_scenario(id: &str) -> CliError {
        CliError::new(format_args!("this version cannot read scenario `{id}` of the run")).help(OTHER_VERSION)
    }

    pub(crate) fn scenario_changed(id: &str) -> CliError {
        CliError::new(format_args!("scenario `{id}` in the run directory is not the one that was run"))
    }

    pub(crate) fn no_recording(key: &str) -> CliError {
        CliError::new(format_args!("no recording has the key `{key}`"))
            .help("`healbench cassette ls DIR --all` lists the keys")
    }

    pub(crate) fn no_episode(episode: impl Display) -> CliError {
        CliError::new(format_args!("the run has no such episode: {episode}"))
            .kind(ErrorKind::UnknownEpisode)
            .help("episodes are numbered from 0; `--scenario`, `--agent` and `--trial` select one")
    }

    pub(crate) fn not_run(episode: u64) -> CliError {
        CliError::new(format_args!(
            "the run has no result of episode {episode}: it was not run, or belongs to another shard"
        ))
        .kind(ErrorKind::UnknownEpisode)
        .help("`healbench report` shows how many episodes of its plan a run has")
    }

    pub(crate) fn replay_differs(episode: u64) -> CliError {
        CliError::new(format_args!("episode {episode} replays differently from its record")).help(OTHER_VERSION)
    }

    pub(crate) fn one_only(option: &str, value: &str) -> CliError {
        CliError::new(format_args!("`{option} {value}` names several values; a transcript shows one"))
            .help("name one, and repeat the command for each of the others")
    }

    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> CliError {
        self.help = Some(help.into());
        self
    }

    #[must_use]
    pub(crate) fn status(mut self, status: ExitStatus) -> CliError {
        self.status = status;
        self
    }

    #[must_use]
    pub(crate) fn kind(mut self, kind: ErrorKind) -> CliError {
        self.kind = kind;
        self
    }

    /// A damaged file is neither a wrong use nor a result.
    #[must_use]
    fn damaged(self) -> CliError {
        self.status(ExitStatus::Incomplete).help(NOT_DAMAGED)
    }

    fn maybe_help(self, help: Option<impl Into<String>>) -> CliError {
        CliError { help: help.map(Into::into).or(self.help), ..self }
    }
}

/// Returns what to do if a message says that a file could not be written for want of room. Errors of libraries are known by their texts
/// only.
fn help_with_room(message: &str) -> Option<String> {
    let limit = || {
        let limit = getrlimit(Resource::RLIMIT_FSIZE).map_or(0, |(soft, _)| soft);
        format!("files are limited to {limit} bytes: raise the limit with `ulimit -f`")
    };
    let disk = || "the disk is full: make room, or write to another one".to_owned();
    let quota = || "your disk quota is used up: make room, or write to another one".to_owned();
    let wants: [(Errno, &dyn Fn() -> String); 3] =
        [(Errno::ENOSPC, &disk), (Errno::EDQUOT, &quota), (Errno::EFBIG, &limit)];
    let says = |error: io::Error| {
        message.contains(&error.to_string()) || message.ends_with(&io::Error::from(error.kind()).to_string())
    };
    wants.into_iter().find(|(errno, _)| says((*errno).into())).map(|(_, help)| help())
}

impl Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CliError {}

const NOT_DAMAGED: &str = "restore the file from a copy, or run the plan again";
const OTHER_VERSION: &str = "use the version of healbench that manifest.json names";

impl From<std::convert::Infallible> for CliError {
    fn from(never: std::convert::Infallible) -> CliError {
        match never {}
    }
}

/// Maps errors that need no help to usage errors.
macro_rules! usage_errors {
    ($($error:ty),+ $(,)?) => {$(
        impl From<$error> for CliError {
            fn from(error: $error) -> CliError {
                CliError::new(error)
            }
        }
    )+};
}

impl From<McpError> for CliError {
    fn from(error: McpError) -> CliError {
        let help = error.help().map(str::to_owned);
        let status = if matches!(error, McpError::Stopped) { ExitStatus::Interrupted } else { ExitStatus::Incomplete };
        CliError { help, ..CliError::new(error).status(status) }
    }
}

impl From<AuditError> for CliError {
    fn from(error: AuditError) -> CliError {
        match error {
            AuditError::Server(error) => error.into(),
            AuditError::Interrupted => CliError::new(error).status(ExitStatus::Interrupted),
            AuditError::Folder(_) | AuditError::Calls(_) => CliError::new(error),
            AuditError::UnknownTool { .. } => {
                CliError::new(error).help("`healbench new --from-server --out tools.json` lists its tools")
            }
        }
    }
}

impl From<ProxyError> for CliError {
    fn from(error: ProxyError) -> CliError {
        match error {
            ProxyError::Server(error) => error.into(),
            ProxyError::Format(error) => error.into(),
        }
    }
}

usage_errors!(TemplateError, CompileError, ChartError, ScenarioSetupError,);

impl From<FrameError> for CliError {
    fn from(error: FrameError) -> CliError {
        let is_damaged = matches!(error, FrameError::Damaged { .. });
        let error = CliError::new(error);
        if is_damaged { error.damaged() } else { error }
    }
}

impl From<ReportError> for CliError {
    fn from(error: ReportError) -> CliError {
        match error {
            ReportError::Rows(error) => match error.downcast::<FrameError>() {
                Ok(error) => (*error).into(),
                Err(error) => CliError::new(error),
            },
            other @ ReportError::Trace => CliError::new(other)
                .kind(ErrorKind::Invalid)
                .help("`healbench errors RUN --by agent` compares what followed its errors"),
            other @ ReportError::NoAftermath { .. } => CliError::new(other).help(RUN_AGAIN),
            other => CliError::new(other),
        }
    }
}

/// The way out for a run that lacks what newer versions record.
const RUN_AGAIN: &str = "run its plan again with this version; manifest.json has the command";

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> CliError {
        CliError::new(&error).help(error.help)
    }
}

impl From<csv::Error> for CliError {
    fn from(error: csv::Error) -> CliError {
        CliError::new(format_args!("cannot write the report as CSV: {error}"))
    }
}

impl From<serde_json::Error> for CliError {
    fn from(error: serde_json::Error) -> CliError {
        CliError::new(format_args!("cannot write the report as JSON: {error}"))
    }
}

impl From<LoadError> for CliError {
    fn from(error: LoadError) -> CliError {
        let help = error.help();
        CliError::new(error).maybe_help(help)
    }
}

impl From<AxisError> for CliError {
    fn from(error: AxisError) -> CliError {
        let known = error.known.join(", ");
        let help = match nearest_name(&error.word, error.known.iter().map(String::as_str)) {
            Some(name) => format!("did you mean `{name}`? Known: {known}"),
            None => format!("known: {known}"),
        };
        CliError::new(error).kind(ErrorKind::Invalid).help(help)
    }
}

impl From<ModelRefError> for CliError {
    fn from(error: ModelRefError) -> CliError {
        let unknown = matches!(error, ModelRefError::NoProvider { .. } | ModelRefError::UnknownProvider { .. });
        let help = unknown.then_some("simulated readers are named `scripted:PROFILE`, or `scripted` for all");
        CliError::new(error).maybe_help(help)
    }
}

impl From<CassetteError> for CliError {
    fn from(error: CassetteError) -> CliError {
        let help = error.help().map(str::to_owned);
        let is_damaged = matches!(error, CassetteError::Damaged { .. });
        let error = CliError::new(error).maybe_help(help);
        if is_damaged { error.status(ExitStatus::Incomplete) } else { error }
    }
}

impl From<JournalError> for CliError {
    fn from(error: JournalError) -> CliError {
        match error {
            JournalError::Damaged { .. } => CliError::new(error)
                .status(ExitStatus::Incomplete)
                .help("remove that line: only its episode is run again, the others are kept"),
            JournalError::Io { .. } => CliError::new(error),
        }
    }
}

impl<E> From<RunError<E>> for CliError
where
    CliError: From<E>,
{
    fn from(error: RunError<E>) -> CliError {
        match error {
            RunError::Setup(error) => error.into(),
            RunError::Panicked { episode } => CliError::new(format_args!("a bug in healbench ended episode {episode}")),
            RunError::RecordingMissing { episode, miss } => {
                CliError::new(format_args!("episode {episode} cannot be replayed: {miss}"))
                    .status(ExitStatus::Incomplete)
                    .help("record the missing answers with `--record`; a replay sends no requests")
            }
            RunError::RecordingFailed { episode, reason } => {
                CliError::new(format_args!("the answer to a request of episode {episode} is lost: {reason}"))
            }
            RunError::Journal(error) => error.into(),
            RunError::Event(error) => error.into(),
        }
    }
}

impl From<ProfileError> for CliError {
    fn from(error: ProfileError) -> CliError {
        match error {
            ProfileError::Invalid(error) => error.into(),
            ProfileError::Unknown { ref name, ref known } => {
                let near = nearest_name(name, known.iter().copied());
                let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
                let help = format!("{near}shipped: {}; or the path of a file that ends in .toml", known.join(", "));
                CliError::new(error).help(help)
            }
        }
    }
}

impl From<RunDirError> for CliError {
    fn from(error: RunDirError) -> CliError {
        let (kind, help) = match &error {
            RunDirError::Exists(_) => (ErrorKind::Other, Some("choose another `--out`, or remove it first".to_owned())),
            RunDirError::Missing(path) => (ErrorKind::NotFound, Some(help_for_missing(path))),
            RunDirError::NoManifest(_) => (ErrorKind::Other, Some(A_RUN.to_owned())),
            RunDirError::Incomplete(path) => {
                let path = shell_quote(&path.to_string_lossy());
                (ErrorKind::Conflict, Some(format!("run it again with `healbench run --resume {path}`")))
            }
            RunDirError::UnsupportedVersion { .. } => {
                (ErrorKind::Other, Some(format!("{OTHER_VERSION}, or run it again")))
            }
            RunDirError::Locked(_) => (ErrorKind::Conflict, Some("wait until it ends, or stop it".to_owned())),
            RunDirError::Damaged { .. } => return CliError::new(error).damaged(),
            RunDirError::Invalid { .. } | RunDirError::Io { .. } => (ErrorKind::Other, None),
        };
        CliError::new(error).kind(kind).maybe_help(help)
    }
}

impl From<MergeError> for CliError {
    fn from(error: MergeError) -> CliError {
        let help = error.help();
        CliError::new(error).help(help).status(ExitStatus::Incomplete)
    }
}

impl From<RoundsError> for CliError {
    fn from(error: RoundsError) -> CliError {
        let status = match error {
            RoundsError::Missing(_) | RoundsError::Io { .. } => ExitStatus::Usage,
            _ => ExitStatus::Incomplete,
        };
        let help = (!matches!(error, RoundsError::Io { .. }))
            .then_some("measure with `cargo bench --bench paired -- --out FILE`");
        CliError::new(error).status(status).maybe_help(help)
    }
}

impl From<ComparisonError> for CliError {
    fn from(error: ComparisonError) -> CliError {
        let plain = CliError::new(&error);
        match &error {
            ComparisonError::Report { .. } => plain,
            ComparisonError::Axis(axis) => plain.help(format!("known: {}", axis.known.join(", "))),
            ComparisonError::NoPairs { .. } => {
                plain.help("this needs scored episodes of at least two clusters of scenarios")
            }
            ComparisonError::TooFew { .. } => plain.help("compare by an axis with several values, or with another run"),
            ComparisonError::Seeds { .. } => plain
                .status(ExitStatus::Incomplete)
                .kind(ErrorKind::Conflict)
                .help("run both with the same `--seed`, which gives them the same mistakes and faults"),
            _ => plain.status(ExitStatus::Incomplete),
        }
    }
}

impl From<GateError> for CliError {
    fn from(error: GateError) -> CliError {
        let help = match &error {
            GateError::IncompatibleRounds(_) => Some(
                "measure the base again on this machine, or omit it to check only the rules that need no base"
                    .to_owned(),
            ),
            GateError::IncompatibleRuns(unlike) => Some(match unlike.allow {
                Some(value) => format!(
                    "bless a run of the current state; if the difference is intended, set `may_differ = [\"{value}\"]` in a policy"
                ),
                None => "bless a run of the current state, or run the plan of the base".to_owned(),
            }),
            GateError::Baseline { source: BaselineError::Edited { .. }, .. } => {
                Some("restore the committed file, or write it again with `healbench bless`".to_owned())
            }
            GateError::Baseline { .. } => Some("write one with `healbench bless`".to_owned()),
            GateError::Run { source, .. } => bless_help(source).map(str::to_owned),
        };
        CliError::new(error).status(ExitStatus::Incomplete).maybe_help(help)
    }
}

/// The error of a run that cannot become a baseline.
pub(crate) fn bless_error(run: &str, source: &BlessError) -> CliError {
    let status = if matches!(source, BlessError::Report(_)) { ExitStatus::Usage } else { ExitStatus::Incomplete };
    CliError::new(format_args!("`{run}` cannot be blessed: {source}")).status(status).maybe_help(bless_help(source))
}

fn bless_help(error: &BlessError) -> Option<&'static str> {
    match error {
        BlessError::Incomplete { .. } => Some("finish it with `healbench run --resume`"),
        BlessError::Shard(_) => Some("combine the shards with `healbench merge`"),
        BlessError::Lost { .. } => Some("`healbench run --resume` runs lost episodes again"),
        BlessError::Config { .. } => {
            Some("correct the settings: `healbench run --resume` takes them, and runs these episodes again")
        }
        BlessError::Report(_) | BlessError::Schedules { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use healbench_store::RunDir;

    use super::*;

    #[test]
    fn rows_that_are_no_parquet_are_damage_also_where_analysis_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::at(folder.path());
        std::fs::write(run.calls_path(), "no rows").unwrap();
        let error = healbench_frames::read_calls(&run).unwrap_err();
        assert!(matches!(error, FrameError::Damaged { .. }), "{error}");
        let error = CliError::from(ReportError::from(error));
        assert_eq!((error.status, error.help.as_deref()), (ExitStatus::Incomplete, Some(NOT_DAMAGED)));
    }
}
