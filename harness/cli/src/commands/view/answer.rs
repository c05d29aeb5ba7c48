//! What is sent back.

use std::fmt::Display;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use healbench_record::RunDirError;
use healbench_reports::ComparisonError;
use healbench_reports::render::html;

use crate::error::CliError;

/// A part of a request, refused with a page when it is not what it has to be.
pub(super) struct Asked<T>(pub(super) T);

impl<S: Send + Sync, T: FromRequestParts<S, Rejection: Display>> FromRequestParts<S> for Asked<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Asked<T>, Response> {
        let refused = |reason: T::Rejection| Problem::new(StatusCode::BAD_REQUEST, &reason.to_string()).into();
        T::from_request_parts(parts, state).await.map(Asked).map_err(refused)
    }
}

/// Something that could be made.
pub(super) enum Answer {
    /// A page.
    Page(String),
    /// A file of this type.
    File(&'static str, String),
    /// It is at this address.
    At(String),
}

/// Why something could not be made.
pub(super) struct Problem {
    status: StatusCode,
    text: String,
    hint: Option<String>,
}

pub(super) const JSON: &str = "application/json; charset=utf-8";
pub(super) const CSV: &str = "text/csv; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

impl Problem {
    pub(super) fn new(status: StatusCode, text: &str) -> Problem {
        Problem { status, text: text.to_owned(), hint: None }
    }

    /// There is no such thing.
    pub(super) fn missing(text: &str) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, text)
    }
}

impl<E: Into<CliError>> From<E> for Problem {
    fn from(error: E) -> Problem {
        let error = error.into();
        let status = match &error {
            CliError::NoEpisode(_) | CliError::NotPlayed(_) | CliError::NoTranscript(_) => StatusCode::NOT_FOUND,
            CliError::RunDir(RunDirError::Missing(_)) => StatusCode::NOT_FOUND,
            // Another time there may be something to show.
            CliError::RunDir(RunDirError::Locked(_) | RunDirError::Incomplete(_)) => StatusCode::CONFLICT,
            CliError::Comparison(ComparisonError::Seeds { .. }) => StatusCode::CONFLICT,
            CliError::Axis(_)
            | CliError::NotAsked { .. }
            | CliError::FormatUnseen { .. }
            | CliError::BareHealing(_) => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem { status, text: error.to_string(), hint: error.hint() }
    }
}

impl From<Answer> for Response {
    fn from(answer: Answer) -> Response {
        match answer {
            Answer::Page(text) => response(StatusCode::OK, HTML, text),
            Answer::File(kind, text) => response(StatusCode::OK, kind, text),
            Answer::At(address) => {
                let mut response = response(StatusCode::PERMANENT_REDIRECT, HTML, String::new());
                if let Ok(address) = HeaderValue::try_from(address) {
                    response.headers_mut().insert(header::LOCATION, address);
                }
                response
            }
        }
    }
}

impl From<Problem> for Response {
    fn from(problem: Problem) -> Response {
        let title = match problem.status {
            StatusCode::NOT_FOUND => "There is no such thing",
            StatusCode::BAD_REQUEST => "This cannot be asked for",
            _ => "This cannot be shown",
        };
        response(problem.status, HTML, html::error_page(title, &problem.text, problem.hint.as_deref()))
    }
}

fn response(status: StatusCode, kind: &'static str, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
