use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use healbench_core::{Shards, format_numbers};
use healbench_render::{duration, json};
use healbench_store::{ShardState, Survey, SurveyedShard, survey};
use healbench_text::{count, part_of, plain_text};
use serde::Serialize;

use super::outputs;
use super::shards::{ACTIVE_S, FoundShard, find_shards, is_recent};
use crate::args::{StatusArgs, TextForm};
use crate::error::{CliError, ExitStatus};
use crate::progress::BeaconFile;
use crate::terminal::Terminal;

/// The status of the shards of a run, as `--output json` prints it.
#[derive(Debug, Serialize)]
struct Status {
    /// The number of shards of the run; null if no shard says it.
    shards: Option<u32>,
    /// The episodes of the run; null if no shard says it.
    planned: Option<u64>,
    /// The episodes that are done.
    done: u64,
    /// Episodes per second of all shards that are being run; null if unknown.
    per_second: Option<f64>,
    /// The estimated seconds until the last of these shards ends; null if unknown.
    eta_s: Option<f64>,
    /// The shards without a directory.
    missing: Vec<u32>,
    /// The incomplete shards that are not running.
    todo: Vec<u32>,
    /// All directories.
    directories: Vec<Directory>,
    /// The folders that killed processes left beside the shards.
    leftovers: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Directory {
    path: String,
    /// The shards in it; null if it cannot be read.
    shards: Option<Vec<u32>>,
    state: &'static str,
    done: Option<u64>,
    planned: Option<u64>,
    /// The problem, or the time left.
    detail: Option<String>,
}

/// Prints which shards are complete.
pub(crate) fn status(args: &StatusArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let survey = survey(find_shards(&args.runs)?);
    if let Some(expected) = args.shards.filter(|expected| survey.count != 0 && survey.count != *expected) {
        let found = survey.count;
        return Err(
            CliError::new(format_args!("the run has {found} shards, not {expected}")).status(ExitStatus::Incomplete)
        );
    }
    let mut status = status_of(&survey, args.shards);
    for folder in args.runs.iter().filter(|path| path.is_dir()) {
        let running = BeaconFile::in_folder(folder).map_err(|source| CliError::read(folder, &source))?;
        for (destination, file) in running.iter().filter(|(_, file)| is_recent(&file.progress) && !file.has_ended()) {
            status.add_running(destination, file);
        }
        let left = leftovers(folder).map_err(|source| CliError::read(folder, &source))?;
        status.leftovers.extend(left.iter().map(|path| path.display().to_string()));
    }
    let all = |status: &Status| status.directories.iter().all(|directory| directory.state == "complete");
    let is_complete = status.todo.is_empty() && status.shards.is_some() && all(&status);
    outputs::check(&args.output, std::iter::empty())?;
    outputs::write(&args.output, TextForm::Terminal, terminal, |form, _| match form {
        TextForm::Terminal if args.todo => Ok(format!("{}\n", format_numbers(&status.todo))),
        TextForm::Terminal => Ok(format_status(&status)),
        TextForm::Json => Ok(json(&status)?),
    })?;
    Ok(if is_complete { ExitStatus::Success } else { ExitStatus::Incomplete })
}

impl Status {
    /// Adds a shard that is being run on a disk of another machine.
    fn add_running(&mut self, destination: &Path, file: &BeaconFile) {
        let numbers = file.shards.as_ref().map(|shards| shards.numbers().to_vec()).unwrap_or_default();
        self.todo.retain(|number| !numbers.contains(number));
        self.missing.retain(|number| !numbers.contains(number));
        let BeaconFile { progress, shards, .. } = file;
        if let Some(rate) = progress.per_second {
            self.per_second = Some(self.per_second.unwrap_or_default() + rate);
        }
        self.eta_s = self.eta_s.into_iter().chain(progress.eta_s).max_by(f64::total_cmp);
        self.shards = self.shards.or(shards.as_ref().map(Shards::count));
        let path = destination.display().to_string();
        // The earlier state of a shard that is resumed.
        self.directories.retain(|directory| directory.path != path);
        self.directories.push(Directory {
            path,
            shards: Some(numbers),
            state: "running",
            done: Some(progress.done),
            planned: Some(progress.total),
            detail: progress.eta_s.map(|eta| format!("{} left", duration(eta))),
        });
        self.done = self.directories.iter().filter_map(|directory| directory.done).sum();
    }
}

fn numbers(shard: &SurveyedShard<FoundShard>) -> Option<Vec<u32>> {
    let shards = shard.manifest.as_ref()?.shards.as_ref();
    Some(shards.map(|shards| shards.numbers().to_vec()).unwrap_or_default())
}

/// Returns true if the directory is a shard of the run, whatever it lacks.
fn is_own(shard: &SurveyedShard<FoundShard>) -> bool {
    matches!(shard.state, ShardState::Complete | ShardState::Unfinished { .. } | ShardState::LostEpisodes)
}

/// Returns true if a shard of the run has to be run, or its rest.
fn is_waiting(shard: &SurveyedShard<FoundShard>) -> bool {
    is_own(shard) && !matches!(shard.state, ShardState::Complete | ShardState::Unfinished { running: true, .. })
}

fn status_of(survey: &Survey<FoundShard>, expected: Option<u32>) -> Status {
    let own = || survey.shards.iter().filter(|shard| is_own(shard));
    let missing = match survey.count {
        0 => (1..=expected.unwrap_or(0)).collect(),
        _ => survey.missing.clone(),
    };
    let waiting = own().filter(|shard| is_waiting(shard)).filter_map(numbers).flatten();
    let mut todo: Vec<u32> = waiting.chain(missing.iter().copied()).collect();
    todo.sort_unstable();
    todo.dedup();
    let running = || own().filter(|shard| !is_waiting(shard)).filter_map(|shard| shard.run.progress.as_ref());
    let rates: Vec<f64> = running().filter_map(|progress| progress.per_second).collect();
    Status {
        shards: expected.or((survey.count > 0).then_some(survey.count)),
        planned: own().find_map(|shard| shard.manifest.as_ref()).map(|manifest| manifest.plan.len()),
        done: own().filter_map(|shard| directory(shard).done).sum(),
        per_second: (!rates.is_empty()).then(|| rates.iter().sum()),
        eta_s: running().filter_map(|progress| progress.eta_s).max_by(f64::total_cmp),
        missing,
        todo,
        directories: survey.shards.iter().map(directory).collect(),
        leftovers: Vec::new(),
    }
}

/// Returns the folders in which runs of this folder get their files before they have their names, and those of replaced runs,
/// unless somebody writes to them.
fn leftovers(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_temporary = path.file_name().and_then(OsStr::to_str).is_some_and(|name| {
            name.starts_with('.') && [".part", ".old"].iter().any(|extension| name.ends_with(extension))
        });
        if is_temporary && path.is_dir() && !was_changed_recently(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Returns true if the folder or a file in it was changed recently, or has vanished meanwhile.
fn was_changed_recently(folder: &Path) -> bool {
    let is_recent = |path: &Path| {
        let changed = fs::metadata(path).and_then(|metadata| metadata.modified());
        changed.map_or(true, |time| time.elapsed().is_ok_and(|age| age.as_secs() <= ACTIVE_S))
    };
    let mut files = fs::read_dir(folder).into_iter().flatten().flatten();
    is_recent(folder) || files.any(|file| is_recent(&file.path()))
}

fn directory(shard: &SurveyedShard<FoundShard>) -> Directory {
    let planned = shard.manifest.as_ref().map(|manifest| manifest.episodes().len());
    let left = || {
        let eta = shard.run.progress.as_ref()?.eta_s?;
        Some(format!("{} left", duration(eta)))
    };
    let (state, done, detail) = match &shard.state {
        ShardState::Complete => ("complete", planned, None),
        ShardState::Unfinished { done, running: true, .. } => ("running", *done, left()),
        ShardState::Unfinished { done, running: false, .. } => ("interrupted", *done, None),
        ShardState::LostEpisodes => ("lost episodes", planned, Some("run them again with `--resume`".to_owned())),
        ShardState::NotAShard => ("no shard", None, None),
        ShardState::Foreign { property, from } => {
            ("foreign", None, Some(format!("differs from `{}` in {property}", from.display())))
        }
        ShardState::Duplicate { shards, of } => {
            ("duplicate", None, Some(format!("`{}` holds shard {shards} too", of.display())))
        }
        ShardState::Damaged(reason) => ("damaged", None, Some(reason.clone())),
    };
    Directory { path: shard.path.display().to_string(), shards: numbers(shard), state, done, planned, detail }
}

/// The largest number of directories of one state that are listed.
const MAX_LISTED: usize = 20;

fn format_status(status: &Status) -> String {
    let mut out = String::new();
    // Writing to a `String` cannot fail.
    let (shards, planned) =
        (status.shards.unwrap_or(0), status.planned.map_or("an unknown number of".to_owned(), count));
    let _ = writeln!(out, "episodes     {} of {planned}", count(status.done));
    let complete = status.directories.iter().filter(|directory| directory.state == "complete");
    let complete: usize = complete.map(|directory| directory.shards.as_ref().map_or(0, Vec::len)).sum();
    let _ = writeln!(out, "complete     {}", part_of(complete as u64, shards.into(), "shard"));
    for state in ["running", "interrupted", "lost episodes", "no shard", "foreign", "duplicate", "damaged"] {
        let found: Vec<&Directory> = status.directories.iter().filter(|directory| directory.state == state).collect();
        if found.is_empty() {
            continue;
        }
        let _ = writeln!(out, "{state:<12} {}", found.len());
        for directory in found.iter().take(MAX_LISTED) {
            let _ = write!(out, "  {}", plain_text(&directory.path));
            if let (Some(done), Some(planned)) = (directory.done, directory.planned) {
                let _ = write!(out, ": {}", part_of(done, planned, "episode"));
            }
            if let Some(detail) = &directory.detail {
                let _ = write!(out, ": {}", plain_text(detail));
            }
            out.push('\n');
        }
        if found.len() > MAX_LISTED {
            let _ = writeln!(out, "  and {} more", found.len() - MAX_LISTED);
        }
    }
    if !status.leftovers.is_empty() {
        let _ = writeln!(out, "left over    {}, of killed processes; delete them", status.leftovers.len());
        for path in status.leftovers.iter().take(MAX_LISTED) {
            let _ = writeln!(out, "  {}", plain_text(path));
        }
    }
    if !status.missing.is_empty() {
        let _ = writeln!(out, "missing      {}: shard {}", status.missing.len(), format_numbers(&status.missing));
    }
    if let Some(eta) = status.eta_s {
        let _ = writeln!(out, "time left    {} until the last running shard ends", duration(eta));
    }
    if !status.todo.is_empty() {
        let _ = writeln!(out, "to run       {}", format_numbers(&status.todo));
    }
    out
}
