//! Pages, each made by a limited process of its own: the server itself reads no file of a run.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::AppState;
use super::cache::{CacheKey, KnownOutcomes};
use super::folder::RunFolder;
use super::pages::{self, MadePage};
use super::request::PageRequest;
use super::response::{ErrorPage, RenderedPage};
use crate::args::PageArgs;
use crate::error::{CliError, ExitStatus};
use crate::limited::{self, Ended, FAILURE_HELP, LimitedProcess, process_error};
use crate::terminal::Terminal;

/// A page as its process writes it: this as a line of JSON, and then its text.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PageHead {
    status: u16,
    content_type: String,
    /// True if it is the same until the manifest of its run changes.
    cacheable: bool,
    /// The outcomes of the listed runs.
    outcomes: Option<KnownOutcomes>,
}

/// Makes the page that the first line of standard input requests, in the folder that the arguments name.
pub(crate) fn page(args: &PageArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let input = limited::enter().map_err(process_error)?;
    let request: PageRequest = serde_json::from_str(&input)?;
    let folder = RunFolder::open(&args.folder)?;
    let MadePage { page, cacheable, outcomes } = pages::make(&folder, &request);
    let head = PageHead { status: page.status.as_u16(), content_type: page.content_type, cacheable, outcomes };
    terminal.result(&format!("{}\n{}", serde_json::to_string(&head)?, page.text))?;
    Ok(ExitStatus::Success)
}

/// Returns a page that was made before, or makes it within the time limit of all pages.
pub(super) async fn make(app: Arc<AppState>, request: PageRequest) -> Arc<RenderedPage> {
    let most = app.page_time;
    make_within(app, request, most).await
}

/// Returns a page that was made before, or makes it within a time limit.
pub(super) async fn make_within(app: Arc<AppState>, request: PageRequest, most: Duration) -> Arc<RenderedPage> {
    let deadline = Instant::now() + most;
    let made = tokio::time::timeout_at(deadline, Box::pin(place(&app, &request))).await;
    let Ok(_place) = made else { return Arc::new(too_slow(most).into()) };
    let cache = request.cache_name().map(|(run, kind)| (run.to_owned(), kind));
    // The key is read first: if the run changes while its page is made, the next request makes it again.
    let mut key = None;
    if let Some((run, kind)) = cache.clone() {
        let app = Arc::clone(&app);
        let known = blocking(move || {
            let key = CacheKey::of_unlocked_run(&app.folder.find(&run)?)?;
            Some((key, app.cache.get(&run, kind, key)))
        });
        match known.await.flatten() {
            Some((_, Some(page))) => return page,
            Some((known, None)) => key = Some(known),
            None => {}
        }
    }
    let mut command = (app.page_command)();
    command.arg("page").arg(app.folder.path());
    let made = match make_in_process(command, &request, deadline).await {
        Ok(Some(made)) => made,
        Ok(None) => return Arc::new(too_slow(most).into()),
        Err(problem) => return Arc::new(problem.into()),
    };
    if let Some(outcomes) = made.outcomes {
        app.remember_outcomes(outcomes);
    }
    let page = Arc::new(made.page);
    if let (Some((run, kind)), Some(key), true) = (cache, key, made.cacheable) {
        app.cache.insert(run, kind, key, Arc::clone(&page));
    }
    page
}

/// Waits until no other page of the run is being made, and there is a process for this one.
async fn place(app: &AppState, request: &PageRequest) -> Place {
    let run = match request.run() {
        Some(run) => Some(app.lock_run(run).await),
        None => None,
    };
    let processes = if request.is_light() { &app.light_processes } else { &app.processes };
    // The semaphore is never closed.
    let process = Arc::clone(processes).acquire_owned().await.ok();
    Place { _run: run, _process: process }
}

/// The right to make a page of a run.
struct Place {
    _run: Option<tokio::sync::OwnedMutexGuard<()>>,
    _process: Option<tokio::sync::OwnedSemaphorePermit>,
}

/// Makes a page in a process. Returns `None` if it takes too long; the process has ended then.
async fn make_in_process(
    command: Command,
    request: &PageRequest,
    deadline: Instant,
) -> Result<Option<MadePage>, ErrorPage> {
    let input = serde_json::to_string(request).map_err(CliError::from)?;
    let started = blocking(move || LimitedProcess::start(command, &input, Stdio::piped())).await;
    let process = started.ok_or_else(defect)?.map_err(process_error)?;
    let end = process.killer();
    let mut ended = std::pin::pin!(blocking(move || process.wait()));
    let ended = tokio::select! {
        ended = &mut ended => ended,
        () = tokio::time::sleep_until(deadline) => {
            end();
            ended.await;
            return Ok(None);
        }
    };
    let ended = ended.ok_or_else(defect)?.map_err(process_error)?;
    made_page(&ended).map(Some)
}

fn made_page(ended: &Ended) -> Result<MadePage, ErrorPage> {
    if let Some(reason) = ended.failure() {
        return Err(CliError::new(reason).help(FAILURE_HELP).into());
    }
    if !ended.status.success() {
        return Err(defect());
    }
    let end = ended.stdout.iter().position(|byte| *byte == b'\n').ok_or_else(defect)?;
    let (head, text) = (&ended.stdout[..end], &ended.stdout[end + 1..]);
    let head: PageHead = serde_json::from_slice(head).map_err(|_| defect())?;
    let page = RenderedPage {
        status: StatusCode::from_u16(head.status).map_err(|_| defect())?,
        content_type: head.content_type,
        text: String::from_utf8(text.to_owned()).map_err(|_| defect())?,
    };
    Ok(MadePage { page, cacheable: head.cacheable, outcomes: head.outcomes })
}

/// Returns the result of work that blocks; `None` if it panicked.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

pub(super) fn defect() -> ErrorPage {
    ErrorPage::new(StatusCode::INTERNAL_SERVER_ERROR, "a bug in healbench prevented the page from being rendered")
}

fn too_slow(most: Duration) -> ErrorPage {
    ErrorPage::new(StatusCode::SERVICE_UNAVAILABLE, &format!("the page was not rendered within {} s", most.as_secs()))
        .help("`healbench report` and `healbench show` have no time limit")
}

#[cfg(target_os = "linux")]
#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
