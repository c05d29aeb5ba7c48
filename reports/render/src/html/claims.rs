//! The claims of scenarios with measurements.

use maud::{Markup, html};

use super::visible;
use crate::claims::{NOTE, format_mean, format_range, measure_title, verdict_text};
use crate::labels::condition_label;
use crate::number::{UNKNOWN, rate_percent};
use healbench_analysis::ClaimReport;

/// Renders one table per claim.
pub(super) fn claims(claims: &[ClaimReport]) -> Markup {
    html! {
        h2 #claims { "Claims" }
        p.note { (NOTE) }
        @for report in claims {
            div.scroll tabindex="0" role="region" aria-label={ "Claim: " (visible(&report.scenario)) ", " (visible(&report.claim.says)) } {
                table {
                    caption { b { (visible(&report.scenario)) } ": " (visible(&report.claim.says)) " — " (measure_title(report.claim.measure)) }
                    thead { tr {
                        th.text scope="col" { "agent" }
                        th.text scope="col" { "condition" }
                        th scope="col" { "success" }
                        th scope="col" { "measured" }
                        th scope="col" { "claimed" }
                        th.text scope="col" { "verdict" }
                    } }
                    tbody {
                        @for row in &report.rows {
                            @let (mean, interval) = format_mean(report.claim.measure, row, true);
                            tr {
                                th scope="row" { (visible(&row.title)) }
                                td.text { (condition_label(&row.condition)) }
                                td { (rate_percent(row.success)) }
                                td { (mean.text) " " span.sure { (interval.text) } }
                                td { (row.claimed.map_or(UNKNOWN.to_owned(), |span| format_range(report.claim.measure, span))) }
                                td.text { (row.verdict.map_or("", verdict_text)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
