//! What cannot be shown, and why.

use maud::html;

use super::page::{Page, page};
use super::shown;

/// A page that says what went wrong, and the way out where there is one.
pub fn problem(title: &str, text: &str, hint: Option<&str>) -> String {
    let body = html! {
        h1 { (shown(title)) }
        @for line in text.lines() { p { (shown(line)) } }
        @if let Some(hint) = hint { p.note { (shown(hint)) } }
        p { a href="/" { "All runs" } }
    };
    page(&Page { title, served: true, body })
}
