//! Slow reports: a waiting page is served first and turns into the report.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use healbench_render::html;

use super::AppState;
use super::page;
use super::request::PageRequest;
use super::response::{PageResponse, RenderedPage};

/// The time after which a browser gets the page that waits.
pub(super) const PATIENCE: Duration = Duration::from_millis(600);
/// The extra time for a report that is computed in the background.
const MORE_TIME: u32 = 5;
/// The maximum age of a background report that is served from memory.
const MAX_AGE: Duration = Duration::from_secs(10);

/// The reports that are waited for, by the names of their runs.
#[derive(Default)]
pub(super) struct WaitingReports {
    reports: Mutex<BTreeMap<String, WaitedReport>>,
}

enum WaitedReport {
    Making,
    Made(Arc<RenderedPage>, Instant),
}

impl WaitingReports {
    /// Returns true if the report of a run is being made and is waited for.
    pub(super) fn is_making(&self, run: &str) -> bool {
        let reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(reports.get(run), Some(WaitedReport::Making))
    }

    /// Takes a report that was just made.
    fn take(&self, run: &str) -> Option<Arc<RenderedPage>> {
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        reports.retain(|_, report| !matches!(report, WaitedReport::Made(_, made) if made.elapsed() > MAX_AGE));
        match reports.get(run) {
            Some(WaitedReport::Made(page, _)) => {
                let page = Arc::clone(page);
                reports.remove(run);
                Some(page)
            }
            _ => None,
        }
    }

    fn insert(&self, run: String, report: WaitedReport) {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner).insert(run, report);
    }
}

/// Returns the page of a run, or after `patience` one that waits for it.
pub(super) async fn run_page(app: Arc<AppState>, run: String, patience: Duration) -> Arc<RenderedPage> {
    if let Some(page) = app.waiting.take(&run) {
        return page;
    }
    if app.waiting.is_making(&run) {
        return waiting_page(&app, &run);
    }
    let most = app.page_time * MORE_TIME;
    let mut making = tokio::spawn(page::make_within(Arc::clone(&app), PageRequest::Run(run.clone()), most));
    if let Ok(made) = tokio::time::timeout(patience, &mut making).await {
        return made.unwrap_or_else(|_| Arc::new(page::defect().into()));
    }
    app.waiting.insert(run.clone(), WaitedReport::Making);
    let page = waiting_page(&app, &run);
    tokio::spawn(async move {
        let made = making.await.unwrap_or_else(|_| Arc::new(page::defect().into()));
        app.waiting.insert(run, WaitedReport::Made(made, Instant::now()));
    });
    page
}

fn waiting_page(app: &AppState, run: &str) -> Arc<RenderedPage> {
    let known = app.known_outcomes();
    let outcomes = known.get(run).map(|(_, outcomes)| outcomes);
    Arc::new(PageResponse::Page(html::waiting_page(run, outcomes)).into())
}
