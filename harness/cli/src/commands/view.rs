//! Serves runs to a browser. The server only reads files, and only accepts connections from this machine.

mod cache;
mod folder;
mod guard;
mod pages;
mod response;

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::get;
use tokio::sync::{Notify, Semaphore};

use self::cache::{OutcomeCache, ReportCache, VerifiedRuns};
use self::folder::RunFolder;
use self::guard::{RequestGuard, check_request};
use self::response::{ErrorPage, Extract, PageResponse};
use crate::args::ViewArgs;
use crate::error::{CliError, ExitStatus};
use crate::terminal::Terminal;

/// The number of reports, comparisons and transcripts computed at the same time; each may need much memory.
const MAX_CONCURRENT_PAGES: usize = 2;
/// The time that pending responses have when the server shuts down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// The state shared by all requests.
struct AppState {
    folder: RunFolder,
    cache: ReportCache,
    outcomes: OutcomeCache,
    verified: VerifiedRuns,
    permits: Arc<Semaphore>,
}

/// Serves the runs of a folder until Ctrl-C.
pub(crate) fn view(args: &ViewArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let folder = RunFolder::open(&args.folder)?;
    let port_error = |source: io::Error| {
        CliError::new(format_args!("cannot listen on port {}: {source}", args.port))
            .help("choose another `--port`, or omit it to use any free port")
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(port_error)?;
    listener.set_nonblocking(true).map_err(port_error)?;
    let port = listener.local_addr().map_err(port_error)?.port();
    let interrupted = Arc::new(Notify::new());
    let on_interrupt = Arc::clone(&interrupted);
    ctrlc::set_handler(move || on_interrupt.notify_one())?;
    let app = AppState {
        folder,
        cache: ReportCache::default(),
        outcomes: OutcomeCache::default(),
        verified: VerifiedRuns::default(),
        permits: Arc::new(Semaphore::new(MAX_CONCURRENT_PAGES)),
    };
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().map_err(CliError::network)?;
    terminal.result(&format!("http://127.0.0.1:{port}/\n"))?;
    terminal.note("only this machine can open it; Ctrl-C ends it");
    let result = runtime.block_on(serve(listener, router(app, RequestGuard::new(port)), &interrupted));
    // Do not wait for a report that is being computed.
    runtime.shutdown_background();
    result.map_err(CliError::network)?;
    Ok(ExitStatus::Success)
}

async fn serve(listener: TcpListener, router: Router, interrupted: &Arc<Notify>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = axum::serve(listener, router).with_graceful_shutdown(async {
        // An error means that the sender was dropped, which also ends the server.
        let _ = stopped.await;
    });
    let mut server = std::pin::pin!(server.into_future());
    tokio::select! {
        result = &mut server => return result,
        () = interrupted.notified() => {}
    }
    drop(stop);
    tokio::time::timeout(SHUTDOWN_TIMEOUT, server).await.unwrap_or(Ok(()))
}

fn router(app: AppState, request_guard: RequestGuard) -> Router {
    Router::new()
        .route("/", get(list))
        .route("/compare", get(compare))
        .route("/runs/{name}", get(redirect))
        .route("/runs/{name}/", get(run))
        .route("/runs/{name}/progress", get(progress))
        .route("/runs/{name}/report.json", get(json))
        .route("/runs/{name}/report.csv", get(csv))
        .route("/runs/{name}/episodes/{number}", get(episode))
        .fallback(not_found)
        .layer(from_fn_with_state(Arc::new(request_guard), check_request))
        .with_state(Arc::new(app))
}

type SharedState = State<Arc<AppState>>;
type PageResult = Result<PageResponse, ErrorPage>;

async fn list(State(app): SharedState) -> Response {
    blocking(app, pages::list).await
}

async fn redirect(State(app): SharedState, Extract(Path(name)): Extract<Path<String>>) -> Response {
    blocking(app, move |app| pages::redirect(app, &name)).await
}

async fn progress(State(app): SharedState, Extract(Path(name)): Extract<Path<String>>) -> Response {
    blocking(app, move |app| pages::progress(app, &name)).await
}

async fn run(State(app): SharedState, Extract(Path(name)): Extract<Path<String>>) -> Response {
    blocking_limited(app, move |app| pages::run(app, &name)).await
}

async fn json(State(app): SharedState, Extract(Path(name)): Extract<Path<String>>) -> Response {
    blocking_limited(app, move |app| pages::json(app, &name)).await
}

async fn csv(State(app): SharedState, Extract(Path(name)): Extract<Path<String>>) -> Response {
    blocking_limited(app, move |app| pages::csv(app, &name)).await
}

async fn episode(
    State(app): SharedState,
    Extract(Path((name, number))): Extract<Path<(String, String)>>,
    Extract(Query(query)): Extract<Query<pages::PageQuery>>,
) -> Response {
    blocking_limited(app, move |app| pages::episode(app, &name, &number, &query)).await
}

async fn compare(State(app): SharedState, Extract(Query(query)): Extract<Query<pages::CompareQuery>>) -> Response {
    blocking_limited(app, move |app| pages::compare(app, &query)).await
}

async fn not_found() -> Response {
    ErrorPage::not_found("there is no such page").into()
}

/// Computes a response on a thread for blocking work.
async fn blocking(app: Arc<AppState>, make: impl FnOnce(&AppState) -> PageResult + Send + 'static) -> Response {
    match tokio::task::spawn_blocking(move || make(&app)).await {
        Ok(Ok(answer)) => answer.into(),
        Ok(Err(problem)) => problem.into(),
        // The panic handler has already printed the message.
        Err(_) => {
            ErrorPage::new(StatusCode::INTERNAL_SERVER_ERROR, "a defect of healbench kept the page from being made")
                .into()
        }
    }
}

/// Computes an expensive response when a permit is free.
async fn blocking_limited(app: Arc<AppState>, make: impl FnOnce(&AppState) -> PageResult + Send + 'static) -> Response {
    // The semaphore is never closed.
    let Ok(permit) = Arc::clone(&app.permits).acquire_owned().await else { return not_found().await };
    // The client may disconnect before the work is done, so the work holds the permit.
    blocking(app, move |app| {
        let result = make(app);
        drop(permit);
        result
    })
    .await
}
