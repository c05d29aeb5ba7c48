//! The error page.

use maud::html;

use super::page::{Page, page};
use super::visible;

/// Renders an error page with an optional hint on what to do.
pub fn error_page(title: &str, text: &str, hint: Option<&str>) -> String {
    let body = html! {
        h1 { (visible(title)) }
        @for line in text.lines() { p { (visible(line)) } }
        @if let Some(hint) = hint { p.note { (visible(hint)) } }
        p { a href="/" { "All runs" } }
    };
    page(&Page { title, served: true, body })
}
