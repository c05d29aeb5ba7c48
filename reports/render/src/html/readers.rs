//! The logs that each simulated reader was fitted to, and the verdict on its profile.

use healbench_core::AgentKind;
use maud::{Markup, html};

use super::visible;
use crate::moves::{fitted_text, profile_name};
use healbench_analysis::{AgentReport, Report};

/// Returns the simulated readers of a report.
fn readers(report: &Report) -> impl Iterator<Item = &AgentReport> {
    report.agents.iter().filter(|agent| agent.kind == AgentKind::Scripted)
}

/// Renders a link to the section; nothing without readers.
pub(super) fn link(report: &Report) -> Markup {
    html! {
        @if readers(report).next().is_some() {
            p.note { "A simulated reader is not your model. " a href="#readers" { "Is this reader like my model?" } }
        }
    }
}

/// Renders the section; nothing without readers.
pub(super) fn readers_section(report: &Report) -> Markup {
    html! {
        @if readers(report).next().is_some() {
            h2 #readers { "Is this reader like my model?" }
            p.note {
                "What each reader is known to be like. For your own model: " code { "healbench predict --profile NAME RUN" }
                " compares a fitted reader with the imported logs of the model, and " code { "healbench calibrate RUN" }
                " fits a reader to them and judges it by held-out tasks."
            }
            ul {
                @for reader in readers(report) {
                    li {
                        b { (visible(profile_name(reader))) } ": " (fitted_text(reader.fitted.as_ref())) ". "
                        @match &reader.fitted {
                            Some(fitted) => (visible(&fitted.verdict)),
                            None => "Its numbers are those of no model, so that its results predict none.",
                        }
                    }
                }
            }
        }
    }
}
