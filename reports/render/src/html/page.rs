//! The shell of all pages. A page contains its style and script, loads nothing from elsewhere, and allows no other
//! script.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use super::charts::CSS;
use super::visible;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = concat!(
    include_str!("script.js"),
    include_str!("transcripts.js"),
    include_str!("episodes.js"),
    include_str!("charts.js"),
);

#[derive(Debug)]
pub struct Page<'a> {
    /// The title; invisible characters are made visible.
    pub title: &'a str,
    /// True if `healbench view` serves the page. It then links to the list of runs and may poll the progress of a run.
    pub served: bool,
    pub body: Markup,
}

/// Returns the `Content-Security-Policy` header: only the page's own style and script are allowed.
pub fn content_security_policy(served: bool) -> String {
    let script = STANDARD.encode(Sha256::digest(SCRIPT));
    let own = if served { "; connect-src 'self'; form-action 'self'" } else { "; form-action 'none'" };
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script}'; img-src data:; base-uri 'none'{own}"
    )
}

/// Renders the page as one self-contained file.
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
                // Without this, browsers request an icon.
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) (PreEscaped(CSS)) }
            }
            body {
                a.skip href="#main" { "Skip to the report" }
                header.top {
                    span.brand { "healbench" }
                    @if page.served { nav aria-label="Pages" { a href="/" { "All runs" } " · " a href="/history" { "History" } } }
                    (parts(&page.body.0))
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

/// A page with fewer headings needs no list of them.
const FEWEST_PARTS: usize = 4;

/// Renders links to the headings of a page, which are in its markup with their texts escaped.
fn parts(markup: &str) -> Markup {
    let headings = markup.split("<h2 id=\"").skip(1).filter_map(|rest| rest.split_once("</h2>")?.0.split_once("\">"));
    let headings: Vec<(&str, &str)> = headings.collect();
    html! {
        @if headings.len() >= FEWEST_PARTS {
            nav aria-label="On this page" {
                details.parts {
                    summary { "On this page" }
                    ul { @for (id, text) in headings { li { a href={ "#" (id) } { (PreEscaped(text)) } } } }
                }
            }
        }
    }
}
