//! What a terminal would show, on a page.

use maud::html;

use super::page::{Page, page};
use super::shown;

/// A page with texts side by side; lines are kept, and nothing else is taken from them.
pub fn text(title: &str, texts: &[String]) -> String {
    let body = html! {
        h1 { (shown(title)) }
        div.pair { @for text in texts {
            div.playback { pre { @for line in text.lines() { (shown(line)) "\n" } } }
        } }
    };
    page(&Page { title, served: true, body })
}
