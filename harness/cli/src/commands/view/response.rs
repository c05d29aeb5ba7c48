//! Responses of the server.

use std::fmt::Display;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use healbench_render::html;

use crate::error::{CliError, ErrorKind};

/// An extractor that answers invalid requests with an error page.
pub(super) struct Extract<T>(pub(super) T);

impl<S: Send + Sync, T: FromRequestParts<S, Rejection: Display>> FromRequestParts<S> for Extract<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Extract<T>, Response> {
        let bad_request = |reason: T::Rejection| ErrorPage::new(StatusCode::BAD_REQUEST, &reason.to_string()).into();
        T::from_request_parts(parts, state).await.map(Extract).map_err(bad_request)
    }
}

/// A successful response.
pub(super) enum PageResponse {
    Page(String),
    /// A file with its content type.
    File(&'static str, String),
}

/// A page, or the error that is shown in its place.
pub(super) type PageResult = Result<PageResponse, ErrorPage>;

/// An error that is shown as a page.
pub(super) struct ErrorPage {
    status: StatusCode,
    text: String,
    help: Option<String>,
}

pub(super) const JSON: &str = "application/json; charset=utf-8";
pub(super) const CSV: &str = "text/csv; charset=utf-8";
pub(super) const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

impl ErrorPage {
    pub(super) fn new(status: StatusCode, text: &str) -> ErrorPage {
        ErrorPage { status, text: text.to_owned(), help: None }
    }

    pub(super) fn not_found(text: &str) -> ErrorPage {
        ErrorPage::new(StatusCode::NOT_FOUND, text)
    }

    #[must_use]
    pub(super) fn help(mut self, help: &str) -> ErrorPage {
        self.help = Some(help.to_owned());
        self
    }
}

impl<E: Into<CliError>> From<E> for ErrorPage {
    fn from(error: E) -> ErrorPage {
        let error = error.into();
        let status = match error.kind {
            ErrorKind::UnknownEpisode | ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Conflict | ErrorKind::Replaced => StatusCode::CONFLICT,
            ErrorKind::Invalid => StatusCode::BAD_REQUEST,
            ErrorKind::Diagnostics | ErrorKind::Other => StatusCode::INTERNAL_SERVER_ERROR,
        };
        ErrorPage { status, text: error.to_string(), help: error.help }
    }
}

/// A page or a file as it is sent.
#[derive(Debug)]
pub(super) struct RenderedPage {
    pub(super) status: StatusCode,
    pub(super) content_type: String,
    pub(super) text: String,
}

impl From<PageResponse> for RenderedPage {
    fn from(answer: PageResponse) -> RenderedPage {
        let (content_type, text) = match answer {
            PageResponse::Page(text) => (HTML, text),
            PageResponse::File(content_type, text) => (content_type, text),
        };
        RenderedPage { status: StatusCode::OK, content_type: content_type.to_owned(), text }
    }
}

impl From<ErrorPage> for RenderedPage {
    fn from(problem: ErrorPage) -> RenderedPage {
        let title = match problem.status {
            StatusCode::NOT_FOUND => "Page not found",
            StatusCode::BAD_REQUEST => "Invalid request",
            _ => "Cannot show this page",
        };
        let text = html::error_page(title, &problem.text, problem.help.as_deref());
        RenderedPage { status: problem.status, content_type: HTML.to_owned(), text }
    }
}

impl From<&RenderedPage> for Response {
    fn from(page: &RenderedPage) -> Response {
        let mut response = Response::new(Body::from(page.text.clone()));
        *response.status_mut() = page.status;
        if let Ok(content_type) = HeaderValue::try_from(&page.content_type) {
            response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        }
        response
    }
}

impl From<ErrorPage> for Response {
    fn from(problem: ErrorPage) -> Response {
        (&RenderedPage::from(problem)).into()
    }
}

/// Returns a permanent redirect to an address.
pub(super) fn redirect(address: String) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(HTML));
    if let Ok(address) = HeaderValue::try_from(address) {
        response.headers_mut().insert(header::LOCATION, address);
    }
    response
}
