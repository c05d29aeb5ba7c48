//! A server that does what no server should: it is written on bare sockets, since libraries do not let one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// How long a server that stalls is silent before it closes the connection. A test of a limit ends before.
pub(crate) const SILENCE: Duration = Duration::from_secs(120);

/// The server's reaction to a request.
pub(crate) enum ServerAction {
    /// An ordinary answer, after which the connection is kept.
    Answer { status: u16, headers: Vec<(&'static str, String)>, body: String },
    /// These bytes, and the end of the connection.
    Raw(Vec<u8>),
    /// These bytes, and [`SILENCE`].
    Stall(Vec<u8>),
    /// An answer with status 200 of so many bytes, in chunks without a length.
    Flood(usize),
    /// The connection is reset.
    Reset,
}

pub(crate) fn json(status: u16, body: &str) -> ServerAction {
    with(status, &[], body)
}

pub(crate) fn with(status: u16, headers: &[(&'static str, &str)], body: &str) -> ServerAction {
    let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        headers.push(("content-type", "application/json".to_owned()));
    }
    ServerAction::Answer { status, headers, body: body.to_owned() }
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    /// Request line and headers.
    pub(crate) head: String,
    pub(crate) body: String,
}

type Script = dyn Fn(usize, &ReceivedRequest) -> ServerAction + Send + Sync;

pub(crate) struct HostileServer {
    /// Without a slash at the end.
    pub(crate) url: String,
    state: Arc<State>,
    /// Dropped with the server, and its connections with it.
    runtime: Option<Runtime>,
}

struct State {
    script: Box<Script>,
    received: Mutex<Vec<ReceivedRequest>>,
    connections: AtomicUsize,
    sent: AtomicUsize,
}

impl HostileServer {
    /// Does what `script` says with the request of each number, from 0.
    pub(crate) fn start(
        script: impl Fn(usize, &ReceivedRequest) -> ServerAction + Send + Sync + 'static,
    ) -> HostileServer {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State {
            script: Box::new(script),
            received: Mutex::default(),
            connections: AtomicUsize::new(0),
            sent: AtomicUsize::new(0),
        });
        runtime.spawn(accept(listener, Arc::clone(&state)));
        HostileServer { url, state, runtime: Some(runtime) }
    }

    pub(crate) fn received(&self) -> Vec<ReceivedRequest> {
        self.state.received.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Bytes of a flood that were taken from it.
    pub(crate) fn sent(&self) -> usize {
        self.state.sent.load(Ordering::SeqCst)
    }
}

impl Drop for HostileServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        state.connections.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(serve(stream, Arc::clone(&state)));
    }
}

/// Answers the requests of a connection until one ends it.
async fn serve(mut stream: TcpStream, state: Arc<State>) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut buffer = Vec::new();
    loop {
        let received = read(&mut stream, &mut buffer).await?;
        let number = {
            let mut all = state.received.lock().unwrap();
            all.push(received.clone());
            all.len() - 1
        };
        match (state.script)(number, &received) {
            ServerAction::Answer { status, headers, body } => {
                let mut text = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
                headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
                text.push_str("\r\n");
                text.push_str(&body);
                stream.write_all(text.as_bytes()).await.ok()?;
            }
            ServerAction::Raw(bytes) => return stream.write_all(&bytes).await.ok(),
            ServerAction::Stall(bytes) => {
                stream.write_all(&bytes).await.ok()?;
                tokio::time::sleep(SILENCE).await;
            }
            ServerAction::Flood(bytes) => return flood(&mut stream, bytes, &state.sent).await,
            ServerAction::Reset => return stream.set_zero_linger().ok(),
        }
    }
}

async fn flood(stream: &mut TcpStream, bytes: usize, sent: &AtomicUsize) -> Option<()> {
    const CHUNK: usize = 1 << 16;
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head).await.ok()?;
    let chunk = format!("{CHUNK:x}\r\n{}\r\n", " ".repeat(CHUNK));
    for _ in 0..bytes / CHUNK {
        stream.write_all(chunk.as_bytes()).await.ok()?;
        sent.fetch_add(CHUNK, Ordering::SeqCst);
    }
    stream.write_all(b"0\r\n\r\n").await.ok()
}

/// The next request on a connection; `None` at its end.
async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<ReceivedRequest> {
    let end = loop {
        match buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            Some(at) => break at + 4,
            None if stream.read_buf(buffer).await.ok()? == 0 => return None,
            None => {}
        }
    };
    let head = String::from_utf8(buffer[..end].to_vec()).unwrap();
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let length: usize = length.unwrap_or(0);
    while buffer.len() < end + length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8(buffer[end..end + length].to_vec()).unwrap();
    buffer.drain(..end + length);
    Some(ReceivedRequest { head, body })
}
