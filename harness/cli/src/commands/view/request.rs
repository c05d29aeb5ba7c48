//! Requests of pages, and their queries.

use healbench_analysis::EpisodeFilter;
use serde::{Deserialize, Serialize};

use super::cache::KnownOutcomes;

/// A requested page.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum PageRequest {
    /// The list of runs, with the outcomes that are known.
    List(KnownOutcomes),
    Run(String),
    Progress(String),
    Json(String),
    Csv(String),
    Episode {
        run: String,
        number: String,
        query: PageQuery,
    },
    Episodes {
        run: String,
        query: EpisodesQuery,
    },
    Compare(CompareQuery),
    /// The history of the suites, with the outcomes that are known.
    History(KnownOutcomes),
}

/// The query of an episode page.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PageQuery {
    /// The guardrails to show instead of the episode's.
    pub(super) guardrails: String,
    /// The error format to show instead of the episode's.
    pub(super) format: String,
    /// The episodes to show beside it, separated by commas.
    pub(super) versus: String,
    /// The list of episodes that the neighbors are taken from.
    #[serde(flatten)]
    pub(super) filter: EpisodeFilter,
}

/// The query of a comparison page.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct CompareQuery {
    pub(super) base: String,
    pub(super) candidate: String,
}

/// The query of a list of episodes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct EpisodesQuery {
    #[serde(flatten)]
    pub(super) filter: EpisodeFilter,
    /// The number of the page, from 1.
    pub(super) page: String,
}

impl PageRequest {
    /// Returns the name of the run whose pages are made one at a time, so that one run does not take all processes. The list
    /// of runs has the name of none.
    pub(super) fn run(&self) -> Option<&str> {
        match self {
            PageRequest::List(_) | PageRequest::History(_) => Some(""),
            PageRequest::Progress(_) => None,
            PageRequest::Run(run)
            | PageRequest::Json(run)
            | PageRequest::Csv(run)
            | PageRequest::Episode { run, .. }
            | PageRequest::Episodes { run, .. }
            | PageRequest::Compare(CompareQuery { base: run, .. }) => Some(run),
        }
    }

    /// Returns true if the page takes little time unless the files of a run are made to take more.
    pub(super) fn is_light(&self) -> bool {
        matches!(self, PageRequest::List(_) | PageRequest::Progress(_))
    }

    /// Returns the name of the run and the kind of its page, if it may be cached.
    pub(super) fn cache_name(&self) -> Option<(&str, &'static str)> {
        match self {
            PageRequest::Run(run) => Some((run, "page")),
            PageRequest::Json(run) => Some((run, "json")),
            PageRequest::Csv(run) => Some((run, "csv")),
            _ => None,
        }
    }
}
