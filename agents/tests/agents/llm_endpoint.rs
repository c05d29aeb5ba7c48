//! Requests to a server that violates the protocol in many ways.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use healbench_agents::llm::{
    Api, Connections, Endpoint, EndpointError, EndpointResponse, Limits, LlmAgent, LlmAgentFactory, Model,
    ModelBackend, Network, Sampling, SetupError,
};
use healbench_core::{DrawKey, EpisodeStart, Object, Seed, ToolsMode};
use serde_json::json;

use crate::hostile_server::*;

pub(crate) const KEY: &str = "sk-test/Aa0+Bb1=Cc2";
const HEADER: &str = "Bearer tok:Dd3%Ee4&Ff5";
const TOKEN: &str = "tok:Dd3%Ee4&Ff5";

pub(crate) fn model(base_url: &str, retries: u32) -> Model {
    Model {
        api: Api::OpenaiChat,
        model: "small".to_owned(),
        base_url: base_url.to_owned(),
        key_env: Some("TEST_KEY".to_owned()),
        tools: ToolsMode::Native,
        sampling: Sampling { temperature: None, top_p: None, max_output_tokens: None, seed: false },
        extra_body: Object::new(),
        headers: [("x-plain".to_owned(), "plain".to_owned())].into(),
        headers_env: [("x-secret".to_owned(), "TEST_HEADER".to_owned())].into(),
        system: String::new(),
        limits: Limits { timeout_s: 1, retries, episode_calls: None, episode_tokens: None, tokens_per_minute: None },
        connections: Connections { start: 4, min: 1, max: 8 },
        price: None,
        check_model: true,
        deterministic: false,
    }
}

fn env(name: &str) -> Option<String> {
    match name {
        "TEST_KEY" => Some(format!("{KEY}\n")),
        "TEST_HEADER" => Some(HEADER.to_owned()),
        _ => None,
    }
}

pub(crate) fn endpoint_of(model: &Model) -> Endpoint {
    Endpoint::new(&Arc::new(Network::new().unwrap()), model, &env).unwrap()
}

pub(crate) fn endpoint(server: &HostileServer, retries: u32) -> Endpoint {
    endpoint_of(&model(&server.url, retries))
}

/// Returns an agent of a model on `server` for a task without tools, with the model changed by `change`.
pub(crate) fn agent_on(server: &HostileServer, change: impl Fn(&mut Model)) -> LlmAgent<'static> {
    let mut model = model(&server.url, 0);
    change(&mut model);
    let endpoint = endpoint_of(&model);
    agent_of(model, endpoint)
}

/// Returns the same agent of a model with its endpoint.
pub(crate) fn agent_of(model: Model, endpoint: Endpoint) -> LlmAgent<'static> {
    let backend = Arc::new(ModelBackend::Live(endpoint));
    let stop = Arc::new(AtomicBool::new(false));
    let factory = Arc::new(LlmAgentFactory { model, backend, stop, recording_date: String::new() });
    let draws = DrawKey::of_trial(Seed(1), "test", 0);
    factory.agent(EpisodeStart { prompt: "Go.", tools: &[], opening: &[], episode: 0, trial: 0, draws }, None)
}

pub(crate) fn send(endpoint: &Endpoint) -> Result<EndpointResponse, EndpointError> {
    endpoint.send("/chat", &json!({"say": "hello"}), &AtomicBool::new(false), &mut 0)
}

/// Returns the error from a server that reacts to every request in the same way, and the number of requests.
fn always(retries: u32, action: impl Fn() -> ServerAction + Send + Sync + 'static) -> (EndpointError, usize) {
    let server = HostileServer::start(move |_, _| action());
    let error = send(&endpoint(&server, retries)).unwrap_err();
    assert_secret(&error);
    (error, server.received().len())
}

/// Asserts that neither `Display` nor `Debug` of an error contains a key.
fn assert_secret(error: &EndpointError) {
    for text in [error.to_string(), format!("{error:?}"), format!("{error:#?}")] {
        for piece in ["sk-test", "aa0", "cc2", "dd3", "ee4"] {
            assert!(!text.to_lowercase().contains(piece), "{piece} in {text}");
        }
    }
}

fn infra(error: EndpointError) -> String {
    match error {
        EndpointError::Infra(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_goes_out_whole_and_connections_are_kept() {
    let server = HostileServer::start(|_, _| json(200, r#"{"said": "hi"}"#));
    let endpoint = endpoint_of(&model(&format!("{}/v1/", server.url), 0));
    for _ in 0..20 {
        let answer = send(&endpoint).unwrap();
        assert_eq!((answer.body, answer.attempts), (json!({"said": "hi"}), 1));
    }
    let received = server.received();
    // A request sent before the previous connection is back in the pool may open another one.
    assert!(received.len() == 20 && server.connections() < 10, "{}", server.connections());
    assert!(received[0].head.starts_with("POST /v1/chat HTTP/1.1\r\n"), "{}", received[0].head);
    for line in
        ["content-type: application/json", "x-plain: plain", &format!("x-secret: {HEADER}"), "accept: application/json"]
    {
        assert!(received[0].head.contains(&format!("\r\n{line}\r\n")), "{line} in {}", received[0].head);
    }
    assert_eq!(received[0].body, r#"{"say":"hello"}"#);
    assert_eq!(endpoint.limiter().in_use(), 0);
}

#[test]
fn a_server_that_recovers_is_forgiven() {
    let server = HostileServer::start(|n, _| match n {
        0 => json(500, "{}"),
        1 => ServerAction::Reset,
        _ => json(200, "[]"),
    });
    let answer = send(&endpoint(&server, 2)).unwrap();
    assert_eq!((answer.attempts, server.received().len()), (3, 3));
    // The latency does not include delays between attempts.
    assert!(answer.latency_ms < 400, "{}", answer.latency_ms);
}

#[test]
fn a_server_that_does_not_recover_is_given_up() {
    let (error, received) = always(1, || json(503, r#"{"error": {"message": "loading"}}"#));
    assert_eq!(
        (infra(error).as_str(), received),
        ("HTTP 503 Service Unavailable: loading (the last of 2 attempts)", 2)
    );
}

#[test]
fn too_many_requests_wait_as_long_as_the_server_says() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&times);
    let server = HostileServer::start(move |n, _| {
        seen.lock().unwrap().push(Instant::now());
        match n {
            0 => with(429, &[("retry-after", "0.7")], "{}"),
            _ => json(200, "[]"),
        }
    });
    let endpoint = endpoint(&server, 1);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| send(&endpoint));
        while server.received().is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(100));
        // Requests that arrive meanwhile wait as well.
        let second = scope.spawn(|| send(&endpoint));
        assert_eq!(first.join().unwrap().unwrap().attempts, 2);
        assert_eq!(second.join().unwrap().unwrap().attempts, 1);
    });
    let times = times.lock().unwrap();
    assert!(
        times.len() == 3 && times[1..].iter().all(|time| *time - times[0] >= Duration::from_millis(700)),
        "{times:?}"
    );
    assert_eq!(endpoint.limiter().limit(), 3);
}

#[test]
fn too_many_requests_without_a_time_are_backed_off() {
    let (error, received) = always(1, || json(429, r#"{"error": {"message": "slow down"}}"#));
    assert_eq!(
        (infra(error).as_str(), received),
        ("HTTP 429 Too Many Requests: slow down (the last of 2 attempts)", 2)
    );
}

#[test]
fn a_wait_that_is_too_long_is_not_made() {
    let server =
        HostileServer::start(|n, _| if n == 0 { with(429, &[("retry-after", "601")], "{}") } else { json(200, "1") });
    let endpoint = endpoint(&server, 5);
    let error = send(&endpoint).unwrap_err();
    let EndpointError::Config(message) = error else { panic!("{error:?}") };
    assert!(message.ends_with("the server asks for a wait of more than 10 minutes"), "{message}");
    // The rejected delay does not apply to other requests.
    assert_eq!(send(&endpoint).unwrap().body, json!(1));
}

#[test]
fn broken_connections_and_answers_are_tried_again() {
    let raw = |text: &'static str| move || ServerAction::Raw(text.as_bytes().to_vec());
    type Server = Box<dyn Fn() -> ServerAction + Send + Sync>;
    let table: [(Server, &str); 6] = [
        (Box::new(|| ServerAction::Reset), "the connection failed: "),
        (Box::new(raw("")), "the connection failed: "),
        (Box::new(raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"a\":")), "the answer broke off: "),
        (
            Box::new(raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n")),
            "the answer broke off: ",
        ),
        (Box::new(raw("nonsense\r\n\r\n")), "the connection failed: "),
        (Box::new(|| json(200, r#"{"a": 1"#)), "the answer is not JSON: EOF while parsing"),
    ];
    std::thread::scope(|scope| {
        for (action, expected) in table {
            scope.spawn(move || {
                let (error, received) = always(1, action);
                let message = infra(error);
                assert!(message.starts_with(expected) && received == 2, "{message}, {received}");
            });
        }
    });
}

#[test]
fn another_content_type_is_no_answer() {
    let (error, received) = always(0, || with(200, &[("content-type", "text/html")], "<html>{}</html>"));
    assert_eq!((infra(error).as_str(), received), ("the answer is text/html, not JSON (1 attempt)", 1));
}

#[test]
fn silence_ends_with_the_timeout() {
    for begun in ["", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"] {
        let started = Instant::now();
        let (error, _) = always(0, || ServerAction::Stall(begun.as_bytes().to_vec()));
        assert_eq!(infra(error), "no complete answer within 1 s, which `timeout_s` allows (1 attempt)");
        assert!(started.elapsed() < SILENCE, "{:?}", started.elapsed());
    }
}

#[test]
fn a_flood_is_given_up_early() {
    let server = HostileServer::start(|_, _| ServerAction::Flood(50 << 20));
    let mut model = model(&server.url, 3);
    model.limits.timeout_s = 30;
    assert_eq!(infra(send(&endpoint_of(&model)).unwrap_err()), "the answer is larger than 16 MiB");
    assert_eq!(server.received().len(), 1);
    assert!((10 << 20..40 << 20).contains(&server.sent()), "{}", server.sent());

    // A response with a too large announced length is not read.
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 52428800\r\n\r\n";
    let (error, received) = always(3, move || ServerAction::Stall(head.as_bytes().to_vec()));
    assert_eq!((infra(error).as_str(), received), ("the answer is larger than 16 MiB", 1));
}

#[test]
fn a_redirect_takes_the_key_nowhere() {
    let elsewhere = HostileServer::start(|_, _| json(200, "{}"));
    let target = elsewhere.url.replace("127.0.0.1", "localhost");
    for status in ["301", "302", "303", "307", "308"] {
        let location = format!("{target}/{KEY}");
        let (error, received) = always(3, move || with(status.parse().unwrap(), &[("location", &location)], "{}"));
        let expected = format!("the server redirects to localhost (HTTP {status}), which is not followed");
        assert_eq!((infra(error), received), (expected, 1));
    }
    assert_eq!((elsewhere.connections(), elsewhere.received().len()), (0, 0));
}

#[test]
fn a_server_that_repeats_the_key_is_not_quoted() {
    for status in [400, 401, 429, 500] {
        // Echo all headers verbatim, as in JSON and percent-encoded.
        let server = HostileServer::start(move |_, received| {
            let encoded: String = format!("{KEY} {TOKEN}").bytes().map(|b| format!("%{b:02x}")).collect();
            let head = received.head.replace("\r\n", " ");
            let escaped = KEY.replace('/', "\\/");
            json(status, &format!(r#"{{"error": {{"message": "{TOKEN} {encoded} {escaped} {KEY} {head}"}}}}"#))
        });
        let endpoint = endpoint(&server, 0);
        let error = send(&endpoint).unwrap_err();
        assert!(error.to_string().contains("[key]"), "{error}");
        assert_secret(&error);
        assert!(!format!("{endpoint:?}").contains("Cc2") && !format!("{endpoint:#?}").contains("Ee4"));
    }
    // Echo the key where no text is expected.
    let _ = always(0, || with(200, &[("content-type", KEY)], "<p>"));
    let _ = always(0, || ServerAction::Raw(format!("HTTP/1.1 {KEY}\r\n\r\n").into_bytes()));
}

#[test]
fn a_body_to_be_kept_is_redacted() {
    let server = HostileServer::start(|_, _| json(200, &json!({"text": format!("<{KEY}>"), "n": [TOKEN]}).to_string()));
    let endpoint = endpoint(&server, 0);
    assert_eq!(send(&endpoint).unwrap().body, json!({"text": "<[key]>", "n": ["[key]"]}));
}

#[test]
fn a_request_that_never_works_is_made_once() {
    for status in [400, 401, 403, 404, 422] {
        let (error, received) = always(3, move || json(status, r#"{"error": {"message": "no\u001b[2J"}}"#));
        let (EndpointError::Config(message) | EndpointError::Invalid(message)) = error else { panic!("{error:?}") };
        assert!(message.contains(r": no\u{1b}[2J") && received == 1, "{message}");
        assert_eq!(message.contains("`base_url`"), status == 404, "{message}");
    }
    let (error, received) =
        always(3, || ServerAction::Raw(b"HTTP/1.1 401 X\r\ncontent-length: 100\r\n\r\nno k".to_vec()));
    let config = "HTTP 401 Unauthorized: no k; set TEST_KEY to a key that is valid for this server";
    assert_eq!((error, received), (EndpointError::Config(config.to_owned()), 1));
}

#[test]
fn a_conversation_that_does_not_fit_is_the_model_s_outcome() {
    let (error, received) =
        always(3, || json(400, r#"{"error": {"message": "too much", "code": "context_length_exceeded"}}"#));
    assert_eq!((error, received), (EndpointError::TooLong("HTTP 400 Bad Request: too much".to_owned()), 1));
}

#[test]
fn text_that_cannot_be_parsed_counts_as_the_models_failure_the_second_time() {
    const BODY: &str = r#"{"error": {"code": 500, "message": "Failed to parse input at pos 7: <tool"}}"#;
    let (error, received) = always(3, || json(500, BODY));
    let message = "HTTP 500 Internal Server Error: Failed to parse input at pos 7: <tool".to_owned();
    assert_eq!((error, received), (EndpointError::Unparsed(message), 2));

    let hiccup = HostileServer::start(|n, _| if n == 0 { json(500, BODY) } else { json(200, "[]") });
    assert_eq!(send(&endpoint(&hiccup, 3)).unwrap().attempts, 2);
    // The cause of an unparsed reply does not depend on the number of retries.
    let (error, received) = always(0, || json(500, BODY));
    assert!(matches!(error, EndpointError::Unparsed(_)) && received == 2, "{error:?}");
}

#[test]
fn a_dead_address_is_infrastructure() {
    // A socket that does not listen refuses connections, and keeps its port from the tests beside this one.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    let message = infra(send(&endpoint_of(&model(&url, 0))).unwrap_err());
    assert!(message.starts_with("cannot connect: ") && !message.contains("127.0.0.1"), "{message}");
    // A server without TLS.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || listener.accept().unwrap().0.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
    let message = infra(send(&endpoint_of(&model(&url, 0))).unwrap_err());
    assert!(message.starts_with("cannot connect: "), "{message}");
}

/// Environment variables cannot be changed for a single test, so the second test runs in its own process.
#[test]
fn proxies_and_certificates_are_the_system_s_and_nothing_local_needs_them() {
    let proxy = HostileServer::start(|_, _| json(200, r#"{"by": "proxy"}"#));
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "llm_endpoint::with_a_proxy_and_without_certificates", "--ignored"])
        .envs([("http_proxy", proxy.url.as_str()), ("no_proxy", "")])
        .envs([("SSL_CERT_FILE", "/nonexistent"), ("SSL_CERT_DIR", "/nonexistent")])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    let received = proxy.received();
    assert_eq!(received.len(), 1);
    assert!(received[0].head.starts_with("POST http://models.example.com/chat HTTP/1.1\r\n"), "{}", received[0].head);
}

#[test]
#[ignore = "is run by the test before, in another environment"]
fn with_a_proxy_and_without_certificates() {
    if std::env::var("SSL_CERT_FILE").as_deref() != Ok("/nonexistent") {
        return;
    }
    let server = HostileServer::start(|_, _| json(200, r#"{"by": "itself"}"#));
    assert_eq!(send(&endpoint(&server, 0)).unwrap().body, json!({"by": "itself"}));
    let far = send(&endpoint_of(&model("http://models.example.com", 0)));
    assert_eq!(far.unwrap().body, json!({"by": "proxy"}));
    let network = Arc::new(Network::new().unwrap());
    let error = Endpoint::new(&network, &model("https://models.example.com", 0), &env).unwrap_err().to_string();
    assert!(error.starts_with("no connection to models.example.com can be set up: "), "{error}");
    assert!(error.contains("No CA certificates"), "{error}");
}

#[test]
fn a_stop_ends_requests_and_waits() {
    let busy = || HostileServer::start(|_, _| with(429, &[("retry-after", "120")], "{}"));
    let silent = || HostileServer::start(|_, _| ServerAction::Stall(Vec::new()));
    for (server, timeout_s) in [(busy(), 1), (silent(), 120)] {
        let mut model = model(&server.url, 5);
        model.limits.timeout_s = timeout_s;
        let (endpoint, stop) = (endpoint_of(&model), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| endpoint.send("/chat", &json!({}), &stop, &mut 0));
            while server.received().is_empty() {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(50));
            let raised = Instant::now();
            stop.store(true, Ordering::Relaxed);
            assert_eq!(asked.join().unwrap(), Err(EndpointError::Stopped));
            // An answer that may be paid for is awaited for two seconds, and not until its limit.
            assert!(raised.elapsed() < Duration::from_secs(60), "{:?}", raised.elapsed());
        });
        // No further request is sent.
        assert_eq!(endpoint.send("/chat", &json!({}), &stop, &mut 0), Err(EndpointError::Stopped));
        assert_eq!((server.received().len(), endpoint.limiter().in_use()), (1, 0));
        assert!(endpoint.limiter().acquire_episode(&stop).is_none());
    }
}

#[test]
fn settings_that_cannot_work_are_reported_before_anything_is_sent() {
    let network = Arc::new(Network::new().unwrap());
    let good = model("http://127.0.0.1:1", 0);
    let error = |change: &dyn Fn(&mut Model), env: &dyn Fn(&str) -> Option<String>| {
        let mut model = good.clone();
        change(&mut model);
        let error: SetupError = Endpoint::new(&network, &model, env).unwrap_err();
        assert!(!format!("{error}{error:?}").contains("hunter2"), "{error:?}");
        error.to_string()
    };
    assert_eq!(error(&|_| {}, &|_| None), "the environment variable TEST_KEY is not set; set it to the key");
    assert_eq!(
        error(&|_| {}, &|_| Some(" \n".to_owned())),
        "the environment variable TEST_KEY is not set; set it to the key"
    );
    assert_eq!(
        error(&|_| {}, &|name| (name == "TEST_KEY").then(|| KEY.to_owned())),
        "the environment variable TEST_HEADER is not set; set it to the header `x-secret`"
    );
    let odd = error(&|_| {}, &|_| Some("hunter2\nhunter2".to_owned()));
    assert_eq!(odd, "the environment variable TEST_KEY holds characters that no header may hold; set it to the key");
    assert_eq!(
        error(&|model| model.base_url = "http://me:hunter2@host/v1".to_owned(), &env),
        "the base URL (not shown): it holds a user name or password, and would be shown; put them into `headers_env`"
    );
    let name = error(&|model| drop(model.headers.insert("a b".to_owned(), "c".to_owned())), &env);
    assert_eq!(name, "the header `a b`: it is no name of a header");
    let value = error(&|model| drop(model.headers.insert("a".to_owned(), "hunter2\n".to_owned())), &env);
    assert_eq!(value, "the header `a`: its value holds characters that no header may hold");
    let length = error(&|model| drop(model.headers.insert("Content-Length".to_owned(), "0".to_owned())), &env);
    assert_eq!(length, "the header `Content-Length`: the connection sets it by itself");
}
