use healbench_record::{
    MergeError, RecordedTurnsWriter, RunDir, RunStatus, StoredScenario, merge_manifests, visit_recorded_turns,
};
use healbench_reports::FrameWriter;
use healbench_reports::render::{Detail, shell_quote};
use healbench_scenarios::Source;

use super::report;
use super::run::all_scored;
use crate::args::MergeArgs;
use crate::error::{CliError, ExitStatus};
use crate::terminal::Terminal;

/// Combines the shards of a run. The frames are equal to those of an unsharded run.
pub(crate) fn merge(args: &MergeArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let mut shards = Vec::new();
    for path in &args.runs {
        let (run, manifest) = RunDir::open(path)?;
        shards.push((path.clone(), manifest, run));
    }
    let (mut manifest, shards) = merge_manifests(shards)?;
    if manifest.has_journal() {
        for (_, run) in &shards {
            if !all_scored(run)? {
                return Err(MergeError::LostEpisodes(run.path().to_owned()).into());
            }
        }
    }
    manifest.command = crate::command_line();
    let mut texts = Vec::new();
    for (index, scenario) in manifest.plan.scenarios.iter().enumerate() {
        for (_, run) in &shards {
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
    let sources: Vec<StoredScenario<'_>> = texts
        .iter()
        .map(|(id, extension, text, tools)| StoredScenario { id, extension, text, server_tools: tools.as_deref() })
        .collect();
    let has_lockfile = manifest.plan.conditions.iter().any(|condition| condition.lock.is_some());
    let lockfile = match shards.first().filter(|_| has_lockfile) {
        Some((_, run)) => {
            let path = run.lockfile_path();
            let text = healbench_protocol::read_text_file(&path, healbench_protocol::MAX_GENERATED_BYTES);
            Some(text.map_err(|source| CliError::read(&path, &source))?)
        }
        None => None,
    };
    // The run has its name once it is complete.
    let new = RunDir::create(&args.out, &mut manifest, &sources, lockfile.as_deref())?;
    let merged = new.run();
    let mut writer = FrameWriter::create(merged, &manifest.plan)?;
    for (shard, run) in &shards {
        writer.copy(run, shard.episodes())?;
    }
    writer.finish()?;
    if manifest.has_journal() {
        let mut writer = RecordedTurnsWriter::create(merged)?;
        for (_, run) in &shards {
            let mut written = Ok(());
            visit_recorded_turns(run, &mut |recorded_turns| {
                written = writer.write(&recorded_turns);
                written.is_ok()
            })?;
            written?;
        }
        writer.finish()?;
    }
    manifest.status = RunStatus::Complete;
    manifest.episodes_done = manifest.plan.len();
    merged.add_result_files(&mut manifest)?;
    merged.write_manifest(&manifest)?;
    let (merged, _lock) = new.publish()?;
    report::print(&merged, &manifest, Detail::Summary, terminal)?;
    terminal.note(&format!("run: {}", shell_quote(&merged.path().display().to_string())));
    Ok(ExitStatus::Success)
}
