//! Conversion of settings to an HTTP client: address, headers, proxy and TLS.

use std::time::Duration;

use healbench_mcp::is_loopback;
use healbench_text::keep_secret;
use reqwest::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};

use super::Model;
use super::attempt::describe;
use crate::llm::settings::{HOST, is_shown};

/// The most idle connections per host, enough for all threads that may send requests at once.
const IDLE_CONNECTIONS: usize = 128;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// The interval at which dead connections are detected.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// Invalid settings of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The environment variable for a key or header is not set or is empty.
    #[error("the environment variable {variable} is not set; set it to {purpose}")]
    NoKey {
        variable: String,
        /// The purpose of the variable.
        purpose: String,
    },
    /// The environment variable's value cannot be sent in a header.
    #[error("the environment variable {variable} holds characters that no header may hold; set it to {purpose}")]
    BadKey {
        variable: String,
        /// The purpose of the variable.
        purpose: String,
    },
    /// The base URL contains `{host}`, and the name of this machine is not known.
    #[error("the base URL holds `{{host}}`, and the name of this machine is not known")]
    NoHost,
    /// The base URL is invalid or contains more than an address.
    #[error("the base URL {displayed_url}: {problem}")]
    BaseUrl {
        /// The URL in quotes, or `(not shown)`.
        displayed_url: String,
        problem: String,
    },
    /// A header's name or value is invalid.
    #[error("the header `{name}`: {problem}")]
    Header {
        name: String,
        /// The problem, without the value.
        problem: String,
    },
    /// The client cannot be created, usually because the system has no certificates.
    #[error("no connection to {host} can be set up: {problem}")]
    Client { host: String, problem: String },
}

/// The environment variable with the name of this machine, which replaces `{host}` in base URLs.
pub const HOST_VARIABLE: &str = "HEALBENCH_HOST";

/// Replaces `{host}` by the name of this machine.
pub(super) fn with_host(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<String, SetupError> {
    if !text.contains(HOST) {
        return Ok(text.to_owned());
    }
    let is_host = |name: &String| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']'))
    };
    let host = env(HOST_VARIABLE).filter(is_host).ok_or(SetupError::NoHost)?;
    Ok(text.replace(HOST, &host))
}

/// Parses the base URL and removes a trailing slash from its path.
pub(super) fn base_url(text: &str) -> Result<Url, SetupError> {
    // The text before an `@` may contain a password, that after a `?` a key.
    let displayed_url = if text.contains(['@', '?', '#']) { "(not shown)".to_owned() } else { format!("`{text}`") };
    let wrong =
        |problem: &str| SetupError::BaseUrl { displayed_url: displayed_url.clone(), problem: problem.to_owned() };
    let mut url = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("it has to begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("it holds a user name or password, and would be shown; put them into `headers_env`"));
    }
    if !is_shown(&url) {
        return Err(wrong("nothing may follow on its path; a key belongs into `key_env` or `headers_env`"));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

/// Returns the headers of every request. Later sources override earlier ones: the API's
/// headers, `headers`, `headers_env`.
pub(super) fn headers(model: &Model, env: &dyn Fn(&str) -> Option<String>) -> Result<HeaderMap, SetupError> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let key = model.key_env.as_deref().map(|variable| secret(variable, "the key", env)).transpose()?;
    for (name, value) in model.api.headers(key.as_deref()) {
        let mut value = header_value(name, &value)?;
        value.set_sensitive(key.as_deref().is_some_and(|key| holds(&value, key)));
        headers.insert(header_name(name)?, value);
    }
    for (name, value) in &model.headers {
        headers.insert(header_name(name)?, header_value(name, value)?);
    }
    for (name, variable) in &model.headers_env {
        let secret = secret(variable, &format!("the header `{name}`"), env)?;
        let mut value = header_value(name, &secret)?;
        value.set_sensitive(true);
        headers.insert(header_name(name)?, value);
    }
    Ok(headers)
}

fn holds(value: &HeaderValue, key: &str) -> bool {
    value.to_str().is_ok_and(|value| value.contains(key))
}

/// Returns a variable's value and keeps it as a secret, trimmed because keys read from files end with a line break.
fn secret(variable: &str, purpose: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<String, SetupError> {
    let value = env(variable).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let (variable, purpose) = (variable.to_owned(), purpose.to_owned());
    match value {
        None => Err(SetupError::NoKey { variable, purpose }),
        Some(value) if HeaderValue::from_str(&value).is_err() => Err(SetupError::BadKey { variable, purpose }),
        Some(value) => {
            keep_secret(&value);
            Ok(value)
        }
    }
}

fn header_name(name: &str) -> Result<HeaderName, SetupError> {
    let wrong = |problem: &str| SetupError::Header { name: name.to_owned(), problem: problem.to_owned() };
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("it is no name of a header"))?;
    match parsed.as_str() {
        "connection" | "content-length" | "transfer-encoding" => Err(wrong("the connection sets it by itself")),
        _ => Ok(parsed),
    }
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, SetupError> {
    HeaderValue::from_str(value).map_err(|_| SetupError::Header {
        name: name.to_owned(),
        problem: "its value holds characters that no header may hold".to_owned(),
    })
}

/// Creates a client for one host. Without TLS it needs no certificates, so it works on systems without any.
pub(super) fn client(base: &Url, headers: HeaderMap) -> Result<Client, SetupError> {
    let local = is_this_machine(base);
    let plain = base.scheme() == "http";
    let build = |certificates: bool| {
        let builder = builder(headers.clone(), plain);
        let builder = if local { builder.no_proxy() } else { builder };
        let builder = if certificates { builder } else { builder.tls_certs_only([]) };
        builder.build()
    };
    let built = match (plain, local) {
        (true, true) => build(false),
        // A proxy may use TLS.
        (true, false) => build(true).or_else(|_| build(false)),
        (false, _) => build(true),
    };
    built.map_err(|error| SetupError::Client {
        host: base.host_str().unwrap_or_default().to_owned(),
        problem: describe(error),
    })
}

fn builder(headers: HeaderMap, plain: bool) -> ClientBuilder {
    let builder = Client::builder()
        .user_agent(concat!("healbench/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        // A redirect would send the key to another server.
        .redirect(Policy::none())
        .referer(false)
        .tcp_nodelay(true)
        .tcp_keepalive(KEEP_ALIVE)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .http2_keep_alive_timeout(KEEP_ALIVE);
    if plain { builder.http1_only() } else { builder }
}

/// Returns true if the host is this machine. Such requests bypass proxies. A connection to the unspecified address also
/// reaches this machine.
fn is_this_machine(url: &Url) -> bool {
    is_loopback(url) || matches!(url.host_str(), Some("0.0.0.0" | "[::]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_may_name_the_machine_of_the_run() {
        let on = |host: &'static str| move |_: &str| Some(host.to_owned());
        let url = "http://{host}:8000/v1";
        assert_eq!(with_host(url, &on("node-17")).unwrap(), "http://node-17:8000/v1");
        assert_eq!(with_host("http://a/v1", &|_| None).unwrap(), "http://a/v1");
        for host in ["", "node/..", "a@b"] {
            assert!(matches!(with_host(url, &on(host)), Err(SetupError::NoHost)), "{host}");
        }
        assert!(matches!(with_host(url, &|_| None), Err(SetupError::NoHost)));
    }

    #[test]
    fn a_base_url_has_a_scheme_a_host_and_a_path() {
        assert_eq!(base_url("http://localhost:8080/v1/").unwrap().as_str(), "http://localhost:8080/v1");
        for (text, problem) in [
            ("localhost:8080", "begin with http"),
            ("/v1", "relative URL"),
            ("http://", "empty host"),
            ("ftp://host", "begin with http"),
            ("http://user:hunter2@host/v1", "user name or password"),
            ("http://host/v1?key=hunter2", "follow on its path"),
            ("http://host/v1#hunter2", "follow on its path"),
            ("http://user:hunter2@host:port/", "invalid port"),
        ] {
            let message = base_url(text).unwrap_err().to_string();
            assert!(message.contains(problem), "{text}: {message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }

    #[test]
    fn this_machine_is_known_by_all_its_names() {
        let is = |url: &str| is_this_machine(&Url::parse(url).unwrap());
        assert!(
            [
                "http://localhost:1",
                "http://127.0.0.1",
                "http://127.1.2.3",
                "http://[::1]:80",
                "http://0.0.0.0",
                "http://[::]"
            ]
            .map(is)
                == [true; 6]
        );
        assert!(["http://10.0.0.1", "http://localhost.example.com", "http://[::2]"].map(is) == [false; 3]);
    }
}
