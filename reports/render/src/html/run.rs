//! The page of a run's report.

use maud::{Markup, html};

use super::charts::ChartError;
use super::figures::figures;
use super::page::{Page, page};
use super::run_page::RunPage;
use super::scenarios::scenarios;
use super::{claims, conditions, error_texts, headline, heat, matrix, moment, notes, ranking, readers, visible};
use crate::answer::{Sentence, recorded_models, sentences};
use crate::terminal::title;

/// Renders the page.
///
/// # Errors
/// [`ChartError`].
pub fn run(run: &RunPage<'_>) -> Result<String, ChartError> {
    Ok(page(&Page { title: run.name, served: run.served, body: body(run)? }))
}

fn body(run: &RunPage<'_>) -> Result<Markup, ChartError> {
    let report = run.report;
    let figures = figures(report)?;
    let sentences = sentences(&report.answer);
    let above = html! {
        p.meta { (title(report)) }
        h1 { (visible(report.suite.as_deref().unwrap_or(run.name))) }
        (notes::warnings(run.report))
        @for sentence in &sentences {
            p.lead { @if sentence.is_clear { b { (sentence.finding()) } } @else { (sentence.finding()) } }
        }
        @if let Some(recorded) = recorded_models(&report.answer) { p.note { (recorded) } }
        (readers::link(report))
        (ranking::rankings(report))
        @for carriers in sentences.iter().filter_map(Sentence::carriers) { p.note { (carriers) } }
        (headline::headline_cards(report))
        (moment::moment(run))
        (heat::heat_maps(report))
        (conditions::tables(report))
        @if let Some(matrix) = &report.matrix { (matrix::heat_map(matrix)) }
        (figures)
    };
    let below = html! {
        (error_texts::error_texts(run))
        @if !report.claims.is_empty() { (claims::claims(&report.claims)) }
        (readers::readers_section(report))
        (notes::reading_guide(report))
        footer { (notes::provenance(run.manifest)) }
    };
    let taken = above.0.len() + below.0.len();
    Ok(html! { (above) (scenarios(run, taken)) (below) })
}
