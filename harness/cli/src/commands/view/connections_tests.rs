use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream as Client};
use std::thread;

use axum::routing::get;

use super::*;

const GENEROUS: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);
/// More than the buffers of two sockets hold.
const LARGE: usize = 64 << 20;

/// A server of quick, endless and large answers, on a thread of its own.
struct Server {
    address: SocketAddr,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    fn start(connections: u32, waiting: Duration) -> Server {
        let limits = Limits { connections, waiting, shutdown: Duration::from_millis(200) };
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let thread = thread::spawn(move || {
            let router = Router::new()
                .route("/quick", get(async || "quick"))
                .route("/endless", get(async || std::future::pending::<&str>().await))
                .route("/large", get(async || "x".repeat(LARGE)));
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                let stop = async {
                    let _ = stopped.await;
                };
                serve(listener, router, limits, stop).await;
            });
        });
        Server { address, stop: Some(stop), thread: Some(thread) }
    }

    fn connect(&self) -> Client {
        let client = Client::connect(self.address).unwrap();
        client.set_read_timeout(Some(GENEROUS)).unwrap();
        client
    }

    fn requested(&self, path: &str) -> Client {
        let mut client = self.connect();
        write!(client, "GET {path} HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
        client
    }

    /// Asserts that a new connection is answered.
    fn answers(&self) {
        let mut client = self.requested("/quick");
        assert!(next(&mut client).ends_with("quick"));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Reads an answer that fits into one packet.
fn next(client: &mut Client) -> String {
    let mut bytes = [0; 1024];
    let read = client.read(&mut bytes).unwrap();
    String::from_utf8(bytes[..read].to_vec()).unwrap()
}

/// Returns true once the server has closed the connection; the read timeout of a client is generous.
fn is_closed(client: &mut Client) -> bool {
    let mut bytes = Vec::new();
    match client.read_to_end(&mut bytes) {
        Ok(_) => true,
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn an_idle_connection_is_closed() {
    let server = Server::start(8, SHORT);
    assert!(is_closed(&mut server.connect()), "it never sent a byte");
    let mut kept = server.requested("/quick");
    assert!(next(&mut kept).ends_with("quick"));
    assert!(is_closed(&mut kept), "it sent no second request");
}

#[test]
fn a_request_that_comes_byte_by_byte_is_closed() {
    let server = Server::start(8, SHORT);
    let mut client = server.connect();
    let head = "GET /quick HTTP/1.1\r\nHost: here\r\nX: ".to_owned() + &"x".repeat(10_000);
    let sent = head.bytes().take_while(|byte| {
        thread::sleep(Duration::from_millis(10));
        client.write_all(&[*byte]).is_ok()
    });
    assert!(sent.count() < head.len(), "it was never closed");
}

#[test]
fn a_client_that_does_not_take_its_answer_is_closed() {
    let server = Server::start(1, SHORT);
    let mut slow = server.requested("/large");
    // It takes a little at a time, far too slowly.
    let mut taken = 0;
    let closed = (0..6_000).any(|_| {
        thread::sleep(Duration::from_millis(10));
        let mut bytes = [0; 100];
        match slow.read(&mut bytes) {
            Ok(0) | Err(_) => true,
            Ok(read) => {
                taken += read;
                // What the server has given to the system can still be read, so try the only place.
                server.is_free()
            }
        }
    });
    assert!(closed && taken < LARGE);
    server.answers();
}

impl Server {
    /// Returns true if a new connection is answered at once.
    fn is_free(&self) -> bool {
        let mut client = self.requested("/quick");
        client.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        client.read(&mut [0; 16]).is_ok_and(|read| read > 0)
    }
}

#[test]
fn more_connections_than_the_limit_replace_the_ones_that_wait_longest() {
    let server = Server::start(4, GENEROUS);
    let mut endless = server.requested("/endless");
    let mut idle: Vec<Client> = Vec::new();
    for _ in 0..50 {
        let mut client = server.requested("/quick");
        assert!(next(&mut client).ends_with("quick"));
        idle.push(client);
    }
    // Those that are answered, and the newest of those that wait, stay open.
    for client in idle.iter_mut().take(47) {
        assert!(is_closed(client));
    }
    for client in &mut idle[47..] {
        client.write_all(b"GET /quick HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
        assert!(next(client).ends_with("quick"));
    }
    endless.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let error = endless.read(&mut [0; 1]).unwrap_err();
    assert!(matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{error}");
    server.answers();
}

#[test]
fn a_shutdown_does_not_wait_for_ever() {
    let server = Server::start(4, GENEROUS);
    let (_idle, _endless) = (server.connect(), server.requested("/endless"));
    server.answers();
    drop(server);
}
