//! Writes a run as logs for Inspect.

use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use healbench_analysis::{Report, Scope, summarize};
use healbench_core::{CellRef, Plan};
use healbench_frames::{Rows, rows_of_episodes};
use healbench_render::{inspect_log, inspect_sample};
use healbench_store::{RunDir, RunManifest};
use healbench_text::{pluralize, shell_quote};

use super::transcript::each_transcript;
use crate::error::{CliError, ExitStatus};
use crate::load::run_spec_of;
use crate::run_spec::RunSpec;
use crate::terminal::Terminal;

/// The number of episodes whose rows are read at once.
const EPISODES_AT_ONCE: usize = 4096;

/// Refuses a folder that exists and is not empty.
pub(super) fn check_folder(folder: &Path) -> Result<(), CliError> {
    if !folder.exists() {
        return Ok(());
    }
    let mut entries = fs::read_dir(folder).map_err(|error| CliError::read(folder, &error))?;
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(CliError::new(format_args!("`{}` is not empty", folder.display()))
            .help("name a new folder: Inspect shows every log in it")),
    }
}

/// Writes a log for each agent and condition of a run into a folder, which must be empty or not exist yet.
pub(super) fn write_logs(
    run: &RunDir,
    manifest: &RunManifest,
    name: &Path,
    folder: &Path,
    terminal: &Terminal,
) -> Result<ExitStatus, CliError> {
    let report = summarize(&Rows(run), manifest, Scope::Tables)?;
    let run_spec = run_spec_of(run, manifest.plan.clone())?;
    fs::create_dir_all(folder).map_err(|error| CliError::write(folder, &error))?;
    check_folder(folder)?;
    let mut logs = 0;
    for agent in 0..report.agents.len() {
        for condition in 0..report.agents[agent].rows.len() {
            let file = folder.join(file_name(manifest, &report, agent, condition));
            write_log(run, manifest, &run_spec, &report, (agent, condition), &name.to_string_lossy(), &file)?;
            logs += 1;
        }
    }
    let path = shell_quote(&folder.to_string_lossy());
    terminal.note(&format!("{} in {path}; look at them with: inspect view --log-dir {path}", pluralize(logs, "log")));
    Ok(ExitStatus::Success)
}

/// `2026-01-02T03-04-05Z_quickstart-typical-fusion_0-3.json`: as Inspect names its logs, by time, task and id.
fn file_name(manifest: &RunManifest, report: &Report, agent: usize, condition: usize) -> PathBuf {
    let suite = report.suite.as_deref().unwrap_or("suites");
    let (of, row) = (&report.agents[agent], &report.agents[agent].rows[condition]);
    let plain = |text: String| -> String {
        let plain = text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' });
        plain.take(80).collect()
    };
    let task = plain(format!("{suite}-{}-{}", of.agent, row.condition.label()));
    PathBuf::from(format!("{}_{task}_{agent}-{condition}.json", manifest.started.replace(':', "-")))
}

/// Writes a log. A file with another name is renamed when it is complete.
fn write_log(
    run: &RunDir,
    manifest: &RunManifest,
    run_spec: &RunSpec,
    report: &Report,
    (agent, condition): (usize, usize),
    name: &str,
    file: &Path,
) -> Result<(), CliError> {
    let failed = |error: std::io::Error| CliError::write(file, &error);
    let partial = file.with_extension("partial");
    let mut out = BufWriter::new(fs::File::create(&partial).map_err(failed)?);
    let log = inspect_log(report, manifest, &report.agents[agent], &report.agents[agent].rows[condition]);
    let head = serde_json::to_string(&log)?;
    // The samples follow the other keys of the object.
    out.write_all(head.strip_suffix('}').unwrap_or(&head).as_bytes()).map_err(failed)?;
    out.write_all(b",\"samples\":[").map_err(failed)?;
    let mut is_first = true;
    for episodes in episodes_of(&manifest.plan, agent, condition).chunks(EPISODES_AT_ONCE) {
        let rows = rows_of_episodes(run, &episodes.iter().copied().collect())?;
        let present: Vec<u64> = episodes.iter().copied().filter(|episode| rows.contains_key(episode)).collect();
        let mut result = Ok(());
        each_transcript(run, run_spec, &present, &mut |episode, transcript| {
            result = transcript.and_then(|transcript| {
                let Some((row, _)) = rows.get(&episode) else { return Ok(()) };
                let sample = serde_json::to_string(&inspect_sample(&transcript, row, name, &manifest.started))?;
                let separator = if std::mem::take(&mut is_first) { "" } else { "," };
                write!(out, "{separator}\n{sample}").map_err(failed)
            });
            result.is_ok()
        })?;
        result?;
    }
    out.write_all(b"\n]}\n").map_err(failed)?;
    out.into_inner().map_err(|error| failed(error.into_error()))?.sync_all().map_err(failed)?;
    fs::rename(&partial, file).map_err(failed)
}

/// Returns the episodes of an agent and a condition, in the order of the plan.
fn episodes_of(plan: &Plan, agent: usize, condition: usize) -> Vec<u64> {
    let scenarios = 0..plan.scenarios.len();
    let cells = scenarios.flat_map(|scenario| (0..plan.trials).map(move |trial| (scenario, trial)));
    cells.map(|(scenario, trial)| plan.episode(CellRef { scenario, agent, condition, trial })).collect()
}
