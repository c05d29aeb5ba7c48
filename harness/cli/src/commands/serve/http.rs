//! A scenario as an MCP server over streamable HTTP, on this machine only.
//!
//! Each POST has one message, and gets one JSON answer; there are no streams and no sessions of the protocol. The server's
//! state is one session of the scenario, whose calls are answered one after the other.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, mpsc};
use std::thread;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::post;
use healbench_mcp::{Line, MAX_LINE};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::limits::Limits;
use super::{Message, WAITING_LINES};
use crate::commands::view::guard::RequestGuard;
use crate::error::CliError;

/// The path that clients post to.
const PATH: &str = "/mcp";

struct Server {
    guard: RequestGuard,
    messages: SyncSender<Message>,
    limits: Limits,
}

/// Listens on a port of this machine, 0 for any free one. Returns the address and the messages that arrive there.
pub(super) fn listen(port: u16, limits: Limits) -> Result<(String, Receiver<Message>), CliError> {
    let port_error = |source: io::Error| {
        CliError::new(format_args!("cannot listen on port {port}: {source}"))
            .help("choose another port, or 0 for any free one")
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(port_error)?;
    listener.set_nonblocking(true).map_err(port_error)?;
    let port = listener.local_addr().map_err(port_error)?.port();
    let (messages, received) = sync_channel(WAITING_LINES);
    let server = Arc::new(Server { guard: RequestGuard::new(port), messages, limits });
    let router = Router::new().route(PATH, post(answer)).with_state(server);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CliError::network)?;
    // Ends with this process.
    thread::spawn(move || {
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            axum::serve(listener, router).await
        })
    });
    Ok((format!("http://127.0.0.1:{port}{PATH}"), received))
}

async fn answer(State(server): State<Arc<Server>>, request: Request) -> Response {
    if let Some((status, text)) = server.guard.refusal_of_host(&request) {
        return plain(status, text);
    }
    let line = match to_bytes(request.into_body(), MAX_LINE).await {
        Ok(bytes) => Line::Bytes(with_id(bytes.to_vec())),
        Err(_) => Line::TooLong,
    };
    let (reply, answered) = oneshot::channel();
    let message = Message {
        place: server.limits.arrive(&line),
        line,
        reply: Box::new(move |answer| reply.send(answer).map_err(|_| io::ErrorKind::BrokenPipe.into())),
    };
    let sent = match server.messages.try_send(message) {
        Ok(()) => answered.await.ok(),
        Err(mpsc::TrySendError::Full(_)) => return plain(StatusCode::SERVICE_UNAVAILABLE, "too many messages wait"),
        Err(mpsc::TrySendError::Disconnected(_)) => None,
    };
    match sent {
        Some(Some(answer)) => {
            let mut response = Response::new(Body::from(answer));
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        // Notifications have no answer.
        Some(None) => plain(StatusCode::ACCEPTED, ""),
        None => plain(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping"),
    }
}

/// Adds an id to a request without one. By hand, people leave it out, and want the answer nevertheless.
fn with_id(mut message: Vec<u8>) -> Vec<u8> {
    let is_request = |message: &Map<String, Value>| {
        let method = message.get("method").and_then(Value::as_str);
        !message.contains_key("id") && method.is_some_and(|method| !method.starts_with("notifications/"))
    };
    if let Ok(object) = serde_json::from_slice::<Map<String, Value>>(&message)
        && is_request(&object)
        && let Some(start) = message.iter().position(|byte| *byte == b'{')
    {
        // The text stays as it was sent: numbers are told back digit by digit.
        message.splice(start + 1..start + 1, *b"\"id\":0,");
    }
    message
}

fn plain(status: StatusCode, text: &str) -> Response {
    let mut response = Response::new(Body::from(if text.is_empty() { String::new() } else { format!("{text}\n") }));
    *response.status_mut() = status;
    response
}
