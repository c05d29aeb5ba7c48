//! Checks requests and sets security headers.
//!
//! Any page in the same browser can send requests to this server, and any DNS name can point to this machine. Both are
//! rejected: a request must name this server as its host, and may come from another site only by following a link.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use healbench_render::html::content_security_policy;

pub(in crate::commands) struct RequestGuard {
    hosts: Vec<String>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

const OTHER_HOST: (StatusCode, &str) =
    (StatusCode::MISDIRECTED_REQUEST, "this server answers to its own address on this machine");
const OTHER_SITE: (StatusCode, &str) = (StatusCode::FORBIDDEN, "this server does not answer other sites");

/// The port that browsers leave out of the `Host` header.
const DEFAULT_HTTP_PORT: u16 = 80;

impl RequestGuard {
    /// Creates the checks for a server at this port.
    pub(in crate::commands) fn new(port: u16) -> RequestGuard {
        let names = ["127.0.0.1", "localhost", "[::1]"];
        let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
        if port == DEFAULT_HTTP_PORT {
            hosts.extend(names.map(str::to_owned));
        }
        let policy = format!("{}; frame-ancestors 'none'", content_security_policy(true));
        let fixed = |name, value| (name, HeaderValue::from_static(value));
        let mut headers = vec![
            fixed(header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            fixed(header::REFERRER_POLICY, "no-referrer"),
            fixed(header::CACHE_CONTROL, "no-store"),
            fixed(HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
            fixed(HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        ];
        // The policy consists of constants that are valid in a header.
        headers.extend(HeaderValue::try_from(policy).ok().map(|policy| (header::CONTENT_SECURITY_POLICY, policy)));
        RequestGuard { hosts, headers }
    }

    /// Returns the refusal of a request that names another host, or comes from a page of another site, whatever its method.
    pub(in crate::commands) fn refusal_of_host(&self, request: &Request) -> Option<(StatusCode, &'static str)> {
        let is_foreign = || {
            let origin = request.headers().get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
            origin.is_some_and(|origin| !self.hosts.iter().any(|host| origin == format!("http://{host}")))
        };
        match () {
            () if !self.names_this_server(request) => Some(OTHER_HOST),
            () if is_foreign() || is_cross_site(request.headers()) => Some(OTHER_SITE),
            () => None,
        }
    }

    fn refusal(&self, request: &Request) -> Option<(StatusCode, &'static str)> {
        if !self.names_this_server(request) {
            return Some(OTHER_HOST);
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Some((StatusCode::METHOD_NOT_ALLOWED, "this server is read-only"));
        }
        if is_cross_site(request.headers()) {
            return Some(OTHER_SITE);
        }
        None
    }

    /// Returns true if the request names this server, exactly once, in every place that names a host.
    fn names_this_server(&self, request: &Request) -> bool {
        let known = |host: &str| self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
        let mut named = request.headers().get_all(header::HOST).iter();
        let (first, second) = (named.next(), named.next());
        first.and_then(|host| host.to_str().ok()).is_some_and(known)
            && second.is_none()
            && request.uri().authority().is_none_or(|authority| known(authority.as_str()))
    }
}

/// Returns true if another site's page sent the request, except for a followed link. Only browsers send this header;
/// other programs on this machine can read the folder anyway.
fn is_cross_site(headers: &HeaderMap) -> bool {
    let value_of = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    let same_origin = matches!(value_of("sec-fetch-site"), None | Some(b"none" | b"same-origin"));
    let link_navigation =
        value_of("sec-fetch-mode") == Some(b"navigate") && value_of("sec-fetch-dest") == Some(b"document");
    !same_origin && !link_navigation
}

/// Applies the checks to a request.
pub(super) async fn check_request(
    State(request_guard): State<Arc<RequestGuard>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match request_guard.refusal(&request) {
        None => next.run(request).await,
        Some((status, text)) => {
            let mut response = Response::new(Body::from(format!("{text}\n")));
            *response.status_mut() = status;
            let plain = HeaderValue::from_static("text/plain; charset=utf-8");
            response.headers_mut().insert(header::CONTENT_TYPE, plain);
            if status == StatusCode::METHOD_NOT_ALLOWED {
                response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            }
            response
        }
    };
    for (name, value) in &request_guard.headers {
        response.headers_mut().insert(name, value.clone());
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(port: u16, address: &str, headers: &[(&str, &str)]) -> Option<u16> {
        let mut request = Request::builder().uri(address);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).unwrap();
        RequestGuard::new(port).refusal(&request).map(|(status, _)| status.as_u16())
    }

    #[test]
    fn hosts() {
        for host in ["127.0.0.1:8000", "localhost:8000", "LOCALHOST:8000", "[::1]:8000"] {
            assert_eq!(refusal(8000, "/", &[("host", host)]), None, "{host}");
        }
        for host in [
            "",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:8001",
            "evil.example:8000",
            "localhost.evil.example:8000",
            "127.0.0.1:8000.evil.example",
            "user@127.0.0.1:8000",
            "127.0.0.1:08000",
            "0.0.0.0:8000",
        ] {
            assert_eq!(refusal(8000, "/", &[("host", host)]), Some(421), "{host}");
        }
        assert_eq!(refusal(80, "/", &[("host", "localhost")]), None);
        assert_eq!(refusal(8000, "/", &[]), Some(421));
        let twice = [("host", "localhost:8000"), ("host", "localhost:8000")];
        assert_eq!(refusal(8000, "/", &twice), Some(421));
        assert_eq!(refusal(8000, "http://evil.example/", &[("host", "localhost:8000")]), Some(421));
        assert_eq!(refusal(8000, "http://localhost:8000/", &[("host", "localhost:8000")]), None);
    }

    #[test]
    fn other_sites_may_only_link() {
        let from = |site: &str, mode: &str, dest: &str| {
            let headers = [
                ("host", "localhost:8000"),
                ("sec-fetch-site", site),
                ("sec-fetch-mode", mode),
                ("sec-fetch-dest", dest),
            ];
            refusal(8000, "/", &headers)
        };
        for site in ["cross-site", "same-site", "something-new"] {
            assert_eq!(from(site, "navigate", "document"), None, "{site}");
            for (mode, dest) in [("navigate", "iframe"), ("no-cors", "image"), ("cors", "empty"), ("", "")] {
                assert_eq!(from(site, mode, dest), Some(403), "{site} {mode} {dest}");
            }
        }
        for site in ["none", "same-origin"] {
            assert_eq!(from(site, "cors", "empty"), None, "{site}");
        }
    }
}
