use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use healbench_agents::llm::cassette::{Cassette, Entry, Key};
use healbench_core::EnvironmentKind;
use healbench_runner::{Job, execute, server_environments};
use healbench_store::{CassetteMode, RunDir, RunStatus};
use healbench_text::{count, plain_text, pluralize, shell_quote};

use super::run::all_scored;
use crate::args::{CassetteArgs, CassetteCommand};
use crate::error::{CliError, ExitStatus};
use crate::load::{ModelSource, run_spec_of};
use crate::models::ModelClients;
use crate::signals::supervise;
use crate::terminal::Terminal;

/// Lists, prints and prunes recordings.
pub(crate) fn cassette(args: &CassetteArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    match &args.command {
        CassetteCommand::Ls { dir, all } => list(dir, *all, terminal)?,
        CassetteCommand::Show { dir, key } => show(dir, key, terminal)?,
        CassetteCommand::Prune { dir, runs, dry_run } => prune(dir, runs, *dry_run, terminal)?,
    }
    Ok(ExitStatus::Success)
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
        // Writing to a `String` cannot fail.
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
            let _ = writeln!(out, "  {}", entry_line(entry));
        }
    }
    terminal.result(&out)
}

fn entry_line(entry: &Entry) -> String {
    let tokens = entry
        .usage
        .map_or("tokens unknown".to_owned(), |usage| format!("{} in, {} out", count(usage.input), count(usage.output)));
    let messages = pluralize(entry.messages as u64, "message");
    format!("{}  trial {}  {messages}  {tokens}  {}", entry.key, entry.trial, plain_text(&entry.last_message))
}

fn show(dir: &Path, prefix: &str, terminal: &Terminal) -> Result<(), CliError> {
    let cassette = Cassette::open(dir)?;
    let recordings = cassette.entries();
    let entries = recordings.iter().flat_map(|recordings| &recordings.entries);
    let mut matching = entries.filter(|entry| entry.key.to_string().starts_with(prefix));
    let Some(entry) = matching.next() else { return Err(CliError::no_recording(prefix)) };
    if matching.next().is_some() {
        return Err(CliError::new(format_args!("several recordings have a key that begins with `{prefix}`"))
            .help("give more characters of the key"));
    }
    let exchange = cassette.exchange(entry.key).ok_or_else(|| CliError::no_recording(prefix))?;
    let exchange_json = serde_json::json!({
        "key": exchange.entry.key.to_string(),
        "api": exchange.entry.api.name(),
        "model": exchange.entry.model,
        "trial": exchange.entry.trial,
        "recorded": exchange.response.recorded_on,
        "latency_ms": exchange.response.latency_ms,
        "request": exchange.request,
        "response": exchange.response.body,
    });
    let mut text = serde_json::to_string_pretty(&exchange_json)?;
    text.push('\n');
    terminal.result(&text)
}

/// Replays the runs and removes recordings that none of them used. If a run cannot be replayed, nothing is removed.
fn prune(dir: &Path, runs: &[PathBuf], dry_run: bool, terminal: &Terminal) -> Result<(), CliError> {
    let supervisor = supervise()?;
    let cassettes = CassetteMode::Replay(dir.to_owned());
    let environments = server_environments(supervisor.clone());
    let mut unused: Option<BTreeSet<Key>> = None;
    let mut opened = None;
    for path in runs {
        let (run, manifest) = RunDir::open(path)?;
        let episodes = manifest.episodes();
        // Resuming the run could need recordings that a replay of its current state does not use.
        if manifest.status != RunStatus::Complete || !all_scored(&run)? {
            let exchange_json = shell_quote(&path.to_string_lossy());
            return Err(CliError::new(format_args!("`{}` has episodes that were lost or not run", path.display()))
                .help(format!(
                    "finish it with `healbench run --resume {exchange_json}`: it may need more of the recordings"
                )));
        }
        let run_spec = run_spec_of(&run, manifest.plan)?;
        let clients = ModelClients::new(&run_spec, Some(&cassettes), None, &supervisor)?;
        let has_servers = run_spec.plan.environment.kind == EnvironmentKind::Mcp;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let job = Job {
            plan: &run_spec.plan,
            scenarios: &run_spec.scenarios,
            episodes,
            pools: &clients.pools(&run_spec, threads),
            make_agent: &run_spec.make_agent(ModelSource::Clients(&clients, None)),
            make_environment: has_servers.then_some(&environments),
        };
        execute(&job, None, supervisor.stop(), &mut |_| Ok::<(), CliError>(()))?;
        if supervisor.is_stopped() {
            return Err(CliError::new("interrupted; nothing was removed").status(ExitStatus::Interrupted));
        }
        let Some(cassette) = &clients.cassette else { continue };
        let unused_here: BTreeSet<Key> = cassette.unused().into_iter().collect();
        unused = Some(match unused {
            Some(others) => others.intersection(&unused_here).copied().collect(),
            None => unused_here,
        });
        opened = Some(Arc::clone(cassette));
    }
    let unused = unused.unwrap_or_default();
    if !dry_run && let Some(cassette) = opened {
        cassette.retain(&|entry| !unused.contains(&entry.key))?;
    }
    let verb = if dry_run { "would be removed" } else { "removed" };
    terminal.result(&format!("{} {verb}\n", pluralize(unused.len() as u64, "recording")))
}
