//! Runs in a browser. The server reads and never writes, and it answers this machine alone.

mod answer;
mod folder;
mod guard;
mod pages;
mod shelf;

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

use self::answer::{Answer, Asked, Problem};
use self::folder::Folder;
use self::guard::{Guard, guard};
use self::shelf::{Counts, Shelf};
use crate::args::ViewArgs;
use crate::error::{CliError, ExitStatus};
use crate::terminal::Terminal;

/// Reports, comparisons and playbacks that are made at the same time: each may take much memory.
const AT_ONCE: usize = 2;
/// How long answers under way may still take when the server ends.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// What the server knows.
struct Viewer {
    folder: Folder,
    shelf: Shelf,
    counts: Counts,
    room: Arc<Semaphore>,
}

/// Serves the runs of a folder until it is interrupted.
pub(crate) fn view(args: &ViewArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let folder = Folder::open(&args.folder)?;
    let refused = |source| CliError::Port { port: args.port, source };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    let port = listener.local_addr().map_err(refused)?.port();
    let ended = Arc::new(Notify::new());
    let end = Arc::clone(&ended);
    ctrlc::set_handler(move || end.notify_one())?;
    let viewer =
        Viewer { folder, shelf: Shelf::default(), counts: Counts::default(), room: Arc::new(Semaphore::new(AT_ONCE)) };
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().map_err(CliError::Network)?;
    terminal.result(&format!("http://127.0.0.1:{port}/\n"))?;
    terminal.note("only this machine can open it; Ctrl-C ends it");
    let served = runtime.block_on(serve(listener, router(viewer, Guard::new(port)), &ended));
    // A report that is being made does not keep anybody waiting.
    runtime.shutdown_background();
    served.map_err(CliError::Network)?;
    Ok(ExitStatus::Fine)
}

async fn serve(listener: TcpListener, router: Router, ended: &Arc<Notify>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = axum::serve(listener, router).with_graceful_shutdown(async {
        // An error means that nobody will send: that is the end as well.
        let _ = stopped.await;
    });
    let mut server = std::pin::pin!(server.into_future());
    tokio::select! {
        result = &mut server => return result,
        () = ended.notified() => {}
    }
    drop(stop);
    tokio::time::timeout(LAST_ANSWERS, server).await.unwrap_or(Ok(()))
}

fn router(viewer: Viewer, rules: Guard) -> Router {
    Router::new()
        .route("/", get(list))
        .route("/compare", get(compare))
        .route("/runs/{name}", get(moved))
        .route("/runs/{name}/", get(run))
        .route("/runs/{name}/progress", get(progress))
        .route("/runs/{name}/report.json", get(json))
        .route("/runs/{name}/report.csv", get(csv))
        .route("/runs/{name}/episodes/{number}", get(episode))
        .fallback(nothing)
        .layer(from_fn_with_state(Arc::new(rules), guard))
        .with_state(Arc::new(viewer))
}

type Shared = State<Arc<Viewer>>;
type Made = Result<Answer, Problem>;

async fn list(State(viewer): Shared) -> Response {
    blocking(viewer, pages::list).await
}

async fn moved(State(viewer): Shared, Asked(Path(name)): Asked<Path<String>>) -> Response {
    blocking(viewer, move |viewer| pages::moved(viewer, &name)).await
}

async fn progress(State(viewer): Shared, Asked(Path(name)): Asked<Path<String>>) -> Response {
    blocking(viewer, move |viewer| pages::progress(viewer, &name)).await
}

async fn run(State(viewer): Shared, Asked(Path(name)): Asked<Path<String>>) -> Response {
    heavy(viewer, move |viewer| pages::run(viewer, &name)).await
}

async fn json(State(viewer): Shared, Asked(Path(name)): Asked<Path<String>>) -> Response {
    heavy(viewer, move |viewer| pages::json(viewer, &name)).await
}

async fn csv(State(viewer): Shared, Asked(Path(name)): Asked<Path<String>>) -> Response {
    heavy(viewer, move |viewer| pages::csv(viewer, &name)).await
}

async fn episode(
    State(viewer): Shared,
    Asked(Path((name, number))): Asked<Path<(String, String)>>,
    Asked(Query(wish)): Asked<Query<pages::Wish>>,
) -> Response {
    heavy(viewer, move |viewer| pages::episode(viewer, &name, &number, &wish)).await
}

async fn compare(State(viewer): Shared, Asked(Query(sides)): Asked<Query<pages::Sides>>) -> Response {
    heavy(viewer, move |viewer| pages::compare(viewer, &sides)).await
}

async fn nothing() -> Response {
    Problem::missing("there is no such page").into()
}

/// Makes an answer on a thread that may wait for the disk.
async fn blocking(viewer: Arc<Viewer>, make: impl FnOnce(&Viewer) -> Made + Send + 'static) -> Response {
    match tokio::task::spawn_blocking(move || make(&viewer)).await {
        Ok(Ok(answer)) => answer.into(),
        Ok(Err(problem)) => problem.into(),
        // A panic told its own message on standard error.
        Err(_) => {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "a defect of healbench kept the page from being made")
                .into()
        }
    }
}

/// Makes an answer that may take a while, when there is room for it.
async fn heavy(viewer: Arc<Viewer>, make: impl FnOnce(&Viewer) -> Made + Send + 'static) -> Response {
    // It is never closed; without room, there is no answer.
    let Ok(room) = Arc::clone(&viewer.room).acquire_owned().await else { return nothing().await };
    // Whoever asked may be gone before the work is done: the room is taken until then.
    blocking(viewer, move |viewer| {
        let made = make(viewer);
        drop(room);
        made
    })
    .await
}
