//! The request handlers of `healbench view`: one for each kind of address, returning a page, JSON or CSV.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::StatusCode;
use healbench_protocol::{ErrorFormat, Guardrails};
use healbench_record::{CellRef, Plan, RunDir, RunDirError, RunManifest, VerifiedFiles};
use healbench_reports::render;
use healbench_reports::render::html::{self, ComparisonPage, EpisodePage, ProgressUpdate, RunPage, RunState};
use healbench_reports::{Side, Transcript, compare as compare_runs};
use serde::Deserialize;

use super::cache::{CacheKey, CachedReport};
use super::folder::run_state;
use super::response::{CSV, ErrorPage, JSON, PageResponse};
use super::{AppState, PageResult};
use crate::commands::report::page_data;
use crate::commands::show;
use crate::commands::transcript::{transcripts, transcripts_under};
use crate::error::{CliError, ErrorKind};
use crate::load::run_spec_of;
use crate::run_spec::RunSpec;

/// The query of an episode page.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PageQuery {
    /// The guardrails to show instead of the episode's.
    guardrails: String,
    /// The error format to show instead of the episode's.
    format: String,
    /// The episode to show next to it.
    versus: String,
}

/// The query of a comparison page.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CompareQuery {
    base: String,
    candidate: String,
}

/// The list of runs.
pub(super) fn list(app: &AppState) -> PageResult {
    let folder = app.folder.path();
    let read_error = |source| RunDirError::Io { operation: "read", path: folder.to_owned(), source };
    let runs = app.folder.list(&app.outcomes).map_err(read_error)?;
    Ok(PageResponse::Page(html::runs(&folder.to_string_lossy(), &runs)))
}

/// Redirects the address of a run without a trailing slash.
pub(super) fn redirect(app: &AppState, name: &str) -> PageResult {
    app.folder.find(name).ok_or_else(|| run_not_found(name))?;
    Ok(PageResponse::Redirect(html::run_address(name)))
}

/// The page of a run: its report, or its progress if it is active.
pub(super) fn run(app: &AppState, name: &str) -> PageResult {
    let (run, manifest) = open(app, name)?;
    if let RunState::Running(progress) = run_state(&run, &manifest) {
        let update = ProgressUpdate::running(&manifest, progress, unix_seconds());
        return Ok(PageResponse::Page(html::progress_page(name, &manifest, &update)));
    }
    Ok(PageResponse::Page(cached_report(app, name)?.page.clone()))
}

/// The progress of a run as JSON.
pub(super) fn progress(app: &AppState, name: &str) -> PageResult {
    let (run, manifest) = open(app, name)?;
    let update = match run_state(&run, &manifest) {
        RunState::Running(progress) => ProgressUpdate::running(&manifest, progress, unix_seconds()),
        RunState::Ended | RunState::Aborted => ProgressUpdate::ended(&manifest),
    };
    Ok(PageResponse::File(JSON, render::json(&update).map_err(CliError::from)?))
}

/// The report as JSON.
pub(super) fn json(app: &AppState, name: &str) -> PageResult {
    Ok(PageResponse::File(JSON, render::json(&cached_report(app, name)?.report).map_err(CliError::from)?))
}

/// The report as CSV.
pub(super) fn csv(app: &AppState, name: &str) -> PageResult {
    Ok(PageResponse::File(CSV, render::csv(&cached_report(app, name)?.report, false).map_err(CliError::from)?))
}

/// An episode, alone or next to another.
pub(super) fn episode(app: &AppState, name: &str, number: &str, query: &PageQuery) -> PageResult {
    let (run, manifest) = open_with_frames(app, name)?;
    let no_episode = |number: &str| ErrorPage::not_found(&format!("the run has no episode `{number}`"));
    let parse_number = |number: &str| number.parse::<u64>().map_err(|_| no_episode(number));
    let mut numbers = vec![parse_number(number)?];
    if !query.versus.is_empty() {
        numbers.push(parse_number(&query.versus)?);
    }
    let run_spec = run_spec_of(&run, manifest.plan)?;
    let mut shown: Vec<Transcript> = Vec::new();
    for (transcript, number) in transcripts(&run, &run_spec, &numbers)?.into_iter().zip([number, &query.versus]) {
        shown.push(match transcript {
            Err(error) if error.kind == ErrorKind::UnknownEpisode => return Err(no_episode(number)),
            transcript => transcript?,
        });
    }
    if let Some(transcript) = under_other_condition(&run, &run_spec, numbers[0], query)? {
        shown.push(transcript);
    }
    let page = EpisodePage { name, episode: numbers[0], plan: &run_spec.plan, transcripts: &shown };
    Ok(PageResponse::Page(html::episode(&page)))
}

/// Returns the episode in the requested condition, if one is requested.
fn under_other_condition(
    run: &RunDir,
    run_spec: &RunSpec,
    number: u64,
    query: &PageQuery,
) -> Result<Option<Transcript>, CliError> {
    let non_empty = |value: &'_ str| Some(value.to_owned()).filter(|value| !value.is_empty());
    let (guardrails, format) = (non_empty(&query.guardrails), non_empty(&query.format));
    let Some(cell) = run_spec.plan.cell(number).filter(|_| guardrails.is_some() || format.is_some()) else {
        return Ok(None);
    };
    if let Some(format) = &format {
        check_format(&run_spec.plan, format)?;
    }
    let guardrails: Option<Guardrails> = guardrails.as_deref().map(str::parse).transpose()?;
    let base = &run_spec.plan.conditions[cell.condition];
    let condition = show::resolve_condition(&run_spec.plan, Some(base), guardrails, format.as_deref(), None)?;
    let known = run_spec.plan.conditions.iter().position(|known| *known == condition);
    let mut transcripts = match known {
        Some(condition) => transcripts(run, run_spec, &[run_spec.plan.episode(CellRef { condition, ..cell })])?,
        None => transcripts_under(run, run_spec, &[(cell, condition)])?,
    };
    transcripts.pop().transpose()
}

/// Rejects templates that are not in the plan, so that a request cannot read files.
fn check_format(plan: &Plan, value: &str) -> Result<(), CliError> {
    let in_plan = plan.conditions.iter().any(|condition| condition.format.name() == value);
    if in_plan { Ok(()) } else { Ok(value.parse::<ErrorFormat>().map(drop)?) }
}

/// The comparison of two runs.
pub(super) fn compare(app: &AppState, query: &CompareQuery) -> PageResult {
    if query.base.is_empty() || query.candidate.is_empty() {
        return Err(ErrorPage::new(StatusCode::BAD_REQUEST, "choose two runs to compare"));
    }
    let (base, base_manifest) = open_with_frames(app, &query.base)?;
    let (candidate, manifest) = open_with_frames(app, &query.candidate)?;
    let comparison = compare_runs(
        Side { name: &query.base, run: &base, manifest: &base_manifest },
        Side { name: &query.candidate, run: &candidate, manifest: &manifest },
    )
    .map_err(CliError::from)?;
    let [base, candidate] = [&query.base, &query.candidate].map(|name| html::run_address(name));
    let page = ComparisonPage { comparison: &comparison, addresses: Some([&base, &candidate]) };
    Ok(PageResponse::Page(html::comparison(&page)))
}

fn run_not_found(name: &str) -> ErrorPage {
    ErrorPage::not_found(&format!("there is no run `{name}` in the folder"))
}

fn find(app: &AppState, name: &str) -> Result<PathBuf, ErrorPage> {
    app.folder.find(name).ok_or_else(|| run_not_found(name))
}

fn open(app: &AppState, name: &str) -> Result<(RunDir, RunManifest), ErrorPage> {
    Ok(RunDir::open_any(&find(app, name)?)?)
}

/// Opens a run that has frames.
fn open_with_frames(app: &AppState, name: &str) -> Result<(RunDir, RunManifest), ErrorPage> {
    let (run, manifest) = open(app, name)?;
    let problem = |path: &Path, error: fn(PathBuf) -> RunDirError| Err(error(path.to_owned()).into());
    match run_state(&run, &manifest) {
        RunState::Running(_) => problem(run.path(), RunDirError::Locked),
        RunState::Aborted => problem(run.path(), RunDirError::Incomplete),
        RunState::Ended if !run.has_frames() => problem(run.path(), RunDirError::Incomplete),
        RunState::Ended => match app.verified.check(&run, &manifest)? {
            VerifiedFiles::Current => Ok((run, manifest)),
            VerifiedFiles::PartlyReplaced => problem(run.path(), RunDirError::Incomplete),
        },
    }
}

fn cached_report(app: &AppState, name: &str) -> Result<Arc<CachedReport>, ErrorPage> {
    let path = find(app, name)?;
    // Read the key first: if the run changes while it is read, the next request reads it again.
    let key = CacheKey::from_run(&RunDir::open_any(&path)?.0);
    let (run, manifest) = open_with_frames(app, name)?;
    app.cache.get(name, key, || {
        let (report, transcripts) = page_data(&run, &manifest)?;
        let page = RunPage { name, manifest: &manifest, report: &report, transcripts: &transcripts, served: true };
        let page = html::run(&page).map_err(CliError::from)?;
        Ok(CachedReport { report, page })
    })
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
