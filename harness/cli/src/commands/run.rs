mod prepare;
mod scratch;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use healbench_agents::llm::cassette::Key;
use healbench_core::{AgentKind, EnvironmentKind, Usage};
use healbench_frames::{ClosedFrames, FrameWriter, for_each_episode, read_responses, rows_of_episodes};
use healbench_mcp::Supervisor;
use healbench_render::Detail;
use healbench_runner::{
    Checkpoints, Job, Limits, RunEnd, RunEvent, StopReason, StopRule, execute, server_environments,
};
use healbench_store::{
    ClosedRecordedTurns, EpisodeResult, RecordedTurnsWriter, RunDir, RunManifest, RunStatus, read_recorded_turns_of,
};
use healbench_text::{agree, count, part_of, plain_text, pluralize, shell_quote, times};

use super::hook::on_complete;
use super::outputs::is_file_of_run;
use super::report;
use super::view::open_browser;
use crate::args::RunArgs;
use crate::clock::timestamp;
use crate::error::{CliError, ExitStatus};
use crate::load::ModelSource;
use crate::models::ModelClients;
use crate::nearest_config::nearest_config;
use crate::output::write_atomically;
use crate::progress::{Beacon, ProgressState, RunProgress};
use crate::run_spec::{AgentConfig, RunSpec};
use crate::signals::{LIMIT, exit, supervise_with};
use crate::terminal::Terminal;
pub(super) use prepare::all_scored;
pub(crate) use prepare::new_manifest;
pub(crate) use prepare::{MANIFEST_TIME, manifest_of};
use prepare::{Prepared, PreparedRun, prepare};

/// Runs a plan, or the rest of an interrupted run, and prints the report.
pub(crate) fn run(args: &RunArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    if let Some(file) = args.html.as_deref().filter(|file| file.is_dir() || *file == Path::new("-")) {
        return Err(CliError::new(format_args!("`--html` needs the name of a file, not `{}`", file.display()))
            .help("`healbench report RUN --output html` prints the page of a run"));
    }
    // Install the Ctrl-C handler before creating files.
    let resumable = Arc::new(OnceLock::new());
    let supervisor = supervise_run(*terminal, &resumable)?;
    // Episodes need it, and wait less if it is loaded while the scenarios are.
    std::thread::spawn(healbench_tokens::load_vocabulary);
    let mut prepared = match prepare(args, &supervisor, terminal)? {
        Prepared::Ready(prepared) => *prepared,
        Prepared::Complete(run, manifest) => {
            terminal.note("the run is complete already");
            report::print(&run, &manifest, detail(args), terminal)?;
            return on_complete(args.on_complete.as_deref(), run.path(), &supervisor, terminal);
        }
    };
    if prepared.manifest.has_journal() {
        let has_llm = prepared.manifest.plan.agents.iter().any(|agent| agent.kind == AgentKind::Llm);
        let limit = if has_llm { ANSWERS_LIMIT } else { SAVING_LIMIT };
        let _ = resumable.set(Resumable { command: resume_command(&prepared.run, args), limit });
    }
    let executed = execute_and_save(&mut prepared, args, &supervisor, terminal);
    let end = executed.inspect_err(|_| {
        // Finished episodes are in the journal, whatever failed.
        if prepared.manifest.has_journal() {
            terminal.warn(&format!("continue with: {}", resume_command(&prepared.run, args)));
        }
    })?;
    if let Some(scratch) = prepared.scratch.take() {
        prepared.run = scratch.publish()?.0;
    }
    let PreparedRun { run, manifest, .. } = &prepared;
    let printed = match manifest.episodes_done {
        0 => Ok(()),
        // An interrupted run exits without a report.
        _ if matches!(end.stopped, Some(StopReason::Interrupt)) => Ok(()),
        _ => report::print(run, manifest, detail(args), terminal)
            .and_then(|()| write_page(run, manifest, args, terminal)),
    };
    // Print how to resume even if the report failed.
    let status = print_ending(run, manifest, end, args, terminal)?;
    printed?;
    match status {
        ExitStatus::Success => on_complete(args.on_complete.as_deref(), run.path(), &supervisor, terminal),
        status => Ok(status),
    }
}

/// Writes the page that is asked for, and opens it.
fn write_page(run: &RunDir, manifest: &RunManifest, args: &RunArgs, terminal: &Terminal) -> Result<(), CliError> {
    let Some(file) = &args.html else { return Ok(()) };
    if is_file_of_run(file) {
        return Err(CliError::new(format_args!("`--html` cannot write `{}`: it is a file of a run", file.display())));
    }
    let page = report::run_page(run, manifest, &run.path().to_string_lossy(), false)?;
    write_atomically(file, &page)?;
    let name = file.to_string_lossy();
    terminal.note(&format!("page: {}", shell_quote(&name)));
    if args.open {
        open_browser(&name, terminal);
    }
    Ok(())
}

/// Runs the missing episodes, and writes all files of the run.
fn execute_and_save(
    prepared: &mut PreparedRun,
    args: &RunArgs,
    supervisor: &Supervisor,
    terminal: &Terminal,
) -> Result<RunEnd<CliError>, CliError> {
    let PreparedRun { run, manifest, run_spec, clients, done, scratch, .. } = prepared;
    let price_of = |config: &AgentConfig| if let AgentConfig::Model(model) = config { model.price } else { None };
    let prices: Vec<_> = run_spec.configs.iter().map(price_of).collect();
    let price = move |agent: usize, usage: &Usage| Some(prices.get(agent).copied()??.usd(usage));
    let budget = args.budget.map(|budget| budget.share(manifest.episodes().len(), manifest.plan.len()));
    let limits = Limits { budget, price: Arc::new(price) };
    let mut state = ProgressState::new(manifest, Instant::now());
    let mut checkpoints = match manifest.has_journal() {
        true => Some(open_checkpoints(run, manifest, run_spec, clients, limits, &mut state)?),
        false => None,
    };
    let mut files = RowFiles {
        frames: FrameWriter::resume(run, &run_spec.plan, done.clone())?,
        recorded_turns: if manifest.has_journal() { Some(RecordedTurnsWriter::create(run)?) } else { None },
        episodes: done.len(),
    };
    if !done.is_empty() {
        for_each_episode(run, &run_spec.plan, &mut |_, row| {
            if done.contains(row.episode) {
                state.add_earlier(row);
            }
            Ok(())
        })?;
    }
    // Reading does not count as running time.
    state.started = Instant::now();
    // Nobody else sees a run on a disk of this machine.
    let beacon = scratch.as_ref().map(|scratch| Beacon::new(&scratch.destination, manifest.shards.clone()));
    let progress = RunProgress::start(terminal, run, state, beacon, clients.waits(&run_spec.plan));
    let requests = checkpoints.as_ref().map(Checkpoints::request_log);
    let environments = server_environments(supervisor.clone());
    let has_servers = run_spec.plan.environment.kind == EnvironmentKind::Mcp;
    let job = Job {
        plan: &run_spec.plan,
        scenarios: &run_spec.scenarios,
        episodes: manifest.episodes().split_at(done.len()).1,
        pools: &clients.pools(run_spec, jobs(args)),
        make_agent: &run_spec.make_agent(ModelSource::Clients(clients, requests)),
        make_environment: has_servers.then_some(&environments),
    };
    let executed = execute(&job, checkpoints.as_mut(), supervisor.stop(), &mut |event| match event {
        RunEvent::Finished(results) => {
            progress.add_finished(results);
            Ok(())
        }
        RunEvent::Rows(results) => files.write(results),
    });
    drop(progress);
    // On an error, no complete-looking frames are left, but recordings are kept.
    let saved = executed.map_err(CliError::from).and_then(|end| Ok((end, files.close()?)));
    // Merging recordings may take long. Those of an interrupted run stay in the journal of their folder.
    let is_interrupted = |end: &RunEnd<CliError>| matches!(end.stopped, Some(StopReason::Interrupt));
    let merged = if saved.as_ref().is_ok_and(|(end, _)| is_interrupted(end)) { Ok(()) } else { clients.finish() };
    let (end, (closed, episodes_done)) = saved?;
    run.announce_replacement(manifest)?;
    closed.rename()?;
    manifest.files_were_replaced();
    let complete = merged.is_ok() && episodes_done == manifest.episodes().len();
    manifest.status = if complete { RunStatus::Complete } else { RunStatus::Interrupted };
    manifest.episodes_done = episodes_done;
    manifest.finished = Some(timestamp(MANIFEST_TIME));
    run.write_manifest(manifest)?;
    merged?;
    let lost_tokens = checkpoints.as_ref().map_or(0, Checkpoints::lost_tokens);
    if args.budget.is_some() && lost_tokens > 0 {
        terminal.note(&format!(
            "the budget includes {} tokens for requests whose answers were lost: they may have been billed",
            count(lost_tokens)
        ));
    }
    drop(checkpoints);
    if end.stopped.is_none() && end.lost.is_empty() {
        run.remove_journal()?;
    }
    Ok(end)
}

/// Opens the checkpoints of a run with models, and adds them to the progress.
fn open_checkpoints<'a>(
    run: &RunDir,
    manifest: &RunManifest,
    run_spec: &'a RunSpec,
    clients: &ModelClients,
    limits: Limits,
    state: &mut ProgressState,
) -> Result<Checkpoints<'a>, CliError> {
    let mut add_earlier = |result: &EpisodeResult| state.add_earlier(&result.episode);
    let is_recorded = |key: &str| {
        let key = Key::parse(key);
        clients.cassette.as_ref().zip(key).is_some_and(|(cassette, key)| cassette.contains(key))
    };
    let mut checkpoints = Checkpoints::open(run, &run_spec.plan, limits, &is_recorded, &mut add_earlier)?;
    if !run.has_frames() {
        return Ok(checkpoints);
    }
    // Paid episodes are in the frames but not in the journal if the journal was deleted.
    let missing: Vec<u64> = manifest.episodes().iter().filter(|episode| !checkpoints.contains(*episode)).collect();
    for episodes in missing.chunks(RECOVERED_AT_ONCE) {
        let rows = rows_of_episodes(run, &episodes.iter().copied().collect())?;
        let mut all_turns = read_recorded_turns_of(run, &rows.keys().copied().collect())?;
        let hashes = rows.values().flat_map(|(_, calls)| calls).map(|call| call.response_hash);
        let all_responses = read_responses(run, &hashes.collect())?;
        for (number, (episode, calls)) in rows {
            let mut added = BTreeSet::new();
            let new = calls.iter().map(|call| call.response_hash).filter(|hash| added.insert(*hash));
            let responses = new.filter_map(|hash| all_responses.get(&hash).cloned()).collect();
            let result = EpisodeResult { episode, calls, recorded_turns: all_turns.remove(&number), responses };
            checkpoints.recover(&result)?;
            add_earlier(&result);
        }
    }
    Ok(checkpoints)
}

/// The number of episodes read from frames at once.
const RECOVERED_AT_ONCE: usize = 4096;

/// The files with the results of a run, in the order of the plan.
struct RowFiles {
    frames: FrameWriter,
    /// `None` in a run without a journal.
    recorded_turns: Option<RecordedTurnsWriter>,
    /// The number of episodes in the frames.
    episodes: u64,
}

impl RowFiles {
    fn write(&mut self, results: Vec<EpisodeResult>) -> Result<(), CliError> {
        for result in results {
            self.frames.write_result(&result)?;
            if let (Some(writer), Some(recorded_turns)) = (&mut self.recorded_turns, &result.recorded_turns) {
                writer.write(recorded_turns)?;
            }
            self.episodes += 1;
        }
        Ok(())
    }

    /// Completes the files under their temporary names, and returns the number of episodes in them.
    fn close(self) -> Result<(ClosedFiles, u64), CliError> {
        let frames = self.frames.close()?;
        let recorded_turns = self.recorded_turns.map(RecordedTurnsWriter::close).transpose()?;
        Ok((ClosedFiles { frames, recorded_turns }, self.episodes))
    }
}

/// The complete files with the results of a run under their temporary names.
struct ClosedFiles {
    frames: ClosedFrames,
    recorded_turns: Option<ClosedRecordedTurns>,
}

impl ClosedFiles {
    fn rename(self) -> Result<(), CliError> {
        self.frames.rename()?;
        Ok(self.recorded_turns.map_or(Ok(()), ClosedRecordedTurns::rename)?)
    }
}

/// The largest share of episodes lost to infrastructure in a run that counts as complete.
const INFRA_LIMIT: f64 = 0.05;

/// Prints how the run ended and how to resume it, and returns the exit status.
fn print_ending(
    run: &RunDir,
    manifest: &RunManifest,
    end: RunEnd<CliError>,
    args: &RunArgs,
    terminal: &Terminal,
) -> Result<ExitStatus, CliError> {
    let lost = print_losses(&end.lost, manifest.episodes_done, terminal);
    let resume_command = resume_command(run, args);
    match end.stopped {
        Some(StopReason::Failed(error)) => {
            terminal.warn(&format!("continue with: {resume_command}"));
            Err(error.into())
        }
        Some(StopReason::Interrupt) => {
            if manifest.episodes_done > 0 {
                terminal.note(&format!("the results so far: healbench report {}", quoted_path(run)));
            }
            terminal.warn(&format!("continue with: {resume_command}"));
            Ok(ExitStatus::Interrupted)
        }
        Some(StopReason::Rule(StopRule::Budget(budget))) => {
            terminal.warn(&format!("the budget of {budget} is spent; continue with: {resume_command} --budget …"));
            Ok(ExitStatus::Incomplete)
        }
        Some(StopReason::Rule(StopRule::LostInARow { agent, episodes })) => {
            let (lost, agent) = (pluralize(episodes, "episode"), manifest.plan.agents[agent].title());
            terminal.warn(&format!(
                "stopped: {lost} of {agent} in a row were lost; after fixing the cause, continue with: {resume_command}"
            ));
            Ok(ExitStatus::Incomplete)
        }
        None if lost > 0 => {
            terminal.warn(&format!("run them again with: {resume_command}"));
            let few = lost as f64 <= INFRA_LIMIT * manifest.episodes_done as f64;
            Ok(if few { ExitStatus::Success } else { ExitStatus::Incomplete })
        }
        None if manifest.episodes().is_empty() => {
            terminal.note("the shard has no episode: there are more shards than episodes");
            Ok(ExitStatus::Success)
        }
        None => {
            let (path, first) = (quoted_path(run), manifest.episodes().get(0).unwrap_or_default());
            terminal.note(&format!(
                "run: {path}\npage: healbench report {path} --output html=report.html\n\
                 episodes: healbench view {path} --open, or show {path} {first}"
            ));
            Ok(ExitStatus::Success)
        }
    }
}

/// The largest number of reasons listed.
const MAX_LISTED_REASONS: usize = 3;

/// Prints the reasons for lost episodes and returns the number of these episodes.
fn print_losses(lost: &BTreeMap<String, u64>, all: u64, terminal: &Terminal) -> u64 {
    let total = lost.values().sum();
    if total == 0 {
        return 0;
    }
    terminal.warn(&format!("{} {} lost:", part_of(total, all, "episode"), agree(total, "was", "were")));
    // Reasons that differ in a number or an id, such as a time to wait, are one.
    let mut alike: BTreeMap<String, (&str, u64)> = BTreeMap::new();
    for (reason, count) in lost {
        alike.entry(without_numbers(reason)).or_insert((reason, 0)).1 += count;
    }
    let mut reasons: Vec<(&str, u64)> = alike.into_values().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (reason, count) in reasons.iter().take(MAX_LISTED_REASONS) {
        terminal.warn(&format!("  {}: {}", times(*count), plain_text(reason)));
    }
    if reasons.len() > MAX_LISTED_REASONS {
        terminal.warn(&format!("  and {} more", pluralize((reasons.len() - MAX_LISTED_REASONS) as u64, "reason")));
    }
    total
}

/// Returns the words of a text without its numbers and ids. Words of at least 16 characters with a digit are ids.
fn without_numbers(text: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit();
    let is_id = |word: &&str| word.is_ascii() && word.len() >= 16 && word.contains(is_digit);
    let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_')).filter(|word| !is_id(word));
    words.map(|word| word.replace(is_digit, "")).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn resume_command(run: &RunDir, args: &RunArgs) -> String {
    let command = format!("healbench run --resume {}", quoted_path(run));
    // The settings of models are read again.
    match &args.axes.config {
        Some(file) if args.axes.config != nearest_config() => {
            format!("{command} --config {}", shell_quote(&file.to_string_lossy()))
        }
        _ => command,
    }
}

fn quoted_path(run: &RunDir) -> String {
    shell_quote(&run.path().display().to_string())
}

fn detail(args: &RunArgs) -> Detail {
    if args.by_scenario { Detail::Scenarios } else { Detail::Summary }
}

fn jobs(args: &RunArgs) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    args.jobs.map_or_else(cores, usize::from)
}

/// The time after which an interrupted run with models ends, which waits for answers that are paid for. Containers are killed after 10 s,
/// often sooner.
const ANSWERS_LIMIT: Duration = Duration::from_millis(4500);

/// The time after which any other interrupted run with a journal ends.
const SAVING_LIMIT: Duration = Duration::from_millis(1800);

/// A run that may end whatever it is doing: all results are in the journal, as after the end of a killed process.
struct Resumable {
    /// The command that resumes it.
    command: String,
    /// The time after the first signal in which it should end by itself.
    limit: Duration,
}

/// Returns the owner of the run's processes. The first signal stops the run and kills processes that are left after [`LIMIT`]; the second
/// ends the program at once, and so does the first one after the limit of a resumable run.
fn supervise_run(terminal: Terminal, resumable: &Arc<OnceLock<Resumable>>) -> Result<Supervisor, CliError> {
    let resumable = Arc::clone(resumable);
    supervise_with(move |processes| {
        std::thread::sleep(LIMIT);
        processes.kill_all();
        if let Some(Resumable { command, limit }) = resumable.get() {
            std::thread::sleep(limit.saturating_sub(LIMIT));
            terminal.warn(&format!("continue with: {command}"));
            exit(&processes)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_differ_in_a_number_or_an_id_are_one() {
        for (a, b) in [
            ("try again in 21.137s", "try again in 8s"),
            ("see req_011CSHoEeqs5C35K2UUqR7Fy", "see req_011Kkq9pQrs2nF8xYz4mTa"),
            ("id 8c03ed4c-02c5-4c69-beed-2686e65a3bad.", "id a7b63b12-54de-4c3d-8053-0f23e6cc042a."),
            (
                "负载已饱和 (request id: 20240511160046a9f5c09WoK)",
                "负载已饱和 (request id: 20240511161002d0bf8b3fceWoK)",
            ),
        ] {
            assert_eq!(without_numbers(a), without_numbers(b));
        }
        for (a, b) in [("no such model", "no such tool"), ("负载已饱和", "余额不足"), ("HTTP 500: a", "HTTP 500: b")]
        {
            assert_ne!(without_numbers(a), without_numbers(b));
        }
    }
}
