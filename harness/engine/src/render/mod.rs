//! One file an error format. All of them write the same [`Failure`].

mod bare;
mod escape;
mod fusion_text;
mod fusion_xml;
mod wording;

pub(crate) use escape::{single_line, xml_attribute, xml_text};
use healbench_protocol::ErrorFormat;

use crate::failure::Failure;

/// Writes `failure` for the agent.
pub(crate) fn render(failure: &Failure, format: ErrorFormat) -> String {
    match format {
        ErrorFormat::Bare => bare_line(failure),
        ErrorFormat::FusionXml => fusion_xml::render(failure),
        ErrorFormat::FusionText => fusion_text::render(failure),
    }
}

/// The one line of a raw server: what is left of a failure when `healing` is off.
pub(crate) fn bare_line(failure: &Failure) -> String {
    bare::render(failure)
}
