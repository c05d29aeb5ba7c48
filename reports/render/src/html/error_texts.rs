//! The error texts of a run, by what they cost.

use maud::{Markup, html};

use super::notes::provenance;
use super::page::{Page, page};
use super::run_page::RunPage;
use super::runs::run_address;
use super::{visible, with_code_spans};
use crate::errors::{
    COLUMNS, Column, SECOND_COLUMNS, about, answer, changes, conditions, example, fields, found, left_out, notes,
    other_chains, template, totals,
};
use healbench_analysis::{
    ConditionKinds, ErrorChanges, ErrorGroup, ErrorText, ErrorTexts, Report, agents_by_information,
};
use healbench_store::RunManifest;
use healbench_text::{plain_text, pluralize, shell_quote};

/// The largest number of texts in a page.
const MAX_TEXTS: usize = 20;
/// More groups than these are folded.
const MAX_GROUPS: usize = 12;

/// The page of a trace.
#[derive(Debug)]
pub struct TracePage<'a> {
    /// The run's name in commands.
    pub name: &'a str,
    pub manifest: &'a RunManifest,
    /// Its error texts, by agent.
    pub texts: &'a ErrorTexts,
    /// True if `healbench view` serves the page.
    pub served: bool,
}

/// Renders the page of a trace, which has no conditions and no schedules: its errors by agent, and its error texts.
pub fn trace(run: &TracePage<'_>) -> String {
    let plan = &run.manifest.plan;
    let counts =
        [(plan.len(), "conversation"), (plan.scenarios.len() as u64, "task"), (plan.agents.len() as u64, "agent")];
    let counts = counts.map(|(number, noun)| pluralize(number, noun)).join(" · ");
    let body = html! {
        p.meta { "trace · " (counts) }
        h1 { (visible(run.name)) }
        @if run.served { p { a href={ (run_address(run.name)) "episodes" } { "All conversations" } } }
        (section(run.name, run.served, run.texts, None))
        footer { (provenance(run.manifest)) }
    };
    page(&Page { title: run.name, served: run.served, body })
}

/// The page of the error texts that two traces have in common.
#[derive(Debug)]
pub struct TraceChangesPage<'a> {
    /// The names of both traces in commands.
    pub names: [&'a str; 2],
    pub found: &'a ErrorChanges,
    /// True if `healbench view` serves the page.
    pub served: bool,
}

/// Renders the page of two traces: the error texts that both have, with their numbers side by side.
pub fn trace_changes(input: &TraceChangesPage<'_>) -> String {
    let TraceChangesPage { names, found, served } = input;
    let name =
        |name: &str| html! { @if *served { a href=(run_address(name)) { (visible(name)) } } @else { (visible(name)) } };
    let body = html! {
        p.meta { "two traces" }
        h1 { (name(names[0])) " → " (name(names[1])) }
        p.lead { (changes::answer(found)) }
        @if !found.texts.is_empty() {
            h2 { "Error texts of both" }
            div.scroll tabindex="0" role="region" aria-label="Error texts of both" {
                table.texts {
                    thead { tr {
                        th.text scope="col" { "tool" }
                        th.text scope="col" { "text" }
                        @for title in changes::titles() { th scope="col" { (title) } }
                    } }
                    tbody { @for text in found.texts.iter().take(MAX_TEXTS) { tr {
                        th scope="row" { (visible(&text.tool)) }
                        td.text { (visible(&text.template)) }
                        @for cell in changes::cells(&text.change) { td { (cell) } }
                    } } }
                }
            }
        }
        h2 { "How to read this" }
        ul.note { @for note in changes::notes(found, MAX_TEXTS) { li { (note) } } }
    };
    page(&Page { title: &names.join(" → "), served: *served, body })
}

/// Renders the section of a run; nothing for one without errors, or of an older version.
pub(super) fn error_texts(run: &RunPage<'_>) -> Markup {
    match run.report.error_texts.as_ref().filter(|texts| texts.totals.calls > 0) {
        Some(texts) => section(run.name, run.served, texts, chosen(run.report).as_deref()),
        None => html! {},
    }
}

/// Returns the label of the condition whose texts somebody would change first: the one that the answer recommends to the first agent, else the
/// one that the headline is about.
fn chosen(report: &Report) -> Option<String> {
    let agent = &report.agents[*agents_by_information(report).first()?];
    let headline = report.headline.map(|headline| agent.rows[headline.right].condition.label());
    report.answer.choice(&agent.title).map(str::to_owned).or(headline)
}

fn section(name: &str, served: bool, texts: &ErrorTexts, chosen: Option<&str>) -> Markup {
    html! {
        h2 #errors { "Error texts" }
        @if texts.totals.calls > 0 { (tables(name, served, texts, chosen)) } @else { p { (answer(texts)) } }
    }
}

fn tables(name: &str, served: bool, texts: &ErrorTexts, chosen: Option<&str>) -> Markup {
    let is_of = |text: &&ErrorText| chosen.is_some_and(|chosen| text.conditions.iter().any(|label| label == chosen));
    let (of_chosen, others): (Vec<&ErrorText>, Vec<&ErrorText>) = texts.texts.iter().partition(is_of);
    let is_shown = |of: &&ConditionKinds| chosen.is_none_or(|chosen| of.condition == chosen);
    // The costliest text is one that somebody would change.
    let shown = match of_chosen.is_empty() {
        true => texts.texts.clone(),
        false => of_chosen.iter().copied().cloned().collect(),
    };
    let answer = answer(&ErrorTexts { texts: shown, ..texts.clone() });
    html! {
        p { (with_code_spans(&plain_text(&answer))) }
        p.note { (totals(texts)) }
        @if let Some(note) = other_chains(texts) { p.note { (note) } }
        @if let Some(by) = texts.by { (groups(by.name(), texts)) }
        @for of in texts.kinds.iter().filter(is_shown) {
            @let under = if texts.kinds.len() > 1 { format!("kind under {}", of.condition) } else { "kind".to_owned() };
            @if of.kinds.len() > 1 { (group_table(&under, "after the first error", &COLUMNS, &of.kinds)) }
        }
        @match chosen.filter(|_| !of_chosen.is_empty() && !others.is_empty()) {
            Some(chosen) => {
                h3 { "Error texts under " (visible(chosen)) ", by wasted tokens" }
                (text_table(name, served, "Error texts", &of_chosen))
                details { summary { "Error texts under other conditions alone" } (text_table(name, served, "Error texts under other conditions alone", &others)) }
            }
            None => {
                h3 { "Error texts, by wasted tokens" }
                (text_table(name, served, "Error texts", &texts.texts.iter().collect::<Vec<_>>()))
            }
        }
        details { summary { "How to read the tables" } ul.note { @for note in notes(texts).iter().filter(|note| Some(note.as_str()) != other_chains(texts)) { li { (with_code_spans(note)) } } } }
    }
}

fn text_table(name: &str, served: bool, label: &str, texts: &[&ErrorText]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table.texts {
                thead { tr {
                    th.text scope="col" { "tool" }
                    th.text scope="col" { "text, kind, and what the reader found" }
                    @for column in &COLUMNS { th scope="col" { (column.title()) } }
                } }
                tbody { @for text in texts.iter().take(MAX_TEXTS) { (row(name, served, text)) } }
            }
        }
        @if let Some(more) = left_out(texts.len(), MAX_TEXTS) { p.note { (more) " " code { "healbench errors " (shell_quote(name)) " --limit N" } " has them." } }
    }
}

/// Renders the tables of groups: what followed a first error, and what followed a second one. Many groups are folded.
fn groups(by: &str, texts: &ErrorTexts) -> Markup {
    let has_second = texts.totals.after_second.chains > 0;
    let tables = html! {
        (group_table(by, "after the first error", &COLUMNS, &texts.groups))
        @if has_second { (group_table(by, "after the second error in a row", &SECOND_COLUMNS, &texts.groups)) }
    };
    html! {
        @if texts.groups.len() > MAX_GROUPS {
            details { summary { "Errors by " (by) ", after the first and the second" } (tables) }
        } @else { (tables) }
    }
}

fn group_table(by: &str, what: &str, columns: &[Column], groups: &[ErrorGroup]) -> Markup {
    html! {
        h3 { "Errors by " (visible(by)) ", " (what) }
        div.scroll tabindex="0" role="region" aria-label={ "Errors by " (by) ", " (what) } {
            table {
                thead { tr { th.text scope="col" { (by) } @for column in columns { th scope="col" { (column.title()) } } } }
                tbody { @for group in groups { tr {
                    th scope="row" { (visible(&group.name)) }
                    @for column in columns { td { ((column.value)(&group.counts)) } }
                } } }
            }
        }
    }
}

fn row(name: &str, served: bool, text: &ErrorText) -> Markup {
    html! {
        tr {
            th scope="row" { (visible(&text.tool)) }
            td.text {
                (visible(&template(text)))
                br;
                span.note {
                    (about(text)) " · reader found: " (found(text))
                    @if let Some(fields) = fields(text) { " · fields: " (visible(&fields)) }
                    @if let Some(conditions) = conditions(text) { " · " (visible(&conditions)) }
                    " · "
                    @if served { a href={ (run_address(name)) "episodes/" (text.example.episode) } { (example(text)) } }
                    @else { (example(text)) }
                }
            }
            @for column in &COLUMNS { td { ((column.value)(&text.counts)) } }
        }
    }
}
