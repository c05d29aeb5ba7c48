//! Pages for a browser: a run's report, a comparison, playbacks. Each is one file that asks for nothing.

mod answer;
mod charts;
mod claims;
mod comparison;
mod episode;
mod figures;
mod matrix;
mod notes;
mod page;
mod playback;
mod problem;
mod progress;
mod run;
mod runs;
mod scenarios;
mod settings;

use maud::{Markup, html};

use super::number::UNKNOWN;
use super::plain_text;
pub use charts::ChartError;
pub use comparison::{ComparisonPage, comparison};
pub use episode::{EpisodePage, episode};
pub use page::{Page, content_security_policy, page};
pub use playback::Playbacks;
pub use problem::problem;
pub use progress::{ProgressNews, progress_page};
pub use run::{RunPage, run};
pub use runs::{FoundRun, ListedRun, RunState, run_address, runs};

/// Text of agents, models and files: what cannot be seen in it is made visible.
fn shown(text: &str) -> Markup {
    html! { (plain_text(text)) }
}

/// A sentence of this program; what stands between backticks is code.
fn worded(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 0 { (part) } @else { code { (part) } }
        }
    }
}

/// An estimate with its interval below it.
fn estimate(value: Option<String>, interval: Option<String>) -> Markup {
    html! {
        (value.unwrap_or_else(|| UNKNOWN.to_owned()))
        @if let Some(interval) = interval { " " span.sure { (interval) } }
    }
}

/// A column's head that sorts. Without the script it is plain text.
fn head(text: &str, class: &str) -> Markup {
    html! { th scope="col" class=(class) { button type="button" disabled { (text) } } }
}

/// What a column is sorted by; empty where it is unknown.
fn key(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}
