//! The error texts of a run, by what they cost.

use maud::{Markup, html};

use super::run_page::RunPage;
use super::runs::run_address;
use super::{visible, with_code_spans};
use crate::errors::{COLUMNS, about, answer, example, fields, found, left_out, notes, template, totals};
use healbench_analysis::ErrorText;

/// The largest number of texts in a page.
const MAX_TEXTS: usize = 20;

/// Renders the section; nothing for a run without errors, or of an older version.
pub(super) fn error_texts(run: &RunPage<'_>) -> Markup {
    let Some(texts) = run.report.error_texts.as_ref().filter(|texts| texts.totals.calls > 0) else { return html! {} };
    html! {
        h2 #errors { "Error texts" }
        p { (visible(&answer(texts))) }
        p.note { (totals(texts)) }
        div.scroll tabindex="0" role="region" aria-label="Error texts" {
            table {
                thead { tr {
                    th.text scope="col" { "tool" }
                    th.text scope="col" { "text" }
                    th.text scope="col" { "kind" }
                    @for column in &COLUMNS { th scope="col" { (column.title()) } }
                    th.text scope="col" { "reader found" }
                    th.text scope="col" { "fields" }
                    th.text scope="col" { "example" }
                } }
                tbody { @for text in texts.texts.iter().take(MAX_TEXTS) { (row(run, text)) } }
            }
        }
        @if let Some(more) = left_out(texts, MAX_TEXTS) { p.note { (more) " " code { "healbench errors RUN --limit N" } " has them." } }
        details { summary { "How to read the table" } ul.note { @for note in notes(texts) { li { (with_code_spans(&note)) } } } }
    }
}

fn row(run: &RunPage<'_>, text: &ErrorText) -> Markup {
    html! {
        tr {
            th scope="row" { (visible(&text.tool)) }
            td.text { (visible(&template(text))) }
            td.text { (about(text)) }
            @for column in &COLUMNS { td { ((column.value)(&text.counts)) } }
            td.text { (found(text)) }
            td.text { (visible(&fields(text).unwrap_or_default())) }
            td.text {
                @if run.served { a href={ (run_address(run.name)) "episodes/" (text.example.episode) } { (example(text)) } }
                @else { (example(text)) }
            }
        }
    }
}
