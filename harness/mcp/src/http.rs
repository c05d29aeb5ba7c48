//! A client of a server behind a URL (streamable HTTP). The only file that knows `rmcp`.

use std::error::Error;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use healbench_text::{keep_secret, secrets, secrets_in_url};
use reqwest::redirect::Policy;
use reqwest::{StatusCode, Url};
use rmcp::Peer;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ClientResult, ErrorCode, ErrorData, Implementation,
    InitializeRequestParams, ListToolsRequest, PaginatedRequestParams, ProtocolVersion, ServerNotification,
    ServerRequest, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, NotificationContext, PeerRequestOptions,
    RequestContext, RoleClient, RunningService, Service, ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::answer::{CallAnswer, CallOutcome};
use crate::client::{Defects, Limits, REVISIONS, ToolDefinition, list_tools, shown};
use crate::error::{McpError, escaped};
use crate::line::RpcError;
use crate::process::WATCH;
use crate::public_names::publish_names;

/// Where a server listens.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    url: Url,
    token: Option<String>,
}

impl Address {
    /// Reads a URL. The bearer token is the value of the environment variable `token_env`.
    ///
    /// # Errors
    /// [`McpError::Address`] if it is no URL of `http` or `https`, holds a password, would send the token unencrypted to
    /// another machine, or if the variable is not set.
    pub fn new(url: &str, token_env: Option<&str>) -> Result<Address, McpError> {
        let unusable = |problem: String| McpError::Address { url: shown(url), problem };
        let parsed = Url::parse(url).map_err(|error| unusable(format!("is no URL: {error}")))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(unusable("is not a URL of http or https".to_owned()));
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            let problem = "holds a name or a password".to_owned();
            return Err(McpError::Address { url: shown_url(&parsed), problem });
        }
        let unusable = |problem: String| McpError::Address { url: shown_url(&parsed), problem };
        let token = match token_env {
            None => None,
            Some(name) => match std::env::var(name) {
                Ok(token) if !token.is_empty() => Some(token),
                _ => {
                    return Err(unusable(format!(
                        "needs the environment variable {}, which is not set",
                        escaped(name)
                    )));
                }
            },
        };
        if token.is_some() && parsed.scheme() == "http" && !is_loopback(&parsed) {
            return Err(unusable("would get the token unencrypted; use https".to_owned()));
        }
        token.iter().map(String::as_str).chain(secrets_in_url(url)).for_each(keep_secret);
        Ok(Address { url: parsed, token })
    }

    /// Returns the URL for messages, without its query.
    pub fn name(&self) -> String {
        shown_url(&self.url)
    }
}

/// Returns true if the host is `localhost` or a loopback address.
pub fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback())
}

fn shown_url(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    escaped(&secrets().mask(url.as_str()))
}

/// A session with a server behind a URL, which ends when this value is dropped.
pub struct HttpSession {
    /// Ends the waiting for answers.
    stop: Arc<AtomicBool>,
    address: Address,
    /// `None` only during drop.
    service: Option<RunningService<RoleClient, Client>>,
    seen: Seen,
    limits: Limits,
    info: Value,
    revision: String,
    tools: Vec<ToolDefinition>,
    defects: Defects,
    /// The last field, since the service ends on it.
    runtime: Runtime,
}

/// What the server sent besides its answers.
#[derive(Clone, Default)]
struct Seen {
    asked: Arc<Mutex<Vec<String>>>,
    tools_changed: Arc<AtomicBool>,
}

impl Seen {
    fn ask(&self, method: &str) -> ErrorData {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(method.to_owned());
        ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "the client does not offer this", None)
    }
}

/// Refuses what a server asks for.
struct Client {
    seen: Seen,
    /// The revision to `initialize` with, if the server's list has only older ones than that of `server/discover`.
    older: Option<ProtocolVersion>,
}

impl Service<RoleClient> for Client {
    async fn handle_request(
        &self,
        request: ServerRequest,
        _context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        if matches!(request, ServerRequest::PingRequest(_)) {
            return Ok(ClientResult::empty(()));
        }
        let request = serde_json::to_value(&request).unwrap_or_default();
        Err(self.seen.ask(request["method"].as_str().unwrap_or("unknown")))
    }

    async fn handle_notification(
        &self,
        notification: ServerNotification,
        _context: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        if matches!(notification, ServerNotification::ToolListChangedNotification(_)) {
            self.seen.tools_changed.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn get_info(&self) -> InitializeRequestParams {
        let mut info = InitializeRequestParams::default();
        info.client_info = Implementation::new("healbench", env!("CARGO_PKG_VERSION"));
        info.protocol_version = self.older.clone().unwrap_or(info.protocol_version);
        info
    }
}

impl HttpSession {
    /// Connects to a server, and asks for its tools. A server that does not answer `server/discover` as MCP says, or lists only
    /// older revisions there, is asked to `initialize`.
    ///
    /// # Errors
    /// [`McpError`] if it cannot be reached, wants another token, or does not answer as MCP says.
    pub fn connect(stop: &Arc<AtomicBool>, address: &Address, limits: &Limits) -> Result<HttpSession, McpError> {
        let failed = |problem: String| McpError::Http { url: address.name(), method: "initialize".to_owned(), problem };
        // The process has one provider. If one is already installed, it is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("healbench-mcp")
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| failed(format!("no thread can be started: {error}")))?;
        // A redirect could take the token to another server, and a proxy could read what is not encrypted.
        let client = reqwest::Client::builder().redirect(Policy::none()).connect_timeout(limits.start);
        let is_tunneled = address.url.scheme() == "https" && !is_loopback(&address.url);
        let client = if is_tunneled { client } else { client.no_proxy() }.build();
        let client = client.map_err(|error| failed(words(&error)))?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(address.url.as_str())
            .max_sse_event_size(limits.line)
            .max_json_response_size(limits.line);
        if let Some(token) = &address.token {
            config = config.auth_header(token.as_str());
        }
        let seen = Seen::default();
        let lifecycle =
            ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::V_2026_07_28], legacy_version: None };
        let begin = |older: Option<ProtocolVersion>, lifecycle| {
            let transport = StreamableHttpClientTransport::with_client(client.clone(), config.clone());
            Client { seen: seen.clone(), older }.serve_with_lifecycle(transport, lifecycle)
        };
        let begun = async {
            let older = match begin(None, lifecycle).await {
                Err(ClientInitializeError::NoCompatibleProtocolVersion { client_supported, server_supported }) => {
                    let newest = newest_known(&server_supported);
                    // A list of none says nothing.
                    if newest.is_none() && !server_supported.is_empty() {
                        let error =
                            ClientInitializeError::NoCompatibleProtocolVersion { client_supported, server_supported };
                        return Err(error);
                    }
                    newest
                }
                Err(error) if !is_handshake(&error) => return Err(error),
                Err(_) => None,
                begun => return begun,
            };
            begin(older, ClientLifecycleMode::Initialize).await
        };
        let service = runtime.block_on(async { unless_stopped(stop, tokio::time::timeout(limits.start, begun)).await });
        let service = match service {
            None => return Err(McpError::Stopped),
            Some(Ok(Ok(service))) => service,
            Some(Ok(Err(error))) => return Err(failed(start_problem(&error))),
            Some(Err(_)) => return Err(failed(format!("no answer within {} s", limits.start.as_secs()))),
        };
        let (info, revision) = match service.peer().peer_info() {
            Some(info) => (
                info.server_info.as_ref().and_then(|info| serde_json::to_value(info).ok()).map(without_secrets),
                secrets().mask(&info.protocol_version.to_string()),
            ),
            None => (None, String::new()),
        };
        let mut session = HttpSession {
            stop: Arc::clone(stop),
            address: address.clone(),
            service: Some(service),
            seen,
            limits: *limits,
            info: info.unwrap_or_default(),
            revision,
            tools: Vec::new(),
            defects: Defects::default(),
            runtime,
        };
        session.tools = list_tools(&address.name(), |cursor| session.page(cursor))?;
        Ok(session)
    }

    /// Returns `serverInfo`; null if the server does not say who it is.
    pub fn server_info(&self) -> &Value {
        &self.info
    }

    /// Returns the revision of MCP that both sides speak.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// Returns the tools, in the order of the server.
    pub fn tools(&self) -> &[ToolDefinition] {
        &self.tools
    }

    /// Returns what the server did besides answering. Of HTTP only `tools_changed` is known.
    pub fn defects(&self) -> &Defects {
        &self.defects
    }

    /// Calls a tool, and masks secrets in the answer. A call that is not answered within `timeout` is cancelled; progress does not
    /// extend the time.
    ///
    /// # Errors
    /// [`McpError::Http`] if the server cannot be reached any more, or answers with what is not MCP.
    pub fn call(&mut self, tool: &str, arguments: &Value, timeout: Duration) -> Result<CallAnswer, McpError> {
        self.call_unmasked(tool, arguments, timeout, None).map(CallAnswer::masked)
    }

    /// Like [`HttpSession::call`], with the answer as the server sent it. A call that is not answered after the time of `again` is sent a second time.
    pub(crate) fn call_unmasked(
        &mut self,
        tool: &str,
        arguments: &Value,
        timeout: Duration,
        again: Option<Duration>,
    ) -> Result<CallAnswer, McpError> {
        let started = Instant::now();
        self.seen.asked.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = arguments.as_object().cloned();
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let outcome = match self.request(request, timeout, again) {
            Ok(result) => CallOutcome::Result(result),
            Err(ServiceError::McpError(error)) => CallOutcome::Error(rpc_error(error)),
            Err(ServiceError::Timeout { .. }) => CallOutcome::TimedOut,
            Err(error) => match refusal(&error) {
                Some(refusal) => CallOutcome::Error(refusal),
                None => return Err(self.failed("tools/call", &error)),
            },
        };
        self.defects.tools_changed = self.seen.tools_changed.load(Ordering::Relaxed);
        let mut asked = self.asked();
        // Since the revision 2026-07-28 a server asks by an answer.
        if let CallOutcome::Result(result) = &outcome {
            let requests = result["inputRequests"].as_object().into_iter().flatten();
            asked.extend(requests.filter_map(|(_, request)| request["method"].as_str().map(str::to_owned)));
        }
        Ok(CallAnswer { outcome, asked, elapsed: started.elapsed() })
    }

    /// Returns what the server asked for since the last look, by method.
    fn asked(&self) -> Vec<String> {
        let asked = std::mem::take(&mut *self.seen.asked.lock().unwrap_or_else(PoisonError::into_inner));
        let secrets = secrets();
        asked.iter().map(|method| secrets.mask(method)).collect()
    }

    /// Returns a page of the list of tools.
    fn page(&self, cursor: Option<&str>) -> Result<Value, McpError> {
        let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor.to_owned())));
        let request = ListToolsRequest { method: Default::default(), params, extensions: Default::default() };
        match self.request(ClientRequest::ListToolsRequest(request), self.limits.start, None) {
            Ok(result) => {
                publish_names(&result);
                Ok(without_secrets(result))
            }
            Err(error) => Err(self.failed("tools/list", &error)),
        }
    }

    /// Makes a request, and after the time of `again` a second time, whose answer counts if the first gets none in time.
    fn request(
        &self,
        request: ClientRequest,
        timeout: Duration,
        again: Option<Duration>,
    ) -> Result<Value, ServiceError> {
        let Some(service) = &self.service else { return Err(ServiceError::TransportClosed) };
        let peer: &Peer<RoleClient> = service.peer();
        let once = async |request: ClientRequest, timeout: Duration| {
            let options = PeerRequestOptions::with_timeout(timeout);
            let limit = ServiceError::Timeout { timeout };
            // Sending waits for a connection, which is within the time as well.
            let sent = tokio::time::timeout(timeout, peer.send_cancellable_request(request, options)).await;
            sent.map_err(|_| limit)??.await_response().await
        };
        let answered = async {
            let Some(again) = again else { return once(request, timeout).await };
            let second = async {
                tokio::time::sleep(again).await;
                once(request.clone(), timeout.saturating_sub(again)).await
            };
            let mut first = std::pin::pin!(once(request.clone(), timeout));
            tokio::select! {
                answer = &mut first => answer,
                spare = second => match first.await {
                    Err(ServiceError::Timeout { .. }) => spare,
                    answer => answer,
                },
            }
        };
        let answered = self.runtime.block_on(unless_stopped(&self.stop, answered));
        let result: ServerResult = answered.unwrap_or(Err(ServiceError::TransportClosed))?;
        serde_json::to_value(&result).map_err(|_| ServiceError::UnexpectedResponse)
    }

    fn failed(&self, method: &str, error: &ServiceError) -> McpError {
        if self.stop.load(Ordering::Acquire) {
            return McpError::Stopped;
        }
        let problem = match error {
            ServiceError::McpError(error) => format!("{} ({})", shown(&error.message), error.code.0),
            ServiceError::Timeout { timeout } => format!("no answer within {} s", timeout.as_secs()),
            error => words(error),
        };
        McpError::Http { url: self.address.name(), method: method.to_owned(), problem }
    }
}

impl Drop for HttpSession {
    fn drop(&mut self) {
        // The session is deleted on the server, if it answers soon.
        if let Some(service) = self.service.take() {
            let _ =
                self.runtime.block_on(async { tokio::time::timeout(Duration::from_secs(1), service.cancel()).await });
        }
    }
}

/// Returns true if a server was reached, and answered the first request with something else than MCP says.
fn is_handshake(error: &ClientInitializeError) -> bool {
    let is_status = |error: &(dyn Error + 'static)| {
        let answered = |error: &StreamableHttpError<reqwest::Error>| match error {
            StreamableHttpError::Client(error) => error.status().is_some(),
            _ => true,
        };
        error.downcast_ref().is_none_or(answered)
    };
    match error {
        ClientInitializeError::LegacyFallbackFailed { .. } => false,
        ClientInitializeError::TransportError { error, .. } => is_status(error.error.as_ref()),
        error => !error.is_authorization_required(),
    }
}

/// Returns the newest of a server's revisions that has `initialize`, and is known here.
fn newest_known(supported: &[ProtocolVersion]) -> Option<ProtocolVersion> {
    REVISIONS.iter().find_map(|known| supported.iter().find(|version| version.as_str() == *known)).cloned()
}

fn without_secrets(mut value: Value) -> Value {
    secrets().mask_json(&mut value);
    value
}

/// Waits for a result, unless the waiting is ended.
async fn unless_stopped<T>(stop: &AtomicBool, result: impl Future<Output = T>) -> Option<T> {
    let stopped = async {
        while !stop.load(Ordering::Acquire) {
            tokio::time::sleep(WATCH).await;
        }
    };
    tokio::select! {
        result = result => Some(result),
        () = stopped => None,
    }
}

fn rpc_error(error: ErrorData) -> RpcError {
    RpcError { code: error.code.0.into(), message: error.message.into_owned(), data: error.data.unwrap_or_default() }
}

/// Returns the answer of a server that met a call with an error status of HTTP, with the text of its body where the library keeps that.
fn refusal(error: &ServiceError) -> Option<RpcError> {
    let ServiceError::TransportSend(sent) = error else { return None };
    let name = |code: u16| Some((code, format!("HTTP {}", StatusCode::from_u16(code).ok()?)));
    let (code, message) = match sent.error.downcast_ref::<StreamableHttpError<reqwest::Error>>()? {
        StreamableHttpError::AuthRequired(_) => name(401),
        StreamableHttpError::InsufficientScope(_) => name(403),
        StreamableHttpError::HttpStatus(error) => name(error.status),
        StreamableHttpError::Client(error) => name(error.status()?.as_u16()),
        // "HTTP 400 Bad Request: the text".
        StreamableHttpError::UnexpectedServerResponse(text) => {
            let code = text.strip_prefix("HTTP ")?.split(' ').next()?.parse().ok()?;
            Some((code, text.clone().into_owned()))
        }
        _ => None,
    }?;
    Some(RpcError { code: code.into(), message, data: Value::Null })
}

/// Returns why a session did not begin. A server that knows neither handshake has two reasons, of which the second is of the
/// one that most servers know.
fn start_problem(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => start_problem(fallback),
        error if error.is_authorization_required() => "the server wants a token (401)".to_owned(),
        ClientInitializeError::JsonRpcError(error) => format!("{} ({})", shown(&error.message), error.code.0),
        ClientInitializeError::TransportError { error, .. } => words(error.error.as_ref()),
        error => words(error),
    }
}

/// Returns the innermost reason of an error, which may be a text of the server. The outer ones show the whole URL.
fn words(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    loop {
        let source = match innermost.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            // It does not name its source.
            Some(StreamableHttpError::Client(error)) => match error.status() {
                Some(status) => return format!("HTTP status {status}"),
                None => Some(error as &(dyn Error + 'static)),
            },
            _ => innermost.source(),
        };
        match source {
            Some(source) => innermost = source,
            None => return shown(&innermost.to_string()),
        }
    }
}
