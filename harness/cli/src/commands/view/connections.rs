//! Accepts connections, and closes those that keep others from being answered.
//!
//! A connection is *waiting* unless an answer for it is being made. One that waits longer than [`Limits::waiting`] is closed:
//! its client is idle, sends a request byte by byte, or does not take the answer. At the limit of connections, the one that
//! has waited longest makes room for a new one.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// The limits of a server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The number of connections.
    pub(super) connections: u32,
    /// The time between an answer, or the start of the connection, and the end of the next request's head. An answer has to be
    /// taken within it.
    pub(super) waiting: Duration,
    /// The time that answers have when the server shuts down.
    pub(super) shutdown: Duration,
}

/// The time after which a failed attempt to accept or close a connection is repeated.
const RETRY: Duration = Duration::from_millis(50);

/// The largest head of a request, in bytes.
const MAX_HEAD: usize = 64 << 10;

/// Answers requests until `stop` is ready.
pub(super) async fn serve(listener: TcpListener, router: Router, limits: Limits, stop: impl Future<Output = ()>) {
    let connections = Connections::default();
    let places = Arc::new(Semaphore::new(limits.connections as usize));
    let (stopping, stopped) = watch::channel(false);
    let accept_all = async {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let place = connections.place(&places).await;
                    connections.start(stream, place, router.clone(), limits.waiting, stopped.clone());
                }
                Err(error) if is_of_connection(&error) => {}
                // Such as too many open files.
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    };
    tokio::select! {
        () = accept_all => {}
        () = stop => {}
    }
    drop(listener);
    let _ = stopping.send(true);
    let _ = tokio::time::timeout(limits.shutdown, places.acquire_many(limits.connections)).await;
}

/// Returns true if the error is of a connection that the client closed before it was accepted.
fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// The open connections, in the order in which they were accepted.
#[derive(Clone, Default)]
struct Connections(Arc<Mutex<BTreeMap<u64, Connection>>>);

struct Connection {
    state: Arc<Mutex<State>>,
    task: AbortHandle,
}

/// The state of a connection.
#[derive(Debug, Clone, Copy)]
struct State {
    /// The number of answers that are being made.
    answering: u32,
    /// The time of the last answer, or of the start.
    waiting_since: Instant,
}

impl Connections {
    /// Returns a place for a new connection, once there is one.
    async fn place(&self, places: &Arc<Semaphore>) -> OwnedSemaphorePermit {
        loop {
            if let Ok(place) = Arc::clone(places).try_acquire_owned() {
                return place;
            }
            self.close_longest_waiting();
            // The semaphore is never closed; a connection that was closed gives its place back once its task has ended.
            if let Ok(Ok(place)) = tokio::time::timeout(RETRY, Arc::clone(places).acquire_owned()).await {
                return place;
            }
        }
    }

    fn close_longest_waiting(&self) {
        let connections = lock(&self.0);
        let waiting = connections.values().filter_map(|connection| {
            let state = *lock(&connection.state);
            (state.answering == 0).then_some((state.waiting_since, connection))
        });
        if let Some((_, connection)) = waiting.min_by_key(|(since, _)| *since) {
            connection.task.abort();
        }
    }

    fn start(
        &self,
        stream: TcpStream,
        place: OwnedSemaphorePermit,
        router: Router,
        most_waiting: Duration,
        stopped: watch::Receiver<bool>,
    ) {
        let state = Arc::new(Mutex::new(State { answering: 0, waiting_since: Instant::now() }));
        let mut connections = lock(&self.0);
        let number = connections.last_key_value().map_or(0, |(last, _)| last + 1);
        let end = EndOfConnection { connections: self.clone(), number, _place: place };
        let of_task = Arc::clone(&state);
        let task = tokio::spawn(async move {
            let _end = end;
            tokio::select! {
                () = answer_requests(stream, router, &of_task, stopped) => {}
                () = waited_for(most_waiting, &of_task) => {}
            }
        });
        // The task cannot end before this, since its end takes the lock.
        connections.insert(number, Connection { state, task: task.abort_handle() });
    }
}

/// Removes a connection when its task ends in any way, and gives its place back.
struct EndOfConnection {
    connections: Connections,
    number: u64,
    _place: OwnedSemaphorePermit,
}

impl Drop for EndOfConnection {
    fn drop(&mut self) {
        lock(&self.connections.0).remove(&self.number);
    }
}

/// Answers the requests of a connection until either side closes it.
async fn answer_requests(
    stream: TcpStream,
    router: Router,
    state: &Arc<Mutex<State>>,
    mut stopped: watch::Receiver<bool>,
) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(|request: Request<Incoming>| {
        let answering = Answering::start(state);
        let answer = router.call(request);
        async move {
            let answer = answer.await;
            drop(answering);
            answer
        }
    });
    let mut connection =
        pin!(http1::Builder::new().max_buf_size(MAX_HEAD).serve_connection(TokioIo::new(stream), service));
    // Errors are those of one client.
    tokio::select! {
        _ = &mut connection => return,
        // An error means that the server is gone.
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// Waits until the connection has waited this long.
async fn waited_for(most: Duration, state: &Mutex<State>) {
    loop {
        let State { answering, waiting_since } = *lock(state);
        let until = if answering > 0 { Instant::now() + most } else { waiting_since + most };
        if until <= Instant::now() {
            return;
        }
        tokio::time::sleep_until(until).await;
    }
}

/// An answer that is being made.
struct Answering(Arc<Mutex<State>>);

impl Answering {
    fn start(state: &Arc<Mutex<State>>) -> Answering {
        lock(state).answering += 1;
        Answering(Arc::clone(state))
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let mut state = lock(&self.0);
        state.answering -= 1;
        state.waiting_since = Instant::now();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
