use healbench_store::RunManifest;

use super::transcript::Transcripts;
use healbench_analysis::Report;

/// The content of a report page.
#[derive(Debug)]
pub struct RunPage<'a> {
    /// The run's name in commands.
    pub name: &'a str,
    pub manifest: &'a RunManifest,
    /// The report, of [`Scope::Full`](healbench_analysis::Scope::Full).
    pub report: &'a Report,
    /// The transcripts shown in its rows.
    pub transcripts: &'a Transcripts,
    /// True if `healbench view` serves the page.
    pub served: bool,
}
