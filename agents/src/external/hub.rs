//! The socket of an episode: the sessions of one program, all of which act on the same state.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use healbench_core::CallResult;
use healbench_mcp::{Incoming, IncomingCall, Line, ToolServer, call_outcome, read_line};

/// Something that happened in an episode.
pub(super) enum Event {
    Call(SocketCall),
    Line(Line),
    OutputEnded,
}

/// The sessions that may be open at once.
const MAX_CONNECTIONS: usize = 32;
/// The bytes that a line of a client may have. What is kept of a call is a row, which has its arguments.
const MAX_CLIENT_LINE: usize = 1 << 20;
/// The time in which a client has to make room for a line.
const WRITE_TIME: Duration = Duration::from_secs(5);

/// The open sessions. All of them end when this value is dropped.
pub(super) struct Hub {
    shared: Arc<Shared>,
    address: PathBuf,
}

struct Shared {
    is_closed: AtomicBool,
    open: Mutex<BTreeMap<u32, Arc<Connection>>>,
    opened: AtomicU32,
    refused: AtomicU32,
    cancelled: AtomicU32,
}

pub(super) struct Connection {
    stream: UnixStream,
    /// Held while a line is written.
    writing: Mutex<()>,
    /// The calls that wait to be made, by the JSON of their ids; true if they were cancelled.
    waiting: Mutex<BTreeMap<String, bool>>,
}

/// A call of a session.
pub(super) struct SocketCall {
    pub(super) call: IncomingCall,
    connection: Arc<Connection>,
    shared: Arc<Shared>,
}

impl SocketCall {
    /// Returns false if the client cancelled the call before it was made.
    pub(super) fn begin(&self) -> bool {
        let is_cancelled = lock(&self.connection.waiting).remove(&self.call.id.to_string()).unwrap_or_default();
        if is_cancelled {
            self.shared.cancelled.fetch_add(1, Ordering::Relaxed);
        }
        !is_cancelled
    }

    /// Sends the result, if the session is still open.
    pub(super) fn answer(&self, result: CallResult) {
        self.connection.send(&self.call.answer(call_outcome(result)));
    }
}

impl Connection {
    /// Sends a line. A client that is gone is told by the end of its lines.
    fn send(&self, line: &[u8]) {
        let _guard = lock(&self.writing);
        if (&self.stream).write_all(line).is_err() {
            // What follows a part of a line would be of no use.
            let _ = self.stream.shutdown(Shutdown::Both);
        }
    }
}

impl Hub {
    /// Listens at a path, and passes calls on to `events`.
    pub(super) fn listen(address: &Path, server: ToolServer, events: SyncSender<Event>) -> io::Result<Hub> {
        let listener = UnixListener::bind(address)?;
        let shared = Arc::new(Shared {
            is_closed: AtomicBool::new(false),
            open: Mutex::default(),
            opened: AtomicU32::new(0),
            refused: AtomicU32::new(0),
            cancelled: AtomicU32::new(0),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.is_closed.load(Ordering::Acquire) {
                    return;
                }
                if let Ok(stream) = stream {
                    Shared::accept(&accepting, stream, &server, &events);
                }
            }
        });
        Ok(Hub { shared, address: address.to_owned() })
    }

    /// Returns the numbers of sessions opened and refused, and of calls cancelled.
    pub(super) fn counts(&self) -> [u32; 3] {
        let Shared { opened, refused, cancelled, .. } = &*self.shared;
        [opened, refused, cancelled].map(|count| count.load(Ordering::Relaxed))
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Release);
        // The thread that accepts sessions looks at the flag.
        let _ = UnixStream::connect(&self.address);
        for connection in lock(&self.shared.open).values() {
            let _ = connection.stream.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn accept(shared: &Arc<Shared>, stream: UnixStream, server: &ToolServer, events: &SyncSender<Event>) {
        let Ok(reading) = stream.try_clone() else { return };
        // A client that does not read must not hold the episode.
        let _ = stream.set_write_timeout(Some(WRITE_TIME));
        let connection = Arc::new(Connection { stream, writing: Mutex::default(), waiting: Mutex::default() });
        let mut open = lock(&shared.open);
        if open.len() >= MAX_CONNECTIONS {
            shared.refused.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let number = shared.opened.fetch_add(1, Ordering::Relaxed);
        open.insert(number, Arc::clone(&connection));
        drop(open);
        if shared.is_closed.load(Ordering::Acquire) {
            let _ = connection.stream.shutdown(Shutdown::Both);
        }
        let (shared, server, events) = (Arc::clone(shared), server.clone(), events.clone());
        thread::spawn(move || {
            Shared::read(&shared, reading, &connection, &server, &events);
            let _ = connection.stream.shutdown(Shutdown::Both);
            lock(&shared.open).remove(&number);
        });
    }

    /// Reads the lines of a client until it or the episode ends.
    fn read(
        shared: &Arc<Shared>,
        stream: UnixStream,
        connection: &Arc<Connection>,
        server: &ToolServer,
        events: &SyncSender<Event>,
    ) {
        let mut source = BufReader::new(stream);
        while let Ok(Some(line)) = read_line(&mut source, MAX_CLIENT_LINE) {
            let incoming = match line {
                Line::Bytes(line) => server.receive(&line),
                Line::TooLong => server.receive_too_long(),
            };
            match incoming {
                Incoming::Answer(line) => connection.send(&line),
                Incoming::Call(call) => {
                    lock(&connection.waiting).insert(call.id.to_string(), false);
                    let (connection, shared) = (Arc::clone(connection), Arc::clone(shared));
                    // The episode has ended, and with it the session.
                    if events.send(Event::Call(SocketCall { call, connection, shared })).is_err() {
                        return;
                    }
                }
                // A call that is being made, or was answered, is answered all the same.
                Incoming::Cancelled(id) => {
                    if let Some(is_cancelled) = lock(&connection.waiting).get_mut(&id.to_string()) {
                        *is_cancelled = true;
                    }
                }
                Incoming::Nothing => {}
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
