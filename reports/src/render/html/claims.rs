//! What scenarios claim, beside what was measured.

use maud::{Markup, html};

use super::shown;
use crate::render::claims::{NOTE, measured, name, range, word};
use crate::render::number::{UNKNOWN, rate_percent};
use crate::render::terminal::setting;
use crate::summary::ClaimReport;

/// A table a claim.
pub(super) fn claims(claims: &[ClaimReport]) -> Markup {
    html! {
        h2 #claims { "Claims" }
        p.note { (NOTE) }
        @for report in claims {
            div.scroll tabindex="0" role="region" aria-label="A claim" {
                table {
                    caption { b { (shown(&report.scenario)) } ": " (shown(&report.claim.says)) " — " (name(report.claim.measure)) }
                    thead { tr {
                        th.text scope="col" { "agent" }
                        th.text scope="col" { "setting" }
                        th scope="col" { "success" }
                        th scope="col" { "measured" }
                        th scope="col" { "claimed" }
                        th.text scope="col" { "borne out" }
                    } }
                    tbody {
                        @for row in &report.rows {
                            @let (mean, interval) = measured(report.claim.measure, row, true);
                            tr {
                                th scope="row" { (shown(&row.title)) }
                                td.text { (setting(row.guardrails, &row.format)) }
                                td { (rate_percent(row.success)) }
                                td { (mean.text) " " span.sure { (interval.text) } }
                                td { (row.claimed.map_or(UNKNOWN.to_owned(), |span| range(report.claim.measure, span))) }
                                td.text { (row.verdict.map_or("", word)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
