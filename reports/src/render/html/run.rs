//! The report of a run as a page.

use std::collections::BTreeMap;

use healbench_record::RunManifest;
use maud::{Markup, html};

use super::charts::ChartError;
use super::figures::figures;
use super::page::{Page, page};
use super::scenarios::{MOST_PAIRS, MOST_ROWS, scenarios};
use super::{answer, claims, matrix, notes, settings, shown};
use crate::playback::Playback;
use crate::render::terminal::title;
use crate::summary::Report;

/// What the page of a run is made from.
#[derive(Debug)]
pub struct RunPage<'a> {
    /// The run as commands name it.
    pub name: &'a str,
    /// Where it comes from.
    pub manifest: &'a RunManifest,
    /// Its numbers, of [`Scope::Whole`](crate::Scope::Whole).
    pub report: &'a Report,
    /// The episodes that its rows open into.
    pub playbacks: &'a Playbacks,
    /// Whether `healbench view` serves the page.
    pub served: bool,
}

/// Episodes that were played again for a page.
#[derive(Debug, Default)]
pub struct Playbacks {
    /// By their number.
    pub episodes: BTreeMap<u64, Playback>,
    /// Why others could not be played, by their number.
    pub failed: BTreeMap<u64, String>,
}

impl Playbacks {
    /// The episodes that a page has room for, of those that a report names as worth reading: of examples that end differently first.
    pub fn wanted(report: &Report) -> Vec<u64> {
        let mut examples: Vec<_> = report.examples.iter().take(MOST_ROWS).collect();
        examples.sort_by_key(|example| !example.flips);
        examples.iter().take(MOST_PAIRS).flat_map(|example| [example.left, example.right]).flatten().collect()
    }
}

/// The page.
///
/// # Errors
/// [`ChartError`].
pub fn run(run: &RunPage<'_>) -> Result<String, ChartError> {
    Ok(page(&Page { title: run.name, served: run.served, body: body(run)? }))
}

fn body(run: &RunPage<'_>) -> Result<Markup, ChartError> {
    let report = run.report;
    let figures = figures(report)?;
    Ok(html! {
        p.meta { (title(report)) }
        h1 { (shown(report.suite.as_deref().unwrap_or(run.name))) }
        (notes::warnings(run.manifest))
        (answer::answers(report))
        (settings::tables(report))
        @if let Some(found) = &report.matrix { (matrix::heat_map(found)) }
        (figures)
        (scenarios(run))
        @if !report.claims.is_empty() { (claims::claims(&report.claims)) }
        (notes::reading(report))
        footer { (notes::origin(run.manifest)) }
    })
}
