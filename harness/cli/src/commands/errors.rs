use healbench_analysis::{ErrorQuery, error_texts};
use healbench_core::EpisodeRecord;
use healbench_frames::Rows;
use healbench_render::{ErrorOptions, errors as render_errors, errors_csv, errors_markdown, json};
use healbench_store::{RunDir, RunStatus};
use healbench_text::{part_of, shell_quote};

use super::report::{of_one_state, until_one_state};
use crate::args::{ErrorSources, ErrorsArgs};
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
    let query = ErrorQuery {
        order: args.sort.into(),
        by: args.by.map(Into::into),
        flagged_only: args.errors == ErrorSources::Flag,
    };
    let accepts = |row: &EpisodeRecord| args.with.is_some() || !is_attacked(row);
    let mut texts = of_one_state(&run, &manifest, || Ok(error_texts(&Rows(&run), &manifest, query, &accepts)?))?;
    if args.json || args.csv {
        texts.texts.truncate(args.limit.unwrap_or(usize::MAX));
        terminal.result(&if args.json { json(&texts)? } else { errors_csv(&texts)? })?;
        return Ok(ExitStatus::Success);
    }
    let limit = args.limit.unwrap_or(SHOWN);
    let text = match args.markdown {
        true => errors_markdown(&texts, limit),
        false => {
            let options = ErrorOptions { width: terminal.width(), color: terminal.colors_results(), limit };
            render_errors(&texts, options)
        }
    };
    terminal.result(&text)?;
    Ok(ExitStatus::Success)
}

/// Returns true for an episode with an injected task. No row of an episode names its tags yet: it will be one that begins with `attack=`.
fn is_attacked(_row: &EpisodeRecord) -> bool {
    false
}
