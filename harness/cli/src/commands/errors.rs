use std::num::NonZeroUsize;

use healbench_analysis::{ErrorQuery, error_texts};
use healbench_core::EpisodeRecord;
use healbench_frames::Rows;
use healbench_render::{ErrorOptions, errors as render_errors, errors_csv, errors_markdown, json};
use healbench_store::{RunDir, RunManifest, RunStatus};
use healbench_text::{part_of, shell_quote};

use super::one_state::{of_one_state, until_one_state};
use super::outputs;
use crate::args::{ErrorForm, ErrorSources, ErrorsArgs};
use crate::error::{CliError, ExitStatus};
use crate::terminal::Terminal;

/// The number of texts that a terminal and Markdown show by default.
const SHOWN: usize = 20;

/// Prints the error texts of a run, by what they cost.
pub(crate) fn errors(args: &ErrorsArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    until_one_state(|| errors_once(args, terminal))
}

fn errors_once(args: &ErrorsArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let (run, manifest) = RunDir::open(&args.run)?;
    if manifest.status == RunStatus::Interrupted {
        let name = shell_quote(&args.run.to_string_lossy());
        let done = part_of(manifest.episodes_done, manifest.episodes().len(), "episode");
        terminal.warn(&format!("{name} was interrupted: it has {done}"));
    }
    let request = ErrorsRequest {
        query: ErrorQuery {
            order: args.sort.into(),
            by: args.by.map(Into::into),
            flagged_only: args.errors == ErrorSources::Flag,
        },
        with_attacks: args.with.is_some(),
        limit: args.limit.map(NonZeroUsize::get),
    };
    outputs::check(&args.output, std::iter::empty())?;
    outputs::write(&args.output, ErrorForm::Terminal, terminal, |form, printed| {
        render(&run, &manifest, &request, form, printed, terminal)
    })?;
    Ok(ExitStatus::Success)
}

/// A request for the error texts of a run.
#[derive(Debug, Default)]
pub(super) struct ErrorsRequest {
    pub(super) query: ErrorQuery,
    pub(super) with_attacks: bool,
    /// The number of texts; `None` for the default of the form.
    pub(super) limit: Option<usize>,
}

/// Renders the error texts of a run; in color only if they are `printed`.
pub(super) fn render(
    run: &RunDir,
    manifest: &RunManifest,
    request: &ErrorsRequest,
    form: ErrorForm,
    printed: bool,
    terminal: &Terminal,
) -> Result<String, CliError> {
    let accepts = |row: &EpisodeRecord| request.with_attacks || !row.is_attacked();
    let mut texts = of_one_state(run, manifest, || Ok(error_texts(&Rows(run), manifest, request.query, &accepts)?))?;
    let limit = request.limit.unwrap_or(SHOWN);
    Ok(match form {
        ErrorForm::Json | ErrorForm::Csv => {
            texts.texts.truncate(request.limit.unwrap_or(usize::MAX));
            if form == ErrorForm::Json { json(&texts)? } else { errors_csv(&texts)? }
        }
        ErrorForm::Markdown => errors_markdown(&texts, limit),
        ErrorForm::Terminal => {
            let color = printed && terminal.colors_results();
            render_errors(&texts, ErrorOptions { width: terminal.width(), color, limit })
        }
    })
}
