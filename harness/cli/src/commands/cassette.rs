use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use healbench_agents::llm::cassette::{Cassette, Entry, Key};
use healbench_record::{CassetteMode, RunDir, RunStatus};
use healbench_reports::render::{count, plain_text, pluralize};
use healbench_runner::{Job, WorkerPool, run_pools};

use super::with_models::all_scored;
use crate::args::{CassetteArgs, CassetteCommand};
use crate::error::{CliError, ExitStatus};
use crate::load::{Models, cast_of_run};
use crate::models::Troupe;
use crate::terminal::Terminal;

/// Lists, shows and tidies recordings.
pub(crate) fn cassette(args: &CassetteArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    match &args.command {
        CassetteCommand::Ls { dir, all } => list(dir, *all, terminal)?,
        CassetteCommand::Show { dir, key } => show(dir, key, terminal)?,
        CassetteCommand::Prune { dir, runs, dry_run } => prune(dir, runs, *dry_run, terminal)?,
    }
    Ok(ExitStatus::Fine)
}

fn list(dir: &Path, all: bool, terminal: &Terminal) -> Result<(), CliError> {
    let mut out = String::new();
    for recordings in Cassette::open(dir)?.entries() {
        let bytes = recordings.bytes.map_or("not merged yet".to_owned(), |bytes| pluralize(bytes, "byte"));
        let trials = recordings.trials();
        let dates = recordings.dates().map_or(String::new(), |(first, last)| match first == last {
            true => format!(" · {first}"),
            false => format!(" · {first} to {last}"),
        });
        // Writes into a String cannot fail.
        let _ = writeln!(
            out,
            "{} {} · {} · {} · {bytes}{}",
            recordings.api.name(),
            plain_text(&recordings.model),
            pluralize(recordings.entries.len() as u64, "recording"),
            pluralize(trials.len() as u64, "trial"),
            plain_text(&dates),
        );
        for entry in recordings.entries.iter().filter(|_| all) {
            let _ = writeln!(out, "  {}", line(entry));
        }
    }
    terminal.result(&out)
}

fn line(entry: &Entry) -> String {
    let tokens = entry
        .usage
        .map_or("tokens unknown".to_owned(), |usage| format!("{} in, {} out", count(usage.input), count(usage.output)));
    let messages = pluralize(entry.messages as u64, "message");
    format!("{}  trial {}  {messages}  {tokens}  {}", entry.key, entry.trial, plain_text(&entry.last_message))
}

fn show(dir: &Path, beginning: &str, terminal: &Terminal) -> Result<(), CliError> {
    let cassette = Cassette::open(dir)?;
    let recordings = cassette.entries();
    let entries = recordings.iter().flat_map(|recordings| &recordings.entries);
    let mut fitting = entries.filter(|entry| entry.key.to_string().starts_with(beginning));
    let Some(entry) = fitting.next() else { return Err(CliError::NoRecording(beginning.to_owned())) };
    if fitting.next().is_some() {
        return Err(CliError::ManyRecordings(beginning.to_owned()));
    }
    let exchange = cassette.exchange(entry.key).ok_or_else(|| CliError::NoRecording(beginning.to_owned()))?;
    let shown = serde_json::json!({
        "key": exchange.entry.key.to_string(),
        "api": exchange.entry.api.name(),
        "model": exchange.entry.model,
        "trial": exchange.entry.trial,
        "recorded": exchange.response.recorded_on,
        "latency_ms": exchange.response.latency_ms,
        "request": exchange.request,
        "response": exchange.response.body,
    });
    let mut text = serde_json::to_string_pretty(&shown)?;
    text.push('\n');
    terminal.result(&text)
}

/// Replays the runs, and removes what none of them asked for. Fail-closed: a run that cannot be replayed removes nothing.
fn prune(dir: &Path, runs: &[PathBuf], dry_run: bool, terminal: &Terminal) -> Result<(), CliError> {
    let cassettes = CassetteMode::Replay(dir.to_owned());
    let mut unused: Option<BTreeSet<Key>> = None;
    let mut kept = None;
    for path in runs {
        let (run, manifest) = RunDir::open(path)?;
        let episodes = manifest.episodes();
        // To go on with the run would take recordings that it does not know yet that it needs.
        if manifest.status != RunStatus::Complete || !all_scored(&run)? {
            return Err(CliError::UnfinishedPrune(path.clone()));
        }
        let cast = cast_of_run(&run, manifest.plan)?;
        let troupe = Troupe::new(&cast, Some(&cassettes), &Arc::new(AtomicBool::new(false)))?;
        let make_agent = cast.make_agent(Models::Players(&troupe));
        let job = Job { plan: &cast.plan, scenarios: &cast.scenarios, episodes, jobs: 1, make_agent: &make_agent };
        let agents = (0..cast.plan.agents.len()).collect();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        run_pools(&job, &[WorkerPool { agents, threads }], &|_| false, &|| false, &|_| Ok::<(), CliError>(()))
            .map_err(super::run::failed)?;
        let Some(cassette) = &troupe.cassette else { continue };
        let here: BTreeSet<Key> = cassette.unused().into_iter().collect();
        unused = Some(match unused {
            Some(others) => others.intersection(&here).copied().collect(),
            None => here,
        });
        kept = Some(Arc::clone(cassette));
    }
    let unused = unused.unwrap_or_default();
    if !dry_run && let Some(cassette) = kept {
        cassette.retain(&|entry| !unused.contains(&entry.key))?;
    }
    let verb = if dry_run { "would be removed" } else { "removed" };
    terminal.result(&format!("{} {verb}\n", pluralize(unused.len() as u64, "recording")))
}
