//! Pages for a browser: a run's report, a comparison, playbacks. Each is one file that asks for nothing.

mod answer;
mod claims;
mod matrix;
mod notes;
mod page;
mod run;
mod scenarios;
mod settings;

use maud::{Markup, html};

use super::number::UNKNOWN;
use super::plain_text;
pub use page::{Page, content_security_policy, page};
pub use run::{RunPage, run};

/// Text of agents, models and files: what cannot be seen in it is made visible.
fn shown(text: &str) -> Markup {
    html! { (plain_text(text)) }
}

/// An estimate with its interval below it.
fn estimate(value: Option<String>, interval: Option<String>) -> Markup {
    html! {
        (value.unwrap_or_else(|| UNKNOWN.to_owned()))
        @if let Some(interval) = interval { " " span.sure { (interval) } }
    }
}

/// What a column is sorted by; empty where it is unknown.
fn key(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}
