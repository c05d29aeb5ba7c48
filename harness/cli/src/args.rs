//! The command-line arguments. `load` resolves them into a run specification.

mod axes;
mod cassette;
mod cluster;
mod condition;
mod contract;
mod errors;
mod forms;
mod gate;
mod import;
mod moves;
mod report;
mod serve;
mod server;
mod sizes;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use healbench_core::Shards;
use healbench_runner::Budget;

pub(crate) use axes::AxisArgs;
pub(crate) use cassette::{CassetteArgs, CassetteCommand};
pub(crate) use cluster::{MergeArgs, ShardArgs, ShardCount, SlurmArgs, StatusArgs, TimeLimit};
pub(crate) use condition::ConditionArgs;
pub(crate) use contract::{ContractArgs, ContractCommand, ContractSources};
pub(crate) use errors::{ErrorSources, ErrorsArgs};
pub(crate) use forms::{ComparisonForm, ErrorForm, Output, ReportForm, TextForm};
pub(crate) use gate::{BlessArgs, GateArgs, GateRenderer};
pub(crate) use import::ImportArgs;
pub(crate) use moves::{CalibrateArgs, MoveArgs, PredictArgs};
pub(crate) use report::{CompareArgs, PageArgs, ReportArgs, ViewArgs};
pub(crate) use serve::ServeArgs;
pub(crate) use server::ServerArgs;
pub(crate) use sizes::SizeArgs;

use crate::axis_help::{format_help, guardrails_help};
use crate::run_name::run_name;

/// Measures whether what a tool server says after a failed call helps an agent recover, and at what cost.
///
/// A scenario is a task for an agent, with tools, and with the mistakes and faults that make calls fail. A suite is a folder of
/// scenarios; several are built in. An agent is a simulated reader, which costs nothing, a model, or an agent program. A condition
/// decides what agents are shown after a failed call: the bare error, the text of an SDK, or that of guardrails, which check
/// calls and explain errors. `run` lets each agent work on each scenario in each condition, several times, and reports how many
/// tasks succeed and what that costs.
#[derive(Debug, Parser)]
#[command(name = "healbench", version, max_term_width = 100, after_help = FIRST_STEPS)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const FIRST_STEPS: &str = "\
First steps:
  healbench run                      Run all families of scenarios with simulated readers
  healbench view                     Look at the runs in a browser
  healbench audit -- node server.js  Score the errors of an MCP server
  healbench run --help               All about scenarios, agents and conditions";

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct GlobalArgs {
    /// When to use colors.
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    pub(crate) color: ColorChoice,
    /// Print results and errors only, without progress and notes.
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
    /// Run scenarios, record every call and print the report.
    Run(RunArgs),
    /// Print what `run` would execute, without executing it.
    Plan(PlanArgs),
    /// Check scenario files, and report all problems at once.
    Validate(ValidateArgs),
    /// Print what an agent sees in a scenario: the answers to the calls of its script, and to each mistake.
    Explain(ExplainArgs),
    /// Write a first scenario for an MCP server, with the list of its tools, or a copy of what healbench has.
    New(NewArgs),
    /// Call the tools of an MCP server with wrong arguments, and score how much its errors help a reader. Needs no
    /// model.
    Audit(AuditArgs),
    /// Run an MCP server behind the guardrails, over standard input and output.
    Proxy(ProxyArgs),
    /// Import logs of agents into a run, to see what they did after errors.
    Import(ImportArgs),
    /// Serve a scenario as an MCP server on standard input and output, for a client to try.
    Serve(ServeArgs),
    /// Print the answer to a call of a tool from a list or a scenario, in any error format.
    Call(CallArgs),
    /// Save the contracts of tools, and report what changed in them.
    Contract(ContractArgs),
    /// Print the transcripts of episodes: what the agent saw and what it sent.
    Show(ShowArgs),
    /// Combine the shards of a run.
    Merge(MergeArgs),
    /// Print which shards of a run are complete, and exit 0 if all are, else 4.
    Status(StatusArgs),
    /// Write a Slurm job array that runs a plan in shards, and a job that merges them.
    Slurm(SlurmArgs),
    /// Print the report of a run.
    Report(ReportArgs),
    /// Rank the error texts of a run by cost, and print what agents did after them.
    Errors(ErrorsArgs),
    /// Fit a simulated reader to what agents did after errors, and evaluate it on held-out tasks.
    Calibrate(CalibrateArgs),
    /// Compare what agents did after errors with the predictions of a simulated reader.
    Predict(PredictArgs),
    /// Compare two runs, or the conditions, formats or agents of one. Exits with 4 if nothing can be compared.
    Compare(CompareArgs),
    /// Serve the runs of a folder to browsers on this machine.
    View(ViewArgs),
    /// Render a page of `view`, as its child process.
    #[command(hide = true)]
    Page(PageArgs),
    /// Read texts: JSON lines with `id`, `tool`, `known_tools`, `schema`, `arguments` and `text` on standard input.
    #[command(hide = true)]
    Read {
        /// Print JSON lines, which is the only output.
        #[arg(long, required = true)]
        json: bool,
    },
    /// Render templates, as a process of another command.
    #[command(hide = true)]
    Templates {
        /// The memory of the process is limited already.
        #[arg(long)]
        limited: bool,
    },
    /// Compare a run with a baseline and exit 0 (pass), 1 (fail), 3 (inconclusive) or 4 (incomplete).
    Gate(GateArgs),
    /// Save a run as the baseline for `gate`.
    Bless(BlessArgs),
    /// List, print and prune recorded answers of models.
    Cassette(CassetteArgs),
    /// Print the JSON Schema of scenario files or of a JSON output.
    Schema(SchemaArgs),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write those of all commands.
    Man {
        /// The folder for the pages of all commands, such as ~/.local/share/man/man1.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

impl Command {
    /// Returns the shell command of `--on-complete`.
    pub(crate) fn on_complete(&self) -> Option<&str> {
        match self {
            Command::Run(args) => args.on_complete.as_deref(),
            Command::Merge(args) => args.on_complete.as_deref(),
            Command::Slurm(args) => args.on_complete.as_deref(),
            _ => None,
        }
    }

    /// Returns true if a limited process executes the command, since it reads runs or recordings, which may come from anywhere.
    pub(crate) fn is_limited(&self) -> bool {
        match self {
            Command::Show(_) | Command::Status(_) | Command::Report(_) | Command::Compare(_) | Command::Gate(_) => true,
            Command::Merge(_)
            | Command::Bless(_)
            | Command::Cassette(_)
            | Command::Errors(_)
            | Command::Calibrate(_)
            | Command::Predict(_) => true,
            Command::Plan(args) => args.sizes.from.is_some() || args.shards.pilot.is_some(),
            Command::Slurm(args) => args.pilot.is_some(),
            _ => false,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) axes: AxisArgs,
    /// The number of threads [default: all cores]. It does not affect the results.
    #[arg(short, long, value_name = "N", env = "HEALBENCH_JOBS", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// The run's directory, which must not exist yet [default: runs/TIME-SUITE]
    #[arg(long, value_name = "DIR", env = "HEALBENCH_OUT")]
    pub(crate) out: Option<PathBuf>,
    /// Run only shard I of N, or several as in `1-3,7/10`; `healbench merge` combines them. A budget is shared by all shards.
    #[arg(long, value_name = "I/N", env = "HEALBENCH_SHARD", value_parser = clap::value_parser!(Shards))]
    pub(crate) shard: Option<Shards>,
    /// Resume an interrupted run with its own plan.
    #[arg(long, value_name = "RUN", value_parser = run_name(), conflicts_with = "print_config")]
    pub(crate) resume: Option<PathBuf>,
    /// Record the models' answers in this folder, and reuse those already in it.
    #[arg(long, value_name = "DIR", env = "HEALBENCH_RECORD", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// Replay the models' answers from this folder without sending requests. Exits with 4 if an answer is missing.
    #[arg(long, value_name = "DIR", env = "HEALBENCH_REPLAY")]
    pub(crate) replay: Option<PathBuf>,
    /// Stop once models have cost this much (`2.50usd`, `300ktokens`), and exit with 4. The run can be resumed.
    #[arg(long, value_name = "LIMIT", env = "HEALBENCH_BUDGET", value_parser = clap::value_parser!(Budget))]
    pub(crate) budget: Option<Budget>,
    /// Write the run into this folder, such as a disk of the machine, and move it to `--out` at the end. Not used by runs with models
    /// or servers, whose finished episodes must survive the machine.
    #[arg(long, value_name = "DIR", env = "HEALBENCH_SCRATCH")]
    pub(crate) scratch: Option<PathBuf>,
    /// Run this shell command when the run is complete, with its directory in `HEALBENCH_RUN`.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) on_complete: Option<String>,
    /// Also print the results of each scenario.
    #[arg(long)]
    pub(crate) by_scenario: bool,
    /// Also write the report as a self-contained page, when the run is complete.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Open this page in the default browser.
    #[arg(long, requires = "html")]
    pub(crate) open: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) axes: AxisArgs,
    #[command(flatten)]
    pub(crate) sizes: SizeArgs,
    #[command(flatten)]
    pub(crate) shards: ShardArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Scenario files, folders of them, or names of built-in suites.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// List the texts that give away a value that an agent must know or find: the prompt, the texts of tools, and the
    /// error texts of each format for the scheduled mistakes.
    #[arg(long)]
    pub(crate) leaks: bool,
    /// The form of the leaks to print or to write to a file: terminal, json. May be repeated [default: terminal]
    #[arg(long, value_name = "FORM[=FILE]", requires = "leaks")]
    pub(crate) output: Vec<Output<TextForm>>,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Scenario files, folders of them, or names of built-in suites and scenarios.
    #[arg(value_name = "SCENARIO", required = true)]
    pub(crate) scenarios: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) conditions: ConditionArgs,
    /// The trials whose different mistakes are made.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: u32,
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
    /// The scenario whose environment answers. All calls act on the same environment, in order.
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    /// A JSON file with a list of tools, as returned by MCP's `tools/list`; valid calls are answered with `OK`, or
    /// with an example of the tool's `outputSchema`.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) conditions: ConditionArgs,
    /// The form to print or to write to a file: json, text [default: json for one format or condition, text for several]
    #[arg(long, value_name = "FORM[=FILE]")]
    pub(crate) output: Option<Output<CallOutput>>,
    /// Print what simulated readers find in each text, and the words that say it.
    #[arg(long)]
    pub(crate) read: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CallOutput {
    /// One CallToolResult per line; with several formats or conditions, an object from its name to result and tokens.
    Json,
    /// The text that an agent reads.
    Text,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The run: its directory, its name in `runs`, or `latest`.
    #[arg(value_name = "RUN", value_parser = run_name())]
    pub(crate) run: PathBuf,
    /// The numbers of episodes. Without them, the first episode that matches `--scenario`, `--agent`, `--opening` and
    /// `--trial`.
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
    #[arg(
        long,
        value_name = "SET",
        help = guardrails_help(
            "The guardrails",
            ". With EPISODE, show the same trial under them: from the run, or run now by a simulated reader. Sends no requests to models",
        ),
    )]
    pub(crate) guardrails: Option<String>,
    /// The condition, in the same way: its name in the run, or a built-in condition.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["guardrails", "format"])]
    pub(crate) condition: Option<String>,
    /// The error format, in the same way: its name in the run, or one that `healbench run --format` takes. Without `healing` a
    /// failure is one `bare` line in any format.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Another value of an axis, in the same way, as in `content=diagnosis`. `healbench run --help` lists them.
    #[arg(long, value_name = "AXIS=VALUE", value_delimiter = ';')]
    pub(crate) vary: Vec<String>,
    /// Do not truncate long texts, lines and values.
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Debug, Args)]
#[command(mut_arg("command", |command| command.required_unless_present("tools")))]
pub(crate) struct NewArgs {
    /// Start this MCP server and ask for its tools.
    #[arg(long, required_unless_present = "tools")]
    pub(crate) from_server: bool,
    /// Write a scenario with the tools of this file: a list of tools, the answer of a server to `tools/list`, the tools of a request to a
    /// model, or an OpenAPI document, as JSON or YAML. The simulator answers valid calls with `OK`, or an example of the output schema,
    /// until the scenario says more.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from_server", "fixture", "ServerArgs"])]
    pub(crate) tools: Option<PathBuf>,
    /// Copy what healbench has into the working directory, to change it: an example of a scenario, such as `library-state`; a built-in suite, or
    /// `SUITE/NAME` of it; a profile, as `scripted:NAME`; or `teaching`, a template of error texts.
    #[arg(long, value_name = "NAME", exclusive = true)]
    pub(crate) template: Option<String>,
    /// The folder for `first.yaml` and, of a server, `tools.json`; or a `.json` file for the list of tools alone. An existing
    /// scenario is kept; the list of tools is overwritten.
    #[arg(long, value_name = "PATH", default_value = "scenarios")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) fixture: FixtureArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// The files that a server finds in its folder.
#[derive(Debug, Args)]
pub(crate) struct FixtureArgs {
    /// Start the server in a copy of this folder, which is then `{dir}`.
    #[arg(long, value_name = "FOLDER", conflicts_with = "url")]
    pub(crate) fixture: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// A file with valid calls, and with calls that are wrong although they fit the schema (docs/audit.md).
    #[arg(long, value_name = "FILE")]
    pub(crate) calls: Option<PathBuf>,
    /// Audit this tool, even if it may write. May be repeated [default: the tools annotated as read-only]
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Vec<String>,
    /// Audit all tools, including those that may write. The server is restarted after each tool that is not read-only.
    #[arg(long, conflicts_with = "tool")]
    pub(crate) allow_writes: bool,
    #[command(flatten)]
    pub(crate) fixture: FixtureArgs,
    /// The time limit of a call, in seconds. A call of a tool that only reads is sent again after half of it.
    #[arg(long, value_name = "SECONDS", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) call_timeout: u32,
    /// Exit 1 if the score is below this, or unknown, or if the schema of a tool is broken.
    #[arg(long, value_name = "SCORE", value_parser = parse_score)]
    pub(crate) fail_under: Option<f64>,
    /// An earlier audit, as written by `--output json=FILE`; exit 1 if something became worse.
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write a first file for `--calls` from the results of the audit. An existing file is kept.
    #[arg(long, value_name = "FILE")]
    pub(crate) write_calls: Option<PathBuf>,
    /// The format to print or to write to a file: terminal, json, junit, markdown, sarif, badge, svg. May be repeated [default: terminal]
    #[arg(long, value_name = "FORM[=FILE]")]
    pub(crate) output: Vec<Output<AuditRenderer>>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ProxyArgs {
    #[arg(long, value_name = "SET", default_value = "all", help = guardrails_help("The guardrails", ""))]
    pub(crate) guardrails: String,
    #[arg(long, value_name = "FORMAT", default_value = "fusion-xml", help = format_help("The error format"))]
    pub(crate) format: String,
    /// The tokens above which the guardrail `truncation` shortens a result.
    #[arg(long, value_name = "TOKENS", default_value_t = 10_000)]
    pub(crate) max_tokens: u32,
    /// Turn the JSON-RPC errors -32602 and -32603 that answer a call into results, which clients show to their models.
    #[arg(long)]
    pub(crate) errors_as_results: bool,
    /// Append the changes made by the guardrails to this file, as JSON lines. It has no texts, only their hashes.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Write a row for each call and one for the session to files in this folder, as JSON lines. Rows have the
    /// arguments of calls.
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// Also write the texts of answers to these rows, for `healbench import`. The server's secrets are masked.
    #[arg(long, requires = "record")]
    pub(crate) record_texts: bool,
    /// The server and its arguments. It gets all environment variables.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

fn parse_score(text: &str) -> Result<f64, String> {
    let score = text.parse::<f64>().ok().filter(|score| (0.0..=100.0).contains(score));
    score.ok_or_else(|| "a score is a number from 0 to 100".to_owned())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditRenderer {
    /// Text for a terminal.
    Terminal,
    /// The full report as JSON.
    Json,
    /// JUnit XML with a test case for each finding.
    Junit,
    /// A summary in Markdown.
    Markdown,
    /// SARIF for code scanning, with a result for each text and each finding.
    Sarif,
    /// The score as JSON for a badge of shields.io.
    Badge,
    /// The score as a picture.
    Svg,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The document to describe.
    #[arg(value_enum, value_name = "WHAT", default_value_t = SchemaKind::Scenario)]
    pub(crate) kind: SchemaKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaKind {
    /// Scenario files.
    Scenario,
    /// `healbench report --output json`.
    Report,
    /// `healbench compare --output json` of two runs.
    Comparison,
    /// `healbench compare --by AXIS --output json` of one run.
    Matrix,
    /// `healbench errors --output json`.
    Errors,
    /// `healbench calibrate --output json`.
    Calibration,
    /// `healbench predict --output json`.
    Prediction,
    /// `healbench audit --output json`.
    Audit,
}
