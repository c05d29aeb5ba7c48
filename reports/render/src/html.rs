//! Self-contained HTML pages: reports of runs, comparisons and transcripts. They load nothing from elsewhere.

mod aligned;
mod charts;
mod claims;
mod comparison;
mod conditions;
mod episode;
mod episodes;
mod error;
mod error_texts;
mod figures;
mod headline;
mod heat;
mod history;
mod interval_axis;
mod matrix;
mod moment;
mod notes;
mod page;
mod payload;
mod progress;
mod ranking;
mod readers;
mod run;
mod run_page;
mod runs;
mod scenario_diff;
mod scenarios;
mod transcript;
mod waiting;

use maud::{Markup, html};

use super::number::UNKNOWN;
pub use charts::ChartError;
pub use comparison::{ComparisonPage, comparison, matrix as matrix_page};
pub use episode::{EpisodeNeighbors, EpisodePage, MAX_VERSUS, episode};
pub use episodes::{EpisodesPage, episodes, filter_query};
pub use error::error_page;
pub use error_texts::{TraceChangesPage, TracePage, trace, trace_changes};
use healbench_text::plain_text;
pub use history::{HistoryRun, SuiteHistory, history};
pub use page::{Page, content_security_policy, page};
pub use progress::{ProgressUpdate, progress_page};
pub use run::run;
pub use run_page::RunPage;
pub use runs::{ListedRun, RunState, RunSummary, run_address, runs};
pub use scenario_diff::ScenarioChange;
pub use transcript::Transcripts;
pub use waiting::waiting_page;

/// Escapes text of agents, models and files so that invisible characters are visible.
fn visible(text: &str) -> Markup {
    html! { (plain_text(text)) }
}

/// Formats a sentence of this program, with text in backticks as code.
fn with_code_spans(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 0 { (part) } @else { code { (part) } }
        }
    }
}

/// Formats an estimate with its interval below it.
fn estimate(value: Option<String>, interval: Option<String>) -> Markup {
    html! {
        (value.unwrap_or_else(|| UNKNOWN.to_owned()))
        @if let Some(interval) = interval { " " span.sure { (interval) } }
    }
}

/// Formats a sortable column heading; plain text if scripts do not run.
fn sort_header(text: &str, class: &str) -> Markup {
    html! { th scope="col" class=(class) { button type="button" disabled { (text) } } }
}

/// Returns the sort key of a value; empty if it is unknown.
fn sort_key(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}
