//! The list of a run's episodes, and the place of an episode in it.

use axum::http::StatusCode;
use healbench_analysis::EpisodeFilter;
use healbench_core::Plan;
use healbench_frames::{EpisodeIndex, EpisodeSet, FrameError, MAX_RESPONSE_BYTES};
use healbench_render::html::{self, EpisodeNeighbors, EpisodesPage};
use healbench_store::RunDir;

use super::folder::RunFolder;
use super::open::open_with_frames;
use super::request::EpisodesQuery;
use super::response::{ErrorPage, PageResponse, PageResult};
use crate::error::CliError;

/// The number of episodes on a page.
const PAGE_SIZE: usize = 100;

/// The episodes of a run, and those that a filter's error class and text leave.
struct SearchedEpisodes {
    index: EpisodeIndex,
    sets: Vec<EpisodeSet>,
}

impl SearchedEpisodes {
    fn read(run: &RunDir, filter: &EpisodeFilter) -> Result<SearchedEpisodes, FrameError> {
        let index = EpisodeIndex::read(run)?;
        let mut sets = Vec::new();
        if !filter.error.is_empty() {
            sets.push(index.with_error_class(run, &filter.error)?);
        }
        if !filter.q.is_empty() {
            sets.push(index.with_response_text(run, &filter.q)?);
        }
        Ok(SearchedEpisodes { index, sets })
    }
}

/// The list of episodes.
pub(super) fn list(folder: &RunFolder, name: &str, query: &EpisodesQuery) -> PageResult {
    let (run, manifest) = open_with_frames(folder, name)?;
    let no_page = || ErrorPage::new(StatusCode::BAD_REQUEST, "`page` is not the number of a page");
    let page: usize = match query.page.as_str() {
        "" => 1,
        text => text.parse().ok().filter(|page| *page > 0).ok_or_else(no_page)?,
    };
    let SearchedEpisodes { index, sets } = SearchedEpisodes::read(&run, &query.filter).map_err(CliError::from)?;
    let start = (page - 1).saturating_mul(PAGE_SIZE);
    let found = index.filter(&manifest.plan, &query.filter, &sets, start, PAGE_SIZE);
    let stored_bytes = std::fs::metadata(run.responses_path()).map_or(0, |metadata| metadata.len());
    let page = EpisodesPage {
        name,
        plan: &manifest.plan,
        filter: &query.filter,
        found: &found,
        start,
        page_size: PAGE_SIZE,
        all: index.len(),
        texts_left_out: stored_bytes >= MAX_RESPONSE_BYTES,
    };
    Ok(PageResponse::Page(html::episodes(&page)))
}

/// Returns the episodes before and after an episode in a filtered list.
pub(super) fn neighbors(
    (run, plan): (&RunDir, &Plan),
    filter: EpisodeFilter,
    episode: u64,
) -> Result<EpisodeNeighbors, CliError> {
    let SearchedEpisodes { index, sets } = SearchedEpisodes::read(run, &filter)?;
    let [previous, next] = index.neighbors(plan, &filter, &sets, episode);
    Ok(EpisodeNeighbors { filter, previous, next })
}
