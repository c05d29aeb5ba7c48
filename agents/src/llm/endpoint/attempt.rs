//! A single attempt at a request, with limits on its time and response size.

use std::error::Error;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::header::HeaderMap;
use reqwest::{Client, Request, Response, StatusCode};

use crate::llm::limiter::STOP_POLL;

/// The size of the largest response in bytes.
const ANSWER_BYTES: usize = 16 << 20;
/// The largest number of bytes read from an error response.
const ERROR_BYTES: usize = 64 << 10;

/// The result of an attempt.
pub(in crate::llm) type Attempt = Result<RawAnswer, AttemptError>;

/// A response with any status.
#[derive(Debug, Clone)]
pub(in crate::llm) struct RawAnswer {
    pub(in crate::llm) status: StatusCode,
    pub(in crate::llm) headers: HeaderMap,
    /// The body; that of an error may be truncated.
    pub(in crate::llm) body: Vec<u8>,
}

/// The reason why there is no response. Messages may contain text from the server.
#[derive(Debug)]
pub(in crate::llm) enum AttemptError {
    /// A network failure before the server had the request.
    Network(String),
    /// A network failure or a timeout afterwards: the server may have answered, and charge for it.
    Lost(String),
    /// The response exceeds the size limit.
    TooLarge,
    /// The stop flag was set.
    Stopped,
}

impl AttemptError {
    /// Returns the error for an answer that was not received and handled within the time limit.
    pub(super) fn late(timeout: Duration) -> AttemptError {
        AttemptError::Lost(format!("no complete answer within {} s, which `timeout_s` allows", timeout.as_secs()))
    }
}

/// Returns true if the server may charge for an attempt.
pub(super) fn may_be_paid(attempt: &Attempt) -> bool {
    match attempt {
        Ok(answer) => answer.status.is_success(),
        Err(AttemptError::Network(_)) => false,
        Err(AttemptError::Lost(_) | AttemptError::TooLarge | AttemptError::Stopped) => true,
    }
}

/// Sends `request` and reads the complete response. Once `stop` is set, waits for it only a little longer.
pub(super) async fn attempt(client: &Client, request: Request, timeout: Duration, stop: &AtomicBool) -> Attempt {
    let sent = Instant::now();
    let response =
        async {
            let response = client.execute(request).await;
            read(response.map_err(|error| {
                if is_unseen(&error, sent.elapsed()) { unsent(error) } else { network_error(error) }
            })?)
            .await
        };
    match unless_stopped(stop, tokio::time::timeout(timeout, response)).await {
        None => Err(AttemptError::Stopped),
        Some(Err(_)) => Err(AttemptError::late(timeout)),
        Some(Ok(answer)) => answer,
    }
}

async fn read(mut response: Response) -> Attempt {
    let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
    let announced = response.content_length().and_then(|length| usize::try_from(length).ok());
    if status.is_success() && announced.is_some_and(|length| length > ANSWER_BYTES) {
        return Err(AttemptError::TooLarge);
    }
    // The announced length is not trusted, so no more than a typical response is reserved.
    let mut body = Vec::with_capacity(announced.unwrap_or(0).min(ERROR_BYTES));
    loop {
        let chunk = match response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            // Keep an error response whose body is incomplete: its status matters more.
            Err(_) if !status.is_success() => break,
            Err(error) => return Err(network_error(error)),
        };
        if status.is_success() && body.len() + chunk.len() > ANSWER_BYTES {
            return Err(AttemptError::TooLarge);
        }
        body.extend_from_slice(&chunk);
        if !status.is_success() && body.len() >= ERROR_BYTES {
            body.truncate(ERROR_BYTES);
            break;
        }
    }
    Ok(RawAnswer { status, headers, body })
}

fn network_error(error: reqwest::Error) -> AttemptError {
    let is_sent = !(error.is_connect() || error.is_builder());
    let reason = describe(error);
    if is_sent { AttemptError::Lost(reason) } else { AttemptError::Network(reason) }
}

/// A connection that ends within this time of a request, without a byte of an answer, is taken for one that the server had
/// closed before.
const UNSEEN: Duration = Duration::from_secs(1);

/// Returns true if the server seems to have closed an idle connection while a request was being sent on it. Such a request
/// was not answered, and costs nothing.
fn is_unseen(error: &reqwest::Error, elapsed: Duration) -> bool {
    const CLOSED: [ErrorKind; 4] =
        [ErrorKind::ConnectionReset, ErrorKind::ConnectionAborted, ErrorKind::BrokenPipe, ErrorKind::NotConnected];
    let mut cause: Option<&dyn Error> = Some(error);
    let mut is_closed = false;
    while let Some(error) = cause {
        is_closed |= error.downcast_ref::<std::io::Error>().is_some_and(|error| CLOSED.contains(&error.kind()));
        is_closed |= error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message);
        cause = error.source();
    }
    is_closed && elapsed < UNSEEN
}

fn unsent(error: reqwest::Error) -> AttemptError {
    AttemptError::Network(describe(error))
}

/// Describes an error and its root cause. The URL is omitted because the reader knows it.
pub(super) fn describe(error: reqwest::Error) -> String {
    let error = error.without_url();
    let what = if error.is_connect() {
        "cannot connect"
    } else if error.is_builder() {
        "cannot make the request"
    } else if error.is_body() || error.is_decode() {
        "the answer broke off"
    } else {
        "the connection failed"
    };
    let mut cause: &dyn Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let cause = cause.to_string();
    match cause.contains("certificate") {
        true => format!("{what}: {cause}; {}", certificate_help(std::env::var_os("SSL_CERT_FILE").as_deref())),
        false => format!("{what}: {cause}"),
    }
}

/// Returns advice for a certificate of an unknown authority. `file` is the value of SSL_CERT_FILE.
fn certificate_help(file: Option<&OsStr>) -> String {
    let Some(file) = file.filter(|file| !file.is_empty()) else {
        return "name a file with its authority in SSL_CERT_FILE".to_owned();
    };
    let shown = file.to_string_lossy();
    match std::fs::read(file) {
        Ok(bytes) if String::from_utf8_lossy(&bytes).contains("BEGIN CERTIFICATE") => {
            format!("SSL_CERT_FILE names `{shown}`, in which its authority may be missing")
        }
        Ok(_) => format!("SSL_CERT_FILE names `{shown}`, which has no certificate"),
        Err(error) => format!("SSL_CERT_FILE names `{shown}`, which cannot be read: {error}"),
    }
}

/// The time for which an answer is still awaited when the run is stopped: it is probably being paid for.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// Waits for `future`. Drops it and returns `None` if it takes longer than [`STOP_GRACE`] after `stop` was set. If it was
/// set before, nothing is started.
async fn unless_stopped<F: Future>(stop: &AtomicBool, future: F) -> Option<F::Output> {
    if stop.load(Ordering::Relaxed) {
        return None;
    }
    tokio::pin!(future);
    let mut stopped = None;
    loop {
        if stop.load(Ordering::Relaxed) {
            let since = *stopped.get_or_insert_with(Instant::now);
            if since.elapsed() >= STOP_GRACE {
                return None;
            }
        }
        tokio::select! {
            biased;
            output = &mut future => return Some(output),
            () = tokio::time::sleep(STOP_POLL * 2) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_authorities_that_cannot_help_is_named() {
        let root = tempfile::tempdir().unwrap();
        let help = |name: &str, text: Option<&str>| {
            let path = root.path().join(name);
            text.iter().for_each(|text| std::fs::write(&path, text).unwrap());
            certificate_help(Some(path.as_os_str()))
        };
        assert!(help("missing.pem", None).contains("missing.pem`, which cannot be read: "));
        assert!(help("s.key", Some("-----BEGIN PRIVATE KEY-----")).ends_with("s.key`, which has no certificate"));
        assert!(help("ca.pem", Some("-----BEGIN CERTIFICATE-----")).ends_with("may be missing"));
        assert!(
            certificate_help(None).starts_with("name a file")
                && certificate_help(Some(OsStr::new(""))).starts_with("name a file")
        );
    }
}
