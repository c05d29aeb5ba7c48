//! The pages of `healbench view`, JSON and CSV, as their processes make them.

use axum::http::StatusCode;
use healbench_analysis::{Report, Scope, Side, Transcript, compare as compare_runs, summarize};
use healbench_core::{CellRef, ErrorFormat, Guardrails, Plan};
use healbench_frames::Rows;
use healbench_render as render;
use healbench_render::html::{self, ComparisonPage, EpisodePage, ProgressUpdate, RunState, TraceChangesPage};
use healbench_store::{RunDir, RunDirError};

use super::cache::KnownOutcomes;
use super::folder::{RunFolder, run_state};
use super::open::{open, open_with_frames, with_frames};
use super::request::{CompareQuery, PageQuery, PageRequest};
use super::response::{CSV, ErrorPage, JSON, PageResponse, PageResult, RenderedPage, TEXT};
use super::{episodes, history};
use crate::clock::since_1970;
use crate::commands::compare::changes_of_traces;
use crate::commands::one_state::of_one_state;
use crate::commands::report::run_page;
use crate::commands::scenario_changes::scenario_changes;
use crate::commands::show;
use crate::commands::transcript::{transcripts, transcripts_under};
use crate::error::{CliError, ErrorKind};
use crate::load::run_spec_of;
use crate::run_spec::RunSpec;

/// A page and what the server remembers of it.
pub(super) struct MadePage {
    pub(super) page: RenderedPage,
    pub(super) cacheable: bool,
    pub(super) outcomes: Option<KnownOutcomes>,
}

/// Makes a page. An error is a page too.
pub(super) fn make(folder: &RunFolder, request: &PageRequest) -> MadePage {
    let (mut cacheable, mut outcomes) = (false, None);
    let answer = match request {
        PageRequest::List(known) => {
            let mut known = known.clone();
            let answer = list(folder, &mut known);
            outcomes = Some(known);
            answer
        }
        PageRequest::Run(name) => run(folder, name, &mut cacheable),
        PageRequest::Progress(name) => progress(folder, name),
        PageRequest::Json(name) => json(folder, name, &mut cacheable),
        PageRequest::Csv(name) => csv(folder, name, &mut cacheable),
        PageRequest::Episode { run, number, query } => episode(folder, run, number, query),
        PageRequest::Episodes { run, query } => episodes::list(folder, run, query),
        PageRequest::Compare(query) => compare(folder, query),
        PageRequest::History(known) => {
            let mut known = known.clone();
            let answer = history::history(folder, &mut known);
            outcomes = Some(known);
            answer
        }
    };
    let (page, cacheable) = match answer {
        Ok(answer) => (answer.into(), cacheable),
        Err(problem) => (problem.into(), false),
    };
    MadePage { page, cacheable, outcomes }
}

/// The list of runs.
fn list(folder: &RunFolder, known: &mut KnownOutcomes) -> PageResult {
    let path = folder.path();
    let read_error = |source| RunDirError::Io { operation: "read", path: path.to_owned(), source };
    let runs = folder.list(known).map_err(read_error)?;
    Ok(PageResponse::Page(html::runs(&path.to_string_lossy(), &runs)))
}

/// The page of a run: its report, or its progress if it is active.
fn run(folder: &RunFolder, name: &str, cacheable: &mut bool) -> PageResult {
    let (run, manifest) = open(folder, name)?;
    if let RunState::Running(progress) = run_state(&run, &manifest) {
        let update = ProgressUpdate::running(&manifest, progress, since_1970().as_secs());
        return Ok(PageResponse::Page(html::progress_page(name, &manifest, &update)));
    }
    let (run, manifest) = with_frames(run, manifest)?;
    let page = run_page(&run, &manifest, name, true)?;
    *cacheable = true;
    Ok(PageResponse::Page(page))
}

/// The progress of a run as JSON.
fn progress(folder: &RunFolder, name: &str) -> PageResult {
    let (run, manifest) = open(folder, name)?;
    let update = match run_state(&run, &manifest) {
        RunState::Running(progress) => ProgressUpdate::running(&manifest, progress, since_1970().as_secs()),
        RunState::Ended | RunState::Aborted => ProgressUpdate::ended(&manifest),
    };
    Ok(PageResponse::File(JSON, render::json(&update).map_err(CliError::from)?))
}

/// The report as JSON.
fn json(folder: &RunFolder, name: &str, cacheable: &mut bool) -> PageResult {
    let report = report(folder, name)?;
    *cacheable = true;
    Ok(PageResponse::File(JSON, render::json(&report).map_err(CliError::from)?))
}

/// The report as CSV.
fn csv(folder: &RunFolder, name: &str, cacheable: &mut bool) -> PageResult {
    let report = report(folder, name)?;
    *cacheable = true;
    Ok(PageResponse::File(CSV, render::csv(&report, false).map_err(CliError::from)?))
}

fn report(folder: &RunFolder, name: &str) -> Result<Report, ErrorPage> {
    let (run, manifest) = open_with_frames(folder, name)?;
    Ok(of_one_state(&run, &manifest, || Ok(summarize(&Rows(&run), &manifest, Scope::Full)?))?)
}

/// An episode, alone or next to another; with `.json` or `.md` after its number, its transcript in that form.
fn episode(folder: &RunFolder, name: &str, number: &str, query: &PageQuery) -> PageResult {
    let (run, manifest) = open_with_frames(folder, name)?;
    let no_episode = |number: &str| ErrorPage::not_found(&format!("the run has no episode `{number}`"));
    let parse_number = |number: &str| number.parse::<u64>().map_err(|_| no_episode(number));
    let (number, form) = number.split_once('.').map_or((number, None), |(number, form)| (number, Some(form)));
    let versus: Vec<&str> = query.versus.split(',').filter(|part| !part.is_empty()).take(html::MAX_VERSUS).collect();
    let names: Vec<&str> = [number].into_iter().chain(versus).collect();
    let numbers: Vec<u64> = names.iter().map(|number| parse_number(number)).collect::<Result<_, _>>()?;
    let run_spec = run_spec_of(&run, manifest.plan)?;
    let mut shown: Vec<Transcript> = Vec::new();
    for (transcript, number) in transcripts(&run, &run_spec, &numbers)?.into_iter().zip(names) {
        shown.push(match transcript {
            Err(error) if error.kind == ErrorKind::UnknownEpisode => return Err(no_episode(number)),
            transcript => transcript?,
        });
    }
    match (form, shown.first()) {
        (None, _) => {}
        (Some("json"), Some(transcript)) => {
            return Ok(PageResponse::File(JSON, render::json(transcript).map_err(CliError::from)?));
        }
        (Some("md"), Some(transcript)) => return Ok(PageResponse::File(TEXT, render::markdown_transcript(transcript))),
        _ => return Err(no_episode(number)),
    }
    if let Some(transcript) = under_other_condition(&run, &run_spec, numbers[0], query)? {
        shown.push(transcript);
    }
    let neighbors = super::episodes::neighbors((&run, &run_spec.plan), query.filter.clone(), numbers[0])?;
    let page = EpisodePage {
        name,
        episode: numbers[0],
        plan: &run_spec.plan,
        versus: &numbers[1..],
        transcripts: &shown,
        neighbors: &neighbors,
    };
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
    let condition = show::resolve_condition(&run_spec.plan, Some(base), guardrails, format.as_deref())?;
    let known = run_spec.plan.find(&condition);
    let mut transcripts = match known {
        Some(condition) => transcripts(run, run_spec, &[run_spec.plan.episode(CellRef { condition, ..cell })])?,
        None => transcripts_under(run, run_spec, &[(cell, condition)])?,
    };
    transcripts.pop().transpose()
}

/// Rejects templates that are not in the plan, so that a request cannot read files.
fn check_format(plan: &Plan, value: &str) -> Result<(), CliError> {
    let in_plan = plan.conditions.iter().any(|condition| condition.format().name() == value);
    if in_plan { Ok(()) } else { Ok(value.parse::<ErrorFormat>().map(drop)?) }
}

/// The comparison of two runs.
fn compare(folder: &RunFolder, query: &CompareQuery) -> PageResult {
    if query.base.is_empty() || query.candidate.is_empty() {
        return Err(ErrorPage::new(StatusCode::BAD_REQUEST, "choose two runs to compare"));
    }
    let (base, base_manifest) = open_with_frames(folder, &query.base)?;
    let (candidate, manifest) = open_with_frames(folder, &query.candidate)?;
    if base_manifest.plan.is_trace() && manifest.plan.is_trace() {
        let found = &changes_of_traces([(&base, &base_manifest), (&candidate, &manifest)])?;
        let names = [query.base.as_str(), query.candidate.as_str()];
        return Ok(PageResponse::Page(html::trace_changes(&TraceChangesPage { names, found, served: true })));
    }
    let sides = (
        Side { name: &query.base, run: &Rows(&base), manifest: &base_manifest },
        Side { name: &query.candidate, run: &Rows(&candidate), manifest: &manifest },
    );
    let comparison = of_one_state(&base, &base_manifest, || {
        of_one_state(&candidate, &manifest, || Ok(compare_runs(sides.0, sides.1)?))
    })?;
    let changes = scenario_changes((&base, &base_manifest.plan), (&candidate, &manifest.plan));
    let [base, candidate] = [&query.base, &query.candidate].map(|name| html::run_address(name));
    let page =
        ComparisonPage { comparison: &comparison, addresses: Some([&base, &candidate]), scenario_changes: &changes };
    Ok(PageResponse::Page(html::comparison(&page)))
}
