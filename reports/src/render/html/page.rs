//! What all pages have in common. A page asks for nothing: its style and its script are in it, and no other script may run.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use super::charts::CSS;
use super::visible;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// A page of HTML.
#[derive(Debug)]
pub struct Page<'a> {
    /// The title, as the browser shows it; what cannot be seen in it is made visible.
    pub title: &'a str,
    /// Whether `healbench view` serves it: it then has a way back to the list of runs, and may ask how far a run is.
    pub served: bool,
    /// What it is about.
    pub body: Markup,
}

/// What a page may do, as the header `Content-Security-Policy` says it: nothing but its own style and script.
pub fn content_security_policy(served: bool) -> String {
    let script = STANDARD.encode(Sha256::digest(SCRIPT));
    let own = if served { "; connect-src 'self'; form-action 'self'" } else { "; form-action 'none'" };
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script}'; img-src data:; base-uri 'none'{own}"
    )
}

/// The page as a file that needs no other.
pub fn page(page: &Page<'_>) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(content_security_policy(page.served));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                title { (visible(page.title)) " · healbench" }
                // A browser asks for an icon unless it is told one.
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) (PreEscaped(CSS)) }
            }
            body {
                a.skip href="#main" { "Skip to the report" }
                header.top {
                    span.brand { "healbench" }
                    @if page.served { nav aria-label="Pages" { a href="/" { "All runs" } } }
                    span.grow {}
                    button #theme type="button" hidden { "Theme: auto" }
                }
                main #main { (page.body) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    markup.into_string()
}
