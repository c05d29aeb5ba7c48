use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use healbench_agents::llm::cassette::merge_cassettes;
use healbench_core::{Episodes, format_numbers};
use healbench_frames::FrameWriter;
use healbench_mcp::Supervisor;
use healbench_render::Detail;
use healbench_scenarios::Source;
use healbench_store::{
    CassetteMode, RecordedTurnsReader, RecordedTurnsWriter, RunDir, RunDirError, RunManifest, RunStatus, ShardState,
    StoredScenario, SurveyedShard, merge_manifests, survey,
};
use healbench_text::{pluralize, shell_quote};

use super::gate::refuse_trace;
use super::hook::on_complete;
use super::report;
use super::shards::{FoundShard, find_shards};
use crate::args::MergeArgs;
use crate::error::{CliError, ExitStatus};
use crate::signals::{LIMIT, exit, on_signal, supervisor};
use crate::terminal::Terminal;

/// Combines the shards of a run. The frames are equal to those of an unsharded run.
pub(crate) fn merge(args: &MergeArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let unpublished: Unpublished = Arc::default();
    let supervisor = supervise_merge(&unpublished)?;
    let mut found = find_shards(&args.runs)?;
    found.iter().try_for_each(|shard| match &shard.manifest {
        Some(manifest) => refuse_trace(&shard.path, manifest),
        None => Ok(()),
    })?;
    note_damage(args, &mut found)?;
    let (mut manifest, shards) = merge_manifests(survey(found), args.partial)?;
    let mut runs: Vec<(RunDir, RunManifest)> = Vec::new();
    for shard in shards {
        runs.extend(shard.run.run.zip(shard.manifest));
    }
    manifest.command = crate::command_line();
    merge_recordings(args, &runs, &mut manifest, terminal)?;
    let texts = scenario_texts(&manifest, &runs)?;
    let sources: Vec<StoredScenario<'_>> = texts
        .iter()
        .map(|(id, extension, text, tools)| StoredScenario { id, extension, text, server_tools: tools.as_deref() })
        .collect();
    let lockfile = lockfile(&manifest, &runs)?;
    // The run has its name once it is complete.
    let new = RunDir::create(&args.out, &mut manifest, &sources, lockfile.as_deref())?;
    let merged = new.run();
    *unpublished.lock().unwrap_or_else(PoisonError::into_inner) = Some(merged.path().to_owned());
    if supervisor.is_stopped() {
        return Ok(ExitStatus::Interrupted);
    }
    let mut writer = FrameWriter::create(merged, &manifest.plan)?;
    let sources: Vec<(&RunDir, Episodes)> = runs.iter().map(|(run, shard)| (run, shard.episodes())).collect();
    writer.copy(&sources)?;
    writer.finish()?;
    if manifest.has_journal() {
        merge_recorded_turns(merged, &runs)?;
    }
    manifest.status = RunStatus::Complete;
    manifest.episodes_done = manifest.episodes().len();
    merged.add_result_files(&mut manifest)?;
    merged.write_manifest(&manifest)?;
    unpublished.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (merged, _lock) = new.publish()?;
    report::print(&merged, &manifest, Detail::Summary, terminal)?;
    terminal.note(&format!("run: {}", shell_quote(&merged.path().display().to_string())));
    on_complete(args.on_complete.as_deref(), merged.path(), &supervisor, terminal)?;
    let Some(shards) = &manifest.shards else { return Ok(ExitStatus::Success) };
    let missing: Vec<u32> = (1..=shards.count()).filter(|number| !shards.numbers().contains(number)).collect();
    terminal.warn(&format!("partial: shards {} of {} are missing", format_numbers(&missing), shards.count()));
    Ok(ExitStatus::Incomplete)
}

/// Compares the files of shards with their hashes. Damage of a shard that was named is an error, unless others suffice.
fn note_damage(args: &MergeArgs, found: &mut [SurveyedShard<FoundShard>]) -> Result<(), CliError> {
    for shard in found {
        // Everything that is merged was compared with its hash.
        match RunDir::open(&shard.path) {
            Err(error @ RunDirError::Damaged { .. }) if !args.partial && args.runs.contains(&shard.path) => {
                return Err(error.into());
            }
            Err(error) if shard.state == ShardState::Complete => {
                shard.state = ShardState::Damaged(error.to_string());
            }
            _ => {}
        }
    }
    Ok(())
}

/// The id of a scenario, the extension and the text of its file, and the tools of its server.
type ScenarioText = (String, &'static str, String, Option<String>);

/// Returns the texts of the scenarios, which have to be those of the plan in all runs.
fn scenario_texts(manifest: &RunManifest, runs: &[(RunDir, RunManifest)]) -> Result<Vec<ScenarioText>, CliError> {
    let mut texts = Vec::new();
    for (index, scenario) in manifest.plan.scenarios.iter().enumerate() {
        for (run, _) in runs {
            let (text, extension) = run.scenario_text(index, &scenario.id)?;
            let tools = run.server_tools(index, &scenario.id)?;
            if Source::hash(&text, tools.as_deref()) != scenario.sha256 {
                return Err(CliError::scenario_changed(&scenario.id));
            }
            if texts.len() == index {
                texts.push((scenario.id.clone(), extension, text, tools));
            }
        }
    }
    Ok(texts)
}

/// Returns the text of the lockfile that the runs compared contracts with, if the plan has one.
fn lockfile(manifest: &RunManifest, runs: &[(RunDir, RunManifest)]) -> Result<Option<String>, CliError> {
    let has_lockfile = manifest.plan.conditions.iter().any(|condition| condition.values.contract.lock.is_some());
    match runs.first().filter(|_| has_lockfile) {
        Some((run, _)) => {
            let path = run.lockfile_path();
            let text = healbench_files::read_stored_text(&path, healbench_files::MAX_GENERATED_BYTES);
            text.map(Some).map_err(|source| CliError::read(&path, &source))
        }
        None => Ok(None),
    }
}

/// The directory that is being written under a temporary name.
type Unpublished = Arc<Mutex<Option<PathBuf>>>;

/// The number of times that the directory is removed: a file may be created in it meanwhile.
const REMOVALS: usize = 3;

/// Removes what is written when a signal ends the program. A second signal changes nothing.
fn supervise_merge(unpublished: &Unpublished) -> Result<Supervisor, CliError> {
    let supervisor = supervisor()?;
    let (unpublished, processes) = (Arc::clone(unpublished), supervisor.downgrade());
    let stop = Arc::clone(supervisor.stop());
    on_signal(move || {
        stop.store(true, Ordering::Release);
        remove_unpublished(&unpublished, LIMIT);
        exit(&processes)
    })?;
    Ok(supervisor)
}

/// Removes the directory that is being written. If there is none, waits first: it may be about to be made, or the command of
/// `--on-complete` may have to end.
fn remove_unpublished(unpublished: &Unpublished, wait: Duration) {
    let path = || unpublished.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let path = path().or_else(|| {
        thread::sleep(wait);
        path()
    });
    if let Some(path) = path {
        let _ = (0..REMOVALS).find(|_| fs::remove_dir_all(&path).is_ok());
    }
}

/// Copies the recorded turns of all shards in the order of the plan.
fn merge_recorded_turns(merged: &RunDir, runs: &[(RunDir, RunManifest)]) -> Result<(), CliError> {
    let mut writer = RecordedTurnsWriter::create(merged)?;
    let mut readers = Vec::new();
    for (run, _) in runs {
        let mut reader = RecordedTurnsReader::open(run)?;
        readers.extend(reader.next()?.map(|first| (first, reader)));
    }
    while let Some(index) = (0..readers.len()).min_by_key(|index| readers[*index].0.episode) {
        let (turns, reader) = &mut readers[index];
        writer.write(turns)?;
        match reader.next()? {
            Some(next) => *turns = next,
            None => drop(readers.swap_remove(index)),
        }
    }
    Ok(writer.finish()?)
}

/// Combines the recordings of the shards, if they made any in several folders.
fn merge_recordings(
    args: &MergeArgs,
    runs: &[(RunDir, RunManifest)],
    manifest: &mut RunManifest,
    terminal: &Terminal,
) -> Result<(), CliError> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for (_, shard) in runs {
        match &shard.cassettes {
            Some(CassetteMode::Record(folder)) if !folders.contains(folder) => folders.push(folder.clone()),
            _ => {}
        }
    }
    let Some(out) = &args.recordings else {
        if folders.len() > 1 {
            terminal.note(&format!(
                "the shards recorded into {}; combine them with `--recordings DIR`",
                pluralize(folders.len() as u64, "folder")
            ));
        }
        return Ok(());
    };
    if folders.is_empty() {
        return Err(CliError::new("the shards have no recordings").help("leave out `--recordings`"));
    }
    let conflicts = merge_cassettes(&folders, out)?;
    if conflicts > 0 {
        terminal.warn(&format!(
            "{} of several shards have different answers; the first is kept, so a replay gives other rows for the episodes with another",
            pluralize(conflicts, "request")
        ));
    }
    let absolute = std::path::absolute(out).map_err(|source| CliError::read(out, &source))?;
    manifest.cassettes = Some(CassetteMode::Record(absolute));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_removed_that_was_made_before_a_signal_or_while_it_waits() {
        let root = tempfile::tempdir().unwrap();
        for is_made_before in [true, false] {
            let unpublished: Unpublished = Arc::default();
            let path = root.path().join(is_made_before.to_string());
            fs::create_dir_all(path.join("scenarios")).unwrap();
            let make = || *unpublished.lock().unwrap() = Some(path.clone());
            thread::scope(|scope| {
                if is_made_before {
                    make();
                }
                scope.spawn(|| remove_unpublished(&unpublished, LIMIT));
                if !is_made_before {
                    thread::sleep(LIMIT / 8);
                    make();
                }
            });
            assert!(!path.exists(), "{is_made_before}");
        }
    }
}
