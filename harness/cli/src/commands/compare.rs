use std::path::Path;

use healbench_analysis::{
    Axis, Change, ErrorAxis, ErrorChanges, ErrorQuery, ErrorTexts, Side, compare as compare_runs, error_changes,
    error_texts, matrix,
};
use healbench_core::EpisodeRecord;
use healbench_frames::Rows;
use healbench_render::html::{self, ComparisonPage};
use healbench_render::{
    ComparisonOptions, ErrorOptions, comparison, comparison_markdown, error_changes as render_changes,
    error_changes_markdown, json, matrix as render_matrix, matrix_markdown,
};
use healbench_store::{RunDir, RunManifest, RunStatus};
use healbench_text::{part_of, shell_quote};

use super::errors::{ErrorsRequest, Form, print_errors};
use super::report::{of_one_state, until_one_state, write_page};
use super::scenario_changes::scenario_changes;
use crate::args::CompareArgs;
use crate::error::{CliError, ErrorKind, ExitStatus};
use crate::terminal::Terminal;

/// Prints the differences between two runs, or between the cells of one.
pub(crate) fn compare(args: &CompareArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    until_one_state(|| compare_once(args, terminal))
}

fn compare_once(args: &CompareArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let open = |path: &Path| -> Result<(RunDir, RunManifest), CliError> {
        let (run, manifest) = RunDir::open(path)?;
        let all = manifest.episodes();
        if manifest.status == RunStatus::Interrupted {
            let (name, done) = (shell_quote(&path.to_string_lossy()), manifest.episodes_done);
            terminal.warn(&format!("{name} was interrupted: it has {}", part_of(done, all.len(), "episode")));
        }
        if let Some(shard) = &manifest.shards {
            terminal.warn(&format!("{} is shard {shard} of a run", shell_quote(&path.to_string_lossy())));
        }
        Ok((run, manifest))
    };
    let (base_name, (base, base_manifest)) = (args.base.to_string_lossy(), open(&args.base)?);
    let base_side = Side { name: &base_name, run: &Rows(&base), manifest: &base_manifest };
    let Some(candidate) = &args.candidate else {
        return compare_cells(base_side, &base, args, terminal);
    };
    let (candidate_name, (run, manifest)) = (candidate.to_string_lossy(), open(candidate)?);
    if base_manifest.plan.is_trace() && manifest.plan.is_trace() {
        let before = of_one_state(&base, &base_manifest, || texts_of(&base, &base_manifest))?;
        let after = of_one_state(&run, &manifest, || texts_of(&run, &manifest))?;
        return print_changes(&error_changes(&before, &after), args, terminal);
    }
    let candidate_side = Side { name: &candidate_name, run: &Rows(&run), manifest: &manifest };
    let found = of_one_state(&base, &base_manifest, || {
        of_one_state(&run, &manifest, || Ok(compare_runs(base_side, candidate_side)?))
    })?;
    let status = match found.conclusion.change {
        Change::NotComparable => ExitStatus::Incomplete,
        _ => ExitStatus::Success,
    };
    if args.json {
        terminal.result(&json(&found)?)?;
        return Ok(status);
    }
    if args.markdown {
        terminal.result(&comparison_markdown(&found))?;
        return Ok(status);
    }
    if let Some(file) = &args.html {
        let scenario_changes = &scenario_changes((&base, &base_manifest.plan), (&run, &manifest.plan));
        let page = html::comparison(&ComparisonPage { comparison: &found, addresses: None, scenario_changes });
        write_page(file, &page, terminal)?;
        return Ok(status);
    }
    let options = ComparisonOptions { width: terminal.width(), color: terminal.colors_results(), flips: args.flips };
    terminal.result(&comparison(&found, options))?;
    Ok(status)
}

/// Returns the error texts of a trace, without attacks.
fn texts_of(run: &RunDir, manifest: &RunManifest) -> Result<ErrorTexts, CliError> {
    let accepts = |row: &EpisodeRecord| !row.is_attacked();
    Ok(error_texts(&Rows(run), manifest, ErrorQuery::default(), &accepts)?)
}

/// The number of texts that a terminal and Markdown show of two traces.
const SHOWN_TEXTS: usize = 20;

/// Prints the error texts that two traces have in common.
fn print_changes(changes: &ErrorChanges, args: &CompareArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    if args.html.is_some() {
        let message =
            "two traces have no page: their error texts are compared as text, with `--json` or with `--markdown`";
        return Err(CliError::new(message).kind(ErrorKind::Invalid));
    }
    let text = if args.json {
        json(changes)?
    } else if args.markdown {
        error_changes_markdown(changes, SHOWN_TEXTS)
    } else {
        let (width, color) = (terminal.width(), terminal.colors_results());
        render_changes(changes, ErrorOptions { width, color, limit: SHOWN_TEXTS })
    };
    terminal.result(&text)?;
    Ok(ExitStatus::Success)
}

/// Prints the differences between the cells of one run.
fn compare_cells(
    side: Side<'_>,
    run: &RunDir,
    args: &CompareArgs,
    terminal: &Terminal,
) -> Result<ExitStatus, CliError> {
    // Clap requires an axis if there is no candidate.
    let axis = args.by.unwrap_or(Axis::FORMAT);
    if side.manifest.plan.is_trace() && axis == Axis::Agent && args.html.is_none() {
        let query = ErrorQuery { by: Some(ErrorAxis::Agent), ..ErrorQuery::default() };
        let form = Form::of(args.json, args.markdown, false);
        let request = ErrorsRequest { query, form, ..ErrorsRequest::default() };
        return print_errors(run, side.manifest, &request, terminal);
    }
    let found = of_one_state(run, side.manifest, || Ok(matrix(side, axis, args.reference.as_deref())?))?;
    if let Some(file) = &args.html {
        return write_page(file, &html::matrix_page(&found), terminal);
    }
    let text = match (args.json, args.markdown) {
        (true, _) => json(&found)?,
        (false, true) => matrix_markdown(&found),
        (false, false) => render_matrix(&found, terminal.width(), terminal.colors_results()),
    };
    terminal.result(&text)?;
    Ok(ExitStatus::Success)
}
