//! What can be typed. What it means is decided in `load`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use healbench_record::Shard;

use crate::budget::Budget;

/// Measures whether what a tool server says after a failed call helps an agent recover, and at what cost.
#[derive(Debug, Parser)]
#[command(name = "healbench", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct GlobalArgs {
    /// When to colour.
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    pub(crate) color: ColorChoice,
    /// Print results and errors only: no progress, no hints.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Play scenarios, record every call, and say what the guardrails did.
    Run(RunArgs),
    /// Say what `run` would play, and play nothing.
    Plan(PlanArgs),
    /// Check scenario files and report all problems at once.
    Validate(ValidateArgs),
    /// Answer calls as the engine would: one that is typed, or JSON lines on standard input.
    Call(CallArgs),
    /// Write down, compare and check the contracts of scenarios' tools.
    Contract(ContractArgs),
    /// Print the transcript of one episode: what the agent saw and what it sent.
    Show(ShowArgs),
    /// Put the shards of a run together.
    Merge(MergeArgs),
    /// Print the report of a run.
    Report(ReportArgs),
    /// Explain what differs between two runs, or between the cells of one.
    Compare(CompareArgs),
    /// Show the runs of a folder in a browser, on this machine alone.
    View(ViewArgs),
    /// Decide by a policy whether a run may pass: PASS, FAIL, INCONCLUSIVE or MISSING.
    Gate(GateArgs),
    /// Make a run the baseline that later ones are held against.
    Bless(BlessArgs),
    /// List, show and tidy recorded answers of models.
    Cassette(CassetteArgs),
    /// Print the JSON Schema of scenario files, or of what is printed as JSON.
    Schema(SchemaArgs),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) axes: AxisArgs,
    /// Threads; all cores by default. The rows are the same whatever it is.
    #[arg(short, long, value_name = "N", env = "HEALBENCH_JOBS", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// The run's directory, which must not exist yet [default: runs/TIME-SUITE]
    #[arg(long, value_name = "DIR", env = "HEALBENCH_OUT")]
    pub(crate) out: Option<PathBuf>,
    /// Play only one of N parts of the plan; `healbench merge` puts them together.
    #[arg(long, value_name = "I/N", env = "HEALBENCH_SHARD", value_parser = clap::value_parser!(Shard))]
    pub(crate) shard: Option<Shard>,
    /// Go on with an interrupted run; its own plan holds.
    #[arg(long, value_name = "RUN")]
    pub(crate) resume: Option<PathBuf>,
    /// Keep the models' answers in this folder; what is in it already is not asked again.
    #[arg(long, value_name = "DIR", env = "HEALBENCH_RECORD", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// Take the models' answers from this folder and ask nobody. An answer that is missing ends the run.
    #[arg(long, value_name = "DIR", env = "HEALBENCH_REPLAY")]
    pub(crate) replay: Option<PathBuf>,
    /// Stop, to be resumed, once models have cost so much: `2.50usd`, `300ktokens`.
    #[arg(long, value_name = "LIMIT", env = "HEALBENCH_BUDGET", value_parser = clap::value_parser!(Budget))]
    pub(crate) budget: Option<Budget>,
    /// Print a line for each cell once its last trial is played, on standard error.
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) live: bool,
    /// Also print what happened in each scenario.
    #[arg(long)]
    pub(crate) by_scenario: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) axes: AxisArgs,
}

/// The axes of a plan.
#[derive(Debug, Args)]
pub(crate) struct AxisArgs {
    /// Scenario files, folders of them, or names of built-in suites.
    #[arg(value_name = "SCENARIO|SUITE", default_value = "quickstart")]
    pub(crate) scenarios: Vec<PathBuf>,
    /// Agents: `scripted:PROFILE`, with a shipped profile or a TOML file; `scripted` for all shipped profiles; `openai:MODEL`,
    /// `openai-responses:MODEL`, `anthropic:MODEL`, `gemini:MODEL`, or `model:NAME` of a table in healbench.toml [default:
    /// scripted:blind,scripted:typical,scripted:perfect; `scripted` when every scenario holds a claim]
    #[arg(long, value_name = "LIST", value_delimiter = ',', env = "HEALBENCH_AGENT")]
    pub(crate) agent: Vec<String>,
    /// Sets of guardrails: `none`, `all`, switches joined by `+` (strict, healing, truncation, contract), or the sweeps `full`,
    /// `one-out`, `one-in`.
    #[arg(long, value_name = "LIST", value_delimiter = ',', env = "HEALBENCH_GUARDRAILS", default_value = "none,all")]
    pub(crate) guardrails: Vec<String>,
    /// Error formats (fusion-xml, fusion-text, llm-friendly, llm-friendly-json, zod-json, pydantic, serde, problem-json,
    /// `template:FILE`), or `all`.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        env = "HEALBENCH_FORMAT",
        default_value = "fusion-xml,fusion-text"
    )]
    pub(crate) format: Vec<String>,
    /// How episodes of models begin: `seeded`, with the scheduled mistake as the model's own first call, or `natural`.
    #[arg(long, value_name = "LIST", value_delimiter = ',', env = "HEALBENCH_OPENING", default_value = "seeded")]
    pub(crate) opening: Vec<String>,
    /// The file with `[model.NAME]` tables [default: healbench.toml, here or in the nearest folder above]
    #[arg(long, value_name = "FILE", env = "HEALBENCH_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// A price table instead of the shipped one (agents/prices.toml).
    #[arg(long, value_name = "FILE", env = "HEALBENCH_PRICES")]
    pub(crate) prices: Option<PathBuf>,
    /// Repetitions of each cell, each with its own mistakes.
    #[arg(long, value_name = "N", env = "HEALBENCH_TRIALS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) trials: u32,
    /// The seed of every random draw.
    #[arg(long, value_name = "S", env = "HEALBENCH_SEED", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Scenario files, folders of them, or names of built-in suites.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("server").required(true).args(["scenario", "tools"])))]
pub(crate) struct CallArgs {
    /// The tool. Without it, calls are JSON lines on standard input: `{"tool": "billing", "arguments": {"action": "list"}}`.
    #[arg(value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// The arguments as a JSON object [default: {}]
    #[arg(value_name = "ARGUMENTS")]
    pub(crate) arguments: Option<String>,
    /// The scenario whose tools and world answer. Calls act on one world, one after the other.
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    /// A JSON file with a list of tools, as MCP's `tools/list` gives it; valid calls are answered with `OK`.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// The guardrails: `none`, `all`, or switches joined by `+` (strict, healing, truncation, contract).
    #[arg(long, value_name = "SET", default_value = "all")]
    pub(crate) guardrails: String,
    /// Error formats (fusion-xml, fusion-text, llm-friendly, llm-friendly-json, zod-json, pydantic, serde, problem-json,
    /// `template:FILE`), or `all`. Several are printed side by side, each with its number of tokens.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "fusion-xml")]
    pub(crate) format: Vec<String>,
    /// The seed of the scenario's generated rows.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// What is printed [default: json for one format, text for several]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) output: Option<CallOutput>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CallOutput {
    /// A CallToolResult a line; with several formats, an object from format to result and tokens.
    Json,
    /// What an agent would read.
    Text,
}

#[derive(Debug, Args)]
pub(crate) struct ContractArgs {
    #[command(subcommand)]
    pub(crate) command: ContractCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ContractCommand {
    /// Write the contracts into a lockfile: the last ones that are known to be good.
    Lock {
        #[command(flatten)]
        sources: ContractSources,
        /// The lockfile [default: contracts.lock]
        #[arg(long, value_name = "FILE")]
        lockfile: Option<PathBuf>,
    },
    /// Report what differs between two states of the contracts, and how much it matters to a caller.
    Diff {
        /// A lockfile (*.lock), scenario file, folder or suite.
        #[arg(value_name = "BASE")]
        base: PathBuf,
        /// The same; left out, the `previous` contracts that BASE declares are compared with its current ones.
        #[arg(value_name = "CURRENT")]
        current: Option<PathBuf>,
    },
    /// Exit with 1, and report, when a contract is not as it was locked.
    Check {
        #[command(flatten)]
        sources: ContractSources,
        /// The lockfile [default: contracts.lock]
        #[arg(long, value_name = "FILE")]
        lockfile: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ContractSources {
    /// Scenario files, folders of them, or names of built-in suites.
    #[arg(value_name = "SCENARIO|SUITE", required_unless_present = "tools", conflicts_with = "tools")]
    pub(crate) scenarios: Vec<PathBuf>,
    /// A JSON file with a list of tools, as MCP's `tools/list` gives it, instead of scenarios.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The run's directory.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// The numbers of episodes, as in the frames; or choose one by scenario, agent, opening and trial: the first that fits is
    /// shown.
    #[arg(value_name = "EPISODE", conflicts_with_all = ["scenario", "agent", "opening", "trial"])]
    pub(crate) episodes: Vec<u64>,
    /// The scenario's id, or the end of it.
    #[arg(long, value_name = "ID")]
    pub(crate) scenario: Option<String>,
    /// The agent, or the end of its name.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// How the episode of a model begins: `seeded` or `natural`.
    #[arg(long, value_name = "OPENING")]
    pub(crate) opening: Option<String>,
    /// The trial, from 0.
    #[arg(long, value_name = "N")]
    pub(crate) trial: Option<u32>,
    /// Under these guardrails: `none`, `all`, or switches joined by `+` (strict, healing, truncation, contract). Beside EPISODE, the
    /// same moment under them: what the run has of it, or else the scripted agent plays it now. Models are not asked.
    #[arg(long, value_name = "SET")]
    pub(crate) guardrails: Option<String>,
    /// In this error format, in the same way: its name in the run, or what `healbench run --format` takes, one only. Without
    /// `healing` a failure is one `bare` line in any format.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Cut nothing: long texts, lines and values are shown to their last character.
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// The directories of all shards, in any order.
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// The directory of the whole run, which must not exist yet.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CassetteArgs {
    #[command(subcommand)]
    pub(crate) command: CassetteCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CassetteCommand {
    /// List the recordings of a folder, by model.
    Ls {
        /// The folder that `--record` wrote.
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// A line a recording.
        #[arg(long)]
        all: bool,
    },
    /// Print one recording: what was asked and what was answered, as JSON.
    Show {
        /// The folder that `--record` wrote.
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// The recording's key, or the beginning of it, as `ls --all` lists it.
        #[arg(value_name = "KEY")]
        key: String,
    },
    /// Remove the recordings that a run does not need: it is replayed, and what it does not ask for goes.
    Prune {
        /// The folder that `--record` wrote.
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// The runs whose recordings stay.
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<PathBuf>,
        /// Say what would go, and remove nothing.
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run's directory.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Write a page for a browser, one file that needs no other and asks for nothing; `-` is stdout.
    #[arg(long, value_name = "FILE", group = "form")]
    pub(crate) html: Option<PathBuf>,
    /// Print Markdown for a pull request: at most 60 lines.
    #[arg(long, group = "form")]
    pub(crate) markdown: bool,
    /// Print a line of CSV for each agent and setting.
    #[arg(long, group = "form")]
    pub(crate) csv: bool,
    /// Print everything as JSON; `healbench schema report` describes it.
    #[arg(long, group = "form")]
    pub(crate) json: bool,
    /// Also print what happened in each scenario; with `--csv`, a line for each scenario, agent and setting.
    #[arg(long, conflicts_with_all = ["html", "markdown", "json"])]
    pub(crate) by_scenario: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ViewArgs {
    /// A folder of runs, or a run.
    #[arg(value_name = "FOLDER", default_value = "runs")]
    pub(crate) folder: PathBuf,
    /// The port; 0 is any that is free.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The run that is compared with; with `--by`, the only one.
    #[arg(value_name = "BASE")]
    pub(crate) base: PathBuf,
    /// The run that is asked about.
    #[arg(value_name = "CANDIDATE", required_unless_present = "by", conflicts_with = "by")]
    pub(crate) candidate: Option<PathBuf>,
    /// Compare the cells of one run with each other: its error formats, its sets of guardrails or its agents.
    #[arg(long, value_enum, value_name = "AXIS")]
    pub(crate) by: Option<CompareAxis>,
    /// What the others are compared with [default: the first format or agent of the plan; `none` of guardrails]
    #[arg(long, value_name = "NAME", requires = "by")]
    pub(crate) reference: Option<String>,
    /// How many episodes are listed that succeed in one run only.
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "by")]
    pub(crate) flips: usize,
    /// Print everything as JSON; `healbench schema comparison` and `healbench schema matrix` describe it.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a page for a browser, one file that needs no other and asks for nothing; `-` is stdout.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["by", "json"])]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareAxis {
    /// Error formats, of the same agent under the same guardrails.
    Format,
    /// Sets of guardrails, of the same agent in the same error format.
    Guardrails,
    /// Agents, under the same guardrails in the same error format.
    Agent,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Of what.
    #[arg(value_enum, value_name = "WHAT", default_value_t = SchemaOf::Scenario)]
    pub(crate) of: SchemaOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// Scenario files.
    Scenario,
    /// `healbench report --json`.
    Report,
    /// `healbench compare --json` of two runs.
    Comparison,
    /// `healbench compare --by AXIS --json` of one run.
    Matrix,
}

#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// What the candidate is held against: a run, or a baseline that `healbench bless` wrote. With `--perf`, an earlier
    /// measurement.
    #[arg(value_name = "BASE", required_unless_present = "perf")]
    pub(crate) base: Option<PathBuf>,
    /// The run that may pass or not.
    #[arg(value_name = "CANDIDATE", required_unless_present = "perf", conflicts_with = "perf")]
    pub(crate) candidate: Option<PathBuf>,
    /// Decide on speed: the rounds that `cargo bench --bench paired -- --out FILE` measured.
    #[arg(long, value_name = "FILE")]
    pub(crate) perf: Option<PathBuf>,
    /// The policy [default: built in; docs/ci.md says what it holds]
    #[arg(long, value_name = "FILE", env = "HEALBENCH_POLICY")]
    pub(crate) policy: Option<PathBuf>,
    /// What is printed, or written to a file: terminal, json, junit, github, markdown. May be given several times
    /// [default: terminal]
    #[arg(long, value_name = "FORM[=FILE]", value_parser = clap::value_parser!(GateOutput))]
    pub(crate) output: Vec<GateOutput>,
}

/// A form of a gate's report, and the file that it goes to; standard output without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GateOutput {
    pub(crate) form: GateForm,
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GateForm {
    /// What a person reads.
    Terminal,
    /// Everything.
    Json,
    /// JUnit's XML, a test case a row.
    Junit,
    /// Workflow commands of GitHub Actions that annotate the scenarios' lines.
    Github,
    /// A summary in Markdown.
    Markdown,
}

impl std::str::FromStr for GateOutput {
    type Err = String;

    fn from_str(text: &str) -> Result<GateOutput, String> {
        let (form, file) = match text.split_once('=') {
            Some((_, "")) => return Err("the file has no name".to_owned()),
            Some((form, file)) => (form, Some(PathBuf::from(file))),
            None => (text, None),
        };
        let known = "terminal, json, junit, github, markdown";
        let form = GateForm::from_str(form, false).map_err(|_| format!("unknown form `{form}`; known: {known}"))?;
        Ok(GateOutput { form, file })
    }
}

#[derive(Debug, Args)]
pub(crate) struct BlessArgs {
    /// The run's directory.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// The baseline. What is there is replaced, and what that changes is printed.
    #[arg(long, value_name = "FILE", default_value = "baseline.toml")]
    pub(crate) out: PathBuf,
    /// The policy, which says how many episodes may have been lost [default: built in, 5%]
    #[arg(long, value_name = "FILE", env = "HEALBENCH_POLICY")]
    pub(crate) policy: Option<PathBuf>,
}
