//! The report of a run as a page.

use healbench_record::RunManifest;
use maud::{Markup, html};

use super::page::{Page, page};
use super::scenarios::scenarios;
use super::{answer, claims, matrix, notes, settings, shown};
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
    /// Whether `healbench view` serves the page.
    pub served: bool,
}

/// The page.
pub fn run(run: &RunPage<'_>) -> String {
    page(&Page { title: run.name, served: run.served, body: body(run) })
}

fn body(run: &RunPage<'_>) -> Markup {
    let report = run.report;
    html! {
        p.meta { (title(report)) }
        h1 { (shown(report.suite.as_deref().unwrap_or(run.name))) }
        (notes::warnings(run.manifest))
        (answer::answers(report))
        (settings::tables(report))
        @if let Some(found) = &report.matrix { (matrix::heat_map(found)) }
        (scenarios(run))
        @if !report.claims.is_empty() { (claims::claims(&report.claims)) }
        (notes::reading(report))
        footer { (notes::origin(run.manifest)) }
    }
}
