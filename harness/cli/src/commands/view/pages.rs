//! What is shown at each address.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::StatusCode;
use healbench_protocol::{ErrorFormat, Guardrails};
use healbench_record::{CellRef, Plan, RunDir, RunDirError, RunManifest};
use healbench_reports::render;
use healbench_reports::render::html::{self, ComparisonPage, EpisodePage, ProgressUpdate, RunPage, RunState};
use healbench_reports::{Side, Transcript, compare as compared};
use serde::Deserialize;

use super::answer::{Answer, CSV, JSON, Problem};
use super::folder::state;
use super::shelf::{Stamp, Whole};
use super::{Made, Viewer};
use crate::commands::playback::{playbacks_under, transcripts};
use crate::commands::report::page_of;
use crate::commands::show;
use crate::error::CliError;
use crate::load::{Cast, cast_of_run};

/// How an episode is to be shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Wish {
    /// Other guardrails.
    guardrails: String,
    /// Another format.
    format: String,
    /// An episode beside it.
    beside: String,
}

/// The runs that are to be compared.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Sides {
    base: String,
    candidate: String,
}

/// The list of runs.
pub(super) fn list(viewer: &Viewer) -> Made {
    let folder = viewer.folder.path();
    let refused = |source| RunDirError::Io { operation: "read", path: folder.to_owned(), source };
    let runs = viewer.folder.list(&viewer.counts).map_err(refused)?;
    Ok(Answer::Page(html::runs(&folder.to_string_lossy(), &runs)))
}

/// The address of a run without its last slash.
pub(super) fn moved(viewer: &Viewer, name: &str) -> Made {
    viewer.folder.find(name).ok_or_else(|| no_run(name))?;
    Ok(Answer::At(html::run_address(name)))
}

/// A run: its report, or how far it is.
pub(super) fn run(viewer: &Viewer, name: &str) -> Made {
    let (run, manifest) = open(viewer, name)?;
    if let RunState::Running(progress) = state(&run, &manifest) {
        let news = ProgressUpdate::running(&manifest, progress, unix_seconds());
        return Ok(Answer::Page(html::progress_page(name, &manifest, &news)));
    }
    Ok(Answer::Page(whole(viewer, name)?.page.clone()))
}

/// How far a run is.
pub(super) fn progress(viewer: &Viewer, name: &str) -> Made {
    let (run, manifest) = open(viewer, name)?;
    let news = match state(&run, &manifest) {
        RunState::Running(progress) => ProgressUpdate::running(&manifest, progress, unix_seconds()),
        RunState::Ended | RunState::Aborted => ProgressUpdate::ended(&manifest),
    };
    Ok(Answer::File(JSON, render::json(&news).map_err(CliError::from)?))
}

/// The report as JSON.
pub(super) fn json(viewer: &Viewer, name: &str) -> Made {
    Ok(Answer::File(JSON, render::json(&whole(viewer, name)?.report).map_err(CliError::from)?))
}

/// The report as CSV.
pub(super) fn csv(viewer: &Viewer, name: &str) -> Made {
    Ok(Answer::File(CSV, render::csv(&whole(viewer, name)?.report, false).map_err(CliError::from)?))
}

/// An episode, alone or beside another.
pub(super) fn episode(viewer: &Viewer, name: &str, number: &str, wish: &Wish) -> Made {
    let (run, manifest) = open_shown(viewer, name)?;
    let absent = |number: &str| Problem::missing(&format!("the run has no episode `{number}`"));
    let numbered = |number: &str| number.parse::<u64>().map_err(|_| absent(number));
    let mut numbers = vec![numbered(number)?];
    if !wish.beside.is_empty() {
        numbers.push(numbered(&wish.beside)?);
    }
    let cast = cast_of_run(&run, manifest.plan)?;
    let mut shown: Vec<Transcript> = Vec::new();
    for (played, number) in transcripts(&run, &cast, &numbers)?.into_iter().zip([number, &wish.beside]) {
        shown.push(match played {
            Err(CliError::NoEpisode(_) | CliError::NotPlayed(_)) => return Err(absent(number)),
            played => played?,
        });
    }
    if let Some(playback) = otherwise(&run, &cast, numbers[0], wish)? {
        shown.push(playback);
    }
    let page = EpisodePage { name, episode: numbers[0], plan: &cast.plan, transcripts: &shown };
    Ok(Answer::Page(html::episode(&page)))
}

/// The episode under the setting that is asked for, if one is.
fn otherwise(run: &RunDir, cast: &Cast, number: u64, wish: &Wish) -> Result<Option<Transcript>, CliError> {
    let given = |word: &'_ str| Some(word.to_owned()).filter(|word| !word.is_empty());
    let (guardrails, format) = (given(&wish.guardrails), given(&wish.format));
    let Some(cell) = cast.plan.cell(number).filter(|_| guardrails.is_some() || format.is_some()) else {
        return Ok(None);
    };
    if let Some(format) = &format {
        known_format(&cast.plan, format)?;
    }
    let guardrails: Option<Guardrails> = guardrails.as_deref().map(str::parse).transpose()?;
    let own = &cast.plan.conditions[cell.condition];
    let condition = show::condition(&cast.plan, Some(own), guardrails, format.as_deref())?;
    let known = cast.plan.conditions.iter().position(|known| *known == condition);
    let mut played = match known {
        Some(condition) => transcripts(run, cast, &[cast.plan.episode(CellRef { condition, ..cell })])?,
        None => playbacks_under(run, cast, &[(cell, condition)])?,
    };
    played.pop().transpose()
}

/// A request may not have a file read: a template is one of the plan's, or none.
fn known_format(plan: &Plan, word: &str) -> Result<(), CliError> {
    let in_plan = plan.conditions.iter().any(|condition| condition.format.name() == word);
    if in_plan { Ok(()) } else { Ok(word.parse::<ErrorFormat>().map(drop)?) }
}

/// Two runs, compared.
pub(super) fn compare(viewer: &Viewer, sides: &Sides) -> Made {
    if sides.base.is_empty() || sides.candidate.is_empty() {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "choose two runs to compare"));
    }
    let (base, base_manifest) = open_shown(viewer, &sides.base)?;
    let (candidate, manifest) = open_shown(viewer, &sides.candidate)?;
    let found = compared(
        Side { name: &sides.base, run: &base, manifest: &base_manifest },
        Side { name: &sides.candidate, run: &candidate, manifest: &manifest },
    )
    .map_err(CliError::from)?;
    let [base, candidate] = [&sides.base, &sides.candidate].map(|name| html::run_address(name));
    let page = ComparisonPage { comparison: &found, addresses: Some([&base, &candidate]) };
    Ok(Answer::Page(html::comparison(&page)))
}

fn no_run(name: &str) -> Problem {
    Problem::missing(&format!("there is no run `{name}` in the folder"))
}

fn find(viewer: &Viewer, name: &str) -> Result<PathBuf, Problem> {
    viewer.folder.find(name).ok_or_else(|| no_run(name))
}

fn open(viewer: &Viewer, name: &str) -> Result<(RunDir, RunManifest), Problem> {
    Ok(RunDir::open_any(&find(viewer, name)?)?)
}

/// A run that has frames.
fn open_shown(viewer: &Viewer, name: &str) -> Result<(RunDir, RunManifest), Problem> {
    let (run, manifest) = open(viewer, name)?;
    let problem = |path: &Path, error: fn(PathBuf) -> RunDirError| Err(error(path.to_owned()).into());
    match state(&run, &manifest) {
        RunState::Running(_) => problem(run.path(), RunDirError::Locked),
        RunState::Aborted => problem(run.path(), RunDirError::Incomplete),
        RunState::Ended if !run.has_frames() => problem(run.path(), RunDirError::Incomplete),
        RunState::Ended => Ok((run, manifest)),
    }
}

fn whole(viewer: &Viewer, name: &str) -> Result<Arc<Whole>, Problem> {
    let path = find(viewer, name)?;
    // Before anything is read: what changes while it is read is read anew the next time.
    let stamp = Stamp::of(&RunDir::open_any(&path)?.0);
    let (run, manifest) = open_shown(viewer, name)?;
    viewer.shelf.get(name, stamp, || {
        let (report, transcripts) = page_of(&run, &manifest)?;
        let page = RunPage { name, manifest: &manifest, report: &report, transcripts: &transcripts, served: true };
        let page = html::run(&page).map_err(CliError::from)?;
        Ok(Whole { report, page })
    })
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
