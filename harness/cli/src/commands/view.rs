//! Serves runs to a browser. The server only accepts connections from this machine, and limited processes read the files.

mod cache;
mod connections;
mod episodes;
mod folder;
pub(super) mod guard;
mod history;
mod open;
mod page;
mod pages;
mod request;
mod response;
mod waiting;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, header};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::get;
use healbench_render::html::run_address;
use tokio::sync::{Notify, OwnedMutexGuard, Semaphore};

use self::cache::{KnownOutcomes, PageCache};
use self::connections::Limits;
use self::folder::RunFolder;
use self::guard::{RequestGuard, check_request};
pub(crate) use self::page::page;
use self::request::{CompareQuery, EpisodesQuery, PageQuery, PageRequest};
use self::response::{ErrorPage, Extract, JSON, PageResponse, RenderedPage};
use self::waiting::{PATIENCE, WaitingReports};
use crate::args::ViewArgs;
use crate::clock::has_http_date;
use crate::error::{CliError, ExitStatus};
use crate::limited;
use crate::signals::on_signal;
use crate::terminal::Terminal;

/// The number of reports, comparisons and transcripts made at the same time; each may need much memory.
const MAX_PROCESSES: usize = 3;
/// The number of lists and states of runs made at the same time.
const MAX_LIGHT_PROCESSES: usize = 3;
/// The time for a page, from the request to the answer.
const PAGE_TIME: Duration = Duration::from_secs(60);
/// The limits of connections. A browser opens up to six.
const LIMITS: Limits = Limits { connections: 128, waiting: Duration::from_secs(30), shutdown: Duration::from_secs(1) };

/// The state shared by all requests.
struct AppState {
    folder: RunFolder,
    cache: PageCache,
    outcomes: Mutex<KnownOutcomes>,
    /// The locks of the runs whose pages are being made.
    runs: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>,
    waiting: WaitingReports,
    processes: Arc<Semaphore>,
    light_processes: Arc<Semaphore>,
    page_time: Duration,
    /// Returns the program that makes a page, without arguments.
    page_command: fn() -> Command,
}

impl AppState {
    fn new(folder: RunFolder, page_time: Duration, page_command: fn() -> Command) -> AppState {
        AppState {
            folder,
            cache: PageCache::default(),
            outcomes: Mutex::default(),
            runs: Mutex::default(),
            waiting: WaitingReports::default(),
            processes: Arc::new(Semaphore::new(MAX_PROCESSES)),
            light_processes: Arc::new(Semaphore::new(MAX_LIGHT_PROCESSES)),
            page_time,
            page_command,
        }
    }

    /// Waits until no other page of a run is being made.
    async fn lock_run(&self, name: &str) -> OwnedMutexGuard<()> {
        let lock = {
            let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
            // The map holds the only reference to a lock that is not used.
            runs.retain(|_, lock| Arc::strong_count(lock) > 1);
            Arc::clone(runs.entry(name.to_owned()).or_default())
        };
        lock.lock_owned().await
    }

    fn known_outcomes(&self) -> KnownOutcomes {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember_outcomes(&self, outcomes: KnownOutcomes) {
        *self.outcomes.lock().unwrap_or_else(PoisonError::into_inner) = outcomes;
    }
}

/// Serves the runs of a folder until Ctrl-C.
pub(crate) fn view(args: &ViewArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let folder = RunFolder::open(&args.folder)?;
    if !has_http_date(SystemTime::now()) {
        return Err(CliError::new("the clock of this machine is before 1970 or after 9999, outside of HTTP dates")
            .help("set the clock, or write a page with `healbench report RUN --output html=FILE`"));
    }
    let port_error = |source: io::Error| {
        CliError::new(format_args!("cannot listen on port {}: {source}", args.port))
            .help("choose another `--port`, or omit it to use any free port")
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(port_error)?;
    listener.set_nonblocking(true).map_err(port_error)?;
    let port = listener.local_addr().map_err(port_error)?.port();
    let interrupted = Arc::new(Notify::new());
    let on_interrupt = Arc::clone(&interrupted);
    on_signal(move || on_interrupt.notify_one())?;
    let app = AppState::new(folder, PAGE_TIME, limited::program);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().map_err(CliError::network)?;
    terminal.result(&format!("http://127.0.0.1:{port}/\n"))?;
    terminal.note("only this machine can open it; Ctrl-C ends it");
    if args.open {
        open_browser(&format!("http://127.0.0.1:{port}/"), terminal);
    }
    let result = runtime.block_on(serve(listener, router(app, RequestGuard::new(port)), &interrupted));
    // Do not wait for a report that is being computed.
    runtime.shutdown_background();
    result.map_err(CliError::network)?;
    Ok(ExitStatus::Success)
}

/// Opens an address in the default browser.
pub(super) fn open_browser(address: &str, terminal: &Terminal) {
    let (program, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/C", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // It may run as long as the browser; nothing waits for it but this thread.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => terminal.warn(&format!("cannot start `{program}`: {error}; open {address} yourself")),
    }
}

async fn serve(listener: TcpListener, router: Router, interrupted: &Arc<Notify>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    connections::serve(listener, router, LIMITS, interrupted.notified()).await;
    Ok(())
}

fn router(app: AppState, request_guard: RequestGuard) -> Router {
    Router::new()
        .route("/", get(list))
        .route("/compare", get(compare))
        .route("/history", get(history))
        .route("/runs/{name}", get(redirect))
        .route("/runs/{name}/", get(run))
        .route("/runs/{name}/progress", get(progress))
        .route("/runs/{name}/ready", get(ready))
        .route("/runs/{name}/report.json", get(json))
        .route("/runs/{name}/report.csv", get(csv))
        .route("/runs/{name}/episodes", get(episodes))
        .route("/runs/{name}/episodes/{number}", get(episode))
        .fallback(not_found)
        .layer(from_fn_with_state(Arc::new(request_guard), check_request))
        .with_state(Arc::new(app))
}

type SharedState = State<Arc<AppState>>;
async fn list(State(app): SharedState) -> Response {
    let known = app.known_outcomes();
    make(app, PageRequest::List(known)).await
}

async fn redirect(State(app): SharedState, Extract(Path(name)): Extract<Path<String>>) -> Response {
    let found = tokio::task::spawn_blocking(move || app.folder.find(&name).map(|_| run_address(&name)).ok_or(name));
    match found.await {
        Ok(Ok(address)) => response::redirect(address),
        Ok(Err(name)) => open::run_not_found(&name).into(),
        Err(_) => page::defect().into(),
    }
}

async fn progress(State(app): SharedState, Extract(Path(name)): Extract<Path<String>>) -> Response {
    make(app, PageRequest::Progress(name)).await
}

/// The page of a run. A browser that would have to wait for it gets a page that waits; other programs get the report.
async fn run(State(app): SharedState, headers: HeaderMap, Extract(Path(name)): Extract<Path<String>>) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
    if !accepted.is_some_and(|accepted| accepted.contains("text/html")) {
        return make(app, PageRequest::Run(name)).await;
    }
    (&*waiting::run_page(app, name, PATIENCE).await).into()
}

/// Says if the report of a run need not be waited for any more.
async fn ready(State(app): SharedState, Extract(Path(name)): Extract<Path<String>>) -> Response {
    let text = format!("{{\"ended\":{}}}", !app.waiting.is_making(&name));
    (&RenderedPage::from(PageResponse::File(JSON, text))).into()
}

async fn json(State(app): SharedState, Extract(Path(name)): Extract<Path<String>>) -> Response {
    make(app, PageRequest::Json(name)).await
}

async fn csv(State(app): SharedState, Extract(Path(name)): Extract<Path<String>>) -> Response {
    make(app, PageRequest::Csv(name)).await
}

async fn episodes(
    State(app): SharedState,
    Extract(Path(name)): Extract<Path<String>>,
    Extract(Query(query)): Extract<Query<EpisodesQuery>>,
) -> Response {
    make(app, PageRequest::Episodes { run: name, query }).await
}

async fn episode(
    State(app): SharedState,
    Extract(Path((run, number))): Extract<Path<(String, String)>>,
    Extract(Query(query)): Extract<Query<PageQuery>>,
) -> Response {
    make(app, PageRequest::Episode { run, number, query }).await
}

async fn compare(State(app): SharedState, Extract(Query(query)): Extract<Query<CompareQuery>>) -> Response {
    make(app, PageRequest::Compare(query)).await
}

async fn history(State(app): SharedState) -> Response {
    let known = app.known_outcomes();
    make(app, PageRequest::History(known)).await
}

async fn not_found() -> Response {
    ErrorPage::not_found("page not found").into()
}

/// Makes a page. Its task ends the page's process in time, even if the client is gone.
async fn make(app: Arc<AppState>, request: PageRequest) -> Response {
    match tokio::spawn(page::make(app, request)).await {
        Ok(page) => (&*page).into(),
        Err(_) => page::defect().into(),
    }
}
